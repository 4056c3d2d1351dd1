"""A CSV log of training metrics: means over training dialogues, losses, and means over tests.

A log has a row for each value and may contain several runs. The step of a row is the number of
training dialogues. Metrics have the names `train/success`, `train/reward`, `train/exchanges`,
`train/LOSS` and `test/…`; success is in percent, as in tables. Rows that exist in the file are not
added again, so continued training is logged only once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Literal, SupportsFloat

from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.output import notify
from mwzeval.pydial.episodes import Episode

COLUMNS = ("run", "step", "name", "value")
FORMER = ("csv:", "tensorboard:", "wandb:", "mlflow:")
EVERY = 100
"""The number of training dialogues per logged mean."""
Outcome = tuple[bool, int, float]
"""Success, number of turns and total reward of a dialogue."""
Row = tuple[str, str, str, str]


def means_of(phase: Literal["train", "test"], outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the means over dialogues, by their names in the log."""
    sums = (float(sum(column)) for column in zip(*outcomes, strict=True))
    success, exchanges, reward = (total / len(outcomes) for total in sums)
    numbers = {"success": 100 * success, "reward": reward, "exchanges": exchanges}
    return {f"{phase}/{name}": number for name, number in numbers.items()}


def log_text(rows: Iterable[Row]) -> str:
    """Return the content of a log file as text."""
    stream = StringIO()
    csv.writer(stream, lineterminator="\n").writerows([COLUMNS, *rows])
    return stream.getvalue()


def read_rows(raw: bytes, file: str | Path, advice: str = "") -> list[Row]:
    """Return the rows of a log file.

    Raises `InputError`, with `advice`, if the file is not a log.
    """
    try:
        text = raw.decode("utf-8")
        found = [tuple(row) for row in csv.reader(StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        message = f"not a CSV file in UTF-8 ({error}){advice}"
        raise InputError([Problem("other-file", message, file=str(file))]) from None
    if found[:1] != [COLUMNS] or any(len(row) != len(COLUMNS) for row in found):
        message = f"expected the columns {','.join(COLUMNS)}{advice}"
        raise InputError([Problem("other-file", message, file=str(file))])
    return [(run, step, name, value) for run, step, name, value in found[1:]]


class LogFile:
    """A log file, which is created if it does not exist.

    Raises `UsageError` if the name does not end in ".csv", `InputError` if the file has other
    content, and `MwzevalError` if the file cannot be written.
    """

    def __init__(self, file: str | Path) -> None:
        if str(file).startswith(FORMER) or not str(file).endswith(".csv"):
            raise UsageError(
                f'the training log must be a CSV file, FILE.csv, not "{shorten(str(file))}"'
            )
        self._path, self._failed = Path(file), False
        self._written: set[tuple[str, ...]] = set()
        try:
            with self._path.open("ab+") as stream:
                stream.seek(0)
                raw = stream.read()
                whole = raw[: raw.rfind(b"\n") + 1]  # removes a killed process's incomplete row
                if raw:
                    rows = read_rows(whole, file, ": name another file")
                    self._written = {row[:3] for row in rows}
                    stream.truncate(len(whole))
                else:
                    stream.write(log_text([]).encode())
        except OSError as error:
            place = shorten(str(file), 300)
            raise MwzevalError(f"cannot write {place}: {error.strerror}") from None

    def check_new(self, *runs: str) -> None:
        """Raise `InputError` if the file already has rows of these runs, which have not started."""
        known = {row[0] for row in self._written}
        for run in runs:
            if run in known:
                message = (
                    f'the file contains rows of another run "{shorten(run)}": name another file'
                )
                raise InputError([Problem("other-run", message, file=str(self._path))])

    def add(self, rows: Iterable[Row]) -> None:
        """Append all rows that the file does not contain yet.

        After a failure, such as a full disk, a message is printed and logging ends.
        """
        new = [row for row in rows if row[:3] not in self._written]
        if self._failed or not new:
            return
        try:
            with self._path.open("a", encoding="utf-8", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows(new)
            self._written.update(row[:3] for row in new)
        except OSError as error:
            self._failed = True
            notify(f"{self._path} can no longer be written ({error.strerror}); training continues")


class TrainingLog:
    """Logs training metrics in a CSV file or, without a `file`, only in the attribute `rows`.

    After every `every` training dialogues, the means of their results and the means of the given
    losses are written. The step of a row is the number of training dialogues. `name` is the name of
    the run. Training that continues after `dialogues` dialogues of an earlier process appends to
    the rows of the same run. If the file cannot be written later, a message is printed on standard
    error and logging to the file ends.

    Raises `UsageError` if a number is invalid, `InputError` if the file has other content, and the
    errors of `LogFile`. Also raises `InputError` if a new training finds rows of the same run in
    the file.
    """

    def __init__(
        self,
        file: str | Path | None,
        *,
        name: str = "training",
        every: int = EVERY,
        dialogues: int = 0,
    ) -> None:
        self._file = None if file is None else LogFile(file)
        if self._file is not None and not dialogues:
            self._file.check_new(name)
        if every < 1:
            raise UsageError(f"the logging interval must be 1 or more dialogues, not {every}")
        if dialogues < 0:
            raise UsageError(f"the number of dialogues must be 0 or more, not {dialogues}")
        self.rows: list[Row] = []
        self._name, self._every, self._dialogues = name, every, dialogues
        self._outcomes: list[Outcome] = []
        self._losses: dict[str, list[float]] = {}

    def dialogue(self, success: bool, exchanges: int, reward: float) -> None:
        """Add the result of a training dialogue to the log."""
        self._outcomes.append((success, exchanges, reward))
        self._dialogues += 1
        if self._dialogues % self._every == 0:
            losses = {f"train/{k}": sum(v) / len(v) for k, v in self._losses.items()}
            self._add({**means_of("train", self._outcomes), **losses})
            self._outcomes, self._losses = [], {}

    def losses(self, **numbers: SupportsFloat) -> None:
        """Log the losses of a learning step under their names.

        Values are floats or tensors with one element.
        """
        for name, number in numbers.items():
            self._losses.setdefault(name, []).append(float(number))

    def test(self, episodes: Iterable[Episode]) -> None:
        """Write the means of test dialogues at the current number of training dialogues.

        Raises `UsageError` if `episodes` is empty.
        """
        outcomes = [episode.outcome for episode in episodes]
        if not outcomes:
            raise UsageError("a test needs at least one dialogue")
        self._add(means_of("test", outcomes))

    def _add(self, numbers: Mapping[str, float]) -> None:
        rows = [(self._name, str(self._dialogues), name, str(n)) for name, n in numbers.items()]
        if self._file is None:
            self.rows += rows
        else:
            self._file.add(rows)
