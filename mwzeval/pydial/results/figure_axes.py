"""The axis of success or reward in figures, which begins where there is nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.pydial.results.run_results import Figure

AXIS: Mapping[Figure, str] = {"success": "success (%)", "reward": "reward (points)"}
"""What is written at it."""


def whole_height(panels: Sequence[Any], figure: Figure) -> None:
    """Let panels, which share the axis, begin at 0, or below what is negative.

    Success ends at 100 percent, reward a bit above the best.
    """
    low = min([0.0, *(float(axes.dataLim.y0) for axes in panels)])
    high = 100.0 if figure == "success" else 1.05 * max(float(axes.dataLim.y1) for axes in panels)
    for axes in panels:
        axes.set_ylim(low, max(high, low + 1))
