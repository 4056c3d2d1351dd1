"""Whole runs are held in a folder of their own, on the sample, without network."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
