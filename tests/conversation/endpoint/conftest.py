"""Where runs against a server of a test take place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conversation.endpoint.server import shorten_waits


@pytest.fixture
def elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """In a folder of its own, offline, with the `KEY` of the module for both sides."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    for side in ("AGENT", "USER"):
        monkeypatch.setenv(f"MWZEVAL_{side}_API_KEY", request.module.KEY)
    shorten_waits(monkeypatch)
