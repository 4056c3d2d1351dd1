"""The scores of a submission: what each ranking is worth as a row, and how scores follow from rows.

With `compat="2018"` rows are those of the organisers' script, with its faults, for old tables only:
Recall@100 counts a hit at any place, also behind 100; average precision takes the place of an
answer in the targets file for its place among those found, so it can exceed 1; ids that are
repeated in a ranking take up places, and repeated targets count again.

Source: IBM/dstc7-noesis, evaluations/metrics.py at aab03b8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7 import SCORING_REVISION
from mwzeval.dstc7.reading.submission import Ranking, Submission
from mwzeval.dstc7.reading.targets import Targets
from mwzeval.dstc7.reading.tracks import CHOICES, NONE, Options, Track
from mwzeval.dstc7.scoring.ranking import (
    CUTOFFS,
    EXAMPLES,
    Selection,
    abstention_table,
    covering,
    first_ranks,
    found_positions,
    mean,
    only,
    ranking_table,
    selection_table,
)
from mwzeval.metrics.measure import Measure, ScoredTable, f_score, harmonic_mean, ratio
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import __version__


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


PLACES = 4
FINAL_CUTOFF = 10


def scored_table(
    table: Table, track: Track, options: Options, *, checksum: str, several: bool = False
) -> ScoredTable:
    """Return rows with all their measures, in the order of a report.

    `checksum` is that of the targets; `several` says whether any example has more than one correct
    answer, so that recall in the sense of sets is worth showing.
    """
    make = _Make(_signature(table, track, options, checksum))
    if options.metric == "fscore":
        return ScoredTable(table, tuple(_fscore_measures(make, options)))
    measures = [*_ranking_measures(make, WHOLE, "", several=several)]
    answerable = f"{ANSWERABLE}.{EXAMPLES}"
    if answerable in table.columns:
        if table.column(answerable).any():
            measures += _ranking_measures(make, ANSWERABLE, f"{ANSWERABLE}.", several=several)
        measures += _none_measures(make)
    return ScoredTable(table, tuple(measures))


def _signature(table: Table, track: Track, options: Options, checksum: str) -> Signature:
    choices: dict[str, object] = {"corpus": f"{track.name}@{checksum}"}
    if track.case is not None:
        choices["case"] = track.case
    choices["n"] = len(table.units)
    if options.metric == "fscore":
        choices["coverage"] = f"{options.coverage:g}"
    else:
        choices |= {"order": options.order, "compat": options.compat or "none"}
    choices |= {"rev": SCORING_REVISION, "version": __version__}
    return Signature.of(options.metric, choices)


class _Make:
    """Makes measures of one signature."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature

    def __call__(
        self,
        name: str,
        label: str,
        of: ScoreFunction,
        *,
        scope: str = WHOLE,
        cases: str = EXAMPLES,
        outcome: str | None = None,
    ) -> Measure:
        return Measure(
            *(name, label, self._signature, of, PLACES, scope, cases, outcome), scale=1.0, unit=""
        )


def _ranking_measures(make: _Make, scope: str, prefix: str, *, several: bool) -> Iterator[Measure]:
    examples = f"{prefix}{EXAMPLES}"

    def mean_of(column: str) -> ScoreFunction:
        return partial(mean, f"{prefix}{column}", examples)

    for k in CUTOFFS:
        hit = f"hit@{k}"
        yield make(
            f"recall@{k}",
            f"Recall@{k}",
            mean_of(hit),
            scope=scope,
            cases=examples,
            outcome=f"{prefix}{hit}",
        )
    for k in CUTOFFS if several else ():
        label = f"Set recall@{k}"
        yield make(
            f"set_recall@{k}", label, mean_of(f"set_recall@{k}"), scope=scope, cases=examples
        )
    yield make("mrr", "MRR", mean_of("reciprocal_rank"), scope=scope, cases=examples)
    yield make("map", "MAP", mean_of("average_precision"), scope=scope, cases=examples)
    yield make("final", "Final score", partial(_final, prefix), scope=scope, cases=examples)


def _final(prefix: str, sums: Sums) -> NDArray[np.float64]:
    """Return (MRR + Recall@10) / 2, by which the track named its winners."""
    both = sums[f"{prefix}reciprocal_rank"] + sums[f"{prefix}hit@{FINAL_CUTOFF}"]
    return both / (2 * sums[f"{prefix}{EXAMPLES}"])


def _none_measures(make: _Make) -> Iterator[Measure]:
    right, predicted, gold = "none.right", "none.predicted", "none.gold"
    yield make("none.precision", "NONE precision", partial(ratio, right, predicted))
    yield make("none.recall", "NONE recall", partial(ratio, right, gold))
    yield make("none.f1", "NONE F1", partial(f_score, right, predicted, gold))


def _fscore_measures(make: _Make, options: Options) -> Iterator[Measure]:
    name = f"fscore@{100 * options.coverage:g}"
    label = f"F-score@{100 * options.coverage:g}"
    right, selected, correct = "correct_selected", "selected", "correct"
    yield make(name, label, partial(f_score, right, selected, correct))
    yield make("precision", "Precision", partial(ratio, right, selected))
    yield make("recall", "Recall", partial(ratio, right, correct))
    # These are not the task description's.
    yield make("macro.precision", "Macro precision (ours)", partial(mean, "precision", EXAMPLES))
    yield make("macro.recall", "Macro recall (ours)", partial(mean, "recall", EXAMPLES))
    yield make("macro.f_of_means", "F of macro means (ours)", _f_of_means)
    yield make("macro.mean_f", "Mean F per example (ours)", partial(mean, "f_score", EXAMPLES))


def _f_of_means(sums: Sums) -> NDArray[np.float64]:
    means = (sums[column] / sums[EXAMPLES] for column in ("precision", "recall"))
    return harmonic_mean(*means)
