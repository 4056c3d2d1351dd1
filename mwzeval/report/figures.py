"""Figures for papers, as PNG, SVG or PDF: scores with intervals, parts as heat maps, reasons.

Made for one column of a two-column paper: text of 7 points that stays text in SVG and PDF, colours
of Okabe and Ito and shapes besides, so that neither colour vision nor a printer matters. The bytes
are the same for the same systems, version of matplotlib and installed fonts, whatever style is
configured.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mwzeval.errors import MwzevalWarning, UsageError, did_you_mean, shorten
from mwzeval.libraries import required
from mwzeval.report.page.model import PageSystem, comparable_in, kinds_of, labels_of
from mwzeval.scores.score import PERCENT, WHOLE, Interval, Score, Words
from mwzeval.scores.sheets import Cell, Sheet, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("pdf", "png", "svg")
WIDTH = 3.3
"""Inches: one column of an ACL, ACM or IEEE paper."""

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#E69F00", "#000000", "#7F7F7F"),
)
MARKERS = "os^DvP*X"
LAYER = 0.2
"""How opaque bands are, so that those below others can be seen."""
SHOWN_NAME = 24
"""How many characters of a system's name are drawn."""
DASH = "–"
"""Stands for a number that is missing."""

FONT = "DejaVu Sans"
"""The font that comes with matplotlib: Latin, Greek and Cyrillic letters."""
OTHER_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "PingFang SC"),
    *("Hiragino Sans GB", "Microsoft YaHei", "SimHei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
)
"""Fonts for Chinese characters, of which matplotlib takes the first that has a character."""
_LACKING = re.compile(r"Glyph (\d+) .*missing from")

STYLE: Mapping[Any, Any] = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.titleweight": "bold",
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.5,
    "xtick.major.size": 2,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.handletextpad": 0.2,
    "legend.columnspacing": 1,
    "text.parse_math": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "mwzeval",
    "savefig.dpi": 300,
}
METADATA: Mapping[str, Mapping[str, str | None]] = {
    "pdf": {"CreationDate": None, "Creator": "mwzeval", "Producer": None},
    "png": {"Software": "mwzeval"},
    "svg": {"Date": None, "Creator": "mwzeval"},
}


def check_format(format_name: str) -> None:
    """Raise `UsageError` for an unknown format of pictures, `DependencyError` without matplotlib.

    Before anything is read or computed.
    """
    if format_name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f'unknown format of pictures "{shorten(format_name)}" ({known})')
    require_matplotlib()


def require_matplotlib() -> None:
    """Raise `DependencyError` where matplotlib is missing."""
    required("matplotlib.figure", "plot", "drawing needs matplotlib")


@contextmanager
def new_figure(
    width: float, height: float, format_name: str
) -> Iterator[tuple[Figure, Callable[[], bytes]]]:
    """Give an empty figure in the style of all figures, and what makes bytes of it.

    `width` and `height` are inches; `format_name` is one of `FORMATS`. Warns with `MwzevalWarning`
    of characters that no installed font has. Raises `DependencyError` where matplotlib is missing.
    """
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        fonts = [FONT, *(name for name in OTHER_FONTS if name in installed)]
        matplotlib.rcParams.update({**STYLE, "font.family": fonts})
        figure = Figure(figsize=(width, height), layout="constrained")

        def save() -> bytes:
            content = BytesIO()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                figure.savefig(content, format=format_name, metadata=dict(METADATA[format_name]))
            lacking = set()
            for warning in caught:
                if match := _LACKING.match(str(warning.message)):
                    lacking.add(chr(int(match[1])))
                else:
                    warnings.warn_explicit(
                        warning.message, warning.category, warning.filename, warning.lineno
                    )
            if lacking:
                warnings.warn(MwzevalWarning(_about_lacking(lacking)), stacklevel=2)
            return content.getvalue()

        yield figure, save


def _about_lacking(characters: set[str]) -> str:
    return (
        f"the figure has characters that no font here can draw "
        f"({shorten(''.join(sorted(characters)), 12)}): install one that has them (for Chinese, "
        "Noto Sans CJK: on Debian the package fonts-noto-cjk), and draw it again"
    )


def key(**line: Any) -> Any:
    """Return what stands for a line or a mark in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], markersize=3.0, **line)


def band_key() -> Any:
    """Return what stands for bands of any colour in a legend."""
    from matplotlib.patches import Patch

    return Patch(facecolor=COLOURS[-1], alpha=LAYER)


def whole_range(values: Iterable[float], unit: str) -> tuple[float, float]:
    """Return where an axis begins and ends: at 0, or below what is negative, and at 100 percent.

    Values that are not finite are left out; without any other it ends at 1.
    """
    finite = [value for value in values if math.isfinite(value)]
    high = 100.0 if unit == PERCENT else max(finite, default=0.0)
    return min([0.0, *finite]), max(high, *finite) if high > 0 else 1.0


def _axis_label(unit: str, *, lower_is_better: bool) -> str:
    return ", ".join(filter(None, (unit, "less is better" if lower_is_better else "")))


def _name(text: str) -> str:
    return shorten(text, SHOWN_NAME)


def _title(label: str, setting: str, between: str) -> str:
    """Return a title, with the setting of its group if there are several groups."""
    return f"{label}{between}{setting.replace(', ', between)}" if setting else label


def _cell(score: Score | None) -> Cell:
    """Return a score as it is drawn."""
    if score is None or not math.isfinite(score.value):
        return Cell(None)
    return Cell(score.value, form=f".{score.places}f")


def _drawn(cell: Cell) -> str:
    return DASH if cell.value is None else cell.text.replace("-", "−")


def _score_of(system: PageSystem, name: str, scope: str) -> Score | None:
    return next((s for s in system.scores if (s.name, s.scope) == (name, scope)), None)


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
    labels = [_name(system.name) for system in systems]
    ticks = 3 if width - INCHES_A_LETTER * max(map(len, labels)) > ROOMY else 2
    n_rows = math.ceil(len(shown) / n_columns)
    setting_lines = max(len(group.setting.split(", ")) * bool(group.setting) for _, group in shown)
    height = 0.2 + n_rows * (0.64 + 0.11 * setting_lines + 0.16 * len(systems))
    with new_figure(width, height, format_name) as (figure, save):
        grid = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        panels = list(grid.flat)
        intervals: list[Interval] = []
        for axes, (name, group) in zip(panels, shown, strict=False):
            scores = [
                _score_of(system, name, WHOLE) if system.name in group.systems else None
                for system in systems
            ]
            _draw_scores(axes, scores, group.setting, ticks, limits)
            intervals += [score.interval for score in scores if score and score.interval]
        for axes in panels[len(shown) :]:
            axes.remove()
        panels[0].set_yticks(range(len(systems)), labels)
        panels[0].set_ylim(len(systems) - 0.5, -0.5)
        if intervals:
            _add_interval_legend(figure, intervals)
        return save()


def _draw_scores(
    axes: Axes, scores: Sequence[Score | None], setting: str, ticks: int, limits: Limits
) -> None:
    first = next(score for score in scores if score is not None)
    axes.set_title(_title(first.label, setting, "\n"))
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
    whole = whole_range(reached, first.unit)
    low, high = (own if end is None else end for own, end in zip(whole, limits, strict=True))
    for score in scores:
        if limits != (None, None) and score is not None and not low <= score.value <= high:
            raise UsageError(
                f"{score.label} {_drawn(_cell(score))} is not between {low:g} and {high:g}: choose "
                "other ends of the axis (--from, --to), or other scores (--scores)"
            )
    axes.set_xlim((high, low) if first.lower_is_better else (low, high))
    axes.set_xlabel(_axis_label(first.unit, lower_is_better=first.lower_is_better))
    axes.locator_params(axis="x", nbins=ticks, steps=[1, 2, 5, 10], min_n_ticks=2)
    values = axes.twinx()
    values.set_ylim(len(scores) - 0.5, -0.5)
    values.set_yticks(range(len(scores)), [_drawn(_cell(score)) for score in scores])
    values.spines["left"].set_visible(False)


def _add_interval_legend(figure: Figure, intervals: Sequence[Interval]) -> None:
    """Add a legend that says which intervals there are, and how they were found."""
    from matplotlib.lines import Line2D

    methods = dict.fromkeys(METHODS.get(each.method, each.method) for each in intervals)
    level = f"{100 * intervals[0].confidence:g} % interval ({', '.join(methods)})"
    point = Line2D([], [], **POINT)
    whisker = Line2D([], [], color=COLOURS[4], linewidth=3)
    figure.legend([point, whisker], ["score", level], loc="outside lower center", ncols=2)


DARK = 0.48
"""Up to which part of its range the colour map is dark, so that numbers on it are white."""


@dataclass(frozen=True, slots=True)
class _HeatMap:
    """A table of numbers that are drawn as colours; bright is good.

    `has_columns` says that the names of the columns stand below it, as below the last of the maps
    with the same columns.
    """

    sheet: Sheet
    unit: str
    lower_is_better: bool
    has_columns: bool

    @property
    def numbers(self) -> list[list[float]]:
        """The numbers, `nan` for those that are missing."""
        return [
            [cell.value if isinstance(cell.value, int | float) else math.nan for cell in cells]
            for _, *cells in self.sheet.rows
        ]


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
    maps = []
    for names, scopes in _same_parts(scores):
        header = ["", *(_with_counts(scope, scores) for scope in scopes)]
        shown = [(name, group) for name in names for group in comparable_in(systems, name)]
        for name, group in shown:
            compared = [system for system in systems if system.name in group.systems]
            first = next(s for system in compared for s in system.scores if s.name == name)
            rows: list[list[Cell | str]] = [
                [_name(system.name), *(_cell(_score_of(system, name, scope)) for scope in scopes)]
                for system in compared
            ]
            table = sheet(_title(first.label, group.setting, ", "), header, rows)
            is_last = (name, group) == shown[-1]
            maps.append(_HeatMap(table, first.unit, first.lower_is_better, is_last))
    if not maps:
        raise UsageError(f"no score was computed by {words.scope}: there is nothing to draw")
    return _plot_maps(maps, format_name=format_name, width=width)


def _same_parts(scores: Sequence[Score]) -> list[tuple[list[str], dict[str, None]]]:
    """Return the names of scores that there are for parts, those that share parts together."""
    groups: list[tuple[list[str], dict[str, None]]] = []
    for name in dict.fromkeys(score.name for score in scores if score.scope != WHOLE):
        own = dict.fromkeys(score.scope for score in scores if score.name == name)
        for names, scopes in groups:
            if own.keys() & scopes.keys():
                names.append(name)
                scopes.update(own)
                break
        else:
            groups.append(([name], own))
    return groups


def _with_counts(scope: str, scores: Sequence[Score]) -> str:
    """Return a part with how many units its scores are about."""
    counts = sorted({score.n for score in scores if score.scope == scope})
    return f"{scope} ({'–'.join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))})"


def _plot_maps(maps: Sequence[_HeatMap], *, format_name: str, width: float) -> bytes:
    """Return heat maps one below the other.

    Those of one unit and direction have one range of colours, from 0, and one colour bar.
    """
    kinds = dict.fromkeys((map_.unit, map_.lower_is_better) for map_ in maps)
    n_rows = [len(map_.sheet.rows) for map_ in maps]
    n_labelled = sum(map_.has_columns for map_ in maps)
    height = 0.25 * len(maps) + 0.18 * sum(n_rows) + 0.55 * n_labelled + 0.45 * len(kinds)
    height += _more_lines(map_.sheet.title for map_ in maps)
    with new_figure(width, height, format_name) as (figure, save):
        panels = list(figure.subplots(len(maps), 1, squeeze=False, height_ratios=n_rows).flat)
        for unit, lower_is_better in kinds:
            shown = [
                (axes, map_)
                for axes, map_ in zip(panels, maps, strict=True)
                if (map_.unit, map_.lower_is_better) == (unit, lower_is_better)
            ]
            numbers = (number for _, map_ in shown for row in map_.numbers for number in row)
            ends = whole_range(numbers, unit)
            for axes, map_ in shown:
                image = _draw_map(axes, map_, ends)
            bar = figure.colorbar(
                image, ax=[axes for axes, _ in shown], location="bottom", aspect=40, pad=0.02
            )
            bar.outline.set_visible(False)
            bar.set_label(_axis_label(unit, lower_is_better=lower_is_better))
            if lower_is_better:
                bar.ax.invert_xaxis()
        for axes, map_ in zip(panels, maps, strict=True):
            columns = map_.sheet.header[1:] if map_.has_columns else ()
            axes.set_xticks(
                range(len(columns)), columns, rotation=30, ha="right", rotation_mode="anchor"
            )
        return save()


def _more_lines(titles: Iterable[str]) -> float:
    """Return how many inches titles of several lines take beyond those of one."""
    return 0.12 * sum(title.count("\n") for title in titles)


def _draw_map(axes: Axes, map_: _HeatMap, ends: tuple[float, float]) -> Any:
    low, high = ends
    axes.set_title(map_.sheet.title)
    colours = "cividis_r" if map_.lower_is_better else "cividis"
    image = axes.imshow(map_.numbers, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for row, (numbers, cells) in enumerate(zip(map_.numbers, map_.sheet.rows, strict=True)):
        for column, (number, cell) in enumerate(zip(numbers, cells[1:], strict=True)):
            share = (number - low) / (high - low)
            is_dark = (1 - share if map_.lower_is_better else share) < DARK
            colour = "white" if is_dark else "black"
            axes.text(column, row, _drawn(cell), color=colour, ha="center", va="center")
    axes.set_yticks(range(len(map_.sheet.rows)), [cells[0].text for cells in map_.sheet.rows])
    axes.tick_params(axis="x", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


MOST_MARKS = 3
"""How many marks a row may have; of more systems, which would overlap, numbers are shown."""


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
    rows: dict[str, list[list[Cell]]] = {}
    for kind in kinds:
        for group in comparable_in(systems, kind.outcome):
            counts = [
                count if system.name in group.systems else None
                for system, count in zip(systems, kind.counts, strict=True)
            ]
            if any(counts):
                lost = f"{labels.get(kind.outcome, kind.outcome)} lost"
                cells = [Cell(_name(kind.code)), *(Cell(count, form=".0f") for count in counts)]
                rows.setdefault(_title(lost, group.setting, "\n"), []).append(cells)
    header = ["", *(_name(system.name) for system in systems)]
    for lines in rows.values():
        lines.sort(key=lambda cells: -sum(int(cell.value or 0) for cell in cells[1:]))
    maps = [
        _HeatMap(
            sheet(title, header, lines),
            words.units,
            lower_is_better=True,
            has_columns=place == len(rows),
        )
        for place, (title, lines) in enumerate(rows.items(), 1)
    ]
    if len(systems) <= MOST_MARKS:
        return _plot_marks(maps, format_name=format_name, width=width)
    return _plot_maps(maps, format_name=format_name, width=width)


def _plot_marks(maps: Sequence[_HeatMap], *, format_name: str, width: float) -> bytes:
    """Return the numbers of each map as marks on an axis, one a column."""
    n_rows = [len(map_.sheet.rows) for map_ in maps]
    height = 0.61 + 0.25 * len(n_rows) + 0.16 * sum(n_rows)
    height += _more_lines(map_.sheet.title for map_ in maps)
    with new_figure(width, height, format_name) as (figure, save):
        panels = figure.subplots(
            len(n_rows), 1, sharex=True, squeeze=False, height_ratios=[n + 0.5 for n in n_rows]
        ).flat
        for axes, map_ in zip(panels, maps, strict=True):
            rows = map_.sheet.rows
            axes.set_title(map_.sheet.title)
            axes.set_yticks(range(len(rows)), [cells[0].text for cells in rows])
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.grid(axis="both")
            axes.spines["left"].set_visible(False)
            for index, numbers in enumerate(zip(*map_.numbers, strict=True)):
                axes.plot(
                    numbers,
                    range(len(rows)),
                    MARKERS[index],
                    color=COLOURS[index],
                    markeredgecolor="white",
                    markeredgewidth=0.4,
                    markersize=5,
                    clip_on=False,
                    label=map_.sheet.header[1 + index],
                )
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel(_axis_label(maps[0].unit, lower_is_better=True))
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names))
        return save()
