"""Dialogues in threads and processes: the same files, and failures that end only one dialogue."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.pool import Processes, Threads, TimeLimits
from mwzeval.conversation.runs import MOST_IN_A_ROW, run
from mwzeval.conversation.trajectory import Planned, Trajectory
from mwzeval.errors import MwzevalError
from tests.conversation.toy import broken, many, run_toy, toy
from tests.waiting import wait_until

FAILURES = {
    "raise": ("agent_error", "ValueError: no"),
    "exit": ("agent_error", "SystemExit: 3"),
    "die": ("agent_error", "the process ended with exit code 3"),
    "killed": ("agent_error", "the process was ended by SIGKILL"),
    "garbage": ("agent_error", "the content of a message must be a string"),
    "own-end": ("agent_error", "a sentence"),
    "panic": ("agent_error", "BaseException: in another language"),
    "textless": ("agent_error", "TextlessError"),
    "page": ("agent_error", r"ValueError: <p>\n<p>\n"),
    "closed": ("agent_error", "the process ended with exit code 1"),
    "unreachable": ("infrastructure", "the server cannot be reached"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_toy(many(), tmp_path_factory.mktemp("whole") / "run.jsonl")


def lines_of(file: bytes) -> dict[str, dict[str, Any]]:
    dialogues = [json.loads(line) for line in file.splitlines()[1:]]
    return {dialogue["dialogue"]: dialogue for dialogue in dialogues}


def contents_of(line: dict[str, Any]) -> list[str]:
    return [message["content"] for message in line["messages"]]


def planned(count: int) -> Iterator[Planned]:
    return (Planned(str(number), "one") for number in range(count))


@pytest.mark.parametrize(
    ("trusts", "jobs", "concurrency"),
    [
        *((True, 1, 16), (True, 2, 1), (True, 2, 2), (True, 2, 7), (True, 3, 64)),
        *((False, 2, 1), (False, 4, 1)),
    ],
)
def test_output_does_not_depend_on_threads_and_processes(
    trusts: bool, jobs: int, concurrency: int, file: Path, tmp_path: Path
) -> None:
    setting = many(trusts=trusts)
    expected = run_toy(setting, tmp_path / "whole.jsonl", trials=2)
    assert run_toy(setting, file, trials=2, jobs=jobs, concurrency=concurrency) == expected


@pytest.mark.parametrize("count", [2, 20, 256])
def test_threads_run_dialogues_concurrently(count: int) -> None:
    together = threading.Barrier(count, timeout=30)
    with Threads(many(before=lambda planned: together.wait()), count) as threads:
        assert len(list(threads.held(planned(2 * count)))) == 2 * count


def test_no_dialogue_begins_before_a_thread_is_free() -> None:
    begun = []

    def plan() -> Iterator[Planned]:
        for dialogue in planned(100):
            begun.append(dialogue)
            yield dialogue

    with Threads(many(), 4) as threads:
        ended = threads.held(plan())
        for number in range(1, 10):
            next(ended)
            assert len(begun) == number + 4


@pytest.mark.parametrize(
    ("error", "concurrency"),
    [(KeyboardInterrupt(), 1), (KeyboardInterrupt(), 5), (MemoryError(), 5)],
)
def test_an_interrupted_run_keeps_finished_dialogues_and_is_resumed(
    error: BaseException, concurrency: int, file: Path, whole: bytes
) -> None:
    stopped = threading.Event()
    waiting: list[str] = []

    def wait(planned: Planned) -> None:
        if planned.item == "10":
            raise error
        if int(planned.item) > 10:
            assert stopped.wait(30)
            waiting.append(planned.item)

    with pytest.raises(type(error)):
        run_toy(many(before=wait, stop=stopped.set), file, concurrency=concurrency)
    assert len(waiting) < concurrency
    names = set(lines_of(file.read_bytes()))
    assert names == set(map(str, range(len(names))))
    assert 4 < len(names) <= 10
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dialogue-")]
    assert run_toy(many(), file, concurrency=3) == whole


def test_dialogues_that_ended_before_an_interruption_are_written(file: Path, whole: bytes) -> None:
    """The run is interrupted while the first of eight dialogues is judged."""
    begun = threading.Semaphore(0)

    def interrupt(trajectory: Trajectory) -> bool:
        for _ in range(8):
            assert begun.acquire(timeout=30)
        time.sleep(0.1)  # until the last dialogue is in the queue
        raise KeyboardInterrupt

    setting = many(before=lambda planned: begun.release())
    setting.judge = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run_toy(setting, file, concurrency=8, progress=True)
    assert len(lines_of(file.read_bytes())) == 8
    assert run_toy(many(), file) == whole


def test_final_time_limit_is_shared_by_all_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = threading.Event()
    timeouts: list[float] = []

    class Thread(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            timeouts.append(60 if timeout is None else timeout)
            super().join(timeout)

    monkeypatch.setattr(threading, "Thread", Thread)
    monkeypatch.setattr("mwzeval.conversation.pool.SECONDS_TO_END", 0.1)
    setting = many(before=lambda planned: planned.item == "0" or released.wait(60))
    with Threads(setting, 8) as threads:
        next(threads.held(planned(9)))
    released.set()
    assert len(timeouts) == 8
    assert sum(timeouts) < 0.2


def refuse() -> Any:
    raise MwzevalError("no")


def die() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def err() -> Any:
    raise ValueError("a mistake")


@pytest.mark.parametrize(
    ("trusts", "is_started", "failure", "error", "message"),
    [
        (True, False, refuse, MwzevalError, "^no$"),
        (True, True, die, MwzevalError, "SIGKILL"),
        (True, True, err, RuntimeError, "ValueError: a mistake"),
        (False, False, refuse, MwzevalError, "^no$"),
        (False, False, die, MwzevalError, "SIGKILL"),
        (False, True, err, RuntimeError, "ValueError: a mistake"),
    ],
)
def test_setting_errors_end_the_run(
    trusts: bool,
    is_started: bool,
    failure: Callable[[], Any],
    error: type[Exception],
    message: str,
    file: Path,
    whole: bytes,
) -> None:
    setting = many(trusts=trusts, before=lambda planned: planned.item != "20" or failure())
    if not is_started:
        setting.make_agent = failure
    with pytest.raises(error, match=message):
        run_toy(setting, file, jobs=2, concurrency=8 if trusts else 1)
    assert file.exists() == is_started
    if is_started:
        assert "20" not in lines_of(file.read_bytes())
        resumed = run_toy(many(trusts=trusts), file)
        assert lines_of(resumed) == lines_of(whole)


def test_finished_process_dialogues_are_available_on_interruption() -> None:
    with Processes(many(), 2, 8) as pool:
        ended = pool.held(planned(40))
        first = [next(ended) for _ in range(5)]
        rest: list[Trajectory] = []

        def is_more() -> bool:
            rest.extend(pool.finished())
            return bool(rest)

        wait_until("a dialogue that has ended", is_more)
    names = [trajectory.name for trajectory in (*first, *rest)]
    assert len(names) == len(set(names)) > 5


@pytest.mark.parametrize(("jobs", "concurrency"), [(1, 1), (1, 8), (2, 1), (2, 8)])
def test_a_run_stops_after_many_infrastructure_errors_in_a_row(
    jobs: int, concurrency: int, file: Path
) -> None:
    goals = {str(number): "one" if number < 5 else "unreachable one" for number in range(200)}
    setting = many(broken, goals=goals)
    summary = run(setting, file, jobs=jobs, concurrency=concurrency, progress=False)
    assert summary.is_stopped
    assert summary.problem is not None
    ends = [line["end"] for line in lines_of(file.read_bytes()).values()]
    # A process that begins late may report a good dialogue between failures, which separates two
    # rows of failures; in the file, the failures before and after it may be in one row.
    rows = [len(list(row)) for end, row in groupby(ends) if end == "infrastructure"]
    most = max(jobs, concurrency)
    assert MOST_IN_A_ROW <= rows[-1] <= jobs * (MOST_IN_A_ROW + most) + 2 * most + 4
    assert all(number < MOST_IN_A_ROW for number in rows[:-1])
    repaired = many(broken, goals=dict.fromkeys(goals, "one"))
    assert run(repaired, file, progress=False).ends == {"user_stop": 200}


def test_infrastructure_errors_between_other_dialogues_do_not_stop_a_run(file: Path) -> None:
    goals = {str(number): "one" if number % 8 == 0 else "unreachable one" for number in range(80)}
    summary = run(many(broken, goals=goals), file, progress=False)
    assert (summary.is_stopped, summary.dialogues) == (False, 80)
    assert summary.problem is not None


@pytest.mark.integration
@pytest.mark.parametrize("jobs", [1, 3])
def test_agent_failures_end_only_their_own_dialogue(jobs: int, file: Path) -> None:
    goals = {word: f"fine {word} more" for word in FAILURES} | {"good": "one two"}
    lines = lines_of(run_toy(toy(broken, goals=goals), file, jobs=jobs, limits=TimeLimits()))
    good = lines.pop("good")
    assert good["end"] == "user_stop"
    assert "problem" not in good
    assert list(lines) == list(FAILURES)
    for word, (end, problem) in FAILURES.items():
        line = lines[word]
        assert (line["end"], line["turns"]) == (end, 2)
        assert line["problem"].startswith(problem)
        assert len(line["problem"]) < 1000
        # The previous messages and the user's report are recorded.
        assert contents_of(line) == ["fine", "yes", word]
        assert line["user"] == {"heard": ["yes"]}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("limits", "end"),
    [(TimeLimits(turn=0.3, dialogue=600), "agent_error"), (TimeLimits(600, 0.3), "limit")],
)
def test_an_agent_that_hangs_is_killed_at_the_time_limit(
    limits: TimeLimits, end: str, file: Path
) -> None:
    goals = {"hung": "fine hang more", "good": "one", "late": "one hang"}
    hung, good, late = lines_of(run_toy(toy(broken, goals=goals), file, limits=limits)).values()
    assert (hung["end"], hung["turns"]) == (end, 2)
    assert hung["problem"]
    assert contents_of(hung) == ["fine", "yes", "hang"]
    # After the last message of the user, the dialogue is complete.
    for line in (good, late):
        assert line["end"] == "user_stop"
        assert "problem" not in line


@pytest.mark.integration
def test_agents_cannot_change_the_record_or_the_output(
    file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A fork of an agent takes no part, and text of the agent's own class is plain text."""
    goals = {"copied": "copied one two three", "change": "change print", "own-text": "own-text one"}
    lines = lines_of(run_toy(toy(broken, goals=goals), file, limits=TimeLimits()))
    assert list(lines) == list(goals)
    for name in ("copied", "change"):
        expected = [text for word in goals[name].split() for text in (word, "yes")]
        assert (contents_of(lines[name]), lines[name]["end"]) == (expected, "user_stop")
    called = lines["own-text"]["messages"][1]
    assert called["content"] == "find?"
    assert called["tool_calls"][0]["function"] == {"name": "find?", "arguments": "{}"}
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "printed by the agent" in printed.err
