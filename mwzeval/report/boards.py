"""Boards of published results, and a system of one's own among them.

A board has a row for each system and a column for each figure. A benchmark brings the file of its
published figures, its columns, and what may not be compared; how a system is placed, how a board
is shown and what its long form is are the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

from mwzeval.errors import DataError, UsageError
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Interval, Score, Signature
from mwzeval.scores.sheets import Cell, Sheet, sheet

LARGEST = 1e9
"""No score of any benchmark is larger."""

OURS = "» "
SIMILAR = "≈"
NOTED = "§"

Kind = Literal["published", "own", "reference"]
"""A reference is no system: gold data, or what chance gives. It has no records."""

Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Column:
    """A figure that systems may have: its name in files and records, and its heading.

    `places` are the decimals shown; `as_published` leaves published ones those that they have. No
    figure of a column without `direction` is the best.
    """

    name: str
    label: str
    places: int
    as_published: bool = False
    with_interval: bool = True
    direction: bool = True


@dataclass(frozen=True, slots=True)
class Figure:
    """A score of a system and its interval, None where it is not known."""

    value: float
    interval: Interval | None = None

    def plain(self) -> dict[str, float | None]:
        """Return value and ends, None for those that are not known."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        return {"value": self.value, "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class Row:
    """One system of a board, with those figures that are known of it, by name.

    `source` says where they were read, `note` what is known to be wrong with them; `similar` names
    those from which one's own do not differ significantly, `indistinguishable` if no compared one
    does.
    """

    system: str
    figures: Mapping[str, Figure]
    kind: Kind = "published"
    source: str | None = None
    note: str | None = None
    similar: frozenset[str] = frozenset()
    indistinguishable: bool = False

    @property
    def confidence(self) -> float | None:
        """The confidence of the intervals; None without any."""
        intervals = (figure.interval for figure in self.figures.values())
        return next((interval.confidence for interval in intervals if interval), None)


@dataclass(frozen=True, slots=True)
class Board:
    """Systems in their order: by the figure `ranked_by`, the best first, or as they were given.

    `keys` say in records which board it is. `heading` stands above the names; `transposed` boards
    have a column for each system; `with_sources` adds a column of where figures were read.
    """

    title: str
    keys: Mapping[str, Any]
    columns: Sequence[Column]
    rows: tuple[Row, ...]
    ranked_by: str | None = None
    heading: str = ""
    transposed: bool = False
    with_sources: bool = False

    @property
    def own(self) -> Row | None:
        """The row of one's own system, if it is here."""
        return next((row for row in self.rows if row.kind == "own"), None)

    def with_own(self, own: Row) -> Board:
        """Return the board with a system of one's own below the last that is as good.

        Where nothing is ranked it stands at the end.
        """
        place = len(self.rows)
        if self.ranked_by is not None:
            value = own.figures[self.ranked_by].value
            ranked = [row.figures.get(self.ranked_by) for row in self.rows]
            as_good = [at for at, figure in enumerate(ranked) if figure and figure.value >= value]
            place = as_good[-1] + 1 if as_good else 0
        return replace(self, rows=(*self.rows[:place], own, *self.rows[place:]))

    def figures(self) -> Iterator[tuple[Row, str, Figure]]:
        """Yield the figures of systems with their names, line by line as they are shown."""
        rows = [row for row in self.rows if row.kind != "reference"]
        if self.transposed:
            for column in self.columns:
                for row in rows:
                    if column.name in row.figures:
                        yield row, column.name, row.figures[column.name]
        else:
            for row in rows:
                for name, figure in row.figures.items():
                    yield row, name, figure

    def record(self, row: Row, name: str, figure: Figure) -> dict[str, Any]:
        """Return a figure in long form, unrounded."""
        return {
            **self.keys,
            "system": row.system,
            "published": row.kind == "published",
            "figure": name,
            **figure.plain(),
        }

    def sheet(self) -> Sheet:
        """Return the table, in which the best figures of systems stand out."""
        labels = [*(column.label for column in self.columns), *self._if_sources("source")]
        lines = [[Cell(self.heading), *map(Cell, labels)]]
        for row in self.rows:
            lines += self._lines(row)
        header, *rows = zip(*lines, strict=True) if self.transposed else lines
        return sheet(self.title, [cell.text.strip() for cell in header], rows)

    def _if_sources(self, text: str) -> list[str]:
        return [text] if self.with_sources else []

    def _lines(self, row: Row) -> Iterator[list[Cell]]:
        """Yield the cells of a system, and those of its intervals if it has any to be shown."""
        name = (OURS if row.kind == "own" else "") + row.system + (f" {NOTED}" if row.note else "")
        mark = f" {SIMILAR}" if row.indistinguishable else ""
        figures = [
            Cell(
                _shown(row, column),
                best=self._is_best(row, column),
                mark=SIMILAR if column.name in row.similar else "",
            )
            for column in self.columns
        ]
        source = map(Cell, self._if_sources(row.source or ""))
        yield [Cell(name, mark=mark), *figures, *source]
        if any(ends := self._ends(row)):
            level = f"  {100 * (row.confidence or 0):g} % interval"
            yield [Cell(text) for text in (level, *ends, *self._if_sources(""))]

    def _is_best(self, row: Row, column: Column) -> bool:
        name = column.name
        if row.kind == "reference" or name not in row.figures or not column.direction:
            return False
        systems = [each for each in self.rows if each.kind != "reference"]
        values = [each.figures[name].value for each in systems if name in each.figures]
        return row.figures[name].value == max(values)

    def _ends(self, row: Row) -> list[str]:
        intervals = [
            (column.places, row.figures[column.name].interval)
            if column.with_interval and column.name in row.figures
            else (0, None)
            for column in self.columns
        ]
        return [f"{i.low:.{places}f}–{i.high:.{places}f}" if i else "" for places, i in intervals]


def _shown(row: Row, column: Column) -> str:
    figure = row.figures.get(column.name)
    if figure is None:
        return ""
    if column.as_published and row.kind != "own":
        return str(figure.value)
    return rounded(figure.value, column.places)


def rounded(value: float, places: int = 1) -> str:
    """Return the number with so many decimals, halves away from 0, as published tables have it."""
    return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def notes_of(boards: Sequence[Board]) -> Iterator[str]:
    """Yield what is known to be wrong with published figures, under the mark of the system."""
    for board in boards:
        for row in board.rows:
            if row.note:
                yield f"{NOTED} {row.system}: {row.note}"


def read_published(path: Path, parse: Callable[[Any], Parsed]) -> Parsed:
    """Return what `parse` makes of the JSON value of a file of published results.

    Raises `DataError` when it cannot be read or has another shape.
    """
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{path} (the published results) cannot be read: {error}") from None


@dataclass(frozen=True, slots=True)
class Entry:
    """A system of one's own that is to stand among published ones; `meta` is its report's."""

    name: str
    scores: tuple[Score, ...]
    meta: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, report: Report) -> Entry:
        """Return a system that was scored now."""
        return cls(name, report.scores, report.meta)

    @classmethod
    def reported(cls, name: str, plain: Any) -> Entry:
        """Return a system out of its JSON report.

        Raises `UsageError` when it is none, or a value is none that a score can have.
        """
        meta = plain.get("meta") if isinstance(plain, Mapping) else None
        records = meta.get("scores") if isinstance(meta, Mapping) else None
        if not isinstance(records, list) or not all(map(_is_record, records)):
            raise UsageError(
                f"{name}: not a report of `mwzeval evaluate`, whose meta.scores have each score "
                "with its signature"
            )
        return cls(name, tuple(_score(name, record) for record in records), meta or {})

    def check(self, title: str, keys: Iterable[str], names: Iterable[str]) -> None:
        """Raise `UsageError` when it is no system of a benchmark, whose `title` that is.

        Such a system has all these `keys` in `meta`, and at least one score of these names.
        """
        scored = {score.name for score in self.scores}
        if not self.meta.keys() >= set(keys) or scored.isdisjoint(names):
            raise not_a_report(self.name, f"nothing in it is of {title}")

    def row(self, figures: Mapping[str, str], scope: str = WHOLE) -> Row:
        """Return the system's row: `figures` maps names of figures to names of scores."""
        found = {score.name: score for score in self.scores if score.scope == scope}
        known = {
            figure: Figure(found[name].value, found[name].interval)
            for figure, name in figures.items()
            if name in found
        }
        return Row(self.name, known, "own")


def not_a_report(name: str, reason: str) -> UsageError:
    """Return the error for a report that `mwzeval evaluate` cannot have written."""
    return UsageError(f"{name}: not a report of `mwzeval evaluate`: {reason}")


def _is_record(record: Any) -> bool:
    keys = ("score", "scope", "signature")
    return isinstance(record, Mapping) and all(isinstance(record.get(key), str) for key in keys)


def _score(system: str, record: Mapping[str, Any]) -> Score:
    name: str = record["score"]
    for key in ("value", "n", "low", "high"):
        if not _is_possible(record.get(key), may_lack=key in ("low", "high")):
            raise not_a_report(system, f"{key} of {name} is no number that a score can have")
    try:
        signature = Signature.parse(record["signature"])
        interval = _interval(record, signature)
    except (LookupError, ValueError):
        raise not_a_report(system, f"the signature of {name} is none") from None
    value, n = float(record["value"]), int(record["n"])
    return Score(name, name, value, n, signature, scope=record["scope"], interval=interval, unit="")


def _interval(record: Mapping[str, Any], signature: Signature) -> Interval | None:
    low, high = record.get("low"), record.get("high")
    if low is None or high is None:
        return None
    level, _, method = dict(signature.choices)["ci"].partition("%-")
    if not 1 <= float(level) <= 99.9999:
        raise ValueError(level)
    return Interval(float(low), float(high), float(level) / 100, method)


def _is_possible(value: Any, *, may_lack: bool) -> bool:
    if value is None:
        return may_lack
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= LARGEST  # neither does NaN
