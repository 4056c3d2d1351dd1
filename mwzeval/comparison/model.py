"""What a comparison has found, before anything is printed or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.comparable import Group
from mwzeval.scores.score import WHOLE, Interval, Signature
from mwzeval.statistics.runs import FEWEST_RUNS, AcrossRuns, across_runs
from mwzeval.statistics.tests import Place, WinsTiesLosses

MCNEMAR = "mcnemar"
RANDOMIZATION = "approximate-randomization"

WITHOUT_DIRECTION = ("richness.", "flips^")
"""Scores that are not better when higher or lower, so that no system is worse for having less."""

System: TypeAlias = ScoredTable | Mapping[str, ScoredTable]
"""What was scored of a system: of one run, or of several by name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A score of a system minus that of the baseline, in the unit of the score.

    `p_value` is two-sided; `adjusted` is it after Holm's correction over all systems that are
    compared to the baseline by this score; both are None where nothing is tested. `counts` says on
    how many units the system is better, by the same formula on each unit alone (of several runs, by
    their mean); None where a unit alone has no such score. `is_least` says that the p value is the
    smallest that the test can return with so many samples.
    """

    value: float
    interval: Interval | None
    p_value: float | None
    adjusted: float | None
    counts: WinsTiesLosses | None
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """One score of one system; the baseline has no `difference`.

    `runs` has the score of each run, in the order of their names; `value` is the mean. `cases` is
    the number of common units that the score is about. `interval` is of the score itself; None
    where none was asked for or there is none. A system that is alone in its group has no `place`.
    `seeds` is how many are resampled where one file has the tests of several; else None.
    """

    system: str
    value: float
    difference: Difference | None
    place: Place | None
    runs: tuple[float, ...]
    cases: int
    interval: Interval | None = None
    seeds: int | None = None

    @property
    def has_few_runs(self) -> bool:
        """Whether there are several runs or seeds, but so few that they say little about others."""
        return any(1 < number < FEWEST_RUNS for number in (len(self.runs), self.seeds or 0))

    @property
    def over(self) -> AcrossRuns | None:
        """Mean and spread over the runs; None of a single run."""
        return across_runs(self.runs) if len(self.runs) > 1 else None


@dataclass(frozen=True, slots=True)
class ComparedMeasure:
    """One score of a group of systems that can be compared in it, the baseline first.

    `test` is where the p values come from: `MCNEMAR`
    or `RANDOMIZATION`, and where a system has several runs `statistics.HIERARCHICAL`; None of a
    system alone, of a description (scores of types are), and of few seeds, which are not tested.
    `signature` is what the systems have in common; `n` is the number of units (or clusters) that
    are resampled. `pairs` has the p value of each pair of systems after Holm's correction over all
    pairs, from which the places follow; a score of a part has neither.
    """

    name: str
    label: str
    n: int
    signature: Signature
    test: str | None
    systems: tuple[ComparedSystem, ...]
    group: Group
    places: int = 2
    scope: str = WHOLE
    lower_is_better: bool = False
    is_description: bool = False
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def setting(self) -> str:
        """How the group differs from the other groups of this score; empty where it is alone."""
        return self.group.setting

    @property
    def has_direction(self) -> bool:
        """Whether one value of the score is better than another."""
        return not (self.is_description or self.name.startswith(WITHOUT_DIRECTION))

    @property
    def best(self) -> Sequence[ComparedSystem]:
        """The systems with the best score; several where they tie.

        There is none where all systems tie, and where nothing is better: of a single system, of a
        description, of a score without a direction.
        """
        if not self.has_direction:
            return ()
        values = [entry.value for entry in self.systems]
        best = min(values) if self.lower_is_better else max(values)
        if min(values) == max(values):
            return ()
        return [entry for entry in self.systems if entry.value == best]

    def against_best(self, entry: ComparedSystem) -> float | None:
        """Return the corrected p value of a system against the best one.

        Against the best two, when these are level, the larger one; None of the best themselves, and
        of a score of a part.
        """
        best = self.best
        if not best or entry in best or not self.pairs:
            return None
        names = [(entry.system, other.system) for other in best]
        return max(self.pairs[pair if pair in self.pairs else pair[::-1]] for pair in names)

    def direction(self, difference: Difference, level: float | None) -> int:
        """Return 1 for a system that is significantly better than the baseline, -1 for a worse one.

        0 stands for neither, for scores without a good direction and for no `level`.
        """
        if level is None or difference.adjusted is None or difference.adjusted > level:
            return 0
        if not (difference.value and self.best):
            return 0
        return 1 if (difference.value < 0) == self.lower_is_better else -1

    def is_alike(self, entry: ComparedSystem, level: float) -> bool:
        """Tell whether a system is not the best but does not differ from it significantly."""
        p_value = self.against_best(entry)
        return p_value is not None and p_value > level

    def of(self, system: str) -> ComparedSystem:
        """Return one system's entry. Raises `KeyError` when it is not there."""
        for entry in self.systems:
            if entry.system == system:
                return entry
        raise KeyError(system)
