"""mwzeval: the standard numbers for task-oriented dialogue systems."""

from mwzeval.errors import (
    DataError,
    DependencyError,
    InputError,
    MwzevalError,
    Problem,
    UsageError,
)
from mwzeval.evaluator import Evaluator
from mwzeval.version import __version__

__all__ = [
    "DataError",
    "DependencyError",
    "Evaluator",
    "InputError",
    "MwzevalError",
    "Problem",
    "UsageError",
    "__version__",
]
