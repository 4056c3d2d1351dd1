"""One policy in several tasks: trained in all of them at once, or tested where it never was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.policies.handcrafted import RandomPolicy
from mwzeval.pydial.results.curves import read_curves
from mwzeval.pydial.results.run_results import read_results
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.runs.job import TRAINING, Job, run_job, runner_of
from mwzeval.pydial.runs.joint import JointRunner
from mwzeval.pydial.runs.play import adapter_for
from mwzeval.pydial.runs.run import planned, run
from mwzeval.pydial.studies.cross_environment import cross
from mwzeval.pydial.tasks import task_named, tasks_named

pytestmark = pytest.mark.integration
PARTS = ("Demo-CR-3", "Demo-LAP-1")
JOINT = "+".join(PARTS)
TESTS, DIALOGUES = 3, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a policy in two tasks at once, and in the first of them alone."""
    pytest.importorskip("torch")
    place = tmp_path_factory.mktemp("runs")
    run([JOINT, PARTS[0]], ["ppo-shared"], place, dialogues=[DIALOGUES], seeds=2, tests=TESTS,
        processes=0)  # fmt: skip
    return place


def lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[1:]]


def test_tasks_are_met_in_turn_each_with_the_dialogues_that_it_has_alone() -> None:
    alone = [runner_of(Job(name, "ppo-shared", 2, (1,))) for name in PARTS]
    joint = JointRunner([runner.for_tests() for runner in alone])
    assert (joint.size, joint.actions) == (alone[1].size, alone[1].actions)
    for index in range(6):
        expected = alone[index % 2].test(RandomPolicy(), 2, index // 2)
        assert expected.task == PARTS[index % 2]
        assert joint.for_tests().test(RandomPolicy(), 2, index) == expected


def test_what_a_dialogue_leaves_is_left_to_its_own_task() -> None:
    first, second = (runner_of(Job(name, "ppo-shared", 2, (1,), legacy=True)) for name in PARTS)
    joint = JointRunner([first, second])
    second.process.masks.alternative_awaited = True
    left = joint.carried_over()
    assert left == {"tasks": [first.carried_over(), second.carried_over()]}
    other = JointRunner([runner.for_tests() for runner in (first, second)])
    second.process.masks.alternative_awaited = False
    joint.carry_over(left)
    assert joint.carried_over() == other.carried_over() == left
    with pytest.raises(ValueError, match="shorter"):
        joint.carry_over({"tasks": left["tasks"][:1]})


def test_files_say_of_which_task_a_dialogue_is(folder: Path) -> None:
    job = Job(JOINT, "ppo-shared", 1, (DIALOGUES,), tests=TESTS)
    tests = lines(job.test_file(folder, DIALOGUES))
    assert [(line["task"], line["dialogue"]) for line in tests] == [
        (task, number) for number in range(TESTS) for task in PARTS
    ]
    trained = lines(job.folder(folder) / TRAINING)
    assert [line["task"] for line in trained] == [PARTS[n % 2] for n in range(DIALOGUES)]
    assert [line["dialogue"] for line in trained] == [n // 2 for n in range(DIALOGUES)]
    assert job.is_done(folder)
    assert job.work == DIALOGUES + 2 * TESTS
    episodes = read_episodes(job.test_file(folder, DIALOGUES), JOINT, 1)
    assert {episode.task for episode in episodes} == set(PARTS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda each: each[:-1], "2 dialogues of Demo-LAP-1, which are not the 3"),
        (lambda each: each[::2], "0 dialogues of Demo-LAP-1"),
        (
            lambda each: [{**each[0], "task": "Demo-CR-1"}, *each[1:]],
            "the folder of the file says Demo-CR-3.Demo-LAP-1, the line Demo-CR-1",
        ),
        (lambda each: [{**each[0], "task": PARTS[1]}, *each[1:]], "was given before"),
        (lambda each: [{k: v for k, v in each[0].items() if k != "task"}, *each[1:]], "which task"),
    ],
    ids=["cut", "of one task", "of another task", "twice", "of no task"],
)
def test_a_test_that_is_not_whole_is_refused(
    changed: object, message: str, folder: Path, tmp_path: Path
) -> None:
    job = Job(JOINT, "ppo-shared", 0, (DIALOGUES,), tests=TESTS)
    whole = lines(job.test_file(folder, DIALOGUES))
    assert callable(changed)
    place = job.test_file(tmp_path, DIALOGUES)
    place.parent.mkdir(parents=True)
    place.write_text("".join(f"{json.dumps(line)}\n" for line in changed(whole)), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        job.is_done(tmp_path)


def test_tables_have_a_row_for_tasks_that_are_joined(folder: Path) -> None:
    results = read_results(folder)
    assert list(results.groups()) == [(PARTS[0], (PARTS[0],)), (JOINT, (JOINT,))]
    found = results.get(JOINT, "ppo-shared", DIALOGUES)
    assert found is not None
    for seed in range(2):
        file = folder / JOINT / "ppo-shared" / f"seed-{seed}" / f"test-{DIALOGUES:06d}.jsonl"
        won = [bool(line["success"]) for line in lines(file)]
        assert found.success[seed] == pytest.approx(100 * sum(won) / (2 * TESTS))
    assert {curve.panel for curve in read_curves(folder, results, window=2)} == {PARTS[0], JOINT}


def test_evaluation_tells_the_tasks_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--benchmark", "pydial", str(folder / JOINT)]) == 0
    told = capsys.readouterr().out
    assert f"tasks:{JOINT}" in told
    assert f"n:{2 * 2 * TESTS}" in told
    assert main(["evaluate", "--benchmark", "pydial", str(folder)]) == 2
    refused = capsys.readouterr().err
    assert f"after training in different ones ({PARTS[0]}, {JOINT}): name the folder" in refused


def test_what_was_learned_in_one_domain_is_tested_in_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "Demo-SFR-6,Demo-LAP-1"
    assert main(["pydial", "cross", str(folder), "--in", where, "-f", "jsonl"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["trained"], r["tested"], r["seeds"]) for r in records] == [
        (trained, tested, 2) for trained in (PARTS[0], JOINT) for tested in where.split(",")
    ]
    # A policy meets the same users in its own test, where it is tested at the same time.
    of_joint = [
        [bool(line["success"]) for line in lines(file) if line["task"] == PARTS[1]]
        for file in sorted((folder / JOINT).rglob("test-*.jsonl"))
    ]
    assert records[3]["success"] == pytest.approx(100 * sum(map(sum, of_joint)) / (2 * TESTS))
    assert records[3]["success_low"] is records[3]["success_high"] is None  # with two seeds


@pytest.mark.parametrize("verb", ["sweep", "estimate"])
def test_tasks_of_tests_are_named_to_cross_alone(verb: str, folder: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["pydial", verb, str(folder), "--in", "Demo-SFR-6"])


def test_other_environments_are_those_of_all_domains_that_were_learned_in(folder: Path) -> None:
    jobs = [Job(JOINT, "ppo-shared", 0, (DIALOGUES,), tests=TESTS)]
    crossed = cross(folder, jobs, tests=1)
    assert [c.tested for c in crossed] == [
        "Demo-CR-1", "Demo-CR-6", "Demo-LAP-3", "Demo-LAP-6"
    ]  # fmt: skip


def test_policies_of_one_domain_are_tested_in_no_other(tmp_path: Path) -> None:
    job = Job("Demo-CR-1", "gp-sarsa", 0, (2,), tests=1)
    run_job(job, tmp_path)
    message = "gp-sarsa has learned in Demo-CR-1 cannot act in Demo-SFR-3, .*: ppo-shared can"
    with pytest.raises(UsageError, match=message):
        cross(tmp_path, [job], tested_in=["Demo-CR-3", "Demo-SFR-3"], tests=1)
    assert not (tmp_path / "cross").exists()
    (crossed,) = cross(tmp_path, [job], tested_in=["Demo-CR-3"], tests=1)
    assert crossed.tested == "Demo-CR-3"


@pytest.mark.parametrize("trained", [JOINT, PARTS[0]])
def test_what_was_learned_can_be_talked_to_in_any_domain(trained: str, folder: Path) -> None:
    model = Job(trained, "ppo-shared", 0, (DIALOGUES,)).model_file(folder, DIALOGUES)
    system = adapter_for(model, load_domain("Demo-SFR"), task_named("Demo-SFR-3"))
    assert system.preset is not None
    assert system.preset.name == "ppo-shared"


@pytest.mark.parametrize(
    ("tasks", "policies", "more", "message"),
    [
        ([JOINT], ["ppo-shared", "ppo", "random"], {}, "ppo, random cannot be .*: ppo-shared can"),
        (["CR-1+CR-1"], ["ppo-shared"], {}, r"CR-1\+CR-1 says a task twice \(CR-1\)"),
        (["CR-1+CR-9"], ["ppo-shared"], {}, 'unknown task "CR-9"'),
        (["CR-1+"], ["ppo-shared"], {}, 'unknown task ""'),
        (
            [JOINT],
            ["ppo-shared"],
            {"batch": 2},
            "ppo-shared: dialogues are played one",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(
    tasks: list[str], policies: list[str], more: dict[str, int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        planned(tasks, policies, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("CR-3", ["CR-3"]),
        (JOINT, list(PARTS)),
        ("Own-a-3+CR-1", ["Own-a-3", "CR-1"]),
        ("Own-a+b-3", ["Own-a+b-3"]),
    ],
)
def test_names_of_tasks_are_those_that_they_join(name: str, tasks: list[str]) -> None:
    assert [task.name for task in tasks_named(name)] == tasks
