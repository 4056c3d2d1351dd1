"""The benchmark run: the same result however it is done, stopped or spread."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.errors import DataError, InputError, UsageError
from mwzeval.files.downloads import embedded
from mwzeval.pydial.arguments import POLICIES
from mwzeval.pydial.episode_files import read_episodes
from mwzeval.pydial.job import TIMES, Job, JobTimes, read_times, run_job
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results import read_results
from mwzeval.pydial.retest import plan_of_run
from mwzeval.pydial.run import planned, run
from mwzeval.scores.findings import Findings
from tests.places import ROOT

TASK = "Demo-CR-3"
GP = Job(TASK, "gp-sarsa", 1, (12, 30), tests=8)
NAMES = ("alone", "processes", "cluster")


def files(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, without times."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != TIMES
    }


@pytest.mark.integration
def test_a_run_that_was_killed_goes_on_to_the_same_result(tmp_path: Path) -> None:
    script = (
        "import sys; from mwzeval.pydial.run import run\n"
        f"run(['{TASK}'], ['gp-sarsa'], sys.argv[1], dialogues=[40, 80], seeds=2, tests=10,"
        " processes=0)"
    )
    command = [sys.executable, "-c", script]
    killed = subprocess.Popen([*command, str(tmp_path / "killed")], cwd=ROOT)
    first = tmp_path / "killed" / TASK / "gp-sarsa" / "seed-0" / "test-000080.jsonl"
    for _ in range(600):
        if first.exists() or killed.poll() is not None:
            break
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert first.exists()
    for folder in ("killed", "straight"):
        subprocess.run([*command, str(tmp_path / folder)], cwd=ROOT, check=True)
    assert files(tmp_path / "killed") == files(tmp_path / "straight")


@pytest.mark.integration
def test_further_checkpoints_go_on_from_those_that_are_there(tmp_path: Path) -> None:
    run_job(Job(TASK, "gp-sarsa", 1, (12,), tests=8), tmp_path / "extended")
    run_job(GP, tmp_path / "extended")
    run_job(GP, tmp_path / "straight")
    assert files(tmp_path / "extended") == files(tmp_path / "straight")


def test_seconds_of_training_and_tests_are_noted(tmp_path: Path) -> None:
    assert read_times(tmp_path) == JobTimes()
    run_job(GP, tmp_path)
    times = read_times(GP.folder(tmp_path))
    assert list(times.training) == list(times.tests) == [12, 30]
    assert 0 < times.training[12] < times.training[30]
    assert min(times.tests.values()) > 0


@pytest.mark.parametrize(
    "damaged",
    [
        "[]",
        '{"training": {}}',
        '{"training": {"a": 1}, "tests": {}}',
        '{"training": {"1": -1}, "tests": {}}',
    ],
)
def test_damaged_times_are_told(damaged: str, tmp_path: Path) -> None:
    (tmp_path / TIMES).write_text(damaged, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_times(tmp_path)
    assert [problem.kind for problem in error.value.problems] == ["times"]
    (job,) = run([TASK], ["random"], tmp_path, seeds=1, tests=2, processes=0)
    (job.folder(tmp_path) / TIMES).write_text(damaged, encoding="utf-8")
    findings = Findings()
    assert read_results(tmp_path, findings=findings).times == {}
    assert [problem.kind for problem in findings.problems] == ["times"]


@pytest.mark.parametrize(
    ("said", "seeds"),
    [
        ("2", [0, 1]),
        ("1,", None),
        ("9" * 5000, None),
        ("1," + "9" * 5000, None),
        ("101-103", [101, 102, 103]),
        ("7,3-4,3", [7, 3, 4]),
        *((senseless, None) for senseless in ("5-3", "0-99999999999", "-1", "a-b")),
    ],
)
def test_seeds_are_a_number_or_ranges(said: str, seeds: list[int] | None, tmp_path: Path) -> None:
    command = ["pydial", "run", "--tasks", TASK, "--policies", "random", "--tests", "1"]
    command += ["--processes", "0", "--seeds", said, "-o", str(tmp_path)]
    if seeds is None:
        with pytest.raises(SystemExit) as stopped:
            main(command)
        assert stopped.value.code == 2
        return
    assert main(command) == 0
    found = {file.name for file in (tmp_path / TASK / "random").iterdir()}
    assert found == {f"seed-{seed}" for seed in seeds}


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask scheduler on this machine, which has one worker."""
    pytest.importorskip("distributed")
    place = tmp_path / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(*program: str) -> None:
        command = [sys.executable, "-m", "dask", *program, "--host", "127.0.0.1", "--no-dashboard"]
        started.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL))

    try:
        start("scheduler", "--port", "0", "--scheduler-file", str(place))
        while not (place.exists() and place.read_text(encoding="utf-8").endswith("}")):
            assert started[0].poll() is None
            time.sleep(0.05)
        address = json.loads(place.read_text(encoding="utf-8"))["address"]
        place_of_worker = ("--local-directory", str(tmp_path))
        start("worker", address, "--no-nanny", "--nthreads", "1", *place_of_worker)
        yield address
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


@pytest.mark.integration
def test_processes_and_cluster_find_what_one_process_finds(tmp_path: Path, scheduler: str) -> None:
    def result(name: str, **how: object) -> dict[str, bytes]:
        jobs = run(
            [TASK],
            ["handcrafted", "gp-sarsa"],
            tmp_path / name,
            dialogues=[10, 20],
            seeds=2,
            tests=6,
            log=tmp_path / f"{name}.csv",
            log_every=5,
            **how,  # type: ignore[arg-type]
        )
        assert all(job.is_done(tmp_path / name) for job in jobs)
        return files(tmp_path / name)

    alone = result("alone", processes=0)
    assert result("alone", processes=0) == alone
    assert result("processes", processes=2) == alone
    command = ["pydial", "run", "--tasks", TASK, "--policies", "handcrafted,gp-sarsa"]
    command += ["--dialogues", "10,20", "--seeds", "2", "--tests", "6", "--dask", scheduler]
    command += ["--log", f"{tmp_path / 'cluster'}.csv", "--log-every", "5"]
    assert main([*command, "-o", str(tmp_path / "cluster")]) == 0
    assert files(tmp_path / "cluster") == alone
    logged = [sorted((tmp_path / f"{name}.csv").read_text("utf-8").splitlines()) for name in NAMES]
    assert len(logged[0]) == 1 + 3 * 2 * (1 + 4 + 2)
    assert logged[0] == logged[1] == logged[2]


THREADS = """
import sys
from mwzeval.pydial import job as jobs

assert "torch" not in sys.modules
seen = set()
job = jobs.Job("Demo-CR-1", "a2c", 0, (2,), tests=1)
threads = lambda _: seen.add(sys.modules["torch"].get_num_threads())
jobs.run_job(job, sys.argv[1], on_progress=threads)
print(seen, sys.modules["torch"].get_num_threads())
"""


@pytest.mark.integration
def test_the_first_job_of_a_process_computes_in_one_thread_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    command = [sys.executable, "-c", THREADS, str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "{1} 2\n", done.stderr


def test_tests_are_of_the_same_dialogues_whatever_was_learned(tmp_path: Path) -> None:
    jobs = [
        Job(TASK, "handcrafted", 1, (5,), tests=10),
        Job(TASK, "handcrafted", 1, (9,), tests=10),
    ]
    for number, job in enumerate(jobs):
        run_job(job, tmp_path / str(number))
    first, second = jobs
    episodes = read_episodes(first.test_file(tmp_path / "0", 0), TASK, 1)
    assert episodes == read_episodes(second.test_file(tmp_path / "1", 0), TASK, 1)
    assert [episode.index for episode in episodes] == list(range(10))
    assert len({episode.reward for episode in episodes}) > 1


def test_all_means_the_published_tasks_and_every_policy() -> None:
    jobs = planned(["all"], ["all"], seeds=2)
    assert len({job.task for job in jobs}) == 18
    assert {job.policy for job in jobs} >= {"handcrafted", "gp-sarsa", "dqn", "a2c", "enac", "ppo"}
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)
    assert jobs[0].checkpoints == (1000, 4000, 10_000)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tasks": ["CR-7"]}, '"CR-7"'),
        ({"policies": ["gp-sarza"]}, '"gp-sarsa"'),
        (
            {"tasks": ["CR-7", "CR-0"], "policies": ["gp-sarza"]},
            '(?s)"CR-7".*\n.*"CR-0".*\n.*"gp-sarza"',
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
def test_senseless_runs_are_refused(wrong: dict[str, object], told: str, tmp_path: Path) -> None:
    sensible: dict[str, object] = {"tasks": [TASK], "policies": ["gp-sarsa"], "output": tmp_path}
    with pytest.raises(UsageError, match=told):
        run(**{**sensible, **wrong})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_without_data_there_are_no_files_of_a_run(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        run(["CR-1"], ["handcrafted"], tmp_path / "runs", data=tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_the_random_policy_is_tested_once_and_finds_little(tmp_path: Path) -> None:
    (job,) = run([TASK], ["random"], tmp_path, dialogues=[5, 9], seeds=1, tests=50, processes=0)
    made = sorted(file.name for file in job.folder(tmp_path).iterdir())
    assert made == ["metrics.csv", "test-000000.jsonl", TIMES]
    episodes = read_episodes(job.test_file(tmp_path, 0), TASK, 0)
    # Random actions seldom succeed; the handcrafted policy of this task nearly always does.
    assert 0 < sum(episode.success for episode in episodes) < 40


def test_a_folder_with_a_run_of_other_settings_is_left_alone(tmp_path: Path) -> None:
    settings = {"dialogues": [3], "seeds": 1, "tests": 2, "processes": 0}
    run([TASK], ["gp-sarsa"], tmp_path, **settings)  # type: ignore[arg-type]
    before = files(tmp_path)
    with pytest.raises(InputError) as error:
        run([TASK], ["gp-sarsa"], tmp_path, **{**settings, "tests": 3}, legacy=True)  # type: ignore[arg-type]
    told = " ".join(problem.message for problem in error.value.problems)
    assert len(error.value.problems) == 3
    assert all(setting in told for setting in ("tests", "legacy", "goodbye"))
    with pytest.raises(InputError, match="goodbye"):
        run([TASK], ["gp-sarsa"], tmp_path, **settings, goodbye="policy")  # type: ignore[arg-type]
    assert files(tmp_path) == before


def test_tests_without_the_settings_of_their_run_are_left_alone(tmp_path: Path) -> None:
    settings = {"dialogues": [3], "seeds": 1, "tests": 2, "processes": 0}
    run([TASK], ["gp-sarsa"], tmp_path, **settings)  # type: ignore[arg-type]
    (tmp_path / "run.json").unlink()
    before = files(tmp_path)
    for goodbye in (None, "policy"):
        with pytest.raises(InputError, match=r"no run\.json: restore it"):
            run([TASK], ["gp-sarsa"], tmp_path, **settings, goodbye=goodbye)  # type: ignore[arg-type]
    assert files(tmp_path) == before


def test_only_complete_tests_are_further_checkpoints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def go(*dialogues: int) -> None:
        run([TASK], ["gp-sarsa"], tmp_path, dialogues=dialogues, seeds=1, tests=2, processes=0,
            progress=True)  # fmt: skip

    go(3)
    folder = tmp_path / TASK / "gp-sarsa" / "seed-0"
    for name in ("test-010000.jsonl", f"test-{'9' * 23}.jsonl"):
        (folder / name).touch()
    capsys.readouterr()
    go(5)
    # The test after 3 dialogues is complete; the empty ones are not and are left alone.
    assert "1 job (tasks × policies × seeds: 1 × 1 × 1), 9 dialogues" in capsys.readouterr().err
    assert {3, 5} == set(read_times(folder).tests)
    go(3, 5)
    assert f"1 already done in {tmp_path}, 0 dialogues" in capsys.readouterr().err


def test_a_run_of_other_users_is_left_alone(tmp_path: Path) -> None:
    settings = {"dialogues": [3], "seeds": 1, "tests": 2, "processes": 0}
    (tmp_path / "run.json").write_text('{"format": 1, "tests": 2, "legacy": false}')
    with pytest.raises(InputError, match="format"):
        run([TASK], ["gp-sarsa"], tmp_path, **settings)  # type: ignore[arg-type]


def test_what_a_run_has_learned_need_not_be_said_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"dialogues": [3, 5], "seeds": [1, 4], "tests": 2, "processes": 0}
    run(["Demo-CR-3"], ["handcrafted", "gp-sarsa"], tmp_path, **settings)  # type: ignore[arg-type]
    assert plan_of_run(tmp_path) == {
        "tasks": ["Demo-CR-3"],
        "policies": ["handcrafted", "gp-sarsa"],
        "seeds": [1, 4],
        "dialogues": [3, 5],
        "tests": 2,
        "legacy": False,
        "goodbye": "user",
    }
    assert main(["pydial", "retest", str(tmp_path), "-f", "jsonl"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["tested"], r["seeds"]) for r in records] == [("Demo-CR-1", 2), ("Demo-CR-6", 2)] * 2
    assert len(list(tmp_path.glob("cross/gp-sarsa/*/seed-*-000005-2.jsonl"))) == 4
    with pytest.raises(UsageError, match="nowhere"):
        plan_of_run(tmp_path / "nowhere")
    shutil.rmtree(tmp_path / "Demo-CR-3")
    with pytest.raises(UsageError):
        plan_of_run(tmp_path)


@pytest.mark.integration
def test_a_run_in_ones_own_domain_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    demo = embedded("pydial", "demo")
    Path("museums-rules.json").write_bytes((demo / "ontology/DemoGardens-rules.json").read_bytes())
    Path("museums.json").write_bytes((demo / "db/DemoGardens-entities.json").read_bytes())
    files = {"ontology": "museums-rules.json", "entities": "museums.json"}
    settings = {"dialogues": [3], "seeds": 1, "tests": 4, "processes": 0}
    run("Own-museums-3", ["gp-sarsa"], "own", **settings, **files)  # type: ignore[arg-type]
    run("Demo-CR-3", ["gp-sarsa"], "demo", **settings)  # type: ignore[arg-type]
    place = "gp-sarsa/seed-0/test-000003.jsonl"
    mine = Path("own/Own-museums-3", place).read_bytes()
    theirs = Path("demo/Demo-CR-3", place).read_bytes()
    assert mine.replace(b'"Own-museums-3"', b'"Demo-CR-3"') == theirs
    tasks = [job.task for job in planned(["all"], ["random"], seeds=1, **files)]  # type: ignore[arg-type]
    assert tasks == [f"Own-museums-{number}" for number in range(1, 7)]
    own = [f"--{name}={file}" for name, file in files.items()]
    for command in (
        ["pydial", "table", "own"],
        ["pydial", "retest", "own", *own],
        ["evaluate", "--benchmark", "pydial", "own"],
    ):
        assert main(command) == 0
        assert "Own-museums-3" in capsys.readouterr().out
    talks = ["live", "--benchmark", "pydial", "-q", "--agent", "handcrafted", "--jobs", "2"]
    assert main([*talks, "--goals", "Own-museums-3:5", "-o", "own.jsonl", *own]) == 0
    assert main([*talks, "--goals", "Demo-CR-3:5", "-o", "demo.jsonl"]) == 0
    lines = Path("own.jsonl").read_text().splitlines()
    named_demo = [line.replace("Own-museums-3/", "Demo-CR-3/") for line in lines[1:]]
    assert named_demo == Path("demo.jsonl").read_text().splitlines()[1:]
    capsys.readouterr()
    for verb in ("validate", "evaluate", "explain"):
        assert main([verb, "--benchmark", "pydial", "own.jsonl"]) == 0
    assert "Own-museums-3" in capsys.readouterr().out
    assert main([*talks, "--goals", "Own-museums-3:5"]) == 2
    assert "Own-museums" in capsys.readouterr().err
    for wrong in (
        own[:1],
        [],
        ["--ontology=museums.json", own[1]],
        ["--ontology=parks-rules.json", own[1]],
    ):
        call = ["pydial", "run", "--tasks", "Own-museums-2", "--policies", "random", "-o", "new"]
        assert main([*call, *wrong]) == 2
    assert "Own-parks" in capsys.readouterr().err


def test_the_command_names_all_policies_and_takes_numbers_only() -> None:
    assert ", ".join(PRESETS) == POLICIES
    with pytest.raises(SystemExit) as stopped:
        main(["pydial", "run", "--dialogues", "many", "-o", "nowhere"])
    assert stopped.value.code == 2


@pytest.mark.integration
def test_without_torch_all_but_neural_policies_work(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from mwzeval.pydial.run import run\n"
        "from mwzeval.errors import DependencyError\n"
        f"run(['{TASK}'], ['handcrafted', 'gp-sarsa'], sys.argv[1], dialogues=[3], seeds=1,"
        " tests=2, processes=0)\n"
        "try:\n"
        f"    run(['{TASK}'], ['dqn'], sys.argv[1], dialogues=[3], seeds=1, tests=2, processes=0)\n"
        "except DependencyError as error:\n"
        "    print(error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "neural" in told.stdout
