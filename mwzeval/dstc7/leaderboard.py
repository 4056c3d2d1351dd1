"""Published results of a track, and the position of a submission among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.tracks import RANKED, Track
from mwzeval.errors import UsageError
from mwzeval.files.downloads import embedded
from mwzeval.report.leaderboard import (
    Column,
    Figure,
    LeaderboardRow,
    LeaderboardTable,
    read_published,
    row_of,
)
from mwzeval.scores.report import Report
from mwzeval.scores.sheets import Document

FIGURES = ("recall@1", "recall@2", "recall@5", "recall@10", "recall@50", "mrr", "final")
LABELS = {"mrr": "MRR", "final": "Final"}
RANKED_BY = "recall@10"
"""The score by which systems are sorted, because nearly all publications report it; the final score
is also shown if known."""
CHANCE = "random ranking (expected)"


@dataclass(frozen=True, slots=True)
class Results:
    """The published tables, the publications by short name, and cautionary notes.

    A table has results on dev or on one test set (for Advising, the `case` states which test set).
    Scores are between 0 and 1.
    """

    sources: Mapping[str, str]
    cautions: tuple[str, ...]
    tables: tuple[LeaderboardTable, ...]


def read_results(path: Path | None = None) -> Results:
    """Return the published results in a file (default: the embedded file).

    Raises `DataError` if the file cannot be read or does not have the expected form.
    """
    return read_published(path or embedded("leaderboards", "dstc7.json"), _results)


def _results(plain: Any) -> Results:
    tables = tuple(map(_table, plain["tables"]))
    return Results(plain["sources"], tuple(plain["cautions"]), tables)


def _table(plain: Mapping[str, Any]) -> LeaderboardTable:
    keys = {key: plain[key] for key in ("track", "case", "split")}
    rows = []
    for system in plain["systems"]:
        figures = {name: Figure(float(system[name])) for name in FIGURES if name in system}
        rows.append(LeaderboardRow(system["system"], figures, source=system["source"]))
    rows.sort(key=lambda r: -r.figures[RANKED_BY].value if RANKED_BY in r.figures else 1.0)
    return LeaderboardTable(
        title=" ".join(part for part in keys.values() if part),
        keys=keys,
        columns=tuple(Column(name, LABELS.get(name, name.capitalize()), 4) for name in FIGURES),
        rows=(*rows, *_chance(keys["track"])),
        ranked_by=RANKED_BY,
        with_sources=True,
    )


def _chance(track: str) -> Iterator[LeaderboardRow]:
    """Yield the expected scores of a random ranking of 100 candidates, of which one is correct."""
    if track.endswith(("-1", "-5")):
        hits = {f"recall@{k}": k / RANKED for k in (1, 2, 5, 10, 50)}
        mrr = sum(1 / place for place in range(1, RANKED + 1)) / RANKED
        values = {**hits, "mrr": mrr, "final": (mrr + hits["recall@10"]) / 2}
        yield LeaderboardRow(
            CHANCE, {name: Figure(value) for name, value in values.items()}, "reference"
        )


def tables_of(results: Results, track: Track) -> tuple[LeaderboardTable, ...]:
    """Return the published tables of a track, optionally only for a test set.

    Raises `UsageError` if there are no published results.
    """
    found = tuple(
        table
        for table in results.tables
        if table.keys["track"] == track.name
        and (track.case is None or table.keys["case"] in (None, track.case))
    )
    if not found:
        raise UsageError(f"no results of {track.name} are known")
    return found


def published_document(
    results: Results, tables: Sequence[LeaderboardTable], entry: Report | None = None
) -> Document:
    """Return tables as a document; a submission is shown in the table of its own split.

    If the submission's report has an interval, the interval is shown below the table. Raises
    `UsageError` if the submission's scores are not the official scores (the F-score, or scores with
    `compat="2018"`).
    """
    if entry is not None:
        meta = entry.meta
        if meta["options"]["metric"] != "ranking" or meta["options"]["compat"] is not None:
            raise UsageError(
                "the published results are official scores, so neither F-scores "
                "nor scores with --compat can be compared with them"
            )
        own = row_of(entry, {name: name for name in FIGURES})
        place = meta["corpus"], "dev" if meta["fold"] == "valid" else meta["fold"]
        tables = [
            table.with_own(own)
            if (table.keys["track"], table.keys["split"]) == place
            and (meta["case"] is None or table.keys["case"] in (None, meta["case"]))
            else table
            for table in tables
        ]
    used = {row.source for table in tables for row in table.rows}
    sources = (f"{key}: {text}" for key, text in results.sources.items() if key in used)
    records = tuple(
        {**table.record(row, name, figure), "source": row.source}
        for table in tables
        for row, name, figure in table.figures()
    )
    tracks = dict.fromkeys(table.keys["track"] for table in tables)
    return Document(
        heading=(f"published results: {', '.join(tracks)}",),
        sheets=tuple(table.sheet() for table in tables),
        notes=(*results.cautions, *sources),
        records=records,
        plain={"sources": dict(results.sources), "rows": records},
    )
