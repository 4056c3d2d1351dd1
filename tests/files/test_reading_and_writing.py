"""Files are written completely or not at all, and all reading has one size limit."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import resource
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import DataError, InputError, MwzevalError, UsageError
from mwzeval.files.reading import (
    DEFAULT_SIZE,
    data_bytes,
    expand,
    first_line,
    lines,
    parse_beginning,
    parse_json,
    pieces,
    read_bytes,
    read_data,
    read_model,
    read_text,
    read_zip,
    size_limit,
)
from mwzeval.files.writing import folder_written_atomically, write_atomically, written_atomically
from tests.places import ROOT

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("members", [1, 2])
def test_files_larger_than_the_size_limit_are_rejected(
    ending: str, members: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "1MB")
    path = tmp_path / "file"
    pack = PACKED[ending]
    first = pack(b"x" * 400_000) * (members - 1)
    rest = 1_000_000 - 400_000 * (members - 1)
    path.write_bytes(first + pack(b"x" * rest))
    assert read_bytes(path) == b"x" * 1_000_000
    path.write_bytes(first + pack(b"x" * (rest + 1)))
    with pytest.raises(InputError, match="MWZEVAL_MAX_SIZE") as error:
        read_bytes(path)
    (problem,) = error.value.problems
    assert (problem.kind, problem.file) == ("too-large", str(path))
    assert len(b"".join(pieces(path))) == 1_000_001  # callers of `pieces` set limits


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_damaged_compressed_files_are_rejected(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{ending}"
    whole = PACKED[ending](b"some text, and more")
    for damaged in (b"", whole[:9], whole[:-1], whole + whole[:-1], whole + b"x" * 9, b"x" * 9):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"file\.") as caught:
            read_bytes(path)
        assert caught.value.problems[0].kind == "unreadable"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_the_size_limit_applies_to_the_sum_of_archive_members(
    method: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "1MB")
    path = tmp_path / "a.json.zip"

    def write(**members: int) -> None:
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, size in members.items():
                archive.writestr(f"folder/{name}", b"x" * size)

    write(a=400_000, b=400_000, c=800_000)
    found = {name: len(raw) for name, raw in read_zip(path, ["a", "b", "d"]).items()}
    assert found == {"a": 400_000, "b": 400_000}
    with pytest.raises(InputError, match="/c: "):
        read_zip(path, ["a", "c"])
    write(**{"a.json": 1_000_001})
    with pytest.raises(DataError, match="1 MB"):
        data_bytes(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archive_damage_is_an_error_or_leaves_the_content_unchanged(
    method: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.json.zip"
    raw = json.dumps([{"text": str(n**5)} for n in range(500)]).encode()
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.json", raw)
    whole = path.read_bytes()
    for damage in (b"", b"PK\3\4", b"PK\3\4" + bytes(99), b"PK\5\6" + bytes(18), whole[:-1]):
        path.write_bytes(damage)
        with pytest.raises(DataError, match=r"a\.json\.zip"):
            read_data(path)
    for place in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[place] ^= 0x5A
        path.write_bytes(damaged)
        with suppress(DataError):
            assert data_bytes(path) == raw


def test_the_size_limit_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MWZEVAL_MAX_SIZE", raising=False)
    assert size_limit() == DEFAULT_SIZE
    for value, size in {"7": 7, " 2gb ": 2 * 10**9, "3 MB": 3 * 10**6, "1KB": 1000}.items():
        monkeypatch.setenv("MWZEVAL_MAX_SIZE", value)
        assert size_limit() == size
    for value in ("0", "many", "1.5GB", "-1", "²", "9" * 13):
        monkeypatch.setenv("MWZEVAL_MAX_SIZE", value)
        with pytest.raises(UsageError, match="MWZEVAL_MAX_SIZE"):
            size_limit()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,}', "line 7, column 9"),
        ('[1,\n"2', "line 8, column 1: Unterminated string — the file may be cut off"),
        ("[1,\n1e999]", "line 8: 1e999"),
        ("[1,\nNaN]", "line 8: NaN"),
        ("[1,\n" + "1" * 5000 + "]", "line 8: an integer has more than 4300 digits"),
    ],
)
def test_invalid_json_is_reported_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"^a\.json: .*{said}"):
        parse_json(text, "a.json", first_line=7)


def test_too_deep_or_too_many_json_values_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^prices\.json: "):
        parse_json("[" * 200_000, "prices.json")
    text = "[" + "{}," * 1_000_000 + "{}]"
    assert len(parse_json(text, "a.json")) == 1_000_001
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "80MB")
    assert len(parse_json(text[:-4] + "]", "a.json")) == 1_000_000
    with pytest.raises(InputError, match="1,000,000") as caught:
        parse_json(text + " ,", "a.json")
    assert caught.value.problems[0].file == "a.json"


@pytest.mark.parametrize("name", ["a\0b", "", "/nowhere/at/all", "/"])
def test_errors_name_files_that_cannot_be_opened(name: str) -> None:
    for read in (read_bytes, read_text, read_model):
        with pytest.raises(InputError) as error:
            read(name)
        assert error.value.problems[0].file == name.replace("\0", "\\x00")


def test_the_size_limit_applies_to_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "10")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0123456789")))
    assert read_bytes("-") == b"0123456789"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(bytes(11)))))
    with pytest.raises(InputError, match="-: "):
        read_bytes("-")


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="devices and limits as Linux has them")
@pytest.mark.parametrize("place", ["bomb.json.zst", "/dev/zero", "/dev/urandom", "-"])
def test_endless_input_is_rejected_with_little_memory(place: str, tmp_path: Path) -> None:
    """The operating system limits CPU seconds and memory; wall-clock time is not measured."""
    source = subprocess.PIPE if place == "-" else subprocess.DEVNULL
    if place == "bomb.json.zst":
        place = str(tmp_path / place)
        Path(place).write_bytes(zstandard.compress(bytes(10**8)) * 100)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    script = "import sys; from mwzeval.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", script, "validate", "-i", place],
        preexec_fn=limited,
        env=os.environ | {"MWZEVAL_MAX_SIZE": "100MB", "OPENBLAS_NUM_THREADS": "1"},
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                for _ in range(10_000):
                    process.stdin.write(b" " * 10**6)
            process.stdin = None
        output, errors = process.communicate()
    assert process.returncode == 2, errors
    problems: list[dict[str, Any]] = json.loads(output)["problems"]
    assert [(problem["kind"], problem["file"]) for problem in problems] == [("too-large", place)]


def test_model_files_have_a_separate_size_limit_and_stay_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "1KB")
    path = tmp_path / "model"
    path.write_bytes(gzip.compress(b"x") + bytes(10_000))
    assert len(read_model(path)) > 10_000  # beyond the usual limit, and not decompressed
    path.write_bytes(bz2.compress(b"") + bytes(17_000))
    for place in (str(path), "/dev/zero"):
        with pytest.raises(InputError, match=place):
            read_model(place)


def test_truncated_json_is_parsed_up_to_its_end() -> None:
    value: dict[str, Any] = {"a": [{"b": 'x "]} \\', "c": None}, [1, 2.5, {}]], "é": {"d": "e, f"}}
    text = json.dumps(value)
    assert parse_beginning(text) == parse_beginning(f"{text}\n{text}\n") == value
    cut = [parse_beginning(text[:end]) for end in range(len(text) + 1)]
    assert cut[0] is None
    assert cut[1] == {}
    assert cut[text.index(', "c"') + 1] == {"a": [{"b": value["a"][0]["b"]}]}
    assert all(set(part) <= set(value) for part in cut[1:])
    for other in ("", "[" * 100_000, "]" * 9, "a,b\n1,2", '{"a" 1, ', '"' * 9):
        assert parse_beginning(other) is None


def test_patterns_expand_to_sorted_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b2.jsonl", "b10.jsonl", "a.jsonl", "[1].jsonl", "c/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert expand(["b*.jsonl", "a.jsonl"]) == ["b10.jsonl", "b2.jsonl", "a.jsonl"]
    assert expand(["[1].jsonl"]) == ["[1].jsonl"], "the name of a file may contain brackets"
    assert expand(["**/d.jsonl"]) == ["c/d.jsonl"]
    with pytest.raises(UsageError, match=r"a\.jsonl"):
        expand(["a.jsonl", "a*.jsonl"])
    with pytest.raises(InputError, match=r"x\*: .*\n.*y\*: "):
        expand(["x*", "y*"])
    pytest.importorskip("fsspec")
    urls = [f"file://{tmp_path}/{name}" for name in ("b10.jsonl", "b2.jsonl")]
    assert expand([f"file://{tmp_path}/b*.jsonl"]) == urls


@given(
    st.lists(st.text("ab\u2028ü ", max_size=9), max_size=20),
    st.sampled_from([*PACKED]),
    st.integers(1, 3),
)
def test_line_iteration_agrees_with_the_decompressed_text(
    tmp_path_factory: pytest.TempPathFactory, text: list[str], ending: str, members: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / f"text{ending}"
    raw = "\n".join(text).encode()
    size = len(raw) // members + 1
    parts = (PACKED[ending](raw[at : at + size]) for at in range(0, len(raw) + 1, size))
    path.write_bytes(b"".join(parts))
    expected = [(n, line) for n, line in enumerate(text, start=1) if line.strip()]
    assert read_bytes(str(path)) == raw
    if expected:
        assert list(lines(str(path))) == expected
    else:
        with pytest.raises(InputError, match="text"):
            list(lines(str(path)))


def test_long_lines_are_joined_and_lines_above_the_limit_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.jsonl"
    long = "x" * 50_000
    path.write_text(f"{long}\ny\n{long}", encoding="utf-8")
    assert list(lines(str(path))) == [(1, long), (2, "y"), (3, long)]
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "300000")
    with pytest.raises(InputError, match=r"line 1 .*MWZEVAL_MAX_SIZE"):
        list(lines(str(path)))


def test_the_first_line_is_read_without_the_rest_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(b" \n{}\n" + os.urandom(100_000))[:-9])
    assert first_line(str(path)) == b"{}"
    with pytest.raises(InputError, match="too early"):
        read_bytes(path)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_highly_compressed_files_are_read_in_small_pieces(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"zeros.jsonl{ending}"
    path.write_bytes(PACKED[ending](bytes(100_000_000)))
    lengths = [len(piece) for piece in pieces(str(path))]
    assert sum(lengths) == 100_000_000
    assert max(lengths) < 40_000_000


INTERRUPTING = """
import os, runpy, signal, sys

class Interrupts:
    def __init__(self, module):
        self.module = module

    def find_spec(self, name, *rest):
        if name == self.module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts(sys.argv[1]))
sys.argv = ["mwzeval", "evaluate", "-s", "nothing.json"]
runpy.run_module("mwzeval", run_name="__main__", alter_sys=True)
"""

DIALOGUES = "data/dstc7/ubuntu_test_subtask_1.json"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_read_only_files_are_not_replaced(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    report.chmod(0o444)
    with pytest.raises(MwzevalError, match=r"report\.json"):
        write_atomically(report, "new")
    assert report.read_text() == "old"
    report.chmod(0o640)
    write_atomically(report, "new")
    assert report.read_text() == "new"
    assert stat.S_IMODE(report.stat().st_mode) == 0o640


def test_writing_follows_links_and_writes_devices_directly(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("report.json")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "report.json").read_text() == "new"
    write_atomically("/dev/null", "new")
    assert Path("/dev/null").is_char_device()


def test_an_error_during_writing_keeps_the_old_file(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    with pytest.raises(ZeroDivisionError), written_atomically(report) as stream:
        stream.write(b"new" * (1 // 0))
    assert names(tmp_path) == ["report.json"]
    assert report.read_text() == "old"


@pytest.mark.integration
@pytest.mark.parametrize(
    "verb",
    [
        ["dstc7", "predict", DIALOGUES, "--baseline", "random", "--track", "dstc7-ubuntu-1"],
        ["crosswoz", "simulate", "--revision", "sample", "--per-type", "50", "-q"],
    ],
)
def test_a_failed_write_reports_the_output_file(tmp_path: Path, verb: list[str]) -> None:
    output = tmp_path / "out.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "mwzeval", *verb, "-o", str(output)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        # Limits the size of files; Python ignores SIGXFSZ, so that writing raises an error.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)),
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert str(output) in line
    assert not list(tmp_path.rglob(".mwzeval-*"))


@pytest.mark.integration
@pytest.mark.parametrize(
    "module", ["mwzeval.cli", "argparse", "mwzeval.commands.evaluate", "numpy"]
)
def test_an_early_interrupt_prints_no_traceback(tmp_path: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING, module],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr


def test_folders_are_written_atomically(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), folder_written_atomically(tmp_path / "a") as folder:
        (folder / "file").write_text("half" * (1 // 0))
    assert names(tmp_path) == []
    with folder_written_atomically(tmp_path / "a") as folder:
        (folder / "file").write_text("whole")
        assert not (tmp_path / "a").exists()
    with pytest.raises(MwzevalError, match=r"/a: "), folder_written_atomically(tmp_path / "a") as f:
        (f / "file").write_text("late")
    assert (tmp_path / "a/file").read_text() == "whole"
    assert names(tmp_path) == ["a"]
