"""The scores of a submission as measures: how each follows from rows, is called and signed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7 import SCORING_REVISION
from mwzeval.dstc7.reading.tracks import Options, Track
from mwzeval.dstc7.scoring.rows import ANSWERABLE
from mwzeval.metrics.measure import Measure, ScoredTable
from mwzeval.metrics.ranking import CUTOFFS, EXAMPLES, f_score, harmonic_mean, mean, ratio
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics import ScoreFunction, Sums
from mwzeval.version import __version__

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
        return Measure(name, label, self._signature, of, PLACES, scope, cases, outcome, scale=1.0)


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
