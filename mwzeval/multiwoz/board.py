"""The published tables of response generation, with a system of one's own in its place.

The file of the tables says under which conditions its figures hold, in the keys of signatures; a
system that was scored under other conditions is refused. Tables of state tracking and of language
models stand beside them: of these it says what may not be compared, and no system is placed there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from mwzeval.errors import UsageError, unknown
from mwzeval.files.downloads import embedded
from mwzeval.report.leaderboard import (
    OURS,
    SIMILAR,
    Board,
    Column,
    Figure,
    Row,
    notes_of,
    read_published,
    row_of,
)
from mwzeval.report.systems import ScoredSystem
from mwzeval.scores.report import SCHEMA
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document
from mwzeval.statistics.intervals import CONFIDENCE, wilson

RATES = ("inform", "success")
COMPARED = (*RATES, "bleu", "combined")
RICHNESS = ("avg_lengths", "cond_entropy", "num_unigrams", "num_trigrams")
COVERAGE = {"n": "dialogues", "turns": "turns"}
"""Conditions that a system may miss and still be shown, with a warning."""


COLUMNS = (
    Column("inform", "Inform", 1),
    Column("success", "Success", 1),
    Column("bleu", "BLEU", 2, as_published=True),
    Column("combined", "Combined", 1),
    Column("avg_lengths", "Words", 2, ranked=False),
    Column("cond_entropy", "Cond. ent.", 2, ranked=False),
    Column("num_unigrams", "Unigrams", 0, ranked=False),
    Column("num_trigrams", "Trigrams", 0, ranked=False),
)


@dataclass(frozen=True, slots=True)
class Beside:
    """A published table without a place for one's own system, and why: what is not comparable."""

    board: Board
    source: str
    not_comparable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Published tables by name, each sorted by the combined score, the best first.

    `conditions` are keys of signatures and the values that they had; `states` says of each table
    whether its systems predict states or take gold ones.
    """

    source: str
    conditions: Mapping[str, str]
    states: Mapping[str, str]
    reference_corpus: Row
    tables: Mapping[str, Board]
    beside: Mapping[str, Beside]

    @property
    def units(self) -> int:
        """How many dialogues the figures are of."""
        return int(self.conditions["n"])

    def table_name(self, asked: str) -> str:
        """Return the name of a table; hyphens are fine too. Raises `UsageError`."""
        name = asked.replace("-", "_")
        all_names = (*self.tables, *self.beside)
        if name not in all_names:
            raise UsageError(unknown("table", asked, all_names))
        return name


def read_leaderboard(path: Path | None = None) -> Leaderboard:
    """Return the published tables of a file, by default the embedded ones.

    Combined scores are computed, whatever it has. Raises `DataError` when it cannot be read or is
    not such a file.
    """
    return read_published(path or embedded("boards", "multiwoz.json"), _leaderboard)


def _leaderboard(plain: Any) -> Leaderboard:
    figures = {name: Figure(value) for name, value in plain["reference_corpus"].items()}
    reference = Row("reference corpus", figures, "reference")
    tables = {}
    for name, states in plain["states"].items():
        rows = sorted(map(_row, plain[name]), key=lambda row: -row.figures["combined"].value)
        title = f"{name.replace('_', ' ')} (states: {states})"
        tables[name] = Board(title, {"table": name}, COLUMNS, (*rows, reference), "combined")
    beside = {name: _beside(name, table) for name, table in plain["beside"].items()}
    return Leaderboard(
        plain["source"], plain["conditions"], plain["states"], reference, tables, beside
    )


def _beside(name: str, plain: Mapping[str, Any]) -> Beside:
    columns = [Column(figure, label, 2, as_published=True) for figure, label in plain["columns"]]
    rows = tuple(
        Row(
            row["system"],
            {each.name: Figure(row[each.name]) for each in columns if each.name in row},
            source=row["paper"],
            note=row.get("note"),
        )
        for row in plain["rows"]
    )
    board = Board(plain["title"], {"table": name}, columns, rows)
    return Beside(board, plain["source"], tuple(plain["not_comparable"]))


def _row(plain: Mapping[str, Any]) -> Row:
    figures = {name: plain[name] for name in (*RATES, "bleu", *RICHNESS) if name in plain}
    figures["combined"] = float(combined(*(figures[name] for name in (*RATES, "bleu"))))
    return Row(
        plain["system"],
        {name: Figure(value) for name, value in figures.items()},
        source=plain.get("paper"),
        note=plain.get("note"),
    )


@dataclass(frozen=True, slots=True)
class Standings:
    """Tables to be shown, one's own system in those where it has a place, and what to mind."""

    tables: Mapping[str, Board]
    own: Row | None = None
    cautions: tuple[str, ...] = ()
    beside: Mapping[str, Beside] = field(default_factory=dict)


def standings(
    board: Leaderboard, entry: ScoredSystem | None = None, table: str | None = None
) -> Standings:
    """Return the tables (or one), with the system in those whose systems have states as it has.

    Those beside have a place for none. Raises `UsageError` when the system cannot be compared with
    any, or the table is one of these.
    """
    if table is not None and table in board.beside:
        if entry is not None:
            reasons = " ".join(board.beside[table].not_comparable)
            raise UsageError(f"{entry.name} has no place in {table}: {reasons}")
        return Standings({}, beside={table: board.beside[table]})
    tables = board.tables if table is None else {table: board.tables[table]}
    if entry is None:
        return Standings(tables, beside=board.beside if table is None else {})
    own, choices = own_row(entry, board.conditions)
    apart = {
        name: board.states[name] for name in tables if choices.get("state") != board.states[name]
    }
    placed = {
        name: each if name in apart else with_similar(each, own, board.units).with_own(own)
        for name, each in tables.items()
    }
    missed = {} if table is None else apart
    return Standings(placed, own, tuple(cautions(own, choices, board.conditions, missed)))


def published_document(entry: ScoredSystem | None, table: str | None = None) -> Document:
    """Return the tables, or one of them, the published figures as published.

    Those from which the system does not differ significantly are marked. Raises `UsageError` for
    an unknown table, or a system that was scored under other conditions.
    """
    board = read_leaderboard()
    shown = standings(board, entry, None if table is None else board.table_name(table))
    beside = tuple(each.board for each in shown.beside.values())
    boards = (*shown.tables.values(), *beside)
    return Document(
        heading=(_conditions(board),) if shown.tables else (),
        sheets=tuple(each.sheet() for each in boards),
        notes=(*_notes(board, shown), *notes_of(boards)),
        records=tuple(record for each in boards for record in _records(each, shown.own)),
        plain={
            "schema": SCHEMA,
            "source": board.source,
            "conditions": dict(board.conditions),
            "cautions": list(shown.cautions),
            "reference_corpus": {n: f.value for n, f in board.reference_corpus.figures.items()},
            "tables": {each.keys["table"]: list(_plain_rows(each)) for each in boards},
            "beside": {
                name: {"source": each.source, "not_comparable": list(each.not_comparable)}
                for name, each in shown.beside.items()
            },
        },
    )


def _conditions(board: Leaderboard) -> str:
    of = board.conditions
    return (
        f"published figures: {of['corpus']}, {of['fold']} fold, rules {of['rules']}, "
        f"BLEU against {of['references']}, {of['n']} dialogues"
    )


def _notes(board: Leaderboard, shown: Standings) -> Iterator[str]:
    if shown.tables:
        yield f"source: {board.source}"
        yield (
            "Combined is computed: (Inform + Success) / 2 + BLEU. Published figures are taken to "
            f"be of rules {board.conditions['rules']}; those added later may not be, the source "
            "does not say."
        )
    if shown.tables and shown.own is not None:
        yield (
            f"{OURS}{shown.own.system}. {SIMILAR} behind a figure: not significantly different "
            f"from it ({100 * (shown.own.confidence or CONFIDENCE):g} %, both sampling errors; "
            f"unpaired, hence conservative); {SIMILAR} behind a name: in none of the four figures."
        )
    yield from shown.cautions
    for table in shown.beside.values():
        yield f"{table.board.title}: from {table.source}"
        yield from (f"  {reason}" for reason in table.not_comparable)


def _plain_rows(board: Board) -> Iterator[Mapping[str, Any]]:
    """Yield the systems of a table in its order, for JSON."""
    for row in board.rows:
        figures = {name: figure.plain() for name, figure in row.figures.items()}
        if row.kind == "own":
            yield {"system": row.system, "published": False, "figures": figures}
        elif row.kind == "published":
            yield {
                "system": row.system,
                "published": True,
                "paper": row.source,
                "note": row.note,
                "figures": figures,
                "similar": [name for name in COMPARED if name in row.similar],
                "indistinguishable": row.indistinguishable,
            }


def _records(board: Board, own: Row | None) -> Iterator[Mapping[str, Any]]:
    for row, name, figure in board.figures():
        similar = name in row.similar if row.kind == "published" and own else None
        yield {**board.record(row, name, figure), "similar": similar}


def combined(inform: float, success: float, bleu: float) -> Decimal:
    """Return (Inform + Success) / 2 + BLEU of published figures, exactly.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    return (Decimal(str(inform)) + Decimal(str(success))) / 2 + Decimal(str(bleu))


def own_row(entry: ScoredSystem, conditions: Mapping[str, str]) -> tuple[Row, dict[str, str]]:
    """Return the row of a system that was scored, and the choices in its signatures.

    `conditions` are those of the published figures, as keys of signatures. Rates without an
    interval get Wilson's, as it follows from value and number. Raises `UsageError` when a score
    that is needed is missing, or was made under other conditions.
    """
    scores = {score.name: score for score in entry.scores if score.scope == WHOLE}
    names = {figure: figure for figure in COMPARED} | {"bleu": f"bleu.{conditions['references']}"}
    row = row_of(entry, names | {figure: f"richness.{figure}" for figure in RICHNESS})
    figures = dict(row.figures)
    for name, figure in figures.items():
        if name in RATES and figure.interval is None:
            n = scores[name].n
            interval = wilson(figure.value * n / 100, n).scaled(100)
            figures[name] = replace(figure, interval=interval)
    choices: dict[str, str] = {}
    for name in (name for name in COMPARED if name in figures):
        choices |= scores[names[name]].signature.choices
    bare = {key: choice.partition("@")[0] for key, choice in choices.items()}  # without checksums
    different = [
        f"{key} is {bare[key]}, there {expected}"
        for key, expected in conditions.items()
        if key not in COVERAGE and bare.get(key, expected) != expected
    ]
    if different:
        raise UsageError(
            f"{entry.name} cannot stand among the published systems, whose figures were made "
            f"otherwise: {'; '.join(different)}"
        )
    if lacking := [name for name in COMPARED if name not in figures]:
        raise UsageError(
            f"{entry.name}: a place among the published systems needs {', '.join(lacking)} as "
            "well; evaluate with --bleu --success"
        )
    return replace(row, figures=figures), choices


def cautions(
    own: Row, choices: Mapping[str, str], conditions: Mapping[str, str], apart: Mapping[str, str]
) -> Iterator[str]:
    """Yield in what a system differs from those published.

    `choices` are those in the system's signatures, `conditions` those of the published figures;
    `apart` maps the tables that the system has no place in to the states that their systems have.
    """
    for key, what in COVERAGE.items():
        if key in choices and choices[key] != conditions[key]:
            yield (
                f"{own.system}: {what} scored are {choices[key]}, of the published systems "
                f"{conditions[key]}; figures of other dialogues or turns do not quite compare"
            )
    for table, expected in apart.items():
        yield (
            f"{own.system} has no place in {table}: its states are {choices.get('state')}, those "
            f"of the systems there are {expected}"
        )
    if lacking := [name for name in COMPARED if own.figures[name].interval is None]:
        yield (
            f"{own.system}: no interval is known of {', '.join(lacking)}, so no published one "
            "is called similar; evaluate with --ci"
        )


def with_similar(board: Board, own: Row, units: int) -> Board:
    """Return a board with what is similar to a system marked; `units` were scored of each."""
    rows = []
    for row in board.rows:
        if row.kind == "published":
            similar = similar_figures(own, row, units)
            row = replace(row, similar=similar, indistinguishable=similar.issuperset(COMPARED))
        rows.append(row)
    return replace(board, rows=tuple(rows))


def similar_figures(own: Row, published: Row, units: int) -> frozenset[str]:
    """Return the published figures from which the system's do not differ significantly.

    Both have sampling error: the interval of the difference is put together from those of the two
    (Newcombe, Statistics in Medicine 17, 1998; Zou and Donner, ibid. 27, 2008). Of a published rate
    it is Wilson's; of a published BLEU or combined score, of which nothing else is known, it is
    taken to be as wide as the system's own.

    Both were scored on the same dialogues, but which ones the published system won is not known, so
    they are treated as independent samples. That is conservative: what is hard for one is mostly
    hard for the other, so the true interval of the difference is narrower, and some system called
    similar here would differ in a paired test. There is no correction for the number of rows.
    """
    similar = set()
    for name in COMPARED:
        ours, theirs = own.figures[name], published.figures.get(name)
        if theirs is None or ours.interval is None:
            continue
        interval = ours.interval
        if name in RATES:
            other = wilson(theirs.value * units / 100, units, interval.confidence).scaled(100)
        else:
            low = theirs.value + interval.low - ours.value
            other = replace(interval, low=low, high=theirs.value + interval.high - ours.value)
        difference = ours.value - theirs.value
        low = difference - math.hypot(ours.value - interval.low, other.high - theirs.value)
        high = difference + math.hypot(interval.high - ours.value, theirs.value - other.low)
        if low <= 0 <= high:
            similar.add(name)
    return frozenset(similar)
