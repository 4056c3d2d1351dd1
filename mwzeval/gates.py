"""Gates: scores that must not be under a value, nor significantly worse than a baseline's.

Dataset-blind: scores are named as reports name them, those of a part with it behind a point
(`inform.hotel`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.comparison import ComparedMeasure, compare
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.measure import Resampling, Scored
from mwzeval.score import WHOLE
from mwzeval.statistics import holm

LEVEL = 0.05
"""The significance level of `worse_than`, for all its tests together (Holm)."""

BASELINE, INPUT = "baseline", "input"

WITHOUT_DIRECTION = ("richness.",)
"""Scores that are not better when higher or lower, so that no system is worse for having less."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The least that a score may be."""

    name: str
    least: float


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
    """Read `inform=85,success=70`. Raises `UsageError` for anything else."""
    return tuple(_gate(part) for part in text.split(","))


def _gate(part: str) -> Gate:
    name, equals, number = part.partition("=")
    try:
        least = float(number)
    except ValueError:
        least = math.nan
    if not name.strip() or not equals or not math.isfinite(least):
        raise UsageError(
            f'--fail-under: "{shorten(part)}" is not of the form score=number; '
            "write inform=85,success=70"
        )
    return Gate(name.strip(), least)


def resolve_gates(
    gates: Iterable[Gate], known: Iterable[str], aliases: Mapping[str, str]
) -> tuple[Gate, ...]:
    """Return the gates with the names that the scores have.

    `aliases` are other names for some. Raises `UsageError` for a score that there is none of.
    """
    names = list(known)
    return tuple(Gate(_resolved(gate.name, names, aliases), gate.least) for gate in gates)


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
    """Yield a line for each score that is under its gate; one without a value is."""
    for gate in gates:
        value = values[gate.name]
        if not value >= gate.least:
            yield f"{gate.name} is {value:.6g}, under {gate.least:g}"


def worse_than(system: Scored, baseline: Scored, resampling: Resampling) -> tuple[Worse, ...]:
    """Return the scores of the whole that are significantly worse than the baseline's.

    Significant is at `LEVEL` after Holm's correction over all scores that are tested. Those of
    richness are not. Raises `UsageError` when the two cannot be compared, or not in full.
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
    comparison = compare({BASELINE: theirs, INPUT: ours}, resampling=resampling, level=LEVEL)
    differences = [measure.of(INPUT).difference for measure in comparison.measures]
    adjusted = holm([difference.p_value for difference in differences if difference])
    lower = {measure.name for measure in ours.measures if measure.lower_is_better}
    return tuple(
        Worse(measure.name, measure.of(INPUT).value, measure.of(BASELINE).value, p_value)
        for measure, p_value in zip(comparison.measures, adjusted, strict=True)
        if p_value <= LEVEL and _is_worse(measure, measure.name in lower)
    )


def _is_worse(measure: ComparedMeasure, lower_is_better: bool) -> bool:
    ours, theirs = measure.of(INPUT).value, measure.of(BASELINE).value
    return ours > theirs if lower_is_better else ours < theirs


def _directed(scored: Scored) -> Scored:
    """Return the scores of the whole that are better when higher, or when lower."""
    measures = (m for m in scored.measures if m.scope == WHOLE)
    return Scored(
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
