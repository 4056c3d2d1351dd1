"""Tables of policies of a run that were tested under other conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mwzeval.pydial.board import FIGURES as LABELS
from mwzeval.pydial.board import published_results
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.means import MISSING, mean_cell, notes_on_means
from mwzeval.pydial.results.over_seeds import (
    corrected,
    interval_over_seeds,
    p_value_to_published,
)
from mwzeval.pydial.results.run_results import FIGURES, LIMITS, Figure
from mwzeval.pydial.results.tables import NOTE_ON_PAPER
from mwzeval.pydial.runs.retest import Retest
from mwzeval.pydial.tasks import in_order, task_named
from mwzeval.scores.sheets import Cell, Document, Sheet, sheet
from mwzeval.statistics.intervals import CONFIDENCE

TRAINED = "*"
NOTE_ON_TRAINED = f"{TRAINED} in the task of training, with its errors and users."
NOTE_ON_TABLE = "In brackets the paper's Table 8."
Record = Mapping[str, Any]


def retest_document(retests: Sequence[Retest]) -> Document:
    """Return tables of success and reward, of each domain and kind of users.

    A row is a policy and the task that it was trained in, a column a task or an error rate. Rewards
    are shown with those of the paper's Table 8.
    """
    records = [record for figure in FIGURES for record in _records(retests, figure)]
    p_values = corrected({index: record["p_published"] for index, record in enumerate(records)})
    records = [{**r, "p_published": p_values.get(index)} for index, r in enumerate(records)]
    at_errors = any(r["errors"] != task_named(r["trained"]).error_rate for r in records)
    tables: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        tables.setdefault(_table(record, at_errors), []).append(record)
    sheets = (_sheet(*key, of_table) for key, of_table in tables.items())
    return Document((), tuple(sheets), tuple(_notes(records)), tuple(records), {"retest": records})


def _records(retests: Sequence[Retest], figure: Figure) -> Iterator[dict[str, Any]]:
    for r in retests:
        values = list(r.tests.of(figure).values())
        interval = interval_over_seeds(values, limits=LIMITS[figure])
        task = task_named(r.tested)
        of_paper = published_results().cross.get(PRESETS[r.policy].published or "", {})
        published = of_paper.get(r.trained, {}).get(r.tested) if r.user is None else None
        if figure != "reward":
            published = None
        yield {
            "policy": r.policy,
            "trained": r.trained,
            "tested": r.tested,
            "user": r.user or task.user_model,
            "condition": r.tested if r.user is None else f"{r.tested}, {r.user}",
            "errors": task.error_rate,
            "figure": figure,
            "value": float(np.mean(values)),
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "seeds": len(values),
            "as_trained": r.trained == r.tested and r.user is None,
            "published": published,
            "p_published": None
            if published is None
            else p_value_to_published(values, published, 0.0),
        }


def _table(record: Record, at_errors: bool) -> tuple[str, str]:
    """Return the title of the table that has a record, and the key that its columns show."""
    figure = LABELS[record["figure"]].capitalize()
    tested = task_named(record["tested"])
    if tested.base != task_named(record["trained"]).base:
        return f"{figure} in other environments of {tested.domain}", "condition"
    if at_errors:
        return f"{figure} with {record['user']} users, by errors", "errors"
    return f"{figure}, by users", "user"


def _sheet(title: str, key: str, records: Sequence[Record]) -> Sheet:
    values = {record[key] for record in records}
    order: Iterable[Any] = dict.fromkeys(record["user"] for record in records)
    if key != "user":
        order = sorted(values) if key == "errors" else _in_order(records)
    columns = [f"{100 * value:g} %" if key == "errors" else str(value) for value in order]

    def column(record: Record) -> str:
        return f"{100 * record[key]:g} %" if key == "errors" else str(record[key])

    by_place = {(r["trained"], r["policy"], column(r)): r for r in records}
    rows: list[list[Cell | str]] = [
        [
            trained,
            PRESETS[policy].label,
            *(_cell(by_place.get((trained, policy, name))) for name in columns),
        ]
        for trained in in_order(record["trained"] for record in records)
        for policy in PRESETS
        if any((trained, policy, name) in by_place for name in columns)
    ]
    return sheet(title, ["Trained in", "Policy", *columns], rows)


def _in_order(records: Sequence[Record]) -> Iterator[str]:
    for task in in_order(record["tested"] for record in records):
        yield from dict.fromkeys(r["condition"] for r in records if r["tested"] == task)


def _cell(record: Record | None) -> Cell:
    if record is None:
        return Cell(MISSING)
    value, published, p_value = record["value"], record["published"], record["p_published"]
    cell = mean_cell(value, record["low"], record["high"], record["seeds"])
    cell = replace(cell, mark=cell.mark + TRAINED * record["as_trained"])
    if published is None:
        return cell
    mark = cell.mark
    if p_value is not None and p_value <= 1 - CONFIDENCE:
        mark = "▲" if value > published else "▼"
    return Cell(f"{cell.text} ({published:.1f})", mark=mark)


def _notes(records: Sequence[Record]) -> Iterator[str]:
    if any(record["published"] is not None for record in records):
        yield NOTE_ON_TABLE
    yield from notes_on_means(record["seeds"] for record in records)
    if any(record["as_trained"] for record in records):
        yield NOTE_ON_TRAINED
    if any(record["p_published"] is not None for record in records):
        yield NOTE_ON_PAPER
