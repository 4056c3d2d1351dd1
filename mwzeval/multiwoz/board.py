"""The published tables of response generation, with a system of one's own in its place.

Published tables as a document, with a system of one's own in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.files.resources import embedded
from mwzeval.multiwoz.leaderboard import (
    COMPARED,
    RICHNESS,
    Candidate,
    Leaderboard,
    Published,
    Standing,
    candidate,
    cautions,
    confidence_of,
    read_leaderboard,
    rounded,
    standings,
)
from mwzeval.report.boards import Entry
from mwzeval.report.json import SCHEMA
from mwzeval.report.sheet import Cell, Document, Sheet, sheet
from mwzeval.scores.score import Interval

LABELS = {
    "inform": "Inform",
    "success": "Success",
    "bleu": "BLEU",
    "combined": "Combined",
    "avg_lengths": "Words",
    "cond_entropy": "Cond. ent.",
    "num_unigrams": "Unigrams",
    "num_trigrams": "Trigrams",
}
"""Figure → heading of its column."""

PLACES = {"inform": 1, "success": 1, "combined": 1, "num_unigrams": 0, "num_trigrams": 0}
SIMILAR = "≈"
OURS = "» "
NOTED = "†"


def leaderboard_document(
    board: Leaderboard,
    standings: Sequence[Standing],
    system: Candidate | None,
    cautions: Sequence[str] = (),
) -> Document:
    """Return each table with the system in its place, the published figures as published."""
    return Document(
        heading=(_conditions(board),),
        sheets=tuple(_sheet(standing, board, system) for standing in standings),
        notes=(*_notes(board, system, cautions), *_notes_of_systems(standings)),
        records=tuple(record for standing in standings for record in _records(standing, system)),
        plain={
            "schema": SCHEMA,
            "source": board.source,
            "conditions": dict(board.conditions),
            "cautions": list(cautions),
            "reference_corpus": dict(board.reference_corpus.figures),
            "tables": {standing.table: list(_rows(standing, system)) for standing in standings},
        },
    )


def _conditions(board: Leaderboard) -> str:
    of = board.conditions
    return (
        f"published figures: {of['corpus']}, {of['fold']} fold, rules {of['rules']}, "
        f"BLEU against {of['references']}, {of['n']} dialogues"
    )


def _notes(board: Leaderboard, system: Candidate | None, cautions: Sequence[str]) -> Iterator[str]:
    yield f"source: {board.source}"
    yield (
        "Combined is computed: (Inform + Success) / 2 + BLEU. Published figures are taken to be of "
        f"rules {board.conditions['rules']}; those added later may not be, the source does not say."
    )
    if system is not None:
        yield (
            f"{OURS}{system.name}. {SIMILAR} behind a figure: not significantly different from it "
            f"({100 * confidence_of(system):g} %, both sampling errors; unpaired, hence "
            f"conservative); {SIMILAR} behind a name: in none of the four figures."
        )
    yield from cautions


def _notes_of_systems(standings: Sequence[Standing]) -> Iterator[str]:
    """Yield what is known to be wrong with published figures, under the mark of the system."""
    for standing in standings:
        for neighbour in standing.neighbours:
            if neighbour.published.note:
                yield f"{NOTED} {neighbour.published.system}: {neighbour.published.note}"


def _sheet(standing: Standing, board: Leaderboard, system: Candidate | None) -> Sheet:
    columns = (*COMPARED, *RICHNESS)
    rows: list[list[Cell | str]] = []
    for place, neighbour in enumerate(standing.neighbours):
        if place == standing.above and system is not None:
            rows += _own_rows(system, columns)
        published = neighbour.published
        name = published.system + (f" {NOTED}" if published.note else "")
        cells = [
            Cell(_shown(neighbour.published, column), mark=_mark(column in neighbour.similar))
            for column in columns
        ]
        rows.append([Cell(name, mark=_mark(neighbour.indistinguishable, before=" ")), *cells])
    if standing.above == len(standing.neighbours) and system is not None:
        rows += _own_rows(system, columns)
    gold = board.reference_corpus
    rows.append([gold.system, *(_shown(gold, column) for column in columns)])
    title = f"{standing.table.replace('_', ' ')} (states: {board.states[standing.table]})"
    return sheet(title, ["", *(LABELS[column] for column in columns)], rows)


def _mark(similar: bool, before: str = "") -> str:
    return f"{before}{SIMILAR}" if similar else ""


def _own_rows(system: Candidate, columns: Sequence[str]) -> Iterator[list[Cell | str]]:
    figures = [system.figures.get(column) for column in columns]
    shown = [
        Cell(rounded(figure.value, PLACES.get(column, 2)) if figure else "", best=True)
        for column, figure in zip(columns, figures, strict=True)
    ]
    yield [Cell(OURS + system.name, best=True), *shown]
    ends = [
        _ends(figure.interval, PLACES.get(column, 2)) if figure and column in COMPARED else ""
        for column, figure in zip(columns, figures, strict=True)
    ]
    yield [f"  {100 * confidence_of(system):g} % interval", *ends]


def _ends(interval: Interval | None, places: int) -> str:
    return f"{interval.low:.{places}f}–{interval.high:.{places}f}" if interval else ""


def _shown(published: Published, column: str) -> str:
    """Return a figure as it was published."""
    value = published.figures.get(column)
    if value is None:
        return ""
    if column == "bleu":
        return str(value)
    return rounded(value, PLACES.get(column, 2))


def _rows(standing: Standing, system: Candidate | None) -> Iterator[Mapping[str, Any]]:
    """Yield the systems of a table in its order."""
    rows: list[dict[str, Any]] = [
        {
            "system": neighbour.published.system,
            "published": True,
            "paper": neighbour.published.paper,
            "note": neighbour.published.note,
            "figures": {
                name: {"value": value, "low": None, "high": None}
                for name, value in neighbour.published.figures.items()
            },
            "similar": [name for name in COMPARED if name in neighbour.similar],
            "indistinguishable": neighbour.indistinguishable,
        }
        for neighbour in standing.neighbours
    ]
    if system is not None and standing.above is not None:
        own = {
            "system": system.name,
            "published": False,
            "figures": {
                name: {
                    "value": figure.value,
                    "low": figure.interval.low if figure.interval else None,
                    "high": figure.interval.high if figure.interval else None,
                }
                for name, figure in system.figures.items()
            },
        }
        rows.insert(standing.above, own)
    yield from rows


def _records(standing: Standing, system: Candidate | None) -> Iterator[Mapping[str, Any]]:
    for row in _rows(standing, system):
        for name, figure in row["figures"].items():
            yield {
                "table": standing.table,
                "system": row["system"],
                "published": row["published"],
                "figure": name,
                **figure,
                "similar": name in row["similar"] if "similar" in row and system else None,
            }


def published_document(entry: Entry | None, table: str | None = None) -> Document:
    """Return the tables, or one of them.

    Published figures from which the system does not differ significantly are marked. Raises
    `UsageError` for an unknown table, or a system that was scored under other conditions.
    """
    board = read_leaderboard(embedded("leaderboard.json"))
    named = None if table is None else board.table_name(table)
    system = None if entry is None else candidate(entry.name, entry.records, board)
    shown = standings(board, system, named)
    noted = cautions(board, system, shown) if system else ()
    return leaderboard_document(board, shown, system, noted)
