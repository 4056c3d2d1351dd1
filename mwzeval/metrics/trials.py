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
from mwzeval.statistics.trials import Trials, all_succeed, item_of_trial, some_differ

FLIPS = "flips"
"""Beginning of the names of scores that tell how many items have both outcomes."""


def of_items(
    scored: ScoredTable,
    item_of: Callable[[str], str] = item_of_trial,
    *,
    outcome: str | None = "success",
) -> ScoredTable:
    """Return what was scored of trials with one row per item, so that items are the units.

    From the score called `outcome`, of 0/1 outcomes, come pass^k for k = 1 … `trials` (the most
    that at least half of the items have) and the share of items that flip. Items with less than k
    trials are not among those that pass^k is about (its `n`). All other scores keep their formula;
    their rows are means over trials, so that an item counts once, and `n` counts items. Intervals
    resample items; where every trial of every item has the same outcome they are Wilson's, with
    items for cases. `ScoredTable.trials` keeps the rows of trials. Where no item has a second
    trial, only the names of the units change. Scores of types (distinct words) have no rows.
    """
    of = Trials.of(scored.table, item_of)
    if len(of.names) == len(of.items):
        return replace(scored, table=replace(scored.table, units=of.items))
    table = of.by_item()
    measures = [
        replace(m, outcome=None, signature=m.signature.extended({"trials": of.usual}))
        for m in scored.measures
    ]
    for m in scored.measures:
        if (m.name, m.scope) == (outcome, WHOLE) and m.outcome is not None:
            table = table.beside(_outcomes(of, m.outcome, m.cases))
            measures += _measures(m, of.usual)
    return ScoredTable(table, tuple(measures), trials=of)


def _outcomes(of: Trials, outcome: str, cases: str | None) -> Table:
    totals = of.totals()
    numbers = of.counts if cases is None else totals.column(cases).astype(np.int64)
    won = totals.column(outcome).astype(np.int64)
    rows: list[tuple[str, dict[str, float]]] = []
    for item, c, n in zip(of.names, won.tolist(), numbers.tolist(), strict=True):
        row: dict[str, float] = {}
        for k in range(1, min(of.usual, n) + 1):
            row |= {_pass(k): all_succeed(c, n, k), _items(k): 1}
        if n >= of.usual:
            row[FLIPS] = some_differ(c, n, of.usual)
        rows.append((item, row))
    each_k = range(1, of.usual + 1)
    return Table.from_rows((*map(_pass, each_k), *map(_items, each_k), FLIPS), rows)


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
