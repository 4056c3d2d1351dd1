"""mwzeval: standard evaluation scores for task-oriented dialogue systems.

This module has the public names of all benchmarks; names in `_LATER` are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import mwzeval.pydial  # noqa: F401 - registers the environments with Gymnasium
from mwzeval.errors import (
    DataError,
    DependencyError,
    InputError,
    MwzevalError,
    Problem,
    UsageError,
)
from mwzeval.version import __version__

if TYPE_CHECKING:
    from mwzeval.multiwoz.evaluator import Evaluator
    from mwzeval.multiwoz.predictions import PredictedTurn, Predictions
    from mwzeval.multiwoz.scoring.reward import Reward, RewardWeights
    from mwzeval.scores.report import Report

__all__ = [
    "DataError",
    "DependencyError",
    "Evaluator",
    "InputError",
    "MwzevalError",
    "PredictedTurn",
    "Predictions",
    "Problem",
    "Report",
    "Reward",
    "RewardWeights",
    "UsageError",
    "__version__",
]

_LATER = {
    "Evaluator": "mwzeval.multiwoz.evaluator",
    "PredictedTurn": "mwzeval.multiwoz.predictions",
    "Predictions": "mwzeval.multiwoz.predictions",
    "Report": "mwzeval.scores.report",
    "Reward": "mwzeval.multiwoz.scoring.reward",
    "RewardWeights": "mwzeval.multiwoz.scoring.reward",
}
"""Public names that are imported on first use, because their modules take a third of a second to
import and `--help` does not need them."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
