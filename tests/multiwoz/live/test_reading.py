"""Conversion of agent texts to acts, with wordings of templates, people and chat models."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.conversation.messages import read_messages
from mwzeval.multiwoz.acts import SYSTEM_SLOTS, Act
from mwzeval.multiwoz.goals import begun
from mwzeval.multiwoz.live.reading import AgentReader, ReadingContext, tool_results
from tests.cases import tabled
from tests.multiwoz.live.anything import MESSAGES, TEXTS
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
    """Return the context of a user that has informed a domain's slots, such as `food=thai`."""
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
def test_texts_are_read_as_the_expected_acts(domain: str, text: str, acts: list[str]) -> None:
    assert read(text, domain) == acts


@tabled
def test_values_in_texts_become_acts(domain: str, text: str, expected: str) -> None:
    assert expected in read(text, domain)


@tabled
def test_questions_become_request_acts(domain: str, text: str, expected: set[str] | None) -> None:
    asked = {act[8:-2] for act in read(text, domain) if act.startswith("Request")}
    assert asked == (expected if expected is not None else {"Booking People", "Booking Time"})


@tabled
def test_statements_that_nothing_matches_become_nooffer_acts(domain: str, text: str) -> None:
    assert read(text, domain) == [f"NoOffer {domain.capitalize()} none none"]


@tabled
def test_missing_properties_of_a_venue_are_not_nooffer_acts(text: str) -> None:
    assert not [act for act in read(text) if act.startswith("NoOffer")]


@tabled
def test_bookings_are_read_with_their_reference(text: str, code: str) -> None:
    booked = [act for act in read(text) if act.startswith("Book ")]
    assert booked == [f"Book Booking {'none' if code == 'none' else 'Ref'} {code}"]


@tabled
def test_offers_to_book_are_not_booking_acts(text: str) -> None:
    assert not [act for act in read(text) if "Book " in act and not act.startswith("Request")]


@tabled
def test_failed_bookings_become_nobook_acts(text: str) -> None:
    assert "NoBook Booking none none" in read(text, said="People=2")


def test_bookings_with_missing_details_are_not_read_as_nobook() -> None:
    assert not [act for act in read("I can't book it without the day.") if act.startswith("NoBook")]


NOTHING = call("find_hotel", {"count": 0, "results": []})
FOUND = call("find_restaurant", {"count": 1, "results": [{"phone": "01223000001"}]})
BOOKED = call("book_restaurant", {"status": "booked", "reference": "7GAWK763"})
TWO = (
    *call("book_hotel", {"status": "booked", "reference": "AAAA1111"}, 1),
    *call("book_train", {"status": "booked", "reference": "BBBB2222"}, 2),
)


@pytest.mark.parametrize(
    ("messages", "text", "acts"),
    [
        (NOTHING, "My apologies! Shall I look elsewhere?", ["NoOffer Hotel none none"]),
        (NOTHING, "One moment.", []),
        (FOUND, "Shall I go on?", []),
        # Without a reference in the text, the act has none.
        (BOOKED, "Your table is booked.", ["Book Booking none none"]),
        (BOOKED, "One moment, please.", []),
        (
            TWO,
            "All done! References: BBBB2222 and AAAA1111.",
            [
                "OfferBooked Train Ref BBBB2222",
                "Inform Hotel none none",
                "Book Booking Ref AAAA1111",
            ],
        ),
    ],
)
def test_tool_results_complement_but_do_not_replace_the_text(
    messages: tuple[Any, ...], text: str, acts: list[str]
) -> None:
    assert read(text, messages=messages) == acts


def acts_of_answer(reader: AgentReader, text: str, *requested: str) -> list[Act]:
    """Return the acts of an answer to requests about a restaurant."""
    made = reader.context(begun(GOAL))
    made.add_user_acts([Act("Request", "Restaurant", slot, "?") for slot in requested])
    return reader.acts_of(text, made)


def test_words_in_addresses_do_not_change_the_domain() -> None:
    """A restaurant and a cinema have the same address."""
    address = "leisure park, clifton way"
    rows = {
        domain: [{**TOWN[domain][0], "address": address}] for domain in ("restaurant", "attraction")
    }
    acts = acts_of_answer(
        AgentReader(TOWN | rows), "The address is Leisure Park, Clifton Way.", "Addr"
    )
    assert acts == [Act("Inform", "Restaurant", "Addr", "Leisure Park, Clifton Way")]


def test_unknown_answers_to_requests_are_read_without_the_slot_name() -> None:
    unknown = Act("Inform", "Restaurant", "Phone", "unknown")
    text = "I do not have their phone number, and the address is 1 High Street."
    address = Act("Inform", "Restaurant", "Addr", "1 High Street")
    assert acts_of_answer(reader(), text, "Phone", "Addr") == [address, unknown]
    text = "I'm sorry, but I don't have that information. Look it up online."
    assert acts_of_answer(reader(), text, "Phone") == [unknown]


def test_venue_names_of_common_words_are_recognized_by_preceding_words() -> None:
    town = TOWN | {"attraction": [{**TOWN["attraction"][0], "name": "the place"}]}
    of_town = AgentReader(town)
    goal = {"domain_ordering": ["attraction"], "attraction": {"info": {}}}

    def names(text: str) -> list[str]:
        acts = of_town.acts_of(text, of_town.context(goal))
        return [act.value for act in acts if act.slot == "Name"]

    assert names("I would recommend the place.") == ["the place"]
    assert names("I have the place you were looking for.") == []


def test_venue_names_keep_the_spelling_of_the_goal() -> None:
    wanted = {"info": {"name": "BLUE LANTERN"}}
    goal = {"domain_ordering": ["restaurant"], "restaurant": wanted}
    acts = reader().acts_of("How about Blue Lantern?", reader().context(goal))
    assert acts == [Act("Recommend", "Restaurant", "Name", "BLUE LANTERN")]


@settings(max_examples=200)
@given(
    text=TEXTS,
    of_turn=st.lists(MESSAGES, max_size=4),
    domains=st.lists(st.sampled_from(GOAL["domain_ordering"]), min_size=1, unique=True),
)
def test_any_agent_text_is_read_as_known_acts_without_exceptions(
    text: str, of_turn: list[Any], domains: list[str]
) -> None:
    goal = {"domain_ordering": domains, **{domain: GOAL[domain] for domain in domains}}
    made = reader().context(begun(goal))
    made.add_user_acts([Act("Inform", domains[0].capitalize(), "People", "2")])
    calls = tool_results(read_messages(of_turn))
    acts = reader().acts_of(text, made, calls)
    assert all(
        act.domain == "general" or act.slot.lower() in SYSTEM_SLOTS[act.domain.lower()]
        for act in acts
    )
    assert len(acts) == len(set(acts))
