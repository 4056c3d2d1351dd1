"""A log of one's own training loop, in the trackers and by the names of the benchmark's runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Protocol, SupportsFloat

from mwzeval.errors import UsageError
from mwzeval.pydial.training.entries import EVERY, Entry, Watch
from mwzeval.pydial.training.recorder import Recorder


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
    """Writes how training goes to `places`: `tensorboard:DIR`, `wandb:PROJECT`,
    `mlflow:EXPERIMENT`, `csv:FILE`.

    After every `every` dialogues the means of these are written, with the means of the losses that
    were given; the number of dialogues is the step. `name` is that of the run in the places. With
    `folder`, in which is noted what was written, a training that goes on after `dialogues` of
    an earlier process writes to the same runs, and nothing twice. Names are those of
    `mwzeval.pydial.training.entries`.

    A context manager, which closes the runs. A place that fails later is left with a message on
    standard error.

    Raises `UsageError` for places that are none and for senseless numbers, `DependencyError` where
    a tracker is not installed, `InputError` and `MwzevalError` where a place cannot be had.
    """

    def __init__(
        self,
        *places: str,
        name: str = "training",
        folder: str | Path | None = None,
        every: int = EVERY,
        dialogues: int = 0,
    ) -> None:
        self._name, self._folder = name, None if folder is None else Path(folder)
        self._recorder = Recorder(places)
        self._watch = Watch(self._write, every, dialogues)

    def dialogue(self, success: bool, exchanges: int, reward: float) -> None:
        """Count a training dialogue. Raises `InputError` for notes that cannot be read."""
        self._watch.trained([(success, exchanges, reward)])

    def losses(self, **numbers: SupportsFloat) -> None:
        """Add numbers of an update, by the names that they have in the log.

        They are floats or tensors of one number.
        """
        self._watch.losses.add(**numbers)

    def test(self, played: Iterable[Played]) -> None:
        """Write the means of test dialogues, after the training dialogues until now.

        Raises `UsageError` where there are none, `InputError` for notes that cannot be read.
        """
        outcomes = [(each.success, each.exchanges, each.reward) for each in played]
        if not outcomes:
            raise UsageError("a test has at least one dialogue")
        self._watch.tested(outcomes)

    def close(self) -> None:
        """End the runs."""
        self._recorder.close()

    def _write(self, entry: Entry) -> None:
        self._recorder.write(self._name, self._folder, entry)

    def __enter__(self) -> TrainingLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
