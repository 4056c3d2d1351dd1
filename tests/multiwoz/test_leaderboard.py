"""The published tables, and a system's place among them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

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
GOOD = str(ROOT / "predictions" / "sample-good.json")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def leaderboard() -> Leaderboard:
    return read_leaderboard()


def entry(
    inform: float = 85.0,
    success: float = 75.0,
    bleu: float = 19.0,
    *,
    width: float | None = 1.0,
    n: int = 1000,
    state: str = "predicted",
    **choices: str,
) -> Report:
    chosen = {
        "corpus": "multiwoz-2.2@0123abcd",
        "fold": "test",
        "n": str(n),
        "turns": "7372",
        "state": state,
        "rules": "2021",
        "references": "mwz22@0123abcd",
    } | choices
    total = (inform + success) / 2 + bleu
    values = {"inform": inform, "success": success, "bleu.mwz22": bleu, "combined": total}
    scores = (
        Score(
            name,
            name,
            value,
            n,
            Signature.of("x", chosen),
            interval=Interval(value - width, value + width, 0.95, "bootstrap") if width else None,
        )
        for name, value in values.items()
    )
    return scored("mine", scores)


def published(leaderboard: LeaderboardTable) -> list[LeaderboardRow]:
    return [row for row in leaderboard.rows if row.kind == "published"]


def above(leaderboard: LeaderboardTable) -> int | None:
    kinds = [row.kind for row in leaderboard.rows]
    return kinds.index("own") if "own" in kinds else None


@pytest.mark.integration
def test_the_figures_are_those_published_and_combined_is_not_copied() -> None:
    published = read_json(shared("data", "multiwoz", "leaderboard.json"))
    ours = read_json(ROOT / "data" / "leaderboards" / "multiwoz.json")
    assert ours["source"]
    assert ours["reference_corpus"] == published["reference_corpus"]
    for table in TABLES:
        without = [{k: v for k, v in row.items() if k != "combined"} for row in published[table]]
        assert [{k: v for k, v in row.items() if k != "note"} for row in ours[table]] == without


def test_tables_beside_are_complete_and_say_what_is_not_comparable(
    leaderboard: Leaderboard, capsys: pytest.CaptureFixture[str]
) -> None:
    tracking = leaderboard.beside["state_tracking"]
    rows = {row.system: row for row in tracking.table.rows}
    assert len(rows) == len(tracking.table.rows) == 30
    versions = {
        name: [row.figures[name].value for row in rows.values() if name in row.figures]
        for name in ("joint_2.0", "slot_2.0", "joint_2.1", "slot_2.1", "joint_2.2")
    }
    # What the source has, column by column: how many, and the best.
    assert {name: (len(v), max(v)) for name, v in versions.items()} == {
        "joint_2.0": (15, 54.86),
        "slot_2.0": (9, 98.42),
        "joint_2.1": (18, 60.61),
        "slot_2.1": (1, 97.21),
        "joint_2.2": (6, 59.98),
    }
    assert all(row.source and row.source.startswith("https://") for row in rows.values())
    assert main(["leaderboard", "--table", "state-tracking"]) == 0
    shown = capsys.readouterr().out
    assert "commit 1385788 (2023)" in shown
    assert "TRADE" in shown
    for reason in tracking.not_comparable:
        assert reason in shown
    assert main(["leaderboard"]) == 0
    shown = capsys.readouterr().out
    assert all(each.table.title in shown for each in leaderboard.beside.values())


def test_no_system_is_placed_in_a_table_beside(leaderboard: Leaderboard) -> None:
    with pytest.raises(UsageError, match="state_tracking"):
        standings(leaderboard, entry(), "state_tracking")
    shown = standings(leaderboard, entry())
    assert not shown.beside


def test_combined_scores_are_computed_and_rows_sorted_by_them(leaderboard: Leaderboard) -> None:
    end_to_end = leaderboard.tables["end_to_end"].rows[:-1]
    found = {row.system: row.figures["combined"].value for row in end_to_end}
    assert rounded(found["DAMD"]) == "69.2"
    assert rounded(found["GALAXY"]) == "100.2"
    for table in leaderboard.tables.values():
        *rows, reference = table.rows
        assert reference is leaderboard.reference_corpus
        scores = [row.figures["combined"].value for row in rows]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"source": 1}', '{"states": {"a": "gold"}}'])
def test_a_damaged_file_of_tables_is_an_error(elsewhere: Path, text: str) -> None:
    (elsewhere / "tables.json").write_text(text)
    with pytest.raises(DataError):
        read_leaderboard(elsewhere / "tables.json")


@pytest.mark.parametrize(
    ("figures", "better"), [((100, 100, 30), 0), ((85.9, 76.5, 19.1), 5), ((1, 1, 1), 17)]
)
def test_a_system_stands_where_its_combined_score_puts_it(
    leaderboard: Leaderboard, figures: tuple[float, float, float], better: int
) -> None:
    tables = standings(leaderboard, entry(*figures)).tables
    assert above(tables["end_to_end"]) == better
    assert above(tables["policy_optimization"]) is None


def test_a_system_with_gold_states_stands_among_those(leaderboard: Leaderboard) -> None:
    system = entry(state="gold")
    shown = standings(leaderboard, system)
    assert [above(table) is None for table in shown.tables.values()] == [True, False]
    assert not shown.cautions
    forced = standings(leaderboard, system, "end_to_end")
    assert list(forced.tables) == ["end_to_end"]
    assert above(forced.tables["end_to_end"]) is None
    (caution,) = forced.cautions
    assert "end_to_end" in caution


def test_similar_is_what_an_interval_of_the_difference_does_not_exclude(
    leaderboard: Leaderboard,
) -> None:
    width = 1.0
    system = entry(85.0, 75.0, 19.0, width=width)
    shown = standings(leaderboard, system, "end_to_end")
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


def test_without_intervals_rates_get_one_and_nothing_else_is_called_similar(
    leaderboard: Leaderboard,
) -> None:
    shown = standings(leaderboard, entry(85.0, 75.0, 19.0, width=None))
    assert shown.own is not None
    interval = shown.own.figures["inform"].interval
    assert interval is not None
    assert (round(interval.low, 1), round(interval.high, 1)) == (82.7, 87.1)
    rows = published(shown.tables["end_to_end"])
    assert all(row.similar <= {"inform", "success"} for row in rows)
    assert any("bleu, combined" in line for line in shown.cautions)


@pytest.mark.parametrize(
    "choices",
    [
        {"corpus": "sample@0"},
        {"corpus": "multiwoz-2.1@0"},
        {"fold": "dev"},
        {"rules": "2023"},
    ],
)
def test_what_was_scored_otherwise_is_refused(
    leaderboard: Leaderboard, choices: dict[str, str]
) -> None:
    (key,) = choices
    with pytest.raises(UsageError, match=f"{key} is "):
        standings(leaderboard, entry(**choices))  # type: ignore[arg-type]


def test_missing_dialogues_or_turns_are_cautioned(leaderboard: Leaderboard) -> None:
    cautions = standings(leaderboard, entry(n=999, turns="7371")).cautions
    assert len(cautions) == 2
    assert "999" in cautions[0]


def test_a_system_is_placed_in_every_format() -> None:
    for format_name in FORMATS:
        assert "mine" in render(published_document(entry()), format_name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", GOOD], "multiwoz-2.2"),
        (["--table", "end_to_emd"], '"end_to_end"'),
    ],
)
def test_bad_use_is_told(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["leaderboard", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err


@pytest.mark.integration
def test_a_published_system_finds_itself_on_real_data(capsys: pytest.CaptureFixture[str]) -> None:
    data = shared("data", "multiwoz")
    arguments = ["leaderboard", "-i", str(data / "predictions" / "ubar.json"), "--data", str(data)]
    assert main([*arguments, "-f", "json", "--samples", "200"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["end_to_end"]
    names = [row["system"] for row in rows]
    assert abs(names.index("ubar") - names.index("UBAR")) == 1
    (published,) = (row for row in rows if row["system"] == "UBAR")
    assert published["indistinguishable"]
    (damd,) = (row for row in rows if row["system"] == "DAMD")
    assert damd["similar"] == []


def test_scores_that_are_missing_are_named(leaderboard: Leaderboard) -> None:
    for kept, message in ((0, "inform, success, bleu, combined"), (2, "bleu, combined")):
        with pytest.raises(UsageError, match=message):
            standings(leaderboard, replace(entry(), scores=entry().scores[:kept]))
