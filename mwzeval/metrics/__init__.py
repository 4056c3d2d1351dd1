"""Metrics that know no dataset, and `Evaluator` at the place where people look for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mwzeval

if TYPE_CHECKING:
    from mwzeval import Evaluator

__all__ = ["Evaluator"]


def __getattr__(name: str) -> Any:
    if name == "Evaluator":  # not before it is asked for: it stands above the metrics
        return mwzeval.Evaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
