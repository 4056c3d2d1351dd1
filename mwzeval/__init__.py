"""mwzeval: the standard numbers for task-oriented dialogue systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mwzeval.errors import (
    DataError,
    DependencyError,
    InputError,
    MwzevalError,
    Problem,
    UsageError,
)
from mwzeval.pydial.environments.registration import register_with_gymnasium
from mwzeval.version import __version__

if TYPE_CHECKING:
    from mwzeval.metrics.reward import Reward, RewardWeights
    from mwzeval.multiwoz.evaluator import Evaluator

__all__ = [
    "DataError",
    "DependencyError",
    "Evaluator",
    "InputError",
    "MwzevalError",
    "Problem",
    "Reward",
    "RewardWeights",
    "UsageError",
    "__version__",
]

register_with_gymnasium()


def __getattr__(name: str) -> Any:
    # Lazily: the evaluator's libraries take a third of a second, which `--help` need not wait for.
    if name == "Evaluator":
        from mwzeval.multiwoz.evaluator import Evaluator

        return Evaluator
    if name in ("Reward", "RewardWeights"):
        from mwzeval.metrics import reward

        return getattr(reward, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
