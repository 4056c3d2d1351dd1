"""Metrics that know no dataset, and `Evaluator` at the place where people look for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mwzeval.multiwoz.evaluator import Evaluator

__all__ = ["Evaluator"]


def __getattr__(name: str) -> Any:
    # Lazily: the evaluator stands above the metrics and imports them.
    if name == "Evaluator":
        from mwzeval.multiwoz.evaluator import Evaluator

        return Evaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
