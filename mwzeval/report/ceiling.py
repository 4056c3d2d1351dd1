"""A score beside its ceiling: what the gold annotation gets under the same settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mwzeval.report.json import score_record
from mwzeval.report.model import Report
from mwzeval.report.sheet import Cell, Document, Sheet
from mwzeval.report.summary import COUNTS, summary
from mwzeval.scores.score import Score, Signature

GOLD = "gold responses and states"
NOTE = "ceiling: gold responses and states of the same dialogues, scored under the same settings"


def ceiling_report(report: Report) -> Report:
    """Return the report of the gold annotation with signatures that say so."""
    return replace(
        report,
        scores=tuple(_of_gold(score) for score in report.scores),
        meta={**report.meta, "predictions": GOLD},
    )


def ceiling_summary(report: Report, *, places: int | None = None) -> Document:
    """Return the scores of the gold annotation, in the form of any system's."""
    document = summary(report, places=places)
    return replace(document, heading=(*document.heading, f"These are {GOLD}, as a system's."))


def with_ceiling(report: Report, ceiling: Report) -> Report:
    """Return the report with the metrics of the gold annotation under `meta.ceiling`."""
    return replace(report, meta={**report.meta, "ceiling": dict(ceiling.metrics)})


def beside_ceiling(report: Report, ceiling: Report, *, places: int | None = None) -> Document:
    """Return the summary with the ceiling beside each score: a column, or a row below domains."""
    document = summary(report, places=places)
    rows = {
        row[0].text: row for sheet in summary(ceiling, places=places).sheets for row in sheet.rows
    }
    values = {(score.name, score.scope): score.value for score in ceiling.scores}
    return replace(
        document,
        sheets=tuple(
            _below(sheet, rows) if sheet.rows[-1][0].text == COUNTS else _beside(sheet, rows)
            for sheet in document.sheets
        ),
        notes=(*document.notes, NOTE),
        records=tuple(
            {**score_record(score), "ceiling": values.get((score.name, score.scope))}
            for score in report.scores
        ),
    )


def _beside(sheet: Sheet, ceiling: dict[str, tuple[Cell, ...]]) -> Sheet:
    """Return a sheet of one score a row with a column more."""
    return Sheet(
        sheet.title,
        (*sheet.header, "ceiling"),
        tuple((*row, _value(ceiling.get(row[0].text))) for row in sheet.rows),
    )


def _value(row: tuple[Cell, ...] | None) -> Cell:
    return row[1] if row else Cell("")


def _below(sheet: Sheet, ceiling: dict[str, tuple[Cell, ...]]) -> Sheet:
    """Return a sheet of one score a row and one domain a column with a row more for each score."""
    rows: list[tuple[Cell, ...]] = []
    waiting: tuple[Cell, ...] | None = None
    for row in sheet.rows:
        # The interval of a score is in the row below it, which has no name.
        if row[0].text and waiting:
            rows.append(waiting)
            waiting = None
        rows.append(row)
        found = ceiling.get(row[0].text)
        if found and row[0].text != sheet.rows[-1][0].text:
            waiting = (Cell("  ceiling"), *found[1:])
    return Sheet(sheet.title, sheet.header, tuple(rows))


def _of_gold(score: Score) -> Score:
    choices: dict[str, Any] = dict(score.signature.choices)
    if "state" in choices:
        choices["state"] = "gold"
    signature = Signature.of(score.signature.metric, choices | {"predictions": "gold"})
    return replace(score, signature=signature)
