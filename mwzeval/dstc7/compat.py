"""Figures as the organisers' script of 2018 gave them, with its faults, for old tables only.

Reproduced are: Recall@100 counts a hit at any place, also behind 100; average precision takes the
place of an answer in the targets file for its place among those found, so it can exceed 1; ids
that are repeated in a ranking take up places, and repeated targets count again.

Source: IBM/dstc7-noesis, evaluations/metrics.py at aab03b8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mwzeval.metrics.ranking import first_ranks, found_positions
from mwzeval.scores.table import Table


def columns_of_2018(
    table: Table, ranked: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> Table:
    """Return rows of rankings with the columns that the old script computed otherwise.

    `ranked` has the rankings with their repeats, `targets` the correct ids in the order of the
    file, with theirs.
    """
    found = [
        found_positions(ids, tuple(dict.fromkeys(correct)))
        for ids, correct in zip(ranked, targets, strict=True)
    ]
    values = table.values.copy()
    hits = [table.columns.index(column) for column in table.columns if column == "hit@100"]
    values[:, hits] = (first_ranks(found) > 0)[:, np.newaxis]
    values[:, table.columns.index("average_precision")] = [
        _precision_of_2018(ids, correct) for ids, correct in zip(ranked, targets, strict=True)
    ]
    return Table(table.units, table.columns, values)


def _precision_of_2018(ids: Sequence[str], correct: Sequence[str]) -> float:
    place = {identity: place for place, identity in reversed(list(enumerate(ids, start=1)))}
    total = sum(
        nth / place[identity] for nth, identity in enumerate(correct, start=1) if identity in place
    )
    return total / len(correct)
