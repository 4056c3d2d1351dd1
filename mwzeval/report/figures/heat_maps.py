"""Heat maps: scores of parts such as domains, and counts; bright is good in all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mwzeval.errors import UsageError
from mwzeval.report.figures.scores import score_of
from mwzeval.report.figures.style import (
    WIDTH,
    in_unit,
    more_lines,
    new_figure,
    shown_name,
    shown_number,
    titled,
    whole_range,
)
from mwzeval.report.page.model import PageSystem, comparable_in
from mwzeval.scores.explanation import Words
from mwzeval.scores.score import WHOLE, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK = 0.48
"""Up to which part of its range the colour map is dark, so that numbers on it are white."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number that has a colour, and how it is written."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One heat map: its title, names of its rows, rows of cells, and what the numbers are."""

    title: str
    rows: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    unit: str
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Heat maps of the same columns."""

    columns: Sequence[str]
    maps: Sequence[HeatMap]


def plot_parts(
    systems: Sequence[PageSystem], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return heat maps of the scores that there are for parts: systems × parts.

    Scores that are about other parts than the others (turns, not domains) have columns of their
    own. Systems have the order of `systems`. `format_name` is one of `FORMATS`, `words` are how
    the benchmark calls its parts, `width` is in inches. Raises `UsageError` when there is no such
    score, `DependencyError` where matplotlib is missing.
    """
    scores = [score for system in systems for score in system.scores]
    groups = _same_parts(scores)
    if not groups:
        raise UsageError(f"no score was computed by {words.scope}: there is nothing to draw")
    grids = [
        Grid(
            [_with_counts(scope, scores) for scope in scopes],
            [
                _map_of(
                    name,
                    [system for system in systems if system.name in group.systems],
                    scopes,
                    group.setting,
                )
                for name in names
                for group in comparable_in(systems, name)
            ],
        )
        for names, scopes in groups
    ]
    return plot_maps(grids, format_name=format_name, width=width)


def _map_of(
    name: str, systems: Sequence[PageSystem], scopes: Mapping[str, None], setting: str
) -> HeatMap:
    first = next(s for system in systems for s in system.scores if s.name == name)
    return HeatMap(
        titled(first.label, setting),
        [shown_name(system.name) for system in systems],
        [[_cell(score_of(system, name, of)) for of in scopes] for system in systems],
        first.unit,
        first.lower_is_better,
    )


def _same_parts(scores: Sequence[Score]) -> list[tuple[list[str], dict[str, None]]]:
    """Return the names of scores that there are for parts, those that share parts together."""
    groups: list[tuple[list[str], dict[str, None]]] = []
    for name in dict.fromkeys(score.name for score in scores if score.scope != WHOLE):
        of_name = dict.fromkeys(score.scope for score in scores if score.name == name)
        for names, scopes in groups:
            if of_name.keys() & scopes.keys():
                names.append(name)
                scopes.update(of_name)
                break
        else:
            groups.append(([name], of_name))
    return groups


def _with_counts(scope: str, scores: Sequence[Score]) -> str:
    """Return a part with how many units its scores are about."""
    counts = sorted({score.n for score in scores if score.scope == scope})
    return f"{scope} ({'–'.join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))})"


def _cell(score: Score | None) -> Cell:
    return Cell(math.nan if score is None else score.value, shown_number(score))


def plot_maps(grids: Sequence[Grid], *, format_name: str, width: float) -> bytes:
    """Return heat maps one below the other.

    Those of one unit and direction have one range of colours, from 0, and one colour bar.
    """
    maps = [map_ for grid in grids for map_ in grid.maps]
    columns = [grid.columns for grid in grids for _ in grid.maps]
    last = [map_ is grid.maps[-1] for grid in grids for map_ in grid.maps]
    kinds = dict.fromkeys((map_.unit, map_.lower_is_better) for map_ in maps)
    n_rows = [len(map_.rows) for map_ in maps]
    height = 0.25 * len(maps) + 0.18 * sum(n_rows) + 0.55 * len(grids) + 0.45 * len(kinds)
    height += more_lines(map_.title for map_ in maps)
    with new_figure(width, height, format_name) as (figure, save):
        panels = list(figure.subplots(len(maps), 1, squeeze=False, height_ratios=n_rows).flat)
        for kind in kinds:
            of_kind = [
                (axes, map_)
                for axes, map_ in zip(panels, maps, strict=True)
                if (map_.unit, map_.lower_is_better) == kind
            ]
            ends = whole_range(
                (cell.value for _, map_ in of_kind for row in map_.cells for cell in row), kind[0]
            )
            for axes, map_ in of_kind:
                image = _draw(axes, map_, ends)
            bar = figure.colorbar(
                image, ax=[axes for axes, _ in of_kind], location="bottom", aspect=40, pad=0.02
            )
            bar.outline.set_visible(False)
            bar.set_label(in_unit(kind[0], lower_is_better=kind[1]))
            if kind[1]:
                bar.ax.invert_xaxis()
        for axes, names, is_last in zip(panels, columns, last, strict=True):
            shown = list(names) if is_last else []
            axes.set_xticks(
                range(len(shown)), shown, rotation=30, ha="right", rotation_mode="anchor"
            )
        return save()


def _draw(axes: Axes, map_: HeatMap, ends: tuple[float, float]) -> Any:
    low, high = ends
    axes.set_title(map_.title)
    shades = [[cell.value for cell in row] for row in map_.cells]
    colours = "cividis_r" if map_.lower_is_better else "cividis"
    image = axes.imshow(shades, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for row, cells in enumerate(map_.cells):
        for column, cell in enumerate(cells):
            share = (cell.value - low) / (high - low)
            is_dark = (1 - share if map_.lower_is_better else share) < DARK
            colour = "white" if is_dark else "black"
            axes.text(column, row, cell.text, color=colour, ha="center", va="center")
    axes.set_yticks(range(len(map_.rows)), map_.rows)
    axes.tick_params(axis="x", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image
