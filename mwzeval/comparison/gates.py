"""Gates: limits of scores, and tests that no score is significantly worse than a baseline's.

Scores have the same names as in reports; the name of a part follows a dot (`inform.hotel`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from mwzeval.comparison.systems import LEVEL, check_comparable, compare
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.score import WHOLE
from mwzeval.statistics.runs import FEWEST_RUNS
from mwzeval.statistics.tests import holm

if TYPE_CHECKING:
    from mwzeval.scores.score import Score

Gate: TypeAlias = tuple[str, float]
"""The name of a score, and its limit."""

BASELINE, INPUT = "baseline", "input"


def failures(
    gates: Iterable[Gate],
    scores: Iterable[Score],
    aliases: Mapping[str, str],
) -> list[str]:
    """Return a line for each score that fails its gate or has no value (NaN).

    The limit is a maximum for scores that are better when lower, and a minimum for all others. If
    the system has several runs, the mean over the runs is checked. `aliases` are other names of
    some scores.

    Raises:
        UsageError: If a gate names a score that does not exist.
    """
    known = {s.name if s.scope == WHOLE else f"{s.name}.{s.scope}": s for s in scores}
    lines = []
    for gate, limit in gates:
        name = aliases.get(gate, gate.removesuffix(f".{WHOLE}"))
        if name not in known:
            scored = ", ".join(name for name in known if name.rpartition(".")[0] not in known)
            usual = [alias for alias, meant in aliases.items() if meant in known]
            close = did_you_mean(gate, [*known, *usual])
            raise UsageError(
                f'--fail-under: there is no score "{shorten(gate)}"{close} (available: '
                f"{scored}; other scores need their metric's option)"
            )
        value, is_ceiling = known[name].value, known[name].lower_is_better
        if not (value <= limit if is_ceiling else value >= limit):
            side = "over" if is_ceiling else "under"
            lines.append(f"{name} is {value:.6g}, {side} {limit:g}")
    return lines


def worse_than(system: ScoredTable, baseline: ScoredTable, resampling: Resampling) -> list[str]:
    """Return a line for each score of the whole input in which a system is significantly worse.

    The significance level is `LEVEL`, after Holm's correction over all tested scores. Richness
    scores (such as distinct words) are not tested.

    Raises:
        UsageError: If the system and the baseline have different units or no comparable scores.
    """
    # Without this check, a system could pass by omitting difficult dialogues.
    mine, others = set(system.table.units), set(baseline.table.units)
    if mine != others:
        raise UsageError(
            f"--fail-below needs the same dialogues in both files: {len(others - mine)} are only "
            f"in the baseline, {len(mine - others)} only in the input; the first is "
            f'"{shorten(min(mine ^ others))}"'
        )
    ours, theirs = _directed(system), _directed(baseline)
    if different := {m.name for m in ours.measures} ^ {m.name for m in theirs.measures}:
        raise UsageError(
            "--fail-below: only the input or only the baseline has "
            f"{', '.join(sorted(different))}; select metrics that both have"
        )
    if not ours.measures:
        raise UsageError(
            "--fail-below: for none of the selected scores is a higher value better, so there is "
            "nothing to compare; select metrics other than richness"
        )
    systems = {BASELINE: theirs, INPUT: ours}
    check_comparable(systems)
    comparison = compare(systems, resampling=resampling, level=LEVEL)
    differences = [(measure, measure.of(INPUT).difference) for measure in comparison.measures]
    tested = [(m, d.p_value) for m, d in differences if d and d.p_value is not None]
    if not tested:
        raise UsageError(
            f"--fail-below: fewer than {FEWEST_RUNS} seeds cannot be tested; test more seeds"
        )
    adjusted = holm([p_value for _, p_value in tested])
    return [
        f"{measure.name} is {measure.of(INPUT).value:.6g}, significantly worse than the baseline's "
        f"{measure.of(BASELINE).value:.6g} (p = {p_value:.3g})"
        for (measure, _), p_value in zip(tested, adjusted, strict=True)
        if p_value <= LEVEL and [best.system for best in measure.best] == [BASELINE]
    ]


def _directed(scored: ScoredTable) -> ScoredTable:
    measures = (m for m in scored.measures if m.scope == WHOLE and m.has_direction)
    return ScoredTable(scored.table, tuple(measures))
