"""An evaluation's report as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mwzeval.report.json import score_record, to_plain
from mwzeval.report.model import Report
from mwzeval.report.sheet import Cell, Document, Sheet, sheet
from mwzeval.score import Score


def summary(report: Report, *, places: int | None = None) -> Document:
    """Return what was scored, all scores, and the signature of each metric.

    `places` overrides the customary number of decimals.
    """
    signatures = dict.fromkeys(str(score.signature) for score in report.scores)
    return Document(
        heading=tuple(_heading(report)),
        sheets=tuple(_sheets(report.scores, places)),
        notes=tuple(signatures),
        records=tuple(score_record(score) for score in report.scores),
        plain=to_plain(report),
    )


def per_dialogue(report: Report) -> Document:
    """Return the rows behind the scores: one record a dialogue, its additive columns."""
    table = report.table
    rows = table.values.tolist()
    records = tuple(
        {"dialogue": unit, **dict(zip(table.columns, map(_number, row), strict=True))}
        for unit, row in zip(table.units, rows, strict=True)
    )
    lines = [[str(value) for value in record.values()] for record in records]
    return Document(
        heading=tuple(_heading(report)),
        sheets=(sheet("", ["dialogue", *table.columns], lines),),
        notes=(),
        records=records,
        plain={"dialogues": records},
    )


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _heading(report: Report) -> Iterator[str]:
    meta = report.meta
    covered = [
        f"{count['scored']} of {count['of']} {what}"
        for what, count in meta["coverage"].items()
        if "of" in count
    ]
    yield f"{meta['corpus']}, {meta['fold']} fold, rules {meta['rules']}: {', '.join(covered)}"
    if note := meta.get("note"):
        yield note


def _sheets(scores: Sequence[Score], places: int | None) -> Iterator[Sheet]:
    """Yield the scores that have parts (domains) side by side, then the others."""
    by_name: dict[str, list[Score]] = {}
    for score in scores:
        by_name.setdefault(score.name, []).append(score)
    with_parts = [parts for parts in by_name.values() if len(parts) > 1]
    if with_parts:
        yield _parts_sheet(with_parts, places)
    whole = [parts[0] for parts in by_name.values() if len(parts) == 1]
    if whole:
        yield _whole_sheet(whole, places)


def _parts_sheet(rows: Sequence[Sequence[Score]], places: int | None) -> Sheet:
    """Return a row per name and a column per scope, with the number of units below."""
    scopes = dict.fromkeys(score.scope for parts in rows for score in parts)
    lines: list[list[Cell | str]] = []
    for parts in rows:
        by_scope = {score.scope: score for score in parts}
        lines.append([parts[0].label, *(shown(by_scope[scope], places) for scope in scopes)])
        if any(score.interval for score in parts):
            lines.append(["", *(shown_interval(by_scope[scope], places) for scope in scopes)])
    counts = {score.scope: str(score.n) for parts in rows for score in parts}
    lines.append(["n", *(counts[scope] for scope in scopes)])
    return sheet("", ["", *scopes], lines)


def _whole_sheet(scores: Sequence[Score], places: int | None) -> Sheet:
    if not any(score.interval for score in scores):
        return sheet("", ["", ""], [[score.label, shown(score, places)] for score in scores])
    level = next(score.interval.confidence for score in scores if score.interval)
    rows = [[s.label, shown(s, places), shown_interval(s, places)] for s in scores]
    return sheet("", ["", "", f"{100 * level:g} % interval"], rows)


def shown(score: Score, places: int | None = None) -> str:
    """Return the number with its customary decimals, or with `places`."""
    return f"{score.value:.{score.places if places is None else places}f}"


def shown_interval(score: Score, places: int | None = None) -> str:
    """Return `low–high` with the decimals of the score; nothing where there is none."""
    if score.interval is None:
        return ""
    decimals = score.places if places is None else places
    return f"{score.interval.low:.{decimals}f}–{score.interval.high:.{decimals}f}"
