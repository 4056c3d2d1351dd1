"""Trackio: metrics, config, and an artifact."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mwzeval.libraries import required
from mwzeval.report.trackers.entries import Entries, no_run


def write(entries: Entries, run: Any) -> None:
    """Log to a run, the active one where None is given. Raises `UsageError` when there is none.

    Trackio stores the config of a run with its first metrics: settings that come later are in the
    artifact alone.
    """
    trackio = required("trackio", None, "logging to Trackio needs trackio")
    run = trackio.context_vars.current_run.get() if run is None else run
    if run is None:
        raise no_run("Trackio", "trackio.init(project=…)")
    entries.check_unchanged(run.config.get(entries.prefix) or {})
    run.config[entries.prefix] = dict(entries.settings)
    run.log(dict(entries.numbers), step=entries.step)
    with TemporaryDirectory() as folder:
        file = Path(folder, entries.file)
        file.write_text(entries.json, encoding="utf-8")
        run.log_artifact(file, name=f"mwzeval-{entries.file}", type="report")
