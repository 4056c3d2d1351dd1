"""What every result offers beside its numbers: a data frame, a table in notebooks, trackers.

Results are below what shows them, so a method finds that by its name, when it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas

VIEWS = "mwzeval.report.views"
TRACKERS = "mwzeval.report.trackers"


class Viewed:
    """A result that data frames and notebooks can show."""

    __slots__ = ()

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame in long form, unrounded; docs/python.md lists its columns.

        Raises `DependencyError` when pandas (the extra `frames`) is not installed.
        """
        return import_module(VIEWS).to_frame(self)

    def __str__(self) -> str:
        """Return the tables that the command line prints."""
        text: str = import_module(VIEWS).to_text(self)
        return text

    def _repr_html_(self) -> str:
        """Return the tables that the command line prints, for notebooks."""
        html: str = import_module(VIEWS).to_html(self)
        return html


class Logged:
    """A result that trackers of experiments can take."""

    __slots__ = ()

    def log_to(
        self,
        tracker: str,
        *,
        step: int | None = None,
        prefix: str | None = None,
        run: Any = None,
        directory: str | Path | None = None,
    ) -> None:
        """Log all scores to a run of `wandb`, `mlflow`, `trackio` or `tensorboard`.

        A score is called `PREFIX/NAME`, that of a part `PREFIX/NAME.SCOPE`, and the ends of its
        interval, if it has one, the same with `_low` and `_high`; characters that a tracker refuses
        become `_`. `prefix` is the benchmark unless it is given. `step` is the tracker's (an epoch,
        say). Signatures and settings become config or parameters, and may not change under one
        prefix; the JSON report becomes a file of the run, or a text.

        The run is the active one, or `run`: a run of wandb or trackio, a run or its id of MLflow, a
        `SummaryWriter`. It is never started or finished here. Only TensorBoard takes `directory`
        instead, in which a file of its own is written.

        Raises `UsageError` for an unknown tracker, without a run, and when settings differ from
        those that the run has; `DependencyError` when the tracker is not installed.
        """
        import_module(TRACKERS).log(
            self, tracker, step=step, prefix=prefix, run=run, directory=directory
        )
