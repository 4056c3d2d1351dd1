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
from tests.command_lines import Run
from tests.places import ROOT, shared

GOOD, WORSE = (str(ROOT / "predictions" / f"sample-{name}.json") for name in ("good", "no-phone"))


Power = Callable[..., Any]


@pytest.fixture
def power(run: Run) -> Power:
    return lambda *words: json.loads(run("power", *words, "-f", "json").out)


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
def test_a_published_pilot_by_hand(power: Power) -> None:
    file = str(shared("data", "agents", "tau_bench_gpt-4o_airline_rewards.tsv"))
    found = power(file, "--difference", "10", "--goals", "50", "--trials", "1,4")
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
    both = power(file, file, "--goals", "50", "--trials", "1,4")
    (paired,) = {d["smallest_difference"] for d in both["designs"] if d["trials"] == 4}
    assert paired == pytest.approx(smallest[4, "alike"])


def test_two_pilots_tell_how_alike_the_systems_are(tmp_path: Path, power: Power) -> None:
    random = np.random.default_rng(3)
    rates = random.random((400, 1))
    mine = write(tmp_path, "mine", random.random((400, 3)) < rates)
    theirs = write(tmp_path, "theirs", random.random((400, 3)) < 0.5 * rates + 0.25)
    asked = ("--goals", "300", "--trials", "2")
    (of_two,) = power(mine, theirs, *asked)["designs"]
    independent, alike = power(mine, *asked)["designs"]
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


def test_clusters_take_more_items(power: Power, tmp_path: Path) -> None:
    files = [clustered(tmp_path / f"{name}.csv", seed) for seed, name in enumerate("ab")]
    found = power(files[0], "--goals", "180")
    clusters = found["clusters"]
    assert (clusters["number"], clusters["size"]) == (60, 3)
    assert clusters["design_effect"] == pytest.approx(1 + 2 * clusters["correlation"])
    assert clusters["correlation"] == pytest.approx(0.5, abs=0.15)
    # Of equal clusters the error is that of their means.
    rows = [line.split(",") for line in Path(files[0]).read_text("utf-8").split()[1:]]
    means = np.array([float(row[2]) for row in rows]).reshape(60, 3).mean(axis=1)
    error = math.sqrt(2 * np.var(means, ddof=1) / 60)
    assert found["designs"][0]["smallest_difference"] == pytest.approx(2.801585 * error, rel=1e-6)
    both = power(*files, "--goals", "180")
    (variances,) = both["variance_of_difference"].values()
    assert variances["between_clusters"] == pytest.approx(2, rel=0.4)


def test_advice_is_about_the_items_that_there_are(tmp_path: Path, power: Power) -> None:
    random = np.random.default_rng(4)
    outcomes = random.random((200, 4)) < random.choice((0.3, 0.7), size=(200, 1))
    file = write(tmp_path, "pilot", outcomes)
    for arguments, advice in (
        ("20", "take 1 trial of"),
        ("20 --goals 4000", "take 1 trial of"),
        ("20 --goals 40", "trials of each of 40 items"),
        ("2 --goals 40", "items are needed: 40 detect no difference below"),
    ):
        found = power(file, "--difference", *arguments.split())
        assert advice in found["advice"].partition(";")[0]


def test_a_corpus_limits_the_items_unless_others_are_asked_for(power: Power) -> None:
    for asked, items in (((), {50, 62}), (("--goals", "200"), {200})):
        found = power(GOOD, "-s", "--difference", "3", *asked)
        assert found["items_in_corpus"] == 62
        assert {design["items"] for design in found["designs"]} == items
        assert "more than the corpus has" in found["advice"]
        assert "adding items" not in found["advice"]
    assert "adding items" in power(GOOD, "-s", "--goals", "20")["advice"]


@pytest.mark.integration
def test_simulated_users_are_as_many_as_are_wanted(
    power: Power, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for goals, known in (("corpus:test", 62), ("corpus:test:40", None), ("sampled:30", None)):
        file = str(tmp_path / f"{known}-{len(goals)}.jsonl")
        live = ["live", "--agent", "rule-convlab", "--corpus", "sample", "--goals", goals]
        assert main([*live, "-o", file, "-q"]) == 0
        capsys.readouterr()
        assert power(file, "--difference", "3")["items_in_corpus"] == known
