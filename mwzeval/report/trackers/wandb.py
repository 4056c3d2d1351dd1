"""Weights & Biases: history, config, and a file of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mwzeval.errors import MwzevalError, UsageError, shorten
from mwzeval.libraries import required
from mwzeval.report.trackers.entries import Entries, no_run


def write(entries: Entries, run: Any) -> None:
    """Log to a run, the active one where None is given.

    Raises `UsageError` when there is none, and for a step before the run's, which would be dropped.
    """
    wandb = _wandb()
    run = wandb.run if run is None else run
    if run is None:
        raise no_run("wandb", "wandb.init()")
    if entries.step is not None and entries.step < run.step:
        raise UsageError(
            f"wandb is at step {run.step} and drops what comes for step {entries.step}: log to "
            "later steps, or to no step"
        )
    entries.check_unchanged(run.config.get(entries.prefix) or {})
    run.config.update({entries.prefix: dict(entries.settings)})
    run.log(dict(entries.numbers), step=entries.step)
    # What is in this folder belongs to the run, and is uploaded with it.
    file = Path(run.dir, "mwzeval", entries.file)
    file.parent.mkdir(exist_ok=True)
    file.write_text(entries.json, encoding="utf-8")


STEP = "step"
"""The step of `History`, which W&B draws its curves over: its own may only grow."""


class Project:
    """A project, or ENTITY/PROJECT. Raises `DependencyError` without wandb."""

    def __init__(self, place: str) -> None:
        self._wandb = _wandb()
        self._entity, _, self._project = place.rpartition("/")

    def has(self, known: str) -> bool:
        """Return True: without a network there is nobody to ask."""
        return True

    def series(self, name: str, known: str | None = None) -> History:
        """Return the run with the id `known`, or a new one.

        Raises `MwzevalError` where it cannot be started.
        """
        try:
            run = self._wandb.init(
                entity=self._entity or None,
                project=self._project,
                name=name or None,
                id=known,
                resume=None if known is None else "allow",
                reinit="create_new",  # whatever other runs are active
            )
        except Exception as error:  # of the network, the server or a setting
            raise MwzevalError(f"wandb starts no run: {shorten(str(error), 300)}") from None
        run.define_metric("*", step_metric=STEP)
        return History(run)


class History:
    """The history of a run."""

    def __init__(self, run: Any) -> None:
        self.id = str(run.id)
        self._run = run

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Write numbers of a step."""
        self._run.log({**numbers, STEP: step})

    def close(self) -> None:
        """End the run."""
        self._run.finish()


def _wandb() -> Any:
    return required("wandb", None, "logging to wandb needs it")
