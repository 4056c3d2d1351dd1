"""Numbers over steps in trackers of experiments, in runs that are started here: learning curves.

`KIND:PLACE` names a tracker and a place in it. A place has any number of runs, and several of them
can be written at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.report.trackers import csv_file, mlflow, tensorboard, wandb


class Series(Protocol):
    """Numbers over steps: one run of a tracker."""

    @property
    def id(self) -> str:
        """By what the place finds this run again."""
        ...

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Write numbers of a step, which is not before the last one."""
        ...

    def close(self) -> None:
        """End the run; it can be gone on with later."""
        ...


class Place(Protocol):
    """Where runs are in a tracker."""

    def has(self, known: str) -> bool:
        """Tell whether the run with an id is still there, as far as can be known."""
        ...

    def series(self, name: str, known: str | None = None) -> Series:
        """Return the run with the id `known`, which is there, or a new one.

        Parts of a name are separated by "/"; where a name is taken, a number is added to it.
        """
        ...


PLACES: Mapping[str, tuple[str, Callable[[str], Place]]] = {
    "tensorboard": ("DIR", tensorboard.Folder),
    "wandb": ("PROJECT", wandb.Project),
    "mlflow": ("EXPERIMENT", mlflow.Experiment),
    "csv": ("FILE", csv_file.File),
}
"""Kind → what its places are called, and what opens one."""
FORMS = ", ".join(f"{kind}:{place}" for kind, (place, _) in PLACES.items())


def place_named(text: str) -> Place:
    """Return the place that `KIND:PLACE` names.

    Raises `UsageError` for anything else, `DependencyError` where the tracker is not installed.
    """
    kind, _, place = text.partition(":")
    if kind not in PLACES:
        hint = did_you_mean(kind, PLACES)
        raise UsageError(f'unknown tracker "{shorten(kind)}"{hint} (say {FORMS})')
    name, opened = PLACES[kind]
    if not place:
        raise UsageError(f"which {name.lower()}? Say {kind}:{name}")
    return opened(place)
