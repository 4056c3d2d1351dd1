"""Weights & Biases: history, config, and a file of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.report.trackers.entries import Entries, no_run


def write(entries: Entries, run: Any) -> None:
    """Log to a run, the active one where None is given.

    Raises `UsageError` when there is none, and for a step before the run's, which would be dropped.
    """
    wandb = required("wandb", None, "logging to wandb needs it")
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
