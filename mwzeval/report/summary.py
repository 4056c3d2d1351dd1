"""Scores as documents: the summary of a report, the rows behind it, and the ceiling beside it.

The ceiling is what the gold annotation gets under the same settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mwzeval.errors import conditions
from mwzeval.scores.report import Report, score_record
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.sheets import Cell, Document, Sheet, interval_text, sheet

WIDEST = 10
"""More scopes than this stand below each other."""

COUNTS = "n"
"""Names the row with the numbers of units below scores by scope."""


def summary(report: Report, *, places: int | None = None) -> Document:
    """Return what was scored, all scores, and the signature of each metric.

    `places` overrides the customary number of decimals.
    """
    signatures = dict.fromkeys(str(score.signature) for score in report.scores)
    elsewhere = {name for sheet in report.figures for name in sheet.scores}
    scores = [score for score in report.scores if score.name not in elsewhere]
    of_systems, beside = _told_apart(scores, report.references, places)
    return Document(
        heading=tuple(_heading(report)),
        sheets=(*_sheets(of_systems, places, beside), *report.figures),
        notes=(*_about(report.references, beside), *signatures),
        signatures=tuple(signatures),
        records=score_records(report),
        plain=report,
    )


def score_records(report: Report) -> tuple[dict[str, Any], ...]:
    """Return all scores in long form; a column has the conditions of the report if it has some."""
    under = "; ".join(conditions(report.warnings))
    more = {"conditions": under} if under else {}
    return tuple({**score_record(score), **more} for score in report.scores)


def _told_apart(
    scores: Sequence[Score], references: Mapping[str, str], places: int | None
) -> tuple[list[Score], Beside]:
    """Return the scores of the system, and those of references as they stand beside them."""
    own: list[Score] = []
    beside: dict[str, dict[tuple[str, str], str]] = {}
    for score in scores:
        reference, _, name = score.name.partition(".")
        if reference in references:
            of = beside.setdefault(reference.replace("_", " "), {})
            of[name, score.scope] = shown(score, places)
        else:
            own.append(score)
    return own, beside


def _about(references: Mapping[str, str], beside: Beside) -> Iterator[str]:
    """Yield what the titles of references stand for."""
    for key, text in references.items():
        title = key.replace("_", " ")
        if title in beside:
            yield f"{title}: {text}"


def per_dialogue(report: Report) -> Document:
    """Return the rows behind the scores: one record a unit, its additive columns.

    `unit` in the report's `meta` is what a unit is called, if that is not a dialogue.
    """
    table, called = report.table, report.meta.get("unit", "dialogue")
    rows = table.values.tolist()
    records = tuple(
        {called: unit, **dict(zip(table.columns, map(plain_number, row), strict=True))}
        for unit, row in zip(table.units, rows, strict=True)
    )
    lines = [[str(value) for value in record.values()] for record in records]
    return Document(
        heading=tuple(_heading(report)),
        sheets=(sheet("", [called, *table.columns], lines),),
        notes=(),
        records=records,
        plain={f"{called}s": records},
    )


def plain_number(value: float) -> float | int:
    """Return whole numbers as such, for tables of counts."""
    return int(value) if value.is_integer() else value


def _heading(report: Report) -> Iterator[str]:
    meta = report.meta
    covered = [
        f"{count['scored']} of {count['of']} {what}"
        for what, count in meta["coverage"].items()
        if "of" in count
    ]
    rules = f", rules {meta['rules']}" if "rules" in meta else ""
    yield f"{meta['corpus']}, {meta['fold']} fold{rules}: {', '.join(covered)}"
    if any("responses" in dict(score.signature.choices) for score in report.scores):
        yield _kind_of_responses(meta)
    yield from conditions(report.warnings)
    if note := meta.get("note"):
        yield note


def _kind_of_responses(meta: Mapping[str, Any]) -> str:
    """Return what responses were taken to be, and on which counts."""
    found, turns = meta["responses"], meta["coverage"]["turns"]["scored"]
    return (
        f"responses {found['taken_as']}{' (as said)' if found['said'] else ''}: placeholders in "
        f"{found['with_placeholder']} of {turns} turns, identifiers as placeholders in "
        f"{found['identifier_as_placeholder']} and in words in {found['identifier_in_words']}"
    )


Beside = Mapping[str, Mapping[tuple[str, str], str]]
"""What stands beside scores (`ceiling`) → (name, scope) → its figure beside that score."""

NOTHING: Beside = {}


def _sheets(
    scores: Sequence[Score], places: int | None, beside: Beside = NOTHING
) -> Iterator[Sheet]:
    """Yield the scores that have parts (domains) side by side, then the others.

    Only scores of the same parts of the same size share a sheet. What stands `beside` is a column;
    where it has figures of parts, too, a row below scores side by side.
    """
    by_name: dict[str, list[Score]] = {}
    for score in scores:
        by_name.setdefault(score.name, []).append(score)
    alike: dict[tuple[tuple[str, int], ...], list[list[Score]]] = {}
    whole = []
    for parts in by_name.values():
        if len(parts) > 1 or parts[0].scope != WHOLE:
            alike.setdefault(tuple((score.scope, score.n) for score in parts), []).append(parts)
        else:
            whole.append(parts[0])
    for with_parts in alike.values():
        if len(with_parts[0]) > WIDEST:
            yield _standing_sheet(with_parts, places, beside)
        else:
            yield _parts_sheet(with_parts, places, beside)
    if whole:
        yield _whole_sheet(whole, places, beside)


def _parts_sheet(rows: Sequence[Sequence[Score]], places: int | None, beside: Beside) -> Sheet:
    """Return a row per name and a column per scope, with the number of units below."""
    scopes = dict.fromkeys(score.scope for parts in rows for score in parts)
    names = {parts[0].name for parts in rows}
    told = {
        title: {scope for name, scope in figures if name in names and scope in scopes}
        for title, figures in beside.items()
    }
    columns = [title for title, of in told.items() if of == {WHOLE}]
    lines: list[list[Cell | str]] = []
    for parts in rows:
        name, by_scope = parts[0].name, {score.scope: score for score in parts}
        of_whole = [beside[title].get((name, WHOLE), "") for title in columns]
        lines.append(
            [parts[0].label, *(shown(by_scope[scope], places) for scope in scopes), *of_whole]
        )
        blank = [""] * len(columns)
        if any(score.interval for score in parts):
            ends = (shown_interval(by_scope[scope], places) for scope in scopes)
            lines.append(["", *ends, *blank])
        for title, figures in beside.items():
            found = [figures.get((name, scope), "") for scope in scopes]
            if title not in columns and any(found):
                lines.append([f"  {title}", *found, *blank])
    counts = {score.scope: str(score.n) for parts in rows for score in parts}
    lines.append([COUNTS, *(counts[scope] for scope in scopes), *([""] * len(columns))])
    return sheet("", ["", *scopes, *columns], lines)


def _standing_sheet(scores: Sequence[Sequence[Score]], places: int | None, beside: Beside) -> Sheet:
    """Return a row per scope and a column per name, where scopes are too many to be columns."""
    shown_beside = [
        [title for title, of in beside.items() if any((s.name, s.scope) in of for s in parts)]
        for parts in scores
    ]
    header = [""]
    for parts, titles in zip(scores, shown_beside, strict=True):
        header += [parts[0].label, *titles]
    header.append(COUNTS)
    with_interval = [any(score.interval for score in parts) for parts in scores]
    if any(with_interval):
        header[-1:] = ["interval" for shown_too in with_interval if shown_too] + header[-1:]
    lines: list[list[Cell | str]] = []
    for of_scope in zip(*scores, strict=True):
        intervals = (
            shown_interval(score, places)
            for score, shown_too in zip(of_scope, with_interval, strict=True)
            if shown_too
        )
        values: list[str] = []
        for score, titles in zip(of_scope, shown_beside, strict=True):
            values.append(shown(score, places))
            values += [beside[title].get((score.name, score.scope), "") for title in titles]
        lines.append([of_scope[0].scope, *values, *intervals, str(of_scope[0].n)])
    return sheet("", header, lines)


def _whole_sheet(scores: Sequence[Score], places: int | None, beside: Beside) -> Sheet:
    header, rows = ["", ""], [[score.label, shown(score, places)] for score in scores]
    if any(score.interval for score in scores):
        level = next(score.interval.confidence for score in scores if score.interval)
        header.append(f"{100 * level:g} % interval")
        for row, score in zip(rows, scores, strict=True):
            row.append(shown_interval(score, places))
    for title, figures in beside.items():
        found = [figures.get((score.name, score.scope), "") for score in scores]
        if any(found):
            header.append(title)
            for row, figure in zip(rows, found, strict=True):
                row.append(figure)
    return sheet("", header, rows)


def shown(score: Score, places: int | None = None) -> str:
    """Return the number with its customary decimals, or with `places`."""
    return f"{score.value:.{score.places if places is None else places}f}"


def shown_interval(score: Score, places: int | None = None) -> str:
    """Return `low–high` with the decimals of the score; nothing where there is none."""
    return interval_text(score.interval, f".{score.places if places is None else places}f")


CEILING = "ceiling"
"""Names the rows and columns of gold data."""
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
    gold = {(score.name, score.scope): score for score in ceiling.scores}
    beside = {key: shown(score, places) for key, score in gold.items()}
    values = {key: score.value for key, score in gold.items()}
    return replace(
        document,
        sheets=tuple(_sheets(report.scores, places, {CEILING: beside})),
        notes=(*document.notes, NOTE),
        records=tuple(
            {**record, CEILING: values.get((record["score"], record["scope"]))}
            for record in document.records
        ),
    )


def _of_gold(score: Score) -> Score:
    choices: dict[str, Any] = dict(score.signature.choices)
    if "state" in choices:
        choices["state"] = "gold"
    signature = Signature.of(score.signature.metric, choices | {"predictions": "gold"})
    return replace(score, signature=signature)
