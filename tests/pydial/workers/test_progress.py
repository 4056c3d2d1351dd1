"""What a run tells of itself: how much it is, what is done, and how long the rest takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.runs.run import planned
from mwzeval.pydial.workers import progress
from mwzeval.pydial.workers.progress import WorkLeft, duration_text, plan_text, rest_text

TASK = "Demo-CR-1"
RUN = ["pydial", "run", "--tasks", TASK, "--policies", "handcrafted", "--tests", "5"]


def jobs_of(policies: list[str], seeds: int) -> tuple[Job, ...]:
    return planned([TASK], policies, dialogues=[10], seeds=seeds, tests=5)


def test_the_rest_is_what_jobs_of_the_same_policies_took(tmp_path: Path) -> None:
    jobs = jobs_of(["handcrafted", "ppo"], 4)
    left = WorkLeft(jobs, tmp_path)
    assert left.seconds(2) is None
    for job, seconds in zip(jobs[:3], (1, 100, 3), strict=True):
        for _ in range(2):  # as on a cluster, in parts
            left.took(job.name, seconds / 2)
        left.ended(job)
    # 2 s for each of the two others of the handcrafted policy, 100 s for each of three of PPO.
    assert left.done == 3
    assert left.seconds(1) == (2 * 2 + 3 * 100, ())
    assert left.seconds(2) == ((2 * 2 + 3 * 100) / 2, ())
    assert left.seconds(50) == (100, ())


def test_what_was_begun_before_or_has_failed_times_nothing(tmp_path: Path) -> None:
    jobs = jobs_of(["handcrafted", "ppo"], 3)
    jobs[0].folder(tmp_path).mkdir(parents=True)
    done = jobs[2].test_file(tmp_path, 0)
    done.parent.mkdir(parents=True)
    done.touch()
    left = WorkLeft(jobs, tmp_path)
    assert left.before == left.done == 1
    left.took(jobs[0].name, 50.0)
    left.took(jobs[2].name, 0.1)
    for job in jobs[:3]:
        left.ended(job)
    assert left.done == 3
    assert left.seconds(1) is None
    left.took(jobs[4].name, 6.0)
    left.ended(jobs[4])
    assert left.seconds(1) is None  # what is left is of PPO, of which none was timed
    left.took(jobs[3].name, 60.0)
    left.ended(jobs[3])
    assert left.seconds(1) == (60, ())


def test_policies_that_were_not_timed_are_named() -> None:
    assert "2 h 5 min" in rest_text((7500.0, ()))
    assert "ppo" in rest_text((90.0, ("ppo",)))
    assert "a, b, c, …" in rest_text((90.0, tuple("abcd")))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "less than 1 min"),
        (60, "1 min"),
        (3599, "1 h 0 min"),
        (3 * 86400 + 7200 + 60, "3 d 2 h"),
    ],
)
def test_times_have_two_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_the_published_run_is_told_in_a_line(tmp_path: Path) -> None:
    text = plan_text(planned("all", ["handcrafted", "dqn"]), 0, tmp_path)
    dialogues = 180 * 500 + 180 * (10_000 + 3 * 500)
    assert text == f"360 jobs (18 tasks × 2 policies × 10 seeds), {dialogues:,} dialogues"


def test_a_run_tells_how_much_it_is_and_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    output = [*RUN, "--processes", "0", "-o", str(tmp_path / "runs")]
    assert main([*output, "--seeds", "2"]) == 0
    first, *lines, _ = capsys.readouterr().err.splitlines()
    assert first.startswith("2 jobs ")
    assert [line.split()[0] for line in lines] == ["50%", "100%"]
    assert main([*output, "--seeds", "3"]) == 0
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("3 jobs ")
    assert first.endswith(str(tmp_path / "runs"))
