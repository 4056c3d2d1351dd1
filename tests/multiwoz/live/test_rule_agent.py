"""The built-in agent: what it understands of users, and whole conversations in the sample town."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.loop import ToolSession
from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.convlab.resources import ActResources, load_resources
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.convlab_agent import ConvlabPolicy
from mwzeval.multiwoz.live.rule_agent import CallingAgent, RuleAgent
from mwzeval.multiwoz.live.tools import DatabaseTools, Tools
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


class Talk:
    """A conversation with the agent; `calls` are names, arguments and results."""

    def __init__(self, tools: Tools | None = None, agent: CallingAgent | None = None) -> None:
        agent = agent or RuleAgent(vocabulary(), 1, "a")
        tools = tools or database().of_dialogue(1, "a")
        self._session = ToolSession(agent, tools, lambda message: None)
        self.calls: list[tuple[str, Any, Any]] = []
        self.acts: list[Act] = []

    def say(self, text: str) -> str:
        *calls, last = self._session.answer(text).messages
        for call, result in zip(calls[::2], calls[1::2], strict=True):
            function = call["tool_calls"][0]["function"]
            arguments, content = json.loads(function["arguments"]), json.loads(result["content"])
            self.calls.append((function["name"], arguments, content))
        self.acts = [Act(*act) for act in last["acts"]]
        return str(last["content"])

    @property
    def last(self) -> tuple[str, Any]:
        """The last call."""
        name, arguments, _ = self.calls[-1]
        return name, arguments


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


def test_a_restaurant_is_found_described_and_booked() -> None:
    talk = Talk()
    offer = talk.say("I'd like an expensive chinese restaurant in the centre.")
    assert talk.last == (
        "find_restaurant",
        {"pricerange": "expensive", "food": "chinese", "area": "centre"},
    )
    assert "Jade Pavilion" in offer
    assert Act("Recommend", "Restaurant", "Name", "jade pavilion") in talk.acts
    phone = talk.calls[0][2]["results"][0]["phone"]
    assert phone in talk.say("What is the phone number?")
    question = talk.say("Book a table for 2 on monday please.")
    assert "time" in question
    assert talk.acts[0] == Act("Request", "Booking", "Time", "?")
    booked = talk.say("At 18:30.")
    assert talk.last == (
        "book_restaurant",
        {"name": "jade pavilion", "people": "2", "day": "monday", "time": "18:30"},
    )
    reference = talk.calls[-1][2]["reference"]
    assert reference in booked
    assert "monday" in booked
    assert "18:30" in booked
    assert reference in talk.say("What was the reference number again?")
    talk.say("Actually, make that 19:00.")
    assert talk.last[1]["time"] == "19:00"
    assert "?" not in talk.say("Thank you, goodbye!")
    assert len(talk.calls) == 3


def test_it_searches_again_when_a_wish_changes_and_says_when_there_is_nothing() -> None:
    talk = Talk()
    assert "sorry" in talk.say("A place that serves klingon food in the north").lower()
    assert {act.intent for act in talk.acts} == {"NoOffer"}
    talk.say("How about british food instead?")
    assert talk.last == ("find_restaurant", {"food": "british", "area": "north"})
    first = next(act.value for act in talk.acts if act.slot == "Name")
    talk.say("And in the centre?")
    assert talk.last == ("find_restaurant", {"food": "british", "area": "centre"})
    second = next(act.value for act in talk.acts if act.slot == "Name")
    assert first != second
    assert "no other" in talk.say("Do you have another one?")
    talk.say("Somewhere in the east that serves any food.")
    third = next(act.value for act in talk.acts if act.slot == "Name")
    talk.say("Something else, please.")
    assert next(act.value for act in talk.acts if act.slot == "Name") != third


def test_trains_are_looked_for_when_all_is_known() -> None:
    talk = Talk()
    talk.say("I need a train to ashmere.")
    assert not talk.calls
    assert {act.slot for act in talk.acts} == {"Depart", "Day", "Leave", "Arrive"}
    assert "leave or arrive" in talk.say("From pellingford, on tuesday.")
    offer = talk.say("I want to arrive by 14:00.")
    assert talk.last == (
        "find_train",
        {
            **{"destination": "ashmere", "departure": "pellingford", "day": "tuesday"},
            "arriveby": "14:00",
        },
    )
    assert "tuesday" in offer
    assert "05:25" in offer
    booked = talk.say("Yes, for 3 people.")
    assert talk.last == ("book_train", {"trainid": "TR4291", "people": "3"})
    assert talk.calls[-1][2]["reference"] in booked


def test_a_taxi_goes_between_what_was_booked() -> None:
    talk = Talk()
    talk.say("Can you tell me about the brass otter? I want to stay there.")
    talk.say("And a british restaurant in the centre.")
    restaurant = next(act.value for act in talk.acts if act.slot == "Name")
    talk.say("A table for 4 at 20:00 on saturday, please.")
    said = talk.say("I need a taxi from the hotel to the restaurant by the time of my booking.")
    name, arguments, result = talk.calls[-1]
    assert name == "book_taxi"
    assert arguments == {
        **{"departure": "the brass otter", "destination": restaurant, "arriveby": "20:00"}
    }
    assert result["type"] in said
    assert result["phone"] in said


def test_police_and_hospital_are_told_at_once() -> None:
    talk = Talk()
    assert "01632960999" in talk.say("I was robbed! Where is the police?")
    assert "07700900902" in talk.say("And I need the phone number of the eye clinic, a hospital.")


def test_a_refused_booking_is_tried_otherwise() -> None:
    goal = {"restaurant": {"fail_book": {"day": "monday", "people": "2", "time": "18:30"}}}
    talk = Talk(tools=database().of_dialogue(1, "a", goal))
    talk.say("Jade pavilion, a table for 2 on monday at 18:30.")
    assert talk.calls[-1][2]["status"] == "failed"
    assert Act("NoBook", "Booking", "none", "none") in talk.acts
    talk.say("How about 19:30?")
    assert talk.calls[-1][2]["status"] == "booked"


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


def convlab_agent() -> CallingAgent:
    policy = ConvlabPolicy(vocabulary(), resources(), 1, "mul0001", 1)
    return CallingAgent(policy.answer, 1, "mul0001")


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


def test_the_policy_of_convlab_books_with_tools() -> None:
    talk = Talk(agent=convlab_agent())
    talk.say("An expensive chinese restaurant in the centre.")
    assert not talk.calls
    talk.say("A table for 2 people.")
    # It books after the first slot, the tool only with all.
    assert {act[:3] for act in talk.acts} == {
        ("Request", "Booking", "Day"),
        ("Request", "Booking", "Time"),
    }
    said = talk.say("On monday at 18:30.")
    assert talk.last == (
        "book_restaurant",
        {"name": "jade pavilion", "people": "2", "day": "monday", "time": "18:30"},
    )
    assert talk.calls[-1][2]["reference"] in said
    talk.say("I need a taxi that leaves at 21:00.")
    assert {act.slot for act in talk.acts} == {"Depart", "Dest"}
    talk.say("From jade pavilion to the brass otter.")
    name, arguments, result = talk.calls[-1]
    assert (name, arguments["leaveat"]) == ("book_taxi", "21:00")
    assert Act("Inform", "Taxi", "Phone", result["phone"]) in talk.acts


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
