"""MLflow: metrics, parameters, and an artifact."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from mwzeval.libraries import required
from mwzeval.report.trackers.entries import Entries, no_run

MOST_PARAMETERS, MOST_METRICS = 100, 1000
"""How many a request may have."""


def write(entries: Entries, run: Any) -> None:
    """Log to a run or the one with an id, the active one where None is given.

    Raises `UsageError` when there is none.
    """
    mlflow = required("mlflow", None, "logging to MLflow needs mlflow or mlflow-skinny")
    run = mlflow.active_run() if run is None else run
    if run is None:
        raise no_run("MLflow", "mlflow.start_run()")
    run_id = run if isinstance(run, str) else run.info.run_id
    client, entities = mlflow.MlflowClient(), mlflow.entities
    settings = {f"{entries.prefix}/{name}": text for name, text in entries.settings.items()}
    known = client.get_run(run_id).data.params
    entries.check_unchanged(
        {name.removeprefix(f"{entries.prefix}/"): text for name, text in known.items()}
    )
    parameters = [
        entities.Param(name, text) for name, text in settings.items() if name not in known
    ]
    now = int(1000 * time.time())
    metrics = [
        entities.Metric(name, number, now, entries.step or 0)
        for name, number in entries.numbers.items()
    ]
    for part in _parts(parameters, MOST_PARAMETERS):
        client.log_batch(run_id, params=part)
    for part in _parts(metrics, MOST_METRICS):
        client.log_batch(run_id, metrics=part)
    client.log_text(run_id, entries.json, f"mwzeval/{entries.file}")


def _parts(items: Sequence[Any], most: int) -> list[Sequence[Any]]:
    return [items[start : start + most] for start in range(0, len(items), most)]
