"""Rows of a submission: what each ranking is worth against its targets.

Figures as the organisers' script of 2018 gave them, with its faults, for old tables only.

Reproduced are: Recall@100 counts a hit at any place, also behind 100; average precision takes the
place of an answer in the targets file for its place among those found, so it can exceed 1; ids
that are repeated in a ranking take up places, and repeated targets count again.

Source: IBM/dstc7-noesis, evaluations/metrics.py at aab03b8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mwzeval.dstc7.reading.submission import Ranking, Submission
from mwzeval.dstc7.reading.targets import Targets
from mwzeval.dstc7.reading.tracks import CHOICES, NONE, Options
from mwzeval.metrics.ranking import (
    Selection,
    abstention_table,
    covering,
    first_ranks,
    found_positions,
    only,
    ranking_table,
    selection_table,
)
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


ANSWERABLE = "answerable"
"""The scope of scores over the examples that have a right candidate."""

NOTHING = Ranking((), ())


def rows(
    submission: Submission, targets: Targets, options: Options, *, has_none: bool = False
) -> Table:
    """Return a row per target example, in the order of the targets, submitted or not.

    With `has_none` there are also columns about NONE, and about the answerable examples alone
    with NONE taken out of the rankings.
    """
    units = tuple(targets)
    rankings = [submission.get(example, NOTHING) for example in units]
    if options.metric == "fscore":
        correct = [tuple(dict.fromkeys(targets[example])) for example in units]
        pairs = zip(rankings, correct, strict=True)
        selections = [select(ranking, of, options.coverage) for ranking, of in pairs]
        return selection_table(units, [selection for _, selection in selections])
    ranked = [ranked_ids(ranking, options) for ranking in rankings]
    table = _ranking_rows(units, ranked, targets)
    if options.compat:
        return columns_of_2018(table, ranked, [targets[example] for example in units])
    if has_none:
        table = table.beside(_none_rows(units, ranked, targets))
    return table


def ranked_ids(ranking: Ranking, options: Options) -> Sequence[str]:
    """Return the ids in the order that ranks them, without repeats (the first one stays).

    Equal confidences keep the order of the list. As in 2018, repeats stay.
    """
    ids = ranking.ids
    if options.order == "confidence":
        confidences = [confidence or 0.0 for confidence in ranking.confidences]
        places = list(range(len(ids))) if options.compat else _first_places(ids)
        places.sort(key=lambda place: -confidences[place])
        return [ids[place] for place in places]
    if options.compat or not ranking.has_repeats:
        return ids
    return tuple(dict.fromkeys(ids))


def select(
    ranking: Ranking, correct: Sequence[str], coverage: float
) -> tuple[tuple[str, ...], Selection]:
    """Return the choices that cover so much of the probability, and what that is worth.

    Of more than ten choices the ten most probable ones are used, of repeated ones the first.
    """
    places = _first_places(ranking.ids)
    weights = [ranking.confidences[place] or 0.0 for place in places]
    best = sorted(range(len(places)), key=lambda index: -weights[index])[:CHOICES]
    chosen = covering([weights[index] for index in best], coverage)
    selected = tuple(ranking.ids[places[best[index]]] for index in chosen)
    right = len(set(selected).intersection(correct))
    return selected, Selection(len(selected), right, len(set(correct)))


def _first_places(ids: Sequence[str]) -> list[int]:
    first: dict[str, int] = {}
    for place, identity in enumerate(ids):
        first.setdefault(identity, place)
    return list(first.values())


def _ranking_rows(units: Sequence[str], ranked: Sequence[Sequence[str]], targets: Targets) -> Table:
    correct = [_unrepeated(targets[example]) for example in units]
    found = [found_positions(ids, of) for ids, of in zip(ranked, correct, strict=True)]
    return ranking_table(units, found, [len(of) for of in correct])


def _unrepeated(correct: tuple[str, ...]) -> tuple[str, ...]:
    return correct if len(correct) == 1 else tuple(dict.fromkeys(correct))


def _none_rows(units: Sequence[str], ranked: Sequence[Sequence[str]], targets: Targets) -> Table:
    is_none = np.array([targets[example] == (NONE,) for example in units], dtype=np.bool_)
    without = [
        [identity for identity in ids if identity != NONE] if NONE in ids else ids for ids in ranked
    ]
    answerable = only(_ranking_rows(units, without, targets), ~is_none, f"{ANSWERABLE}.")
    abstains = (bool(ids) and ids[0] == NONE for ids in ranked)
    return abstention_table(units, abstains, is_none.tolist()).beside(answerable)
