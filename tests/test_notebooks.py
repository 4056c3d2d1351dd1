"""The notebooks of `examples/` run from the top to the end, and print what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.documents import shows
from tools.notebooks import NOTEBOOKS, executed, printed


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.exhaustive(but=1)
def test_it_runs_and_prints_what_it_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    kept = printed(json.loads(path.read_text(encoding="utf-8")))
    for shown, now in zip(kept, printed(executed(path)), strict=True):
        assert shows(shown, now), f"python -m tools.notebooks writes it again\n{now}"
