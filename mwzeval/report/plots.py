"""Figures for papers: scores with intervals, parts as a heat map, reasons; PNG, SVG or PDF.

Made for one column of a two-column paper: text of 7 points that stays text in SVG and PDF, colours
of Okabe and Ito and shapes besides, so that neither colour vision nor a printer matters. The bytes
are the same for the same systems and version of matplotlib, whatever style is configured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.libraries import required
from mwzeval.report.page.model import Comparable, PageSystem, comparable_in, labels_of
from mwzeval.report.page.reasons import kinds_of
from mwzeval.scores.explanation import Words
from mwzeval.scores.score import WHOLE, Score

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
SHOWN_NAME = 24
"""How many characters of a system's name are drawn."""

INCHES_A_LETTER = 0.055
ROOMY = 2.3
"""Inches that panels need, beside the names, for a third label on their axes."""

MOST_MARKS = 3
"""How many marks a row may have; more lie on top of each other, and a table of numbers is read."""

DARK = 0.48
"""Up to which part of its range the colour map is dark, so that numbers on it are white."""

STYLE: Mapping[Any, Any] = {
    "font.family": "DejaVu Sans",
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

    `width` and `height` are inches; `format_name` is one of `FORMATS`. Raises `DependencyError`
    where matplotlib is missing.
    """
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=(width, height), layout="constrained")

        def save() -> bytes:
            content = BytesIO()
            figure.savefig(content, format=format_name, metadata=dict(METADATA[format_name]))
            return content.getvalue()

        yield figure, save


def plot_scores(
    systems: Sequence[PageSystem], names: Sequence[str], *, format_name: str, width: float = WIDTH
) -> bytes:
    """Return a figure of scores over everything: a panel each, a row per system.

    Each group that can be compared in a score has a panel. Points have their intervals, if any, as
    whiskers. `names` are names of scores, `format_name` is one of `FORMATS`, `width` is in inches.
    Raises `UsageError` for a name that no system has, `DependencyError` without matplotlib.
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
    longest = max(len(_shown(system.name)) for system in systems)
    ticks = 3 if width - INCHES_A_LETTER * longest > ROOMY else 2
    n_rows = math.ceil(len(shown) / n_columns)
    line = 0.11 if any(group.setting for _, group in shown) else 0.0
    height = n_rows * (0.5 + line + 0.16 * len(systems))
    with new_figure(width, height, format_name) as (figure, save):
        grid = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        panels = list(grid.flat)
        for axes, (name, group) in zip(panels, shown, strict=False):
            scores = [
                _score_of(system, name, WHOLE) if at in group.places else None
                for at, system in enumerate(systems)
            ]
            _draw_score(axes, scores, group.setting)
            axes.locator_params(axis="x", nbins=ticks, steps=[1, 2, 5, 10], min_n_ticks=2)
        for axes in panels[len(shown) :]:
            axes.remove()
        panels[0].set_yticks(range(len(systems)), [_shown(system.name) for system in systems])
        panels[0].set_ylim(len(systems) - 0.5, -0.5)
        return save()


def _draw_score(axes: Axes, scores: Sequence[Score | None], setting: str) -> None:
    label = next(score.label for score in scores if score is not None)
    axes.set_title(_titled(label, setting, "\n"))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    for row, score in enumerate(scores):
        if score is None or not math.isfinite(score.value):
            continue
        if score.interval is not None:
            ends = [score.interval.low, score.interval.high]
            axes.plot(ends, [row, row], color=COLOURS[4], linewidth=2, solid_capstyle="butt")
        axes.plot(score.value, row, "o", color=COLOURS[0], markersize=2.4)
    axes.margins(x=0.08)
    values = axes.twinx()
    values.set_ylim(len(scores) - 0.5, -0.5)
    values.set_yticks(range(len(scores)), [_number(score) for score in scores])
    values.spines["left"].set_visible(False)


def plot_parts(
    systems: Sequence[PageSystem], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return heat maps of the scores that there are for parts: systems × parts.

    Scores that are about other parts than the others (turns, not domains) have columns of their
    own. All maps have one range of colours. `format_name` is one of `FORMATS`, `words` are how the
    benchmark calls its parts, `width` is in inches. Raises `UsageError` when there is no such
    score, `DependencyError` where matplotlib is missing.
    """
    scores = [score for system in systems for score in system.scores]
    groups = _same_parts(scores)
    if not groups:
        raise UsageError(f"no score was computed by {words.scope}: there is nothing to draw")
    grids = [
        _Grid(
            [_with_counts(scope, scores) for scope in scopes],
            [
                _Map(
                    _titled(next(s.label for s in scores if s.name == name), group.setting),
                    [_shown(systems[at].name) for at in group.places],
                    [
                        [_cell(_score_of(systems[at], name, of)) for of in scopes]
                        for at in group.places
                    ],
                )
                for name in names
                for group in comparable_in(systems, name)
            ],
        )
        for names, scopes in groups
    ]
    return _plot_maps(grids, format_name=format_name, width=width)


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


def plot_reasons(
    systems: Sequence[PageSystem], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return a figure of how many units each kind of reason lost: a row each.

    Up to three systems have marks on an axis, more a column each of a heat map. `format_name` is
    one of `FORMATS`, `words` are how the benchmark calls its units, `width` is in inches. Raises
    `UsageError` when nothing was lost, `DependencyError` where matplotlib is missing.
    """
    kinds = [kind for kind in kinds_of(systems) if kind.parent is None]
    if not kinds:
        raise UsageError("nothing was lost for a reason: there is nothing to draw")
    labels = labels_of(systems)
    of_outcome: dict[str, list[_Counted]] = {}
    everyone = [Comparable(tuple(range(len(systems))))]
    for kind in kinds:
        for group in comparable_in(systems, kind.outcome) or everyone:
            counts = [c if at in group.places else None for at, c in enumerate(kind.counts)]
            if any(counts):
                title = _titled(labels.get(kind.outcome, kind.outcome), group.setting)
                of_outcome.setdefault(title, []).append(_Counted(kind.code, counts))
    if len(systems) <= MOST_MARKS:
        return _plot_marks(systems, of_outcome, words, format_name=format_name, width=width)
    maps = [
        _Map(
            f"{label} lost ({words.units})",
            [_shown(kind.code) for kind in shown],
            [[_count_cell(count) for count in kind.counts] for kind in shown],
        )
        for label, shown in of_outcome.items()
    ]
    grid = _Grid([_shown(system.name) for system in systems], maps)
    return _plot_maps([grid], format_name=format_name, width=width)


def _plot_marks(
    systems: Sequence[PageSystem],
    of_outcome: Mapping[str, Sequence[_Counted]],
    words: Words,
    *,
    format_name: str,
    width: float,
) -> bytes:
    n_rows = [len(shown) for shown in of_outcome.values()]
    height = 0.61 + 0.25 * len(n_rows) + 0.16 * sum(n_rows)
    with new_figure(width, height, format_name) as (figure, save):
        panels = figure.subplots(
            len(n_rows), 1, sharex=True, squeeze=False, height_ratios=[n + 0.5 for n in n_rows]
        ).flat
        for axes, (label, shown) in zip(panels, of_outcome.items(), strict=True):
            axes.set_title(f"{label} lost")
            axes.set_yticks(range(len(shown)), [_shown(kind.code) for kind in shown])
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
                    label=_shown(system.name),
                )
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel(words.units)
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(systems))
        return save()


@dataclass(frozen=True, slots=True)
class _Counted:
    """A reason and how many units it lost of each system; None of those in another group."""

    code: str
    counts: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class _Cell:
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class _Map:
    """One heat map: its title, names of its rows, and rows of cells."""

    title: str
    rows: Sequence[str]
    cells: Sequence[Sequence[_Cell]]


@dataclass(frozen=True, slots=True)
class _Grid:
    """Heat maps of the same columns."""

    columns: Sequence[str]
    maps: Sequence[_Map]


def _plot_maps(grids: Sequence[_Grid], *, format_name: str, width: float) -> bytes:
    """Return heat maps one below the other, all with one range of colours."""
    maps = [map_ for grid in grids for map_ in grid.maps]
    columns = [grid.columns for grid in grids for _ in grid.maps]
    last = [map_ is grid.maps[-1] for grid in grids for map_ in grid.maps]
    values = [cell.value for map_ in maps for row in map_.cells for cell in row]
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low = min(finite)
    high = max(*finite, low + 1)
    n_rows = [len(map_.rows) for map_ in maps]
    height = 0.25 * len(maps) + 0.18 * sum(n_rows) + 0.55 * len(grids)
    with new_figure(width, height, format_name) as (figure, save):
        panels = figure.subplots(len(maps), 1, squeeze=False, height_ratios=n_rows)
        for axes, map_, names, is_last in zip(panels.flat, maps, columns, last, strict=True):
            axes.set_title(map_.title)
            shades = [[cell.value for cell in row] for row in map_.cells]
            axes.imshow(shades, cmap="cividis", vmin=low, vmax=high, aspect="auto")
            for row, cells in enumerate(map_.cells):
                for column, cell in enumerate(cells):
                    is_dark = (cell.value - low) / (high - low) < DARK
                    colour = "white" if is_dark else "black"
                    axes.text(column, row, cell.text, color=colour, ha="center", va="center")
            axes.set_yticks(range(len(map_.rows)), map_.rows)
            axes.tick_params(axis="x", length=0)
            for spine in axes.spines.values():
                spine.set_visible(False)
            shown = list(names) if is_last else []
            axes.set_xticks(
                range(len(shown)), shown, rotation=30, ha="right", rotation_mode="anchor"
            )
        return save()


def _score_of(system: PageSystem, name: str, scope: str) -> Score | None:
    return next((s for s in system.scores if (s.name, s.scope) == (name, scope)), None)


def _titled(label: str, setting: str, between: str = ", ") -> str:
    return f"{label}{between}{setting}" if setting else label


def _count_cell(count: int | None) -> _Cell:
    return _Cell(math.nan, "–") if count is None else _Cell(float(count), str(count))


def _cell(score: Score | None) -> _Cell:
    return _Cell(math.nan if score is None else score.value, _number(score))


def _number(score: Score | None) -> str:
    if score is None or not math.isfinite(score.value):
        return "–"
    return f"{score.value:.{score.places}f}".replace("-", "−")


def _shown(name: str) -> str:
    return shorten(name, SHOWN_NAME)
