"""Means over seeds as tables show them, and the sentences that say what their marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mwzeval.pydial.results.over_seeds import FEWEST_SEEDS
from mwzeval.scores.sheets import FEW, Cell

MISSING = "–"
NOTE_ON_MEANS = "Mean over seeds ± the reach of the 95 % t interval."
NOTE_ON_FEW = (
    f"{FEW} fewer than {FEWEST_SEEDS} seeds: no interval and no tests, differences may be luck."
)


def mean_text(value: float, low: float | None, high: float | None, digits: int = 1) -> str:
    """Return a mean with the reach of its interval; of one that was cut off, the longer side."""
    text = f"{value:.{digits}f}"
    if low is None or high is None:
        return text
    return f"{text} ±{max(high - value, value - low):.{digits}f}"


def few_mark(seeds: int) -> str:
    """Return the mark of a figure of too few seeds, empty for one of enough."""
    return FEW if seeds < FEWEST_SEEDS else ""


def mean_cell(
    value: float | None, low: float | None, high: float | None, seeds: int, digits: int = 1
) -> Cell:
    """Return the cell of a mean over so many seeds; None is one that is not there."""
    if value is None:
        return Cell(MISSING)
    return Cell(mean_text(value, low, high, digits), mark=few_mark(seeds))


def notes_on_means(seeds: Iterable[int]) -> Iterator[str]:
    """Yield what is to be known to read means over so many seeds each."""
    numbers = set(seeds)
    if any(number >= FEWEST_SEEDS for number in numbers):
        yield NOTE_ON_MEANS
    if any(number < FEWEST_SEEDS for number in numbers):
        yield NOTE_ON_FEW
