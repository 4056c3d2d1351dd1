"""A run has one file, whatever is beside each other, and whenever it was killed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mwzeval.conversation.pool import TimeLimits
from mwzeval.conversation.protocols import Ending
from mwzeval.conversation.runs import RunSummary, run
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import MwzevalError, UsageError
from tests.conversation import toy as toys
from tests.conversation.toy import ToySetting, broken, toy

FREE = TimeLimits(None, None)
"""Without limits dialogues are held in this process."""


def held(setting: ToySetting, path: Path, **more: Any) -> bytes:
    return toys.held(setting, path, **{"limits": FREE, **more})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return held(toy(), tmp_path_factory.mktemp("whole") / "run.jsonl", trials=2)


def test_dialogues_stand_in_the_order_of_goals_and_trials(whole: bytes) -> None:
    header, *dialogues = map(json.loads, whole.splitlines())
    assert header["benchmark"] == "toy"
    assert (header["seed"], header["trials"]) == (0, 2)
    assert header["limits"] == {"turn_seconds": None, "dialogue_seconds": None}
    names = [f"{item}#{trial}" for item in "abcde" for trial in (1, 2)]
    assert [dialogue["dialogue"] for dialogue in dialogues] == names
    assert [message["content"] for message in dialogues[2]["messages"]] == [
        *("one", "one", "two", "two")
    ]


def test_a_run_that_is_cut_at_any_byte_becomes_the_same(whole: bytes, file: Path) -> None:
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in (*range(0, 60, 7), *range(last, len(whole), 9), len(whole) - 1, len(whole)):
        file.write_bytes(whole[:end])
        assert held(toy(), file, trials=2) == whole


def test_lines_of_a_killed_run_may_stand_in_any_order_and_twice(whole: bytes, file: Path) -> None:
    """Several dialogues at a time end in any order, of which any part is there."""
    first, *lines = whole.splitlines(keepends=True)
    for seed in range(6):
        rng = Random(seed)
        left = first + b"".join(rng.sample(lines, rng.randrange(len(lines) + 1)))
        file.write_bytes(left[: len(left) - rng.randrange(len(first))])
        assert held(toy(), file, trials=2) == whole, seed
    for kept in (lines[:4], lines):
        file.write_bytes(b"".join([first, b"\n", *kept, lines[2], b" \n"]))
        assert held(toy(), file, trials=2) == whole


def test_a_run_that_is_interrupted_keeps_what_is_finished(file: Path, whole: bytes) -> None:
    limits = {"turn_seconds": None, "dialogue_seconds": None}
    setting = toy(trusts=True, about={"agent": {"spec": "toy"}, "limits": limits})
    hold = setting.hold

    def interrupted(planned: Planned, record: Record) -> Ending:
        if planned.name == "c#1":
            raise KeyboardInterrupt
        return hold(planned, record)

    setting.hold = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        held(setting, file, trials=2)
    assert file.read_bytes().count(b"\n") == 5
    dialogues = held(toy(), file, trials=2).splitlines()[1:]
    assert dialogues == whole.splitlines()[1:]


def test_a_full_disk_is_told_and_the_run_goes_on_later(file: Path, whole: bytes) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, limits[1]))
    try:
        with pytest.raises(MwzevalError, match=r"run\.jsonl"):
            held(toy(), file, trials=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert held(toy(), file, trials=2) == whole


@pytest.mark.integration
@pytest.mark.parametrize("after", [0, 1, 7, 39])
def test_a_run_that_is_killed_goes_on_and_becomes_the_same(after: int, tmp_path: Path) -> None:
    def run_toy(name: str, most: int) -> int:
        command = [sys.executable, "-m", "tests.conversation.toy", str(tmp_path / name), str(most)]
        return subprocess.run(command, check=False).returncode

    file = tmp_path / "killed.jsonl"
    assert run_toy(file.name, after) == -9
    assert file.read_bytes().count(b"\n") == 1 + after
    assert run_toy(file.name, 1000) == 0
    assert run_toy("whole.jsonl", 1000) == 0
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_what_is_finished_is_not_held_again(file: Path, whole: bytes) -> None:
    held(toy(), file, trials=2)
    setting = toy()
    setting.make_agent = lambda: pytest.fail("nothing is to be done")
    assert held(setting, file, trials=2) == whole


def test_what_is_nobodys_fault_is_held_again(file: Path, tmp_path: Path) -> None:
    goals = {"a": "one", "b": "unreachable two", "c": "three"}
    summary = run(toy(broken, goals=goals), file, progress=False, limits=FREE)
    assert summary.ends == {"user_stop": 2, "infrastructure": 1}
    assert summary.problem is not None
    problem = "the server cannot be reached"
    assert summary.problems == {"infrastructure": [(problem, 1, "b")]}

    def reachable(messages: list[dict[str, Any]]) -> str:
        return "yes"

    again = held(toy(reachable, goals=goals), file)
    assert again == held(toy(reachable, goals=goals), tmp_path / "new.jsonl")


def test_the_most_frequent_problems_of_a_run_are_told_also_when_it_is_over(file: Path) -> None:
    words = ("one", "two", "three", "same", "four", "same", "same")
    goals = {name: f"{word} more" for name, word in zip("abcdefg", words, strict=True)}

    def failing(messages: list[dict[str, Any]]) -> str:
        raise KeyError(messages[-1]["content"])

    setting = toy(failing, goals=goals)
    summary = run(setting, file, progress=False, limits=FREE)
    assert summary.problems == {
        "agent_error": [
            ("KeyError: 'same'", 3, "d"),
            *((f"KeyError: '{word}'", 1, name) for word, name in zip(words, "abc", strict=False)),
            ("KeyError: 'four'", 1, "e"),
        ]
    }
    assert len(str(summary).splitlines()) == 1 + 3 + 1  # the others are only counted
    assert run(setting, file, progress=False, limits=FREE).problems == summary.problems


def test_few_losses_are_no_problem() -> None:
    assert RunSummary({"user_stop": 95, "infrastructure": 5}).problem is None
    assert RunSummary({"user_stop": 94, "infrastructure": 6}).problem is not None
    assert RunSummary({}).problem is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 1}, "seed"),
        ({"trials": 3}, "trials"),
        ({"limits": TimeLimits(30)}, "limits.turn_seconds"),
    ],
)
def test_a_file_of_another_run_is_refused_with_what_differs(
    change: dict[str, Any], told: str, file: Path, whole: bytes
) -> None:
    file.write_bytes(whole)
    with pytest.raises(UsageError, match=told):
        held(toy(), file, **{"trials": 2, **change})
    assert file.read_bytes() == whole


def test_a_comment_in_the_header_stays(file: Path, whole: bytes) -> None:
    first, _, rest = whole.partition(b"\n")
    mine = first[:-1] + b',"comment":"mine"}\n'
    file.write_bytes(mine + rest[: len(rest) // 2])
    assert held(toy(), file, trials=2) == mine + rest


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"precious", "run.jsonl"),
        (b'{"precious": 1}\n', "run.jsonl"),
        (b"[" * 100_000 + b"\n", "run.jsonl"),
        (b"HEADER{}\n", "line 2"),
        (b"HEADER" + b"[" * 100_000 + b"\n", "line 2"),
        (b'HEADER\n\n{"dialogue": "z#1", "messages": []}\n', "line 4"),
    ],
)
def test_what_is_no_file_of_the_run_is_left_alone(
    content: bytes, told: str, file: Path, whole: bytes
) -> None:
    content = content.replace(b"HEADER", whole.partition(b"\n")[0] + b"\n")
    file.write_bytes(content)
    with pytest.raises(UsageError, match=told):
        held(toy(), file, trials=2)
    assert file.read_bytes() == content


@pytest.mark.integration
def test_two_runs_do_not_write_one_file(file: Path) -> None:
    held(toy(), file)
    holding = (
        "import sys; from pathlib import Path; import json\n"
        "from mwzeval.conversation.trajectory import TrajectoryLog\n"
        "header = json.loads(Path(sys.argv[1]).read_text().splitlines()[0])\n"
        "log = TrajectoryLog(sys.argv[1], header, list('abcde'))\n"
        "print('open', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", holding, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(UsageError, match=r"run\.jsonl"):
            held(toy(), file)
        other.communicate()
    held(toy(), file)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("run.json", r"\.jsonl"),
        ("", "directory"),
        ("missing/run.jsonl", "missing"),
    ],
)
def test_a_place_that_cannot_be_written_is_told(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(MwzevalError, match=told):
        held(toy(), tmp_path / name)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"jobs": 0}, "jobs"),
        ({"trials": 0}, "trials"),
        ({"concurrency": 0}, "256"),
        ({"concurrency": 257}, "256"),
        ({"concurrency": 2, "jobs": 3}, "at least 3"),
        ({"concurrency": 2, "trusts": False}, "processes"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    options: dict[str, Any], told: str, file: Path
) -> None:
    setting = toy(trusts=options.pop("trusts", True))
    with pytest.raises(UsageError, match=told):
        held(setting, file, **options)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_limit_is_above_0(seconds: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        TimeLimits(turn=seconds)


def test_the_bar_has_the_rate_of_success(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    goals = {"a": "one", "b": "raise two", "c": "three"}
    held(toy(broken, goals=goals), file, progress=True)
    assert "66.7 % (20.8–93.9)" in capsys.readouterr().err


def test_the_dialogue_is_named_and_seeded_by_goal_and_trial(file: Path) -> None:
    class Seeded:
        def __init__(self, *, seed: int, dialogue: str) -> None:
            self.text = f"{seed} {dialogue}"

        def __call__(self, messages: list[dict[str, Any]]) -> str:
            return self.text

    def said(trials: int) -> list[str]:
        run = held(toy(Seeded, goals={"a": "one", "b": "one"}), file, trials=trials)
        file.unlink()
        dialogues = map(json.loads, run.splitlines()[1:])
        return [dialogue["messages"][1]["content"] for dialogue in dialogues]

    first, second = said(1)
    assert first.endswith(" a")
    assert first.split()[0] != second.split()[0]
    # The first of several trials is the one of a single trial.
    several = said(2)
    assert [text.split()[0] for text in several[::2]] == [first.split()[0], second.split()[0]]
    assert several[1].endswith(" a#2")
