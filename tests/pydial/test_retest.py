"""Tests of policies under other conditions: dialogues, files and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episodes import TaskRunner
from mwzeval.pydial.job import Job
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.retest import played_in, retest
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tables import retest_document
from mwzeval.pydial.tasks import TASKS, task_named
from mwzeval.pydial.user_parameters import STANDARD, USER_MODELS, UserModel, read_user
from tests.command_lines import Run
from tests.pydial.runs import TASK, files, read_lines, run_job, small_run

HANDCRAFTED = Job(TASK, "handcrafted", 1, (1,), tests=30)


def test_retest_plays_with_the_errors_and_users_of_the_tested_task(tmp_path: Path) -> None:
    run_job(HANDCRAFTED, tmp_path)
    varied: Any = {"errors": (0.15, 0.5), "users": ("standard", "fickle"), "tests": 30}
    found = retest(tmp_path, [HANDCRAFTED], **varied)
    for result in found:
        task = task_named(result.tested)
        runner = TaskRunner(load_domain(task.domain), task, "neural", confusion_seed=1)
        policy = HandcraftedPolicy()
        episodes = [runner.test_act_policy(policy, 1, index) for index in range(30)]
        assert result.tests["reward"] == {1: np.mean([e.reward for e in episodes])}
        rate = pytest.approx(100 * sum(e.success for e in episodes) / 30)
        assert result.tests["success"] == {1: rate}
    # The run's own test is not repeated.
    kept = {file.parent.name.removeprefix(f"{TASK}-in-") for file in tmp_path.glob("cross/*/*/*")}
    assert kept == {f"{TASK}{v}" for v in ("@errors=50", "@user=fickle", "@errors=50@user=fickle")}
    before = files(tmp_path)
    assert retest(tmp_path, [HANDCRAFTED], **varied) == found
    assert files(tmp_path) == before


@pytest.mark.integration
def test_more_errors_and_less_patience_lower_success(tmp_path: Path) -> None:
    """The differences exceed the sampling error of 300 dialogues (at most 4 points)."""
    job = Job(TASK, "handcrafted", 0, (1,), tests=300)
    users = ("standard", "impatient")
    success = {}
    for result in retest(tmp_path, [job], errors=(0.0, 0.3, 0.6), users=users, tests=300):
        task = task_named(result.tested)
        success[task.user_model, task.error_rate] = result.tests["success"][0]
    for user in users:
        assert success[user, 0.0] > success[user, 0.3] + 4 > success[user, 0.6] + 20
    assert success["standard", 0.6] > success["impatient", 0.6] + 10


def test_retest_uses_user_models_from_files(tmp_path: Path) -> None:
    (tmp_path / "slow.json").write_text('{"patience": [7, 9], "greeting": [1, 1]}')
    (tmp_path / "same.json").write_text('{"greeting": [1.0, 1.0], "patience": [7, 9]}')
    name, model = read_user(tmp_path / "slow.json")
    other, _ = read_user(tmp_path / "same.json")
    assert name.removeprefix("own-slow-") == other.removeprefix("own-same-")
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-1"])
    simulation.set_user_model(model)
    drawn = set()
    for seed in range(60):
        simulation.draw_user(Rng(seed))
        drawn.add((simulation.d.patience, simulation.d.parameter[c.GREETING]))
    assert drawn == {(7, 1.0), (8, 1.0), (9, 1.0)}
    # A custom user with the standard ranges equals the standard user.
    standard, same, changed = (
        retest(tmp_path, [HANDCRAFTED], errors=(0.2,), own=own, tests=9)[0].tests
        for own in ({}, {"own-me": UserModel(STANDARD)}, {name: model})
    )
    assert standard == same != changed
    assert (tmp_path / "cross/handcrafted" / f"{TASK}-in-{TASK}@errors=20@user={name}").is_dir()


@pytest.mark.integration
def test_learned_policies_are_tested_with_user_models_from_files(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    job = Job(TASK, "ppo", 0, (3,), tests=2)
    run_job(job, tmp_path)
    own = {"own-fickle": UserModel(USER_MODELS["fickle"])}
    named, mine, standard = (
        [e.outcome for e in played_in(job, f"{TASK}{user}", tmp_path, 6, own)]
        for user in ("@user=fickle", "@user=own-fickle", "")
    )
    assert mine == named != standard


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", [None]),
        ('{"greetin": [0, 1]}', ["greetin"]),
        ('{"greeting": [0.5, 0.2]}', ["greeting"]),
        ('{"greeting": [true, 1]}', ["greeting"]),
        ('{"greeting": 0.5, "patience": [0, 3]}', ["greeting", "patience"]),
        ('{"patience": [2.0, 3]}', ["patience"]),
        ('{"greeting": [0, 1], "greeting": [0, 1]}', ["greeting"]),
        ('{"thank_ack_1": [0.5, 0.9]}', ["thank_ack_1"]),
    ],
)
def test_all_errors_in_a_user_model_file_are_reported(
    text: str, told: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / "me.json").write_text(text)
    with pytest.raises(InputError) as error:
        read_user(tmp_path / "me.json")
    assert [problem.key for problem in error.value.problems] == told


def test_retest_command_shows_each_figure_with_its_interval(tmp_path: Path, run: Run) -> None:
    small_run(tmp_path / "r", ["random", "gp-sarsa"], seeds=5, tests=6)
    call = ["pydial", "retest", str(tmp_path / "r"), "--errors", "15,40"]
    shown = run(*call, "-f", "jsonl", "-o", str(tmp_path / "p.svg")).out
    assert "Random" in (tmp_path / "p.svg").read_text()
    records = [json.loads(line) for line in shown.splitlines()]
    assert [(r["policy"], r["errors"], r["figure"], r["seeds"]) for r in records] == [
        (policy, errors, figure, 5)
        for figure in ("success", "reward")
        for policy in ("random", "gp-sarsa")
        for errors in (0.15, 0.4)
    ]
    assert [r["as_trained"] for r in records] == [True, False] * 4
    place = tmp_path / f"r/cross/gp-sarsa/{TASK}-in-{TASK}@errors=40"
    rewards = [
        np.mean([line["reward"] for line in read_lines(place / f"seed-{seed}-000003-6.jsonl")])
        for seed in range(5)
    ]
    last = records[-1]
    reach = t.ppf(0.975, 4) * np.std(rewards, ddof=1) / 5**0.5
    assert last["value"] == pytest.approx(np.mean(rewards))
    assert last["high"] == pytest.approx(np.mean(rewards) + reach)
    assert f"{last['value']:.1f} ±{reach:.1f}" in run(*call).out


def test_retest_accepts_a_different_number_of_tests_than_the_run(tmp_path: Path, run: Run) -> None:
    small_run(tmp_path, "handcrafted", tests=6)
    rewards = [line["reward"] for line in read_lines(next(tmp_path.glob("*/*/*/test-*")))]
    for tests in (6, 3):
        call = ["pydial", "retest", str(tmp_path), "--errors", "15", "--tests", str(tests)]
        last = json.loads(run(*call, "-f", "jsonl").out.splitlines()[-1])
        assert last["value"] == np.mean(rewards[:tests])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"errors": (0.1, 1.2)}, "120"),
        ({"users": ("standard", "ficle")}, '"fickle"'),
        ({"users": ("own-me",)}, "own-me"),
        ({"tested_in": ["Demo-SFR-1"]}, "Demo-SFR-1"),
        ({}, "no policies to test"),
    ],
)
def test_invalid_retests_are_refused_before_playing(
    wrong: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=told):
        retest(tmp_path, [HANDCRAFTED, Job(TASK, "gp-sarsa", 1, (5,))], **wrong)
    assert not list(tmp_path.iterdir())


def test_results_of_one_seed_have_no_interval(tmp_path: Path) -> None:
    document = retest_document(retest(tmp_path, [HANDCRAFTED], errors=(0.0, 0.15), tests=3))
    assert [record["low"] for record in document.records] == [None] * 4
    for sheet in document.sheets:
        assert all("±" not in cell.text for cell in sheet.rows[0])
        assert [cell.mark for cell in sheet.rows[0][2:]] == ["‡", "‡*"]
    assert [note[0] for note in document.notes] == ["‡", "*"]
    assert "±" not in "".join(document.notes)


def test_cross_environment_tests_are_not_repeated(tmp_path: Path) -> None:
    jobs = [Job(f"Demo-CR-{n}", "gp-sarsa", 0, (15,), tests=5) for n in (1, 3)]
    for job in jobs:
        run_job(job, tmp_path)
    found = retest(tmp_path, jobs, tests=6)
    assert [(result.trained, result.tested) for result in found] == [
        (f"Demo-CR-{trained}", f"Demo-CR-{tested}")
        for trained, tested in ((1, 3), (1, 6), (3, 1), (3, 6))
    ]
    before = files(tmp_path)
    assert retest(tmp_path, jobs, tests=6) == found
    assert files(tmp_path) == before
    header = ("Trained in", "Policy", "Demo-CR-1", "Demo-CR-3", "Demo-CR-6")
    assert [sheet.header for sheet in retest_document(found).sheets] == [header] * 2
