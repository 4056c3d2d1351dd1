"""A figure of how many units each kind of reason lost, the most frequent on top."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mwzeval.errors import UsageError
from mwzeval.report.figures.heat_maps import Cell, Grid, HeatMap, plot_maps
from mwzeval.report.figures.style import (
    COLOURS,
    MARKERS,
    WIDTH,
    in_unit,
    more_lines,
    new_figure,
    shown_name,
    titled,
)
from mwzeval.report.page.model import PageSystem, comparable_in, kinds_of, labels_of
from mwzeval.scores.explanation import Words

MOST_MARKS = 3
"""How many marks a row may have; more lie on top of each other, and a table of numbers is read."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A reason and how many units it lost of each system; None of those in another group."""

    code: str
    counts: Sequence[int | None]


def plot_reasons(
    systems: Sequence[PageSystem], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return a figure of how many units each kind of reason lost: a row each.

    Up to three systems have marks on an axis, more a column each of a heat map. `format_name` is
    one of `FORMATS`, `words` are how the benchmark calls its units, `width` is in inches. Raises
    `UsageError` when nothing was lost, `DependencyError` where matplotlib is missing.
    """
    kinds = kinds_of(systems)
    if not kinds:
        raise UsageError("nothing was lost for a reason: there is nothing to draw")
    labels = labels_of(systems)
    of_outcome: dict[str, list[_Counted]] = {}
    for kind in kinds:
        for group in comparable_in(systems, kind.outcome):
            counts = [
                count if system.name in group.systems else None
                for system, count in zip(systems, kind.counts, strict=True)
            ]
            if any(counts):
                lost = f"{labels.get(kind.outcome, kind.outcome)} lost"
                title = titled(lost, group.setting.replace(", ", "\n"), "\n")
                of_outcome.setdefault(title, []).append(_Counted(kind.code, counts))
    for of_group in of_outcome.values():
        of_group.sort(key=lambda kind: -sum(count or 0 for count in kind.counts))
    if len(systems) <= MOST_MARKS:
        return _plot_marks(systems, of_outcome, words, format_name=format_name, width=width)
    maps = [
        HeatMap(
            title,
            [shown_name(kind.code) for kind in shown],
            [[_cell(count) for count in kind.counts] for kind in shown],
            words.units,
            lower_is_better=True,
        )
        for title, shown in of_outcome.items()
    ]
    grid = Grid([shown_name(system.name) for system in systems], maps)
    return plot_maps([grid], format_name=format_name, width=width)


def _cell(count: int | None) -> Cell:
    return Cell(math.nan, "–") if count is None else Cell(float(count), str(count))


def _plot_marks(
    systems: Sequence[PageSystem],
    of_outcome: Mapping[str, Sequence[_Counted]],
    words: Words,
    *,
    format_name: str,
    width: float,
) -> bytes:
    n_rows = [len(shown) for shown in of_outcome.values()]
    height = 0.61 + 0.25 * len(n_rows) + 0.16 * sum(n_rows) + more_lines(of_outcome)
    with new_figure(width, height, format_name) as (figure, save):
        panels = figure.subplots(
            len(n_rows), 1, sharex=True, squeeze=False, height_ratios=[n + 0.5 for n in n_rows]
        ).flat
        for axes, (title, shown) in zip(panels, of_outcome.items(), strict=True):
            axes.set_title(title)
            axes.set_yticks(range(len(shown)), [shown_name(kind.code) for kind in shown])
            axes.set_ylim(len(shown) - 0.5, -0.5)
            axes.grid(axis="both")
            axes.spines["left"].set_visible(False)
            for index, system in enumerate(systems):
                counted = [kind.counts[index] for kind in shown]
                axes.plot(
                    [math.nan if count is None else count for count in counted],
                    range(len(shown)),
                    MARKERS[index],
                    color=COLOURS[index],
                    markeredgecolor="white",
                    markeredgewidth=0.4,
                    markersize=5,
                    clip_on=False,
                    label=shown_name(system.name),
                )
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel(in_unit(words.units, lower_is_better=True))
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(systems))
        return save()
