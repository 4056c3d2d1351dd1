"""CSV: a row for each number, of all runs in one file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from mwzeval.errors import InputError, MwzevalError, Problem, shorten

COLUMNS = ("run", "step", "name", "value")


class File:
    """A file to which rows are added. Raises `InputError` where it is of something else."""

    def __init__(self, place: str) -> None:
        self._path = Path(place)
        self._names: set[str] = set()
        if self._path.exists() and self._path.stat().st_size:
            self._read()
        else:
            self.add([COLUMNS])

    def _read(self) -> None:
        with self._path.open("rb+") as stream:
            end = 0
            for line in stream:
                if not line.endswith(b"\n"):  # of a process that was killed
                    stream.truncate(end)
                end += len(line)
        with self._path.open(encoding="utf-8", errors="replace", newline="") as text:
            rows = csv.reader(text)
            if tuple(next(rows, ())) != COLUMNS:
                message = f"expected the columns {','.join(COLUMNS)}: name another file"
                raise InputError([Problem("other-file", message, file=str(self._path))])
            self._names.update(row[0] for row in rows if row)

    def has(self, known: str) -> bool:
        """Tell whether a run has rows."""
        return known in self._names

    def series(self, name: str, known: str | None = None) -> Rows:
        """Return the run with the id `known`, which is there, or a new one."""
        if known is None:
            known, number = name, 1
            while known in self._names:
                number += 1
                known = f"{name}-{number}"
            self._names.add(known)
        return Rows(self, known)

    def add(self, rows: Sequence[Sequence[object]]) -> None:
        """Add rows, all or none. Raises `MwzevalError` where the file cannot be written."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        try:
            with self._path.open("ab", buffering=0) as stream:
                stream.write(text.getvalue().encode())
        except OSError as error:
            place = shorten(str(self._path), 300)
            raise MwzevalError(f"cannot write {place}: {error.strerror}") from None


class Rows:
    """The rows of one run; its id is what they are called."""

    def __init__(self, file: File, name: str) -> None:
        self.id = name
        self._file = file

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Add a row for each number."""
        self._file.add([(self.id, step, name, number) for name, number in numbers.items()])

    def close(self) -> None:
        """Do nothing: all is written."""
