"""The figures of a run's tables, unrounded: means and interquartile means with their tests.

Tests are corrected by Holm's method over a whole table, which is one figure after one number of
training dialogues: those against the paper by themselves, and those against the best learned policy
of each row by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from mwzeval.pydial.board import published_results
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.over_seeds import (
    FEWEST_SEEDS,
    best_of,
    corrected,
    interval_over_seeds,
    least_deviation,
    p_value_over_seeds,
    p_value_to_published,
)
from mwzeval.pydial.results.run_results import LIMITS, Figure, Results
from mwzeval.statistics.runs import interquartile_mean, probability_of_improvement

MEAN, IQM = "mean", "iqm"
REWARD_OF_A_PERCENT = 0.2
"""What a success rate that is higher by 1 % adds to the mean reward, at least."""


@dataclass(frozen=True, slots=True)
class Record:
    """A figure of a policy in a row of a table.

    `row` is a task, or the name of several, `of` "mean" (over seeds and tasks) or "iqm". `low` and
    `high` are the ends of its interval, None for too few seeds, `published` is the paper's figure.
    P values are two-sided and corrected over the table, None where there was no test:
    `p_published` of the difference to the paper, `p_best` of that to the best learned policy of the
    row, which `best` is.
    """

    row: str
    of: str
    policy: str
    dialogues: int
    figure: Figure
    value: float
    low: float | None
    high: float | None
    seeds: int
    published: float | None = None
    p_published: float | None = None
    best: bool = False
    p_best: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return it for JSON and CSV."""
        return asdict(self)


Groups = Sequence[tuple[str, Sequence[str]]]
"""Rows of a table with their tasks, see `run_results.groups_of`."""


def records_of(
    results: Results, dialogues: int, figure: Figure, groups: Groups | None = None
) -> tuple[Record, ...]:
    """Return the figures of a table, by row and policy; rows are `groups`, or those of the run."""
    rows = tuple(results.groups()) if groups is None else groups
    records, to_published = [], {}
    for name, tasks in rows:
        for policy in results.policies:
            of_seed = results.values(tasks, policy, dialogues, figure)
            if not of_seed:
                continue
            values = list(of_seed.values())
            interval = interval_over_seeds(values, limits=LIMITS[figure])
            published = _published(tasks, policy, dialogues, figure)
            if published is not None:
                least = _least_deviation(tasks, policy, dialogues, figure)
                to_published[name, policy] = p_value_to_published(values, published, least)
            low, high = (None, None) if interval is None else (interval.low, interval.high)
            mean = float(np.mean(values))
            records.append(
                Record(
                    name, MEAN, policy, dialogues, figure, mean, low, high, len(values), published
                )
            )
    best, to_best = _against_best(results, rows, dialogues, figure)
    p_published, p_best = corrected(to_published), corrected(to_best)
    tested = [
        replace(
            record,
            best=best.get(record.row) == record.policy,
            p_published=p_published.get((record.row, record.policy)),
            p_best=p_best.get((record.row, record.policy)),
        )
        for record in records
    ]
    return (*tested, *_interquartile_means(results, rows, dialogues, figure))


def _against_best(
    results: Results, groups: Groups, dialogues: int, figure: Figure
) -> tuple[dict[str, str], dict[tuple[str, str], float | None]]:
    """Return the best learned policy of each row, and uncorrected p values of the others."""
    bests, p_values = {}, {}
    for name, tasks in groups:
        learned = {
            policy: of_seed
            for policy in results.policies
            if PRESETS[policy].learns
            and (of_seed := results.values(tasks, policy, dialogues, figure))
        }
        if len(learned) > 1:
            best = bests[name] = best_of(learned)
            for policy, of_seed in learned.items():
                if policy != best:
                    p_values[name, policy] = p_value_over_seeds(learned[best], of_seed)
    return bests, p_values


def _interquartile_means(
    results: Results, groups: Groups, dialogues: int, figure: Figure
) -> Iterator[Record]:
    for name, tasks in groups:
        for policy in results.policies if len(tasks) > 1 else ():
            scores = results.scores(tasks, policy, dialogues, figure)
            if scores:
                found = interquartile_mean(np.array(list(scores.values())))
                interval = found.interval if len(scores) >= FEWEST_SEEDS else None
                low, high = (None, None) if interval is None else (interval.low, interval.high)
                yield Record(
                    name, IQM, policy, dialogues, figure, found.value, low, high, len(scores)
                )


def _published(tasks: Sequence[str], policy: str, dialogues: int, figure: str) -> float | None:
    """Return the mean of the paper's figures, None unless it has them all."""
    label = PRESETS[policy].published
    return None if label is None else published_results().mean(tasks, label, dialogues, figure)


def _least_deviation(tasks: Sequence[str], policy: str, dialogues: int, figure: Figure) -> float:
    rates = [_published([task], policy, dialogues, "success") for task in tasks]
    least = least_deviation([rate for rate in rates if rate is not None])
    return least if figure == "success" else REWARD_OF_A_PERCENT * least


@dataclass(frozen=True, slots=True)
class Improvement:
    """How likely `policy` is better than `than`, on average over all tasks; see `Record`."""

    policy: str
    than: str
    dialogues: int
    figure: Figure
    value: float
    low: float | None
    high: float | None
    seeds: int

    def plain(self) -> dict[str, Any]:
        """Return it for JSON and CSV."""
        return {"row": "all", "of": "improvement", **asdict(self)}


def improvements_of(results: Results, dialogues: int, figure: Figure) -> tuple[Improvement, ...]:
    """Return those of all pairs of policies that have all tasks of the last mean, both ways."""
    *_, (_, tasks) = results.groups()
    tables = {
        policy: np.array(list(scores.values()))
        for policy in results.policies
        if (scores := results.scores(tasks, policy, dialogues, figure))
    }
    found = []
    for (first, mine), (second, theirs) in combinations(tables.items(), 2):
        seeds = min(len(mine), len(theirs))
        likely = probability_of_improvement(mine, theirs)
        ends = None if seeds < FEWEST_SEEDS else likely.interval
        low, high = (None, None) if ends is None else (ends.low, ends.high)
        found.append(Improvement(first, second, dialogues, figure, likely.value, low, high, seeds))
        low, high = (None, None) if ends is None else (1 - ends.high, 1 - ends.low)
        other = 1 - likely.value
        found.append(Improvement(second, first, dialogues, figure, other, low, high, seeds))
    return tuple(found)


def seconds_of(results: Results) -> Mapping[tuple[str, int], tuple[float, int]]:
    """Return mean CPU seconds of training, and of how many jobs, by policy and dialogues."""
    found: dict[tuple[str, int], list[float]] = {}
    for (_, policy), of_seed in results.times.items():
        for times in of_seed.values():
            for dialogues, seconds in times.training.items():
                found.setdefault((policy, dialogues), []).append(seconds)
    return {key: (float(np.mean(seconds)), len(seconds)) for key, seconds in found.items()}
