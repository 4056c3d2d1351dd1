"""Tests of policies under other conditions: what is played, kept and shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from mwzeval.cli import main
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episodes import TaskRunner
from mwzeval.pydial.job import Job, run_job
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.retest import played_in, retest
from mwzeval.pydial.run import run
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tables import retest_document
from mwzeval.pydial.tasks import TASKS, task_named
from mwzeval.pydial.user_parameters import STANDARD, USER_MODELS, UserModel, read_user

TASK = "Demo-CR-3"
HANDCRAFTED = Job(TASK, "handcrafted", 1, (1,), tests=30)


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_policy_meets_the_users_of_the_other_task(tmp_path: Path) -> None:
    run_job(HANDCRAFTED, tmp_path)
    varied = {"errors": (0.15, 0.5), "users": ("standard", "fickle"), "tests": 30}
    found = retest(tmp_path, [HANDCRAFTED], **varied)  # type: ignore[arg-type]
    for each in found:
        task = task_named(each.tested)
        domain = load_domain(task.domain)
        runner = TaskRunner(domain, task, "neural", confusion_seed=1)
        policy = HandcraftedPolicy()
        episodes = [runner.test_act_policy(policy, 1, index) for index in range(30)]
        assert each.tests.reward == {1: np.mean([e.reward for e in episodes])}
        assert each.tests.success == {1: pytest.approx(100 * sum(e.success for e in episodes) / 30)}
    # The run's own test is not played again.
    kept = {file.parent.name.removeprefix(f"{TASK}-in-") for file in tmp_path.glob("cross/*/*/*")}
    assert kept == {f"{TASK}{v}" for v in ("@errors=50", "@user=fickle", "@errors=50@user=fickle")}
    before = files(tmp_path)
    assert retest(tmp_path, [HANDCRAFTED], **varied) == found  # type: ignore[arg-type]
    assert files(tmp_path) == before


@pytest.mark.integration
def test_more_errors_and_less_patience_cost_success(tmp_path: Path) -> None:
    """Differences are far beyond what chance makes of 300 dialogues (4 points at most)."""
    job = Job("Demo-CR-3", "handcrafted", 0, (1,), tests=300)
    users = ("standard", "impatient")
    found = retest(tmp_path, [job], errors=(0.0, 0.3, 0.6), users=users, tests=300)
    tasks = [task_named(each.tested) for each in found]
    success = {
        (task.user_model, task.error_rate): each.tests.success[0]
        for task, each in zip(tasks, found, strict=True)
    }
    for user in users:
        assert success[user, 0.0] > success[user, 0.3] + 4 > success[user, 0.6] + 20
    assert success["standard", 0.6] > success["impatient", 0.6] + 10


def test_users_of_a_file_are_met(tmp_path: Path) -> None:
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
    job = HANDCRAFTED
    # With the ranges of standard users these are the standard users.
    standard, same, changed = (
        retest(tmp_path, [job], errors=(0.2,), own=own, tests=9)[0].tests
        for own in ({}, {"own-me": UserModel(STANDARD)}, {name: model})
    )
    assert standard == same != changed
    assert (tmp_path / "cross/handcrafted" / f"{TASK}-in-{TASK}@errors=20@user={name}").is_dir()


@pytest.mark.integration
def test_users_of_a_file_are_met_by_policies_that_learn(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    job = Job(TASK, "ppo", 0, (3,), tests=2)
    run_job(job, tmp_path)
    own = {"own-fickle": UserModel(USER_MODELS["fickle"])}
    named = played_in(job, f"{TASK}@user=fickle", tmp_path, 6, {})
    mine = played_in(job, f"{TASK}@user=own-fickle", tmp_path, 6, own)
    assert [(e.success, e.reward) for e in mine] == [(e.success, e.reward) for e in named]
    assert named != played_in(job, TASK, tmp_path, 6, {})


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
def test_a_file_of_users_is_refused_with_all_that_is_wrong(
    text: str, told: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / "me.json").write_text(text)
    with pytest.raises(InputError) as error:
        read_user(tmp_path / "me.json")
    assert [problem.key for problem in error.value.problems] == told


def test_the_command_shows_each_figure_with_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"dialogues": [4], "seeds": 5, "tests": 6, "processes": 0}
    run([TASK], ["random", "gp-sarsa"], tmp_path / "r", **settings)  # type: ignore[arg-type]
    call = ["pydial", "retest", str(tmp_path / "r"), "--errors", "15,40"]
    assert main([*call, "-f", "jsonl", "-o", str(tmp_path / "p.svg")]) == 0
    assert "Random" in (tmp_path / "p.svg").read_text()
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["policy"], r["errors"], r["figure"], r["seeds"]) for r in records] == [
        (policy, errors, figure, 5)
        for figure in ("success", "reward")
        for policy in ("random", "gp-sarsa")
        for errors in (0.15, 0.4)
    ]
    assert [r["as_trained"] for r in records] == [True, False] * 4
    rewards = []
    for seed in range(5):
        file = tmp_path / f"r/cross/gp-sarsa/{TASK}-in-{TASK}@errors=40/seed-{seed}-000004-6.jsonl"
        lines = [json.loads(line) for line in file.read_text().splitlines()[1:]]  # behind _meta
        rewards.append(np.mean([line["reward"] for line in lines]))
    last = records[-1]
    reach = t.ppf(0.975, 4) * np.std(rewards, ddof=1) / 5**0.5
    assert last["value"] == pytest.approx(np.mean(rewards))
    assert last["high"] == pytest.approx(np.mean(rewards) + reach)
    assert main(call) == 0
    shown = capsys.readouterr().out
    assert f"{last['value']:.1f} ±{reach:.1f}" in shown


def test_there_may_be_other_numbers_of_tests_than_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([TASK], ["handcrafted"], tmp_path, seeds=1, tests=6, processes=0)
    call = ["pydial", "retest", str(tmp_path), "--errors", "15", "-f", "jsonl", "--tests"]
    rewards = []
    for tests in (6, 3):
        assert main([*call, str(tests)]) == 0
        rewards.append(json.loads(capsys.readouterr().out.splitlines()[-1])["value"])
    lines = (tmp_path / TASK / "handcrafted/seed-0/test-000000.jsonl").read_text().splitlines()
    played = [json.loads(line)["reward"] for line in lines[1:]]  # behind _meta
    assert rewards == [np.mean(played), np.mean(played[:3])]


def test_what_cannot_be_tested_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    for wrong, told in (
        ({"errors": (0.1, 1.2)}, "120"),
        ({"users": ("standard", "ficle")}, '"fickle"'),
        ({"users": ("own-me",)}, "own-me"),
    ):
        with pytest.raises(UsageError, match=told):
            retest(tmp_path, [HANDCRAFTED], **wrong)
    with pytest.raises(UsageError):
        retest(tmp_path, [Job(TASK, "gp-sarsa", 1, (5,))])
    assert not list(tmp_path.iterdir())


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    document = retest_document(retest(tmp_path, [HANDCRAFTED], errors=(0.0, 0.15), tests=3))
    assert [record["low"] for record in document.records] == [None] * 4
    assert all("±" not in cell.text for sheet in document.sheets for cell in sheet.rows[0])
    marks = [[cell.mark for cell in sheet.rows[0][2:]] for sheet in document.sheets]
    assert marks == [["‡", "‡*"]] * 2
    assert [note[0] for note in document.notes] == ["‡", "*"]
    assert "±" not in "".join(document.notes)


def test_policies_are_tested_in_other_environments_once(tmp_path: Path) -> None:
    jobs = [Job(f"Demo-CR-{n}", "gp-sarsa", 0, (15,), tests=5) for n in (1, 3)]
    for job in jobs:
        run_job(job, tmp_path)
    found = retest(tmp_path, jobs, tests=6)
    assert [(each.trained, each.tested) for each in found] == [
        (f"Demo-CR-{trained}", f"Demo-CR-{tested}")
        for trained, tested in ((1, 3), (1, 6), (3, 1), (3, 6))
    ]
    before = files(tmp_path)
    assert retest(tmp_path, jobs, tests=6) == found
    assert files(tmp_path) == before
    header = ("Trained in", "Policy", "Demo-CR-1", "Demo-CR-3", "Demo-CR-6")
    assert [sheet.header for sheet in retest_document(found).sheets] == [header] * 2
    with pytest.raises(UsageError, match="Demo-SFR-1"):
        retest(tmp_path, jobs, tested_in=["Demo-SFR-1"])
