"""What is told while something takes long: a line on a terminal, one line elsewhere."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable

import pytest

from mwzeval import progress
from mwzeval.output import tell, write_result
from mwzeval.progress import CLEARED, counting, followed, status
from tests.waiting import wait_until


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("SHOWN_AFTER", "TOLD_AFTER", "EVERY"):
        monkeypatch.setattr(progress, pause, 0.001)
    monkeypatch.delenv(progress.VARIABLE)


@pytest.fixture
def in_terminal(at_once: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """What makes standard error a terminal; between fixtures and tests pytest sets it anew."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")

    def replace() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replace


def shows(stream: io.StringIO, text: str) -> None:
    wait_until(f"{text} is shown", lambda: text in stream.getvalue())


def left(stream: io.StringIO) -> str:
    """Return what a terminal has in its last line."""
    return stream.getvalue().rpartition(CLEARED)[2]


def test_a_terminal_has_a_line_until_the_result_comes(
    in_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = in_terminal()
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with status("comparing"):
        with counting(2, "files") as count:
            shows(terminal, "comparing: 0/2 files …")
            count.done += 1
            shows(terminal, "comparing: 1/2 files …")
            with counting(1000, "dialogues"):
                shows(terminal, f"{CLEARED}comparing: 1/2 files, 0/1,000 dialogues"[:38])
        tell("downloaded")
        assert "downloaded\n" in terminal.getvalue()
        before = terminal.getvalue()
        wait_until("it is shown again", lambda: terminal.getvalue() != before)
        write_result("result\n", "text")
        assert left(terminal) == ""
        ended = terminal.getvalue()
    assert terminal.getvalue() == ended
    longest = max(terminal.getvalue().replace("\n", CLEARED).split(CLEARED), key=len)
    assert len(longest) < 40


def test_other_streams_have_one_line(
    at_once: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with status("comparing"), counting(2, "files"):
        shows(stream, "\n")
    assert stream.getvalue() in ("comparing: 0/2 files …\n", "comparing …\n")


@pytest.mark.parametrize("what", [None, "scoring"])
def test_what_is_done_at_once_is_not_told(
    what: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with status(what):
        assert list(followed("abc", "letters")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_a_variable_forbids_it(
    in_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = in_terminal()
    monkeypatch.setenv(progress.VARIABLE, "0")
    with status("scoring"):
        for _ in followed("ab", "letters"):
            assert threading.active_count() >= 1
    assert terminal.getvalue() == ""


def test_a_library_call_has_a_line_of_its_own_on_a_terminal_alone(
    in_terminal: Callable[[], Terminal],
) -> None:
    terminal = in_terminal()
    for _ in followed([1], "dialogues", shown=False):
        assert threading.active_count() == 1 or terminal.getvalue() == ""
    for _ in followed([1], "dialogues"):
        shows(terminal, "0/1 dialogues")
    assert left(terminal) == ""


def test_a_bar_of_another_library_has_the_terminal_for_itself(
    in_terminal: Callable[[], Terminal],
) -> None:
    terminal = in_terminal()
    with status("scoring"):
        shows(terminal, "scoring")
        with progress.paused():
            assert left(terminal) == ""
            there = terminal.getvalue()
            ticks = threading.Event()
            ticks.wait(0.02)
            assert terminal.getvalue() == there
        wait_until("it is shown again", lambda: left(terminal) != "")


@pytest.mark.parametrize("run", [lambda: None, lambda: [0][1]])
def test_errors_find_the_terminal_cleared(
    in_terminal: Callable[[], Terminal], run: Callable[[], object]
) -> None:
    terminal = in_terminal()
    try:
        with status("scoring"):
            shows(terminal, "scoring")
            run()
    except IndexError:
        pass
    assert left(terminal) == ""
