"""Tables and JSON files of scores, clusters of items, and `compare --items`."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mwzeval.comparison import ComparedMeasure, compare
from mwzeval.comparison.items import Columns, read_items
from mwzeval.errors import InputError, Problem
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.scores.score import Interval
from tests.command_lines import Run
from tests.places import GOOD, write_json
from tests.tables import named, present
from tests.work import calls


def read(
    folder: Path, text: str, *scores: str, **asked: Any
) -> tuple[ScoredTable, list[Problem], dict[str, float]]:
    """Return the table, the warnings and the values of the scores of a file with this text."""
    file = folder / "run"
    file.write_bytes(text.encode())
    items = read_items([str(file)], Columns(scores=scores, **asked))
    scored = items.scored[str(file)]
    values = {score.name: score.value for score in scored.scores()}
    return scored, list(items.warnings[str(file)]), values


TABLES: list[tuple[str, tuple[str, ...], dict[str, float]]] = [
    # Binary outcomes become rates in percent; other scores keep their unit.
    (
        "task\ttrial\treward\n7\t0\t1.0\n7\t1\t0\n8\t0\t1\n8\t1\t1\n",
        (),
        {"reward": 75, "pass^1": 75, "pass^2": 50, "flips^2": 50},
    ),
    ('Item,Score,Turns\n"a, b",0.5,4\n"a, b",1.5,6\n\nc,4,7\n', (), {"score": 2.5}),
    ('Item,Score,Turns\n"a, b",0.5,4\n"a, b",1.5,6\n\nc,4,7\n', ("TURNS",), {"turns": 6}),
    ("item,trials\na,2\nb,4\n", ("trials",), {"trials": 3}),
    # Columns with common score names are scores without being selected.
    ("item,f1,accuracy\na,0.5,True\nb,0.25,False\n", (), {"accuracy": 50, "f1": 0.375}),
    # In the long layout, each row names its score.
    ("item,metric,value\na,EM,1\na,F1,0.5\nb,EM,0\nb,F1,1\n", (), {"em": 50, "f1": 0.75}),
]


@pytest.mark.parametrize(("text", "scores", "expected"), TABLES)
def test_tables_give_the_expected_scores(
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
def test_ignored_rows_and_columns_cause_warnings(
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
def test_table_errors_name_their_location(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert [word for word in words if word not in str(raised.value)] == []


def test_problems_of_all_files_are_reported_together(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("item,score\na,one\nb,two\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_items([str(file) for file in files])
    assert len(raised.value.problems) == 4


def test_columns_are_selected_by_case_insensitive_name(tmp_path: Path) -> None:
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


def test_a_trial_without_one_score_counts_for_its_other_scores(tmp_path: Path) -> None:
    """For each score, an item's value is the mean of the trials that have this score."""
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


def test_all_supported_score_notations_are_read(tmp_path: Path) -> None:
    for text in (*JSON_SHAPES, *WAYS):
        scored, _, values = read(tmp_path, text)
        assert scored.table.units in (("a", "b"), ("ä", "b")), text
        assert next(iter(values.values())) == 50, text
    file = tmp_path / "run.tsv.gz"
    file.write_bytes(gzip.compress(WAYS[0].encode()))
    assert read_items([str(file)]).scored[str(file)].table.units == ("ä", "b")


def test_numeric_item_ids_are_equal_in_all_formats(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.csv", "b.json", "c.json")]
    files[0].write_text("item,score\n1,1\n2,0\n", encoding="utf-8")
    files[1].write_text('[{"item": 1.0, "score": 1}, {"item": 2, "score": 0}]', encoding="utf-8")
    files[2].write_text('{"1": 1, "2": 0}', encoding="utf-8")
    scored = read_items([str(file) for file in files]).scored
    assert {system.table.units for system in scored.values()} == {("1", "2")}


def test_reading_work_grows_linearly_with_the_rows(tmp_path: Path) -> None:
    made = []
    for rows in (200, 800):
        lines = (f"{n},{n % 7},{n % 3}" for n in range(rows))
        text = "\n".join(["item,cluster,score", *lines])
        made.append(calls(lambda: read(tmp_path, text)))  # noqa: B023
    assert made[1] < 4.2 * made[0]


RNG = Random(1)
ITEMS = [f"item-{number}" for number in range(100)]
FIRST = {item: int(RNG.random() < 0.6) for item in ITEMS}
SECOND = {item: int(RNG.random() < 0.7) for item in ITEMS}


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def table(path: Path, rows: Iterable[tuple[object, object]], score: str = "score") -> str:
    """Write a file with a score of each item and return its path."""
    return write(path, f"item,{score}\n" + "".join(f"{item},{value}\n" for item, value in rows))


def test_percentages_are_converted_to_the_unit_of_the_other_file(tmp_path: Path) -> None:
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
        # A warning about missing items requires that they change the score.
        (["left-out"], [(item, score) for item, score in ROWS if FIRST[item]]),
        ([], ROWS[1:]),
    ],
)
def test_suspicious_score_values_cause_warnings(
    expected: list[str], rows: list[tuple[str, float]], tmp_path: Path
) -> None:
    """The other file has scores of 0 and 1."""
    files = [table(tmp_path / "a.csv", FIRST.items()), table(tmp_path / "b.csv", rows)]
    read = read_items(files)
    assert [warning.kind for file in files for warning in read.warnings[file]] == expected


def test_a_file_given_twice_causes_a_warning(tmp_path: Path, run: Run) -> None:
    first = table(tmp_path / "a.csv", FIRST.items())
    second = table(tmp_path / "b.csv", SECOND.items())
    for options, files, warning in (
        ("--items", (first, second), ""),
        ("--items", (first, first), f"warning: {first} "),
        ("--corpus=sample", (GOOD, GOOD), f"warning: {GOOD} "),
    ):
        code, _, err = run("compare", options, *files)
        assert code == 0
        assert warning in err
        assert ("warning: " in err) == bool(warning)


STATSMODELS = {"difference": 0.06588533, "error": 0.08047454, "p": 0.41295177, "items": 270}
ERRORS = (0.07173114, 0.11012024)
"""The cluster-robust standard error of the score of each system."""
FINE = Resampling(samples=10_000)


def pair() -> NDArray[np.float64]:
    """Return (cluster, score of the first system, score of the second system) of each item."""
    random = np.random.default_rng(7)
    rows = []
    for cluster in range(60):
        shift, easy = random.normal(0, 0.6), random.normal(0, 0.5)
        for _ in range(int(random.integers(1, 9))):
            base = easy + random.normal(0, 0.5)
            rows.append((cluster, base, base + 0.3 + shift + random.normal(0, 0.3)))
    return np.array(rows)


def compared(folder: Path, rows: NDArray[np.float64], *, clusters: bool = True) -> ComparedMeasure:
    files = []
    for system in (1, 2):
        lines = [f"{n},text{row[0]:g},{row[system]!r}" for n, row in enumerate(rows.tolist())]
        text = "\n".join(["item,cluster,score", *lines, ""])
        files.append(write(folder / f"{system}.csv", text))
    items = read_items(files)
    groups = items.clusters if clusters else None
    options: dict[str, Any] = {"resampling": FINE, "intervals": True, "unit": "item"}
    return compare(items.scored, clusters=groups, **options).measures[0]


def half_width(interval: Interval | None) -> float:
    return (present(interval).high - present(interval).low) / 2


def test_intervals_and_p_values_agree_with_clustered_standard_errors(tmp_path: Path) -> None:
    rows = pair()
    measure = compared(tmp_path, rows)
    assert (measure.group.clusters, len(measure.group.units)) == (60, STATSMODELS["items"])
    found = present(measure.systems[1].difference)
    assert found.value == pytest.approx(STATSMODELS["difference"], abs=1e-8)
    # The bootstrap converges to the normal interval; with 60 clusters it differs by at most 6 %.
    assert half_width(found.interval) == pytest.approx(1.96 * STATSMODELS["error"], rel=0.06)
    assert found.p_value == pytest.approx(STATSMODELS["p"], abs=0.04)
    for system, error in zip(measure.systems, ERRORS, strict=True):
        assert half_width(system.interval) == pytest.approx(1.96 * error, rel=0.06)
    alone = present(compared(tmp_path, rows, clusters=False).systems[1].difference)
    assert half_width(alone.interval) == pytest.approx(1.96 * 0.03693088, rel=0.06)
    paired = stats.ttest_rel(rows[:, 2], rows[:, 1]).pvalue
    assert alone.p_value == pytest.approx(paired, abs=0.02)


def test_the_randomization_test_swaps_whole_clusters(tmp_path: Path) -> None:
    """Oracle: scipy's exact test, which enumerates all 2^10 ways to swap ten clusters."""
    rows = pair()
    rows = rows[rows[:, 0] < 10]
    sums = np.bincount(rows[:, 0].astype(int), weights=rows[:, 2] - rows[:, 1])
    exact = stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    ).pvalue
    found = present(compared(tmp_path, rows).systems[1].difference)
    assert found.p_value == pytest.approx(exact, abs=0.015)


@pytest.mark.integration
def test_clusters_of_one_item_change_only_the_test_of_outcomes(tmp_path: Path) -> None:
    rows = pair()
    rows[:, 0] = np.arange(len(rows))
    own, none = (compared(tmp_path, rows, clusters=c) for c in (True, False))
    assert own.systems[1].difference == none.systems[1].difference
    rows[:, 1:] = rows[:, 1:] > 0.4
    own, none = (compared(tmp_path, rows, clusters=c) for c in (True, False))
    assert (own.test, none.test) == ("approximate-randomization", "mcnemar")
    mine, theirs = (present(measure.systems[1].difference) for measure in (own, none))
    assert (mine.interval, mine.counts) == (theirs.interval, theirs.counts)
    assert mine.p_value == pytest.approx(theirs.p_value, abs=0.02)


def test_wilson_intervals_count_clusters_if_all_items_succeed(tmp_path: Path) -> None:
    """Resampled means are constant, so Wilson's interval for 20 clusters is reported."""
    rows = np.array([(n // 3, 1, n % 10 > 0) for n in range(60)], dtype=np.float64)
    own = present(compared(tmp_path, rows).systems[0].interval)
    wilson = stats.binomtest(20, 20).proportion_ci(method="wilson")
    assert (own.low, own.high) == pytest.approx((100 * wilson.low, 100 * wilson.high))


def test_clusters_of_one_file_apply_to_all_files(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "item,cluster,score\n1,x,0\n2,x,1\n3,y,1\n")
    other = write(tmp_path / "b.csv", "item,score\n1,0\n2,1\n4,1\n")
    items = read_items([other, first])
    assert items.clusters == {"1": "x", "2": "x", "3": "y"}
    another = write(tmp_path / "c.csv", "item,cluster,score\n1,x,0\n2,y,1\n")
    with pytest.raises(InputError, match=r'c\.csv: line 3: .*"2".*"y".*"x"'):
        read_items([first, another])
    lines = write(tmp_path / "d.csv", "item,cluster,score\n1,x,0\n")
    more = write(tmp_path / "e.csv", "item,score\n1,0\n4,1\n")
    assert read_items([lines, more]).clusters == {"1": "x"}


FEW = ("--samples", "200")


def records_of(run: Run, *words: str) -> tuple[list[dict[str, Any]], str]:
    """Return the records and the warnings of `compare --items`."""
    _, out, err = run("compare", "--items", *words, *FEW, "-f", "json")
    return json.loads(out)["comparisons"], err


FOUR = {
    "a": "10001000101110001000111110001111001000100110101100010010001100100111001001000100",
    "b": "10100010101100100001111101111111000011110000101101110010111111110101111111100100",
    "c": "10110001101111000101101111011010001111111111101101010010111111110110011111111111",
    "d": "11111101111111100011111111111111011111111001111111010111111111111110111111101110",
}
EXACT = {"b": 0.016124801710247997, "c": 0.00019512558355927467, "d": 5.65314621780999e-08}
"""p values of the comparisons with a: scipy's `binomtest(wins, wins + losses).pvalue`."""
HOLM = {"b": 0.016124801710247997, "c": 0.00039025116711854935, "d": 1.695943865342997e-07}
"""`multipletests(…, method="holm")` of statsmodels 0.15.0; only b and c do not differ (0.17)."""


def test_several_systems_get_corrected_p_values_and_ranks(run: Run, tmp_path: Path) -> None:
    files = [table(tmp_path / f"{name}.csv", enumerate(FOUR[name])) for name in FOUR]
    rows, _ = records_of(run, *files)
    assert {r["system"]: r["p"] for r in rows[1:]} == pytest.approx(EXACT)
    assert {r["system"]: r["p_holm"] for r in rows[1:]} == pytest.approx(HOLM)
    assert {r["system"]: r["rank"] for r in rows} == {"d": 1, "b": 2, "c": 2, "a": 4}
    out = run("compare", "--items", files[0], f"ours={files[1]},{files[2]}", *FEW, "-f", "json").out
    assert json.loads(out)["runs"]["ours"] == ["b.csv", "c.csv"]


def test_lower_is_better_option_reverses_wins_and_ranks(run: Run, tmp_path: Path) -> None:
    rates = {"a": "555655555555", "b": "123752211221", "c": "555555555555"}
    files = [table(tmp_path / f"{n}.csv", enumerate(rates[n]), "WER") for n in rates]
    found = []
    for lower, advice, counts, ranks in (
        ([], '--lower-is-better "wer"', (1, 1, 10), [1, 3, 1]),
        (["--lower-is-better", "WER"], "", (10, 1, 1), [2, 1, 2]),
    ):
        rows, err = records_of(run, *files, "--score", "wer", *lower)
        assert advice in err
        assert bool(advice) == bool(err)
        assert (rows[1]["wins"], rows[1]["ties"], rows[1]["losses"]) == counts
        assert [row["rank"] for row in rows] == ranks
        same = ("system", "value", "difference", "low", "high", "p", "p_holm")
        found.append([[row[key] for key in same] for row in rows])
    assert found[0] == found[1]


def test_lower_is_better_outcomes_have_no_pass_scores(run: Run, tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{name}.csv", f"item,score,error\na,1,0\na,0,{last}\nb,0,1\nb,1,1\n")
        for name, last in (("one", 0), ("other", 1))
    ]
    for lower, names in (
        ([], {"error", "pass^1", "pass^2", "flips^2"}),
        (["--lower-is-better", "error"], {"error"}),
    ):
        rows, _ = records_of(run, *files, "--score", "error", *lower)
        assert {row["score"] for row in rows} == names


def test_power_gives_the_same_result_for_csv_and_json_items(run: Run, tmp_path: Path) -> None:
    rows = [{"item": n, "trial": t, "score": (n * t) % 2} for n in range(6) for t in (1, 2)]
    table = "item,trial,score\n" + "".join(f"{r['item']},{r['trial']},{r['score']}\n" for r in rows)
    files = {
        "csv": (write(tmp_path / "pilot.csv", table),),
        "json": ("--items", write_json(tmp_path / "pilot.json", rows)),
    }
    found = [run("power", *args, "--difference", "10", "-f", "json")[1] for args in files.values()]
    assert found[0] == found[1]


def test_scores_are_compared_on_items_that_both_systems_have(run: Run, tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "item,success,f1\na,1,0.5\nb,0,\nc,1,1\nd,1,0.25\n")
    other = write(tmp_path / "b.csv", "item,success,f1\na,0,0.5\nb,0,0.5\nc,1,0.5\ne,1,0.25\n")
    rows, err = records_of(run, first, other)
    value = {(row["score"], row["system"]): (row["value"], row["cases"]) for row in rows}
    assert value["success", "a"] == (pytest.approx(200 / 3), 3)
    assert value["f1", "a"] == (0.75, 2)
    assert value["f1", "b"] == (0.5, 2)
    assert "1 items with f1" in err


def test_a_score_uses_the_same_unit_in_all_files(run: Run, tmp_path: Path) -> None:
    """A score that is 0 or 1 in only one of the files is not converted to percent."""
    files = [table(tmp_path / f"{b}.csv", [("a", a), ("b", b)]) for a, b in ((1, 0), (0.5, 1))]
    rows, _ = records_of(run, *files)
    assert [row["value"] for row in rows] == [0.5, 0.75]


def harness_samples(path: Path, rights: str) -> str:
    lines = [
        {"doc_id": n, "resps": [["1"]], "filter": name, "metrics": ["exact_match"]}
        | {"exact_match": float(right)}
        for name in ("strict-match", "flexible-extract")
        for n, right in enumerate(rights)
    ]
    return write(path, "".join(f"{json.dumps(line)}\n" for line in lines))


def test_score_names_with_commas_can_be_selected(run: Run, tmp_path: Path) -> None:
    files = [harness_samples(tmp_path / f"{name}.jsonl", name) for name in ("0110", "1110")]
    for names in (
        "exact_match,strict-match",
        "exact_match,flexible-extract,Exact_Match,strict-match",
    ):
        rows, _ = records_of(run, *files, "--score", names, "--lower-is-better", names)
        compared = ",".join({row["score"] for row in rows})
        assert sorted(compared.split(",")) == sorted(names.lower().split(","))
    wrong = run("compare", "--items", *files, "--score", "exact_match,strict")
    assert '"exact_match"' in wrong.err
