"""Published tables of response generation, to which a user's system can be added as a row.

The table file contains the conditions under which its scores were computed, as keys of signatures.
If a system was scored under other conditions, its comparison with the tables is an error. The file
also has tables of state tracking and of language models. The user's system is not inserted into
tables of state tracking and of language models, and a note explains why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.errors import UsageError, unknown
from mwzeval.files.downloads import embedded
from mwzeval.report.leaderboard import (
    NOTED,
    OURS,
    SIMILAR,
    Column,
    Figure,
    LeaderboardRow,
    LeaderboardTable,
    read_published,
    row_of,
)
from mwzeval.scores.report import SCHEMA, Report
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document
from mwzeval.statistics.intervals import CONFIDENCE, wilson

RATES = ("inform", "success")
COMPARED = (*RATES, "bleu", "combined")
COVERAGE = {"n": "dialogues", "turns": "turns"}
"""Conditions that a system may fail to meet; a warning is then printed."""
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


class OtherTable(NamedTuple):
    """A published table into which no system can be inserted, and the reason."""

    table: LeaderboardTable
    source: str
    not_comparable: Sequence[str]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Published tables by name, each sorted by the combined score in descending order.

    `conditions` are keys of signatures and their values for the published scores; `states`
    specifies for each table whether its systems predict states or use gold states.
    """

    source: str
    conditions: Mapping[str, str]
    states: Mapping[str, str]
    reference_corpus: LeaderboardRow
    tables: Mapping[str, LeaderboardTable]
    beside: Mapping[str, OtherTable]


def read_leaderboard(path: Path | None = None) -> Leaderboard:
    """Return the published tables of a file, by default the file in the package.

    The combined scores in the tables are recomputed. Raises `DataError` if the file cannot be read
    or has a wrong format.
    """
    return read_published(path or embedded("leaderboards", "multiwoz.json"), _leaderboard)


def _leaderboard(plain: Any) -> Leaderboard:
    names = [*(column.name for column in COLUMNS if column.name != "combined"), "combined"]
    reference = replace(
        _row({"system": "reference corpus", **plain["reference_corpus"]}, names), kind="reference"
    )
    tables = {}
    for name, states in plain["states"].items():
        systems = [
            {**row, "combined": float(combined(row["inform"], row["success"], row["bleu"]))}
            for row in plain[name]
        ]
        systems.sort(key=lambda row: -row["combined"])
        rows = (*(_row(system, names) for system in systems), reference)
        title = f"{name.replace('_', ' ')} (states: {states})"
        tables[name] = LeaderboardTable(title, {"table": name}, COLUMNS, rows, "combined")
    beside = {}
    for name, table in plain["beside"].items():
        columns = [
            Column(figure, label, 2, as_published=True) for figure, label in table["columns"]
        ]
        rows = tuple(_row(row, [column.name for column in columns]) for row in table["rows"])
        listed = LeaderboardTable(table["title"], {"table": name}, columns, rows)
        beside[name] = OtherTable(listed, table["source"], table["not_comparable"])
    return Leaderboard(
        plain["source"], plain["conditions"], plain["states"], reference, tables, beside
    )


def _row(plain: Mapping[str, Any], names: Sequence[str]) -> LeaderboardRow:
    figures = {name: Figure(plain[name]) for name in names if name in plain}
    return LeaderboardRow(
        plain["system"], figures, source=plain.get("paper"), note=plain.get("note")
    )


@dataclass(frozen=True, slots=True)
class Standings:
    """The leaderboard tables to show, and warnings. Some tables contain the user's system."""

    tables: Mapping[str, LeaderboardTable]
    own: LeaderboardRow | None = None
    cautions: tuple[str, ...] = ()
    beside: Mapping[str, OtherTable] = field(default_factory=dict)


def standings(
    leaderboard: Leaderboard, entry: Report | None = None, table: str | None = None
) -> Standings:
    """Return all leaderboard tables, or the table with the given name. The user's system is
    inserted into the tables with the same source of states.

    Raises `UsageError` if the table is unknown, if no system can be inserted into it, or if the
    system is not comparable with any table.
    """
    tables, beside = leaderboard.tables, leaderboard.beside
    if table is not None:
        name, known = table.replace("-", "_"), (*tables, *beside)
        if name not in known:
            raise UsageError(unknown("table", table, known))
        if name in beside and entry is not None:
            reasons = " ".join(beside[name].not_comparable)
            raise UsageError(f"{entry.name} is left out of {name}: {reasons}")
        tables = {name: tables[name]} if name in tables else {}
        beside = {name: beside[name]} if name in beside else {}
    if entry is None:
        return Standings(tables, beside=beside)
    own, choices = own_row(entry, leaderboard.conditions)
    units, state = int(leaderboard.conditions["n"]), choices.get("state")
    placed = {
        name: with_similar(published, own, units).with_own(own)
        if leaderboard.states[name] == state
        else published
        for name, published in tables.items()
    }
    cautions = []
    for key, what in COVERAGE.items():
        if key in choices and choices[key] != leaderboard.conditions[key]:
            cautions.append(
                f"{own.system} is scored on {choices[key]} {what}, the published systems on "
                f"{leaderboard.conditions[key]}; scores over different dialogues or turns are "
                "not strictly comparable"
            )
    if table is not None:
        cautions += [
            f"{own.system} is left out of {name}: its states are {state}, but the table is for "
            f"{leaderboard.states[name]} states"
            for name in tables
            if leaderboard.states[name] != state
        ]
    if lacking := [name for name in COMPARED if own.figures[name].interval is None]:
        cautions.append(
            f"{own.system}: {', '.join(lacking)} have no interval, so no published score can be "
            "marked as similar; evaluate with --ci"
        )
    return Standings(placed, own, tuple(cautions))


def published_document(entry: Report | None, table: str | None = None) -> Document:
    """Return a document of all tables or one table, with the unchanged published scores.

    Scores that do not differ significantly from the system's are marked. Raises `UsageError` for
    an unknown table or a system that was scored under other conditions.
    """
    leaderboard = read_leaderboard()
    shown = standings(leaderboard, entry, table)
    listed = (*shown.tables.values(), *(other.table for other in shown.beside.values()))
    own = shown.own
    conditions = (
        "published scores: {corpus}, {fold} fold, rules {rules}, BLEU against {references}, {n} "
        "dialogues".format_map(leaderboard.conditions)
    )
    return Document(
        heading=(conditions,) if shown.tables else (),
        sheets=tuple(shown_table.sheet() for shown_table in listed),
        notes=(
            *_notes(leaderboard, shown),
            *(
                f"{NOTED} {row.system}: {row.note}"
                for shown_table in listed
                for row in shown_table.rows
                if row.note
            ),
        ),
        records=tuple(
            {
                **shown_table.record(row, name, figure),
                "similar": name in row.similar if row.kind == "published" and own else None,
            }
            for shown_table in listed
            for row, name, figure in shown_table.figures()
        ),
        plain={
            "schema": SCHEMA,
            "source": leaderboard.source,
            "conditions": dict(leaderboard.conditions),
            "cautions": list(shown.cautions),
            "reference_corpus": {
                n: f.value for n, f in leaderboard.reference_corpus.figures.items()
            },
            "tables": {
                shown_table.keys["table"]: [
                    _plain(row) for row in shown_table.rows if row.kind != "reference"
                ]
                for shown_table in listed
            },
            "beside": {
                name: {"source": other.source, "not_comparable": other.not_comparable}
                for name, other in shown.beside.items()
            },
        },
    )


def _notes(leaderboard: Leaderboard, shown: Standings) -> Iterator[str]:
    if shown.tables:
        yield f"source: {leaderboard.source}"
        yield (
            "Combined is computed as (Inform + Success) / 2 + BLEU. All published scores are "
            f"assumed to use the normalization rules {leaderboard.conditions['rules']}; for "
            "scores that were added later, the source does not state the rules."
        )
    if shown.tables and shown.own is not None:
        yield (
            f"{OURS}{shown.own.system}. {SIMILAR} after a score: not significantly different "
            f"from yours at {100 * (shown.own.confidence or CONFIDENCE):g} % confidence; the "
            "test includes the sampling errors of both scores and is unpaired, so it is "
            f"conservative. {SIMILAR} after a name: no significant difference in any of the four "
            "scores."
        )
    yield from shown.cautions
    for other in shown.beside.values():
        yield f"{other.table.title}: from {other.source}"
        yield from (f"  {reason}" for reason in other.not_comparable)


def _plain(row: LeaderboardRow) -> Mapping[str, Any]:
    figures = {name: figure.plain() for name, figure in row.figures.items()}
    if row.kind == "own":
        return {"system": row.system, "published": False, "figures": figures}
    return {
        "system": row.system,
        "published": True,
        "paper": row.source,
        "note": row.note,
        "figures": figures,
        "similar": [name for name in COMPARED if name in row.similar],
        "indistinguishable": row.similar.issuperset(COMPARED),
    }


def combined(inform: float, success: float, bleu: float) -> Decimal:
    """Return the exact combined score, (Inform + Success) / 2 + BLEU, of published scores.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    return (Decimal(str(inform)) + Decimal(str(success))) / 2 + Decimal(str(bleu))


def own_row(entry: Report, conditions: Mapping[str, str]) -> tuple[LeaderboardRow, dict[str, str]]:
    """Return a system's row of a leaderboard table, and the choices in the signatures of its
    scores.

    `conditions` are the conditions of the published scores, as keys of signatures. A rate without
    an interval gets a Wilson interval. Raises `UsageError` if a required score is missing or was
    computed under other conditions.
    """
    scores = {score.name: score for score in entry.scores if score.scope == WHOLE}
    names = {figure: figure for figure in COMPARED} | {"bleu": f"bleu.{conditions['references']}"}
    richness = {column.name: f"richness.{column.name}" for column in COLUMNS[len(COMPARED) :]}
    row = row_of(entry, names | richness)
    figures = dict(row.figures)
    for name, figure in figures.items():
        if name in RATES and figure.interval is None:
            n = scores[name].n
            figures[name] = Figure(figure.value, wilson(figure.value * n / 100, n).scaled(100))
    choices: dict[str, str] = {}
    for name in (name for name in COMPARED if name in figures):
        choices |= scores[names[name]].signature.choices
    bare = {key: choice.partition("@")[0] for key, choice in choices.items()}  # without checksums
    different = [
        f"{key} is {bare[key]} instead of {expected}"
        for key, expected in conditions.items()
        if key not in COVERAGE and bare.get(key, expected) != expected
    ]
    if different:
        raise UsageError(
            f"{entry.name} is not comparable with the published systems: {'; '.join(different)}"
        )
    if lacking := [name for name in COMPARED if name not in figures]:
        raise UsageError(
            f"{entry.name}: a row among the published systems also needs the scores "
            f"{', '.join(lacking)}; evaluate with --bleu --success"
        )
    return replace(row, figures=figures), choices


def with_similar(table: LeaderboardTable, own: LeaderboardRow, units: int) -> LeaderboardTable:
    """Return a table with marks for scores similar to `own`; `units` is the number of dialogues."""
    rows = (
        replace(row, similar=similar_figures(own, row, units)) if row.kind == "published" else row
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def similar_figures(own: LeaderboardRow, published: LeaderboardRow, units: int) -> frozenset[str]:
    """Return the published scores from which the system's scores do not differ significantly.

    The scores of both systems have sampling error. The interval of the difference is combined from
    the intervals of the two scores (Newcombe, Statistics in Medicine 17, 1998; Zou and Donner,
    ibid. 27, 2008). A published rate gets a Wilson interval. The interval of a published BLEU or
    combined score is not known; it is assumed to be as wide as that of the user's system.

    The two systems were scored on the same dialogues, but the published result of each dialogue is
    not known, so the samples are treated as independent. The assumption of independence is
    conservative. A dialogue that is hard for one system is usually hard for the other system, so
    the true interval is narrower, and a paired test would find more differences. The intervals are
    not corrected for the number of published systems.
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
