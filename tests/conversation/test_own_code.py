"""Imports of somebody's own code that take long are reported, and ended where a limit is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.conversation import own_code
from mwzeval.conversation.own_code import IMPORT_LIMIT, imported
from mwzeval.errors import UsageError

WAITING = """
from pathlib import Path
from tests.waiting import wait_until

wait_until("the report of a slow import", Path({told!r}).exists)

def agent(messages):
    return "hello"
"""
HANGING = """
from threading import Event
Event().wait()
"""


def test_an_import_that_takes_long_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    monkeypatch.setattr(own_code, "NOTICE_SECONDS", 0.01)
    monkeypatch.setattr(own_code, "tell", lambda message: told.write_text(message, "utf-8"))
    (tmp_path / "slow_agent.py").write_text(WAITING.format(told=str(told)), encoding="utf-8")
    assert imported(f"{tmp_path / 'slow_agent.py'}:agent")([]) == "hello"
    assert "slow_agent.py" in told.read_text("utf-8")
    assert IMPORT_LIMIT in told.read_text("utf-8")


def test_an_import_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMPORT_LIMIT, "0.05")
    (tmp_path / "hanging_agent.py").write_text(HANGING, encoding="utf-8")
    with pytest.raises(UsageError, match="was not imported within"):
        imported(f"{tmp_path / 'hanging_agent.py'}:agent")


@pytest.mark.parametrize("limit", ["soon", "5s", "0", "-1", "nan", "1e300"])
def test_a_limit_that_is_no_number_is_refused(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMPORT_LIMIT, limit)
    with pytest.raises(UsageError, match=IMPORT_LIMIT):
        imported("json:loads")
