"""What is being done, told on standard error while that takes long.

On a terminal it is a line that changes, and is gone before anything else is written; elsewhere one
line, once. Nothing is told of what is done at once.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from mwzeval.errors import printable

SHOWN_AFTER = 1.0
"""Seconds until a terminal has the line."""
TOLD_AFTER = 2.0
"""Seconds until other streams have one."""
EVERY = 0.25
VARIABLE = "MWZEVAL_PROGRESS"
CLEARED = "\r\x1b[2K"
Item = TypeVar("Item")


@dataclass(slots=True)
class Count:
    """How many of what are done, and what is done `now`."""

    total: int
    units: str
    done: int = 0
    now: str = ""

    def __str__(self) -> str:
        now = f" ({self.now})" if self.now else ""
        return f"{self.done:,}/{self.total:,} {self.units}{now}"


class Status:
    """The line about what is being done, from now until `end`."""

    def __init__(self, what: str) -> None:
        self.counts: list[Count] = []
        self._what, self._began = what, time.monotonic()
        self._shown, self._lock, self._over = False, threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._tell, name="tells progress", daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        if not is_terminal():
            if not self._over.wait(TOLD_AFTER):
                self._write(f"{self._text()} …\n")
            return
        pause = SHOWN_AFTER
        while not self._over.wait(pause):
            pause = EVERY
            seconds = f"{time.monotonic() - self._began:.0f} s"
            line = f"{self._text()} … {seconds}"[: shutil.get_terminal_size().columns - 1]
            self._write(f"{CLEARED}{line}", shown=True)

    def _text(self) -> str:
        return printable(": ".join(filter(None, (self._what, ", ".join(map(str, self.counts))))))

    def _write(self, text: str, *, shown: bool = False) -> None:
        with self._lock:
            if not self._over.is_set() and not _paused:
                say(text)
                self._shown = shown

    def clear(self) -> None:
        """Take the line from the terminal, until it is shown again."""
        with self._lock:
            if self._shown:
                say(CLEARED)
                self._shown = False

    def end(self) -> None:
        """Take the line from the terminal, for good."""
        self._over.set()
        self.clear()


_current: list[Status] = []
"""The status of the command that runs, if it has one."""
_paused: list[object] = []
"""Who has the terminal for itself now."""


def is_terminal() -> bool:
    """Tell whether standard error is a terminal on which a line can be replaced."""
    stream = sys.stderr
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Write to standard error; where nobody can take it, it goes nowhere, and so does what follows.

    A full disk or a reader that has gone loses what is told, and not the result beside it.
    """
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - it stays


@contextmanager
def status(what: str | None) -> Iterator[None]:
    """Tell what is done in this block, until something is written.

    Nothing is told for None, nor where the variable `MWZEVAL_PROGRESS` is 0.
    """
    if what is None or os.environ.get(VARIABLE) == "0":
        yield
        return
    _current.append(Status(what))
    try:
        yield
    finally:
        _current.pop().end()


def is_told() -> bool:
    """Tell whether there is a command that tells what it does."""
    return bool(_current)


def clear() -> None:
    """Make room for a line on standard error."""
    for each in _current:
        each.clear()


def end() -> None:
    """Tell nothing more: the result comes."""
    for each in _current:
        each.end()


@contextmanager
def paused() -> Iterator[None]:
    """Leave the terminal to what shows a bar of its own."""
    _paused.append(None)
    clear()
    try:
        yield
    finally:
        _paused.pop()


@contextmanager
def counting(total: int, units: str, *, shown: bool = True) -> Iterator[Count]:
    """Yield what counts the `units` that are done, in the line of the command.

    Without one, as in a program of one's own, there is a line for this block on a terminal.
    """
    count = Count(total, units)
    if not shown or not (_current or is_terminal()) or os.environ.get(VARIABLE) == "0":
        yield count
        return
    with status(None if _current else ""):
        counts = _current[-1].counts
        counts.append(count)
        try:
            yield count
        finally:
            counts.remove(count)


def followed(items: Collection[Item], units: str, *, shown: bool = True) -> Iterator[Item]:
    """Yield the items, and count how many are done."""
    with counting(len(items), units, shown=shown) as count:
        for item in items:
            yield item
            count.done += 1
