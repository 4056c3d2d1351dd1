"""Systems that never answer: a call that takes too long ends its dialogue, not the run."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.simulation import Setting, simulate
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.user import RuleSimulator
from mwzeval.errors import UsageError
from tests.crosswoz.logs import read_log
from tests.crosswoz.world import DATABASE

pytestmark = pytest.mark.integration

SECONDS = 0.5
FOR_EVER = 1000


class Sleeps(RuleSystem):
    """Answers once, and never again, whatever may be raised in it."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._answered = False

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        while self._answered:
            with suppress(BaseException):
                time.sleep(FOR_EVER)
        self._answered = True
        return super().answer(user_acts)


class SleepsOutsidePython(RuleSystem):
    def answer(self, user_acts: Iterable[Act]) -> Acts:
        ctypes.PyDLL(None).sleep(FOR_EVER)  # holds the lock of the interpreter
        return super().answer(user_acts)


class NeverMade(RuleSystem):
    def __init__(self, database: Database) -> None:
        time.sleep(FOR_EVER)


class NeverEndingAnswer(RuleSystem):
    def answer(self, user_acts: Iterable[Act]) -> Iterator[Act]:  # type: ignore[override]
        while user_acts:
            time.sleep(0.01)
            yield from ()


class Dies(RuleSystem):
    def answer(self, user_acts: Iterable[Act]) -> Acts:
        os._exit(3)


class SleepyUser(RuleSimulator):
    def answer(self, system_acts: Iterable[Act]) -> Acts:
        time.sleep(FOR_EVER)
        return super().answer(system_acts)


def talk(log: Path, system: Any, user: Any) -> dict[str, Any]:
    """Return the first dialogue of a run."""
    simulate(
        Setting(DATABASE, system, make_user=user),
        per_type=1,
        output=log,
        progress=False,
        time_limit=SECONDS,
    )
    return read_log(log)[1][0]


@pytest.mark.parametrize(
    ("system", "user", "end", "exchanges", "problem"),
    [
        (Sleeps, RuleSimulator, "agent_error", 1, "0.5 seconds"),
        (SleepsOutsidePython, RuleSimulator, "agent_error", 0, "0.5 seconds"),
        (NeverMade, RuleSimulator, "agent_error", 0, "0.5 seconds"),
        (NeverEndingAnswer, RuleSimulator, "agent_error", 0, "0.5 seconds"),
        (Dies, RuleSimulator, "agent_error", 0, "exit code 3"),
        (RuleSystem, SleepyUser, "user_error", 1, "0.5 seconds"),
    ],
)
def test_a_call_that_never_returns_ends_its_dialogue(
    tmp_path: Path, system: Any, user: Any, end: str, exchanges: int, problem: str
) -> None:
    dialogue = talk(tmp_path / "log.jsonl", system, user)
    assert dialogue["end"] == end
    assert len(dialogue.get("acts", ())) == exchanges
    assert problem in dialogue["problem"]
    assert dialogue["final_goal"]


def test_dialogues_of_systems_that_answer_are_the_same_watched_or_not(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"per_type": 2, "seed": 5, "progress": False}
    setting = Setting(DATABASE, RuleSystem)
    plain = simulate(setting, output=tmp_path / "plain.jsonl", **chosen)
    for processes in (1, 2):
        output = tmp_path / f"{processes}.jsonl"
        watched = simulate(setting, output=output, processes=processes, time_limit=60, **chosen)
        assert watched == plain
        header, dialogues = read_log(output)
        assert header["limits"]["turn_seconds"] == 60
        assert list(dialogues) == list(read_log(tmp_path / "plain.jsonl")[1])


class SleepsNowAndThen(RuleSystem):
    """Never answers where hotels come up first."""

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        if any(act.domain == "酒店" for act in user_acts):
            time.sleep(FOR_EVER)
        return super().answer(user_acts)


@pytest.mark.parametrize("processes", [1, 2])
def test_the_run_goes_on_behind_a_call_that_never_returns(processes: int) -> None:
    summary = simulate(
        Setting(DATABASE, SleepsNowAndThen),
        per_type=1,
        seed=5,
        processes=processes,
        progress=False,
        time_limit=0.3,
    )
    assert summary.outcomes["system failed"] >= 1
    assert summary.outcomes["finished"] >= 1
    assert sum(summary.outcomes.values()) == 5


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_limit_is_above_nothing(seconds: float) -> None:
    with pytest.raises(UsageError, match=r"\b0\b"):
        simulate(Setting(DATABASE, RuleSystem), per_type=1, time_limit=seconds)
