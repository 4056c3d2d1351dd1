"""One limit for all that is read: plain, compressed, in archives, from devices and pipes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mwzeval.errors import DataError, InputError, UsageError
from mwzeval.files.json_files import (
    data_bytes,
    parse_beginning,
    parse_json,
    read_data,
    read_json,
    read_text,
)
from mwzeval.files.reading import (
    DEFAULT_SIZE,
    pieces,
    read_bytes,
    read_model,
    read_zip,
    size_limit,
)

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "gz members": lambda raw: gzip.compress(raw[:5]) + gzip.compress(raw[5:]),
    "zst frames": lambda raw: zstandard.compress(raw[:5]) + zstandard.compress(raw[5:]),
}


@pytest.fixture
def a_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "1MB")


@pytest.mark.usefixtures("a_megabyte")
@pytest.mark.parametrize("kind", PACKED)
def test_a_file_may_have_the_limit_and_not_a_byte_more(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACKED[kind](b"x" * 1_000_000))
    assert read_bytes(path) == b"x" * 1_000_000
    path.write_bytes(PACKED[kind](b"x" * 1_000_001))
    with pytest.raises(InputError, match="MWZEVAL_MAX_SIZE") as error:
        read_bytes(path)
    assert [(problem.kind, problem.file) for problem in error.value.problems] == [
        ("too-large", str(path))
    ]
    assert len(b"".join(pieces(path))) == 1_000_001  # readers of parts have limits of their own


@pytest.mark.usefixtures("a_megabyte")
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_all_members_of_an_archive_share_the_limit(method: int, tmp_path: Path) -> None:
    path = tmp_path / "a.json.zip"

    def write(**members: int) -> None:
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, size in members.items():
                archive.writestr(f"folder/{name}", b"x" * size)

    write(a=400_000, b=400_000, c=800_000)
    assert {name: len(raw) for name, raw in read_zip(path, ["a", "b", "d"]).items()} == {
        "a": 400_000,
        "b": 400_000,
    }
    with pytest.raises(InputError, match="/c: "):
        read_zip(path, ["a", "c"])
    write(**{"a.json": 1_000_001})
    with pytest.raises(DataError, match="1 MB"):
        data_bytes(path)


@pytest.mark.parametrize("damage", [b"", b"PK\3\4", b"PK\3\4" + bytes(99), b"PK\5\6" + bytes(18)])
def test_what_is_no_archive_is_told(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json.zip"
    path.write_bytes(damage)
    with pytest.raises(DataError, match=r"a\.json\.zip"):
        read_data(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_flipped_bytes_in_an_archive_are_told(method: int, tmp_path: Path) -> None:
    path = tmp_path / "a.json.zip"
    raw = json.dumps([{"text": str(n**5)} for n in range(500)]).encode()
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.json", raw)
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[place] ^= 0x5A
        path.write_bytes(damaged)
        with suppress(DataError):
            assert data_bytes(path) == raw


def test_the_limit_is_said_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MWZEVAL_MAX_SIZE", raising=False)
    assert size_limit() == DEFAULT_SIZE
    for said, size in {"7": 7, " 2gb ": 2 * 10**9, "3 MB": 3 * 10**6, "1KB": 1000}.items():
        monkeypatch.setenv("MWZEVAL_MAX_SIZE", said)
        assert size_limit() == size
    for said in ("0", "many", "1.5GB", "-1", "²", "9" * 13):
        monkeypatch.setenv("MWZEVAL_MAX_SIZE", said)
        with pytest.raises(UsageError, match="MWZEVAL_MAX_SIZE"):
            size_limit()


def test_many_small_values_are_refused_before_they_fill_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "[" + "{}," * 1_000_000 + "{}]"
    assert len(parse_json(text, "a.json")) == 1_000_001
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "80MB")
    assert len(parse_json(text[:-4] + "]", "a.json")) == 1_000_000
    with pytest.raises(InputError, match="1,000,000") as caught:
        parse_json(text + " ,", "a.json")
    assert caught.value.problems[0].file == "a.json"


@pytest.mark.parametrize("name", ["a\0b", "", "/nowhere/at/all", "/"])
def test_what_cannot_be_opened_is_told(name: str) -> None:
    for read in (read_bytes, read_text, read_model):
        with pytest.raises(InputError) as error:
            read(name)
        assert error.value.problems[0].file == name.replace("\0", "\\x00")


def test_standard_input_has_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "10")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0123456789")))
    assert read_bytes("-") == b"0123456789"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(bytes(11)))))
    with pytest.raises(InputError, match="-: "):
        read_bytes("-")


def _zeros(path: Path, gigabytes: int) -> None:
    path.write_bytes(zstandard.compress(bytes(10**8)) * 10 * gigabytes)


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="devices and limits as Linux has them")
@pytest.mark.parametrize("what", ["bomb.json.zst", "/dev/zero", "/dev/urandom", "a pipe"])
def test_endless_input_ends_in_little_memory(what: str, tmp_path: Path) -> None:
    """Counted as processor seconds and bytes that the system grants, not by the clock."""
    place, source = what, subprocess.DEVNULL
    if what == "bomb.json.zst":
        place = str(tmp_path / what)
        _zeros(Path(place), 10)
        assert Path(place).stat().st_size < 2_000_000
    elif what == "a pipe":
        place, source = "-", subprocess.PIPE

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


def test_a_model_is_a_file_of_its_own_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "1KB")
    path = tmp_path / "model"
    path.write_bytes(gzip.compress(b"x") + bytes(10_000))
    assert len(read_model(path)) > 10_000  # several times the limit, and not decompressed
    path.write_bytes(bz2.compress(b"") + bytes(17_000))
    for place in (str(path), "/dev/zero"):
        with pytest.raises(InputError, match=place):
            read_model(place)


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")
def test_a_model_that_does_not_fit_into_memory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "large.safetensors"
    with path.open("wb") as stream:
        stream.truncate(3 * 10**9)  # takes no room on disk

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))

    script = (
        "from mwzeval.errors import InputError\n"
        "from mwzeval.files.reading import read_model\n"
        "try:\n"
        f"    read_model({str(path)!r})\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], preexec_fn=limited, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: ")
    assert "3,000,000,000" in done.stdout


def test_the_beginning_of_json_is_its_value_as_far_as_it_is_there() -> None:
    value: dict[str, Any] = {"a": [{"b": 'x "]} \\', "c": None}, [1, 2.5, {}]], "é": {"d": "e, f"}}
    text = json.dumps(value)
    assert parse_beginning(text) == parse_beginning(f"{text}\n{text}\n") == value
    cut = [parse_beginning(text[:end]) for end in range(len(text) + 1)]
    assert cut[0] is None
    assert cut[1] == {}
    assert cut[text.index(', "c"') + 1] == {"a": [{"b": value["a"][0]["b"]}]}
    assert all(set(each) <= set(value) for each in cut[1:])


@pytest.mark.parametrize("text", ["", "[" * 100_000, "]" * 9, "a,b\n1,2", '{"a" 1, ', '"' * 9])
def test_what_does_not_begin_as_json_has_no_value(text: str) -> None:
    assert parse_beginning(text) is None


def test_json_that_is_nested_too_deeply_is_told_whatever_it_is_of(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text("[" * 200_000)
    with pytest.raises(InputError) as caught:
        read_json(file)
    assert caught.value.problems[0].file == str(file)
