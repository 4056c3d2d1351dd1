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
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator
from mwzeval.crosswoz.simulation.log import FINISHED, SYSTEM_FAILED, USER_FAILED
from mwzeval.crosswoz.simulation.run import goal_of, simulate
from mwzeval.crosswoz.simulation.time_limit import TimeLimitedSetting
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.errors import UsageError
from tests.crosswoz.logs import read_log
from tests.crosswoz.world import DATABASE

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


def talk(*, system: Any = RuleSystem, user: Any = RuleSimulator, seconds: float = SECONDS) -> Any:
    watched = TimeLimitedSetting(Setting(DATABASE, system, make_user=user), seconds)
    goal = goal_of(GoalGenerator(DATABASE).goal, 5, 1)
    try:
        return watched.simulate(goal, 1, 5)
    finally:
        watched.close()


@pytest.mark.parametrize(
    ("sides", "outcome", "exchanges", "problem"),
    [
        ({"system": Sleeps}, SYSTEM_FAILED, 1, "TimeoutError: no answer within 0.5 seconds"),
        ({"system": SleepsOutsidePython}, SYSTEM_FAILED, 0, "TimeoutError"),
        ({"system": NeverMade}, SYSTEM_FAILED, 0, "TimeoutError"),
        ({"system": NeverEndingAnswer}, SYSTEM_FAILED, 0, "TimeoutError"),
        ({"system": Dies}, SYSTEM_FAILED, 0, "the process died"),
        ({"user": SleepyUser}, USER_FAILED, 1, "TimeoutError"),
    ],
)
def test_a_call_that_never_returns_ends_its_dialogue(
    sides: dict[str, Any], outcome: str, exchanges: int, problem: str
) -> None:
    dialogue = talk(**sides)
    assert dialogue.outcome == outcome
    assert len(dialogue.exchanges) == exchanges
    assert problem in dialogue.problem


def test_dialogues_of_systems_that_answer_are_the_same_watched_or_not(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"per_type": 2, "seed": 5, "progress": False}
    setting = Setting(DATABASE, RuleSystem)
    plain = simulate(setting, output=tmp_path / "plain.jsonl", **chosen)
    for processes in (1, 2):
        output = tmp_path / f"{processes}.jsonl"
        watched = simulate(setting, output=output, processes=processes, time_limit=60, **chosen)
        assert watched == plain
        meta, dialogues = read_log(output)
        assert meta["time_limit"] == 60
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
    assert summary.outcomes[SYSTEM_FAILED] >= 1
    assert summary.outcomes[FINISHED] >= 1
    assert sum(summary.outcomes.values()) == 5


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_limit_is_above_nothing(seconds: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        simulate(Setting(DATABASE, RuleSystem), per_type=1, time_limit=seconds)
