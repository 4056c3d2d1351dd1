"""Scores of repeated trials: pass^k, items that flip, and all other scores with an item a row.

See `mwzeval.statistics.trials` for what an item and a trial are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.scores.trials import item_of_trial
from mwzeval.statistics.trials import Trials, all_succeed, some_differ

FLIPS = "flips"
"""Beginning of the names of scores that tell how many items have both outcomes."""


def of_items(
    scored: ScoredTable,
    item_of: Callable[[str], str] = item_of_trial,
    *,
    outcome: str | None = "success",
    trials: int | None = None,
) -> ScoredTable:
    """Return what was scored of trials with one row per item, so that items are the units.

    The score called `outcome` must be of 0/1 outcomes; from it come pass^k for k = 1 … `trials`
    (by default the most that at least half of the items have) and the share of items that flip.
    Items with less than k trials are not among those that pass^k is about (its `n`); None leaves
    these scores out. All other scores keep their formula; their rows are means over trials, so that
    an item counts once, and `n` counts items. Intervals resample items; where every trial of every
    item has the same outcome they are Wilson's, with items for cases. `ScoredTable.trials` keeps
    the rows of trials. Where no item has a second trial, only the names of the units change.

    Raises:
        ValueError: For scores of types (distinct words), which have no rows to average, and where
            `outcome` is not a score of 0/1 outcomes.
    """
    if any(measure.of_types for measure in scored.measures):
        raise ValueError("scores of types, such as distinct words, cannot be averaged over trials")
    of = Trials.of(scored.table, item_of)
    if len(of.names) == len(of.items):
        return replace(scored, table=replace(scored.table, units=of.items))
    table = of.by_item()
    asked = of.usual if trials is None else trials
    signed = {"trials": asked}
    measures = [
        replace(m, outcome=None, signature=m.signature.extended(signed)) for m in scored.measures
    ]
    if outcome is not None:
        measure = _measure_of_outcomes(scored, outcome)
        columns, of_outcomes = _repeated(of, measure, asked)
        table = table.beside(columns)
        measures += of_outcomes
    return ScoredTable(table, tuple(measures), trials=of)


def _measure_of_outcomes(scored: ScoredTable, name: str) -> Measure:
    for measure in scored.measures:
        if (measure.name, measure.scope) == (name, WHOLE) and measure.outcome is not None:
            return measure
    raise ValueError(f"there is no score of 0/1 outcomes that is called {name!r}")


def _repeated(of: Trials, measure: Measure, trials: int) -> tuple[Table, list[Measure]]:
    """Return the columns and scores that only trials have."""
    assert measure.outcome is not None
    outcomes = of.table.column(measure.outcome)
    cases = np.ones(len(of.items)) if measure.cases is None else of.table.column(measure.cases)
    if not (np.isin(outcomes, (0, 1)).all() and np.isin(cases, (0, 1)).all()):
        raise ValueError(f"{measure.name} is not a score of 0/1 outcomes, one a trial")
    counts = list(zip(of.sums(outcomes), of.sums(cases), strict=True))
    rows: list[tuple[str, dict[str, float]]] = []
    for item, (successes, number) in zip(of.names, counts, strict=True):
        row: dict[str, float] = {}
        for k in range(1, min(trials, int(number)) + 1):
            row |= {_pass(k): all_succeed(int(successes), int(number), k), _items(k): 1}
        if number >= trials:
            row[FLIPS] = some_differ(int(successes), int(number), trials)
        rows.append((item, row))
    each_k = range(1, trials + 1)
    columns = (*map(_pass, each_k), *map(_items, each_k), FLIPS)
    return Table.from_rows(columns, rows), list(_measures(measure, trials))


def _measures(measure: Measure, trials: int) -> Iterator[Measure]:
    def signed(name: str, choices: dict[str, object]) -> Signature:
        return replace(measure.signature, metric=name).extended({"trials": trials} | choices)

    like = replace(measure, outcome=None, scale=100, lower_is_better=False, known=None)
    for k in range(1, trials + 1):
        yield replace(
            like,
            name=_pass(k),
            label=_pass(k),
            signature=signed(_pass(k), {"pass": "unbiased"}),
            of=percentage(_pass(k), of=_items(k)),
            cases=_items(k),
        )
    # How many items flip depends on the number of trials, so it is in the name: scores that
    # cannot be compared are not.
    yield replace(
        like,
        name=f"{FLIPS}^{trials}",
        label=f"Flips in {trials} trials",
        signature=signed(FLIPS, {}),
        of=percentage(FLIPS, of=_items(trials)),
        cases=_items(trials),
    )


def _pass(k: int) -> str:
    return f"pass^{k}"


def _items(k: int) -> str:
    """Return the column that is 1 for items with at least `k` trials."""
    return f"items^{k}"
