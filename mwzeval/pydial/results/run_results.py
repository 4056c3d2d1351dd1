"""The tests of a run: success and reward of each seed, how sure they are, and the paper's tables.

Source: Casanueva et al. (2017): Table 6 is after 1,000 training dialogues, 4 after 4,000, 7 after
10,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mwzeval.errors import UsageError
from mwzeval.pydial.board import published_results
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.run_folder import TESTS, RunSettings, location_of, run_settings
from mwzeval.pydial.runs.scoring import mean_of
from mwzeval.pydial.tasks import Goodbye, find_tasks, in_order, tasks_named
from mwzeval.report.formats import Cell, Document, Sheet, sheet
from mwzeval.scores.findings import Findings
from mwzeval.statistics import CONFIDENCE, Interval, holm

Figure = Literal["success", "reward"]
FIGURES: tuple[Figure, ...] = ("success", "reward")


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

    `settings` are those of the run.
    """

    tests: Mapping[tuple[str, str, int], PolicyTests]
    settings: RunSettings = RunSettings()  # noqa: RUF009

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

    def groups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the tasks, and the domains and all as means, by name and with their tasks.

        Tasks that are joined are in no mean: theirs is the mean of their own.
        """
        for task in self.tasks:
            yield task, (task,)
        of_task = {name: found for name in self.tasks if len(found := tasks_named(name)) == 1}
        tasks = tuple(of_task)
        domains = dict.fromkeys(found.domain for (found,) in of_task.values())
        for domain in domains:
            of_domain = tuple(name for name in tasks if of_task[name][0].domain == domain)
            if len(of_domain) > 1:
                yield f"mean of {domain}", of_domain
        if len(domains) > 1:
            yield "mean of all", tasks

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
        found = [self.get(task, policy, dialogues) for task in tasks]
        tests = [test for test in found if test is not None]
        if len(tests) < len(tasks) or not tasks:
            return {}
        columns = [test.of(figure) for test in tests]
        seeds = sorted(set.intersection(*(set(column) for column in columns)))
        return {seed: float(np.mean([column[seed] for column in columns])) for seed in seeds}


def read_results(output: str | Path, findings: Findings | None = None) -> Results:
    """Return the tests of a run.

    Raises `UsageError` where there are none, `InputError` with every error in them; warnings go to
    `findings`.
    """
    if findings is None:
        findings = Findings()
    found: dict[tuple[str, str, int], dict[int, tuple[Episode, ...]]] = {}
    settings = run_settings(Path(output))
    folders = sorted(place.name for place in Path(output).glob("*") if find_tasks(place.name))
    for task in in_order(folders):
        for policy in PRESETS:
            for file in sorted((Path(output) / task / policy).glob(TESTS)):
                place = location_of(file)
                if place is not None:
                    of_seed = found.setdefault((task, policy, place.dialogues), {})
                    of_seed[place.seed] = read_episodes(
                        file, task, place.seed, settings=settings, findings=findings
                    )
    if not found:
        if not Path(output).is_dir():
            raise UsageError(f"there is no folder {output}")
        raise UsageError(f"{output} holds no tests of a benchmark run (`mwzeval pydial run`)")
    findings.check()
    for (task, policy, dialogues), of_seed in found.items():
        if len({len(episodes) for episodes in of_seed.values()}) > 1:
            message = f"the tests after {dialogues} dialogues are not of the same size in all seeds"
            findings.of_file(str(Path(output) / task / policy)).warning("unequal-seeds", message)
    return Results({key: tests_of_seeds(key, of_seed) for key, of_seed in found.items()}, settings)


def tests_of_seeds(
    key: tuple[str, str, int], of_seed: Mapping[int, Sequence[Episode]]
) -> PolicyTests:
    """Return the figures of tests, seed → dialogues; `key` is task, policy, training dialogues."""
    return PolicyTests(
        *key,
        success={seed: mean_of("success", episodes) for seed, episodes in of_seed.items()},
        reward={seed: mean_of("reward", episodes) for seed, episodes in of_seed.items()},
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


TABLE_OF_PAPER = {4000: "4", 1000: "6", 10_000: "7"}
LABELS: Mapping[Figure, str] = {"success": "success rate (%)", "reward": "reward"}
ALIKE = "†"
MISSING = "–"
NOTE_ON_SEEDS = (
    "± reaches to the ends of the 95 % t interval over seeds. "
    f"{ALIKE} not significantly worse than the best learned policy of the row, which is bold in "
    "Markdown and LaTeX (paired t test over seeds, Holm)."
)
NOTE_ON_PAPER = (
    "▲ ▼: the interval lies above, below the paper's figure, which stands behind the policy's own."
)
NOTES_ON_GOODBYES: Mapping[Goodbye, str] = {
    "user": "In environments 2 and 4 learned policies leave goodbyes to the user (`--goodbye`).",
    "policy": "In environments 2 and 4 learned policies may say goodbye at any time (`--goodbye`).",
}


def table_document(results: Results, dialogues: Sequence[int] | None = None) -> Document:
    """Return tables of a run, one for success and one for reward after each number of dialogues.

    Raises `UsageError` for a number of dialogues after which nothing was tested.
    """
    known = results.dialogues or (0,)
    chosen = known if dialogues is None else tuple(dialogues)
    for number in chosen:
        if number not in known:
            raise UsageError(
                f"nothing was tested after {number} dialogues "
                f"({', '.join(str(at) for at in known)})"
            )
    records = [
        record for at in chosen for figure in FIGURES for record in _records(results, at, figure)
    ]
    sheets = [_sheet(results, at, figure) for at in chosen for figure in FIGURES]
    notes = tuple(_notes(results, records))
    heading = ("PyDial benchmark",)
    return Document(heading, tuple(sheets), notes, tuple(records), {"results": records})


def _notes(results: Results, records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is to be known to read the tables; nothing about what they do not have."""
    yield NOTE_ON_SEEDS
    if any(record["published"] is not None for record in records):
        yield NOTE_ON_PAPER
    learned = any(PRESETS[name].learns for name in results.policies)
    goodbye = results.settings.goodbye
    if (
        goodbye
        and learned
        and any("bye" not in task.masks for name in results.tasks for task in tasks_named(name))
    ):
        yield NOTES_ON_GOODBYES[goodbye]


def _records(results: Results, dialogues: int, figure: Figure) -> Iterator[dict[str, Any]]:
    """Yield the figures of each row and policy, unrounded."""
    for name, tasks in results.groups():
        for policy in results.policies:
            of_seed = results.values(tasks, policy, dialogues, figure)
            if not of_seed:
                continue
            values = list(of_seed.values())
            interval = interval_over_seeds(values, limits=LIMITS[figure])
            yield {
                "row": name,
                "policy": policy,
                "dialogues": dialogues,
                "figure": figure,
                "value": float(np.mean(values)),
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
                "seeds": len(values),
                "published": _published(tasks, policy, dialogues, figure),
            }


def _published(tasks: Sequence[str], policy: str, dialogues: int, figure: Figure) -> float | None:
    """Return the mean of the paper's figures, None unless it has them all."""
    label = PRESETS[policy].published
    found = [published_results().figure(task, label, dialogues, figure) for task in tasks]
    figures = [value for value in found if value is not None]
    return float(np.mean(figures)) if len(figures) == len(tasks) else None


def _sheet(results: Results, dialogues: int, figure: Figure) -> Sheet:
    records = {(r["row"], r["policy"]): r for r in _records(results, dialogues, figure)}
    with_paper = {policy for (_, policy), r in records.items() if r["published"] is not None}
    header = ["Task"]
    for policy in results.policies:
        header += [PRESETS[policy].label, *(["paper"] if policy in with_paper else [])]
    rows = []
    for name, tasks in results.groups():
        learned = {
            policy: values
            for policy in results.policies
            if PRESETS[policy].learns
            and (values := results.values(tasks, policy, dialogues, figure))
        }
        best, alike = not_worse_than_best(learned) if len(learned) > 1 else ("", frozenset[str]())
        row: list[Cell | str] = [name]
        for policy in results.policies:
            record = records.get((name, policy))
            row.append(_cell(record, policy == best, policy in alike))
            if policy in with_paper:
                published = None if record is None else record["published"]
                row.append(MISSING if published is None else f"{published:.1f}")
        rows.append(row)
    table = TABLE_OF_PAPER.get(dialogues)
    beside = f" (the paper's Table {table})" if table and with_paper else ""
    title = f"After {dialogues} training dialogues: {LABELS[figure]}{beside}"
    return sheet(title, header, rows)


def _cell(record: Mapping[str, Any] | None, best: bool, alike: bool) -> Cell:
    if record is None:
        return Cell(MISSING)
    text = f"{record['value']:.1f}"
    mark = ALIKE if alike else ""
    if record["low"] is not None:
        # Of an interval that was cut off, the longer side.
        reach = max(record["high"] - record["value"], record["value"] - record["low"])
        text += f" ±{reach:.1f}"
        published = record["published"]
        if published is not None:
            mark += "▲" * (record["low"] > published) + "▼" * (record["high"] < published)
    return Cell(text, best=best, mark=mark)
