"""Leaderboard tables: ranks, marks, transposed tables and records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import DataError
from mwzeval.report.leaderboard import (
    Column,
    Figure,
    LeaderboardRow,
    LeaderboardTable,
    read_published,
    rounded,
    row_of,
)
from mwzeval.scores.score import Interval, Score, Signature
from tests.report.systems import scored

COLUMNS = (Column("a", "A", 1), Column("b", "B", 2, as_published=True))


def row(system: str, a: float | None, b: float | None = None, **more: Any) -> LeaderboardRow:
    figures = {name: Figure(value) for name, value in (("a", a), ("b", b)) if value is not None}
    return LeaderboardRow(system, figures, **more)


def own(a: float, reach: float | None = None) -> LeaderboardRow:
    interval = None if reach is None else Interval(a - reach, a + reach, 0.9, "bootstrap")
    return LeaderboardRow("mine", {"a": Figure(a, interval)}, "own")


RANKED = LeaderboardTable(
    "title",
    {"table": "t"},
    COLUMNS,
    (
        row("x", 9, 1.234, note="odd"),
        row("y", 5, 2.0),
        row("of unknown a", None, 3.0),
        row("chance", 1, kind="reference"),
    ),
    ranked_by="a",
)


def texts(table: LeaderboardTable) -> list[list[str]]:
    return [[cell.text + cell.mark for cell in line] for line in table.sheet().rows]


@pytest.mark.parametrize(("value", "place"), [(9.5, 0), (9, 1), (5, 2), (0.5, 4)])
def test_a_system_is_ranked_below_published_systems_with_equal_scores(
    value: float, place: int
) -> None:
    mine = own(value)
    rows = list(RANKED.with_own(mine).rows)
    assert rows.pop(place) is mine
    assert rows == list(RANKED.rows)


def test_leaderboard_figures_are_shown_as_published_with_marks() -> None:
    assert texts(RANKED) == [
        ["x §", "9.0", "1.234"],
        ["y", "5.0", "2.0"],
        ["of unknown a", "", "3.0"],
        ["chance", "1.0", ""],
    ]
    marked = [row(name, 9, 1.5, similar=frozenset(name)) for name in ("b", "ab")]
    assert texts(LeaderboardTable("", {}, COLUMNS, tuple(marked))) == [
        ["b", "9.0", "1.5≈"],
        ["ab ≈", "9.0≈", "1.5≈"],
    ]


def test_best_scores_are_marked_and_the_own_row_has_its_interval_below() -> None:
    table = RANKED.with_own(own(7, reach=0.5))
    cells = table.sheet().rows[1]
    assert [cell.text for cell in cells] == ["» mine", "7.0", ""]
    best = [
        (r, c) for r, line in enumerate(table.sheet().rows) for c, x in enumerate(line) if x.best
    ]
    assert best == [(0, 1), (4, 2)]
    assert texts(table)[2] == ["  90 % interval", "6.5–7.5", ""]
    assert len(table.sheet().rows) == 6
    assert len(RANKED.with_own(own(7)).sheet().rows) == 5


def test_transposed_tables_mark_the_best_system_of_each_line() -> None:
    table = LeaderboardTable(
        "title", {}, COLUMNS, (row("x", 9, 1.0), row("y", 5, 2.0)), heading="Of", transposed=True
    ).with_own(own(9, reach=1))
    sheet = table.sheet()
    assert sheet.header == ("Of", "x", "y", "» mine", "90 % interval")
    assert [[cell.text for cell in line] for line in sheet.rows] == [
        ["A", "9.0", "5.0", "9.0", "8.0–10.0"],
        ["B", "1.0", "2.0", "", ""],
    ]
    assert [[cell.best for cell in line[1:4]] for line in sheet.rows] == [
        [True, False, True],
        [False, True, False],
    ]
    assert [(entry.system, name) for entry, name, _ in table.figures()] == [
        *(("x", "a"), ("y", "a"), ("mine", "a"), ("x", "b"), ("y", "b"))
    ]


def test_records_contain_all_figures_in_table_order() -> None:
    table = RANKED.with_own(own(7, reach=0.5))
    records = [table.record(*figure) for figure in table.figures()]
    assert [(r["system"], r["figure"]) for r in records] == [
        *(("x", "a"), ("x", "b"), ("mine", "a"), ("y", "a"), ("y", "b"), ("of unknown a", "b"))
    ]
    about = {"table": "t", "system": "mine", "published": False}
    assert records[2] == {**about, "figure": "a", "value": 7, "low": 6.5, "high": 7.5}
    assert [r["published"] for r in records].count(False) == 1


def test_halves_are_rounded_away_from_zero() -> None:
    assert [rounded(69.15, 1), rounded(-0.25, 1), rounded(1407, 0)] == ["69.2", "-0.3", "1407"]


@pytest.mark.parametrize("text", ["", "{}"])
def test_damaged_leaderboard_files_are_errors_that_name_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "table.json"
    file.write_text(text)
    with pytest.raises(DataError, match=r"table\.json"):
        read_published(file, lambda plain: plain["tables"])


def test_entries_are_converted_to_rows_with_their_scores() -> None:
    interval = Interval(4.0, 6.5, 0.9, "bootstrap")
    score = Score("acc", "Accuracy", 5.0, 3, Signature.of("x", {}), interval=interval)
    entry = scored("mine", (score, replace(score, scope="hotel", value=1.0, interval=None)))
    assert row_of(entry, {"a": "acc", "b": "other"}).figures == {"a": Figure(5.0, interval)}
    assert row_of(entry, {}).confidence is None
    assert row_of(entry, {"a": "acc"}).confidence == 0.9
