"""`mwzeval power`: pilots of any kind, what is assumed of them, and what is advised."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.cli import main
from tests.places import ROOT, shared

GOOD, WORSE = (str(ROOT / "predictions" / f"sample-{name}.json") for name in ("good", "no-phone"))


Run = Callable[..., Any]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def power(*arguments: str) -> Any:
        assert main(["power", *arguments, "-f", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return power


def write(folder: Path, name: str, outcomes: np.ndarray[Any, Any]) -> str:
    lines = [
        f"item{item},{trial},{outcome:g}"
        for item, row in enumerate(outcomes)
        for trial, outcome in enumerate(row)
    ]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(["item,trial,success", *lines, ""]), encoding="utf-8")
    return str(path)


@pytest.mark.integration
def test_a_published_pilot_by_hand(run: Run) -> None:
    file = str(shared("data", "agents", "tau_bench_gpt-4o_airline_rewards.tsv"))
    found = run(file, "--difference", "10", "--goals", "50", "--trials", "1,4")
    rows = np.loadtxt(file, skiprows=1)
    outcomes = 100 * rows[np.lexsort((rows[:, 1], rows[:, 0])), 2].reshape(50, 4)
    within = np.var(outcomes, axis=1, ddof=1).mean()
    between = np.var(outcomes.mean(axis=1), ddof=1) - within / 4
    (pilot,) = found["pilots"].values()
    assert pilot["value"] == 42
    assert pilot["variance_between_items"] == pytest.approx(between)
    assert pilot["variance_between_trials"] == pytest.approx(within)
    smallest = {(d["trials"], d["assumption"]): d["smallest_difference"] for d in found["designs"]}
    for trials in (1, 4):
        for assumption, of_items in (("independent", 2 * between), ("alike", 0)):
            error = math.sqrt((of_items + 2 * within / trials) / 50)
            assert smallest[trials, assumption] == pytest.approx(2.801585 * error, rel=1e-6)
    # The same systems find the same items hard as far as trials tell: nearer to the best case.
    both = run(file, file, "--goals", "50", "--trials", "1,4")
    (paired,) = {d["smallest_difference"] for d in both["designs"] if d["trials"] == 4}
    assert paired == pytest.approx(smallest[4, "alike"])


def test_two_pilots_tell_how_alike_the_systems_are(tmp_path: Path, run: Run) -> None:
    random = np.random.default_rng(3)
    rates = random.random((400, 1))
    mine = write(tmp_path, "mine", random.random((400, 3)) < rates)
    theirs = write(tmp_path, "theirs", random.random((400, 3)) < 0.5 * rates + 0.25)
    asked = ("--goals", "300", "--trials", "2")
    (of_two,) = run(mine, theirs, *asked)["designs"]
    independent, alike = run(mine, *asked)["designs"]
    assert of_two["assumption"] == "paired"
    assert (
        alike["smallest_difference"]
        < of_two["smallest_difference"]
        < independent["smallest_difference"]
    )


def clustered(path: Path, seed: int) -> str:
    """Write 60 clusters of three items whose scores are alike within them."""
    random = np.random.default_rng(seed)
    lines = [
        f"item{cluster}-{item},text{cluster},{level + random.normal(0, 1):.3f}"
        for cluster, level in enumerate(random.normal(0, 1, 60))
        for item in range(3)
    ]
    path.write_text("\n".join(["item,cluster,score", *lines, ""]), encoding="utf-8")
    return str(path)


def test_clusters_take_more_items(run: Run, tmp_path: Path) -> None:
    files = [clustered(tmp_path / f"{name}.csv", seed) for seed, name in enumerate("ab")]
    found = run(files[0], "--goals", "180")
    clusters = found["clusters"]
    assert (clusters["number"], clusters["size"]) == (60, 3)
    assert clusters["design_effect"] == pytest.approx(1 + 2 * clusters["correlation"])
    assert clusters["correlation"] == pytest.approx(0.5, abs=0.15)
    # Of equal clusters the error is that of their means.
    rows = [line.split(",") for line in Path(files[0]).read_text("utf-8").split()[1:]]
    means = np.array([float(row[2]) for row in rows]).reshape(60, 3).mean(axis=1)
    error = math.sqrt(2 * np.var(means, ddof=1) / 60)
    assert found["designs"][0]["smallest_difference"] == pytest.approx(2.801585 * error, rel=1e-6)
    both = run(*files, "--goals", "180")
    (variances,) = both["variance_of_difference"].values()
    assert variances["between_clusters"] == pytest.approx(2, rel=0.4)


def test_advice_is_about_the_items_that_there_are(tmp_path: Path, run: Run) -> None:
    random = np.random.default_rng(4)
    outcomes = random.random((200, 4)) < random.choice((0.3, 0.7), size=(200, 1))
    file = write(tmp_path, "pilot", outcomes)
    for arguments, advice in (
        ("20", "take 1 trial of"),
        ("20 --goals 4000", "take 1 trial of"),
        ("20 --goals 40", "trials of each of 40 items"),
        ("2 --goals 40", "items are needed: 40 detect no difference below"),
    ):
        found = run(file, "--difference", *arguments.split())
        assert advice in found["advice"].partition(";")[0]


def test_a_corpus_limits_the_items_unless_others_are_asked_for(run: Run) -> None:
    for asked, items in (((), {50, 62}), (("--goals", "200"), {200})):
        found = run(GOOD, "-s", "--difference", "3", *asked)
        assert found["items_in_corpus"] == 62
        assert {design["items"] for design in found["designs"]} == items
        assert "more than the corpus has" in found["advice"]
        assert "adding items" not in found["advice"]
    assert "adding items" in run(GOOD, "-s", "--goals", "20")["advice"]


@pytest.mark.integration
def test_simulated_users_are_as_many_as_are_wanted(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for goals, known in (("corpus:test", 62), ("corpus:test:40", None), ("sampled:30", None)):
        file = str(tmp_path / f"{known}-{len(goals)}.jsonl")
        live = ["live", "--agent", "rule-convlab", "--corpus", "sample", "--goals", goals]
        assert main([*live, "-o", file, "-q"]) == 0
        capsys.readouterr()
        assert run(file, "--difference", "3")["items_in_corpus"] == known


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((GOOD, "-s", "--trials", "4"), "second trial"),
        ((GOOD, "-s", "--score", "sucess"), '"success"'),
        ((GOOD, "-r", "--score", "richness.num_unigrams"), '"richness.num_unigrams"'),
        (("one.csv",), "two items"),
        (("alone.csv",), "two items"),
        (("every.csv",), "pilot"),
        (("texts.csv",), "cluster"),
        (("trials.csv", "single.csv"), "second trial"),
        (("trials.csv", "others.csv"), '"item0"'),
        (("a", "b", "c"), ""),
        (("a", "--difference", "0"), "--difference"),
        (("a", "--goals", "0"), "--goals"),
        (("a", "--trials", "x"), "--trials"),
        *((("a", "--alpha", value), "--alpha") for value in "20"),
        *((("a", "--power", value), "--power") for value in ("30", "100")),
    ],
)
def test_bad_use_and_pilots_that_do_not_determine_the_variance_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "one", np.array([[1, 0]]))
    write(tmp_path, "alone", np.array([[1]]))
    write(tmp_path, "trials", np.array([[1, 0], [0, 0]]))
    write(tmp_path, "single", np.array([[1], [0]]))
    write(tmp_path, "every", np.ones((20, 4)))
    Path("texts.csv").write_text("item,cluster,score\na,x,1\nb,x,0\n", encoding="utf-8")
    Path("others.csv").write_text("item,success\na,1\na,0\nb,0\nb,1\n", encoding="utf-8")
    try:
        code = main(["power", *arguments])
    except SystemExit as stopped:  # of argparse
        code = int(stopped.code or 0)
    assert code == 2
    assert expected in capsys.readouterr().err
