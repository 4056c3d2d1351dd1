"""What a benchmark run has found: its tests, read from its files, and what they are worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.episode_files import Findings, read_episodes
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.run_folder import TESTS, place_of, settings_of
from mwzeval.pydial.tasks import TASKS
from mwzeval.statistics import CONFIDENCE, Interval, holm

Figure = Literal["success", "reward"]
FIGURES: tuple[Figure, ...] = ("success", "reward")


@dataclass(frozen=True, slots=True)
class Tested:
    """The tests of a policy in a task after training, one a seed: percent, and mean reward."""

    task: str
    policy: str
    dialogues: int
    success: Mapping[int, float]
    reward: Mapping[int, float]

    def of(self, figure: Figure) -> Mapping[int, float]:
        """Return the figure of each seed."""
        return self.success if figure == "success" else self.reward


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was tested, by task, policy and number of training dialogues."""

    tests: Mapping[tuple[str, str, int], Tested]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks with a test, in the order of the paper."""
        return self._present(0, TASKS)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies with a test, in the order of the tables."""
        return self._present(1, PRESETS)

    @property
    def dialogues(self) -> tuple[int, ...]:
        """After how many training dialogues there are tests (0 is left out)."""
        return tuple(sorted({key[2] for key in self.tests} - {0}))

    def groups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the tasks, and the domains and all as means, by name and with their tasks."""
        tasks = self.tasks
        for task in tasks:
            yield task, (task,)
        domains = dict.fromkeys(TASKS[task].domain for task in tasks)
        for domain in domains:
            of_domain = tuple(task for task in tasks if TASKS[task].domain == domain)
            if len(of_domain) > 1:
                yield f"mean of {domain}", of_domain
        if len(domains) > 1:
            yield "mean of all", tasks

    def _present(self, part: int, order: Iterable[str]) -> tuple[str, ...]:
        there = {key[part] for key in self.tests}
        return tuple(name for name in order if name in there)

    def get(self, task: str, policy: str, dialogues: int) -> Tested | None:
        """Return a test; of a policy that does not learn the one it has."""
        learns = PRESETS[policy].learns
        return self.tests.get((task, policy, dialogues if learns else 0))

    def values(
        self, tasks: Sequence[str], policy: str, dialogues: int, figure: Figure
    ) -> dict[int, float]:
        """Return the mean over tasks of each seed that has them all; nothing if a task lacks."""
        found = [self.get(task, policy, dialogues) for task in tasks]
        tests = [test for test in found if test is not None]
        if len(tests) < len(tasks) or not tasks:
            return {}
        columns = [test.of(figure) for test in tests]
        seeds = sorted(set.intersection(*(set(column) for column in columns)))
        return {seed: float(np.mean([column[seed] for column in columns])) for seed in seeds}


def read_results(output: str | Path, findings: Findings | None = None) -> Results:
    """Return the tests of a run.

    Raises `UsageError` where there are none, `InputError` with every error in them; doubts go to
    `findings`.
    """
    if findings is None:
        findings = Findings()
    found: dict[tuple[str, str, int], dict[int, tuple[Episode, ...]]] = {}
    settings = settings_of(Path(output))
    for task in TASKS:
        for policy in PRESETS:
            for file in sorted((Path(output) / task / policy).glob(TESTS)):
                place = place_of(file)
                if place is not None:
                    of_seed = found.setdefault((task, policy, place.dialogues), {})
                    of_seed[place.seed] = read_episodes(
                        file, task, place.seed, settings=settings, findings=findings
                    )
    if not found:
        if not Path(output).is_dir():
            raise UsageError(f"there is no folder {output}")
        raise UsageError(f"{output} holds no tests of a benchmark run (`mwzeval pydial run`)")
    if findings.errors:
        raise InputError([*findings.errors, *findings.warnings])
    for (task, policy, dialogues), of_seed in found.items():
        if len({len(episodes) for episodes in of_seed.values()}) > 1:
            message = f"the tests after {dialogues} dialogues are not of the same size in all seeds"
            folder = str(Path(output) / task / policy)
            findings.doubt("unequal-seeds", message, file=folder)
    return Results({key: _tested(key, of_seed) for key, of_seed in found.items()})


def _tested(key: tuple[str, str, int], of_seed: Mapping[int, Sequence[Episode]]) -> Tested:
    return Tested(
        *key,
        success={s: 100.0 * float(np.mean([e.success for e in of])) for s, of in of_seed.items()},
        reward={s: float(np.mean([e.reward for e in of])) for s, of in of_seed.items()},
    )


LIMITS: Mapping[Figure, tuple[float, float]] = {
    "success": (0.0, 100.0),
    "reward": (-math.inf, math.inf),
}


def interval_over_seeds(
    values: Sequence[float],
    confidence: float = CONFIDENCE,
    limits: tuple[float, float] = LIMITS["reward"],
) -> Interval | None:
    """Return the t interval of the mean over seeds, cut off at limits; None for less than two."""
    if len(values) < 2:
        return None
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    error = float(array.std(ddof=1)) / math.sqrt(len(array))
    reach = float(t.ppf(0.5 + confidence / 2, len(array) - 1)) * error
    mean = float(array.mean())
    low, high = max(mean - reach, limits[0]), min(mean + reach, limits[1])
    return Interval(low, high, confidence, "t-over-seeds")


def p_value_over_seeds(mine: Mapping[int, float], theirs: Mapping[int, float]) -> float | None:
    """Return the two-sided p value of a paired t test over seeds; None for less than two in common.

    Seeds are pairs, because both had the same confusions and the same users in their tests.
    """
    seeds = sorted(set(mine) & set(theirs))
    if len(seeds) < 2:
        return None
    from scipy.stats import t

    differences = np.array([mine[seed] - theirs[seed] for seed in seeds])
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(len(seeds))
    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2 * t.sf(abs(mean / error), len(seeds) - 1))


def not_worse_than_best(values: Mapping[str, Mapping[int, float]]) -> tuple[str, frozenset[str]]:
    """Return the policy with the highest mean, and others that are not significantly worse.

    Holm's correction is over all comparisons with the best; without seeds in common nothing can be
    said, and a policy is not among the others. Raises `ValueError` without policies.
    """
    means = {policy: float(np.mean(list(of.values()))) for policy, of in values.items()}
    best = max(means, key=means.__getitem__)
    p_values = {
        policy: p
        for policy, of in values.items()
        if policy != best and (p := p_value_over_seeds(values[best], of)) is not None
    }
    adjusted = holm(list(p_values.values()))
    alike = (policy for policy, p in zip(p_values, adjusted, strict=True) if p > 1 - CONFIDENCE)
    return best, frozenset(alike)
