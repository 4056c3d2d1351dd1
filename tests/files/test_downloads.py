from __future__ import annotations

import hashlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from mwzeval.errors import DataError, UsageError
from mwzeval.files import downloads
from mwzeval.files.downloads import (
    DataRoot,
    PublicFile,
    download,
    embedded,
    locate,
    public_files,
    state_of,
)
from tests.places import ROOT, shared
from tests.waiting import HANGING, wait_until

CONTENT = bytes(range(256)) * 1000
HEADER = "local\trepository\tcommit\tpath\tgit_blob\tsha256\n"


def listed(local: str, content: bytes = CONTENT, *, sha256: bool = True) -> PublicFile:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    digest = hashlib.sha256(content).hexdigest() if sha256 else None
    return PublicFile(local, "some/where", "c0ffee", f"there/{local}", blob, digest)


@dataclass
class Mirror:
    """A web server on this machine; `answers` are by path, `requests` the paths of requests."""

    url: str
    answers: dict[str, tuple[int, bytes, int, float]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)

    def serve(
        self,
        file: PublicFile,
        content: bytes = CONTENT,
        status: int = 200,
        cut: int = 0,
        pause: float = 0.0,
    ) -> PublicFile:
        """Answer with this content, with a pause between blocks.

        A request for the whole file gets it without its last `cut` bytes.
        """
        path = f"/{file.repository}/{file.commit}/{file.path}"
        self.answers[path] = (status, content, cut, pause)
        return file


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requests.append(self.path)
            status, content, cut, pause = served.answers.get(self.path, (404, b"no", 0, 0.0))
            if rest := self.headers.get("Range"):
                served.ranges.append(rest)
                start = int(rest.removeprefix("bytes=").removesuffix("-"))
                status = 206 if start < len(content) else 416
                content, cut = content[start:], 0
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            sent = content[: len(content) - cut]
            try:
                for start in range(0, len(sent), 1 << 14):
                    self.wfile.write(sent[start : start + (1 << 14)])
                    self.wfile.flush()
                    time.sleep(pause)
            except OSError:  # the client was killed
                pass

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Mirror(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setenv("MWZEVAL_MIRROR", served.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(downloads, "RETRIES", 0)
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MWZEVAL_DATA", "MWZEVAL_OFFLINE", "MWZEVAL_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def cached(folder: Path, *files: PublicFile, offline: bool = False) -> DataRoot:
    return DataRoot(folder, "cache", files, offline, sample="--tiny")


def everything_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# What is listed


def test_the_list_has_one_place_per_file_and_only_pinned_checksums() -> None:
    files = public_files(embedded("public_files.tsv"))
    assert len({file.local for file in files}) == len(files) > 50
    for file in files:
        assert len(file.commit) == 40
        assert file.git_blob is None or len(file.git_blob) == 40
        assert file.sha256 is None or len(file.sha256) == 64
    assert [f.local for f in files if not f.is_verifiable] == ["data/MultiWOZ2_3.zip"]


@pytest.mark.integration
def test_the_list_has_the_sha256_of_every_published_file_that_is_in_the_shared_folder() -> None:
    root = DataRoot(
        shared("data", "multiwoz"), "--data", public_files(embedded("public_files.tsv"))
    )
    states = {file.local: state_of(root, file) for file in root.published}
    published = {local for local, state in states.items() if state == "published"}
    assert published == {file.local for file in root.published if file.sha256}
    assert {f"db/{name}_db.json" for name in ("attraction", "hotel", "train")} <= published
    assert states["data/MultiWOZ_2.2/test/dialogues_001.json"] == "different"
    assert states["data/MultiWOZ_2.0.zip"] == "missing"


def test_addresses_are_those_of_github_or_below_the_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    file = PublicFile("a", "o/r", "abc", "x y/z.json", "0")
    assert file.url == "https://raw.githubusercontent.com/o/r/abc/x%20y/z.json"
    monkeypatch.setenv("MWZEVAL_MIRROR", "http://mirror.test/base/")
    assert file.url == "http://mirror.test/base/o/r/abc/x%20y/z.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "files.tsv"),
        ("local\trepository\n", "files.tsv"),
        (HEADER + "a\tb\n", "line 2"),
        (HEADER + "../a\tr\tc\tp\tb\t\n", r"\.\./a"),
        (HEADER + "/a\tr\tc\tp\tb\t\n", "/a"),
        (HEADER + "a\tr\tc\tp\tb\t\n" * 2, "line 3"),
    ],
)
def test_a_table_that_is_no_list_of_files_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    table = tmp_path / "files.tsv"
    table.write_text(text)
    with pytest.raises(DataError, match=message):
        public_files(table)


# Which folder


def test_the_folder_given_goes_before_the_environment_and_that_before_the_cache(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "files.tsv"
    table.write_text("# a comment\n" + HEADER + "a\tr\tc\tp\tb\t\n")
    given, environment = tmp_path / "given", tmp_path / "environment"
    given.mkdir()
    environment.mkdir()
    root = locate(None, table=table, name="benchmark")
    assert (root.path, root.origin) == (own_cache / "benchmark", "cache")
    assert root.published == (PublicFile("a", "r", "c", "p", "b", None),)
    monkeypatch.setenv("MWZEVAL_DATA", str(environment))
    root = locate(None, table=table, name="benchmark")
    assert (root.path, root.origin) == (environment, "MWZEVAL_DATA")
    root = locate(given, table=table, name="benchmark")
    assert (root.path, root.origin) == (given, "--data")
    monkeypatch.setenv("MWZEVAL_DATA", "")
    assert locate(None, table=table, name="benchmark").origin == "cache"


@pytest.mark.parametrize("data", ["nowhere", "file", "", "a\0b", "~nobody-of-that-name/x"])
def test_a_folder_that_is_none_is_an_error(
    tmp_path: Path, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    Path("files.tsv").write_text(HEADER)
    with pytest.raises(DataError, match="--data: "):
        locate(data, table=Path("files.tsv"), name="benchmark")


@pytest.mark.parametrize(
    ("variable", "argument", "expected"),
    [
        (None, None, False),
        ("1", None, True),
        ("true", None, True),
        ("YES", None, True),
        ("0", None, False),
        ("", None, False),
        ("1", False, False),
        (None, True, True),
    ],
)
def test_offline_is_what_was_said_or_what_the_environment_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    argument: bool | None,
    expected: bool,
) -> None:
    if variable is not None:
        monkeypatch.setenv("MWZEVAL_OFFLINE", variable)
    (tmp_path / "files.tsv").write_text(HEADER)
    root = locate(None, offline=argument, table=tmp_path / "files.tsv", name="benchmark")
    assert root.offline is expected


@pytest.mark.integration
def test_embedded_data_are_found_in_a_checkout_and_in_an_installed_wheel(tmp_path: Path) -> None:
    assert embedded("public_files.tsv") == ROOT / "data" / "public_files.tsv"
    assert embedded("predictions", "a.json") == ROOT / "predictions" / "a.json"

    package = tmp_path / "mwzeval"
    copytree(ROOT / "mwzeval", package, ignore=ignore_patterns("__pycache__"))
    (package / "data").mkdir()
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            "from mwzeval.files.downloads import embedded;"
            "print(embedded('predictions', 'a.json'), embedded('sample'))",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert shown == [str(package / "data/predictions/a.json"), str(package / "data/sample")]


# Files that a user supplies


@pytest.mark.integration
def test_files_of_a_user_are_used_as_they_are(tmp_path: Path, mirror: Mirror) -> None:
    (tmp_path / "a.json").write_text("of my own")
    root = DataRoot(tmp_path, "--data", (listed("a.json"), listed("b.json")), sample="--tiny")
    assert root.require("a.json") == tmp_path / "a.json"
    assert root.find("b.json", "a.json") == tmp_path / "a.json"
    assert root.find("b.json") is None
    with pytest.raises(DataError) as caught:
        root.require("other.json", "b.json")
    message = str(caught.value)
    for expected in ("other.json or b.json", str(tmp_path), mirror.url, "--tiny"):
        assert expected in message
    with pytest.raises(UsageError, match="as it is"):
        root.fetch([listed("b.json")])
    assert mirror.requests == []
    assert (tmp_path / "a.json").read_text() == "of my own"


def test_matching_is_sorted_and_stays_in_its_folder(tmp_path: Path) -> None:
    for name in ("t/b.json", "t/a.json", "t/.a.json", "t/deep/c.json", "t/note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    root = DataRoot(tmp_path, "--data")
    assert root.matching("t/*.json") == [tmp_path / "t/a.json", tmp_path / "t/b.json"]
    with pytest.raises(DataError, match=r"u/\*\.json"):
        root.matching("u/*.json")


# The cache


@pytest.mark.integration
def test_a_file_is_downloaded_once_and_only_when_it_is_needed(
    own_cache: Path, mirror: Mirror
) -> None:
    files = [mirror.serve(listed(name)) for name in ("d/one.json", "d/two.json", "e/three.json")]
    root = cached(own_cache / "x", *files)
    assert root.find("d/one.json") is None
    assert mirror.requests == []
    for _ in range(2):
        assert root.require("absent.zip", "d/one.json").read_bytes() == CONTENT
    assert mirror.requests == ["/some/where/c0ffee/there/d/one.json"]
    assert root.matching("d/*.json") == [own_cache / "x/d/one.json", own_cache / "x/d/two.json"]
    assert len(mirror.requests) == 2
    assert everything_below(own_cache / "x") == ["d/one.json", "d/two.json"]


@pytest.mark.integration
def test_another_alternative_that_is_there_is_preferred_to_a_download(
    own_cache: Path, mirror: Mirror
) -> None:
    root = cached(own_cache / "x", mirror.serve(listed("all.zip")))
    (own_cache / "x").mkdir(parents=True)
    (own_cache / "x" / "part.json").write_text("unpacked")
    assert root.require("all.zip", "part.json") == own_cache / "x" / "part.json"
    assert mirror.requests == []


@pytest.mark.integration
def test_a_file_without_sha256_is_verified_by_its_git_blob_id(
    own_cache: Path, mirror: Mirror
) -> None:
    right = mirror.serve(listed("right.json", sha256=False))
    wrong = mirror.serve(listed("wrong.json", sha256=False), CONTENT[::-1])
    root = cached(own_cache / "x", right, wrong)
    assert root.require("right.json").read_bytes() == CONTENT
    with pytest.raises(DataError, match=r"wrong\.json"):
        root.require("wrong.json")


@pytest.mark.integration
def test_a_file_without_checksums_is_taken_as_it_comes_and_that_is_said(
    own_cache: Path, mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    file = mirror.serve(replace(listed("a.zip", sha256=False), git_blob=None), CONTENT[::-1])
    root = cached(own_cache / "x", file)
    assert root.require("a.zip").read_bytes() == CONTENT[::-1]
    said = capsys.readouterr().err
    assert "a.zip" in said
    assert hashlib.sha256(CONTENT[::-1]).hexdigest() in said
    assert root.require("a.zip").read_bytes() == CONTENT[::-1]
    assert len(mirror.requests) == 1
    assert state_of(root, file) == "unverified"


@pytest.mark.integration
@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT[:-1] + b"\0", CONTENT + b"\n"])
def test_a_damaged_file_in_the_cache_is_downloaded_again(
    own_cache: Path, mirror: Mirror, damage: bytes
) -> None:
    root = cached(own_cache / "x", mirror.serve(listed("a.json")))
    root.require("a.json").write_bytes(damage)
    assert root.find("a.json") is None
    with pytest.raises(DataError, match=r"a\.json"):
        cached(root.path, *root.published, offline=True).require("a.json")
    assert root.require("a.json").read_bytes() == CONTENT
    assert len(mirror.requests) == 2


@pytest.mark.integration
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("wrong", "published"),
        ("longer", "published"),
        ("empty", "published"),
        ("truncated", "download"),
        ("silent", "timed out"),
        ("too large", "MWZEVAL_MAX_SIZE"),
        ("404", "404"),
        ("503", "503"),
        ("closed port", "refused"),
        ("no address", "not an address"),
    ],
)
def test_what_cannot_be_downloaded_is_not_at_its_place_and_the_message_says_what_to_do(
    own_cache: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch, case: str, message: str
) -> None:
    file = listed("d/a.json")
    match case:
        case "wrong":
            mirror.serve(file, CONTENT[:-1] + b"\0")
        case "longer":
            mirror.serve(file, CONTENT + b"\n")
        case "empty":
            mirror.serve(file, b"")
        case "truncated":
            mirror.serve(file, cut=1)
        case "silent":
            monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", 0.2)
            mirror.serve(file, pause=2.0)
        case "too large":
            monkeypatch.setenv("MWZEVAL_MAX_SIZE", str(len(CONTENT) - 1))
            mirror.serve(file)
        case "503":
            mirror.serve(file, status=503)
        case "closed port":
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                port = unused.getsockname()[1]
            monkeypatch.setenv("MWZEVAL_MIRROR", f"http://127.0.0.1:{port}")
        case "no address":
            monkeypatch.setenv("MWZEVAL_MIRROR", "not an address")
    root = cached(own_cache / "x", file)
    with pytest.raises(DataError, match=message) as caught:
        root.require("d/a.json")
    expected = ["d/a.json", file.url, str(own_cache / "x" / "d"), "--data", "--tiny"]
    if message == "published":
        expected += [file.git_blob or "", file.sha256 or ""]
    for part in expected:
        assert part in str(caught.value)
    begun = case in ("truncated", "silent", "too large")
    assert everything_below(own_cache / "x") == ["d/.a.json.part"] * begun


@pytest.mark.integration
def test_offline_asks_nobody_and_names_every_file_that_is_missing(
    own_cache: Path, mirror: Mirror
) -> None:
    files = [mirror.serve(listed(f"d/{name}.json")) for name in ("one", "two", "three")]
    cached(own_cache / "x", *files).require("d/two.json")
    mirror.requests.clear()
    root = cached(own_cache / "x", *files, offline=True)
    assert root.require("d/two.json").read_bytes() == CONTENT
    with pytest.raises(DataError) as caught:
        root.matching("d/*.json")
    message = str(caught.value)
    for part in (files[0].url, files[2].url, "MWZEVAL_OFFLINE", "--tiny"):
        assert part in message
    assert files[1].url not in message
    assert mirror.requests == []


@pytest.mark.integration
def test_a_folder_that_cannot_be_made_is_an_error_with_its_reason(
    tmp_path: Path, mirror: Mirror
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"a\.json"):
        download(mirror.serve(listed("a.json")), tmp_path / "file" / "x")


@pytest.mark.integration
@pytest.mark.parametrize("retries", [0, 1])
def test_an_interrupted_download_is_continued(
    own_cache: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    monkeypatch.setattr(downloads, "RETRIES", retries)
    root = cached(own_cache / "x", mirror.serve(listed("a.json"), cut=1000))
    if not retries:
        with pytest.raises(DataError):
            root.require("a.json")
    assert root.require("a.json").read_bytes() == CONTENT
    (rest,) = mirror.ranges
    assert rest != "bytes=0-"
    assert everything_below(own_cache / "x") == ["a.json"]


@pytest.mark.integration
@pytest.mark.parametrize("begun", [b"x" * 1000, CONTENT, CONTENT + b"x"])
def test_what_a_download_cannot_continue_is_removed(
    own_cache: Path, mirror: Mirror, begun: bytes
) -> None:
    root = cached(own_cache / "x", mirror.serve(listed("a.json")))
    root.path.mkdir(parents=True)
    (root.path / ".a.json.part").write_bytes(begun)
    with pytest.raises(DataError, match=r"published|416"):
        root.require("a.json")
    assert everything_below(root.path) == []
    assert root.require("a.json").read_bytes() == CONTENT


@pytest.mark.integration
def test_ctrl_c_keeps_what_was_received(own_cache: Path, mirror: Mirror) -> None:
    file = mirror.serve(listed("a.json"), pause=0.2)
    process = in_another_process(own_cache / "x", file)
    wait_until("a download has begun", lambda: has_begun(own_cache / "x"))
    process.send_signal(signal.SIGINT)
    process.wait(HANGING)
    assert process.returncode != 0
    assert everything_below(own_cache / "x") == [".a.json.part"]
    root = cached(own_cache / "x", mirror.serve(file))
    assert root.find("a.json") is None
    assert root.require("a.json").read_bytes() == CONTENT
    assert len(mirror.ranges) == 1


@pytest.mark.integration
def test_two_processes_that_download_at_once_both_end_well(own_cache: Path, mirror: Mirror) -> None:
    file = mirror.serve(listed("a.json"), pause=0.05)
    processes = [in_another_process(own_cache / "x", file) for _ in range(2)]
    assert [process.wait(HANGING) for process in processes] == [0, 0]
    assert len(mirror.requests) == 2
    assert everything_below(own_cache / "x") == ["a.json"]
    assert (own_cache / "x" / "a.json").read_bytes() == CONTENT


def in_another_process(folder: Path, file: PublicFile) -> subprocess.Popen[bytes]:
    code = (
        # Who runs the tests in the background of a shell has children that hear no interrupt.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from pathlib import Path; from mwzeval.files.downloads import *;"
        f"download({file!r}, Path({str(folder)!r}))"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)


def has_begun(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob("*.part"))


def test_a_folder_may_hold_several_benchmarks_each_in_a_subfolder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "public_files.tsv"
    table.write_text(f"{HEADER}game/test.json\tsome/where\tc0ffee\ttest.json\tb10b\t\n")
    shelf = tmp_path / "shelf"
    inner = shelf / "game"
    inner.mkdir(parents=True)
    monkeypatch.setenv("MWZEVAL_DATA", str(shelf))
    assert locate(None, table=table, name="game").path == inner
    assert locate(shelf, table=table, name="game").path == inner
    assert locate(shelf, table=table, name="other").path == shelf
    # A folder with a published file at its place is the benchmark's own, whatever else is in it.
    (inner / "test.json").write_text("{}")
    assert locate(None, table=table, name="game").path == shelf
    (inner / "game").mkdir()
    assert locate(inner, table=table, name="game").path == inner / "game"
