"""A run writes one file, and an interrupted run is resumed with the same result."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mwzeval.conversation.pool import NO_LIMITS, TimeLimits
from mwzeval.conversation.runs import RunSummary, run
from mwzeval.conversation.trajectory import Planned
from mwzeval.errors import MwzevalError, UsageError
from tests.conversation.toy import Messages, broken, run_toy, toy


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_toy(toy(), tmp_path_factory.mktemp("whole") / "run.jsonl", trials=2)


def test_dialogues_are_in_the_order_of_goals_and_trials(whole: bytes) -> None:
    header, *dialogues = map(json.loads, whole.splitlines())
    assert (header["benchmark"], header["seed"], header["trials"]) == ("toy", 0, 2)
    assert header["limits"] == {"turn_seconds": None, "dialogue_seconds": None}
    names = [f"{item}#{trial}" for item in "abcde" for trial in (1, 2)]
    assert [dialogue["dialogue"] for dialogue in dialogues] == names
    contents = [message["content"] for message in dialogues[2]["messages"]]
    assert contents == ["one", "one", "two", "two"]


def test_files_truncated_at_any_byte_are_resumed(whole: bytes, file: Path) -> None:
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in (*range(0, 60, 7), *range(last, len(whole), 9), len(whole) - 1, len(whole)):
        file.write_bytes(whole[:end])
        assert run_toy(toy(), file, trials=2) == whole


def test_lines_of_a_killed_run_can_be_in_any_order_and_repeated(whole: bytes, file: Path) -> None:
    first, *lines = whole.splitlines(keepends=True)
    for seed in range(6):
        rng = Random(seed)
        left = first + b"".join(rng.sample(lines, rng.randrange(len(lines) + 1)))
        file.write_bytes(left[: len(left) - rng.randrange(len(first))])
        assert run_toy(toy(), file, trials=2) == whole, seed
    for kept in (lines[:4], lines):
        file.write_bytes(b"".join([first, b"\n", *kept, lines[2], b" \n"]))
        assert run_toy(toy(), file, trials=2) == whole


def test_a_run_is_resumed_after_a_full_disk(file: Path, whole: bytes) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, limits[1]))
    try:
        with pytest.raises(MwzevalError, match=r"run\.jsonl"):
            run_toy(toy(), file, trials=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert run_toy(toy(), file, trials=2) == whole


@pytest.mark.integration
@pytest.mark.parametrize("after", [0, 1, 7, 39])
def test_a_killed_run_is_resumed(after: int, tmp_path: Path) -> None:
    def run_and_kill(name: str, after: int) -> int:
        command = [sys.executable, "-m", "tests.conversation.toy", str(tmp_path / name), str(after)]
        return subprocess.run(command, check=False).returncode

    file = tmp_path / "killed.jsonl"
    assert run_and_kill(file.name, after) == -9
    assert file.read_bytes().count(b"\n") == 1 + after
    assert run_and_kill(file.name, 1000) == 0
    assert run_and_kill("whole.jsonl", 1000) == 0
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_finished_dialogues_are_not_repeated(file: Path, whole: bytes) -> None:
    file.write_bytes(whole)
    setting = toy()
    setting.make_agent = lambda: pytest.fail("no dialogue is missing")
    assert run_toy(setting, file, trials=2) == whole


def test_dialogues_with_infrastructure_errors_are_repeated(file: Path, tmp_path: Path) -> None:
    goals = {"a": "one", "b": "unreachable two", "c": "three"}
    summary = run(toy(broken, goals=goals), file, progress=False, limits=NO_LIMITS)
    assert summary.ends == {"user_stop": 2, "infrastructure": 1}
    assert summary.problem is not None
    problem = "the server cannot be reached"
    assert summary.problems == {"infrastructure": [(problem, 1, "b")]}
    fixed = toy(lambda messages: "yes", goals=goals)
    assert run_toy(fixed, file) == run_toy(fixed, tmp_path / "new.jsonl")


def test_summaries_list_the_most_frequent_problems(file: Path) -> None:
    words = ("one", "two", "three", "same", "four", "same", "same")
    goals = {name: f"{word} more" for name, word in zip("abcdefg", words, strict=True)}

    def failing(messages: Messages) -> str:
        raise KeyError(messages[-1]["content"])

    setting = toy(failing, goals=goals)
    summary = run(setting, file, progress=False, limits=NO_LIMITS)
    assert summary.problems == {
        "agent_error": [
            ("KeyError: 'same'", 3, "d"),
            *((f"KeyError: '{word}'", 1, name) for word, name in zip(words, "abc", strict=False)),
            ("KeyError: 'four'", 1, "e"),
        ]
    }
    assert len(str(summary).splitlines()) == 1 + 3 + 1  # the others are only counted
    assert run(setting, file, progress=False, limits=NO_LIMITS).problems == summary.problems


def test_a_run_is_invalid_with_more_than_5_percent_infrastructure_errors() -> None:
    assert RunSummary({"user_stop": 95, "infrastructure": 5}).problem is None
    assert RunSummary({"user_stop": 94, "infrastructure": 6}).problem is not None
    assert RunSummary({}).problem is None


@pytest.mark.parametrize(
    ("trusts", "options", "message"),
    [
        (False, {"seed": 1}, "seed"),
        (False, {"trials": 3}, "trials"),
        (False, {"limits": TimeLimits(30)}, "limits.turn_seconds"),
        (False, {"jobs": 0}, "jobs"),
        (False, {"trials": 0}, "trials"),
        (True, {"concurrency": 0}, "256"),
        (True, {"concurrency": 257}, "256"),
        (True, {"concurrency": 2, "jobs": 3}, "at least 3"),
        (False, {"concurrency": 2}, "processes"),
    ],
)
def test_invalid_numbers_and_options_of_another_run_are_refused(
    trusts: bool, options: dict[str, Any], message: str, file: Path, whole: bytes
) -> None:
    file.write_bytes(whole)
    with pytest.raises(UsageError, match=message):
        run_toy(toy(trusts=trusts), file, **{"trials": 2, **options})
    assert file.read_bytes() == whole


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_time_limit_must_be_positive(seconds: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        TimeLimits(turn=seconds)


def test_comments_in_the_header_are_preserved(file: Path, whole: bytes) -> None:
    first, _, rest = whole.partition(b"\n")
    mine = first[:-1] + b',"comment":"mine"}\n'
    file.write_bytes(mine + rest[: len(rest) // 2])
    assert run_toy(toy(), file, trials=2) == mine + rest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"precious", "run.jsonl"),
        (b'{"precious": 1}\n', "run.jsonl"),
        (b"[" * 100_000 + b"\n", "run.jsonl"),
        (b"HEADER{}\n", "line 2"),
        (b"HEADER" + b"[" * 100_000 + b"\n", "line 2"),
        (b'HEADER\n\n{"dialogue": "z#1", "messages": []}\n', "line 4"),
    ],
)
def test_a_file_with_other_content_is_not_changed(
    content: bytes, message: str, file: Path, whole: bytes
) -> None:
    content = content.replace(b"HEADER", whole.partition(b"\n")[0] + b"\n")
    file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        run_toy(toy(), file, trials=2)
    assert file.read_bytes() == content


@pytest.mark.integration
def test_two_runs_cannot_write_to_one_file(file: Path) -> None:
    run_toy(toy(), file)
    other_run = (
        "import json, sys; from pathlib import Path\n"
        "from mwzeval.conversation.trajectory import TrajectoryLog\n"
        "header = json.loads(Path(sys.argv[1]).read_text().splitlines()[0])\n"
        "log = TrajectoryLog(sys.argv[1], header, list('abcde'))\n"
        "print('open', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", other_run, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(UsageError, match=r"run\.jsonl"):
            run_toy(toy(), file)
        other.communicate()
    run_toy(toy(), file)


@pytest.mark.parametrize(
    ("name", "message"),
    [("run.json", r"\.jsonl"), ("", "directory"), ("missing/run.jsonl", "missing")],
)
def test_a_file_that_cannot_be_written_is_an_error(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MwzevalError, match=message):
        run_toy(toy(), tmp_path / name)


def test_progress_bar_shows_the_success_rate(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    goals = {"a": "one", "b": "raise two", "c": "three"}
    run_toy(toy(broken, goals=goals), file, progress=True)
    assert "66.7 % (20.8–93.9)" in capsys.readouterr().err


def test_names_and_seeds_of_dialogues_depend_on_goal_trial_and_side() -> None:
    plan = [Planned(item, None, trial, True) for item in "ab" for trial in (1, 2)]
    assert [planned.name for planned in plan] == ["a#1", "a#2", "b#1", "b#2"]
    seeds = [planned.number for planned in (*plan, plan[0]._replace(seed=1))]
    seeds += [plan[0].number_of(side) for side in ("user", "agent")]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)
    single = Planned("a", None)  # the first of several trials has the same seed
    assert (single.name, single.number) == ("a", plan[0].number)
