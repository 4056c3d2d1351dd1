"""Measures: a score's name, its signature, and its formula from rows.

Every metric has two parts: `columns` and `row(unit)` give the additive numbers of a scored unit,
and `measures(…)` gives the scores as functions of the columns' sums. Values, intervals, comparisons
and reports of scores use only the columns and the measures. Therefore, no other code depends on the
metric or the benchmark, and each score has exactly one formula.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.types import TypeCounts
from mwzeval.scores.score import PERCENT, WHOLE, Interval, Score, Signature
from mwzeval.scores.table import RESOLUTION, Table
from mwzeval.statistics.bootstrap import (
    SAMPLES,
    SEED,
    DrawnSums,
    ScoreFunction,
    Sums,
    evaluate,
    in_blocks,
    percentile_interval,
    resampled_sums,
)
from mwzeval.statistics.intervals import CONFIDENCE, Jackknife, wilson
from mwzeval.statistics.trials import Trials, all_succeed, item_of_trial, some_differ

Sign = Callable[[str], Signature]


MOST_SAMPLES = 10**6
"""The maximum number of samples; more samples hardly change intervals but may exceed memory."""


WITHOUT_DIRECTION = ("richness.", "flips^")
"""Prefixes of scores that have no better direction, so that a lower score is not worse."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """The settings of intervals: their confidence, and the number and seed of resamples."""

    confidence: float = CONFIDENCE
    samples: int = SAMPLES
    seed: int = SEED

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise UsageError(
                f"a confidence must be between 0 and 1, such as 0.95: got {self.confidence}"
            )
        if not 1 <= self.samples <= MOST_SAMPLES or self.seed < 0:
            raise UsageError(
                f"there may be 1 to {MOST_SAMPLES:,} samples, and the seed must not be negative"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A function of column sums, or of sums of types (words, n-grams).

    `of` is the function that computes the score from the column sums. `cases` is the column that
    counts the units that the score is about (None: all units). If the score is the mean of 0/1
    outcomes of the units, `outcome` is the column of outcomes, and `scale` is the score if all
    outcomes are 1 (100 for percentages). Higher scores are better, unless `lower_is_better` is true
    or the score has no direction. `block` is the number of neighboring units that are resampled
    together. `known` is the score of all units, if `of` cannot compute the score from few units.
    `unit` is the unit of measurement of the score, which axes of figures show. A score with
    `is_description` (turns, calls, cost, endings) describes the dialogues, and no values are better
    than others. Comparisons therefore show only differences of such scores, without a test or a
    rank. A score with `of_types` (distinct words, entropies) is computed from `TypeCounts.sums`.
    The value of such a score is `known`, and no values of the score are better than others.

    >>> rows = [("a", {"right": 1, "all": 2}), ("b", {"all": 2})]
    >>> table = Table.from_rows(("right", "all"), rows)
    >>> accuracy = percentage("right", of="all")
    >>> measure = Measure("accuracy", "Accuracy", Signature("accuracy", ()), accuracy)
    >>> [(score.value, score.n) for score in ScoredTable(table, (measure,)).scores()]
    [(25.0, 2)]
    """

    name: str
    label: str
    signature: Signature
    of: ScoreFunction
    places: int = 2
    scope: str = WHOLE
    cases: str | None = None
    outcome: str | None = None
    block: int = 1
    known: float | None = None
    scale: float = 100
    lower_is_better: bool = False
    unit: str = PERCENT
    is_description: bool = False
    of_types: bool = False

    @property
    def has_direction(self) -> bool:
        """Whether higher or lower values of the score are better."""
        return not (self.is_description or self.name.startswith(WITHOUT_DIRECTION))

    @property
    def key(self) -> tuple[str, str]:
        """The name and the scope, which identify the measure within its system."""
        return self.name, self.scope

    def value(self, sums: Sums) -> float:
        """Return the score computed from the observed sums."""
        return float(self.of(sums)[0]) if self.known is None else self.known


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTable:
    """The rows of one system on one input, and the measures that compute scores from them.

    `count_types` returns the type counts of the units of `table`, in the same order. `count_types`
    is slow and is therefore called only for intervals and comparisons. If units have several
    trials, `table` has means over the trials, and `trials` has the trials (see `of_items`).

    If the author of the input chose the units (such as the goals of a live run), `about` has a
    checksum of each unit's content. Equal checksums show that two inputs have the same unit.
    """

    table: Table
    measures: tuple[Measure, ...]
    count_types: Callable[[], TypeCounts] = TypeCounts.of
    trials: Trials | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def trial_rows(self) -> Table:
        """The table with a row per trial; if no unit has several trials, the table itself."""
        return self.table if self.trials is None else self.trials.table

    def scores(self, resampling: Resampling | None = None) -> tuple[Score, ...]:
        """Return all scores, with intervals if `resampling` is given."""
        sums = observed(self.table)
        jackknives = self.jackknives() if resampling else {}

        @cache
        def drawn(block: int) -> DrawnSums:
            assert resampling is not None
            tables = [in_blocks(self.table, block)]
            return resampled_sums(tables, samples=resampling.samples, seed=resampling.seed)[0]

        scores = []
        for measure in self.measures:
            n = self.table.count if measure.cases is None else round(sums[measure.cases][0])
            interval, signature = None, measure.signature
            if resampling and measure.key in jackknives:
                interval = jackknives[measure.key].interval(resampling.confidence)
            elif resampling and not measure.of_types:
                interval = _resampled_interval(measure, sums, n, drawn, resampling.confidence)
            if resampling and interval:
                choices = {"ci": f"{100 * resampling.confidence:g}%-{interval.method}"}
                if interval.method == "bootstrap":
                    choices |= {"samples": str(resampling.samples), "seed": str(resampling.seed)}
                signature = signature.extended(choices)
            scores.append(
                Score(
                    name=measure.name,
                    label=measure.label,
                    value=measure.value(sums),
                    n=n,
                    signature=signature,
                    places=measure.places,
                    scope=measure.scope,
                    interval=interval,
                    lower_is_better=measure.lower_is_better,
                    unit=measure.unit,
                )
            )
        return tuple(scores)

    def jackknives(self) -> dict[tuple[str, str], Jackknife]:
        """Return jackknives of the scores of types, or {} if there are fewer than two units."""
        of_types = [measure for measure in self.measures if measure.of_types]
        if not of_types or self.table.count < 2:
            return {}
        found = self.count_types().jackknives([measure.of for measure in of_types])
        return dict(zip((measure.key for measure in of_types), found, strict=True))


def _resampled_interval(
    measure: Measure, sums: Sums, n: int, drawn: Callable[[int], DrawnSums], confidence: float
) -> Interval | None:
    if measure.outcome is not None and measure.cases is not None:
        return wilson(float(sums[measure.outcome][0]), n, confidence).scaled(measure.scale)
    samples = evaluate(measure.of, drawn(measure.block).samples)
    interval = percentile_interval(samples, confidence, "bootstrap")
    if interval is None or interval.low < interval.high:
        return interval
    # All units have the same score: resamples do not vary, but other units may.
    if measure.unit != PERCENT or interval.low not in (0, measure.scale):
        return None
    # Means over trials count fractions of cases.
    number = max(1, n)
    return wilson(interval.low / measure.scale * number, number, confidence).scaled(measure.scale)


def table_of_means(
    values: Mapping[str, Iterable[tuple[str, str, float]]],
    labels: Mapping[str, str],
    sign: Sign,
    scopes: Sequence[str] = (),
    *,
    places: int = 4,
) -> ScoredTable:
    """Return measures that average values between 0 and 1, over the whole input and in each scope.

    Args:
        values: The values of each unit: scope, name of the score, value.
        labels: The label of each score, by the name of the score, in the order of the report.
        sign: A function that returns the signature of a score.
        scopes: The first scopes in the order of the report; other scopes follow by name.
        places: The number of decimals.

    A score without values is omitted.

    Raises:
        ValueError: If a value is not between 0 and 1, or a score has no label.

    >>> values = {"a": [("total", "match", 0.5)], "b": [("total", "match", 1.0)]}
    >>> scored = table_of_means(values, {"match": "Match"}, lambda name: Signature(name, ()))
    >>> [(score.name, score.value, score.n) for score in scored.scores()]
    [('match', 0.75, 2)]
    """
    rows = []
    others: set[str] = set()
    with no_garbage_collection():
        for unit, found in values.items():
            sums: dict[tuple[str, str], int] = defaultdict(int)
            counts: dict[tuple[str, str], int] = defaultdict(int)
            for scope, name, value in found:
                if not (0 <= value <= 1 and name in labels):
                    message = (
                        f"{unit}: {name} is {value}, but must have a label and a value in 0..1"
                    )
                    raise ValueError(message)
                sums[scope, name] += round(value * RESOLUTION)
                counts[scope, name] += 1
            others |= {scope for scope, _ in sums}
            row = {f"{scope}:{name}": total for (scope, name), total in sums.items()}
            rows.append((unit, row | {f"{s}:{name}:n": n for (s, name), n in counts.items()}))
    columns = sorted({column for _, row in rows for column in row})
    ordered = dict.fromkeys((WHOLE, *scopes, *sorted(others)))
    measures = tuple(
        Measure(
            name,
            label,
            sign(name),
            partial(_mean_value, f"{scope}:{name}"),
            places=places,
            scope=scope,
            cases=f"{scope}:{name}:n",
            scale=1,
            unit="",
        )
        for name, label in labels.items()
        for scope in ordered
        if f"{scope}:{name}" in columns
    )
    return ScoredTable(Table.from_rows(columns, rows), measures)


def _mean_value(column: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[column] / RESOLUTION / sums[f"{column}:n"])


class Rate(NamedTuple):
    """A score that is the sum of the column `part` divided by the sum of the column `whole`.

    The score is in percent unless it has another `unit`. If both columns are 0 or 1 in every row
    (`is_outcome`), the score has a Wilson interval. `cases` is the column with the number of units
    that the score is about (None: `whole`). The other fields have the same meaning as in `Measure`.

    >>> rate = Rate("accuracy", "Accuracy", "right", "all")
    >>> sums = {"right": 1, "all": 4, "right.easy": 1, "all.easy": 2, "all.hard": 0}
    >>> signature = Signature("accuracy", ())
    >>> [measure.key for measure in rate.measures(sums, signature, ("easy", "hard"))]
    [('accuracy', 'easy')]
    """

    name: str
    label: str
    part: str
    whole: str
    is_outcome: bool = False
    cases: str | None = None
    places: int = 1
    unit: str = PERCENT
    lower_is_better: bool = False
    is_description: bool = False

    def measures(
        self,
        sums: Mapping[str, float],
        signature: Signature,
        scopes: Iterable[str] = (),
        joint: str = ".",
    ) -> Iterator[Measure]:
        """Yield the score of the whole table, or of each of the `scopes`, if the score is defined.

        In the names of columns, `joint` separates column and scope: `COLUMN.SCOPE`.
        """
        for scope, suffix in [(s, f"{joint}{s}") for s in scopes] or [(WHOLE, "")]:
            part, whole = f"{self.part}{suffix}", f"{self.whole}{suffix}"
            if sums[whole]:
                yield Measure(
                    name=self.name,
                    label=self.label,
                    signature=signature,
                    of=(percentage if self.unit == PERCENT else mean)(part, of=whole),
                    places=self.places,
                    scope=scope,
                    cases=f"{self.cases or self.whole}{suffix}",
                    outcome=part if self.is_outcome else None,
                    lower_is_better=self.lower_is_better,
                    unit=self.unit,
                    is_description=self.is_description,
                )


def percentage(*parts: str, of: str) -> ScoreFunction:
    """Return a score function: the sum of some columns as a percentage of the column `of`."""
    return partial(_share, 100, parts, of)


def mean(part: str, *, of: str) -> ScoreFunction:
    """Return a score function: the sum of a column divided by the sum of the column `of`."""
    return partial(_share, 1, (part,), of)


def _share(scale: int, parts: Sequence[str], whole: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(scale * sum(sums[part] for part in parts) / sums[whole])


def observed(table: Table) -> Sums:
    """Return the column sums in the form that score functions accept, arrays of shape (1,)."""
    return dict(zip(table.columns, table.values.sum(axis=0)[:, np.newaxis], strict=True))


def ratio(numerator: str, denominator: str, sums: Sums) -> NDArray[np.float64]:
    """Return the quotient of the sums of two columns; 0 if the denominator is 0."""
    return quotient(sums[numerator], sums[denominator])


def f_score(right: str, predicted: str, gold: str, sums: Sums) -> NDArray[np.float64]:
    """Return F1 from counts: 2·right / (predicted + gold); 0 if `right` is 0."""
    precision = quotient(sums[right], sums[predicted])
    recall = quotient(sums[right], sums[gold])
    return harmonic_mean(precision, recall)


def harmonic_mean(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2·first·second / (first + second); 0 if both are 0."""
    return quotient(2 * first * second, first + second)


def quotient(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return numerator / denominator; 0 if the denominator is 0."""
    zeros = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(numerator, denominator, out=zeros, where=denominator > 0)


FLIPS = "flips"
"""The prefix of scores that state the share of items whose trials have different outcomes."""


def of_items(
    scored: ScoredTable,
    item_of: Callable[[str], str] = item_of_trial,
    *,
    outcome: str | None = "success",
) -> ScoredTable:
    """Return the scored trials with one row per item, so that items are the units.

    From the 0/1 score `outcome`, this function computes pass^k for k = 1 … `trials`, where `trials`
    is the largest number of trials that at least half of the items have. The function also computes
    the share of items whose outcomes differ between trials. The `n` of pass^k is the number of
    items with at least k trials. The formulas of all other scores are unchanged; their rows are
    means over trials, so each item counts once, and `n` counts items. Intervals resample items; if
    the trials of each item all have the same outcome, the intervals are Wilson intervals over
    items. `ScoredTable.trials` has the rows of trials. If no item has a second trial, only the
    names of the units change. Scores of types (such as distinct words) are not computed from rows.
    """
    trials = Trials.of(scored.table, item_of)
    if len(trials.names) == len(trials.items):
        return replace(scored, table=replace(scored.table, units=trials.items))
    table = trials.by_item()
    measures = [
        replace(m, outcome=None, signature=m.signature.extended({"trials": trials.usual}))
        for m in scored.measures
    ]
    for m in scored.measures:
        if (m.name, m.scope) == (outcome, WHOLE) and m.outcome is not None:
            table = table.beside(_outcomes(trials, m.outcome, m.cases))
            measures += _measures(m, trials.usual)
    return ScoredTable(table, tuple(measures), trials=trials)


def _outcomes(trials: Trials, outcome: str, cases: str | None) -> Table:
    totals, usual = trials.totals(), trials.usual
    numbers = trials.counts if cases is None else totals.column(cases).astype(np.int64)
    successes = totals.column(outcome).astype(np.int64)
    rows: list[tuple[str, dict[str, float]]] = []
    for item, c, n in zip(trials.names, successes.tolist(), numbers.tolist(), strict=True):
        row: dict[str, float] = {FLIPS: some_differ(c, n, usual)} if n >= usual else {}
        for k in range(1, min(usual, n) + 1):
            row |= {_pass(k): all_succeed(c, n, k), _items(k): 1}
        rows.append((item, row))
    ks = range(1, usual + 1)
    return Table.from_rows((*map(_pass, ks), *map(_items, ks), FLIPS), rows)


def _measures(measure: Measure, trials: int) -> Iterator[Measure]:
    found = [(_pass(k), _pass(k), _pass(k), {"pass": "unbiased"}, k) for k in range(1, trials + 1)]
    # The share of items with both outcomes depends on the number of trials, so the score's name
    # includes this number, and scores with different numbers are not compared.
    found.append((f"{FLIPS}^{trials}", f"Flips in {trials} trials", FLIPS, {}, trials))
    for name, label, column, choices, k in found:
        signature = replace(measure.signature, metric=column)
        yield replace(
            measure,
            name=name,
            label=label,
            signature=signature.extended({"trials": trials, **choices}),
            of=percentage(column, of=_items(k)),
            cases=_items(k),
            outcome=None,
            scale=100,
            lower_is_better=False,
            known=None,
        )


def _pass(k: int) -> str:
    return f"pass^{k}"


def _items(k: int) -> str:
    """Return the column that is 1 for items with at least `k` trials."""
    return f"items^{k}"
