"""Gates: scores that must not be worse than a number, nor significantly worse than a baseline's.

Scores are named as in reports, those of a part with it behind a point (`inform.hotel`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mwzeval.comparison import ComparedMeasure, compare
from mwzeval.comparison.alignment import check_comparable
from mwzeval.comparison.model import WITHOUT_DIRECTION
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.score import WHOLE
from mwzeval.statistics.runs import FEWEST_RUNS
from mwzeval.statistics.tests import holm

LEVEL = 0.05
"""The significance level of `worse_than`, for all its tests together (Holm)."""

BASELINE, INPUT = "baseline", "input"


@dataclass(frozen=True, slots=True)
class Gate:
    """The worst that a score may be: the least, or the most if `is_ceiling`."""

    name: str
    limit: float
    is_ceiling: bool = False

    def failure(self, value: float) -> str | None:
        """Return how a value breaks this gate, None if it does not; no value (NaN) does."""
        if value <= self.limit if self.is_ceiling else value >= self.limit:
            return None
        return (
            f"{self.name} is {value:.6g}, {'over' if self.is_ceiling else 'under'} {self.limit:g}"
        )


@dataclass(frozen=True, slots=True)
class Worse:
    """A score that is significantly worse than the baseline's; the p value is Holm's."""

    name: str
    value: float
    baseline: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"{self.name} is {self.value:.6g}, significantly worse than the baseline's "
            f"{self.baseline:.6g} (p = {self.p_value:.3g})"
        )


def gate_name(name: str, scope: str = WHOLE) -> str:
    """Return how a gate names a score: `inform`, or `inform.hotel` for that of a part."""
    return name if scope == WHOLE else f"{name}.{scope}"


def parse_gates(text: str) -> tuple[Gate, ...]:
    """Read `inform=85,success=70`: the worst that scores may be. Raises `UsageError`."""
    return tuple(map(_gate, text.split(",")))


def _gate(part: str) -> Gate:
    name, equals, number = part.partition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    gate = Gate(name.strip(), limit)
    if not gate.name or not equals or not math.isfinite(limit):
        raise UsageError(
            f'--fail-under: "{shorten(part)}" is not of the form score=number; '
            "write inform=85,success=70"
        )
    return gate


def resolve_gates(
    gates: Iterable[Gate],
    known: Iterable[str],
    aliases: Mapping[str, str],
    lower: Collection[str] = (),
) -> tuple[Gate, ...]:
    """Return the gates with the names that the scores have; those of `lower` are ceilings.

    `aliases` are other names for some; `lower` are those that are better when lower. Raises
    `UsageError` for a score that does not exist.
    """
    names = list(known)
    resolved = ((gate, _resolved(gate.name, names, aliases)) for gate in gates)
    return tuple(replace(gate, name=name, is_ceiling=name in lower) for gate, name in resolved)


def _resolved(asked: str, known: Sequence[str], aliases: Mapping[str, str]) -> str:
    name = aliases.get(asked, asked.removesuffix(f".{WHOLE}"))
    if name in known:
        return name
    scored = ", ".join(name for name in known if name.rpartition(".")[0] not in known)
    hint = did_you_mean(asked, [*known, *(alias for alias, of in aliases.items() if of in known)])
    raise UsageError(
        f'--fail-under: there is no score "{shorten(asked)}"{hint} (scored: {scored}; for others, '
        "ask for their metric)"
    )


def failures(gates: Iterable[Gate], values: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each score that is beyond its gate; one without a value is."""
    for gate in gates:
        failure = gate.failure(values[gate.name])
        if failure is not None:
            yield failure


def worse_than(
    system: ScoredTable, baseline: ScoredTable, resampling: Resampling
) -> tuple[Worse, ...]:
    """Return the scores of the whole that are significantly worse than the baseline's.

    Significant is at `LEVEL` after Holm's correction over all scores that are tested. Those of
    richness are not.

    Raises:
        UsageError: When the two cannot be compared, or not in full.
    """
    _check_same_units(system.table.units, baseline.table.units)
    ours, theirs = _directed(system), _directed(baseline)
    if different := {m.name for m in ours.measures} ^ {m.name for m in theirs.measures}:
        raise UsageError(
            f"--fail-below: only one of input and baseline has {', '.join(sorted(different))}, so "
            "it cannot be compared; ask for metrics that both have"
        )
    if not ours.measures:
        raise UsageError(
            "--fail-below: nothing that was asked for is better when higher, so there is nothing "
            "to compare; ask for other metrics than richness"
        )
    systems = {BASELINE: theirs, INPUT: ours}
    check_comparable(systems)
    comparison = compare(systems, resampling=resampling, level=LEVEL)
    found = [
        (measure, difference.p_value)
        for measure in comparison.measures
        if (difference := measure.of(INPUT).difference) and difference.p_value is not None
    ]
    if not found:
        raise UsageError(
            f"--fail-below: fewer than {FEWEST_RUNS} seeds cannot be tested; test more seeds"
        )
    adjusted = holm([p_value for _, p_value in found])
    lower = {measure.name for measure in ours.measures if measure.lower_is_better}
    return tuple(
        Worse(measure.name, measure.of(INPUT).value, measure.of(BASELINE).value, p_value)
        for (measure, _), p_value in zip(found, adjusted, strict=True)
        if p_value <= LEVEL and _is_worse(measure, measure.name in lower)
    )


def _is_worse(measure: ComparedMeasure, lower_is_better: bool) -> bool:
    ours, theirs = measure.of(INPUT).value, measure.of(BASELINE).value
    return ours > theirs if lower_is_better else ours < theirs


def _directed(scored: ScoredTable) -> ScoredTable:
    """Return the scores of the whole that are better when higher, or when lower, and tested."""
    measures = (m for m in scored.measures if m.scope == WHOLE and not m.is_description)
    return ScoredTable(
        scored.table, tuple(m for m in measures if not m.name.startswith(WITHOUT_DIRECTION))
    )


def _check_same_units(system: Sequence[str], baseline: Sequence[str]) -> None:
    # Leaving out what one of them lacks would let a system pass that skips what is hard.
    lacking, added = set(baseline) - set(system), set(system) - set(baseline)
    if lacking or added:
        raise UsageError(
            "--fail-below compares dialogue by dialogue, so both need the same dialogues: "
            f"{len(lacking)} are only in the baseline{_such_as(lacking)}, "
            f"{len(added)} only in the input{_such_as(added)}"
        )


def _such_as(units: set[str]) -> str:
    return f' (such as "{shorten(min(units))}")' if units else ""
