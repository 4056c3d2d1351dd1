"""The log of a server of tools: a line of JSON for each call, with its result and its session.

A line is with the system before the result is sent. Several servers may write to one file: each
line is appended by one call of the system.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mwzeval.conversation.trajectory import json_line
from mwzeval.errors import UsageError, shorten
from mwzeval.files.writing import named_where_unwritable

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
        # A line that is not whole has the key in its beginning none the less.
        if not first.startswith(f"{{{json.dumps(SESSION)}:".encode()):
            self._stream.close()
            raise UsageError(f"{self._name} is no log of calls: name another file")
        self._stream.seek(size - 1)
        if self._stream.read(1) != b"\n":
            self._append(b"\n")

    def _append(self, line: bytes) -> None:
        written = self._stream.write(line)
        if written != len(line):
            raise OSError("the line was not written whole: is the disk full?")
