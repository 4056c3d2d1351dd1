"""What `data/` and `predictions/` embed is what the programs in `tools/` write, byte by byte."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.places import ROOT
from tools import files
from tools.crosswoz_sample.__main__ import files as crosswoz_sample
from tools.dstc7_sample.__main__ import files as dstc7_sample
from tools.multiwoz_sample.__main__ import files as multiwoz_sample
from tools.pydial_domains.__main__ import files as pydial_domains

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("generated", "patterns"),
    [
        (multiwoz_sample, ["data/sample/**/*", "predictions/sample-*"]),
        (crosswoz_sample, ["data/crosswoz/sample/**/*", "predictions/crosswoz-sample-*"]),
        (dstc7_sample, ["data/dstc7/*", "predictions/dstc7-*/*"]),
        (pydial_domains, ["data/pydial/demo/**/*"]),
    ],
)
def test_generating_again_gives_the_committed_bytes(
    generated: Callable[[], dict[str, str]], patterns: list[str]
) -> None:
    committed = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if path.is_file()
    }
    written = {path: text.encode("utf-8") for path, text in generated().items()}
    assert written.keys() == committed.keys()
    assert [path for path in written if written[path] != committed[path]] == []


def test_files_are_written_below_the_folder_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["generator", "--output", str(tmp_path)])
    files.write({"data/b/c.json": files.array_text(["é", {"a": 1}])}, "Write a file")
    assert (tmp_path / "data" / "b" / "c.json").read_bytes() == b'[\n"\xc3\xa9",\n{"a":1}\n]\n'
