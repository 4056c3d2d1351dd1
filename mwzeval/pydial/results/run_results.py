"""The tests of a run: success, reward and CPU seconds of each seed."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from mwzeval.errors import UsageError
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.job import JobTimes, read_times
from mwzeval.pydial.runs.run_folder import TESTS, RunSettings, location_of, run_settings
from mwzeval.pydial.runs.scoring import mean_of
from mwzeval.pydial.tasks import find_task, in_order, task_named
from mwzeval.scores.findings import Findings

Figure = Literal["success", "reward"]
FIGURES: tuple[Figure, ...] = ("success", "reward")
LIMITS: Mapping[Figure, tuple[float, float]] = {
    "success": (0.0, 100.0),
    "reward": (-math.inf, math.inf),
}


@dataclass(frozen=True, slots=True)
class PolicyTests:
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
    """Everything that was tested, by task, policy and number of training dialogues.

    `settings` are those of the run in `folder`; `times` holds by task and policy what each seed
    took, as far as it is noted.
    """

    tests: Mapping[tuple[str, str, int], PolicyTests]
    settings: RunSettings = RunSettings()  # noqa: RUF009
    folder: Path = Path()
    times: Mapping[tuple[str, str], Mapping[int, JobTimes]] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks with a test, in the order of the paper."""
        return in_order(key[0] for key in self.tests)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies with a test, in the order of the tables."""
        there = {key[1] for key in self.tests}
        return tuple(name for name in PRESETS if name in there)

    @property
    def dialogues(self) -> tuple[int, ...]:
        """After how many training dialogues there are tests (0 is left out)."""
        return tuple(sorted({key[2] for key in self.tests} - {0}))

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds that there is a test of."""
        return tuple(sorted({seed for test in self.tests.values() for seed in test.success}))

    def groups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the groups of the tasks (see `groups_of`)."""
        yield from groups_of(self.tasks)

    def get(self, task: str, policy: str, dialogues: int) -> PolicyTests | None:
        """Return a test; of a policy that does not learn the one it has."""
        learns = PRESETS[policy].learns
        return self.tests.get((task, policy, dialogues if learns else 0))

    def values(
        self, tasks: Sequence[str], policy: str, dialogues: int, figure: Figure
    ) -> dict[int, float]:
        """Return the mean over tasks of each seed that has them all; nothing if a task lacks.

        `dialogues` is the number of training dialogues, `figure` "success" (percent) or "reward".
        """
        scores = self.scores(tasks, policy, dialogues, figure)
        return {seed: float(np.mean(row)) for seed, row in scores.items()}

    def scores(
        self, tasks: Sequence[str], policy: str, dialogues: int, figure: Figure
    ) -> dict[int, list[float]]:
        """Return the figures in tasks of each seed that has them all (see `values`)."""
        found = [self.get(task, policy, dialogues) for task in tasks]
        tests = [test for test in found if test is not None]
        if len(tests) < len(tasks) or not tasks:
            return {}
        columns = [test.of(figure) for test in tests]
        seeds = sorted(set.intersection(*(set(column) for column in columns)))
        return {seed: [column[seed] for column in columns] for seed in seeds}


def groups_of(tasks: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield tasks, and those of each domain and all as means, by name and with their tasks."""
    for task in tasks:
        yield task, (task,)
    domain_of = {name: task_named(name).domain for name in tasks}
    domains = dict.fromkeys(domain_of.values())
    for domain in domains:
        of_domain = tuple(name for name in tasks if domain_of[name] == domain)
        if len(of_domain) > 1:
            yield f"mean of {domain}", of_domain
    if len(domains) > 1:
        yield "mean of all", tuple(tasks)


def read_results(
    output: str | Path,
    findings: Findings | None = None,
    *,
    seeds: int | Container[int] | None = None,
) -> Results:
    """Return the tests of a run, or those of its first `seeds` or of some of them.

    Raises `UsageError` where there are none, `InputError` with every error in them; warnings go to
    `findings`.
    """
    if findings is None:
        findings = Findings()
    found: dict[tuple[str, str, int], dict[int, tuple[Episode, ...]]] = {}
    times: dict[tuple[str, str], dict[int, JobTimes]] = {}
    if isinstance(seeds, int):
        seeds = range(seeds)
    settings = run_settings(Path(output))
    folders = sorted(place.name for place in Path(output).glob("*") if find_task(place.name))
    for task in in_order(folders):
        for policy in PRESETS:
            for file in sorted((Path(output) / task / policy).glob(TESTS)):
                place = location_of(file)
                if place is not None and (seeds is None or place.seed in seeds):
                    of_seed = found.setdefault((task, policy, place.dialogues), {})
                    of_seed[place.seed] = read_episodes(
                        file, task, place.seed, settings=settings, findings=findings
                    )
                    with findings.collecting():
                        times.setdefault((task, policy), {})[place.seed] = read_times(file.parent)
    if not found:
        if not Path(output).is_dir():
            raise UsageError(f"there is no folder {output}")
        of = "" if seeds is None else " with these seeds"
        raise UsageError(f"{output} holds no tests of a benchmark run{of} (`mwzeval pydial run`)")
    findings.check()
    for (task, policy, dialogues), of_seed in found.items():
        if len({len(episodes) for episodes in of_seed.values()}) > 1:
            message = f"the tests after {dialogues} dialogues are not of the same size in all seeds"
            findings.of_file(str(Path(output) / task / policy)).warning("unequal-seeds", message)
    tests = {key: tests_of_seeds(key, of_seed) for key, of_seed in found.items()}
    return Results(tests, settings, Path(output), times)


def tests_of_seeds(
    key: tuple[str, str, int], of_seed: Mapping[int, Sequence[Episode]]
) -> PolicyTests:
    """Return the figures of tests, seed → dialogues; `key` is task, policy, training dialogues."""
    return PolicyTests(
        *key,
        success={seed: mean_of("success", episodes) for seed, episodes in of_seed.items()},
        reward={seed: mean_of("reward", episodes) for seed, episodes in of_seed.items()},
    )
