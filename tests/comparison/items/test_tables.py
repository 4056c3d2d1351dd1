"""Tables and JSON of scores: which column says what, and what is wrong with which line."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from mwzeval.comparison.item_formats import Columns
from mwzeval.comparison.items import read_items
from mwzeval.errors import InputError, Problem
from mwzeval.metrics.measure import ScoredTable, named
from tests.work import calls


def read(file: Path, *scores: str, **asked: Any) -> tuple[ScoredTable, tuple[Problem, ...]]:
    items = read_items([str(file)], Columns(scores=scores, **asked))
    return items.scored[str(file)], items.warnings[str(file)]


TRIALS = "task\ttrial\treward\n7\t0\t1.0\n7\t1\t0\n8\t0\t1\n8\t1\t1\n"


def test_outcomes_of_trials_have_rates_in_percent(tmp_path: Path) -> None:
    file = tmp_path / "pilot.tsv.gz"
    file.write_bytes(gzip.compress(TRIALS.encode()))
    scored, warnings = read(file)
    scores = scored.scores()
    assert scored.table.units == ("7", "8")
    assert named(scores, "reward").value == 75
    assert [named(scores, f"pass^{k}").value for k in (1, 2)] == [75, 50]
    assert warnings == ()
    assert pickle.loads(pickle.dumps(scored)).table.units == ("7", "8")


def test_other_scores_keep_their_unit_and_lines_of_an_item_are_its_trials(tmp_path: Path) -> None:
    file = tmp_path / "pilot.csv"
    file.write_text('Item,Score,Turns\n"a, b",0.5,4\n"a, b",1.5,6\n\nc,4,7\n', encoding="utf-8")
    scored, _ = read(file)
    assert scored.table.units == ("a, b", "c")
    assert [score.name for score in scored.scores()] == ["score"]
    assert named(scored.scores(), "score").value == 2.5
    turns, _ = read(file, "TURNS")
    assert named(turns.scores(), "turns").value == 6
    file.write_text("item,trials\na,2\nb,4\n", encoding="utf-8")
    assert named(read(file, "trials")[0].scores(), "trials").value == 3


def test_a_trial_without_a_score_was_none_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pilot.csv"
    file.write_text("item,score\na,1\na,\nb,0\nc,\n", encoding="utf-8")
    scored, warnings = read(file)
    assert scored.table.units == ("a", "b")
    assert [(problem.kind, problem.count) for problem in warnings] == [
        ("no-score", 2),
        ("repeated-item", 1),
    ]


WRONG = [
    ("item,points\na,1\n", "--score", '"points"'),
    ("what,score\na,1\n", '"item"'),
    ("item,score\na,1\nb\n", "line 3"),
    ("item,score\na,one\n", "line 2", '"one"'),
    ("item,score\na,inf\n", "line 2", '"inf"'),
    ("item,score\na,1e999\n", "line 2", '"1e999"'),
    ('[{"item": 1, "score": Infinity}]', "row 1", '"inf"'),
    ('item;score\na;"0,5"\n', "line 2", '"0,5"', " 0.5"),
    ("item,trial,score\na,1,0\na,1,0\n", "line 3", 'trial "1"', '"a"'),
    ("item,trial,score\na,,0\na,2,0\n", "line 2", '"trial"'),
    ("item,score\n,0\n", "line 2", '"item"'),
    ("item,score,score\na,0,0\n", "line 1", '"score"'),
    ("item,cluster,score\na,x,0\na,y,0\n", "line 3", '"a"', '"y"', '"x"'),
    ("item,score\n", "no row"),
    ("item,score\na,\n", "no row"),
    ('item,score\na,"1\n' + "x" * 200_000, "line "),
    ("\n\n", "empty"),
    ('[{"item": 1}, 2]', "row 2"),
    ('{"item": "a", "score": "high"}', '"item"'),
    ('{"item": 1}\n[2]\n', "line 2"),
    ('{"eval": {}, "plan": {}}', "samples"),
    ("[1, 2]", "row 1"),
    ('[{"item": "a", "score": [1]}]', "row 1", '"[1]"'),
]


def test_what_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "pilot.csv"
    unnamed = []
    for text, *words in WRONG:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as raised:
            read(file)
        unnamed += [(text[:40], each) for each in words if each not in str(raised.value)]
    assert not unnamed


def test_all_problems_of_all_files_are_told_together(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("item,score\na,one\nb,two\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_items([str(file) for file in files])
    assert len(raised.value.problems) == 4


def test_columns_are_asked_for_by_name_in_any_case(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("qid,item,Answer,Points,seed\n1,x,no,3,7\n1,y,yes,5,8\n", encoding="utf-8")
    scored, _ = read(file, "points", item="QID", trial="seed")
    assert scored.table.units == ("1",)
    assert named(scored.scores(), "points").value == 4
    with pytest.raises(InputError) as raised:
        read(file, "point", item="qids", cluster="text", trial="sed")
    problems = [str(problem).partition(": ")[2] for problem in raised.value.problems]
    expected = [
        ("--item-column", '"qid"'),
        ("--cluster-column", '"text"'),
        ("--trial-column", '"seed"'),
        ("--score", '"points"'),
    ]
    for problem, words in zip(problems, expected, strict=True):
        assert all(word in problem for word in words)


def test_all_usual_names_of_scores_are_scores_unless_they_hold_texts(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("item,correct,f1,acc\na,B,0.5,True\nb,C,0.25,False\n", encoding="utf-8")
    scored, warnings = read(file)
    assert {s.name: s.value for s in scored.scores()} == {"acc": 50, "f1": 0.375}
    assert ['"correct"' in warning.message for warning in warnings] == [True]


def test_rows_may_name_their_score(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("item,metric,value\na,EM,1\na,F1,0.5\nb,EM,0\nb,F1,1\n", encoding="utf-8")
    scored, _ = read(file)
    assert {s.name: (s.label, s.value) for s in scored.scores()} == {
        "em": ("EM", 50),
        "f1": ("F1", 0.75),
    }


JSON_SHAPES = [
    '[{"item": "a", "score": 1}, {"item": "b", "score": false}]',
    '{"item": "a", "score": 1}\n\n{"item": "b", "score": 0.0}\n',
    '{"name": "run", "results": [{"id": "a", "score": true}, {"id": "b", "score": 0}]}',
    '{"a": 1, "b": 0}',
    '{"a": [1, 1], "b": [0, 0]}',
    '{"a": {"score": 1}, "b": {"score": 0}}',
    '[{"id": "a", "scores": {"score": 1}}, {"id": "b", "scores": {"score": 0}}]',
    '[{"id": "a", "score": 1}, {"id": "b", "score": 0}, {"id": "b", "score": NaN}]',
]


def test_json_of_many_shapes(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    for text in JSON_SHAPES:
        file.write_text(text, encoding="utf-8")
        scored, _ = read(file)
        assert scored.table.units == ("a", "b"), text
        assert scored.scores()[0].value == 50, text


def test_a_trial_that_lacks_one_score_counts_for_the_others(tmp_path: Path) -> None:
    """An item is the mean of the trials that have the score, whatever it has of other scores."""
    file = tmp_path / "run.json"
    rows = [("a", 1, 0.5), ("a", 0, None), ("b", 1, 0.75), ("b", 1, 0.25), ("c", 1, None)]
    file.write_text(json.dumps([{"item": i, "acc": a, "f1": f} for i, a, f in rows]), "utf-8")
    scored, warnings = read(file)
    values = {score.name: (score.value, score.n) for score in scored.scores()}
    assert values["acc"] == (100 * (0.5 + 1 + 1) / 3, 3)
    assert values["f1"] == (0.5, 2)
    assert values["pass^2"] == (50, 2)
    assert [(w.kind, w.count) for w in warnings] == [("no-score", 2), ("repeated-item", 1)]


WAYS = {
    "bom": "\ufeffitem,score\nä,1\nb,0\n",
    "windows": "item,score\r\nä,1\r\nb,0\r\n",
    "old-mac": "item,score\rä,1\rb,0\r",
    "semicolons": "item;score\nä;1\nb;0",
    "tabs": "item\tscore\nä\t1\nb\t0\n\n",
    "quotes": '"item","score"\n"ä","1"\n"b","0"\n',
    "spaces": " item , score \n ä , 1 \n b , 0 \n",
    "decomposed": "item,score\na\u0308,1\nb,0\n",
    "nan": "item,score\nä,1\nä,nan\nb,0\nb,NA\n",
    "bom-json": '\ufeff[{"item": "ä", "score": 1}, {"item": "b", "score": 0}]',
    "floats": '[{"item": "ä", "score": 1}, {"item": "b", "score": 0.0}]',
}


def test_ways_to_write_a_table(tmp_path: Path) -> None:
    file = tmp_path / "run"
    for way, text in WAYS.items():
        file.write_bytes(text.encode())
        scored, _ = read(file)
        assert scored.table.units == ("ä", "b"), way
        assert [score.value for score in scored.scores()] == [50], way


def test_numbers_of_items_are_the_same_in_any_format(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.json", "c.json")]
    files[0].write_text("item,score\n1,1\n2,0\n", encoding="utf-8")
    files[1].write_text('[{"item": 1.0, "score": 1}, {"item": 2, "score": 0}]', encoding="utf-8")
    files[2].write_text('{"1": 1, "2": 0}', encoding="utf-8")
    scored = read_items([str(file) for file in files]).scored
    assert {of.table.units for of in scored.values()} == {("1", "2")}


def test_rows_of_some_items_only_may_be_there_twice(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("item,score\na,1\nb,0\nb,0\n", encoding="utf-8")
    _, warnings = read(file)
    assert ['"b"' in warning.message for warning in warnings] == [True]
    file.write_text("item,score\na,1\na,1\nb,0\nb,0\n", encoding="utf-8")
    assert read(file)[1] == ()


def test_another_column_that_may_be_the_item_is_told(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("id,task,name,score\n1,sums,x,1\n2,sums,y,0\n", encoding="utf-8")
    scored, warnings = read(file)
    assert scored.table.units == ("sums",)
    assert ['--item-column "id"' in warning.message for warning in warnings] == [True]
    scored, warnings = read(file, item="id")
    assert (scored.table.units, warnings) == (("1", "2"), ())
    file.write_text("id,task,score\n1,sums,1\n2,words,0\n", encoding="utf-8")
    assert read(file)[1] == ()


def test_the_work_grows_as_the_rows_do(tmp_path: Path) -> None:
    made = []
    for rows in (200, 800):
        file = tmp_path / f"{rows}.csv"
        lines = (f"{n},{n % 7},{n % 3}" for n in range(rows))
        file.write_text("\n".join(["item,cluster,score", *lines]), encoding="utf-8")
        made.append(calls(lambda: read(file)))  # noqa: B023
    assert made[1] < 4.2 * made[0]
