"""What a comparison has found, before anything is printed or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.score import WHOLE, Interval, Signature
from mwzeval.scores.views import Viewed
from mwzeval.statistics import AcrossRuns, WinsTiesLosses, across_runs

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
    compared to the baseline by this score. `counts` says on how many units the system is better,
    by the same formula on each unit alone (of several runs, by their mean); None where a unit alone
    has no such score.
    """

    value: float
    interval: Interval | None
    p_value: float
    adjusted: float
    counts: WinsTiesLosses | None


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a system by one score, from tests of all pairs.

    Systems that do not differ significantly share `rank`, which counts from 1; they may share it
    with others that do. The true place is between `best` (1 + how many are significantly better)
    and `worst` (how many are not significantly worse, itself among them).
    """

    rank: int
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """One score of one system; the baseline has no `difference`.

    `runs` has the score of each run, in the order of their names; `value` is the mean. `setting`
    says in which of the choices of its signature that may differ between systems it was scored.
    `interval` is of the score itself; None where none was asked for or there is none.
    """

    system: str
    value: float
    difference: Difference | None
    place: Place | None
    runs: tuple[float, ...]
    setting: str = ""
    interval: Interval | None = None

    @property
    def over(self) -> AcrossRuns | None:
        """Mean and spread over the runs; None of a single run."""
        return across_runs(self.runs) if len(self.runs) > 1 else None


@dataclass(frozen=True, slots=True)
class ComparedMeasure:
    """One score of all systems, the baseline first; a score of a part has no places.

    `test` is where the p values come from: `MCNEMAR` or `RANDOMIZATION`, and where a system has
    several runs `statistics.HIERARCHICAL`. `signature` is what the systems have in common; `n` is
    the number of units (dialogues) behind each value. `pairs` has the p value of each pair of
    systems after Holm's correction over all pairs, from which the places follow.
    """

    name: str
    label: str
    n: int
    signature: Signature
    test: str
    systems: tuple[ComparedSystem, ...]
    places: int = 2
    scope: str = WHOLE
    lower_is_better: bool = False
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, list[ComparedSystem]]:
        """The systems by their setting: only these have the same signature."""
        settings: dict[str, list[ComparedSystem]] = {}
        for entry in self.systems:
            settings.setdefault(entry.setting, []).append(entry)
        return settings

    def best(self, setting: str) -> Sequence[ComparedSystem]:
        """Return the systems with the best score of a setting, all of them where they are level.

        None is where there is nothing to compare: a single system, a score without a direction.
        """
        entries = self.settings[setting]
        if len(entries) == 1 or self.name.startswith(WITHOUT_DIRECTION):
            return ()
        values = [entry.value for entry in entries]
        best = min(values) if self.lower_is_better else max(values)
        return [entry for entry in entries if entry.value == best]

    def against_best(self, entry: ComparedSystem) -> float | None:
        """Return the corrected p value of a system against the best one of its setting.

        Against the best two, when these are level, the larger one; None of the best themselves, and
        of a score of a part.
        """
        best = self.best(entry.setting)
        if not best or entry in best or not self.pairs:
            return None
        names = [(entry.system, other.system) for other in best]
        return max(self.pairs[pair if pair in self.pairs else pair[::-1]] for pair in names)

    def of(self, system: str) -> ComparedSystem:
        """Return one system's entry. Raises `KeyError` when it is not there."""
        for entry in self.systems:
            if entry.system == system:
                return entry
        raise KeyError(system)


@dataclass(frozen=True, slots=True)
class Comparison(Viewed):
    """Systems on the units that all have, the baseline first, each with the names of its runs.

    `left_out` counts the units of each system that some other lacks; `lacking` names the systems
    without a score that others have, which is therefore not compared, by the score's label;
    `undefined` names the scores without a value on the common units. `choices` are those of each
    system that may differ (where its states come from, say), for each metric. `clusters` is how
    many clusters the units are of, where units of one are not independent.
    """

    systems: tuple[str, ...]
    runs: Mapping[str, tuple[str, ...]]
    units: tuple[str, ...]
    left_out: Mapping[str, int]
    measures: tuple[ComparedMeasure, ...]
    lacking: Mapping[str, tuple[str, ...]]
    undefined: tuple[str, ...]
    choices: Mapping[str, Mapping[str, str]]
    level: float
    confidence: float
    samples: int
    seed: int
    unit: str = "dialogue"
    clusters: int | None = None

    @property
    def drawn(self) -> str:
        """What is resampled, and on which systems are held against each other."""
        return self.unit if self.clusters is None else "cluster"

    @property
    def baseline(self) -> str:
        """The system that the others are compared to."""
        return self.systems[0]

    @property
    def pairs(self) -> int:
        """How many pairs of systems there are."""
        return len(self.systems) * (len(self.systems) - 1) // 2

    @property
    def several_runs(self) -> bool:
        """Whether a system has more runs than one."""
        return any(len(names) > 1 for names in self.runs.values())

    def measure(self, name: str, scope: str = WHOLE) -> ComparedMeasure:
        """Return one score of all systems. Raises `KeyError` when it was not compared."""
        for measure in self.measures:
            if (measure.name, measure.scope) == (name, scope):
                return measure
        raise KeyError(name)
