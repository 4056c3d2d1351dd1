"""The published leaderboard tables, and the rank of a system in them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.errors import DataError, UsageError
from mwzeval.multiwoz.leaderboard import (
    COMPARED,
    Leaderboard,
    published_document,
    read_leaderboard,
    standings,
)
from mwzeval.report.leaderboard import LeaderboardRow, LeaderboardTable, rounded
from mwzeval.scores.report import Report
from mwzeval.scores.score import Interval, Score, Signature
from mwzeval.scores.sheets import FORMATS, render
from tests.places import ROOT, read_json, shared
from tests.report.systems import scored

TABLES = ("end_to_end", "policy_optimization")


@pytest.fixture(scope="module")
def leaderboard() -> Leaderboard:
    return read_leaderboard()


def entry(
    inform: float = 85.0,
    success: float = 75.0,
    bleu: float = 19.0,
    *,
    width: float | None = 1.0,
    **choices: str,
) -> Report:
    """Return a report with these scores, intervals (plus or minus `width`) and choices."""
    chosen = {
        **{"corpus": "multiwoz-2.2@0123abcd", "fold": "test", "n": "1000", "turns": "7372"},
        **{"state": "predicted", "rules": "2021", "references": "mwz22@0123abcd"},
        **choices,
    }
    total = (inform + success) / 2 + bleu
    values = {"inform": inform, "success": success, "bleu.mwz22": bleu, "combined": total}
    scores = []
    for name, value in values.items():
        interval = Interval(value - width, value + width, 0.95, "bootstrap") if width else None
        signature = Signature.of("x", chosen)
        scores.append(Score(name, name, value, int(chosen["n"]), signature, interval=interval))
    return scored("mine", scores)


def published(table: LeaderboardTable) -> list[LeaderboardRow]:
    return [row for row in table.rows if row.kind == "published"]


def place(table: LeaderboardTable) -> int | None:
    """Return the number of rows above the system, or None if it is not in the table."""
    kinds = [row.kind for row in table.rows]
    return kinds.index("own") if "own" in kinds else None


@pytest.mark.integration
def test_leaderboard_figures_equal_the_published_figures() -> None:
    published = read_json(shared("data", "multiwoz", "leaderboard.json"))
    ours = read_json(ROOT / "data" / "leaderboards" / "multiwoz.json")
    assert ours["reference_corpus"] == published["reference_corpus"]
    for table in TABLES:
        without = [{k: v for k, v in row.items() if k != "combined"} for row in published[table]]
        assert [{k: v for k, v in row.items() if k != "note"} for row in ours[table]] == without


def test_state_tracking_table_is_complete(
    leaderboard: Leaderboard, capsys: pytest.CaptureFixture[str]
) -> None:
    tracking = leaderboard.beside["state_tracking"]
    rows = tracking.table.rows
    assert len({row.system for row in rows}) == len(rows) == 30
    assert all((row.source or "").startswith("https://") for row in rows)
    # The number of figures and the best figure in each column of the source.
    for name, expected in {
        "joint_2.0": (15, 54.86),
        "slot_2.0": (9, 98.42),
        "joint_2.1": (18, 60.61),
        "slot_2.1": (1, 97.21),
        "joint_2.2": (6, 59.98),
    }.items():
        figures = [row.figures[name].value for row in rows if name in row.figures]
        assert (len(figures), max(figures)) == expected
    assert main(["leaderboard", "--table", "state-tracking"]) == 0
    shown = capsys.readouterr().out
    assert all(reason in shown for reason in tracking.not_comparable)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"source": 1}', '{"states": {"a": "gold"}}'])
def test_damaged_leaderboard_files_are_errors(tmp_path: Path, text: str) -> None:
    (tmp_path / "tables.json").write_text(text)
    with pytest.raises(DataError):
        read_leaderboard(tmp_path / "tables.json")


def test_rows_are_sorted_by_the_computed_combined_score(leaderboard: Leaderboard) -> None:
    for table in leaderboard.tables.values():
        *rows, reference = table.rows
        assert reference is leaderboard.reference_corpus
        scores = [row.figures["combined"].value for row in rows]
        assert scores == sorted(scores, reverse=True)
    found = {row.system: row.figures for row in leaderboard.tables["end_to_end"].rows}
    combined = [rounded(found[name]["combined"].value) for name in ("DAMD", "GALAXY")]
    assert combined == ["69.2", "100.2"]


@pytest.mark.parametrize(
    ("system", "places"),
    [
        (entry(100, 100, 30), (0, None)),
        (entry(85.9, 76.5, 19.1), (5, None)),
        (entry(1, 1, 1), (17, None)),
        (entry(state="gold"), (None, 8)),
    ],
)
def test_system_is_placed_by_combined_score_and_state_source(
    leaderboard: Leaderboard, system: Report, places: tuple[int | None, int | None]
) -> None:
    shown = standings(leaderboard, system)
    assert tuple(place(shown.tables[name]) for name in TABLES) == places
    assert not shown.cautions
    assert not shown.beside


def test_system_is_excluded_from_tables_with_another_state_source(leaderboard: Leaderboard) -> None:
    shown = standings(leaderboard, entry(state="gold"), "end_to_end")
    assert {name: place(table) for name, table in shown.tables.items()} == {"end_to_end": None}
    (caution,) = shown.cautions
    assert "end_to_end" in caution


def test_scores_are_similar_if_the_difference_interval_includes_zero(
    leaderboard: Leaderboard,
) -> None:
    width = 1.0
    shown = standings(leaderboard, entry(width=width), "end_to_end")
    assert shown.own is not None
    for row in published(shown.tables["end_to_end"]):
        for name in COMPARED:
            theirs = row.figures[name].value
            apart = abs(shown.own.figures[name].value - theirs)
            other = width
            if name in ("inform", "success"):  # the normal approximation of Wilson's interval
                other = 1.96 * 100 * math.sqrt(theirs / 100 * (1 - theirs / 100) / 1000)
            reach = math.hypot(width, other)
            if abs(apart - reach) > 0.1:
                assert (name in row.similar) is (apart < reach), (row, name)


def test_only_rates_are_compared_without_intervals(leaderboard: Leaderboard) -> None:
    shown = standings(leaderboard, entry(width=None))
    assert shown.own is not None
    interval = shown.own.figures["inform"].interval
    assert interval is not None
    assert (round(interval.low, 1), round(interval.high, 1)) == (82.7, 87.1)
    rows = published(shown.tables["end_to_end"])
    assert all(row.similar <= {"inform", "success"} for row in rows)
    assert any("bleu, combined" in line for line in shown.cautions)


@pytest.mark.parametrize(
    ("system", "table", "message"),
    [
        (entry(corpus="sample@0"), None, "corpus is "),
        (entry(corpus="multiwoz-2.1@0"), None, "corpus is "),
        (entry(fold="dev"), None, "fold is "),
        (entry(rules="2023"), None, "rules is "),
        (replace(entry(), scores=()), None, "inform, success, bleu, combined"),
        (replace(entry(), scores=entry().scores[:2]), None, "bleu, combined"),
        (entry(), "state_tracking", "state_tracking"),
        (None, "end_to_emd", '"end_to_end"'),
    ],
)
def test_unknown_tables_and_incomparable_systems_are_errors(
    leaderboard: Leaderboard, system: Report | None, table: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        standings(leaderboard, system, table)


def test_missing_dialogues_and_turns_cause_cautions(leaderboard: Leaderboard) -> None:
    cautions = standings(leaderboard, entry(n="999", turns="7371")).cautions
    assert ["999" in cautions[0], "7371" in cautions[1], len(cautions)] == [True, True, 2]


def test_every_format_shows_the_systems() -> None:
    for format_name in FORMATS:
        assert "mine" in render(published_document(entry()), format_name)
        assert "TRADE" in render(published_document(None, "state-tracking"), format_name)


@pytest.mark.integration
def test_published_predictions_are_placed_next_to_their_published_row(
    elsewhere: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data = shared("data", "multiwoz")
    words = ["leaderboard", "-i", str(data / "predictions" / "ubar.json"), "--data", str(data)]
    assert main([*words, "-f", "json", "--samples", "200"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["end_to_end"]
    names = [row["system"] for row in rows]
    assert abs(names.index("ubar") - names.index("UBAR")) == 1
    assert rows[names.index("UBAR")]["indistinguishable"]
    assert rows[names.index("DAMD")]["similar"] == []
