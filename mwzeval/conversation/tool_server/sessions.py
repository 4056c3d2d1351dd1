"""The conversations that a server of tools is called in, by name, and the log of their calls.

A line of the log is with the system before the result is sent. Several servers may write to one
file: each line is appended by one call of the system.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.tool_session import is_error, result_of
from mwzeval.conversation.trajectory import json_line
from mwzeval.errors import UsageError, shorten
from mwzeval.files.writing import named_where_unwritable

MOST_SESSIONS = 10_000
"""So many are remembered; of more, those that were called least recently are forgotten."""
SESSION, NUMBER, NAME, ARGUMENTS, RESULT = "session", "call", "name", "arguments", "result"
FIRST_CHARACTERS = 10_000
"""So much of a file is looked at to see whether it is such a log."""


class CallLog:
    """A file that calls are added to; a context, at whose end it is closed.

    Raises `UsageError` for a file of something else, `MwzevalError` when it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._name = shorten(str(path), 300)
        with named_where_unwritable(self._name):
            self._stream = Path(path).open("ab+", buffering=0)  # noqa: SIM115 - as long as we run
            self._begin()

    def add(self, session: str, number: int, name: str, arguments: str, result: Any) -> None:
        """Add a call; it is with the system when this returns. Raises `MwzevalError`."""
        line = json_line(
            {
                SESSION: session,
                NUMBER: number,
                NAME: name,
                ARGUMENTS: arguments,
                RESULT: result,
                "at": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            }
        )
        with named_where_unwritable(self._name):
            # A lone surrogate has no UTF-8; as an escape it is what JSON would write.
            self._append(line.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        """Close the file; what is in it stays."""
        self._stream.close()

    def __enter__(self) -> CallLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _begin(self) -> None:
        """Check what is there, and end a line that a killed server has not ended."""
        if not self._stream.seekable():  # a pipe or device
            return
        size = self._stream.seek(0, os.SEEK_END)
        if not size:
            return
        self._stream.seek(0)
        first = self._stream.read(FIRST_CHARACTERS).partition(b"\n")[0]
        begin = f"{{{json.dumps(SESSION)}:".encode()
        was_cut_off = len(first) == size and begin.startswith(first)
        if not (first.startswith(begin) or was_cut_off):
            self._stream.close()
            raise UsageError(f"{self._name} is no log of calls: name another file")
        self._stream.seek(size - 1)
        if self._stream.read(1) != b"\n":
            self._append(b"\n")

    def _append(self, line: bytes) -> None:
        written = self._stream.write(line)
        if written != len(line):
            raise OSError("the line was not written whole: is the disk full?")


@dataclass(slots=True)
class _Session:
    tools: Tools
    calls: int = 0


class Sessions:
    """Tools for each session, made when it is first called, and the log of all calls.

    `make` returns the tools of a session. One that is forgotten begins anew when it is called
    again. The counts are of the whole life of the server.
    """

    def __init__(
        self, make: Callable[[str], Tools], log: CallLog | None = None, most: int = MOST_SESSIONS
    ) -> None:
        self._make = make
        self._log = log
        self._most = most
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self.begun = self.forgotten = self.calls = self.errors = 0

    def call(self, session: str, name: str, arguments: str) -> Any:
        """Return the result of a call, of which the arguments are JSON text.

        Raises `MwzevalError` when it cannot be logged.
        """
        called = self._session(session)
        result = result_of(called.tools, name, arguments)
        called.calls += 1
        self.calls += 1
        self.errors += is_error(result)
        if self._log is not None:
            self._log.add(session, called.calls, name, arguments, result)
        return result

    def __str__(self) -> str:
        counts = f"sessions: {self.begun:,}, calls: {self.calls:,}, wrong ones: {self.errors:,}"
        return counts + (f", forgotten sessions: {self.forgotten:,}" if self.forgotten else "")

    def _session(self, name: str) -> _Session:
        known = self._sessions.get(name)
        if known is not None:
            self._sessions.move_to_end(name)
            return known
        self.begun += 1
        if len(self._sessions) >= self._most:
            self._sessions.popitem(last=False)
            self.forgotten += 1
        made = self._sessions[name] = _Session(self._make(name))
        return made
