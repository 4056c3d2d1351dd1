"""Figures for papers: scores with intervals, parts as a heat map, reasons; PNG, SVG or PDF.

Made for one column of a two-column paper: text of 7 points that stays text in SVG and PDF, colours
of Okabe and Ito and shapes besides, so that neither colour vision nor a printer matters. The bytes
are the same for the same systems and version of matplotlib, whatever style is configured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mwzeval.errors import DependencyError, UsageError, did_you_mean, shorten
from mwzeval.report.page_model import PageSystem, Words
from mwzeval.report.page_reasons import kinds_of
from mwzeval.score import WHOLE, Score

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

STYLE: Mapping[str, Any] = {
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


def require_matplotlib() -> None:
    """Raise `DependencyError` where matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise DependencyError(
            f"drawing needs matplotlib ({error}): pip install 'mwzeval[plot]'"
        ) from None


def plot_scores(
    systems: Sequence[PageSystem], names: Sequence[str], *, format_name: str, width: float = WIDTH
) -> bytes:
    """Return a figure of scores over everything: a panel each, a row per system.

    Points have their intervals as whiskers, where there are intervals. Raises `UsageError` for a
    name that no system has a score of.
    """
    known = dict.fromkeys(s.name for system in systems for s in system.scores if s.scope == WHOLE)
    for name in names:
        if name not in known:
            raise UsageError(
                f'there is no score "{shorten(name)}"{did_you_mean(name, known)} '
                f"(known: {', '.join(known)})"
            )
    n_columns = min(2, len(names))
    n_rows = math.ceil(len(names) / n_columns)
    with _figure(width, n_rows * (0.5 + 0.16 * len(systems)), format_name) as (figure, save):
        grid = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False)
        panels = list(grid.flat)
        for axes, name in zip(panels, names, strict=False):
            _draw_score(axes, [_score_of(system, name, WHOLE) for system in systems])
        for axes in panels[len(names) :]:
            axes.remove()
        panels[0].set_yticks(range(len(systems)), [_shown(system.name) for system in systems])
        panels[0].set_ylim(len(systems) - 0.5, -0.5)
        return save()


def _draw_score(axes: Axes, scores: Sequence[Score | None]) -> None:
    axes.set_title(next(score.label for score in scores if score is not None))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    for row, score in enumerate(scores):
        if score is None or not math.isfinite(score.value):
            continue
        if score.interval is not None:
            ends = [score.interval.low, score.interval.high]
            axes.plot(ends, [row, row], color=COLOURS[0], linewidth=1, solid_capstyle="butt")
        axes.plot(score.value, row, "o", color=COLOURS[0], markersize=3)
    axes.margins(x=0.08)
    axes.locator_params(axis="x", nbins=4)
    values = axes.twinx()
    values.set_ylim(len(scores) - 0.5, -0.5)
    values.set_yticks(range(len(scores)), [_number(score) for score in scores])
    values.spines["left"].set_visible(False)


def plot_parts(
    systems: Sequence[PageSystem], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return heat maps of the scores that there are for parts: systems × parts.

    All maps have one range of colours. Raises `UsageError` when there is no such score.
    """
    scores = [score for system in systems for score in system.scores]
    names = dict.fromkeys(score.name for score in scores if score.scope != WHOLE)
    if not names:
        raise UsageError(f"no score was computed by {words.scope}: there is nothing to draw")
    scopes = list(dict.fromkeys(score.scope for score in scores if score.name in names))
    values = [score.value for score in scores if score.name in names]
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    height = len(names) * (0.25 + 0.18 * len(systems)) + 0.55
    with _figure(width, height, format_name) as (figure, save):
        panels = list(figure.subplots(len(names), 1, sharex=True, squeeze=False).flat)
        for axes, name in zip(panels, names, strict=True):
            rows = [[_score_of(system, name, scope) for scope in scopes] for system in systems]
            _draw_map(axes, rows, (min(finite), max(finite)))
            axes.set_yticks(range(len(systems)), [_shown(system.name) for system in systems])
        panels[-1].set_xticks(
            range(len(scopes)),
            [_with_counts(scope, scores) for scope in scopes],
            rotation=30,
            ha="right",
            rotation_mode="anchor",
        )
        return save()


def _draw_map(
    axes: Axes, rows: Sequence[Sequence[Score | None]], ends: tuple[float, float]
) -> None:
    low, high = ends
    axes.set_title(next(score.label for row in rows for score in row if score is not None))
    image = axes.imshow(
        [[math.nan if score is None else score.value for score in row] for row in rows],
        cmap="cividis",
        vmin=low,
        vmax=high if high > low else low + 1,
        aspect="auto",
    )
    for row, scores in enumerate(rows):
        for column, score in enumerate(scores):
            value = math.nan if score is None else score.value
            is_dark = math.isfinite(value) and image.norm(value) < 0.5
            axes.text(
                column,
                row,
                _number(score),
                color="white" if is_dark else "black",
                ha="center",
                va="center",
            )
    axes.tick_params(axis="x", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _with_counts(scope: str, scores: Sequence[Score]) -> str:
    """Return a part with how many units its scores are about."""
    counts = sorted({score.n for score in scores if score.scope == scope})
    return f"{scope} ({'–'.join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))})"


def plot_reasons(
    systems: Sequence[PageSystem], *, format_name: str, words: Words, width: float = WIDTH
) -> bytes:
    """Return a figure of how many units each kind of reason lost: a row each, a mark per system.

    Raises `UsageError` when nothing was lost.
    """
    kinds = [kind for kind in kinds_of(systems) if kind.parent is None]
    if not kinds:
        raise UsageError("nothing was lost for a reason: there is nothing to draw")
    outcomes: dict[str, int] = {}
    for kind in kinds:
        outcomes[kind.outcome] = outcomes.get(kind.outcome, 0) + 1
    labels = {score.name: score.label for system in systems for score in system.scores}
    n_columns = min(3, len(systems))
    legend = 0.16 * math.ceil(len(systems) / n_columns)
    height = 0.45 + legend + 0.25 * len(outcomes) + 0.16 * len(kinds)
    with _figure(width, height, format_name) as (figure, save):
        panels = list(
            figure.subplots(
                len(outcomes),
                1,
                sharex=True,
                squeeze=False,
                height_ratios=[rows + 0.5 for rows in outcomes.values()],
            ).flat
        )
        for axes, outcome in zip(panels, outcomes, strict=True):
            shown = [kind for kind in kinds if kind.outcome == outcome]
            axes.set_title(labels.get(outcome, outcome))
            axes.set_yticks(range(len(shown)), [_shown(kind.code) for kind in shown])
            axes.set_ylim(len(shown) - 0.5, -0.5)
            axes.grid(axis="both")
            axes.spines["left"].set_visible(False)
            for index, system in enumerate(systems):
                axes.plot(
                    [kind.counts[index] for kind in shown],
                    range(len(shown)),
                    MARKERS[(index + index // len(MARKERS)) % len(MARKERS)],
                    color=COLOURS[index % len(COLOURS)],
                    markeredgecolor="white",
                    markeredgewidth=0.4,
                    markersize=5,
                    clip_on=False,
                    label=_shown(system.name),
                )
        panels[-1].set_xlim(left=0)
        panels[-1].set_xlabel(words.units)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=n_columns)
        return save()


@contextmanager
def _figure(
    width: float, height: float, format_name: str
) -> Iterator[tuple[Figure, Callable[[], bytes]]]:
    """Give an empty figure in the house's style, and what makes bytes of it."""
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


def _score_of(system: PageSystem, name: str, scope: str) -> Score | None:
    return next((s for s in system.scores if (s.name, s.scope) == (name, scope)), None)


def _number(score: Score | None) -> str:
    if score is None or not math.isfinite(score.value):
        return "–"
    return f"{score.value:.{score.places}f}".replace("-", "−")


def _shown(name: str) -> str:
    return shorten(name, SHOWN_NAME)
