"""What an agent's words say as acts, in wordings of templates, of people and of chat models."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.conversation.messages import AgentTurn
from mwzeval.multiwoz.convlab.acts import SYSTEM_SLOTS, Act
from mwzeval.multiwoz.goals.goals import begun
from mwzeval.multiwoz.live.reading.context import ReadingContext
from mwzeval.multiwoz.live.reading.reader import AgentReader
from tests.multiwoz.towns import TOWN
from tests.multiwoz.words.cases import tabled

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
    made.said([Act("Inform", domain.capitalize(), slot, value) for slot, value in told])
    made.domain = domain
    return made


def read(
    text: str, domain: str = "restaurant", said: str = "", messages: tuple[Any, ...] = ()
) -> list[str]:
    acts = reader().acts_of(AgentTurn(messages, text), context(domain, said))
    return [" ".join(act) for act in acts if act.domain != "general"]


def call(name: str, result: Any, number: int = 1) -> tuple[Any, ...]:
    made = {"id": str(number), "function": {"name": name, "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": str(number), "content": json.dumps(result)}
    return ({"role": "assistant", "content": None, "tool_calls": [made]}, answer)


@tabled
def test_values_are_heard(domain: str, text: str, expected: str) -> None:
    assert expected in read(text, domain)


QUESTIONS = [
    ("restaurant", "What kind of food would you like?", {"Restaurant Food"}),
    ("restaurant", "Do you have a price range in mind?", {"Restaurant Price"}),
    ("restaurant", "which area do you prefer ?", {"Restaurant Area"}),
    ("restaurant", "What part of town would you like it", {"Restaurant Area"}),
    ("restaurant", "For how many people?", {"Booking People"}),
    (
        "restaurant",
        "Sure! Please tell me the day, time and number of people.",
        {"Booking Day", "Booking Time", "Booking People"},
    ),
    ("restaurant", "How many people will be dining, and at what time?", None),
    ("hotel", "How many nights will you be staying?", {"Booking Stay"}),
    ("hotel", "What day will you be arriving?", {"Booking Day"}),
    ("hotel", "Do you need parking?", {"Hotel Parking"}),
    ("hotel", "Is there a certain star rating that you need?", {"Hotel Stars"}),
    ("hotel", "Would you like a hotel or a guesthouse?", {"Hotel Type"}),
    ("attraction", "What type of attraction are you looking for?", {"Attraction Type"}),
    ("train", "Where will you be departing from?", {"Train Depart"}),
    ("train", "what is your destination please", {"Train Dest"}),
    ("train", "What day would you like to travel?", {"Train Day"}),
    ("train", "What time would you like to leave?", {"Train Leave"}),
    ("train", "what time would you like to arrive by?", {"Train Arrive"}),
    ("train", "What time would you like to leave or arrive?", {"Train Leave", "Train Arrive"}),
    ("train", "How many tickets do you need?", {"Train People"}),
    (
        "restaurant",
        "Could you please provide:\n\n1. **Day**\n2. Time\n3. Number of people\n\nThank you!",
        {"Booking Day", "Booking Time", "Booking People"},
    ),
    (
        "restaurant",
        "Please give me some details. For example, the area or type of cuisine you prefer.",
        {"Restaurant Area", "Restaurant Food"},
    ),
    ("restaurant", "Red Kettle:\n- Area: north\n- Food: chinese", set()),
    (
        "train",
        "I need the time of arrival and the place of departure.",
        {"Train Arrive", "Train Depart"},
    ),
    ("taxi", "Where would you like to be picked up?", {"Taxi Depart"}),
    ("taxi", "And where do you want to go?", {"Taxi Dest"}),
    ("taxi", "When would you like to be picked up?", {"Taxi Leave"}),
    ("hospital", "Which department do you need?", {"Hospital Department"}),
    # What is no question for a wish.
    ("restaurant", "Would you like their phone number?", set()),
    ("restaurant", "Would you like to know the price range?", set()),
    ("restaurant", "Would you like to try another area?", set()),
    ("restaurant", "Would you like Chinese food?", set()),
    ("restaurant", "Is there anything else I can help you with today?", set()),
    ("train", "Please arrive at the station in time for your departure.", set()),
    ("train", "Have a great day!", set()),
    ("train", "The travel time is 20 minutes, would you like me to book it?", set()),
]


@pytest.mark.parametrize(("domain", "text", "expected"), QUESTIONS)
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


BOOKINGS = [
    ("Booking was successful. Reference number is : 7GAWK763 .", "7GAWK763"),
    ("Your table is booked! Your reference number is 7gawk763.", "7GAWK763"),
    ("I've made the reservation, the code is **7GAWK763**", "7GAWK763"),
    ("I have booked it for you.", "none"),
    ("Your reservation at Blue Lantern has been successfully made.", "none"),
]


@pytest.mark.parametrize(("text", "code"), BOOKINGS)
def test_bookings_are_heard_with_what_is_said_of_them(text: str, code: str) -> None:
    booked = [act for act in read(text) if act.startswith("Book ")]
    assert booked == [f"Book Booking {'none' if code == 'none' else 'Ref'} {code}"]


def test_what_was_booked_is_heard_so_that_the_user_can_object() -> None:
    text = (
        "Booked: a table for two people at Blue Lantern on Tuesday at 6:15 pm. Reference 7GAWK763."
    )
    assert read(text) == [
        "Recommend Restaurant Name blue lantern",
        "Book Booking Ref 7GAWK763",
        "Book Booking People 2",
        "Book Booking Day tuesday",
        "Book Booking Time 18:15",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Would you like me to book it?",
        "Shall I reserve a table?",
        "Once booked, you will get a reference number.",
        "I can have it booked if you like.",
        "I'll book it as soon as you tell me the day.",
    ],
)
def test_offers_to_book_book_nothing(text: str) -> None:
    assert not [act for act in read(text) if "Book " in act and not act.startswith("Request")]


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, the booking was unsuccessful.",
        "I was unable to book a table for you.",
        "Unfortunately they are fully booked on Monday.",
        "I could n't make the reservation .",
        "I am unable to make restaurant bookings at the moment.",
        "Sorry, there is no availability for 2 people.",
    ],
)
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


def test_several_venues_are_a_choice_among_those_that_fit() -> None:
    text = (
        "I found these:\n\n1. **Blue Lantern**\n   - Area: north\n   - Phone: 01223000001"
        "\n2. **Red Kettle**\n   - Area: north\n   - Phone: 01223000002"
        "\n3. **Old Mill**\n   - Area: south"
    )
    assert read(text) == [
        "Select Restaurant Name blue lantern",
        "Select Restaurant Name red kettle",
    ]


def test_of_several_trains_the_only_one_that_fits_is_taken() -> None:
    text = "TR0001 leaves Ely at 09:00. TR0002 leaves Ely at 11:00. Which one would you like?"
    assert read(text, "train") == [
        "Inform Train Id TR0002",
        "Inform Train Depart ely",
        "Inform Train Leave 11:00",
    ]


def test_alternatives_in_a_question_are_a_selection() -> None:
    assert read("Would you prefer Chinese or British food?") == [
        "Select Restaurant Food chinese",
        "Select Restaurant Food british",
        "Request Restaurant Food ?",
    ]


def test_values_of_what_is_not_there_are_not_heard() -> None:
    assert read("There are no British restaurants in the south.") == [
        "NoOffer Restaurant none none"
    ]


def test_words_of_a_street_tell_no_domain() -> None:
    address = "leisure park, clifton way"
    # A restaurant and a cinema under one roof.
    rows = {
        domain: [{**TOWN[domain][0], "address": address}] for domain in ("restaurant", "attraction")
    }
    of_town = AgentReader(TOWN | rows)
    made = of_town.context(begun(GOAL))
    made.said([Act("Request", "Restaurant", "Addr", "?")])
    turn = AgentTurn((), "The address is Leisure Park, Clifton Way.")
    assert of_town.acts_of(turn, made) == [
        Act("Inform", "Restaurant", "Addr", "Leisure Park, Clifton Way")
    ]


def test_times_of_a_ride_are_not_those_of_a_table() -> None:
    assert read("The taxi will be at Red Kettle by 17:00.", "taxi") == [
        "Recommend Restaurant Name red kettle",
        "Inform Taxi Arrive 17:00",
    ]


def test_a_town_that_is_praised_is_no_destination() -> None:
    assert read("Cambridge is lovely. Which area would you like to explore?", "attraction") == [
        "Request Attraction Area ?"
    ]


def test_a_hotel_is_a_hotel_where_the_database_says_so() -> None:
    assert "Recommend Hotel Type hotel" in read("Grand Hotel is a cheap 4 star hotel.", "hotel")


def test_what_is_looked_for_may_be_called_a_hotel() -> None:
    assert read("Sure, I can help you find a hotel.", "hotel") == []
    assert read("It is a hotel.", "hotel") == ["Inform Hotel Type hotel"]


def test_what_is_asked_for_and_not_known_is_heard() -> None:
    made = context("restaurant")
    made.said(
        [Act("Request", "Restaurant", "Phone", "?"), Act("Request", "Restaurant", "Addr", "?")]
    )
    text = "I do not have their phone number, and the address is 1 High Street."
    assert reader().acts_of(AgentTurn((), text), made) == [
        Act("Inform", "Restaurant", "Addr", "1 High Street"),
        Act("Inform", "Restaurant", "Phone", "unknown"),
    ]


def test_what_is_asked_for_need_not_be_named_again() -> None:
    made = context("restaurant")
    made.said([Act("Request", "Restaurant", "Phone", "?")])
    turn = AgentTurn((), "I'm sorry, but I don't have that information. Look it up online.")
    assert reader().acts_of(turn, made) == [Act("Inform", "Restaurant", "Phone", "unknown")]


def test_a_reference_of_something_that_is_not_booked_is_no_booking() -> None:
    assert read("The museum is in the north. It is listed under the reference 00000012.") == [
        "Inform Attraction Area north"
    ]


def test_names_that_are_words_are_told_by_what_stands_before_them() -> None:
    town = TOWN | {"attraction": [{**TOWN["attraction"][0], "name": "the place"}]}
    of_town = AgentReader(town)
    goal = {"domain_ordering": ["attraction"], "attraction": {"info": {}}}

    def names(text: str) -> list[str]:
        acts = of_town.acts_of(AgentTurn((), text), of_town.context(goal))
        return [act.value for act in acts if act.slot == "Name"]

    assert names("I would recommend the place.") == ["the place"]
    assert names("I have the place you were looking for.") == []


def test_the_users_own_spelling_is_kept() -> None:
    wanted = {"info": {"name": "BLUE LANTERN"}}
    goal = {"domain_ordering": ["restaurant"], "restaurant": wanted}
    acts = reader().acts_of(AgentTurn((), "How about Blue Lantern?"), reader().context(goal))
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
    made.said([Act("Inform", domains[0].capitalize(), "People", "2")])
    acts = reader().acts_of(AgentTurn(tuple(of_turn), text), made)
    assert all(
        act.domain == "general" or act.slot.lower() in SYSTEM_SLOTS[act.domain.lower()]
        for act in acts
    )
    assert len(acts) == len(set(acts))
