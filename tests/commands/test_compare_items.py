"""`compare --items` and `power --items`: what they print and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_lines import Run

FEW = ("--samples", "200")


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def table(folder: Path, name: str, values: str, score: str = "score") -> str:
    """Write a file with a score of one digit for each item."""
    lines = "".join(f"{item},{value}\n" for item, value in enumerate(values))
    return write(folder / f"{name}.csv", f"item,{score}\n{lines}")


FOUR = {
    "a": "10001000101110001000111110001111001000100110101100010010001100100111001001000100",
    "b": "10100010101100100001111101111111000011110000101101110010111111110101111111100100",
    "c": "10110001101111000101101111011010001111111111101101010010111111110110011111111111",
    "d": "11111101111111100011111111111111011111111001111111010111111111111110111111101110",
}
EXACT = {"b": 0.016124801710247997, "c": 0.00019512558355927467, "d": 5.65314621780999e-08}
"""scipy's `binomtest(wins, wins + losses).pvalue` against a."""
HOLM = {"b": 0.016124801710247997, "c": 0.00039025116711854935, "d": 1.695943865342997e-07}
"""`multipletests(…, method="holm")` of statsmodels 0.15.0; of all pairs it leaves b, c (0.17)."""


def test_many_systems_are_corrected_and_ranked(run: Run, tmp_path: Path) -> None:
    files = [table(tmp_path, name, outcomes) for name, outcomes in FOUR.items()]
    _, out, _ = run("compare", "--items", *files, *FEW, "-f", "json")
    rows = json.loads(out)["comparisons"]
    assert {r["system"]: r["p"] for r in rows[1:]} == pytest.approx(EXACT)
    assert {r["system"]: r["p_holm"] for r in rows[1:]} == pytest.approx(HOLM)
    assert {r["system"]: r["rank"] for r in rows} == {"d": 1, "b": 2, "c": 2, "a": 4}
    _, out, _ = run(
        "compare", "--items", files[0], f"ours={files[1]},{files[2]}", *FEW, "-f", "json"
    )
    assert json.loads(out)["runs"]["ours"] == ["b.csv", "c.csv"]


def test_lower_may_be_better(run: Run, tmp_path: Path) -> None:
    rates = {"a": "555655555555", "b": "123752211221", "c": "555555555555"}
    files = [table(tmp_path, name, values, "WER") for name, values in rates.items()]
    asked = ("compare", "--items", *files, "--score", "wer")
    _, out, err = run(*asked, "-f", "json")
    rows = {row["system"]: row for row in json.loads(out)["comparisons"]}
    assert '--lower-is-better "wer"' in err
    assert (rows["b"]["wins"], rows["b"]["ties"], rows["b"]["losses"]) == (1, 1, 10)
    assert [rows[name]["rank"] for name in "abc"] == [1, 3, 1]
    lower = (*asked, "--lower-is-better", "WER")
    _, out, err = run(*lower, "-f", "json")
    turned = {row["system"]: row for row in json.loads(out)["comparisons"]}
    assert err == ""
    assert (turned["b"]["wins"], turned["b"]["ties"], turned["b"]["losses"]) == (10, 1, 1)
    assert [turned[name]["rank"] for name in "abc"] == [2, 1, 2]
    for key in ("value", "difference", "low", "high", "p", "p_holm"):
        assert [row[key] for row in turned.values()] == [row[key] for row in rows.values()]


def test_failures_of_trials_have_no_pass(run: Run, tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{name}.csv", f"item,score,error\na,1,0\na,0,{last}\nb,0,1\nb,1,1\n")
        for name, last in (("one", 0), ("other", 1))
    ]
    names = {}
    for lower in ((), ("--lower-is-better", "error")):
        asked = ("compare", "--items", *files, *FEW, "--score", "error", *lower, "-f", "json")
        names[lower] = {row["score"] for row in json.loads(run(*asked)[1])["comparisons"]}
    assert names[()] == {"error", "pass^1", "pass^2", "flips^2"}
    assert names["--lower-is-better", "error"] == {"error"}


def test_power_reads_the_same_files(run: Run, tmp_path: Path) -> None:
    rows = [{"item": n, "trial": t, "score": (n * t) % 2} for n in range(6) for t in (1, 2)]
    table = "item,trial,score\n" + "".join(f"{r['item']},{r['trial']},{r['score']}\n" for r in rows)
    files = {
        "csv": (write(tmp_path / "pilot.csv", table),),
        "json": ("--items", write(tmp_path / "pilot.json", json.dumps(rows))),
    }
    found = [run("power", *of, "--difference", "10", "-f", "json")[1] for of in files.values()]
    assert found[0] == found[1]


def test_a_score_is_compared_where_both_have_it(run: Run, tmp_path: Path) -> None:
    one = write(tmp_path / "a.csv", "item,success,f1\na,1,0.5\nb,0,\nc,1,1\nd,1,0.25\n")
    other = write(tmp_path / "b.csv", "item,success,f1\na,0,0.5\nb,0,0.5\nc,1,0.5\ne,1,0.25\n")
    _, out, err = run("compare", "--items", one, other, *FEW, "-f", "json")
    value = {
        (r["score"], r["system"]): (r["value"], r["cases"]) for r in json.loads(out)["comparisons"]
    }
    assert value["success", "a"] == (pytest.approx(200 / 3), 3)
    assert value["f1", "a"] == (0.75, 2)
    assert value["f1", "b"] == (0.5, 2)
    assert "1 items with f1" in err


def test_a_score_has_one_unit_in_all_files(run: Run, tmp_path: Path) -> None:
    """What is 0 or 1 in one file only is no rate in percent."""
    one = write(tmp_path / "a.csv", "item,score\na,1\nb,0\n")
    other = write(tmp_path / "b.csv", "item,score\na,0.5\nb,1\n")
    _, out, _ = run("compare", "--items", one, other, *FEW, "-f", "json")
    assert [record["value"] for record in json.loads(out)["comparisons"]] == [0.5, 0.75]


def harness_samples(path: Path, rights: str) -> str:
    lines = [
        {"doc_id": n, "resps": [["1"]], "filter": name, "metrics": ["exact_match"]}
        | {"exact_match": float(right)}
        for name in ("strict-match", "flexible-extract")
        for n, right in enumerate(rights)
    ]
    return write(path, "".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_score_whose_name_has_a_comma_can_be_chosen(run: Run, tmp_path: Path) -> None:
    files = [harness_samples(tmp_path / f"{name}.jsonl", name) for name in ("0110", "1110")]
    asked = ("compare", "--items", *files, "-f", "json", *FEW)
    for names in (
        "exact_match,strict-match",
        "exact_match,flexible-extract,Exact_Match,strict-match",
    ):
        _, out, _ = run(*asked, "--score", names, "--lower-is-better", names)
        compared = sorted({record["score"] for record in json.loads(out)["comparisons"]})
        assert sorted(",".join(compared).split(",")) == sorted(names.lower().split(","))
    assert '"exact_match"' in run(*asked, "--score", "exact_match,strict")[2]
