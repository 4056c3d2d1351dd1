"""Scores of rankings and of selections: rows of examples and formulas of their sums, 0 to 1.

Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8;
Voorhees, TREC-8 (reciprocal rank).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import harmonic_mean, quotient
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums

CUTOFFS = (1, 2, 5, 10, 50, 100)
EXAMPLES = "examples"
"""The column that is 1 in every row."""

COVERAGE_TOLERANCE = 1e-9
"""Decimals such as 0.3 + 0.3 + 0.3 are meant to reach 0.9, which in floats they do not."""


def found_positions(ranking: Sequence[str], relevant: Sequence[str]) -> tuple[int, ...]:
    """Return the positions, from 1 and ascending, of the relevant ids that are in the ranking.

    Of an id that is ranked again the first position counts.
    """
    # Some ten times as fast as looking at every place, as few ids are relevant.
    return tuple(sorted(ranking.index(item) + 1 for item in relevant if item in ranking))


def first_ranks(found: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return the position of the first relevant id of each unit, 0 where there is none."""
    return np.fromiter((places[0] if places else 0 for places in found), np.int64, len(found))


def ranking_table(
    units: Sequence[str], found: Sequence[Sequence[int]], relevant: Sequence[int]
) -> Table:
    """Return a row per unit: hits and recall at each cut-off, reciprocal rank, average precision.

    `found` has the ascending positions (`found_positions`) and `relevant` the number of relevant
    ids of each unit, 1 or more. Columns, each to be divided by `examples` for a mean: `hit@k` (is
    any relevant id among the first k?), `set_recall@k` (which share of them is), `reciprocal_rank`
    (0 without a hit), `average_precision` (what is not found adds 0).
    """
    n = len(units)
    ranks = first_ranks(found)
    sizes = np.asarray(relevant, dtype=np.float64)
    lengths = np.fromiter(map(len, found), np.int64, n)
    of_unit = np.repeat(np.arange(n), lengths)
    places = np.fromiter((place for row in found for place in row), np.float64, int(lengths.sum()))
    starts = np.cumsum(lengths) - lengths
    nth = np.arange(1, len(places) + 1) - np.repeat(starts, lengths)

    def mean_of_relevant(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(of_unit, weights=numbers, minlength=n) / sizes

    columns: dict[str, NDArray[np.float64]] = {EXAMPLES: np.ones(n)}
    for k in CUTOFFS:
        columns[f"hit@{k}"] = ((ranks > 0) & (ranks <= k)).astype(np.float64)
    for k in CUTOFFS:
        columns[f"set_recall@{k}"] = mean_of_relevant((places <= k).astype(np.float64))
    columns["reciprocal_rank"] = np.divide(1.0, ranks, out=np.zeros(n), where=ranks > 0)
    columns["average_precision"] = mean_of_relevant(nth / places)
    return _table(units, columns)


def only(table: Table, chosen: NDArray[np.bool_], prefix: str) -> Table:
    """Return a table in which the rows that are not chosen are 0, its columns with a prefix.

    Beside other columns of the same units it gives scores of a part of them.
    """
    columns = tuple(f"{prefix}{column}" for column in table.columns)
    return Table(table.units, columns, table.values * chosen[:, np.newaxis])


def abstention_table(
    units: Sequence[str], abstains: Iterable[bool], should_abstain: Iterable[bool]
) -> Table:
    """Return a row per unit about the answer "none of these", as it was given and as was right.

    Columns, 0 or 1: `none.predicted`, `none.gold`, `none.right` (both).
    """
    predicted = np.fromiter(abstains, np.float64, len(units))
    gold = np.fromiter(should_abstain, np.float64, len(units))
    columns = {"none.predicted": predicted, "none.gold": gold, "none.right": predicted * gold}
    return _table(units, columns)


def covering(weights: Sequence[float], coverage: float) -> list[int]:
    """Return which entries are the most probable ones that together cover a share of all weight.

    They are the shortest prefix, once sorted by falling weight (equal ones stay in order), that
    reaches `coverage`; entries of weight 0 never belong to it. The indices come in that order,
    none when there is no weight.
    """
    try:
        total = fsum(weights)
    except OverflowError:  # so large that only their proportions can be added
        largest = max(weights)
        weights = [weight / largest for weight in weights]
        total = fsum(weights)
    if total <= 0:
        return []
    chosen: list[int] = []
    for index in sorted(range(len(weights)), key=lambda index: -weights[index]):
        if weights[index] <= 0:
            break
        chosen.append(index)
        if fsum(weights[i] / total for i in chosen) >= coverage - COVERAGE_TOLERANCE:
            break
    return chosen


class Selection(NamedTuple):
    """What was selected for a unit: how many ids, how many right ones, how many are right."""

    selected: int
    correct_selected: int
    correct: int


def selection_table(units: Sequence[str], selections: Sequence[Selection]) -> Table:
    """Return a row per unit: counts for micro-averages, and its own scores for macro-averages."""
    counts = np.array(selections, dtype=np.float64).reshape(-1, len(Selection._fields)).T
    selected, right, correct = counts
    columns = {EXAMPLES: np.ones(len(units)), **dict(zip(Selection._fields, counts, strict=True))}
    precision, recall = quotient(right, selected), quotient(right, correct)
    scores = {"precision": precision, "recall": recall, "f_score": harmonic_mean(precision, recall)}
    return _table(units, columns | scores)


def mean(column: str, of: str, sums: Sums) -> NDArray[np.float64]:
    """Return the sum of a column divided by that of another; NaN where that is 0."""
    return sums[column] / sums[of]


def _table(units: Sequence[str], columns: dict[str, NDArray[np.float64]]) -> Table:
    return Table(tuple(units), tuple(columns), np.column_stack(list(columns.values())))
