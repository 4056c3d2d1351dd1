"""A figure of scores over everything: a panel a score, a row a system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.report.figures.style import (
    COLOURS,
    WIDTH,
    in_unit,
    new_figure,
    shown_name,
    shown_number,
    titled,
    whole_range,
)
from mwzeval.report.page.model import PageSystem, comparable_in
from mwzeval.scores.score import WHOLE, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES_A_LETTER = 0.055
ROOMY = 2.3
"""Inches that panels need, beside the names, for a third label on their axes."""

POINT: Mapping[str, Any] = {
    "color": COLOURS[0],
    "marker": "|",
    "markersize": 6,
    "markeredgewidth": 1,
    "linestyle": "",
    "clip_on": False,
}
"""A score: narrow, because intervals are, on axes that begin at 0."""

Limits = tuple[float | None, float | None]
"""The ends of the axes; None for those that follow from the unit and the scores."""

METHODS = {
    "wilson": "Wilson",
    "bootstrap": "bootstrap",
    "jackknife": "jackknife",
    "cluster-bootstrap": "bootstrap of clusters",
}
"""How methods of intervals are called in a legend."""


def plot_scores(
    systems: Sequence[PageSystem],
    names: Sequence[str],
    *,
    format_name: str,
    width: float = WIDTH,
    limits: Limits = (None, None),
) -> bytes:
    """Return a figure of scores over everything: a panel each, a row per system.

    Each group that can be compared in a score has a panel. Points have their intervals, if any, as
    whiskers, and the legend says which they are. Rows have the order of `systems`. Right is better
    on all axes, which begin at 0 or at the first of the `limits` and end at the second one.
    `names` are names of scores, `format_name` is one of `FORMATS`, `width` is in inches. Raises
    `UsageError` for a name that no system has and for a score beyond the limits, `DependencyError`
    without matplotlib.
    """
    known = dict.fromkeys(s.name for system in systems for s in system.scores if s.scope == WHOLE)
    for name in names:
        if name not in known:
            raise UsageError(
                f'there is no score "{shorten(name)}"{did_you_mean(name, known)} '
                f"(known: {', '.join(known)})"
            )
    shown = [(name, group) for name in names for group in comparable_in(systems, name)]
    n_columns = min(2, len(shown))
    longest = max(len(shown_name(system.name)) for system in systems)
    ticks = 3 if width - INCHES_A_LETTER * longest > ROOMY else 2
    n_rows = math.ceil(len(shown) / n_columns)
    line = 0.11 * max(_lines(group.setting) for _, group in shown)
    height = 0.2 + n_rows * (0.64 + line + 0.16 * len(systems))
    with new_figure(width, height, format_name) as (figure, save):
        grid = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        panels = list(grid.flat)
        drawn: list[Score] = []
        for axes, (name, group) in zip(panels, shown, strict=False):
            scores = [
                score_of(system, name, WHOLE) if system.name in group.systems else None
                for system in systems
            ]
            _draw(axes, scores, group.setting, ticks, limits)
            drawn += [score for score in scores if score is not None]
        for axes in panels[len(shown) :]:
            axes.remove()
        panels[0].set_yticks(range(len(systems)), [shown_name(system.name) for system in systems])
        panels[0].set_ylim(len(systems) - 0.5, -0.5)
        _tell_intervals(figure, drawn)
        return save()


def _lines(setting: str) -> int:
    """Return how many lines a setting takes below a label."""
    return setting.count(", ") + 1 if setting else 0


def score_of(system: PageSystem, name: str, scope: str) -> Score | None:
    """Return a score of a system, None when it has none of the name and scope."""
    return next((s for s in system.scores if (s.name, s.scope) == (name, scope)), None)


def _draw(
    axes: Axes, scores: Sequence[Score | None], setting: str, ticks: int, limits: Limits
) -> None:
    first = next(score for score in scores if score is not None)
    axes.set_title(titled(first.label, setting.replace(", ", "\n"), "\n"))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    reached = [0.0]
    for row, score in enumerate(scores):
        if score is None or not math.isfinite(score.value):
            continue
        reached.append(score.value)
        if score.interval is not None:
            ends = [score.interval.low, score.interval.high]
            reached += ends
            axes.plot(ends, [row, row], color=COLOURS[4], linewidth=3, solid_capstyle="butt")
        axes.plot(score.value, row, **POINT)
    low, high = _zoomed(whole_range(reached, first.unit), scores, limits)
    axes.set_xlim((high, low) if first.lower_is_better else (low, high))
    axes.set_xlabel(in_unit(first.unit, lower_is_better=first.lower_is_better))
    axes.locator_params(axis="x", nbins=ticks, steps=[1, 2, 5, 10], min_n_ticks=2)
    values = axes.twinx()
    values.set_ylim(len(scores) - 0.5, -0.5)
    values.set_yticks(range(len(scores)), [shown_number(score) for score in scores])
    values.spines["left"].set_visible(False)


def _zoomed(
    whole: tuple[float, float], scores: Sequence[Score | None], limits: Limits
) -> tuple[float, float]:
    """Return the ends of an axis. Raises `UsageError` for a score that is not between them."""
    low, high = (of if end is None else end for of, end in zip(whole, limits, strict=True))
    for score in scores:
        if limits != (None, None) and score is not None and not low <= score.value <= high:
            raise UsageError(
                f"{score.label} {shown_number(score)} is not between {low:g} and {high:g}: choose "
                "other ends of the axis (--from, --to), or other scores (--scores)"
            )
    return low, high


def _tell_intervals(figure: Figure, scores: Sequence[Score]) -> None:
    """Add a legend that says which intervals there are, and how they were found."""
    from matplotlib.lines import Line2D

    intervals = [score.interval for score in scores if score.interval is not None]
    if not intervals:
        return
    methods = dict.fromkeys(METHODS.get(each.method, each.method) for each in intervals)
    level = f"{100 * intervals[0].confidence:g} % interval ({', '.join(methods)})"
    point = Line2D([], [], **POINT)
    whisker = Line2D([], [], color=COLOURS[4], linewidth=3)
    figure.legend([point, whisker], ["score", level], loc="outside lower center", ncols=2)
