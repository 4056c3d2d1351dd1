"""What an agent's words say as acts, in wordings of templates, of people and of chat models."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.conversation.messages import read_messages
from mwzeval.multiwoz.acts import SYSTEM_SLOTS, Act
from mwzeval.multiwoz.goals.goal import begun
from mwzeval.multiwoz.live.reading import AgentReader, ReadingContext, tool_results
from tests.cases import tabled
from tests.multiwoz.towns import TOWN

SERVICES = {
    "police": [{"id": 0, "name": "Mill Police Station", "phone": "0122399", "address": "Millside"}],
    "hospital": [{"id": 0, "department": "eye clinic", "phone": "01223000777"}],
}
GOAL: dict[str, Any] = {
    "domain_ordering": ["restaurant", "hotel", "attraction", "train", "taxi", "hospital", "police"],
    "restaurant": {
        "info": {"food": "chinese", "area": "north"},
        "reqt": ["phone", "address"],
        "book": {"people": "2", "day": "monday", "time": "18:15"},
    },
    "hotel": {"info": {"type": "hotel"}, "book": {"people": "2", "day": "monday", "stay": "3"}},
    "attraction": {"info": {"type": "museum"}, "reqt": ["entrance fee"]},
    "train": {
        "info": {"departure": "ely", "destination": "cambridge", "leaveAt": "10:30"},
        "reqt": ["price"],
        "book": {"people": "2"},
    },
    "taxi": {"info": {"arriveBy": "17:00"}, "reqt": ["phone", "car type"]},
    "hospital": {"info": {"department": "eye clinic"}, "reqt": ["phone"]},
    "police": {"reqt": ["phone", "address"]},
}


@lru_cache
def reader() -> AgentReader:
    return AgentReader(TOWN | SERVICES)


def context(domain: str, said: str = "") -> ReadingContext:
    """Return the context of a user that has spoken of a domain; `said` are slots and values."""
    made = reader().context(begun(GOAL))
    told = [part.split("=") for part in said.split()]
    made.add_user_acts([Act("Inform", domain.capitalize(), slot, value) for slot, value in told])
    made.domain = domain
    return made


def read(
    text: str, domain: str = "restaurant", said: str = "", messages: tuple[Any, ...] = ()
) -> list[str]:
    calls = tool_results(read_messages(messages))
    acts = reader().acts_of(text, context(domain, said), calls)
    return [" ".join(act) for act in acts if act.domain != "general"]


def call(name: str, result: Any, number: int = 1) -> tuple[Any, ...]:
    made = {"id": str(number), "function": {"name": name, "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": str(number), "content": json.dumps(result)}
    return ({"role": "assistant", "content": None, "tool_calls": [made]}, answer)


@tabled
def test_what_is_heard(domain: str, text: str, acts: list[str]) -> None:
    assert read(text, domain) == acts


@tabled
def test_values_are_heard(domain: str, text: str, expected: str) -> None:
    assert expected in read(text, domain)


@tabled
def test_questions_are_requests(domain: str, text: str, expected: set[str] | None) -> None:
    asked = {act[8:-2] for act in read(text, domain) if act.startswith("Request")}
    assert asked == (expected if expected is not None else {"Booking People", "Booking Time"})


@tabled
def test_what_is_not_there_is_no_offer(domain: str, text: str) -> None:
    assert read(text, domain) == [f"NoOffer {domain.capitalize()} none none"]


@tabled
def test_what_a_venue_lacks_is_no_missing_venue(text: str) -> None:
    assert not [act for act in read(text) if act.startswith("NoOffer")]


def test_tools_that_find_nothing_explain_regret_but_do_not_speak_for_the_agent() -> None:
    nothing = call("find_hotel", {"count": 0, "results": []})
    assert read("My apologies! Shall I look elsewhere?", messages=nothing) == [
        "NoOffer Hotel none none"
    ]
    assert read("One moment.", messages=nothing) == []
    found = call("find_restaurant", {"count": 1, "results": [{"phone": "01223000001"}]})
    assert read("Shall I go on?", messages=found) == []


@tabled
def test_bookings_are_heard_with_what_is_said_of_them(text: str, code: str) -> None:
    booked = [act for act in read(text) if act.startswith("Book ")]
    assert booked == [f"Book Booking {'none' if code == 'none' else 'Ref'} {code}"]


@tabled
def test_offers_to_book_book_nothing(text: str) -> None:
    assert not [act for act in read(text) if "Book " in act and not act.startswith("Request")]


@tabled
def test_failed_bookings_are_refusals(text: str) -> None:
    assert "NoBook Booking none none" in read(text, said="People=2")


def test_a_booking_that_waits_for_an_answer_is_no_refusal() -> None:
    assert not [act for act in read("I can't book it without the day.") if act.startswith("NoBook")]


def test_references_belong_to_the_booking_that_gave_them() -> None:
    messages = (
        *call("book_hotel", {"status": "booked", "reference": "AAAA1111"}, 1),
        *call("book_train", {"status": "booked", "reference": "BBBB2222"}, 2),
    )
    text = "All done! References: BBBB2222 and AAAA1111."
    assert read(text, messages=messages) == [
        "OfferBooked Train Ref BBBB2222",
        "Inform Hotel none none",
        "Book Booking Ref AAAA1111",
    ]


def test_a_reference_that_is_not_said_is_not_known() -> None:
    messages = call("book_restaurant", {"status": "booked", "reference": "7GAWK763"})
    assert read("Your table is booked.", messages=messages) == ["Book Booking none none"]
    assert read("One moment, please.", messages=messages) == []


def test_words_of_a_street_tell_no_domain() -> None:
    address = "leisure park, clifton way"
    # A restaurant and a cinema under one roof.
    rows = {
        domain: [{**TOWN[domain][0], "address": address}] for domain in ("restaurant", "attraction")
    }
    of_town = AgentReader(TOWN | rows)
    made = of_town.context(begun(GOAL))
    made.add_user_acts([Act("Request", "Restaurant", "Addr", "?")])
    assert of_town.acts_of("The address is Leisure Park, Clifton Way.", made) == [
        Act("Inform", "Restaurant", "Addr", "Leisure Park, Clifton Way")
    ]


def test_what_is_asked_for_and_not_known_is_heard() -> None:
    made = context("restaurant")
    made.add_user_acts(
        [Act("Request", "Restaurant", "Phone", "?"), Act("Request", "Restaurant", "Addr", "?")]
    )
    text = "I do not have their phone number, and the address is 1 High Street."
    assert reader().acts_of(text, made) == [
        Act("Inform", "Restaurant", "Addr", "1 High Street"),
        Act("Inform", "Restaurant", "Phone", "unknown"),
    ]


def test_what_is_asked_for_need_not_be_named_again() -> None:
    made = context("restaurant")
    made.add_user_acts([Act("Request", "Restaurant", "Phone", "?")])
    text = "I'm sorry, but I don't have that information. Look it up online."
    assert reader().acts_of(text, made) == [Act("Inform", "Restaurant", "Phone", "unknown")]


def test_names_that_are_words_are_told_by_what_stands_before_them() -> None:
    town = TOWN | {"attraction": [{**TOWN["attraction"][0], "name": "the place"}]}
    of_town = AgentReader(town)
    goal = {"domain_ordering": ["attraction"], "attraction": {"info": {}}}

    def names(text: str) -> list[str]:
        acts = of_town.acts_of(text, of_town.context(goal))
        return [act.value for act in acts if act.slot == "Name"]

    assert names("I would recommend the place.") == ["the place"]
    assert names("I have the place you were looking for.") == []


def test_the_users_own_spelling_is_kept() -> None:
    wanted = {"info": {"name": "BLUE LANTERN"}}
    goal = {"domain_ordering": ["restaurant"], "restaurant": wanted}
    acts = reader().acts_of("How about Blue Lantern?", reader().context(goal))
    assert acts == [Act("Recommend", "Restaurant", "Name", "BLUE LANTERN")]


messages = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "function", "name", "id", "arguments"]
            )
            | st.text(max_size=3),
            inner
            | st.sampled_from(["tool", "assistant", "find_hotel", "book_train", '{"count": 0}']),
            max_size=4,
        )
    ),
    max_leaves=12,
)
words = st.sampled_from(
    [
        *("blue lantern", "Red Kettle", "TR0001", "09:00", "7GAWK763", "booked", "no", "not", "or"),
        *("?", ".", "\n", "- ", "|", "**", "restaurants", "north", "which", "phone", "cb10aa"),
        *("01223000001", "2 people", "monday", "unavailable", "sorry", "£4.40", "¶", "İ", "\x00"),
    ]
)


@settings(max_examples=200)
@given(
    text=st.text(max_size=60) | st.lists(words, max_size=25).map(" ".join),
    of_turn=st.lists(messages, max_size=4),
    domains=st.lists(st.sampled_from(GOAL["domain_ordering"]), min_size=1, unique=True),
)
def test_nothing_that_an_agent_says_raises_and_all_acts_are_known(
    text: str, of_turn: list[Any], domains: list[str]
) -> None:
    goal = {"domain_ordering": domains, **{domain: GOAL[domain] for domain in domains}}
    made = reader().context(begun(goal))
    made.add_user_acts([Act("Inform", domains[0].capitalize(), "People", "2")])
    calls = tool_results(read_messages(raw for raw in of_turn if isinstance(raw, dict)))
    acts = reader().acts_of(text, made, calls)
    assert all(
        act.domain == "general" or act.slot.lower() in SYSTEM_SLOTS[act.domain.lower()]
        for act in acts
    )
    assert len(acts) == len(set(acts))
