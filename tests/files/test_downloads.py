"""Data folders, downloads from a server on this machine, and `mwzeval data`."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from mwzeval.commands.data import format_states
from mwzeval.errors import DataError, UsageError
from mwzeval.files import downloads
from mwzeval.files.downloads import (
    DataRoot,
    MissingError,
    Origin,
    PublicFile,
    all_there,
    embedded,
    file_states,
    public_files,
)
from tests.command_lines import Run
from tests.places import GOOD, ROOT, shared
from tests.waiting import HANGING, wait_until

CONTENT = bytes(range(256)) * 1000
HEADER = "local\trepository\tcommit\tpath\tgit_blob\tsha256\n"


def listed(local: str, *, sha256: bool = True) -> PublicFile:
    blob = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
    digest = hashlib.sha256(CONTENT).hexdigest() if sha256 else None
    return PublicFile(local, "some/where", "c0ffee", f"there/{local}", blob, digest)


@dataclass
class Mirror:
    """A web server; `answers` by path, and the paths and ranges of all `requests`."""

    url: str = ""
    answers: dict[str, tuple[int, bytes, int, float]] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)

    def serve(
        self,
        file: PublicFile,
        content: bytes = CONTENT,
        status: int = 200,
        cut: int = 0,
        pause: float = 0.0,
    ) -> PublicFile:
        """Serve this content with a pause between blocks.

        The answer to a request for the whole file lacks the last `cut` bytes.
        """
        path = f"/{file.repository}/{file.commit}/{file.path}"
        self.answers[path] = (status, content, cut, pause)
        return file

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        status, content, cut, pause = self.answers.get(request.path, (404, b"no", 0, 0.0))
        rest = request.headers.get("Range")
        self.requests.append((request.path, rest))
        if rest is not None:
            start = int(rest.removeprefix("bytes=").removesuffix("-"))
            status = 206 if start < len(content) else 416
            content, cut = content[start:], 0
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        for start in range(0, len(content) - cut, 1 << 14):
            request.wfile.write(content[start : min(start + (1 << 14), len(content) - cut)])
            request.wfile.flush()
            time.sleep(pause)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    served = Mirror()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):  # the client has disconnected
                served.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("MWZEVAL_MIRROR", served.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(downloads, "RETRIES", 0)
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a benchmark in a temporary cache."""
    for name in ("MWZEVAL_DATA", "MWZEVAL_OFFLINE", "MWZEVAL_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "game"


def cached(folder: Path, *files: PublicFile, offline: bool = False) -> DataRoot:
    return DataRoot(folder, "cache", files, offline, sample="--tiny")


def everything_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("folder", ["", "crosswoz", "pydial"])
def test_public_file_lists_have_unique_paths_and_pinned_checksums(folder: str) -> None:
    files = public_files(embedded(folder, "public_files.tsv"))
    assert len({file.local for file in files}) == len(files) >= 6
    for file in files:
        place = PurePosixPath(file.local)
        assert not place.is_absolute()
        assert ".." not in place.parts
        assert file.repository.count("/") == 1
        assert len(file.commit) == 40
        assert file.git_blob is None or len(file.git_blob) == 40
        assert file.sha256 is None or len(file.sha256) == 64
    unverified = [file.local for file in files if not file.is_verifiable]
    assert unverified == ([] if folder else ["data/MultiWOZ2_3.zip"])


def test_located_data_roots_can_be_pickled_and_hashed(tmp_path: Path) -> None:
    table = embedded("public_files.tsv")
    for corpora in (None, {"game": ("x/*.json",)}):
        root = DataRoot.locate(tmp_path, table, "game", corpora=corpora)
        copy = pickle.loads(pickle.dumps(root))
        assert copy == root
        assert hash(copy) == hash(root)


@pytest.mark.integration
def test_published_files_in_the_shared_folder_have_a_listed_sha256() -> None:
    root = DataRoot(
        shared("data", "multiwoz"), "--data", public_files(embedded("public_files.tsv"))
    )
    there = {file.local for file in root.published if root.find(file.local)}
    different = root.other_than_published(root.path / local for local in there)
    published = there.difference(different)
    assert published == {file.local for file in root.published if file.sha256}
    assert {f"db/{name}_db.json" for name in ("attraction", "hotel", "train")} <= published
    assert "data/MultiWOZ_2.2/test/dialogues_001.json" in different
    assert "data/MultiWOZ_2.0.zip" not in there


def test_compressed_files_are_compared_by_content(tmp_path: Path) -> None:
    content = b'{"hotel": []}'
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    table = tmp_path / "public_files.tsv"
    row = ("x/a.json", "own/game", "0" * 40, "a.json", blob, hashlib.sha256(content).hexdigest())
    table.write_text(HEADER + "\t".join(row) + "\n", encoding="utf-8")
    root = DataRoot(tmp_path, "--data", public_files(table), corpora={"game": ("x/*.json",)})
    (tmp_path / "x").mkdir()
    for written, different in ((content, ()), (content + b" ", ("x/a.json.gz",))):
        (tmp_path / "x" / "a.json.gz").write_bytes(gzip.compress(written))
        files = root.matching("x/*.json")
        assert [file.name for file in files] == ["a.json.gz"]
        assert root.other_than_published(files) == different
        (state,) = file_states(root)
        expected = ("x/a.json.gz", "different" if different else "published")
        assert (state.local, state.state) == expected
    (tmp_path / "x" / "a.json").write_bytes(content)
    (tmp_path / "x" / "b.json.gz").write_bytes(gzip.compress(content))
    (tmp_path / "x" / "c.json.orig").write_bytes(content)
    files = root.matching("x/*.json")
    assert [file.name for file in files] == ["a.json", "b.json.gz"]
    assert root.other_than_published(files) == ("x/b.json.gz",)
    assert root.checksum(files[0]) == root.checksum(files[1]) == row[-1][:8]


def test_download_urls_point_to_github_or_the_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    file = PublicFile("a", "o/r", "abc", "x y/z.json", "0")
    assert file.url == "https://raw.githubusercontent.com/o/r/abc/x%20y/z.json"
    monkeypatch.setenv("MWZEVAL_MIRROR", "http://mirror.test/base/")
    assert file.url == "http://mirror.test/base/o/r/abc/x%20y/z.json"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "files.tsv"
    path.write_text(f"# a comment\n{HEADER}game/test.json\tr\tc\tp\tb10b\t\n")
    return path


def test_data_folder_precedence_is_argument_environment_cache(
    tmp_path: Path, table: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, environment = tmp_path / "given", tmp_path / "environment"
    given.mkdir()
    environment.mkdir()
    root = DataRoot.locate(None, table, "game")
    assert (root.path, root.origin) == (cache, "cache")
    assert root.published == (PublicFile("game/test.json", "r", "c", "p", "b10b", None),)
    monkeypatch.setenv("MWZEVAL_DATA", str(environment))
    for folder, place in ((None, (environment, "MWZEVAL_DATA")), (given, (given, "--data"))):
        root = DataRoot.locate(folder, table, "game")
        assert (root.path, root.origin) == place
    monkeypatch.setenv("MWZEVAL_DATA", "")
    assert DataRoot.locate(None, table, "game").origin == "cache"


@pytest.mark.parametrize("data", ["nowhere", "files.tsv", "", "a\0b", "~nobody-of-that-name/x"])
def test_an_invalid_data_folder_is_an_error(
    table: Path, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    with pytest.raises(DataError, match="--data: "):
        DataRoot.locate(data, table, "game")


def test_a_data_folder_may_contain_one_subfolder_per_benchmark(tmp_path: Path, table: Path) -> None:
    shelf = tmp_path / "shelf"
    inner = shelf / "game"
    inner.mkdir(parents=True)
    assert DataRoot.locate(shelf, table, "game").path == inner
    assert DataRoot.locate(shelf, table, "other").path == shelf
    # A folder that contains a published file is the benchmark's folder, even with a subfolder.
    (inner / "test.json").write_text("{}")
    assert DataRoot.locate(shelf, table, "game").path == shelf


def test_offline_mode_is_set_by_argument_or_environment(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, argument, expected in (
        *((value, None, True) for value in ("1", "true", "YES")),
        *((value, None, False) for value in ("0", "")),
        ("1", False, False),
        ("", True, True),
    ):
        monkeypatch.setenv("MWZEVAL_OFFLINE", variable)
        assert DataRoot.locate(None, table, "game", offline=argument).offline is expected


def test_embedded_data_are_found_in_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mwzeval" / "data").mkdir(parents=True)
    monkeypatch.setattr(downloads, "__file__", str(tmp_path / "mwzeval/files/downloads.py"))
    for name in ("predictions", "sample"):
        assert embedded(name) == tmp_path / "mwzeval/data" / name


@pytest.mark.integration
def test_user_files_are_used_unchanged(tmp_path: Path, mirror: Mirror) -> None:
    (tmp_path / "a.json").write_text("of my own")
    root = DataRoot(tmp_path, "--data", (listed("a.json"), listed("b.json")), sample="--tiny")
    assert root.require("a.json") == tmp_path / "a.json"
    assert root.find("b.json", "a.json") == tmp_path / "a.json"
    assert root.find("b.json") is None
    with pytest.raises(DataError) as caught:
        root.require("other.json", "b.json")
    for expected in ("other.json or b.json", str(tmp_path), mirror.url, "--tiny"):
        assert expected in str(caught.value)
    with pytest.raises(UsageError):
        root.fetch([listed("b.json")])
    assert mirror.requests == []
    assert (tmp_path / "a.json").read_text() == "of my own"


def test_matching_returns_sorted_files_of_one_folder(tmp_path: Path) -> None:
    for name in ("t/b.json", "t/a.json", "t/.a.json", "t/deep/c.json", "t/note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    root = DataRoot(tmp_path, "--data")
    assert root.matching("t/*.json") == [tmp_path / "t/a.json", tmp_path / "t/b.json"]
    with pytest.raises(DataError, match=r"u/\*\.json"):
        root.matching("u/*.json")


@pytest.mark.integration
def test_files_are_downloaded_once_and_on_demand(cache: Path, mirror: Mirror) -> None:
    files = [mirror.serve(listed(name)) for name in ("d/one.json", "d/two.json", "e/three.json")]
    root = cached(cache, *files)
    assert root.find("d/one.json") is None
    assert mirror.requests == []
    for _ in range(2):
        assert root.require("absent.zip", "d/one.json").read_bytes() == CONTENT
    assert mirror.requests == [("/some/where/c0ffee/there/d/one.json", None)]
    assert root.matching("d/*.json") == [cache / "d/one.json", cache / "d/two.json"]
    (cache / "part.json").write_text("unpacked")
    assert root.require("e/three.json", "part.json") == cache / "part.json"
    assert len(mirror.requests) == 2
    assert everything_below(cache) == ["d/one.json", "d/two.json", "part.json"]


@pytest.mark.integration
def test_a_file_without_checksums_is_reported_as_unverified(
    cache: Path, mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    file = mirror.serve(replace(listed("a.zip", sha256=False), git_blob=None), CONTENT[::-1])
    root = cached(cache, file)
    for _ in range(2):
        assert root.require("a.zip").read_bytes() == CONTENT[::-1]
    assert hashlib.sha256(CONTENT[::-1]).hexdigest() in capsys.readouterr().err
    assert len(mirror.requests) == 1


@pytest.mark.integration
@pytest.mark.parametrize("sha256", [True, False])
def test_damaged_cached_files_are_downloaded_again(
    cache: Path, mirror: Mirror, sha256: bool
) -> None:
    """A file without a sha256 is verified by its git blob id."""
    root = cached(cache, mirror.serve(listed("a.json", sha256=sha256)))
    for damage in (b"", CONTENT[:-1] + b"\0", CONTENT + b"\n"):
        root.require("a.json").write_bytes(damage)
        assert root.find("a.json") is None
        with pytest.raises(DataError, match=r"a\.json"):
            replace(root, offline=True).require("a.json")
        assert root.require("a.json").read_bytes() == CONTENT
    assert len(mirror.requests) == 4


PART = "d/.a.json.part"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("served", "settings", "message", "left"),
    [
        ({"content": CONTENT[:-1] + b"\0"}, {}, "published", []),
        ({"content": b""}, {}, "published", []),
        ({"cut": 1}, {}, "download", [PART]),
        ({"pause": 2.0}, {"timeout": 0.2}, "timed out", [PART]),
        ({}, {"MWZEVAL_MAX_SIZE": str(len(CONTENT) - 1)}, "MWZEVAL_MAX_SIZE", [PART]),
        ({"status": 503}, {}, "503", []),
        ({}, {"MWZEVAL_MIRROR": "http://127.0.0.1:9"}, "refused", []),
        ({}, {"MWZEVAL_MIRROR": "not an address"}, "not an address", []),
        ({}, {"file": "d"}, "cannot download", ["d"]),
    ],
)
def test_failed_downloads_leave_no_file_and_the_error_gives_advice(
    cache: Path,
    mirror: Mirror,
    monkeypatch: pytest.MonkeyPatch,
    served: dict[str, Any],
    settings: dict[str, Any],
    message: str,
    left: list[str],
) -> None:
    file = mirror.serve(listed("d/a.json"), **served)
    for name, value in settings.items():
        if name == "timeout":
            monkeypatch.setattr(downloads, "TIMEOUT_SECONDS", value)
        elif name == "file":
            cache.mkdir(parents=True)
            (cache / value).touch()
        else:
            monkeypatch.setenv(name, value)
    with pytest.raises(DataError, match=message) as caught:
        cached(cache, file).require("d/a.json")
    expected = ["d/a.json", file.url, str(cache), "--data", "--tiny"]
    if message == "published":
        expected += [file.git_blob or "", file.sha256 or ""]
    assert [part for part in expected if part not in str(caught.value)] == []
    assert everything_below(cache) == left


@pytest.mark.integration
def test_interrupted_downloads_are_resumed(
    cache: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "RETRIES", 1)
    root = cached(cache, mirror.serve(listed("a.json"), cut=1000))
    assert root.require("a.json").read_bytes() == CONTENT
    assert [rest is not None for _, rest in mirror.requests] == [False, True]
    assert everything_below(cache) == ["a.json"]


@pytest.mark.integration
@pytest.mark.parametrize("begun", [b"x" * 1000, CONTENT, CONTENT + b"x"])
def test_unusable_partial_downloads_are_removed(cache: Path, mirror: Mirror, begun: bytes) -> None:
    root = cached(cache, mirror.serve(listed("a.json")))
    cache.mkdir(parents=True)
    (cache / ".a.json.part").write_bytes(begun)
    with pytest.raises(DataError, match=r"published|416"):
        root.require("a.json")
    assert everything_below(cache) == []
    assert root.require("a.json").read_bytes() == CONTENT


def in_another_process(folder: Path, file: PublicFile) -> subprocess.Popen[bytes]:
    code = (
        # Children of a shell's background job ignore interrupts by default.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from pathlib import Path; from mwzeval.files.downloads import *;"
        f"download({file!r}, Path({str(folder)!r}))"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)


@pytest.mark.integration
def test_an_interrupt_keeps_the_partial_download(cache: Path, mirror: Mirror) -> None:
    file = mirror.serve(listed("a.json"), pause=0.2)
    process = in_another_process(cache, file)
    begun = partial(cache.glob, "*.part")
    wait_until("a download has begun", lambda: any(path.stat().st_size for path in begun()))
    process.send_signal(signal.SIGINT)
    assert process.wait(HANGING) != 0
    assert everything_below(cache) == [".a.json.part"]
    root = cached(cache, mirror.serve(file))
    assert root.find("a.json") is None
    assert root.require("a.json").read_bytes() == CONTENT
    assert [rest is not None for _, rest in mirror.requests] == [False, True]


@pytest.mark.integration
def test_two_concurrent_downloads_of_one_file_succeed(cache: Path, mirror: Mirror) -> None:
    file = mirror.serve(listed("a.json"), pause=0.05)
    processes = [in_another_process(cache, file) for _ in range(2)]
    assert [process.wait(HANGING) for process in processes] == [0, 0]
    assert everything_below(cache) == ["a.json"]
    assert (cache / "a.json").read_bytes() == CONTENT


@pytest.mark.integration
def test_offline_mode_sends_no_request_and_lists_all_missing_files(
    cache: Path, mirror: Mirror
) -> None:
    files = [mirror.serve(listed(f"d/{name}.json")) for name in ("one", "two", "three")]
    cached(cache, *files).require("d/two.json")
    mirror.requests.clear()
    root = cached(cache, *files, offline=True)
    assert root.require("d/two.json").read_bytes() == CONTENT
    with pytest.raises(DataError) as caught:
        root.matching("d/*.json")
    for part in (files[0].url, files[2].url, "MWZEVAL_OFFLINE", "--tiny"):
        assert part in str(caught.value)
    assert files[1].url not in str(caught.value)
    assert mirror.requests == []


def test_missing_files_of_several_calls_are_listed_in_one_error(tmp_path: Path) -> None:
    files = (listed("db/hotel.json"), listed("db/train.json"))
    root = DataRoot(tmp_path, "--data", files, sample="--corpus sample")
    calls = [partial(root.require, place) for place in ("db/hotel.json", "db/train.json", "own")]
    elsewhere = DataRoot(tmp_path / "elsewhere", "--data")
    with pytest.raises(MissingError) as raised:
        all_there(
            lambda: 1, partial(all_there, *calls[:2]), *calls, partial(elsewhere.require, "later")
        )
    first, *addresses, put, sample = str(raised.value).splitlines()
    assert first.endswith("(--data): db/hotel.json, db/train.json, own")
    assert [line.rpartition(" ")[2] for line in addresses] == [file.url for file in files]
    assert str(tmp_path) in put
    assert "--corpus sample" in sample
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


DB = ("attraction", "restaurant", "hotel", "train")
NEEDED = {
    "multiwoz": (
        ["evaluate", "--corpus", "2.2", GOOD],
        [*(f"db/{name}_db.json" for name in DB), "test/dialogues_002.json", "dialog_acts.json"],
    ),
    "crosswoz": (
        ["crosswoz", "statistics"],
        ["test.json.zip", *(f"database/{name}_db.json" for name in (*DB[:3], "metro"))],
    ),
    "pydial": (
        ["pydial", "play", "CR-1"],
        ["ontology/CamRestaurants-rules.json", "db/CamRestaurants-dbase.db"],
    ),
}


@pytest.mark.parametrize("benchmark", NEEDED)
def test_offline_commands_list_all_missing_files(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    words, files = NEEDED[benchmark]
    for data, advice in (
        ([], f"mwzeval data download {benchmark}"),
        (["--data", str(tmp_path)], "(--data)"),
    ):
        code, _, message = run(*words, *data)
        assert code == 2
        assert all(f"/{file.rpartition('/')[2]}" in message for file in files)
        assert advice in message


CORPORA = {"old": ("db/*.json", "old.zip", "old.json"), "new": ("db/*.json", "new/*.json")}
PUBLISHED = b"published"


STATUS = """
state       file           corpora
published   db/hotel.json  old, new
unverified  db/taxi.json   old, new
different   new/1.json     new
              expected git blob 374c4065770179576e306a2e4a7772746f91f156
              found    git blob c7ad82cb7ae7fd2cde76c1bf23ecf25aa7a8693a
missing     new/2.json     new
unlisted    new/3.json     new
              expected git blob (not among the published files)
              found    git blob 1b356174a140883383b9ad35a2268af60e23fb5b
unlisted    old.json       old
              expected git blob (not among the published files)
              found    git blob 826a4ece885645319e72d56621f63c75f8a9f3f4
missing     old.zip        old

old  1 published, 1 unverified, 1 unlisted, 1 missing
new  1 published, 1 different, 1 unverified, 1 unlisted, 1 missing
"""
"""The git blob ids are results of `git hash-object`."""


@pytest.mark.parametrize("origin", ["--data", "cache"])
def test_data_status_lists_state_and_users_of_every_corpus_file(
    tmp_path: Path, origin: Origin
) -> None:
    contents = {
        "db/hotel.json": PUBLISHED,
        "db/taxi.json": b"whatever",
        "new/1.json": b"mine",
        "new/3.json": b"also mine",
        "old.json": b"unpacked",
        "leaderboard.json": b"of no corpus",
        "unused.json": PUBLISHED,
        "new/.hidden.json": b"",
    }
    for local, content in contents.items():
        (tmp_path / local).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / local).write_bytes(content)
    blob = hashlib.sha1(b"blob %d\0" % len(PUBLISHED) + PUBLISHED).hexdigest()
    places = ["unused.json", "old.zip", "new/2.json", "new/1.json", "db/hotel.json"]
    published = [PublicFile(place, "r", "c", place, blob) for place in places]
    published.append(PublicFile("db/taxi.json", "r", "c", "db/taxi.json", None))
    root = DataRoot(tmp_path, origin, tuple(published), offline=True, corpora=CORPORA)
    for reread in (False, True):
        shown = format_states(root, file_states(root, reread=reread))
        assert STATUS in shown
        assert str(tmp_path) in shown
        assert ("given by --data" in shown) == (origin == "--data")
        assert ("Files in the cache that differ" in shown) == (origin == "cache")
        assert "the checksum in the signature" in shown


TABLES = {
    "multiwoz": "public_files.tsv",
    "crosswoz": "crosswoz/public_files.tsv",
    "pydial": "pydial/public_files.tsv",
}
OF_NO_CORPUS = ("predictions/", "references/", "data/MultiWOZ_2.2/schema.json")
"""Published files that no corpus consists of: responses, other references, a schema."""


@pytest.mark.parametrize("name", [None, *TABLES])
def test_status_lists_every_public_file_of_every_benchmark(name: str | None, run: Run) -> None:
    tables = list(TABLES.values()) if name is None else [TABLES[name]]
    files = {file.local for table in tables for file in public_files(embedded(*table.split("/")))}
    code, shown, _ = run("data", "status", *([name] if name else []))
    assert code == 0
    missing = {line.split()[1] for line in shown.splitlines() if line.startswith("missing ")}
    assert missing == {file for file in files if not file.startswith(OF_NO_CORPUS)}
    titles = [line.partition(":")[0] for line in shown.splitlines() if ": /" in line]
    assert titles == (["MultiWOZ", "CrossWOZ", "PyDial"] if name is None else titles[:1])


def test_verify_reports_modified_files_of_any_benchmark(tmp_path: Path, run: Run) -> None:
    (tmp_path / "pydial" / "ontology").mkdir(parents=True)
    (tmp_path / "pydial" / "ontology" / "CamRestaurants-rules.json").write_text("{}")
    for names, expected in ((["pydial"], 1), (["crosswoz"], 0), ([], 1)):
        code, out, _ = run("data", "verify", *names, "--data", str(tmp_path))
        assert (code, "different" in out) == (expected, bool(expected))


def test_offline_download_of_one_benchmark_lists_its_files(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    for name, expected in (
        ("pydial", "db/Laptops11-dbase.db"),
        ("crosswoz", "crosswoz/val.json.zip"),
        ("pydail", '"pydial"'),
    ):
        code, _, err = run("data", "download", name)
        assert code == 2
        assert expected in err


def test_examples_are_copied_completely_without_overwriting_files(tmp_path: Path, run: Run) -> None:
    destination = tmp_path / "made" / "here"
    destination.mkdir(parents=True)
    (destination / "other.txt").write_text("stays")
    code, out, _ = run("data", "examples", str(destination))
    assert code == 0
    assert (destination / "other.txt").read_text() == "stays"
    source = embedded("predictions")
    copies = {path.relative_to(source): path for path in source.rglob("*") if path.is_file()}
    printed = [Path(line).relative_to(destination) for line in out.split("\n")[:-1]]
    assert printed == sorted(copies)
    assert all((destination / name).read_bytes() == copies[name].read_bytes() for name in copies)
    mine = destination / printed[0]
    mine.write_text("mine")
    for place in (destination, mine):
        code, _, err = run("data", "examples", str(place))
        assert code == 2
        assert str(place) in err
    assert mine.read_text() == "mine"
