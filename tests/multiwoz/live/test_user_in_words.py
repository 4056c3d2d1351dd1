"""The user in words: what it understands, what it reports, and which faults are told of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.loop import ToolSession, converse
from mwzeval.conversation.messages import AgentTurn, read_messages
from mwzeval.multiwoz.acts import Act, Draws
from mwzeval.multiwoz.convlab.system import RuleSystem
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.understanding import Vocabulary
from mwzeval.multiwoz.live.user import LiveUser
from mwzeval.multiwoz.live.user_faults import (
    EARLY,
    MISUNDERSTOOD,
    effects,
    faults_of,
    misunderstanding,
)
from mwzeval.multiwoz.live.user_in_words import UserInWords
from mwzeval.multiwoz.live.wordings import system_text
from tests.cases import tabled
from tests.examples import examples
from tests.multiwoz.convlab.records import golden, real_resources
from tests.multiwoz.live.written_runs import sample_goals
from tests.multiwoz.towns import TOWN
from tests.places import read_json, shared

GOAL: dict[str, Any] = {
    "domain_ordering": ["restaurant", "train"],
    "restaurant": {
        "info": {"food": "chinese", "area": "north"},
        "fail_info": {"food": "thai", "area": "north"},
        "reqt": ["phone"],
        "book": {"people": "2", "day": "monday", "time": "18:15"},
    },
    "train": {"info": {"destination": "cambridge", "leaveAt": "10:30"}, "reqt": ["price"]},
}


@lru_cache
def reader() -> AgentReader:
    return AgentReader(TOWN)


@tabled
def test_an_act_counts_by_what_it_changes(act: list[str], expected: set[tuple[str, ...]]) -> None:
    found = {
        effect[:3] if effect[0] in ("answer", "against") else effect
        for effect in effects([act], GOAL)
    }
    assert found == expected


def test_spelling_is_no_misunderstanding() -> None:
    meant = [
        ["Inform", "Restaurant", "Phone", "01223000001"],
        ["Inform", "Train", "Ticket", "4.40 pounds"],
        ["Recommend", "Restaurant", "Name", "Red Kettle"],
    ]
    understood = [
        ["Recommend", "Restaurant", "Name", "red kettle"],
        ["Inform", "Restaurant", "Phone", "01223 000-001"],
        ["Inform", "Train", "Ticket", "£4.40"],
        ["Inform", "Restaurant", "Post", "cb10aa"],
    ]
    assert misunderstanding(meant, understood, GOAL) is None
    assert misunderstanding(meant, understood[1:], GOAL) == "missed named red kettle"
    assert (
        misunderstanding(meant[1:], understood, GOAL)
        == "invented answer restaurant phone 01223000001"
    )


def line(*texts: str, **report: Any) -> dict[str, Any]:
    """Return a dialogue in which user and agent take turns."""
    roles = ("user", "assistant")
    said = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"goal": GOAL, "messages": said, "user": report}


def kinds(dialogue: dict[str, Any]) -> list[tuple[str, int]]:
    talk = read_messages(dialogue["messages"])
    found = faults_of(dialogue["goal"], talk, dialogue["user"], reader())
    return [(fault["kind"], fault["turn"]) for fault in found]


def test_to_be_done_too_early_is_a_fault() -> None:
    held: dict[str, Any] = {
        "domain_ordering": ["train"],
        "train": {"info": {}, "reqt": {"price": "?"}},
    }
    assert kinds(line("Hi.", "Hello.", "Bye.", token="[DONE]", goal=held)) == [(EARLY, 1)]
    assert kinds(line("Hi.", "Hello.", "Bye.", token="[GIVE UP]", goal=held)) == []
    held["train"]["reqt"] = {"price": "4.40 pounds"}
    assert kinds(line("Hi.", "Hello.", "Bye.", token="[DONE]", goal=held)) == []


def test_misunderstanding_needs_acts_of_both_sides() -> None:
    dialogue = line("Hello!", "Red Kettle is nice.", "Bye.")
    assert kinds(dialogue) == []
    dialogue["messages"][1]["acts"] = [["Recommend", "Restaurant", "Name", "red kettle"]]
    assert kinds(dialogue) == []
    dialogue["user"] = {"understood": [[]]}
    assert kinds(dialogue) == [(MISUNDERSTOOD, 0)]
    dialogue["user"] = {"understood": [dialogue["messages"][1]["acts"]]}
    assert kinds(dialogue) == []


class Scripted:
    """Says the same answers in order, the last one for ever."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)

    def answer(self, said: str, /) -> AgentTurn:
        text = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return AgentTurn(({"role": "assistant", "content": text},), text)


def user(seed: int = 1, goal: dict[str, Any] = GOAL) -> UserInWords:
    live = LiveUser(goal, Draws(seed, "mul0001", 1, "user"))
    return UserInWords(live, reader(), Random(seed))


def dialogue_with(talking: UserInWords, *answers: str) -> dict[str, Any]:
    converse(lambda: talking, lambda: Scripted(*answers))
    report: dict[str, Any] = json.loads(json.dumps(talking.report()))
    return report


def test_a_user_gets_what_it_wants_in_words() -> None:
    wanted = {part: wish for part, wish in GOAL["restaurant"].items() if part != "fail_info"}
    goal = {"domain_ordering": ["restaurant"], "restaurant": wanted}
    report = dialogue_with(
        user(goal=goal),
        "Which area and what kind of food?",
        "Red Kettle serves chinese food in the north. Its phone number is 01223000002.",
        "For how many people, on what day and at what time?",
        "Booked! 2 people on Monday at 18:15 at Red Kettle. Your reference number is 7GAWK763.",
    )
    assert report["complete"]
    assert report["goal"]["restaurant"]["reqt"] == {"phone": "01223000002"}
    assert report["token"] == "[DONE]"
    assert report["faults"] == []
    assert len(report["said"]) == len(report["understood"]) + 1


def test_a_user_that_is_told_nothing_gives_up() -> None:
    report = dialogue_with(user(), "I see.")
    assert not report["complete"]
    assert report["token"] == "[GIVE UP]"


def test_the_same_seed_says_the_same() -> None:
    answers = (
        "What kind of food?",
        "There are no thai restaurants.",
        "How about Red Kettle?",
        "Hm.",
    )
    assert dialogue_with(user(), *answers) == dialogue_with(user(), *answers)
    assert dialogue_with(user(), *answers) != dialogue_with(user(2), *answers)


@examples(60)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_no_words_break_a_user(answers: Sequence[str]) -> None:
    assert dialogue_with(user(), *answers)["token"] in ("[DONE]", "[GIVE UP]")


class RuleSystemInWords:
    """The rule system of ConvLab-2: it hears the acts of the user, and words its own."""

    def __init__(self, talking: list[UserInWords], seed: int) -> None:
        self._talking = talking
        self._system = RuleSystem(real_resources(), Draws(seed, "any", 1, "system"))
        self._rng = Random(seed)

    def answer(self, said: str, /) -> AgentTurn:
        acts = [Act(*act) for act in self._talking[-1].report()["said"][-1]]
        answer = self._system.answer(acts)
        text = system_text(answer, self._rng)
        message = {"role": "assistant", "content": text, "acts": [list(act) for act in answer]}
        return AgentTurn((message,), text)


@lru_cache
def tables() -> dict[str, Any]:
    folder = shared("data", "multiwoz", "db")
    domains = ("attraction", "hospital", "hotel", "police", "restaurant", "train")
    return {domain: read_json(folder / f"{domain}_db.json") for domain in domains}


@pytest.mark.integration
def test_few_turns_of_a_rule_system_are_misunderstood() -> None:
    real = AgentReader(tables())
    turns = misunderstood = complete = 0
    goals = [record["goal"] for record, _ in zip(golden("corpus_goals"), range(25), strict=False)]
    for seed, goal in enumerate(goals):
        live = LiveUser(goal, Draws(seed, "any", 1, "user"))
        talking = [UserInWords(live, real, Random(seed))]
        converse(
            lambda talking=talking: talking[0],  # type: ignore[misc]
            lambda talking=talking, seed=seed: RuleSystemInWords(talking, seed),  # type: ignore[misc]
        )
        report = talking[0].report()
        turns += len(report["understood"])
        misunderstood += sum(fault["kind"] == MISUNDERSTOOD for fault in report["faults"])
        complete += report["complete"]
    assert turns > 100
    assert misunderstood / turns < 0.03
    assert complete >= 24


def rule_agent(seed: int) -> ToolSession:
    """Return the built-in agent with its tools, on the sample town."""
    _, vocabulary, database = sample()
    tools: Any = database.of_dialogue(seed, "any")
    return ToolSession(RuleAgent(vocabulary, seed, "any"), tools, lambda message: None)


@lru_cache
def sample() -> tuple[AgentReader, Vocabulary, DatabaseTools]:
    rows = read_tables(corpus_root("sample", None, offline=True))
    return AgentReader(rows), Vocabulary(rows), DatabaseTools(rows)


def test_the_built_in_agent_is_understood_in_the_sample_town() -> None:
    turns = misunderstood = 0
    for seed, goal in enumerate(sample_goals().values()):
        live = LiveUser(goal, Draws(seed, "any", 1, "user"))
        talking = UserInWords(live, sample()[0], Random(seed))
        converse(lambda talking=talking: talking, lambda seed=seed: rule_agent(seed))  # type: ignore[misc]
        report = talking.report()
        turns += len(report["understood"])
        misunderstood += sum(fault["kind"] == MISUNDERSTOOD for fault in report["faults"])
        assert report["complete"], report
    assert turns > 20
    assert misunderstood / turns < 0.03
