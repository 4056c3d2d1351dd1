"""The style of all figures: PNG, SVG or PDF, for one column of a paper.

Made for one column of a two-column paper: text of 7 points that stays text in SVG and PDF, colours
of Okabe and Ito and shapes besides, so that neither colour vision nor a printer matters. The bytes
are the same for the same systems and version of matplotlib, whatever style is configured; those of
texts that need another font depend on the fonts that are installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mwzeval.errors import UsageError, shorten
from mwzeval.libraries import required
from mwzeval.report.figures.fonts import save_legibly
from mwzeval.scores.score import PERCENT, Score

if TYPE_CHECKING:
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

LESS = "less is better"

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

    `width` and `height` are inches; `format_name` is one of `FORMATS`. Warns with `MwzevalWarning`
    of characters that no installed font has. Raises `DependencyError` where matplotlib is missing.
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

            def write() -> None:
                content.seek(0)
                content.truncate()
                figure.savefig(content, format=format_name, metadata=dict(METADATA[format_name]))

            save_legibly(figure, write)
            return content.getvalue()

        yield figure, save


def whole_range(values: Iterable[float], unit: str) -> tuple[float, float]:
    """Return where an axis begins and ends: at 0, or below what is negative, and at 100 percent.

    Values that are not finite are left out; without any other it ends at 1.
    """
    finite = [value for value in values if math.isfinite(value)]
    high = 100.0 if unit == PERCENT else max(finite, default=0.0)
    return min([0.0, *finite]), max(high, *finite) if high > 0 else 1.0


def in_unit(unit: str, *, lower_is_better: bool) -> str:
    """Return what stands at an axis or a colour bar: the unit, and that less is better."""
    return ", ".join([*([unit] if unit else []), *([LESS] if lower_is_better else [])])


def shown_name(name: str) -> str:
    """Return the name of a system, or of what else names a row, as it is drawn."""
    return shorten(name, SHOWN_NAME)


def shown_number(score: Score | None) -> str:
    """Return a score as it is drawn; a dash where there is none."""
    if score is None or not math.isfinite(score.value):
        return "–"
    return f"{score.value:.{score.places}f}".replace("-", "−")


def titled(label: str, setting: str, between: str = ", ") -> str:
    """Return a title with the setting that tells its group from others, if there are others."""
    return f"{label}{between}{setting}" if setting else label


def more_lines(titles: Iterable[str]) -> float:
    """Return how many inches titles of several lines take beyond those of one."""
    return 0.12 * sum(title.count("\n") for title in titles)


LAYER = 0.2
"""How opaque bands are, so that those below others can be seen."""


def key(**line: Any) -> Any:
    """Return what stands for a line or a mark in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], markersize=3.0, **line)


def band_key() -> Any:
    """Return what stands for bands of any colour in a legend."""
    from matplotlib.patches import Patch

    return Patch(facecolor=COLOURS[-1], alpha=LAYER)
