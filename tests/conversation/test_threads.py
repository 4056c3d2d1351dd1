"""Dialogues in threads, of one process or several: the same bytes; what is finished is kept."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.pool import Processes, Threads
from mwzeval.conversation.protocols import Ending
from mwzeval.conversation.runs import MOST_IN_A_ROW, run
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import MwzevalError
from tests.conversation.toy import ToySetting, broken, echo, held, toy
from tests.waiting import wait_until

MANY = {str(number): "one two" for number in range(40)}


def planned(count: int) -> Iterator[Planned]:
    return (Planned(str(number), "one") for number in range(count))


@pytest.mark.parametrize(
    ("trusts", "jobs", "concurrency"),
    [
        *((True, 1, 16), (True, 2, 1), (True, 2, 2), (True, 2, 7), (True, 3, 64)),
        *((False, 2, 1), (False, 4, 1)),
    ],
)
def test_threads_and_processes_change_no_byte(
    trusts: bool, jobs: int, concurrency: int, tmp_path: Path
) -> None:
    setting = toy(goals=MANY, trusts=trusts)
    one = held(setting, tmp_path / "one.jsonl", trials=2)
    many = held(setting, tmp_path / "many.jsonl", trials=2, jobs=jobs, concurrency=concurrency)
    assert many == one


class Watched(ToySetting):
    """Lets `at_once` dialogues go on only together; knows how many there are and were."""

    def __init__(self, at_once: int) -> None:
        super().__init__(toy(echo).make_agent, MANY, trusts=True)
        self.together = threading.Barrier(at_once, timeout=30)
        self.lock = threading.Lock()
        self.here = self.most = 0

    def hold(self, planned: Planned, record: Record) -> Ending:
        with self.lock:
            self.here += 1
            self.most = max(self.most, self.here)
        self.together.wait()
        with self.lock:
            self.here -= 1
        return super().hold(planned, record)


@pytest.mark.parametrize("at_once", [2, 20, 256])
def test_as_many_are_held_at_a_time_as_were_asked_for(at_once: int) -> None:
    setting = Watched(at_once)
    with Threads(setting, at_once) as threads:
        assert len(list(threads.held(planned(2 * at_once)))) == 2 * at_once
    assert setting.most == at_once


def test_no_more_are_begun_than_can_be_held() -> None:
    begun = []

    def plan() -> Iterator[Planned]:
        for each in planned(100):
            begun.append(each)
            yield each

    with Threads(toy(trusts=True), 4) as threads:
        taken = threads.held(plan())
        for number in range(1, 10):
            next(taken)
            assert len(begun) == number + 4


class Waiting(ToySetting):
    """The dialogues from the tenth on wait until they are told to stop; then one interrupts."""

    def __init__(self, raised: BaseException | None) -> None:
        super().__init__(toy(echo).make_agent, MANY, trusts=True)
        self.raised = raised
        self.stopped = threading.Event()
        self.left: list[str] = []

    def hold(self, planned: Planned, record: Record) -> Ending:
        if int(planned.item) == 10 and self.raised is not None:
            raise self.raised
        if int(planned.item) >= 10:
            assert self.stopped.wait(30)
            self.left.append(planned.item)
        return super().hold(planned, record)

    def stop(self) -> None:
        self.stopped.set()


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), MemoryError()])
def test_what_is_finished_is_kept_and_gone_on_with(raised: Any, tmp_path: Path) -> None:
    """An interruption ends those that wait for something, and the file is whole afterwards."""
    file = tmp_path / "run.jsonl"
    setting = Waiting(raised)
    with pytest.raises(type(raised)):
        run(setting, file, concurrency=5, progress=False)
    assert len(setting.left) <= 4
    names = {json.loads(line).get("dialogue") for line in file.read_text().splitlines()}
    assert names == {None, *map(str, range(len(names) - 1))}
    assert 5 < len(names) <= 11
    assert not [each for each in threading.enumerate() if each.name.startswith("dialogue-")]
    goes_on = Waiting(None)
    goes_on.stop()
    run(goes_on, file, concurrency=3, progress=False)
    plain = toy(goals=MANY, trusts=True)
    run(plain, tmp_path / "whole.jsonl", progress=False)
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


class Interrupted(ToySetting):
    """Is interrupted while the first dialogue is looked at, when seven others have ended."""

    def __init__(self) -> None:
        super().__init__(toy(echo).make_agent, MANY, trusts=True)
        self.ended = threading.Semaphore(0)

    def hold(self, planned: Planned, record: Record) -> Ending:
        ending = super().hold(planned, record)
        self.ended.release()
        return ending

    def judge(self, trajectory: Trajectory) -> bool | None:
        for _ in range(8):
            assert self.ended.acquire(timeout=30)
        time.sleep(0.1)  # until the last is in the queue
        raise KeyboardInterrupt


def test_what_has_ended_and_was_not_taken_yet_is_kept(tmp_path: Path) -> None:
    """Dialogues that wait to be written while a run is interrupted are as finished as others."""
    file = tmp_path / "run.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), file, concurrency=8, progress=True)
    assert len(file.read_text().splitlines()) == 1 + 8
    plain = toy(goals=MANY, trusts=True)
    assert held(plain, file) == held(plain, tmp_path / "whole.jsonl")


def test_threads_that_hang_are_waited_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    class Hanging(ToySetting):
        def hold(self, planned: Planned, record: Record) -> Ending:
            if planned.item != "0":
                go_on.wait(60)
            return super().hold(planned, record)

    waited: list[float] = []

    class Thread(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            waited.append(60 if timeout is None else timeout)
            super().join(timeout)

    monkeypatch.setattr(threading, "Thread", Thread)
    monkeypatch.setattr("mwzeval.conversation.pool.SECONDS_TO_END", 0.1)
    with Threads(Hanging(toy(echo).make_agent, MANY, trusts=True), 8) as threads:
        next(threads.held(planned(9)))
    go_on.set()
    assert len(waited) == 8
    assert sum(waited) < 0.2


class Doing(ToySetting):
    """Does something else in one dialogue."""

    def __init__(self, what: str) -> None:
        super().__init__(toy(echo).make_agent, MANY, trusts=True)
        self.what = what

    def begin(self) -> None:
        if self.what == "refuse":
            raise MwzevalError("no")
        super().begin()

    def hold(self, planned: Planned, record: Record) -> Ending:
        if planned.item == "20":
            if self.what == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("a mistake")
        return super().hold(planned, record)


@pytest.mark.parametrize(
    ("what", "raised", "told"),
    [
        ("refuse", MwzevalError, "^no$"),
        ("die", MwzevalError, "SIGKILL"),
        ("raise", RuntimeError, "ValueError: a mistake"),
    ],
)
def test_what_goes_wrong_in_a_process_is_told(
    what: str, raised: type[Exception], told: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.jsonl"
    with pytest.raises(raised, match=told):
        run(Doing(what), file, jobs=2, concurrency=8, progress=False)
    if what != "refuse":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert 1 <= len(lines) < 40
        plain = toy(goals=MANY, trusts=True)
        assert held(plain, file) == held(plain, tmp_path / "whole.jsonl")


def test_what_has_ended_can_be_taken_after_an_interruption() -> None:
    plan = [Planned(str(number), "one") for number in range(40)]
    with Processes(toy(trusts=True), 2, 8) as pool:
        taken = pool.held(iter(plan))
        first = [next(taken) for _ in range(5)]
        rest: list[Any] = []

        def is_taken() -> bool:
            rest.extend(pool.finished())
            return bool(rest)

        wait_until("a dialogue that has ended", is_taken)
    names = [trajectory.name for trajectory in (*first, *rest)]
    assert len(names) == len(set(names)) > 5


@pytest.mark.parametrize(("jobs", "concurrency"), [(1, 1), (1, 8), (2, 1), (2, 8)])
def test_a_run_stops_when_dialogue_after_dialogue_is_lost(
    jobs: int, concurrency: int, tmp_path: Path
) -> None:
    """As many as were begun may be lost at once; the same call goes on."""
    file = tmp_path / "run.jsonl"
    goals = {str(number): "one" if number < 5 else "unreachable one" for number in range(200)}
    setting = toy(broken, goals=goals, trusts=True)
    summary = run(setting, file, jobs=jobs, concurrency=concurrency, progress=False)
    most = max(jobs, concurrency)
    assert summary.is_stopped
    ends = [json.loads(line)["end"] for line in file.read_text().splitlines()[1:]]
    # A process that begins late may tell of a good dialogue between those that were lost: in the
    # order of the file, what was lost before it and what was lost after it may be one row.
    runs = [len(list(of)) for end, of in groupby(ends) if end == "infrastructure"]
    assert MOST_IN_A_ROW <= runs[-1] <= jobs * (MOST_IN_A_ROW + most) + 2 * most + 4
    assert all(number < MOST_IN_A_ROW for number in runs[:-1])
    assert summary.problem is not None
    mended = toy(broken, goals=dict.fromkeys(goals, "one"), trusts=True)
    assert run(mended, file, progress=False).ends == {"user_stop": 200}


def test_losses_between_others_do_not_stop_a_run(tmp_path: Path) -> None:
    goals = {str(number): "one" if number % 8 == 0 else "unreachable one" for number in range(80)}
    summary = run(toy(broken, goals=goals, trusts=True), tmp_path / "run.jsonl", progress=False)
    assert (summary.is_stopped, summary.dialogues) == (False, 80)
    assert summary.problem is not None
