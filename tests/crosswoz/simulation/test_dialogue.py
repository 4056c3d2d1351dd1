"""Simulated dialogues: how they are held, how they end, and that nobody can break them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import SYSTEM_INTENTS, Act, Acts, general
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.corpus.names import DOMAINS, NOTHING
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.log import OUTCOMES, SimulatedDialogue, trajectory_of
from mwzeval.crosswoz.simulation.protocols import Rng, Side
from mwzeval.crosswoz.simulation.summary import Ended
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.errors import UsageError
from tests.crosswoz.world import DATABASE, NEAR_AND_BY_METRO


class Constant:
    """A system that always does the same."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def answer(self, user_acts: Acts) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class Spelled:
    """An NLU and NLG that spell acts out."""

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        assert len(context) <= 3
        return tuple(Act(*act.split("+")) for act in utterance.split("|") if act)

    def say(self, acts: Acts, side: Side, rng: Rng) -> str:
        return "|".join(map(str, acts))


def held(system: Any, **more: Any) -> SimulatedDialogue:
    return Setting(DATABASE, lambda _: system, **more).simulate(NEAR_AND_BY_METRO, 0, 0)


def test_a_dialogue_ends_with_the_turn_in_which_the_user_terminates() -> None:
    dialogue = Setting(DATABASE, RuleSystem).simulate(NEAR_AND_BY_METRO, 3, 0)
    assert dialogue.finished
    assert dialogue.goal_type == "CM+T"
    assert dialogue.user_turns == len(dialogue.exchanges)
    assert all(line.done for line in dialogue.final_goal)
    last = dialogue.exchanges[-1]
    assert general("thank") in last.user_acts
    assert last.system_acts == (general("welcome"),)
    assert dialogue.goal == NEAR_AND_BY_METRO


@pytest.mark.parametrize(
    ("answer", "outcome", "problem"),
    [
        (None, "limit", None),
        ((), "limit", None),
        ([["General", "bye", "none", "none"]], "limit", None),
        (["General+bye+none+none"], "limit", None),
        ("你好", "system failed", "TypeError"),
        ([["General", "bye"]], "system failed", "2 parts"),
        (7, "system failed", "TypeError"),
        ([Act("Inform", "餐馆", "名称", cast("str", None))], "system failed", "no act"),
        ([Act("Inform", "餐馆", "名称", "\ud800")], "system failed", "no act"),
        (itertools.repeat(Act("Inform", "餐馆", "名称", "x")), "system failed", "1000"),
        (RuntimeError("out of ideas"), "system failed", "RuntimeError: out of ideas"),
        (SystemExit(3), "system failed", "SystemExit: 3"),
    ],
)
def test_a_bad_system_is_reported_and_not_fatal(
    answer: Any, outcome: str, problem: str | None
) -> None:
    dialogue = held(Constant(answer))
    assert dialogue.outcome == outcome
    assert not dialogue.finished
    assert (dialogue.problem is None) == (problem is None)
    assert problem is None or problem in (dialogue.problem or "")
    if outcome == "limit":
        assert dialogue.user_turns == 15
        assert dialogue.silent == (0 if answer else 15)
    else:
        assert dialogue.user_turns == 1


def test_a_system_that_cannot_be_made_and_a_bad_user_are_reported_too() -> None:
    def broken(_: Database) -> RuleSystem:
        raise OSError("no such model")

    dialogue = Setting(DATABASE, broken).simulate(NEAR_AND_BY_METRO, 0, 0)
    assert (dialogue.outcome, dialogue.problem) == ("system failed", "OSError: no such model")

    class Mute(RuleSimulator):
        def begin(self) -> Acts:
            raise ValueError("I do not know what to say")

    dialogue = Setting(DATABASE, RuleSystem, make_user=Mute).simulate(NEAR_AND_BY_METRO, 0, 0)
    assert dialogue.outcome == "user failed"
    assert dialogue.exchanges == ()

    def nobody(goal: Goal, rng: Rng) -> RuleSimulator:
        raise KeyError("goal")

    dialogue = Setting(DATABASE, RuleSystem, make_user=nobody).simulate(NEAR_AND_BY_METRO, 0, 0)
    assert dialogue.outcome == "user failed"
    assert dialogue.final_goal == NEAR_AND_BY_METRO


def test_a_user_who_never_terminates_meets_the_limit() -> None:
    class Endless(RuleSimulator):
        @property
        def terminated(self) -> bool:
            return False

    setting = Setting(DATABASE, RuleSystem, make_user=Endless, limit=7)
    dialogue = setting.simulate(NEAR_AND_BY_METRO, 0, 0)
    assert (dialogue.outcome, dialogue.user_turns) == ("limit", 7)


def test_what_a_system_has_in_mind_is_kept_as_it_was_then() -> None:
    dialogue = Setting(DATABASE, RuleSystem).simulate(NEAR_AND_BY_METRO, 0, 0)
    assert dialogue.exchanges[0].state == {"餐馆": {"推荐菜": "豆花", "人均消费": "50-100元"}}
    assert dialogue.exchanges[0].selected == {"餐馆": ("小馆",)}
    assert set(dialogue.exchanges[-1].state) > {"餐馆"}

    class Odd(Constant):
        state = "happy"

    odd = held(Odd(()))
    assert (odd.problem or "").startswith("TypeError")


@pytest.mark.parametrize(
    ("name", "mind"),
    [
        ("state", {"餐馆": {"名称": 5}}),
        ("state", {3: {"名称": "小馆"}}),
        ("state", {"餐馆": {"名称": "\ud800"}}),
        ("selected", {"餐馆": [object()]}),
        ("selected", {"餐馆": "小馆"}),
    ],
)
def test_what_no_log_can_hold_is_reported_at_once(name: str, mind: Any) -> None:
    system = Constant(())
    setattr(system, name, mind)
    assert held(system).outcome == "system failed"


def test_in_words_both_sides_speak_and_are_understood() -> None:
    spelled = Spelled()
    in_words = Setting(DATABASE, RuleSystem, level="text", nlu=spelled, nlg=spelled)
    dialogue = in_words.simulate(NEAR_AND_BY_METRO, 3, 0)
    in_acts = Setting(DATABASE, RuleSystem).simulate(NEAR_AND_BY_METRO, 3, 0)
    assert [e.user_acts for e in dialogue.exchanges] == [e.user_acts for e in in_acts.exchanges]
    assert [e.system_acts for e in dialogue.exchanges] == [e.system_acts for e in in_acts.exchanges]
    for exchange in dialogue.exchanges:
        assert exchange.heard_acts == exchange.system_acts
        assert exchange.system_utterance == "|".join(map(str, exchange.system_acts))


def test_a_system_of_words_needs_no_acts() -> None:
    class Parrot:
        def __init__(self, database: Database) -> None:
            self.heard: list[str] = []

        def respond(self, utterance: str) -> Any:
            self.heard.append(utterance)
            return utterance if len(self.heard) < 3 else None

    spelled = Spelled()
    setting = Setting(DATABASE, make_text_system=Parrot, level="text", nlu=spelled, nlg=spelled)
    dialogue = setting.simulate(NEAR_AND_BY_METRO, 0, 0)
    assert dialogue.outcome == "limit"
    assert dialogue.silent == 13
    assert dialogue.exchanges[0].system_utterance == dialogue.exchanges[0].user_utterance
    assert dialogue.exchanges[0].heard_acts == dialogue.exchanges[0].user_acts


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({}, "system"),
        ({"make_system": RuleSystem, "make_text_system": RuleSystem}, "system"),
        ({"make_text_system": RuleSystem}, "level text"),
        ({"make_system": RuleSystem, "level": "text"}, "NLU"),
        ({"make_system": RuleSystem, "level": "acts"}, '"act"'),
        ({"make_system": RuleSystem, "limit": 0}, "limit|exchange"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], names: str) -> None:
    with pytest.raises(UsageError, match=names):
        Setting(DATABASE, **wrong)


SYSTEM_ACTS = st.builds(
    Act,
    st.sampled_from(SYSTEM_INTENTS),
    st.sampled_from(DOMAINS),
    st.sampled_from([*dict.fromkeys(line.slot for line in NEAR_AND_BY_METRO), "none"]),
    st.sampled_from([NOTHING, "是", "小馆", "Blue客栈", "160元", "id=1", ""]),
)


@given(st.lists(st.lists(SYSTEM_ACTS, max_size=5), max_size=15), st.integers(0, 3))
def test_every_dialogue_ends_within_the_limit(turns: list[list[Act]], number: int) -> None:
    class Babbling:
        def __init__(self, _: Database) -> None:
            self._turns = iter(turns)

        def answer(self, user_acts: Acts) -> Any:
            return next(self._turns, None)

    dialogue = Setting(DATABASE, Babbling).simulate(NEAR_AND_BY_METRO, number, 0)
    assert dialogue.outcome in OUTCOMES[:2]
    assert 1 <= dialogue.user_turns <= 15
    assert dialogue.finished == all(line.done for line in dialogue.final_goal)
    line = json.loads(trajectory_of(dialogue).line())
    ended = Ended.of_line(line)
    assert (ended.number, ended.outcome) == (number, dialogue.outcome)
    assert (ended.user_turns, ended.silent) == (dialogue.user_turns, dialogue.silent)
