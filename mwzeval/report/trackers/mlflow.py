"""MLflow: metrics, parameters, and an artifact."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.errors import MwzevalError, shorten
from mwzeval.libraries import required
from mwzeval.report.trackers.entries import Entries, no_run

MOST_PARAMETERS, MOST_METRICS = 100, 1000
"""How many a request may have."""


def write(entries: Entries, run: Any) -> None:
    """Log to a run or the one with an id, the active one where None is given.

    Raises `UsageError` when there is none.
    """
    mlflow = _mlflow()
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
    metrics = _metrics(mlflow, entries.numbers, entries.step or 0)
    for part in _parts(parameters, MOST_PARAMETERS):
        client.log_batch(run_id, params=part)
    for part in _parts(metrics, MOST_METRICS):
        client.log_batch(run_id, metrics=part)
    client.log_text(run_id, entries.json, f"mwzeval/{entries.file}")


class Experiment:
    """An experiment by its name, at the tracking URI that MLflow is set to.

    Raises `DependencyError` without MLflow, `MwzevalError` where the experiment cannot be had.
    """

    def __init__(self, place: str) -> None:
        self._mlflow = _mlflow()
        self._client = self._mlflow.MlflowClient()
        try:
            found = self._client.get_experiment_by_name(place)
            created = None if found else self._client.create_experiment(place)
            self._id = found.experiment_id if found else created
        except Exception as error:  # of the store, the network or the server
            reason = shorten(str(error), 300)
            raise MwzevalError(f'no experiment "{shorten(place)}" of MLflow: {reason}') from None

    def has(self, known: str) -> bool:
        """Tell whether a run is there."""
        try:
            self._client.get_run(known)
        except self._mlflow.MlflowException:
            return False
        return True

    def series(self, name: str, known: str | None = None) -> Metrics:
        """Return the run with the id `known`, which is there, or a new one."""
        if known is None:
            run = self._client.create_run(self._id, run_name=name or None)
            known = str(run.info.run_id)
        else:
            self._client.update_run(known, status="RUNNING")
        return Metrics(self._mlflow, self._client, known)


class Metrics:
    """The metrics of a run."""

    def __init__(self, mlflow: Any, client: Any, run_id: str) -> None:
        self.id = run_id
        self._mlflow, self._client = mlflow, client

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Write metrics of a step."""
        self._client.log_batch(self.id, metrics=_metrics(self._mlflow, numbers, step))

    def close(self) -> None:
        """End the run."""
        self._client.set_terminated(self.id)


def _mlflow() -> Any:
    return required("mlflow", None, "logging to MLflow needs mlflow or mlflow-skinny")


def _metrics(mlflow: Any, numbers: Mapping[str, float], step: int) -> list[Any]:
    now = int(1000 * time.time())
    return [mlflow.entities.Metric(name, number, now, step) for name, number in numbers.items()]


def _parts(items: Sequence[Any], most: int) -> list[Sequence[Any]]:
    return [items[start : start + most] for start in range(0, len(items), most)]
