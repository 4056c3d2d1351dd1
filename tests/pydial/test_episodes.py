"""Episodes: what is measured, what is kept in files, and what is said of damaged ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.cli import main
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.pydial.acts import parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episodes import KEPT, Episode, play
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.run import run
from mwzeval.pydial.scoring import evaluate, measures, table_of, validate
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import TASKS
from mwzeval.scores.score import Signature
from tests.tables import named

SIGNATURE = Signature.of("pydial", {"task": "CR-1"})
EPISODES = [
    Episode("CR-1", seed, index, success, exchanges, 20.0 * success - exchanges)
    for seed, index, success, exchanges in (
        (1, 0, True, 5),
        (1, 1, True, 7),
        (1, 2, False, 25),
        (2, 0, True, 6),
        (2, 1, False, 3),
        (2, 2, True, 8),
    )
]


def test_measures_are_means_over_episodes() -> None:
    table = table_of(EPISODES)
    assert table.units[0] == "CR-1/1/000000"
    scores = ScoredTable(table, tuple(measures(SIGNATURE, table.sums()))).scores()
    assert [(score.name, score.value, score.n) for score in scores] == [
        ("success", pytest.approx(100 * 4 / 6), 6),
        ("reward", pytest.approx(np.mean([15, 13, -25, 14, -3, 12])), 6),
        ("exchanges", 9.0, 6),
    ]


def test_episodes_of_a_seed_stay_together_in_intervals() -> None:
    """Two seeds that agree within themselves, and not with each other."""
    episodes = [
        Episode("CR-1", seed, index, seed == 1, 5, 15.0 if seed == 1 else -5.0)
        for seed in (1, 2)
        for index in range(50)
    ]
    resampling = Resampling(samples=400)
    table = table_of(episodes)
    apart, together = (
        ScoredTable(table, tuple(measures(SIGNATURE, table.sums(), block=block))).scores(resampling)
        for block in (1, 50)
    )
    for name, widest in (("success", 100), ("reward", 20)):
        wide, narrow = named(together, name).interval, named(apart, name).interval
        assert wide is not None
        assert narrow is not None
        assert wide.high - wide.low == pytest.approx(widest)
        assert narrow.high - narrow.low < widest / 4


def test_no_episodes_have_no_scores() -> None:
    table = table_of([])
    assert table.values.shape == (0, 4)


def test_playing_on_is_playing_from_the_start() -> None:
    domain, task = load_domain("Demo-CR"), TASKS["Demo-CR-3"]
    policy = HandcraftedPolicy()
    whole = list(play(Simulation(domain, task), policy, 12, seed=5))
    rest = list(play(Simulation(domain, task), policy, 4, seed=5, first=8))
    assert whole[8:] == rest
    assert [episode.index for episode in whole] == list(range(12))
    assert all(e.reward == 20 * e.success - e.exchanges for e in whole)
    assert whole != list(play(Simulation(domain, task), policy, 12, seed=6))


TASK, TESTS = "Demo-CR-3", KEPT + 3
POLICIES = ("handcrafted", "random", "gp-sarsa")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("run")
    run(TASK, POLICIES, output, dialogues=[2], seeds=1, tests=TESTS, processes=0)
    return output


def lines_of(folder: Path, policy: str) -> list[dict[str, Any]]:
    (file,) = (folder / TASK / policy / "seed-0").glob("test-*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_first_dialogues_of_a_test_have_what_was_said(folder: Path, policy: str) -> None:
    _, *lines = lines_of(folder, policy)
    assert [("goal" in line, "turns" in line) for line in lines] == [
        (number < KEPT, number < KEPT) for number in range(TESTS)
    ]
    for line in lines[:KEPT]:
        turns, requests = line["turns"], line["goal"]["requests"]
        assert turns[0]["system"] == "hello()"
        assert sum("user" in turn for turn in turns) == line["exchanges"]
        assert all(turn["heard"] for turn in turns if "user" in turn)
        said = [turn["system"] for turn in turns]
        assert all(str(parse_act(act)) == act for act in said)
        assert requests["name"] is None or any(f'"{requests["name"]}"' in act for act in said)
        if line["success"]:
            assert None not in requests.values()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_test_is_scored_and_explained_wherever_it_lies(
    folder: Path, policy: str, tmp_path: Path
) -> None:
    (file,) = (folder / TASK / policy / "seed-0").glob("test-*.jsonl")
    moved = tmp_path / "mine.jsonl"
    shutil.copy(file, moved)
    there, here = evaluate(str(file)), evaluate(str(moved))
    assert here.report().metrics == there.report().metrics
    assert here.units() == there.units()
    assert here.meta["policy"] == policy
    assert [len(each.turns) > 1 for each in here.explain_all()] == [
        number < KEPT for number in range(TESTS)
    ]


def test_a_problem_of_every_line_is_told_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, *lines = lines_of(folder, "random")
    lines[4]["reward"] = "much"
    file = tmp_path / "untold.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = validate(str(file))
    assert [(problem.key, problem.count) for problem in found] == [("task", TESTS), ("reward", 1)]
    assert "line 1" in found[0].message
    assert "line 5" in found[1].message
    assert main(["evaluate", "--benchmark", "pydial", str(file), "-o", "-"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
