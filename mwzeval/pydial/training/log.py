"""The training log: a CSV file with a row for each number, of any number of runs.

Rows that a file has are not added again, so that training that continues is logged once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Protocol, SupportsFloat

from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.output import tell
from mwzeval.pydial.training.entries import EVERY, Entry, Watch

COLUMNS = ("run", "step", "name", "value")
FORMER = ("csv:", "tensorboard:", "wandb:", "mlflow:")


class LogFile:
    """A log file, which is made if it does not exist.

    Raises `UsageError` for names that do not end in ".csv", `InputError` for a file of something
    else, and `MwzevalError` where it cannot be written.
    """

    def __init__(self, file: str | Path) -> None:
        if str(file).startswith(FORMER) or not str(file).endswith(".csv"):
            raise UsageError(
                f'training is logged to a CSV file, FILE.csv, not "{shorten(str(file))}"'
            )
        self._path, self._failed = Path(file), False
        try:
            with self._path.open("ab+") as stream:
                stream.seek(0)
                raw = stream.read()
                whole = raw[: raw.rfind(b"\n") + 1]  # without a row of a process that was killed
                rows = list(csv.reader(StringIO(whole.decode("utf-8", "replace"), newline="")))
                if raw and tuple(next(iter(rows), ())) != COLUMNS:
                    message = f"expected the columns {','.join(COLUMNS)}: name another file"
                    raise InputError([Problem("other-file", message, file=str(file))])
                stream.truncate(len(whole))
            self._written = {tuple(row[:3]) for row in rows[1:] if row}
            if not raw:
                self._write([COLUMNS])
        except OSError as error:
            place = shorten(str(file), 300)
            raise MwzevalError(f"cannot write {place}: {error.strerror}") from None

    def check_new(self, *runs: str) -> None:
        """Raise `InputError` if the file has rows of one of these runs, which begin anew."""
        known = {row[0] for row in self._written}
        for run in runs:
            if run in known:
                message = f'the file has rows of another run "{shorten(run)}": name another file'
                raise InputError([Problem("other-run", message, file=str(self._path))])

    def add(self, run: str, entry: Entry) -> None:
        """Add the rows of an entry that the file does not have."""
        self._add(rows_of(run, entry))

    def add_text(self, text: str) -> None:
        """Add the rows of a log (see `log_text`) that the file does not have."""
        self._add(list(csv.reader(StringIO(text, newline="")))[1:])

    def _add(self, rows: Iterable[Sequence[Any]]) -> None:
        # After a failure, such as a full disk, a message is printed and nothing more is written.
        rows = [row for row in rows if tuple(row[:3]) not in self._written]
        if self._failed or not rows:
            return
        try:
            self._write(rows)
            self._written.update(tuple(row[:3]) for row in rows)
        except OSError as error:
            self._failed = True
            tell(f"{self._path} is not written any more ({error.strerror}); training goes on")

    def _write(self, rows: Iterable[Iterable[object]]) -> None:
        with self._path.open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows(rows)


def rows_of(run: str, entry: Entry) -> list[tuple[str, str, str, float]]:
    """Return the rows of an entry of a run."""
    return [(run, str(entry.step), name, number) for name, number in entry.numbers.items()]


def log_text(run: str, entries: Iterable[Entry]) -> str:
    """Return the content of a log file with the entries of a run."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        writer.writerows(rows_of(run, entry))
    return stream.getvalue()


class Played(Protocol):
    """A dialogue that was played, such as an `Episode`."""

    @property
    def success(self) -> bool:
        """Whether it succeeded."""
        ...

    @property
    def exchanges(self) -> int:
        """How many it had."""
        ...

    @property
    def reward(self) -> float:
        """The sum of its rewards."""
        ...


class TrainingLog:
    """Writes how training goes to a CSV file; without a `file` nowhere.

    After every `every` dialogues the means of these are written, with the means of the losses that
    were given; the number of dialogues is the step. `name` is what the run is called. A training
    that continues after `dialogues` of an earlier process adds to the rows of the same run. Names
    of numbers are those of `mwzeval.pydial.training.entries`. A file that fails later is left with
    a message on standard error.

    Raises `UsageError` for senseless numbers and as `LogFile` does, `InputError` where the file has
    something else, or rows of a run of this name that does not continue.
    """

    def __init__(
        self,
        file: str | Path | None,
        *,
        name: str = "training",
        every: int = EVERY,
        dialogues: int = 0,
    ) -> None:
        log = None if file is None else LogFile(file)
        if log is not None and not dialogues:
            log.check_new(name)
        on_entry = (lambda _: None) if log is None else partial(log.add, name)
        self._watch = Watch(on_entry, every, dialogues)

    def dialogue(self, success: bool, exchanges: int, reward: float) -> None:
        """Count a training dialogue."""
        self._watch.trained([(success, exchanges, reward)])

    def losses(self, **numbers: SupportsFloat) -> None:
        """Add numbers of an update, by the names that they have in the log.

        They are floats or tensors of one number.
        """
        self._watch.losses.add(**numbers)

    def test(self, played: Iterable[Played]) -> None:
        """Write the means of test dialogues, after the training dialogues until now.

        Raises `UsageError` where there are none.
        """
        outcomes = [(each.success, each.exchanges, each.reward) for each in played]
        if not outcomes:
            raise UsageError("a test has at least one dialogue")
        self._watch.tested(outcomes)
