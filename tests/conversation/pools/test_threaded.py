"""Threads in several processes: the same bytes; what dies or raises is told."""

from __future__ import annotations

import json
import os
import signal
from itertools import groupby
from pathlib import Path

import pytest

from mwzeval.conversation.loop import Ending
from mwzeval.conversation.pools.threaded import ThreadedProcesses
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.runs import MOST_IN_A_ROW, run
from mwzeval.errors import MwzevalError
from tests.conversation.toy import ToySetting, broken, echo, held, toy

pytestmark = pytest.mark.integration

MANY = {str(number): "one two" for number in range(40)}


@pytest.mark.parametrize(("jobs", "concurrency"), [(2, 2), (2, 7), (3, 64)])
def test_threads_in_processes_change_no_byte(jobs: int, concurrency: int, tmp_path: Path) -> None:
    setting = toy(goals=MANY, trusts=True)
    one = held(setting, tmp_path / "one.jsonl", trials=2)
    many = held(setting, tmp_path / "many.jsonl", trials=2, jobs=jobs, concurrency=concurrency)
    assert many == one


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
    with ThreadedProcesses(toy(trusts=True), 2, 8) as pool:
        taken = pool.held(iter(plan))
        first = [next(taken) for _ in range(5)]
        pool._processes[0].connection.poll(5)
        pool._processes[1].connection.poll(5)
        rest = list(pool.finished())
    names = [planned.name for planned, _ in (*first, *rest)]
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
    assert not summary.is_stopped
    assert summary.dialogues == 80
    assert summary.problem is not None
