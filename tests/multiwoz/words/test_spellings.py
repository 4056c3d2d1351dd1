"""Values as people and chat models write them are read as the database's, and nothing else is."""

from __future__ import annotations

from functools import cache

import pytest

from mwzeval.multiwoz.words.delexicalization import Delexicalizer
from mwzeval.multiwoz.words.text import Mention
from tests.multiwoz.words.test_delexicalization import TABLES
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


@pytest.mark.parametrize(
    ("slot", "value", "active", "spellings"),
    [
        (
            *("phone", "01632960594", "hotel"),
            [
                "Call 01632 960594\n2. Next",
                "Call 01632 960 594 or write",
                "Call (01632) 960594.",
                "(phone: 01632 960594)",
                "Call 0044 1632 960594",
                "Call +44 (0)1632 960594",
                "Call +44 (0) 1632 960-594",
                "Call 01632/960594",
                "[01632 960594](tel:+441632960594)",
            ],
        ),
        (
            *("leaveat", "12:07", "train"),
            ["It leaves at 12:07pm", "It leaves at 12:07 P.M.", "It leaves at 1207 hrs"],
        ),
        (
            *("arriveby", "24:08", "train"),
            ["arriving at 00:08", "arriving at 12:08 am", "It arrives at 12.08 a.m."],
        ),
        ("arriveby", "17:15", "train", ["arriving at 5:15 in the afternoon", "arrives 1715 hours"]),
        (
            *("duration", "88 minutes", "train"),
            [
                "It takes 1 hour 28 minutes",
                "It takes 1 hour and 28 minutes.",
                "It takes 1h 28m.",
                "It takes 1h28.",
                "It takes 1 hr, 28 mins",
                "an 88-minute ride",
                "Duration: 88 min",
                "an hour and 28 minutes",
                "It takes 1:28 hours",
                "It takes eighty-eight minutes",
            ],
        ),
        (
            *("price", "23.60 pounds", "train"),
            [
                "It costs £23.60.",
                "It costs GBP 23.60",
                "It costs 23.6 GBP",
                "It costs 23 pounds and 60 pence.",
                "It costs 23 pounds 60p.",
                "The fare is 23.60 per ticket",
            ],
        ),
        (
            *("stars", "4", "hotel"),
            [
                "It has 4 out of 5 stars",
                "It is rated 4/5 stars",
                "It has a star rating of 4.",
                "Star rating: 4",
                "Stars: four",
                "rated ⭐⭐⭐⭐",
                "rated ⭐️⭐️⭐️⭐️",
                "★★★★☆ in the north",
                "a 4★ place",
                "a four-star place",
            ],
        ),
        (
            *("stars", "0", "hotel"),
            ["It has zero stars", "a 0-star place", "It has no stars.", "It is unrated"],
        ),
        (
            *("area", "centre", "hotel"),
            [
                "It is centrally located.",
                "It is in central Cambridge",
                "in the central part of town",
                "in the heart of the city",
                "in the city centre",
            ],
        ),
        (
            *("area", "north", "hotel"),
            [
                "in the northern part of town",
                "at the north end of town",
                "on the north side of the city",
                "in north Cambridge",
            ],
        ),
        (
            *("pricerange", "cheap", "hotel"),
            [
                "It is budget-friendly.",
                "It is very affordable",
                "a low-cost place",
                "a budget hotel",
                "It is inexpensive.",
            ],
        ),
        (
            *("pricerange", "moderate", "hotel"),
            [
                "It is mid-range.",
                "It is reasonably priced",
                "a midrange place",
                "Price: ££",
                "with reasonable prices",
                "It is moderately-priced",
            ],
        ),
        (
            *("pricerange", "expensive", "hotel"),
            ["It is pricey.", "It is high-end", "It is rather upscale", "upmarket", "Price: £££"],
        ),
        (
            *("type", "guesthouse", "hotel"),
            ["It is a B&B.", "a B & B", "a bed & breakfast", "a bed-and-breakfast", "a BnB"],
        ),
        (
            *("day", "thursday", "train"),
            ["on Thu at 9:01", "on Thurs", "Day: Thu", "every Thursday", "(Thur)"],
        ),
        (
            *("entrancefee", None, "attraction"),
            [
                "There is no entrance fee.",
                "It has no admission charge",
                "free of charge",
                "No fee",
                "It is free to enter.",
                "without charge",
            ],
        ),
        (
            *("departure", "pellingford", "train"),
            [
                "From: Pellingford",
                "Departs: Pellingford",
                "Pellingford → Cambridge",
                "the train from Pellingford",
                "leaving Pellingford at 9:01",
                "between Pellingford and Cambridge",
                "Origin: Pellingford",
                "Pellingford to Cambridge",
            ],
        ),
        (
            *("destination", "pellingford", "train"),
            [
                "To: Pellingford",
                "Cambridge → Pellingford",
                "leaving Cambridge for Pellingford",
                "between Cambridge and Pellingford",
                "Arrives: Pellingford",
            ],
        ),
        (
            *("internet", "yes", "hotel"),
            ["It has internet.", "with free WiFi", "Wi-Fi is available", "Internet: yes"],
        ),
        ("parking", "no", "hotel", ["There is no parking.", "Parking: no", "without parking"]),
        ("price", None, "hotel", ["A double room costs £70.", "It is 70 pounds a night"]),
        ("openhours", None, "attraction", ["It opens at 9 am", "It closes at 17:00"]),
    ],
)
def test_every_spelling_is_read_as_the_value(
    slot: str, value: str | None, active: str, spellings: list[str]
) -> None:
    read = {spelling: of_slot(slot, spelling, active) for spelling in spellings}
    assert read == {spelling: [value] for spelling in spellings}


@pytest.mark.parametrize(
    ("slot", "active", "responses"),
    [
        ("phone", "hotel", ["0 1 2 3 rooms", "Ref 012345"]),
        (
            *("duration", "train"),
            [
                "They leave every two hours",
                "There is one every half an hour",
                "I hold it for 15 minutes",
                "It is held for 20 minutes",
                "9 minutes past the hour",
                "a 10-minute walk",
                "5 minutes on foot",
                "a 5 minutes' walk",
                "open 24 hours a day",
                "under an hour",
                "a wait of an evening",
            ],
        ),
        ("stars", "hotel", ["⭐ Wexcombe", "It is 4 out of 6", "⭐ 1"]),
        ("leaveat", "train", ["1340 people", "2512 hrs"]),
        ("price", "train", ["It leaves at 10.10", "Version 23.60"]),
        (
            *("area", "hotel"),
            [
                "near the central station",
                "It has central heating",
                "western food",
                "from east London",
                "Weir North Road",
                "southern fried",
            ],
        ),
        (
            *("pricerange", "hotel"),
            [
                "a cheap taxi ride",
                "a moderate walk",
                "within your budget",
                "a reasonable wish",
                "How expensive may it be",
                "It is £4",
            ],
        ),
        ("type", "hotel", ["the B&B", "plan b and c"]),
        ("day", "train", ["They sat there", "the sun is out", "We wed soon"]),
        (
            *("entrancefee", "attraction"),
            ["free parking", "gluten free wifi", "feel free to ask", "in your free time"],
        ),
        ("departure", "train", ["To: Pellingford", "arriving in Pellingford"]),
        ("destination", "train", ["From: Pellingford", "Departs: Pellingford"]),
        (
            *("internet", "hotel"),
            ["Do you need internet?", "Would you like one with wifi?", "I found none with wifi"],
        ),
        ("parking", "hotel", ["I did not find a hotel with parking", "near the parking"]),
    ],
)
def test_other_numbers_are_no_such_value(slot: str, active: str, responses: list[str]) -> None:
    assert {text: of_slot(slot, text, active) for text in responses} == {
        text: [] for text in responses
    }


@pytest.mark.parametrize(
    ("slot", "active", "response"),
    [
        ("leaveat", "train", "Which leaves after 09:01"),
        ("arriveby", "train", "Five arrive before 17:15"),
        ("pricerange", "hotel", "There is a more expensive one"),
        ("pricerange", "hotel", "They go ranging from cheap on"),
        ("food", "restaurant", "but no Italian ones"),
        ("price", "restaurant", "a meal for £20"),
        ("duration", "restaurant", "It takes 51 minutes"),
        ("day", "attraction", "It is shut on Monday"),
    ],
)
def test_what_is_said_of_nothing_on_offer_has_no_domain(
    slot: str, active: str, response: str
) -> None:
    assert [(m.slot, m.domain) for m in said(response, active)] == [(slot, None)]


@pytest.mark.parametrize(
    ("response", "cuisine"),
    [
        ("It specialises in Martian cuisine.", "Martian"),
        ("It is known for its Venusian dishes.", "Venusian"),
        ("It serves authentic Elvish food.", "Elvish"),
        ("It has traditional Gondorian fare.", "Gondorian"),
        ("- **Cuisine:** Lunar\n- **Area:** north", "Lunar"),
        ("Food: Klingon", "Klingon"),
        ("It has delicious food.", None),
        ("Great food and Sunday dishes!", None),
        ("Delicious Food. American-style rooms", None),
        ("It is known for its Michelin cuisine.", None),
        ("Cuisine: Various", None),
        ("Cheap food: Mamma", None),
        ("The Mamma food stall", None),
        ("Its Signature dishes are nice. Italian food", None),
    ],
)
def test_cuisines_that_nobody_has_are_told_by_their_form(
    response: str, cuisine: str | None
) -> None:
    found = [m.text for m in said(response, "restaurant") if m.slot == "food" and not m.written]
    assert found == ([cuisine] if cuisine else [])


@pytest.mark.parametrize(
    ("response", "is_room"),
    [
        ("Single: £50", True),
        ("Double – £70.00", True),
        ("It charges £50 for a single and £70 for a double.", True),
        ("A family room costs 70 pounds.", True),
        ("Prices: £50 (single), £70 (double)", True),
        ("dbl £70", True),
        ("Rates start at £50 per night.", True),
        ("The total of your double room is £210.", False),
        ("It is £210 for 3 nights.", False),
        ("The fare is £50.", False),
    ],
)
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
