"""Lines of files of any size, and the files that patterns stand for."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import InputError, UsageError
from mwzeval.files.reading import pieces, read_bytes
from mwzeval.files.streams import expand, lines


def test_patterns_stand_for_files_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b2.jsonl", "b10.jsonl", "a.jsonl", "[1].jsonl", "c/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert expand(["b*.jsonl", "a.jsonl"]) == ["b10.jsonl", "b2.jsonl", "a.jsonl"]
    assert expand(["[1].jsonl"]) == ["[1].jsonl"], "a file may be called so"
    assert expand(["**/d.jsonl"]) == ["c/d.jsonl"]
    with pytest.raises(UsageError, match=r"a\.jsonl"):
        expand(["a.jsonl", "a*.jsonl"])
    with pytest.raises(InputError, match=r"x\*: .*\n.*y\*: "):
        expand(["x*", "y*"])


def test_patterns_may_be_addresses(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    for name in ("b2.jsonl", "b10.jsonl"):
        (tmp_path / name).touch()
    assert expand([f"file://{tmp_path}/b*.jsonl"]) == [
        f"file://{tmp_path}/{name}" for name in ("b10.jsonl", "b2.jsonl")
    ]


@given(
    st.lists(st.text("ab\u2028ü ", max_size=9), max_size=20),
    st.sampled_from(["", ".gz", ".zst"]),
    st.integers(1, 3),
)
def test_lines_of_a_file_are_those_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, text: list[str], ending: str, members: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / f"text{ending}"
    raw = "\n".join(text).encode()
    ways: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".zst": zstandard.compress,
    }
    compress = ways[ending]
    size = len(raw) // members + 1
    path.write_bytes(b"".join(compress(raw[at : at + size]) for at in range(0, len(raw) + 1, size)))
    expected = [(n, line) for n, line in enumerate(text, start=1) if line.strip()]
    assert read_bytes(str(path)) == raw
    if expected:
        assert list(lines(str(path))) == expected
    else:
        with pytest.raises(InputError, match="text"):
            list(lines(str(path)))


def test_long_lines_are_put_together_and_endless_ones_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.jsonl"
    long = "x" * 50_000
    path.write_text(f"{long}\ny\n{long}", encoding="utf-8")
    assert list(lines(str(path))) == [(1, long), (2, "y"), (3, long)]
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "300000")
    with pytest.raises(InputError, match=r"line 1 .*MWZEVAL_MAX_SIZE"):
        list(lines(str(path)))


def test_what_unpacks_to_much_comes_in_pieces_that_fit_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "zeros.jsonl.zst"
    size = 200_000_000
    path.write_bytes(zstandard.compress(bytes(size)))
    lengths = [len(piece) for piece in pieces(str(path))]
    assert sum(lengths) == size
    assert max(lengths) < 40_000_000
