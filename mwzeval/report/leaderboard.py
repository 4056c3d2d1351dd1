"""Leaderboard tables: published results, optionally with a user's own system.

A table has a row for each system and a column for each figure. A benchmark provides a file of
published figures, the columns, and a list of figures that are not comparable with others. This
module has the parts that all benchmarks share: the position of a system, the layout of a table, and
its long form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from mwzeval.errors import DataError
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Interval, by_place, ends_record
from mwzeval.scores.sheets import Cell, Sheet, interval_text, sheet

OURS = "» "
SIMILAR = "≈"
NOTED = "§"

Kind = Literal["published", "own", "reference"]
"""The kind of a row; a reference (such as gold data or the chance level) is not a system and has no
records."""

Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Column:
    """A figure that systems may have: its name in files and records, and its heading.

    `places` is the number of decimals; `as_published` keeps the decimals of published figures. A
    column that is not `ranked` shows no best figure and no intervals.
    """

    name: str
    label: str
    places: int
    as_published: bool = False
    ranked: bool = True


class Figure(NamedTuple):
    """A score of a system and the interval of the score (None if the interval is unknown)."""

    value: float
    interval: Interval | None = None

    def plain(self) -> dict[str, float | None]:
        """Return the value and the ends of its interval; None stands for unknown ends."""
        return {"value": self.value, **ends_record(self.interval)}


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One system of a table, with its known figures by name.

    `source` is the publication that reports the figures, and `note` describes known errors in the
    figures. `similar` names the figures in which the system does not differ significantly from the
    user's own system.
    """

    system: str
    figures: Mapping[str, Figure]
    kind: Kind = "published"
    source: str | None = None
    note: str | None = None
    similar: frozenset[str] = frozenset()

    @property
    def confidence(self) -> float | None:
        """The confidence of the intervals; None if there are no intervals."""
        intervals = (figure.interval for figure in self.figures.values())
        return next((interval.confidence for interval in intervals if interval), None)


@dataclass(frozen=True, slots=True)
class LeaderboardTable:
    """Systems, sorted by the figure `ranked_by` (best first); unsorted if there is no such figure.

    `keys` identify the table in records. `heading` is the heading of the column with system names.
    `transposed` tables have a column for each system. `with_sources` adds a column with the
    publications.
    """

    title: str
    keys: Mapping[str, Any]
    columns: Sequence[Column]
    rows: tuple[LeaderboardRow, ...]
    ranked_by: str | None = None
    heading: str = ""
    transposed: bool = False
    with_sources: bool = False

    def with_own(self, own: LeaderboardRow) -> LeaderboardTable:
        """Return the table with the user's system below the last system that is at least as good.

        If the table is not ranked, the system is added at the end.
        """
        place = len(self.rows)
        if self.ranked_by is not None:
            value = own.figures[self.ranked_by].value
            ranked = [row.figures.get(self.ranked_by) for row in self.rows]
            as_good = [at for at, figure in enumerate(ranked) if figure and figure.value >= value]
            place = as_good[-1] + 1 if as_good else 0
        return replace(self, rows=(*self.rows[:place], own, *self.rows[place:]))

    def figures(self) -> list[tuple[LeaderboardRow, str, Figure]]:
        """Return (row, name of the figure, figure) for all systems, in the order of the table."""
        order = [column.name for column in self.columns]
        systems = [row for row in self.rows if row.kind != "reference"]
        found = [
            (row, n, figure) for row in systems for n, figure in row.figures.items() if n in order
        ]
        return sorted(found, key=lambda item: order.index(item[1])) if self.transposed else found

    def record(self, row: LeaderboardRow, name: str, figure: Figure) -> dict[str, Any]:
        """Return the unrounded figure of a system as a record in long form."""
        about = {"system": row.system, "published": row.kind == "published", "figure": name}
        return {**self.keys, **about, **figure.plain()}

    def sheet(self) -> Sheet:
        """Return the table for output, in which the best figure of each column is highlighted."""
        best: dict[str, float] = {}
        for _, name, figure in self.figures():
            best[name] = max(figure.value, best.get(name, figure.value))
        ranked = {column.name for column in self.columns if column.ranked}
        head = [self.heading, *(column.label for column in self.columns)]
        lines: list[list[Cell | str]] = [[*head, *["source"] * self.with_sources]]
        for row in self.rows:
            name = f"{OURS * (row.kind == 'own')}{row.system}{f' {NOTED}' if row.note else ''}"
            is_similar = bool(row.similar) and ranked <= row.similar
            line: list[Cell | str] = [Cell(name, mark=f" {SIMILAR}" if is_similar else "")]
            ends = [""]
            for column in self.columns:
                value, interval = row.figures.get(column.name, (None, None))
                text = ""
                if value is not None:
                    as_it_is = column.as_published and row.kind != "own"
                    text = str(value) if as_it_is else rounded(value, column.places)
                is_best = column.ranked and row.kind != "reference" and value is not None
                mark = SIMILAR if column.name in row.similar else ""
                line.append(Cell(text, is_best and value == best[column.name], mark))
                ends.append(interval_text(interval, f".{column.places}f") if column.ranked else "")
            lines.append([*line, *[row.source or ""] * self.with_sources])
            if any(ends):
                ends[0] = f"  {100 * (row.confidence or 0):g} % interval"
                lines.append([*ends, *[""] * self.with_sources])
        header, *rows = zip(*lines, strict=True) if self.transposed else lines
        names = (cell.text if isinstance(cell, Cell) else cell for cell in header)
        return sheet(self.title, [name.strip() for name in names], rows)


def rounded(value: float, places: int = 1) -> str:
    """Return the rounded number as text; halves are rounded away from 0, as in published tables."""
    return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def read_published(path: Path, parse: Callable[[Any], Parsed]) -> Parsed:
    """Read the JSON file of published results and return the result of `parse` for its value.

    Raises `DataError` if the file cannot be read or has another structure.
    """
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{path} (the published results) cannot be read: {error}") from None


def row_of(system: Report, figures: Mapping[str, str]) -> LeaderboardRow:
    """Return the row of the user's own system; `figures` maps figure names to score names."""
    found = by_place(system.scores)
    known = {
        figure: Figure(score.value, score.interval)
        for figure, name in figures.items()
        if (score := found.get((name, WHOLE)))
    }
    return LeaderboardRow(system.name, known, "own")
