"""The results of the paper, and its tables with additional results.

Source: Casanueva et al. (2017). Tables 4, 6 and 7 have results after 4,000, 1,000 and 10,000
training dialogues; Table 8 has results in other environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.files.downloads import embedded
from mwzeval.pydial.tasks import PUBLISHED_TASKS
from mwzeval.report.leaderboard import (
    Column,
    Figure,
    LeaderboardRow,
    LeaderboardTable,
    read_published,
)
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """Results of the paper: `after` maps a number of training dialogues, a task and a policy to
    success and reward.

    Success rates are in percent. `cross` maps a policy, its training task and a test task to a
    reward.
    """

    after: Mapping[int, Mapping[str, Mapping[str, tuple[float, float]]]]
    cross: Mapping[str, Mapping[str, Mapping[str, float]]]

    def mean(self, tasks: Sequence[str], policy: str, dialogues: int, figure: str) -> float | None:
        """Return the mean over tasks, or None if the paper does not report all of these results.

        `policy` is the paper's name of the policy, `dialogues` is the number of training dialogues,
        and `figure` is "success" (percent) or "reward" (per dialogue).
        """
        results = self.after.get(dialogues, {})
        found = [results.get(task, {}).get(policy) for task in tasks]
        known = [pair[figure == "reward"] for pair in found if pair is not None]
        return sum(known) / len(known) if len(known) == len(tasks) else None


@cache
def published_results() -> PublishedResults:
    """Return the results that the paper reports."""
    return read_published(embedded("leaderboards", "pydial.json"), _results)


def _results(plain: Any) -> PublishedResults:
    after = {
        int(dialogues): {
            task: {policy: (float(s), float(r)) for policy, (s, r) in row.items()}
            for task, row in tasks.items()
        }
        for dialogues, tasks in plain["after"].items()
    }
    return PublishedResults(after, plain["cross"])


TABLES = {1000: 6, 4000: 4, 10_000: 7}
POLICIES = ("Handcrafted", "GP-SARSA", "DQN", "A2C", "eNAC")
FIGURES = {"success": "success rate (%)", "reward": "reward"}
MEAN = "mean"
NOTE = (
    "Casanueva et al. (2017), means of 10 seeds × 500 dialogues. The handcrafted policy does not "
    "learn, so its scores are the same in all tables. Your system's scores are also the same in "
    "all tables: for a run's folder, they are from the last tests, or with --dialogues N from the "
    "tests after N training dialogues."
)


def published_document(task: str | None, entry: Report | None) -> Document:
    """Return the published results of one task or of the tasks in `entry` (default: all tasks).

    Raises `UsageError` if the domain is embedded, because embedded domains have no published
    results.
    """
    own = _own(entry) if entry else {}
    scored = {name for row in own.values() for name in row.figures if name != MEAN}
    asked = {task} if task is not None else scored
    tasks = [name for name in PUBLISHED_TASKS if name in asked or not asked]
    if not tasks or not asked.issubset(tasks):
        raise UsageError(
            "there are no published results for the embedded Demo tasks: leave them out"
        )
    tables = [
        _table(tasks, dialogues, figure, own.get(figure))
        for dialogues in TABLES
        for figure in FIGURES
    ]
    records = tuple(
        {
            "task": name,
            "policy": row.system,
            **table.keys,
            **figure.plain(),
            "published": row.kind == "published",
        }
        for table in tables
        for row, name, figure in table.figures()
    )
    sheets = tuple(table.sheet() for table in tables)
    return Document(("PyDial benchmark",), sheets, (NOTE,), records, {"rows": records})


def _table(
    tasks: Sequence[str], dialogues: int, figure: str, own: LeaderboardRow | None
) -> LeaderboardTable:
    """Return a table of the paper with a line per task and, for several tasks, their mean."""
    lines = {task: [task] for task in tasks} | ({MEAN: list(tasks)} if len(tasks) > 1 else {})
    results = published_results()
    rows = []
    for policy in POLICIES:
        means = {
            name: results.mean(group, policy, dialogues, figure) for name, group in lines.items()
        }
        known = {name: Figure(value) for name, value in means.items() if value is not None}
        rows.append(LeaderboardRow(policy, known))
    table = LeaderboardTable(
        title=f"{FIGURES[figure]} after {dialogues} training dialogues (Table {TABLES[dialogues]})",
        keys={"dialogues": dialogues, "figure": figure},
        columns=[Column(name, name, 1) for name in lines],
        rows=tuple(rows),
        heading="Task",
        transposed=True,
    )
    return table.with_own(own) if own else table


def _own(entry: Report) -> dict[str, LeaderboardRow]:
    """Return the rows of an entry by score. Each row has the results per task and their mean."""
    rows = {figure: LeaderboardRow(entry.name, {}, "own") for figure in FIGURES}
    only_whole = {score.scope for score in entry.scores} == {WHOLE}
    for score in entry.scores:
        if score.name in FIGURES:
            row = rows[score.name]
            name = score.scope
            if name == WHOLE:
                name = str(entry.meta["tasks"]) if only_whole else MEAN
            figures = {**row.figures, name: Figure(score.value, score.interval)}
            rows[score.name] = LeaderboardRow(row.system, figures, "own")
    return rows
