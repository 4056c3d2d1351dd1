"""The built-in agent: what it understands of users, and whole conversations in the sample town."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.loop import ToolSession
from mwzeval.multiwoz.convlab.resources import ActResources, load_resources
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.convlab_agent import ConvlabPolicy
from mwzeval.multiwoz.live.rule_agent import CallingAgent, RuleAgent
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.understanding import BeliefState, Vocabulary, understand
from mwzeval.multiwoz.normalization import normalize_slots
from tests.cases import tabled
from tests.places import read_json, shared

ROOT = corpus_root("sample", None, offline=True)


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    return Vocabulary(read_tables(ROOT))


@lru_cache(maxsize=1)
def database() -> DatabaseTools:
    return DatabaseTools(read_tables(ROOT))


@lru_cache(maxsize=1)
def resources() -> ActResources:
    return load_resources("sample", ROOT)


TRIP = BeliefState(
    current="taxi",
    domains=["hotel", "restaurant", "taxi"],
    constraints={"hotel": {"bookday": "friday", "bookpeople": "3", "area": "north"}},
    offered={
        "hotel": {"name": "the brass otter", "pricerange": "expensive", "type": "hotel"},
        "restaurant": {"name": "jade pavilion", "area": "centre"},
    },
)
TRIP.constraints["restaurant"] = {"booktime": "18:30", "bookday": "sunday"}


def situation_of(name: str) -> BeliefState:
    """Return what the agent knows: of a domain, of a trip, or what it has asked for."""
    if name == "nothing":
        return BeliefState()
    if name == "trip":
        return TRIP
    *asked, last = name.removeprefix("asked for the ").split()
    if asked:
        return BeliefState(current=asked[0], asked=[(asked[0], last)])
    return BeliefState(current=name, domains=[name])


@tabled
def test_wishes_are_understood(situation: str, said: str, wishes: list[str]) -> None:
    heard = understand(said, vocabulary(), situation_of(situation))
    assert {" ".join(constraint) for constraint in heard.constraints} == set(wishes)


@tabled
def test_questions_are_understood(said: str, requests: list[str]) -> None:
    situation = BeliefState(
        current="restaurant",
        domains=["restaurant"],
        offered={"restaurant": {"name": "jade pavilion"}, "hotel": {"name": "the brass otter"}},
    )
    heard = understand(said, vocabulary(), situation)
    assert {" ".join(request) for request in heard.requests} == set(requests)


def convlab_agent() -> CallingAgent:
    policy = ConvlabPolicy(vocabulary(), resources(), 1, "mul0001", 1)
    return CallingAgent(policy.answer, 1, "mul0001")


SCRIPTS = dict(
    paragraph.split("\n", 1)
    for paragraph in Path(__file__).with_name("rule_agent.txt").read_text("utf-8").split("\n\n")
)
"""Dialogues by their titles. Behind what the user says are all calls of the agent, and words and
acts that its answer has among others; slots in braces are those of the last result."""


@pytest.mark.parametrize("title", SCRIPTS)
def test_a_dialogue_follows_its_script(title: str) -> None:
    agent: CallingAgent = RuleAgent(vocabulary(), 1, "a")
    goal: dict[str, Any] = {}
    session = None
    calls: list[tuple[str, dict[str, str]]] = []
    answer: dict[str, Any] = {}
    result: dict[str, str] = {}
    for line in SCRIPTS[title].strip().split("\n"):
        kind, _, text = line.partition(" ")
        if kind == "agent":
            agent = convlab_agent()
        elif kind == "refused":
            goal = ast.literal_eval(text)
        elif kind == "user":
            assert not calls
            tools = database().of_dialogue(1, "a", goal)
            session = session or ToolSession(agent, tools, lambda message: None)
            *messages, answer = session.answer(text).messages
            for call, returned in zip(messages[::2], messages[1::2], strict=True):
                function = call["tool_calls"][0]["function"]
                calls.append((function["name"], json.loads(function["arguments"])))
                found = json.loads(returned["content"])
                result = {**dict(*found.get("results", ())[:1]), **found}
        elif kind == "call":
            name, arguments = text.split(" ", 1)
            assert calls.pop(0) == (name, ast.literal_eval(arguments))
        elif kind == "says":
            assert text.format_map(result) in answer["content"]
        elif kind == "acts":
            acts = [" ".join(act) for act in answer["acts"]]
            assert set(text.format_map(result).split("; ")) <= set(acts)
    assert not calls


WORDS = (
    *("a", "taxi", "train", "hotel", "from", "to", "the", "same", "area", "as", "not", "museum"),
    *("3", "people", "18:30", "at", "book", "for", "and", "or", "sunday", "pellingford", "ashmere"),
    *("jade", "pavilion", "between", "two", "?", ".", ",", "yes", "no", "dontcare", "any", "phone"),
    *("price", "number", "leave", "forget", "guesthouse", "star", "food", "in", "by", "after"),
    *("TR4291", "what", "is", "it", "there"),
)
TEXTS = st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
RESULTS = st.sampled_from(
    [
        *("null", "", "not json", "[]", "{}", '{"error": "no"}', '{"results": 3}', "1" * 20),
        *('{"count": 2, "results": [{}, 1, null]}', '{"count": "x", "results": [{"name": 3}]}'),
        *('{"status": "booked"}', '{"status": "failed"}', '{"results": [{"name": "x"}]}'),
        '{"count": 1, "results": [{"name": "x", "trainid": "TR1", "area": null, "food": ["a"]}]}',
    ]
)


@pytest.mark.parametrize("make", [lambda: RuleAgent(vocabulary()), convlab_agent])
@given(texts=st.lists(TEXTS, max_size=6), data=st.data())
def test_no_text_and_no_result_breaks_it(
    make: Callable[[], CallingAgent], texts: list[str], data: st.DataObject
) -> None:
    agent = make()
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages.append({"role": "user", "content": text})
        for _ in range(20):
            message = agent(messages)
            json.dumps(message)
            messages.append(message)
            if not message.get("tool_calls"):
                break
            content = data.draw(RESULTS)
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": content})
        assert isinstance(messages[-1]["content"], str)
        assert messages[-1]["content"]


def slots_of(state: Mapping[str, Mapping[str, str]]) -> set[tuple[str, str, str]]:
    """Return all slots but names: users take the venue that the system has named."""
    return {
        (domain, slot, value)
        for domain, slots in state.items()
        for slot, value in normalize_slots(slots, "2021").items()
        if slot != "name"
    }


def annotated(frames: Sequence[Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for frame in frames:
        for name, values in frame["state"]["slot_values"].items():
            domain, _, slot = name.partition("-")
            state.setdefault(domain, {})[slot] = values[0]
    return state


@pytest.mark.integration
def test_people_of_the_corpus_are_understood() -> None:
    """Without a word of the system's, so that what they mean by "yes" is not known."""
    root = corpus_root("multiwoz-2.2", shared("data", "multiwoz"), offline=True)
    spoken_of = Vocabulary(read_tables(root))
    right: list[bool] = []
    path = root.require("data/MultiWOZ_2.2/test/dialogues_001.json")
    for dialogue in read_json(path)[:200]:
        situation = BeliefState()
        for turn in dialogue["turns"]:
            if turn["speaker"] != "USER":
                continue
            heard = understand(turn["utterance"], spoken_of, situation)
            for constraint in heard.constraints:
                situation.constraints.setdefault(constraint.domain, {})[constraint.slot] = (
                    constraint.value
                )
            for domain in heard.domains:
                situation.domains = [d for d in situation.domains if d != domain] + [domain]
                situation.current = domain
            right.append(slots_of(situation.constraints) == slots_of(annotated(turn["frames"])))
    assert sum(right) > 0.4 * len(right) > 400
