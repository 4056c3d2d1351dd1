"""The figures of the paper, and its tables with one's own results among them.

Source: Casanueva et al. (2017), Tables 4, 6, 7 (after 4,000, 1,000 and 10,000 training dialogues)
and 8 (other environments); data/pydial/published_results.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.files.json_files import read_json
from mwzeval.files.resources import embedded
from mwzeval.pydial.tasks import PUBLISHED_TASKS
from mwzeval.report.boards import Entry
from mwzeval.report.sheet import Cell, Document, Sheet, sheet
from mwzeval.scores.score import WHOLE


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """`after` holds by training dialogues, task and policy the success rate (percent) and reward.

    `cross` holds rewards by policy, the task trained in and the task tested in.
    """

    after: Mapping[int, Mapping[str, Mapping[str, tuple[float, float]]]]
    cross: Mapping[str, Mapping[str, Mapping[str, float]]]

    def figure(self, task: str, policy: str | None, dialogues: int, of: str) -> float | None:
        """Return "success" or "reward", None where the paper has no such figure."""
        pair = self.after.get(dialogues, {}).get(task, {}).get(policy or "")
        return None if pair is None else pair[of == "reward"]


@cache
def published_results() -> PublishedResults:
    """Return the figures of the paper."""
    plain: Any = read_json(embedded("pydial", "published_results.json"))
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
    "Casanueva et al. (2017), means of 10 seeds × 500 dialogues. The handcrafted policy learns "
    "nothing and is the same in all tables. Your system is, too: of a run's folder --dialogues N "
    "takes the tests after N training dialogues, instead of the last ones."
)


def published_document(task: str | None, entry: Entry | None) -> Document:
    """Return the published figures of a task, or of all that an entry has (of all without one).

    Raises `UsageError` for embedded domains, of which nothing is published.
    """
    own = _own(entry)
    system = entry.name if entry else ""
    asked = [task] if task is not None else [name for name in own if name != MEAN]
    tasks = [name for name in PUBLISHED_TASKS if name in asked or not asked]
    if not tasks or any(name not in tasks for name in asked):
        raise UsageError("nothing is published about the embedded domains: leave Demo tasks out")
    records = [
        record
        for dialogues in TABLES
        for figure in FIGURES
        for record in _records(tasks, own, dialogues, figure, system)
    ]
    sheets = [_sheet(records, at, figure) for at in TABLES for figure in FIGURES]
    return Document(
        ("PyDial benchmark",), tuple(sheets), (NOTE,), tuple(records), {"rows": records}
    )


def _own(entry: Entry | None) -> dict[str, dict[str, float]]:
    """Return one's own figures by row and figure."""
    own: dict[str, dict[str, float]] = {}
    if entry is None:
        return own
    scopes = {record["scope"] for record in entry.records}
    for record in entry.records:
        if record["score"] in FIGURES:
            row = MEAN if record["scope"] == WHOLE else record["scope"]
            if scopes == {WHOLE}:
                row = str(entry.meta["tasks"])
            own.setdefault(row, {})[record["score"]] = record["value"]
    return own


def _records(
    tasks: Sequence[str],
    own: dict[str, dict[str, float]],
    dialogues: int,
    figure: str,
    system: str,
) -> Iterator[dict[str, Any]]:
    results = published_results()
    for row in (*tasks, *([MEAN] if len(tasks) > 1 else [])):
        of_row = tasks if row == MEAN else [row]
        for policy in POLICIES:
            values = [results.figure(task, policy, dialogues, figure) for task in of_row]
            known = [value for value in values if value is not None]
            value = sum(known) / len(known) if len(known) == len(of_row) else None
            yield _record(row, policy, dialogues, figure, value)
        if own:
            yield _record(row, system, dialogues, figure, own.get(row, {}).get(figure))


def _record(
    row: str, policy: str, dialogues: int, figure: str, value: float | None
) -> dict[str, Any]:
    return {
        "task": row,
        "policy": policy,
        "dialogues": dialogues,
        "figure": figure,
        "value": value,
    }


def _sheet(records: Sequence[dict[str, Any]], dialogues: int, figure: str) -> Sheet:
    mine = [r for r in records if (r["dialogues"], r["figure"]) == (dialogues, figure)]
    policies = tuple(dict.fromkeys(record["policy"] for record in mine))
    rows = []
    for task in dict.fromkeys(record["task"] for record in mine):
        values = {r["policy"]: r["value"] for r in mine if r["task"] == task}
        best = max((v for v in values.values() if v is not None), default=None)
        cells = [
            Cell("–") if values[p] is None else Cell(f"{values[p]:.1f}", best=values[p] == best)
            for p in policies
        ]
        rows.append([Cell(str(task)), *cells])
    title = f"{FIGURES[figure]} after {dialogues} training dialogues (Table {TABLES[dialogues]})"
    return sheet(title, ["Task", *policies], rows)
