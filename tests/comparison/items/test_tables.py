"""Tables and JSON of scores: which column says what, what is wrong, and what may be a mistake."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.comparison.items import Columns, read_items
from mwzeval.errors import InputError, Problem
from mwzeval.metrics.measure import ScoredTable
from tests.places import ROOT
from tests.tables import named
from tests.work import calls


def read(
    folder: Path, text: str, *scores: str, **asked: Any
) -> tuple[ScoredTable, list[Problem], dict[str, float]]:
    """Return what is read of a file with this text, its warnings, and the values of its scores."""
    file = folder / "run"
    file.write_bytes(text.encode())
    items = read_items([str(file)], Columns(scores=scores, **asked))
    scored = items.scored[str(file)]
    values = {score.name: score.value for score in scored.scores()}
    return scored, list(items.warnings[str(file)]), values


TABLES: list[tuple[str, tuple[str, ...], dict[str, float]]] = [
    # Outcomes of trials have rates in percent, other scores keep their unit.
    (
        "task\ttrial\treward\n7\t0\t1.0\n7\t1\t0\n8\t0\t1\n8\t1\t1\n",
        (),
        {"reward": 75, "pass^1": 75, "pass^2": 50, "flips^2": 50},
    ),
    ('Item,Score,Turns\n"a, b",0.5,4\n"a, b",1.5,6\n\nc,4,7\n', (), {"score": 2.5}),
    ('Item,Score,Turns\n"a, b",0.5,4\n"a, b",1.5,6\n\nc,4,7\n', ("TURNS",), {"turns": 6}),
    ("item,trials\na,2\nb,4\n", ("trials",), {"trials": 3}),
    # All usual names of scores are scores.
    ("item,f1,accuracy\na,0.5,True\nb,0.25,False\n", (), {"accuracy": 50, "f1": 0.375}),
    # Rows may name their score.
    ("item,metric,value\na,EM,1\na,F1,0.5\nb,EM,0\nb,F1,1\n", (), {"em": 50, "f1": 0.75}),
]


@pytest.mark.parametrize(("text", "scores", "expected"), TABLES)
def test_scores_of_tables(
    tmp_path: Path, text: str, scores: tuple[str, ...], expected: dict[str, float]
) -> None:
    scored, _, values = read(tmp_path, text, *scores)
    assert values == expected
    assert pickle.loads(pickle.dumps(scored)).table.units == scored.table.units


WARNINGS = [
    ("item,score\na,1\na,\nb,0\nc,\n", [("no-score", 2, "score"), ("repeated-item", 1, '"a"')]),
    ("item,score\na,1\nb,0\nb,0\n", [("repeated-item", 1, '"b"')]),
    ("item,score\na,1\na,1\nb,0\nb,0\n", []),
]


@pytest.mark.parametrize(("text", "expected"), WARNINGS)
def test_what_is_not_counted_is_a_warning(
    tmp_path: Path, text: str, expected: list[tuple[str, int, str]]
) -> None:
    _, warnings, _ = read(tmp_path, text)
    assert [(w.kind, w.count) for w in warnings] == [(kind, count) for kind, count, _ in expected]
    assert all(word in w.message for w, (*_, word) in zip(warnings, expected, strict=True))


WRONG = [
    ("item,points\na,1\n", "--score", '"points"'),
    ("what,score\na,1\n", '"item"'),
    ("item,score\na,1\nb\n", "line 3"),
    ("item,score\na,one\n", "line 2", '"one"'),
    ("item,score\na,inf\n", "line 2", '"inf"'),
    ("item,score\na,1e999\n", "line 2", '"1e999"'),
    ("item,score\na,-1e308\nb,1e308\n", "line 3", '"1e308"', "1e+100"),
    ('[{"item": 1, "score": 1' + "0" * 400 + "}]", "row 1", "1e+100"),
    ('[{"item": 1, "score": Infinity}]', "row 1", '"inf"'),
    ('item;score\na;"0,5"\n', "line 2", '"0,5"', " 0.5"),
    ("item,trial,score\na,1,0\na,1,0\n", "line 3", 'trial "1"', '"a"'),
    ("item,trial,score\na,,0\na,2,0\n", "line 2", '"trial"'),
    ("item,score\n,0\n", "line 2", '"item"'),
    ("item,score,score\na,0,0\n", "line 1"),
    ("id,task,score\n1,sums,1\n2,sums,0\n", '"task", "id"', "--item-column"),
    ("item,correct,f1\na,B,0.5\n", "line 2", '"B"'),
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


@pytest.mark.parametrize(("text", "words"), [(text, words) for text, *words in WRONG])
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert [word for word in words if word not in str(raised.value)] == []


def test_all_problems_of_all_files_are_told_together(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("item,score\na,one\nb,two\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_items([str(file) for file in files])
    assert len(raised.value.problems) == 4


def test_columns_are_asked_for_by_name_in_any_case(tmp_path: Path) -> None:
    text = "qid,item,Answer,Points,seed\n1,x,no,3,7\n1,y,yes,5,8\n"
    scored, _, values = read(tmp_path, text, "points", item="QID", trial="seed")
    assert (scored.table.units, values) == (("1",), {"points": 4})
    with pytest.raises(InputError) as raised:
        read(tmp_path, text, item="qids", cluster="text", trial="sed")
    problems = list(map(str, raised.value.problems))
    expected = [("--item-column", '"qid"'), ("--cluster-column", '"text"')]
    expected.append(("--trial-column", '"seed"'))
    for problem, words in zip(problems[:3], expected, strict=True):
        assert all(word in problem for word in words)
    with pytest.raises(InputError, match=r'--score.*"points"'):
        read(tmp_path, text, "point")


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


def test_a_trial_that_lacks_one_score_counts_for_the_others(tmp_path: Path) -> None:
    """An item is the mean of the trials that have the score, whatever it has of other scores."""
    rows = [("a", 1, 0.5), ("a", 0, None), ("b", 1, 0.75), ("b", 1, 0.25), ("c", 1, None)]
    trials = [{"item": item, "success": success, "f1": f1} for item, success, f1 in rows]
    scored, _, _ = read(tmp_path, json.dumps(trials))
    values = {score.name: (score.value, score.n) for score in scored.scores()}
    assert values["success"] == (100 * (0.5 + 1 + 1) / 3, 3)
    assert values["f1"] == (0.5, 2)
    assert values["pass^2"] == (50, 2)


WAYS = [
    "\ufeffitem,score\nä,1\nb,0\n",
    "item,score\r\nä,1\r\nb,0\r\n",
    "item,score\rä,1\rb,0\r",
    "item;score\nä;1\nb;0",
    "item\tscore\nä\t1\nb\t0\n\n",
    '"item","score"\n"ä","1"\n"b","0"\n',
    " item , score \n ä , 1 \n b , 0 \n",
    "item,score\na\u0308,1\nb,0\n",
    "item,score\nä,1\nä,nan\nb,0\nb,NA\n",
    '\ufeff[{"item": "ä", "score": 1}, {"item": "b", "score": 0}]',
    '[{"item": "ä", "score": 1}, {"item": "b", "score": 0.0}]',
]


def test_ways_to_write_scores(tmp_path: Path) -> None:
    for text in (*JSON_SHAPES, *WAYS):
        scored, _, values = read(tmp_path, text)
        assert scored.table.units in (("a", "b"), ("ä", "b")), text
        assert next(iter(values.values())) == 50, text
    file = tmp_path / "run.tsv.gz"
    file.write_bytes(gzip.compress(WAYS[0].encode()))
    assert read_items([str(file)]).scored[str(file)].table.units == ("ä", "b")


def test_numbers_of_items_are_the_same_in_any_format(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.json", "c.json")]
    files[0].write_text("item,score\n1,1\n2,0\n", encoding="utf-8")
    files[1].write_text('[{"item": 1.0, "score": 1}, {"item": 2, "score": 0}]', encoding="utf-8")
    files[2].write_text('{"1": 1, "2": 0}', encoding="utf-8")
    scored = read_items([str(file) for file in files]).scored
    assert {of.table.units for of in scored.values()} == {("1", "2")}


def test_the_work_grows_as_the_rows_do(tmp_path: Path) -> None:
    made = []
    for rows in (200, 800):
        lines = (f"{n},{n % 7},{n % 3}" for n in range(rows))
        text = "\n".join(["item,cluster,score", *lines])
        made.append(calls(lambda: read(tmp_path, text)))  # noqa: B023
    assert made[1] < 4.2 * made[0]


GOOD = str(ROOT / "predictions" / "sample-good.json")
RNG = Random(1)
ITEMS = [f"item-{number}" for number in range(100)]
FIRST = {item: int(RNG.random() < 0.6) for item in ITEMS}
SECOND = {item: int(RNG.random() < 0.7) for item in ITEMS}


def table(file: Path, rows: Iterable[tuple[str, float]]) -> str:
    lines = "".join(f"{item},{score}\n" for item, score in rows)
    file.write_text(f"item,score\n{lines}", encoding="utf-8")
    return str(file)


def test_percent_is_converted(tmp_path: Path) -> None:
    files = [
        table(tmp_path / "a.csv", FIRST.items()),
        table(tmp_path / "b.csv", ((item, 100 * score) for item, score in SECOND.items())),
    ]
    read = read_items(files)
    assert [warning.kind for warning in read.warnings[files[1]]] == ["units"]
    scores = [named(read.scored[file].scores(), "score").value for file in files]
    assert scores == pytest.approx([sum(FIRST.values()), sum(SECOND.values())])


ROWS = list(SECOND.items())
OTHER = [(item, 1 - score) for item, score in ROWS]


@pytest.mark.parametrize(
    ("expected", "rows"),
    [
        ([], ROWS),
        (["values"], [(item, -1 if n % 9 == 0 else s) for n, (item, s) in enumerate(ROWS)]),
        (["values"], [(item, (n % 6) / 5) for n, item in enumerate(ITEMS)]),
        (["values"], [(item, 20 * (n % 6)) for n, item in enumerate(ITEMS)]),
        (["values"], list(FIRST.items())),
        ([], [*ROWS, *OTHER]),
        # Items that are left out matter where they change the score.
        (["left-out"], [(item, score) for item, score in ROWS if FIRST[item]]),
        ([], ROWS[1:]),
    ],
)
def test_what_may_be_a_mistake_is_a_warning(
    expected: list[str], rows: list[tuple[str, float]], tmp_path: Path
) -> None:
    """In comparison with a file of 0 and 1."""
    files = [table(tmp_path / "a.csv", FIRST.items()), table(tmp_path / "b.csv", rows)]
    read = read_items(files)
    assert [warning.kind for file in files for warning in read.warnings[file]] == expected


def test_a_file_that_is_given_twice_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (
        table(tmp_path / f"{name}.csv", scores.items())
        for name, scores in (("a", FIRST), ("b", SECOND))
    )
    assert main(["compare", "--items", first, second]) == 0
    assert "warning: " not in capsys.readouterr().err
    assert main(["compare", "--items", first, first]) == 0
    assert f"warning: {first} " in capsys.readouterr().err
    assert main(["compare", "--corpus", "sample", GOOD, GOOD]) == 0
    assert f"warning: {GOOD} " in capsys.readouterr().err
