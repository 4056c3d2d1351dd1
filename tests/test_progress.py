"""Progress bars: on a terminal only, and never in the way of messages."""

from __future__ import annotations

import io
import sys

import pytest

from mwzeval import progress
from mwzeval.output import tell
from mwzeval.progress import counting, followed


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(progress, "DELAY", 0)
    monkeypatch.delenv(progress.VARIABLE, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_terminal_has_a_bar_until_the_work_is_done(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal)
    with counting(4, "files") as update:
        update(3)
        assert list(followed("ab", "dialogues")) == ["a", "b"]
        tell("downloaded")
    lines = terminal.getvalue().replace("\n", "\r").split("\r")
    assert any("3/4" in line and "files" in line for line in lines)
    assert any("0/2" in line and "dialogues" in line for line in lines)
    assert "downloaded" in lines
    assert not lines[-1].strip()


@pytest.mark.parametrize(
    ("variables", "stream", "shown"),
    [
        ({}, io.StringIO, True),
        ({}, Terminal, False),
        ({"TERM": "dumb"}, Terminal, True),
        ({progress.VARIABLE: "0"}, Terminal, True),
    ],
)
def test_other_streams_have_none(
    variables: dict[str, str],
    stream: type[io.StringIO],
    shown: bool,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", stream())
    assert list(followed("ab", "dialogues", shown=shown)) == ["a", "b"]
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
