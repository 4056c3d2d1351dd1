"""The benchmark run: its result does not depend on interruptions and processes."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import DataError, InputError, UsageError
from mwzeval.files.downloads import embedded
from mwzeval.pydial.command import POLICIES, seeds_named
from mwzeval.pydial.episode_files import read_episodes
from mwzeval.pydial.job import TIMES, Job, training_seconds
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results import read_results
from mwzeval.pydial.retest import plan_of_run
from mwzeval.pydial.run import planned
from mwzeval.pydial.run import run as run_benchmark
from mwzeval.scores.findings import Findings
from tests.command_lines import Run
from tests.places import ROOT, write_json
from tests.pydial.runs import PYDIAL, TASK, files, python, read_lines, run_job, small_run

GP = Job(TASK, "gp-sarsa", 1, (12, 30), tests=8)


@pytest.mark.integration
def test_a_killed_run_resumes_to_the_same_result(tmp_path: Path) -> None:
    script = (
        "import sys; from tests.pydial.runs import small_run\n"
        "small_run(sys.argv[1], 'gp-sarsa', dialogues=(40, 80), seeds=2, tests=10)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "killed")]
    killed = subprocess.Popen(command, cwd=ROOT)
    first = tmp_path / "killed" / TASK / "gp-sarsa/seed-0/test-000080.jsonl"
    for _ in range(600):
        if first.exists() or killed.poll() is not None:
            break
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert first.exists()
    for folder in ("killed", "straight"):
        python(script, tmp_path / folder)
    assert files(tmp_path / "killed") == files(tmp_path / "straight")


@pytest.mark.integration
def test_further_checkpoints_continue_from_existing_ones(tmp_path: Path) -> None:
    run_job(Job(TASK, "gp-sarsa", 1, (12,), tests=8), tmp_path / "extended")
    run_job(GP, tmp_path / "extended")
    run_job(GP, tmp_path / "straight")
    assert files(tmp_path / "extended") == files(tmp_path / "straight")


def test_training_and_test_seconds_are_recorded(tmp_path: Path) -> None:
    assert training_seconds(tmp_path) == {}
    run_job(GP, tmp_path)
    folder = GP.folder(tmp_path)
    seconds = training_seconds(folder)
    assert list(seconds) == [12, 30]
    assert 0 < seconds[12] < seconds[30]
    tests = json.loads((folder / TIMES).read_text("utf-8"))["tests"]
    assert list(tests) == ["12", "30"]
    assert min(tests.values()) > 0


@pytest.mark.parametrize("training", [None, {"a": 1}, {"1": -1}, []])
def test_damaged_times_are_reported(training: Any, tmp_path: Path) -> None:
    (job,) = small_run(tmp_path, "random")
    write_json(job.folder(tmp_path) / TIMES, {"training": training, "tests": {}})
    findings = Findings()
    assert read_results(tmp_path, findings=findings).seconds == {}
    assert [problem.kind for problem in findings.problems] == ["times"]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("2", 2),
        ("101-103", (101, 102, 103)),
        ("7,3-4,3", (7, 3, 4)),
        *((wrong, None) for wrong in ("1,", "5-3", "0-99999999999", "-1", "a-b")),
        *((f"{first}{'9' * 5000}", None) for first in ("", "1,")),
    ],
)
def test_seeds_option_accepts_a_number_or_ranges(text: str, seeds: object) -> None:
    if seeds is None:
        with pytest.raises(argparse.ArgumentTypeError):
            seeds_named(text)
    else:
        assert seeds_named(text) == seeds


@pytest.mark.integration
def test_processes_and_cluster_give_the_results_of_one_process(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("distributed")
    command = ["pydial", "run", "--tasks", TASK, "--policies", "handcrafted,gp-sarsa"]
    command += ["--dialogues", "10,20", "--seeds", "2", "--tests", "6", "--log-every", "5"]
    results, logs = [], []
    for name, how in (
        ("alone", ["--processes", "0"]),
        ("again", ["--processes", "0"]),
        ("processes", ["--processes", "2"]),
        ("cluster", ["--processes", "1", "--dask", "local"]),
    ):
        log, output = tmp_path / f"{name}.csv", tmp_path / name
        assert run(*command, *how, "--log", str(log), "-o", str(output)).code == 0
        results.append(files(output))
        logs.append(sorted(log.read_text("utf-8").splitlines()))
    assert len(results[0]) > 10
    assert len(logs[0]) == 1 + 3 * 2 * (1 + 4 + 2)
    for result, log_lines in zip(results, logs, strict=True):
        assert result == results[0]
        assert log_lines == logs[0]


THREADS = """
import sys
from mwzeval.pydial import job as jobs

assert "torch" not in sys.modules
seen = set()
job = jobs.Job("Demo-CR-1", "a2c", 0, (2,), tests=1)
threads = lambda _: seen.add(sys.modules["torch"].get_num_threads())
jobs.write_files(job, sys.argv[1], jobs.files_of(job, threads))
print(seen, sys.modules["torch"].get_num_threads())
"""


@pytest.mark.integration
def test_the_first_job_of_a_process_uses_one_thread(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert python(THREADS, tmp_path, OMP_NUM_THREADS="2", MKL_NUM_THREADS="2") == "{1} 2\n"


def test_keyword_all_selects_published_tasks_and_every_policy() -> None:
    jobs = planned(["all"], ["all"], seeds=2)
    assert len({job.task for job in jobs}) == 18
    assert {job.policy for job in jobs} == set(PRESETS) == set(POLICIES.split(", "))
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)
    assert jobs[0].checkpoints == (1000, 4000, 10_000)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"tasks": ["CR-7", "CR-0"], "policies": ["gp-sarza"]},
            '(?s)"CR-7".*\n.*"CR-0".*\n.*"gp-sarza".*"gp-sarsa"',
        ),
        ({"dialogues": [5, 0]}, "dialogues"),
        ({"dialogues": []}, "dialogues"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": [3, -1]}, "-1$"),
        ({"seeds": [3, 10**18]}, "1000000000000000000$"),
        ({"seeds": 10**20}, "seeds"),
        ({"tests": 0}, "test"),
        ({"tasks": []}, "task"),
        ({"processes": -1}, "processes"),
    ],
)
def test_invalid_run_arguments_are_refused(
    wrong: dict[str, Any], told: str, tmp_path: Path
) -> None:
    sensible = {"tasks": [TASK], "policies": ["gp-sarsa"], "output": tmp_path}
    with pytest.raises(UsageError, match=told):
        run_benchmark(**{**sensible, **wrong})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("run --dialogues many -o nowhere", "many"),
        ("run --tasks Demo-CR-1 --policies acer -o runs", "ppo"),
        ("run --tasks Demo-CR-1 --policies dqn,ppo-shared -o runs", "ppo"),
        ("estimate runs", "scikit-learn"),
        ("sweep runs", "retest --errors"),
    ],
)
def test_removed_commands_and_invalid_numbers_are_usage_errors(
    command: str, told: str, run: Run, elsewhere: Path
) -> None:
    refused = run("pydial", *command.split())
    assert refused.code == 2
    assert told in refused.err
    assert not list(elsewhere.iterdir())


def test_runs_without_data_write_no_files(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        small_run(tmp_path / "runs", "handcrafted", "CR-1", data=tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_random_policy_is_tested_once_and_seldom_succeeds(tmp_path: Path) -> None:
    (job,) = small_run(tmp_path, "random", dialogues=[5, 9], tests=50)
    made = sorted(file.name for file in job.folder(tmp_path).iterdir())
    assert made == ["metrics.csv", "test-000000.jsonl", TIMES]
    episodes = read_episodes(job.test_file(tmp_path, 0), TASK, 0)
    # The random policy rarely succeeds, the handcrafted policy almost always.
    assert 0 < sum(episode.success for episode in episodes) < 40


@pytest.mark.parametrize(
    ("there", "options", "told"),
    [
        ({}, {"tests": 3, "legacy": True}, ["tests", "legacy", "goodbye"]),
        ({}, {"goodbye": "policy"}, ["goodbye"]),
        (None, {}, ["no run.json: restore it"]),
        (None, {"goodbye": "policy"}, ["no run.json: restore it"]),
        ({"format": 1}, {}, ["format"]),
    ],
)
def test_folders_with_different_or_missing_settings_are_not_changed(
    there: dict[str, int] | None, options: dict[str, Any], told: list[str], tmp_path: Path
) -> None:
    small_run(tmp_path, "gp-sarsa")
    settings = tmp_path / "run.json"
    if there is None:
        settings.unlink()
    else:
        write_json(settings, json.loads(settings.read_text("utf-8")) | there)
    before = files(tmp_path)
    with pytest.raises(InputError) as error:
        small_run(tmp_path, "gp-sarsa", **options)
    for problem, word in zip(error.value.problems, told, strict=True):
        assert word in problem.message
    assert files(tmp_path) == before


def test_only_complete_tests_count_as_checkpoints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (job,) = small_run(tmp_path, "gp-sarsa", dialogues=(3,))
    folder = job.folder(tmp_path)
    for name in ("test-010000.jsonl", f"test-{'9' * 23}.jsonl"):
        (folder / name).touch()
    small_run(tmp_path, "gp-sarsa", dialogues=(5,), progress=True)
    # The test after 3 dialogues is complete; the empty test files are ignored.
    assert "1 job (tasks × policies × seeds: 1 × 1 × 1), 9 dialogues" in capsys.readouterr().err
    assert {3, 5} == set(training_seconds(folder))
    small_run(tmp_path, "gp-sarsa", dialogues=(3, 5), progress=True)
    assert f"1 already done in {tmp_path}, 0 dialogues" in capsys.readouterr().err


def test_retest_takes_its_plan_from_the_run_folder(tmp_path: Path, run: Run) -> None:
    small_run(tmp_path, ["handcrafted", "gp-sarsa"], dialogues=[3, 5], seeds=[1, 4])
    assert plan_of_run(tmp_path) == {
        "tasks": [TASK],
        "policies": ["handcrafted", "gp-sarsa"],
        "seeds": [1, 4],
        "dialogues": [3, 5],
        "tests": 2,
        "legacy": False,
        "goodbye": "user",
    }
    shown = run("pydial", "retest", str(tmp_path), "-f", "jsonl").out
    records = [json.loads(line) for line in shown.splitlines()]
    assert [(r["tested"], r["seeds"]) for r in records] == [("Demo-CR-1", 2), ("Demo-CR-6", 2)] * 2
    assert len(list(tmp_path.glob("cross/gp-sarsa/*/seed-*-000005-2.jsonl"))) == 4
    shutil.rmtree(tmp_path / TASK)
    for folder, told in ((tmp_path, "no policies"), (tmp_path / "nowhere", "nowhere")):
        with pytest.raises(UsageError, match=told):
            plan_of_run(folder)


@pytest.mark.integration
def test_runs_in_custom_domains_are_named_after_the_domain(elsewhere: Path, run: Run) -> None:
    demo = embedded("pydial", "demo")
    Path("museums-rules.json").write_bytes((demo / "ontology/DemoGardens-rules.json").read_bytes())
    Path("museums.json").write_bytes((demo / "db/DemoGardens-entities.json").read_bytes())
    given = {"ontology": "museums-rules.json", "entities": "museums.json"}
    small_run("own", "gp-sarsa", "Own-museums-3", tests=4, **given)
    small_run("demo", "gp-sarsa", TASK, tests=4)
    place = "gp-sarsa/seed-0/test-000003.jsonl"
    assert read_lines(Path("own/Own-museums-3", place)) == read_lines(Path("demo", TASK, place))
    jobs = planned(["all"], ["random"], seeds=1, **given)  # type: ignore[arg-type]
    assert [job.task for job in jobs] == [f"Own-museums-{number}" for number in range(1, 7)]
    own = [f"--{name}={file}" for name, file in given.items()]
    talks = ["live", *PYDIAL, "-q", "--agent", "handcrafted", "--jobs", "2"]
    assert run(*talks, "--goals", "Own-museums-3:5", "-o", "own.jsonl", *own).code == 0
    assert run(*talks, "--goals", f"{TASK}:5", "-o", "demo.jsonl").code == 0
    named_demo = Path("own.jsonl").read_text("utf-8").replace("Own-museums-3/", f"{TASK}/")
    assert named_demo.splitlines()[1:] == Path("demo.jsonl").read_text("utf-8").splitlines()[1:]
    for command in (
        ["pydial", "table", "own"],
        ["pydial", "retest", "own", *own],
        ["evaluate", *PYDIAL, "own"],
        ["evaluate", *PYDIAL, "own.jsonl"],
    ):
        shown = run(*command)
        assert shown.code == 0
        assert "Own-museums-3" in shown.out
    assert run("explain", *PYDIAL, "own.jsonl").code == 0
    call = ["pydial", "run", "--tasks", "Own-museums-2", "--policies", "random", "-o", "new"]
    for wrong, told in (
        ([*talks, "--goals", "Own-museums-3:5"], "Own-museums"),
        ([*call, own[0]], "name both"),
        (call, "Own-museums"),
        ([*call, "--ontology=museums.json", own[1]], "museums.json"),
        ([*call, "--ontology=parks-rules.json", own[1]], "Own-parks"),
    ):
        refused = run(*wrong)
        assert refused.code == 2
        assert told in refused.err


WITHOUT_TORCH = """
import sys; sys.modules['torch'] = None
from mwzeval.errors import DependencyError
from tests.pydial.runs import small_run
small_run(sys.argv[1], ['handcrafted', 'gp-sarsa'])
try:
    small_run(sys.argv[1], 'dqn')
except DependencyError as error:
    print(error)
"""


@pytest.mark.integration
def test_only_neural_policies_require_torch(tmp_path: Path) -> None:
    assert "neural" in python(WITHOUT_TORCH, tmp_path)
