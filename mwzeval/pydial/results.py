"""The tests of a run, and statistics over its seeds and tasks.

The scores of a learned policy differ by tens of points between seeds. With fewer than
`FEWEST_SEEDS` seeds, only means are reported, because the t interval of three seeds is ±2.5
standard deviations.

Aggregates over tasks are computed from an array of shape (runs, tasks). Their intervals resample
runs within each task, so they describe the variation between runs on these tasks, not between
tasks. Source: Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
Precipice", NeurIPS 2021; the stratified bootstrap and the two aggregates are defined as in its
library `rliable`.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.episode_files import (
    TESTS,
    RunSettings,
    location_of,
    read_episodes,
    run_settings,
)
from mwzeval.pydial.episodes import Episode
from mwzeval.pydial.job import training_seconds
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.scoring import mean_of
from mwzeval.pydial.tasks import find_task, in_order, task_named
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Interval
from mwzeval.statistics.bootstrap import SEED, percentile_interval
from mwzeval.statistics.intervals import CONFIDENCE
from mwzeval.statistics.runs import FEWEST_RUNS, generator
from mwzeval.statistics.tests import holm

Figure = Literal["success", "reward"]
FIGURES: tuple[Figure, ...] = ("success", "reward")
NO_LIMITS = (-math.inf, math.inf)
LIMITS: Mapping[Figure, tuple[float, float]] = {"success": (0.0, 100.0), "reward": NO_LIMITS}
FEWEST_SEEDS = FEWEST_RUNS
"""If there are fewer seeds, intervals and tests are omitted."""
PUBLISHED_SEEDS, PUBLISHED_TESTS = 10, 500
"""The numbers of seeds and of test dialogues from which each result of the paper comes."""
ROUNDED = 0.05
"""The maximum rounding error of the paper's results, which have one decimal place."""

Groups = Sequence[tuple[str, Sequence[str]]]
"""The rows of a table: pairs of a name and the names of tasks (see `groups_of`)."""
Key = TypeVar("Key", bound=Hashable)


SeedScores = Mapping[Figure, Mapping[int, float]]
"""The test results of a policy in a task, by score and seed: success rate (percent) and mean
reward."""


@dataclass(frozen=True, slots=True)
class Results:
    """All test results, by task, policy and number of training dialogues.

    `settings` are the settings of the run in `folder`. `seconds` contains the known CPU seconds of
    training: by task and policy, by seed, and by number of training dialogues.
    """

    tests: Mapping[tuple[str, str, int], SeedScores]
    settings: RunSettings = RunSettings()  # noqa: RUF009
    folder: Path = Path()
    seconds: Mapping[tuple[str, str], Mapping[int, Mapping[int, float]]] = field(
        default_factory=dict
    )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that have test results, in the order of the paper."""
        return in_order(key[0] for key in self.tests)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that have test results, in the order of the tables."""
        there = {key[1] for key in self.tests}
        return tuple(name for name in PRESETS if name in there)

    @property
    def dialogues(self) -> tuple[int, ...]:
        """The numbers of training dialogues after which a policy was tested."""
        return tuple(sorted({key[2] for key in self.tests} - {0}))

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds that have test results."""
        return tuple(sorted({seed for test in self.tests.values() for seed in test["success"]}))

    def groups(self) -> Groups:
        """Return the groups of the run's tasks (see `groups_of`)."""
        return groups_of(self.tasks)

    def scores(
        self, tasks: Sequence[str], policy: str, dialogues: int, figure: Figure
    ) -> dict[int, list[float]]:
        """Return the results by task for each seed that has all tasks, or {} if a task is missing.

        `dialogues` is the number of training dialogues; `figure` is "success" (percent) or
        "reward".
        """
        at = dialogues if PRESETS[policy].learns else 0
        tests = [self.tests[key] for task in tasks if (key := (task, policy, at)) in self.tests]
        if len(tests) < len(tasks) or not tasks:
            return {}
        columns = [test[figure] for test in tests]
        seeds = sorted(set.intersection(*(set(column) for column in columns)))
        return {seed: [column[seed] for column in columns] for seed in seeds}


def groups_of(tasks: Sequence[str]) -> Groups:
    """Return the groups by name: single tasks, the tasks of each domain, and all tasks."""
    domain_of = {name: task_named(name).domain for name in tasks}
    groups: list[tuple[str, tuple[str, ...]]] = [(task, (task,)) for task in tasks]
    domains = dict.fromkeys(domain_of.values())
    for domain in domains:
        of_domain = tuple(name for name in tasks if domain_of[name] == domain)
        if len(of_domain) > 1:
            groups.append((f"mean of {domain}", of_domain))
    if len(domains) > 1:
        groups.append(("mean of all", tuple(tasks)))
    return groups


def read_results(
    output: str | Path,
    findings: Findings | None = None,
    *,
    seeds: int | Container[int] | None = None,
) -> Results:
    """Return the test results of a run. `seeds` is a number, which selects the first seeds, or a
    list of seeds.

    Raises `UsageError` if there are no tests, and `InputError` with all errors in the tests.
    Warnings about the test results are added to `findings`.
    """
    findings = Findings() if findings is None else findings
    seeds = range(seeds) if isinstance(seeds, int) else seeds
    folder = Path(output)
    settings = run_settings(folder)
    episodes: dict[tuple[str, str, int], dict[int, tuple[Episode, ...]]] = {}
    seconds: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for task in in_order(sorted(place.name for place in folder.glob("*") if find_task(place.name))):
        for policy in PRESETS:
            for file in sorted((folder / task / policy).glob(TESTS)):
                place = location_of(file)
                if place is not None and (seeds is None or place.seed in seeds):
                    of_seed = episodes.setdefault((task, policy, place.dialogues), {})
                    of_seed[place.seed] = read_episodes(
                        file, task, place.seed, settings=settings, findings=findings
                    )
                    try:
                        took = training_seconds(file.parent)
                        seconds.setdefault((task, policy), {})[place.seed] = took
                    except InputError as error:  # the scores do not need the times
                        findings.extend(replace(p, severity="warning") for p in error.problems)
    if not episodes:
        if not folder.is_dir():
            raise UsageError(f"there is no folder {output}")
        suffix = "" if seeds is None else " with these seeds"
        raise UsageError(f"{output} contains no tests of a run{suffix} (`mwzeval pydial run`)")
    findings.check()
    for (task, policy, dialogues), of_seed in episodes.items():
        if len(set(map(len, of_seed.values()))) > 1:
            message = (
                f"the tests after {dialogues} training dialogues have different numbers of "
                "dialogues for different seeds"
            )
            findings.of_file(str(folder / task / policy)).warning("unequal-seeds", message)
    tests = {key: scores_of_seeds(of_seed) for key, of_seed in episodes.items()}
    return Results(tests, settings, folder, seconds)


def scores_of_seeds(of_seed: Mapping[int, Sequence[Episode]]) -> SeedScores:
    """Return a policy's test results from episodes by seed."""
    return {
        figure: {seed: mean_of(figure, episodes) for seed, episodes in of_seed.items()}
        for figure in FIGURES
    }


def interval_over_seeds(
    values: Sequence[float], limits: tuple[float, float] = NO_LIMITS
) -> Interval | None:
    """Return the 95 % t interval of a mean over seeds, within `limits`; None for too few seeds."""
    if len(values) < FEWEST_SEEDS:
        return None
    from scipy.stats import t

    array = np.asarray(values, dtype=np.float64)
    error = float(array.std(ddof=1)) / math.sqrt(len(array))
    reach = float(t.ppf(0.5 + CONFIDENCE / 2, len(array) - 1)) * error
    mean = float(array.mean())
    low, high = max(mean - reach, limits[0]), min(mean + reach, limits[1])
    return Interval(low, high, CONFIDENCE, "t-over-seeds")


def p_value_over_seeds(mine: Mapping[int, float], theirs: Mapping[int, float]) -> float | None:
    """Return the two-sided p value of a paired t test over seeds, or None for too few shared seeds.

    Runs are paired by seed, because the seed determines the confusion table and the test users.
    """
    seeds = sorted(set(mine) & set(theirs))
    if len(seeds) < FEWEST_SEEDS:
        return None
    differences = np.array([mine[seed] - theirs[seed] for seed in seeds])
    error = float(differences.std(ddof=1)) / math.sqrt(len(seeds))
    return _p_value(float(differences.mean()), error, len(seeds) - 1)


def p_value_to_published(
    values: Sequence[float], published: float, least_deviation: float
) -> float | None:
    """Return the two-sided p value of the difference between `values` and the paper's mean.

    The paper does not report the variance between seeds, so the variance of `values` is used for
    `values` and for the paper's results. The standard error is s √(1/n + 1/10), with n - 1 degrees
    of freedom, as in Welch's test with a single estimated variance. `least_deviation` is a lower
    bound for the standard deviation in the paper, computed from the number of test dialogues.
    Differences within the paper's rounding count as 0. The result is None if there are too few
    seeds.
    """
    if len(values) < FEWEST_SEEDS:
        return None
    array = np.asarray(values, dtype=np.float64)
    own = float(array.var(ddof=1))
    theirs = max(own, least_deviation**2)
    error = math.sqrt(own / len(array) + theirs / PUBLISHED_SEEDS)
    difference = max(0.0, abs(float(array.mean()) - published) - ROUNDED)
    return _p_value(difference, error, len(array) - 1)


def _p_value(difference: float, error: float, freedom: int) -> float:
    """Return the two-sided p value of a difference with a standard error."""
    from scipy.stats import t

    if difference == 0.0:
        return 1.0
    return float(2 * t.sf(abs(difference) / error, freedom)) if error else 0.0


def least_deviation(success_rates: Sequence[float]) -> float:
    """Return the standard deviation, in percent, of a seed's mean success rate over tasks.

    The result is the deviation of a binomial distribution for the number of test dialogues.
    `success_rates` are the success rates (percent) of the paper in the tasks.
    """
    variances = [rate * (100 - rate) / PUBLISHED_TESTS for rate in success_rates]
    return math.sqrt(sum(variances)) / len(variances)


def corrected(p_values: Mapping[Key, float | None]) -> dict[Key, float]:
    """Return all p values that are not None after Holm's correction."""
    known = {key: p for key, p in p_values.items() if p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def all_seeds(seeds: Iterable[int]) -> str:
    """Return seeds as a short text: "0-9", "3, 7, 101-110"."""
    ranges: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


STRATIFIED = "stratified-bootstrap"
RESAMPLES = 2000
"""The default of `rliable` for profiles. With this number of resamples, the ends of an interval
vary by about 2 % of its length."""

Scores = NDArray[np.float64]
"""An array of scores, shape (runs, tasks)."""


class Aggregate(NamedTuple):
    """An aggregate over all tasks, and its interval from resampled runs (None for a single run)."""

    value: float
    interval: Interval | None


def interquartile_mean(scores: Scores) -> Aggregate:
    """Return the interquartile mean of all n scores, without n // 4 scores at each end."""
    value = float(_middle_means(scores.reshape(1, -1))[0])
    if len(scores) < 2:
        return Aggregate(value, None)
    drawn = generator(SEED, 0).integers(0, len(scores), size=(RESAMPLES, *scores.shape))
    samples = np.take_along_axis(scores[np.newaxis], drawn, axis=1)
    means = _middle_means(samples.reshape(RESAMPLES, -1))
    return Aggregate(value, percentile_interval(means, CONFIDENCE, STRATIFIED))


def probability_of_improvement(scores: Scores, others: Scores) -> Aggregate:
    """Return the probability that one run is better than a run of `others`, as the mean over tasks.

    Equal scores count as half an improvement. The two sets of runs are resampled independently,
    even if they have the same seeds.
    """
    mine, theirs = scores[:, np.newaxis], others[np.newaxis]
    better = (mine > theirs) + 0.5 * (mine == theirs)
    value = float(better.mean())
    if min(len(scores), len(others)) < 2:
        return Aggregate(value, None)
    weights, other_weights = (_weights(table, part) for part, table in ((1, scores), (2, others)))
    samples = np.einsum("sit,ijt,sjt->st", weights, better, other_weights, optimize=True)
    return Aggregate(value, percentile_interval(samples.mean(axis=1), CONFIDENCE, STRATIFIED))


def _weights(scores: Scores, part: int) -> NDArray[np.float64]:
    runs, tasks = scores.shape
    drawn = generator(SEED, part).multinomial(
        runs, np.full(runs, 1 / runs), size=(RESAMPLES, tasks)
    )
    return np.asarray(drawn.transpose(0, 2, 1) / runs)


def _middle_means(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    cut = rows.shape[1] // 4
    return np.asarray(np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1))
