"""The paper's Tables 4, 6 and 7 with a run's figures beside them.

Source: Casanueva et al. (2017): Table 6 is after 1,000 training dialogues, 4 after 4,000, 7 after
10,000.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mwzeval.errors import UsageError
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.published_results import published_results
from mwzeval.pydial.runs.results import (
    FIGURES,
    LIMITS,
    Figure,
    Results,
    interval_over_seeds,
    not_worse_than_best,
)
from mwzeval.pydial.tasks import TASKS
from mwzeval.report.sheet import Cell, Document, Sheet, sheet

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
NOTE_ON_GOODBYES = (
    "In environments 2 and 4, unless legacy, learned policies leave goodbyes to the user."
)


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
    if learned and any("bye" not in TASKS[name].masks for name in results.tasks):
        yield NOTE_ON_GOODBYES


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
