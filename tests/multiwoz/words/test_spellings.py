"""Values as people and chat models write them are read as the database's, and nothing else is."""

from __future__ import annotations

from functools import cache

import pytest

from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.multiwoz.words.recognition import has_amenity
from mwzeval.multiwoz.words.text import Mention, Tokens
from tests.cases import tabled
from tests.multiwoz.words.test_delexicalize import TABLES
from tests.multiwoz.worlds import Tables

LATE = {
    "trainID": "TR5678",
    "leaveAt": "12:07",
    "arriveBy": "24:08",
    "departure": "cambridge",
    "destination": "pellingford",
    "day": "thursday",
    "price": "23.60 pounds",
    "duration": "88 minutes",
}
AMENITIES = {"internet": "yes", "parking": "no", "price": {"single": "50", "double": "70"}}
HOTELS = [
    {
        **TABLES["hotel"][0],
        **AMENITIES,
        **{"area": area, "pricerange": price_range, "stars": stars, "id": stars},
    }
    for area, price_range, stars in (
        ("north", "cheap", "4"),
        ("centre", "moderate", "0"),
        ("south", "expensive", "3"),
    )
]
TOWN: Tables = {**TABLES, "train": [*TABLES["train"], LATE], "hotel": HOTELS}


@cache
def town() -> Delexicalizer:
    return Delexicalizer(TOWN)


def said(response: str, active: str) -> list[Mention]:
    return list(town().dialogue([response], [{}], [(active,)])[0].mentions)


def of_slot(slot: str, response: str, active: str) -> list[str | None]:
    return [mention.value for mention in said(response, active) if mention.slot == slot]


@tabled
def test_every_spelling_is_read_as_the_value(
    slot: str, value: str | None, active: str, response: str
) -> None:
    assert of_slot(slot, response, active) == [value]


@tabled
def test_other_numbers_are_no_such_value(slot: str, active: str, response: str) -> None:
    assert of_slot(slot, response, active) == []


@tabled
def test_what_is_said_of_nothing_on_offer_has_no_domain(
    slot: str, active: str, response: str
) -> None:
    assert [(m.slot, m.domain) for m in said(response, active)] == [(slot, None)]


@tabled
def test_cuisines_that_nobody_has_are_told_by_their_form(
    response: str, cuisine: str | None
) -> None:
    found = [m.text for m in said(response, "restaurant") if m.slot == "food" and not m.written]
    assert found == ([cuisine] if cuisine else [])


@tabled
def test_prices_of_rooms_are_told_by_the_words_beside(response: str, is_room: bool) -> None:
    prices = [m.domain for m in said(response, "hotel") if m.slot == "price"]
    assert set(prices) == ({"hotel"} if is_room else {None})


def test_a_family_ticket_is_no_room() -> None:
    assert [m.domain for m in said("A family ticket is £4.", "attraction")] == ["attraction"]


def test_what_suits_a_diet_is_no_cuisine() -> None:
    (dishes,) = said("It has vegetarian dishes.", "restaurant")
    (cuisine,) = said("It has vegetarian cuisine.", "restaurant")
    assert (dishes.domain, cuisine.domain) == (None, "restaurant")


def test_a_dash_behind_a_name_ends_it() -> None:
    (town_hotel, *_) = HOTELS
    response = f"{town_hotel['name'].title()} – Hotel, 4 stars"
    assert [m.slot for m in said(response, "hotel")] == ["name", "type", "stars"]


@pytest.mark.parametrize(
    "response",
    ["It has free internet.", "There is no parking.", "There is no entrance fee.", "No stars"],
)
def test_some_claims_stay_as_they_are_in_delexicalised_responses(response: str) -> None:
    (turn,) = town().dialogue([response], [{}], [("hotel", "attraction")])
    assert turn.response == response
    assert [mention.written for mention in turn.mentions] == [False]


def test_a_phone_number_in_brackets_is_replaced_as_a_whole() -> None:
    (turn,) = town().dialogue(["Call (01632) 960594 or +44 1632 960594."], [{}], [("hotel",)])
    assert turn.response == "Call [hotel_phone] or [hotel_phone]."


def told(text: str) -> str | None:
    """What a text says of its only parking."""
    tokens = Tokens(text)
    at = tokens.words.index("parking")
    answer = has_amenity(tokens.words, at, at + 1)
    return answer[1] if answer else None


@tabled
def test_what_is_said_of_parking(text: str, answer: str | None) -> None:
    assert told(text) == answer


def test_the_answer_belongs_to_what_is_said() -> None:
    words = ["parking", ":", "yes", ",", "wifi", ":", "no"]
    assert has_amenity(words, 0, 1) == (3, "yes")
    assert has_amenity(words, 4, 5) == (7, "no")
