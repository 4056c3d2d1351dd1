"""The file of a run while it grows: dialogues as they finish, so that none is lost.

A line is with the system as soon as its dialogue has ended, whatever the order: with several at a
time one that takes long would hold back many others, and a run that is killed would hold them
again. In the end the file is put in order, in one step. What a killed run has left, at whatever
byte, is read, and the file becomes what it would have been.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from mwzeval.conversation.protocols import INFRASTRUCTURE, End
from mwzeval.conversation.trajectory import (
    Trajectory,
    is_dialogue,
    is_header,
    json_line,
    trajectory_of,
)
from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import check_size
from mwzeval.files.writing import named_where_unwritable, written_atomically

fcntl: Any
try:
    import fcntl
except ImportError:  # where there are no such locks, two runs on one file are not noticed
    fcntl = None

ENDING = ".jsonl"
NOT_COMPARED = frozenset({"comment"})
"""Keys of a header that a dialogue does not depend on: somebody has written them there."""


class TrajectoryLog:
    """A file of trajectories that one run writes; a context, at whose end it is closed.

    `header` is that of the run, `names` are its dialogues in order. A file that exists is gone on
    with: it has to have the same header. A dialogue that ended for what is nobody's fault is held
    again. Nothing is written before `begin`.

    Raises `UsageError` for a file of something else, or one that another run writes; `MwzevalError`
    when it cannot be written, `InputError` when it is too large.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any], names: Sequence[str]) -> None:
        self._name = shorten(str(path), 300)
        self._path = Path(os.path.realpath(path))
        self._header = header
        self._first_line = json_line(header).encode()
        self._order = {name: number for number, name in enumerate(names)}
        self._stream: BinaryIO | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._size = 0
        self.ends: dict[str, End] = {}
        """How the dialogues in the file have ended, by name."""
        self._check_place()
        if self._path.exists():
            self._open()

    @property
    def is_whole(self) -> bool:
        """Whether all dialogues are in it."""
        return len(self.ends) == len(self._order)

    def begin(self) -> None:
        """Write the header, unless it is there."""
        if self._stream is None:
            with named_where_unwritable(self._name):
                try:
                    self._path.open("xb").close()
                except FileExistsError:
                    raise self._is_written() from None
            self._open()
        if not self._size:
            self._append(self._first_line)

    def add(self, trajectory: Trajectory) -> None:
        """Add a dialogue; it is with the system when this returns."""
        # A lone surrogate has no UTF-8; as an escape it is what JSON would write.
        line = trajectory.line().encode("utf-8", "backslashreplace")
        self._places[trajectory.name] = self._size, len(line)
        self.ends[trajectory.name] = trajectory.end
        self._append(line)

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the dialogues that are in the file."""
        for name in list(self._places):
            yield trajectory_of(json.loads(self._line(name)))

    def put_in_order(self) -> None:
        """Let the dialogues stand in the order of the run."""
        names = sorted(self._places, key=self._order.__getitem__)
        if names != list(self._places):
            self._replace(names)

    def close(self) -> None:
        """Close the file; what is in it stays."""
        if self._stream is not None:
            with named_where_unwritable(self._name):
                self._stream.close()

    def __enter__(self) -> TrajectoryLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _check_place(self) -> None:
        if self._path.is_dir():
            raise UsageError(f"{self._name} is a directory: name a file, such as run{ENDING}")
        if self._path.suffix != ENDING:
            raise UsageError(f"{self._name}: dialogues go to a file whose name ends in {ENDING}")
        with suppress(OSError):
            if not stat.S_ISREG(self._path.stat().st_mode):
                raise UsageError(f"{self._name} is no regular file: name another one")

    def _open(self) -> None:
        """Open and lock the file, and read what is in it."""
        check_size(str(self._path))
        self._lock_anew()
        assert self._stream is not None
        with named_where_unwritable(self._name):
            whole, kept = self._read(self._stream)
            # The line that was being written when a run was killed.
            self._stream.seek(whole)
            self._stream.truncate()
        self._size = whole
        size = len(self._first_line) + sum(self._places[name][1] for name in kept)
        if whole not in (0, size):  # lines to be held again, lines twice, empty lines
            self._replace(kept)

    def _lock_anew(self) -> None:
        """Open the file that has the name now. Raises `UsageError` when another run has it."""
        with named_where_unwritable(self._name):
            stream = self._path.open("r+b")
        # Locks of this kind do not pass on to the processes of agents. They are gone as soon as any
        # stream to the file is closed: there is only this one.
        if fcntl is not None:
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise self._is_written() from None
            if not os.path.samestat(os.fstat(stream.fileno()), self._path.stat()):
                raise self._is_written()
        self.close()
        self._stream = stream

    def _read(self, stream: BinaryIO) -> tuple[int, list[str]]:
        """Return how many bytes are whole lines, and the names of the dialogues that are kept."""
        first = stream.readline()
        if not first.endswith(b"\n"):
            if self._first_line.startswith(first):
                return 0, []
            raise self._is_other("it does not begin with the header of one")
        self._check_header(first)
        self._first_line = first
        place = len(first)
        for number, line in enumerate(stream, 2):
            if not line.endswith(b"\n"):
                break
            if line.strip():
                dialogue = self._dialogue(line, number)
                self._places[dialogue.name] = place, len(line)
                self.ends[dialogue.name] = dialogue.end
            place += len(line)
        for name in [name for name, end in self.ends.items() if end == INFRASTRUCTURE]:
            del self.ends[name]
        return place, [name for name in self._places if name in self.ends]

    def _check_header(self, line: bytes) -> None:
        raw = _value(line)
        if not is_header(raw):
            raise self._is_other("it does not begin with the header of one")
        wanted = json.loads(json_line(self._header))
        different = [
            each for each in differences(raw, wanted) if each[0].split(".")[0] not in NOT_COMPARED
        ]
        if different:
            raise UsageError(
                f"{self._name} is the file of another run: name another file, or call it as then",
                *(f"  {key}: {there} in the file, {now} now" for key, there, now in different),
            )

    def _dialogue(self, line: bytes, number: int) -> Trajectory:
        raw = _value(line)
        dialogue = None
        with suppress(ValueError):
            dialogue = trajectory_of(raw) if is_dialogue(raw) else None
        if dialogue is None or dialogue.name not in self._order:
            raise UsageError(
                f"{self._name}: line {number} is none of the dialogues of this run: remove the "
                "line, and its dialogue is held again, or name another file"
            )
        return dialogue

    def _is_other(self, why: str) -> UsageError:
        return UsageError(f"{self._name} is not the file of such a run ({why}): name another file")

    def _is_written(self) -> UsageError:
        return UsageError(
            f"{self._name} is being written by another run: wait for it, or name another file"
        )

    def _append(self, line: bytes) -> None:
        assert self._stream is not None
        with named_where_unwritable(self._name):
            self._stream.seek(self._size)
            self._stream.truncate()  # a line during which the run was interrupted
            self._stream.write(line)
            self._stream.flush()
        self._size += len(line)

    def _line(self, name: str) -> bytes:
        assert self._stream is not None
        place, length = self._places[name]
        self._stream.seek(place)
        return self._stream.read(length)

    def _replace(self, names: Iterable[str]) -> None:
        """Let the file have the lines of some dialogues in this order, in one step."""
        places = {}
        size = len(self._first_line)
        with written_atomically(self._path) as new:
            new.write(self._first_line)
            for name in names:
                line = self._line(name)
                new.write(line)
                places[name] = size, len(line)
                size += len(line)
        self._lock_anew()
        self._places, self._size = places, size


def _value(line: bytes) -> Any:
    """Return the JSON value of a line, None for what is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def differences(there: Any, now: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (dotted key, value there, value now), as JSON, of all in which two values differ."""
    if isinstance(there, Mapping) and isinstance(now, Mapping):
        for name in {**there, **now}:
            inner = f"{key}.{name}" if key else str(name)
            yield from differences(there.get(name), now.get(name), inner)
    elif there != now:
        yield key, shorten(json.dumps(there)), shorten(json.dumps(now))
