"""Reports in trackers of experiments: a module a tracker, with one function `write`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.report.trackers import mlflow, tensorboard, trackio, wandb
from mwzeval.report.trackers.entries import Entries
from mwzeval.scores.report import Report

TENSORBOARD = "tensorboard"
TRACKERS: Mapping[str, Callable[[Entries, Any], None]] = {
    "wandb": wandb.write,
    "mlflow": mlflow.write,
    "trackio": trackio.write,
    TENSORBOARD: tensorboard.write,
}


def log(
    report: Report,
    tracker: str,
    *,
    step: int | None = None,
    prefix: str | None = None,
    run: Any = None,
    directory: str | Path | None = None,
) -> None:
    """Log a report as `Report.log_to` says. Raises `UsageError` as it says there."""
    if tracker not in TRACKERS:
        hint = did_you_mean(tracker, TRACKERS)
        raise UsageError(
            f'unknown tracker "{shorten(tracker)}"{hint} (there are {", ".join(TRACKERS)})'
        )
    if directory is not None and (tracker != TENSORBOARD or run is not None):
        raise UsageError("`directory` is for tensorboard alone, and not beside `run`")
    entries = Entries.of(report, prefix, step)
    if directory is not None:
        tensorboard.write_file(entries, directory)
    else:
        TRACKERS[tracker](entries, run)
