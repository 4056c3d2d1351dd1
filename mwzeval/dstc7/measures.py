"""The scores of a submission: a row for each example, and scores (0 to 1) of column sums.

With `compat="2018"`, rows contain the values of the organizers' script, including its errors, for
comparison with old tables. Recall@100 counts a hit at any rank, even after 100. Average precision
is computed from the position of a correct answer in the targets file instead of the answer's
position among the answers found, so the value can exceed 1. Repeated ids in a ranking are not
removed, and repeated target ids are counted again.

Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8;
Voorhees, TREC-8 (reciprocal rank); IBM/dstc7-noesis, evaluations/metrics.py at aab03b8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import fsum

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7 import SCORING_REVISION
from mwzeval.dstc7.dialogues import Targets
from mwzeval.dstc7.submission import Ranking, Submission
from mwzeval.dstc7.tracks import CHOICES, NONE, Options, Track
from mwzeval.metrics.measure import (
    Measure,
    ScoredTable,
    f_score,
    harmonic_mean,
    mean,
    quotient,
    ratio,
)
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums
from mwzeval.version import __version__

CUTOFFS = (1, 2, 5, 10, 50, 100)
FINAL_CUTOFF = 10
PLACES = 4
EXAMPLES = "examples"
"""The column that counts examples: 1 in every row."""

ANSWERABLE = "answerable"
"""The scope of scores over the examples that have a correct candidate."""

COVERAGE_TOLERANCE = 1e-9
"""The tolerance of sums of probabilities: 0.3 + 0.3 + 0.3 is smaller than 0.9 in floats."""

NOTHING = Ranking((), ())

Columns = dict[str, NDArray[np.float64]]


def rows(
    submission: Submission, targets: Targets, options: Options, *, has_none: bool = False
) -> Table:
    """Return a row for each example of the targets, whether submitted or not, in target order.

    With `has_none`, further columns contain the results for the answer NONE, and for answerable
    examples without NONE in their rankings.
    """
    rankings = [submission.get(example, NOTHING) for example in targets]
    correct = [ids if len(ids) == 1 else tuple(dict.fromkeys(ids)) for ids in targets.values()]
    if options.metric == "fscore":
        selections = [select(ranking, options.coverage) for ranking in rankings]
        columns = selection_columns(selections, correct)
    else:
        ranked = [ranked_ids(ranking, options) for ranking in rankings]
        columns = ranking_columns(ranked, correct)
        if options.compat:
            is_found = (columns["reciprocal_rank"] > 0).astype(np.float64)
            old = map(_precision_of_2018, ranked, targets.values())
            columns |= {"hit@100": is_found, "average_precision": np.array(list(old))}
        elif has_none:
            columns |= _none_columns(ranked, correct)
    return Table(tuple(targets), tuple(columns), np.column_stack(list(columns.values())))


def ranked_ids(ranking: Ranking, options: Options) -> Sequence[str]:
    """Return the ids in ranking order; of repeated ids, only the first occurrence remains.

    Ids with equal confidence are in list order. With `compat="2018"`, repeats remain.
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


def _first_places(ids: Sequence[str]) -> list[int]:
    first: dict[str, int] = {}
    for place, identity in enumerate(ids):
        first.setdefault(identity, place)
    return list(first.values())


def found_positions(ranking: Sequence[str], relevant: Sequence[str]) -> tuple[int, ...]:
    """Return the sorted positions (from 1) of the relevant ids in the ranking.

    If the ranking contains an id several times, only the first position counts.
    """
    # This is about ten times as fast as checking every position, because few ids are relevant.
    return tuple(sorted(ranking.index(item) + 1 for item in relevant if item in ranking))


def ranking_columns(
    ranked: Sequence[Sequence[str]], relevant: Sequence[Sequence[str]], prefix: str = ""
) -> Columns:
    """Return the columns of rankings; `relevant` has the correct ids (at least one) per ranking.

    The sums of the columns divided by `examples` are means. The columns are `hit@k` (1 if a
    relevant id is among the first k), `set_recall@k` (the share of relevant ids among the first k),
    `reciprocal_rank` (0 without a hit) and `average_precision` (an id that is not found adds 0).
    """
    n = len(ranked)
    found = list(map(found_positions, ranked, relevant))
    ranks = np.fromiter((places[0] if places else 0 for places in found), np.int64, n)
    sizes = np.fromiter(map(len, relevant), np.float64, n)
    lengths = np.fromiter(map(len, found), np.int64, n)
    example = np.repeat(np.arange(n), lengths)
    places = np.fromiter((place for row in found for place in row), np.float64, len(example))
    nth = np.arange(1, len(places) + 1) - np.repeat(np.cumsum(lengths) - lengths, lengths)

    def mean_of_relevant(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(example, weights=numbers, minlength=n) / sizes

    columns: Columns = {EXAMPLES: np.ones(n)}
    for k in CUTOFFS:
        columns[f"hit@{k}"] = ((ranks > 0) & (ranks <= k)).astype(np.float64)
    for k in CUTOFFS:
        columns[f"set_recall@{k}"] = mean_of_relevant((places <= k).astype(np.float64))
    columns["reciprocal_rank"] = np.divide(1.0, ranks, out=np.zeros(n), where=ranks > 0)
    columns["average_precision"] = mean_of_relevant(nth / places)
    return {prefix + name: column for name, column in columns.items()}


def _precision_of_2018(ids: Sequence[str], correct: Sequence[str]) -> float:
    place = {identity: place for place, identity in reversed(list(enumerate(ids, start=1)))}
    total = sum(
        nth / place[identity] for nth, identity in enumerate(correct, start=1) if identity in place
    )
    return total / len(correct)


def _none_columns(ranked: Sequence[Sequence[str]], correct: Sequence[Sequence[str]]) -> Columns:
    """Return columns about the answer NONE, and rankings of answerable examples without NONE."""
    predicted = np.array([bool(ids) and ids[0] == NONE for ids in ranked], dtype=np.float64)
    gold = np.array([ids == (NONE,) for ids in correct], dtype=np.float64)
    without = [[i for i in ids if i != NONE] if NONE in ids else ids for ids in ranked]
    answerable = ranking_columns(without, correct, f"{ANSWERABLE}.")
    return {
        "none.predicted": predicted,
        "none.gold": gold,
        "none.right": predicted * gold,
        **{name: column * (1 - gold) for name, column in answerable.items()},
    }


def select(ranking: Ranking, coverage: float) -> tuple[str, ...]:
    """Return the most probable choices, which together cover the share `coverage`.

    Only the ten most probable choices are used; if an id is repeated, its first occurrence counts.
    """
    weights = [confidence or 0.0 for confidence in ranking.confidences]
    best = sorted(_first_places(ranking.ids), key=lambda place: -weights[place])[:CHOICES]
    chosen = covering([weights[place] for place in best], coverage)
    return tuple(ranking.ids[best[index]] for index in chosen)


def covering(weights: Sequence[float], coverage: float) -> list[int]:
    """Return the indices of the most probable entries that together cover a share of all weight.

    The selected entries are the first entries, sorted by decreasing weight, whose sum reaches
    `coverage`. Entries of equal weight stay in order. Entries with weight 0 are never selected.
    """
    try:
        total = fsum(weights)
    except OverflowError:  # weights so large that their sum overflows
        largest = max(weights)
        weights = [weight / largest for weight in weights]
        total = fsum(weights)
    chosen: list[int] = []
    for index in sorted(range(len(weights)), key=lambda index: -weights[index]):
        if total <= 0 or weights[index] <= 0:
            break
        chosen.append(index)
        if fsum(weights[i] / total for i in chosen) >= coverage - COVERAGE_TOLERANCE:
            break
    return chosen


def selection_columns(
    selections: Sequence[Sequence[str]], relevant: Sequence[Sequence[str]]
) -> Columns:
    """Return the columns of selections; `relevant` has the correct ids (distinct) per selection.

    The columns are counts for micro-averages, and the scores of each example for macro-averages.
    """
    counts = [
        (len(selected), len(set(selected).intersection(correct)), len(correct))
        for selected, correct in zip(selections, relevant, strict=True)
    ]
    selected, right, correct = np.array(counts, dtype=np.float64).reshape(-1, 3).T
    precision, recall = quotient(right, selected), quotient(right, correct)
    return {
        EXAMPLES: np.ones(len(counts)),
        "selected": selected,
        "correct_selected": right,
        "correct": correct,
        "precision": precision,
        "recall": recall,
        "f_score": harmonic_mean(precision, recall),
    }


def scored_table(
    table: Table, track: Track, options: Options, *, checksum: str, several: bool = False
) -> ScoredTable:
    """Return the rows with all measures, in the order of a report.

    `checksum` is the checksum of the targets. `several` is true if an example has more than one
    correct answer; then set recall is also shown.
    """
    choices: dict[str, object] = {"corpus": f"{track.name}@{checksum}"}
    if track.case is not None:
        choices["case"] = track.case
    choices["n"] = len(table.units)
    if options.metric == "fscore":
        choices["coverage"] = f"{options.coverage:g}"
    else:
        choices |= {"order": options.order, "compat": options.compat or "none"}
    choices |= {"rev": SCORING_REVISION, "version": __version__}
    make = partial(
        Measure,
        signature=Signature.of(options.metric, choices),
        places=PLACES,
        cases=EXAMPLES,
        scale=1.0,
        unit="",
    )
    measures: list[Measure] = []
    if options.metric == "fscore":
        measures += _fscore_measures(make, options.coverage)
    else:
        measures += _ranking_measures(make, "", several=several)
        if f"{ANSWERABLE}.{EXAMPLES}" in table.columns:
            if table.column(f"{ANSWERABLE}.{EXAMPLES}").any():
                of_scope = partial(make, scope=ANSWERABLE)
                measures += _ranking_measures(of_scope, f"{ANSWERABLE}.", several=several)
            right, predicted, gold = "none.right", "none.predicted", "none.gold"
            f1 = partial(f_score, right, predicted, gold)
            measures += [
                make("none.precision", "NONE precision", of=partial(ratio, right, predicted)),
                make("none.recall", "NONE recall", of=partial(ratio, right, gold)),
                make("none.f1", "NONE F1", of=f1),
            ]
    return ScoredTable(table, tuple(measures))


def _ranking_measures(make: partial[Measure], prefix: str, *, several: bool) -> Iterator[Measure]:
    examples = f"{prefix}{EXAMPLES}"

    def score(name: str, label: str, column: str, outcome: str | None = None) -> Measure:
        function = mean(f"{prefix}{column}", of=examples)
        return make(name, label, of=function, cases=examples, outcome=outcome)

    for k in CUTOFFS:
        yield score(f"recall@{k}", f"Recall@{k}", f"hit@{k}", outcome=f"{prefix}hit@{k}")
    for k in CUTOFFS if several else ():
        yield score(f"set_recall@{k}", f"Set recall@{k}", f"set_recall@{k}")
    yield score("mrr", "MRR", "reciprocal_rank")
    yield score("map", "MAP", "average_precision")
    yield make("final", "Final score", of=partial(_final, prefix), cases=examples)


def _final(prefix: str, sums: Sums) -> NDArray[np.float64]:
    """Return (MRR + Recall@10) / 2, the score by which the track chose its winners."""
    both = sums[f"{prefix}reciprocal_rank"] + sums[f"{prefix}hit@{FINAL_CUTOFF}"]
    return both / (2 * sums[f"{prefix}{EXAMPLES}"])


def _fscore_measures(make: partial[Measure], coverage: float) -> Iterator[Measure]:
    percent = f"{100 * coverage:g}"
    right, selected, correct = "correct_selected", "selected", "correct"
    f1 = partial(f_score, right, selected, correct)
    yield make(f"fscore@{percent}", f"F-score@{percent}", of=f1)
    yield make("precision", "Precision", of=partial(ratio, right, selected))
    yield make("recall", "Recall", of=partial(ratio, right, correct))
    # The task description does not define these scores.
    for name, label, function in (
        ("macro.precision", "Macro precision (ours)", mean("precision", of=EXAMPLES)),
        ("macro.recall", "Macro recall (ours)", mean("recall", of=EXAMPLES)),
        ("macro.f_of_means", "F of macro means (ours)", _f_of_means),
        ("macro.mean_f", "Mean F per example (ours)", mean("f_score", of=EXAMPLES)),
    ):
        yield make(name, label, of=function)


def _f_of_means(sums: Sums) -> NDArray[np.float64]:
    means = (sums[column] / sums[EXAMPLES] for column in ("precision", "recall"))
    return harmonic_mean(*means)
