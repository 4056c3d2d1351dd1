"""Figures for papers (PNG, SVG, PDF): scores with intervals, and heat maps of parts and reasons.

A figure fits one column of a two-column paper. Text has a size of 7 points, and SVG and PDF files
store it as text. The colors are those of Okabe and Ito; marks also have different shapes. The bytes
of a figure depend only on the systems, the version of matplotlib and the installed fonts, not on
the configured style.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mwzeval.errors import MwzevalWarning, UsageError, shorten, unknown
from mwzeval.libraries import required
from mwzeval.report.systems import (
    comparable_in,
    kinds_of,
    labels_of,
)
from mwzeval.scores.report import Report
from mwzeval.scores.score import PERCENT, WHOLE, Interval, Score, Words, by_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("pdf", "png", "svg")
WIDTH = 3.3
"""The column width of an ACL, ACM or IEEE paper, in inches."""

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#E69F00", "#000000", "#7F7F7F"),
)
SHOWN_NAME = 24
DASH = "–"

FONT = "DejaVu Sans"
"""The font included in matplotlib; it has Latin, Greek and Cyrillic letters."""
OTHER_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "PingFang SC"),
    *("Hiragino Sans GB", "Microsoft YaHei", "SimHei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
)
"""Fonts for Chinese characters; for each character, matplotlib uses the first font that contains
it."""

STYLE = Path(__file__).with_name("figures.mplstyle")
METADATA: Mapping[str, Mapping[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": "mwzeval", "Producer": None},
    "png": {"Software": "mwzeval"},
    "svg": {"Date": None, "Creator": "mwzeval"},
}


def check_format(format_name: str) -> None:
    """Raise `UsageError` for an unknown format, and `DependencyError` without matplotlib."""
    if format_name not in FORMATS:
        raise UsageError(unknown("format of pictures", format_name, FORMATS))
    required("matplotlib.figure", "plot", "drawing needs matplotlib")


@contextmanager
def new_figure(
    width: float, height: float, format_name: str
) -> Iterator[tuple[Figure, Callable[[], bytes]]]:
    """Yield an empty figure in the common style, and a function that returns its bytes.

    Sizes are in inches; `format_name` is one of `FORMATS`. Warns with `MwzevalWarning` about
    characters that no installed font has. Raises `DependencyError` if matplotlib is missing.
    """
    check_format(format_name)
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    with matplotlib.rc_context():
        matplotlib.rc_file(STYLE)  # also restores the defaults of all other settings
        fonts = [FONT, *(name for name in OTHER_FONTS if name in installed)]
        matplotlib.rcParams["font.family"] = fonts
        figure = Figure(figsize=(width, height), layout="constrained")

        def save() -> bytes:
            content = BytesIO()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                figure.savefig(content, format=format_name, metadata=dict(METADATA[format_name]))
            missing = set()
            for warning in caught:
                if match := re.match(r"Glyph (\d+) .*missing from", str(warning.message)):
                    missing.add(chr(int(match[1])))
                else:
                    warnings.warn_explicit(
                        warning.message, warning.category, warning.filename, warning.lineno
                    )
            if missing:
                message = (
                    "no installed font has the characters "
                    f"{shorten(''.join(sorted(missing)), 12)}: install a font that has them (for "
                    "Chinese, Noto Sans CJK: on Debian the package fonts-noto-cjk) and draw the "
                    "figure again"
                )
                warnings.warn(MwzevalWarning(message), stacklevel=2)
            return content.getvalue()

        yield figure, save


def key(**line: Any) -> Any:
    """Return a legend entry with the given line or marker."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"markersize": 3.0, **line})


def whole_range(values: Iterable[float], unit: str) -> tuple[float, float]:
    """Return the ends of an axis: 0, or less for negative values, and 100 for percentages.

    Values that are not finite are ignored; if none is finite, the axis ends at 1.
    """
    finite = [value for value in values if math.isfinite(value)]
    high = 100.0 if unit == PERCENT else max(finite, default=0.0)
    return min([0.0, *finite]), max(high, *finite) if high > 0 else 1.0


def _axis_label(unit: str, lower_is_better: bool) -> str:
    return ", ".join(filter(None, (unit, "lower is better" * lower_is_better)))


def _title(label: str, setting: str, between: str) -> str:
    return f"{label}{between}{setting.replace(', ', between)}" if setting else label


def _number(value: float, places: int) -> str:
    return f"{value:.{places}f}".replace("-", "−") if math.isfinite(value) else DASH


INCHES_A_LETTER = 0.055
ROOMY = 2.3
"""The minimum width of a panel in inches, without the names of systems, for a third axis label."""

POINT: Mapping[str, Any] = {
    "color": COLOURS[0],
    "marker": "|",
    "markersize": 6,
    "markeredgewidth": 1,
    "linestyle": "",
    "clip_on": False,
}
"""The mark of a score; it is narrow because intervals are narrow on axes that begin at 0."""
WHISKER: Mapping[str, Any] = {"color": COLOURS[4], "linewidth": 3}


def plot_scores(
    systems: Sequence[Report],
    names: Sequence[str],
    *,
    format_name: str,
    width: float = WIDTH,
    limits: tuple[float | None, float | None] = (None, None),
) -> bytes:
    """Return a figure of scores of the whole input: a panel per score, a row per system.

    Each group of comparable systems has its own panel. Whiskers show intervals. Better scores are
    farther right on all axes. `limits` are the ends of the score axes; an end that is None is
    computed from the scores and their unit. `width` is in inches.

    Raises:
        UsageError: If no system has a named score, or if a score is outside the limits.
    """
    known = dict.fromkeys(s.name for system in systems for s in system.scores if s.scope == WHOLE)
    for name in names:
        if name not in known:
            raise UsageError(unknown("score", name, known))
    shown = [(name, group) for name in names for group in comparable_in(systems, name)]
    n_columns = min(2, len(shown))
    labels = [shorten(system.name, SHOWN_NAME) for system in systems]
    ticks = 3 if width - INCHES_A_LETTER * max(map(len, labels)) > ROOMY else 2
    n_rows = math.ceil(len(shown) / n_columns)
    setting_lines = max(len(group.setting.split(", ")) * bool(group.setting) for _, group in shown)
    height = 0.2 + n_rows * (0.64 + 0.11 * setting_lines + 0.16 * len(systems))
    with new_figure(width, height, format_name) as (figure, save):
        grid = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        panels = list(grid.flat)
        intervals: list[Interval] = []
        for axes, (name, group) in zip(panels, shown, strict=False):
            found = [by_place(system.scores).get((name, WHOLE)) for system in systems]
            rows = [row for row, system in enumerate(systems) if system.name in group.systems]
            scores = {row: score for row in rows if (score := found[row])}
            _draw_scores(axes, scores, len(systems), group.setting, ticks, limits)
            intervals += [score.interval for score in scores.values() if score.interval]
        for axes in panels[len(shown) :]:
            axes.remove()
        panels[0].set_yticks(range(len(systems)), labels)
        panels[0].set_ylim(len(systems) - 0.5, -0.5)
        if intervals:
            methods = dict.fromkeys(interval.method for interval in intervals)
            level = f"{100 * intervals[0].confidence:g} % interval ({', '.join(methods)})"
            entries = [key(**POINT), key(**WHISKER)]
            figure.legend(entries, ["score", level], loc="outside lower center", ncols=2)
        return save()


def _draw_scores(
    axes: Axes,
    scores: Mapping[int, Score],
    n_rows: int,
    setting: str,
    ticks: int,
    limits: tuple[float | None, float | None],
) -> None:
    first = next(iter(scores.values()))
    axes.set_title(_title(first.label, setting, "\n"))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    reached = [0.0]
    texts = [DASH] * n_rows
    for row, score in scores.items():
        if not math.isfinite(score.value):
            continue
        texts[row] = _number(score.value, score.places)
        reached.append(score.value)
        if score.interval is not None:
            ends = [score.interval.low, score.interval.high]
            reached += ends
            axes.plot(ends, [row, row], solid_capstyle="butt", **WHISKER)
        axes.plot(score.value, row, **POINT)
    whole = whole_range(reached, first.unit)
    low, high = (own if end is None else end for own, end in zip(whole, limits, strict=True))
    for row, score in scores.items():
        if limits != (None, None) and not low <= score.value <= high:
            raise UsageError(
                f"{score.label} {texts[row]} is not between {low:g} and {high:g}: change the "
                "ends of the axis (--from, --to) or select other scores (--scores)"
            )
    axes.set_xlim((high, low) if first.lower_is_better else (low, high))
    axes.set_xlabel(_axis_label(first.unit, first.lower_is_better))
    axes.locator_params(axis="x", nbins=ticks, steps=[1, 2, 5, 10], min_n_ticks=2)
    values = axes.twinx()
    values.set_ylim(n_rows - 0.5, -0.5)
    values.set_yticks(range(n_rows), texts)
    values.spines["left"].set_visible(False)


DARK = 0.48
"""The dark share of the color map, on which numbers are printed in white."""


class _HeatMap(NamedTuple):
    """Numbers that are drawn as colors, in named rows; `nan` for missing numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float]]]
    places: int
    unit: str
    lower_is_better: bool


def plot_parts(
    systems: Sequence[Report], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return heat maps of the scores by part, with a row per system and a column per part.

    Scores with different parts (turns instead of domains) have separate columns. `words` has the
    nouns that the benchmark uses for its parts.

    Raises:
        UsageError: If no system has scores of parts.
    """
    scores = [score for system in systems for score in system.scores]
    maps = []
    for names, scopes in _same_parts(scores):
        columns = []
        for scope in scopes:
            counts = [score.n for score in scores if score.scope == scope]
            ends = dict.fromkeys((min(counts), max(counts)))
            columns.append(f"{scope} ({'–'.join(map(str, ends))})")
        for name, group in ((n, group) for n in names for group in comparable_in(systems, n)):
            compared = [system for system in systems if system.name in group.systems]
            first = next(s for system in compared for s in system.scores if s.name == name)
            rows = []
            for system in compared:
                values = {score.scope: score.value for score in system.scores if score.name == name}
                rows.append((system.name, [values.get(scope, math.nan) for scope in scopes]))
            title, places = _title(first.label, group.setting, ", "), first.places
            maps.append(_HeatMap(title, columns, rows, places, first.unit, first.lower_is_better))
    if not maps:
        raise UsageError(f"no score has values by {words.scope}: there is nothing to draw")
    return _plot_maps(maps, format_name=format_name, width=width)


def _same_parts(scores: Sequence[Score]) -> list[tuple[list[str], dict[str, None]]]:
    """Return the names of scores with parts, grouped by common parts."""
    groups: list[tuple[list[str], dict[str, None]]] = []
    for name in dict.fromkeys(score.name for score in scores if score.scope != WHOLE):
        own = dict.fromkeys(score.scope for score in scores if score.name == name)
        shared = [group for group in groups if own.keys() & group[1].keys()]
        if not shared:
            groups.append(([name], own))
        for names, scopes in shared[:1]:
            names.append(name)
            scopes.update(own)
    return groups


def _plot_maps(maps: Sequence[_HeatMap], *, format_name: str, width: float) -> bytes:
    """Return one figure of all maps; maps with the same unit and direction share a color scale."""
    kinds = dict.fromkeys((map_.unit, map_.lower_is_better) for map_ in maps)
    following = [*(map_.columns for map_ in maps[1:]), ()]
    n_labelled = sum(map_.columns != after for map_, after in zip(maps, following, strict=True))
    height = 0.55 * n_labelled + 0.45 * len(kinds)
    height += sum(0.25 + 0.18 * len(m.rows) + 0.12 * m.title.count("\n") for m in maps)
    with new_figure(width, height, format_name) as (figure, save):
        n_rows = [len(map_.rows) for map_ in maps]
        panels = list(figure.subplots(len(maps), 1, squeeze=False, height_ratios=n_rows).flat)
        for unit, lower_is_better in kinds:
            shown = [
                (axes, map_)
                for axes, map_ in zip(panels, maps, strict=True)
                if (map_.unit, map_.lower_is_better) == (unit, lower_is_better)
            ]
            numbers = (number for _, map_ in shown for _, row in map_.rows for number in row)
            ends = whole_range(numbers, unit)
            images = [_draw_map(axes, map_, ends) for axes, map_ in shown]
            below = [axes for axes, _ in shown]
            bar = figure.colorbar(images[-1], ax=below, location="bottom", aspect=40, pad=0.02)
            bar.outline.set_visible(False)
            bar.set_label(_axis_label(unit, lower_is_better))
            if lower_is_better:
                bar.ax.invert_xaxis()
        for axes, map_, after in zip(panels, maps, following, strict=True):
            columns = map_.columns if map_.columns != after else ()
            axes.set_xticks(
                range(len(columns)), columns, rotation=30, ha="right", rotation_mode="anchor"
            )
        return save()


def _draw_map(axes: Axes, map_: _HeatMap, ends: tuple[float, float]) -> Any:
    low, high = ends
    axes.set_title(map_.title)
    names, rows = zip(*map_.rows, strict=True)
    colours = "cividis_r" if map_.lower_is_better else "cividis"
    image = axes.imshow(rows, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for row, numbers in enumerate(rows):
        for column, number in enumerate(numbers):
            share = (number - low) / (high - low)
            is_dark = (1 - share if map_.lower_is_better else share) < DARK
            colour = "white" if is_dark else "black"
            text = _number(number, map_.places)
            axes.text(column, row, text, color=colour, ha="center", va="center")
    axes.set_yticks(range(len(names)), [shorten(name, SHOWN_NAME) for name in names])
    axes.tick_params(axis="x", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def plot_reasons(
    systems: Sequence[Report], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return heat maps of failed units, with a row per failure reason and a column per system.

    Raises:
        UsageError: If no unit failed.
    """
    kinds = kinds_of(systems)
    if not kinds:
        raise UsageError("no failure has a reason: there is nothing to draw")
    labels = labels_of(systems)
    rows: dict[str, list[tuple[str, list[float]]]] = {}
    for kind in kinds:
        for group in comparable_in(systems, kind.outcome):
            counts = [
                count if system.name in group.systems else math.nan
                for system, count in zip(systems, kind.counts, strict=True)
            ]
            if any(count > 0 for count in counts):
                title = f"{labels.get(kind.outcome, kind.outcome)} failed"
                rows.setdefault(_title(title, group.setting, "\n"), []).append((kind.code, counts))
    for lines in rows.values():
        lines.sort(key=lambda line: -sum(count for count in line[1] if count > 0))
    columns = [shorten(system.name, SHOWN_NAME) for system in systems]
    maps = [_HeatMap(title, columns, own, 0, words.units, True) for title, own in rows.items()]
    return _plot_maps(maps, format_name=format_name, width=width)
