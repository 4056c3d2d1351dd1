"""Tables of scores that other programs wrote."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest

from mwzeval.comparison.item_scores import is_table_of_items, read_item_scores
from mwzeval.errors import InputError
from mwzeval.metrics.measure import named


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", True), ("A.TSV", True), ("a.csv.gz", True), ("a.json", False), ("csv", False)],
)
def test_a_table_is_known_by_its_name(name: str, expected: bool) -> None:
    assert is_table_of_items(name) is expected


TRIALS = "task\ttrial\treward\n7\t0\t1.0\n7\t1\t0\n8\t0\t1\n8\t1\t1\n"


def test_outcomes_of_trials_have_rates_in_percent(tmp_path: Path) -> None:
    file = tmp_path / "pilot.tsv.gz"
    file.write_bytes(gzip.compress(TRIALS.encode()))
    scored, warnings = read_item_scores(str(file))
    scores = scored.scores()
    assert scored.table.units == ("7", "8")
    assert named(scores, "reward").value == 75
    assert [named(scores, f"pass^{k}").value for k in (1, 2)] == [75, 50]
    assert warnings == []
    assert pickle.loads(pickle.dumps(scored)).table.units == ("7", "8")


def test_other_scores_keep_their_unit_and_lines_of_an_item_are_its_trials(tmp_path: Path) -> None:
    file = tmp_path / "pilot.csv"
    file.write_text('Item,Score,Turns\n"a, b",0.5,4\n"a, b",1.5,6\n\nc,4,7\n', encoding="utf-8")
    scored, _ = read_item_scores(str(file))
    assert scored.table.units == ("a, b", "c")
    assert [score.name for score in scored.scores()] == ["score"]
    assert named(scored.scores(), "score").value == 2.5
    turns, _ = read_item_scores(str(file), "TURNS")
    assert named(turns.scores(), "turns").value == 6
    file.write_text("item,trials\na,2\nb,4\n", encoding="utf-8")
    assert named(read_item_scores(str(file), "trials")[0].scores(), "trials").value == 3


def test_a_trial_without_a_score_was_none_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pilot.csv"
    file.write_text("item,score\na,1\na,\nb,0\nc,\n", encoding="utf-8")
    scored, warnings = read_item_scores(str(file))
    assert scored.table.units == ("a", "b")
    assert [(problem.kind, problem.count) for problem in warnings] == [("no-score", 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,points\na,1\n", 'line 1 names no column with the score: it must be called "score"'),
        ("what,score\na,1\n", 'line 1 names no column with the item: it must be called "item"'),
        ("item,score\na,1\nb\n", "line 3 has 1 cells, the names of columns are 2"),
        ("item,score\na,one\n", 'line 2: score is "one", which is not a number'),
        ("item,score\na,nan\n", 'line 2: score is "nan", which is not a number'),
        ("item,trial,score\na,1,0\na,1,0\n", 'line 3: trial "1" of item "a" came before'),
        ("item,score\n", "no line with a score"),
        ('item,score\na,"1\n' + "x" * 200_000, "line "),
        ("\n\n", "the file is empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "pilot.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_item_scores(str(file))
    assert said in str(raised.value)


def test_all_problems_are_told_together(tmp_path: Path) -> None:
    file = tmp_path / "pilot.csv"
    file.write_text("item,score\na,one\nb,two\nc\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_item_scores(str(file))
    assert len(raised.value.problems) == 3
