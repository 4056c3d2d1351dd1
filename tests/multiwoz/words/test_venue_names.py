"""Names that no database has are found where the text makes them plain, and nowhere else."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.words.delexicalization import Delexicalizer
from mwzeval.multiwoz.words.name_cues import CAPITALS
from mwzeval.multiwoz.words.text import Mention
from mwzeval.multiwoz.words.value_spellings import amount, is_total
from mwzeval.multiwoz.words.venue_names import LONGEST, with_unknown_names
from tests.work import calls

HERE = ("restaurant",)


VENUES = {
    "restaurant": ("blue lantern", "riverside brasserie", "noodle city"),
    "hotel": ("the red kettle guest house", "express by sleepwell inn"),
    "attraction": ("regency gallery", "magdalene college", "the town corn hall"),
    "train": (),
}


@cache
def delexicalizer() -> Delexicalizer:
    """Return what reads the names of a few venues."""
    rows = {
        domain: [
            {"id": str(number), "name": name, "area": "north", "address": "1 Weir Street"}
            for number, name in enumerate(names)
        ]
        for domain, names in VENUES.items()
    }
    rows["train"] = [{"trainID": "TR0001", "departure": "ely", "destination": "brackwater spa"}]
    return Delexicalizer(rows)


def invented(response: str, active: tuple[str, ...] = HERE) -> list[tuple[str, str | None]]:
    """Return the names that no venue has, and their domains."""
    found = delexicalizer().dialogue([response], [{}], [active])[0].mentions
    named = with_unknown_names(response, found, active, delexicalizer().gazetteer)
    return [(m.text, m.domain) for m in named if m.slot == "name" and m.value is None]


def alone(response: str) -> tuple[Mention, ...]:
    """Return the names in a response of which nothing else was read."""
    return with_unknown_names(response, (), HERE, delexicalizer().gazetteer)


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ("How about the Purple Frog? It is cheap.", "Purple Frog"),
        ("I recommend Green Dragon, which is nice.", "Green Dragon"),
        ("I recommend the Dragon of Ely.", "Dragon of Ely"),
        ("Purple Frog is in the north.", "Purple Frog"),
        ("The Purple Frog serves soup.", "Purple Frog"),
        ("It is a nice place, and Purple Frog's number is 5.", "Purple Frog"),
        ("I have booked you a table at Purple Frog, bye.", "Purple Frog"),
        ("The phone number of the Purple Frog is 5.", "Purple Frog"),
        ("you could eat in the Purple Frog Lounge, which is nice", "Purple Frog Lounge"),
        ("Sure, Purple Frog & Sons has room.", "Purple Frog & Sons"),
        ("Have you considered Purple Frog?", "Purple Frog"),
        ("You cannot go wrong with the Purple Frog.", "Purple Frog"),
        ("Would Wasabi suit you?", "Wasabi"),
        ("Both Purple Frog and Blue Lantern fit.", "Purple Frog"),
        ("Purple Frog it is!", "Purple Frog"),
        ("Try Thyme & Tide!", "Thyme & Tide"),
        ("If the Purple Frog is full, I look on.", "Purple Frog"),
    ],
)
def test_names_that_are_plain_are_found(response: str, name: str) -> None:
    assert invented(response) == [(name, "restaurant")]


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ("I'd recommend **Bella Vista**.", "Bella Vista"),
        ("Three places:\n1. **Bella Vista** – cheap\n2. Blue Lantern", "Bella Vista"),
        ("Three places:\n- Zorba's Taverna (in the north)\n- Blue Lantern", "Zorba's Taverna"),
        ("See [Tokyo Garden](https://x.org/tokyo) in the north.", "Tokyo Garden"),
        ('The phone of "Rosewood House" is 5.', "Rosewood House"),
        ("| Name | Area |\n|---|---|\n| Saigon Kitchen | north |", "Saigon Kitchen"),
        ("**Café Lumière** is nice.", "Café Lumière"),
        ("✅ All set! I've booked **The Fish Market** for you.", "Market"),
        ("The postcode of Cambridge Spice House is CB1 7AG.", "Spice House"),
        ("I suggest The The Golden Lotus. It is cheap.", "Golden Lotus"),
        ("I can book you a table at El Toro Loco.", "El Toro Loco"),
        ("1. Riverside Lodge – in the north\n2. Blue Lantern", "Riverside Lodge"),
        ("I'd recommend Riverside Gardens.", "Riverside Gardens"),
        ("The phone of **Magdalene Theatre** is 5.", "Magdalene Theatre"),
        ("I'd suggest **Noodle Kitchen**.", "Noodle Kitchen"),
        ("1. The Regency – rated 3 stars\n2. The Red Kettle", "Regency"),
    ],
)
def test_names_are_where_the_layout_says_so(response: str, name: str) -> None:
    assert [text for text, _ in invented(response)] == [name]


@pytest.mark.parametrize(
    "response",
    [
        "I'd recommend **Blue Lantern**. **The Red Kettle Guesthouse** is full.",
        "1. **The Riverside Brasserie** – cheap\n2. **Riverside** – dear",
        "The Corn Hall is in the north. The Sleepwell Inn is, too.",
        "1. **Phone:** 01223 000001\n2. **Total Price:** £23.60\n3. **Check-in Day:** Friday",
        "**Great News!** **Booking Confirmed** for **2 People** on **Friday**.",
        "Blue Lantern:\n- **Signature Dish:** soup\n- **Price Range:** cheap",
        "- **Departs:** 11:59 PM\n- **Train:** TR0740\n- **Platform Notice** none",
        "It is in **North Street** or **12 Weir Street**.",
        "| Name | Area |\n|---|---|\n| Blue Lantern | North |",
        "There 's Magdalene College .",
        "Blue Lantern serves Delicious food and Signature dishes.",
        "Compare Blue Lantern with Riverside Brasserie.",
        "The Postcode is CB3 OJG, on Stoney's Way.",
        "You asked for Blue Lantren and the Riverside Brassery.",
        "If the Lantern is full, I can look for another one.",
        "Enjoy Brackwater Spa!",
    ],
)
def test_labels_and_names_of_the_database_are_not_invented(response: str) -> None:
    assert invented(response) == []


@pytest.mark.parametrize(
    "label",
    [
        *("Pricerange", "Entrancefee", "Openhours", "TrainID", "Leaveat", "Signature", "Specialty"),
        *("Description", "Atmosphere", "Vibe", "Sadly", "Otherwise", "Certainly", "Surely"),
        *("Their", "Comparatively", "Setting"),
    ],
)
def test_labels_and_sentence_adverbs_are_no_names(label: str) -> None:
    for line in (f"- {label}: cheap", f"- **{label}:** cheap", f"### {label}: cheap"):
        assert invented(f"Blue Lantern fits.\n{line}") == []
        assert invented(line) == []
    if label != "Setting":
        assert invented(f"- {label}, it is in the north and cheap.") == []
        assert invented(f"**{label}** the north has none that is cheap.") == []


@pytest.mark.parametrize(
    "label",
    [
        *("Pricing", "Mood", "Decor", "Reviews", "Phonenumber", "Starrating", "Platform"),
        *("Accessibility", "Overall", "Three", "Pet-friendly", "Dress code", "Rationale"),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "- **{}**: it is a cheap place in the north",
        "**{}** the north has none that is cheap.",
        "| {} | cheap |",
        "| Field | Value |\n|---|---|\n| {} | north |",
        "- **{}** – cheap, north",
    ],
)
def test_ordinary_words_that_a_layout_sets_apart_are_no_names(label: str, line: str) -> None:
    assert invented(line.format(label)) == []


def test_a_table_row_begins_with_a_name() -> None:
    assert invented("| Wasabi | cheap |") == [("Wasabi", "restaurant")]


def test_a_part_of_a_name_that_is_bold_is_no_name() -> None:
    assert invented("- **Huntingdon** Marriotte Hotel is cheap and in the north.") != [
        ("Huntingdon", "hotel")
    ]


def test_a_name_before_a_colon_and_a_description_is_found() -> None:
    assert invented("Two places:\n- Wasabi: a cheap place in the north") == [
        ("Wasabi", "restaurant")
    ]


@pytest.mark.parametrize(
    "response",
    [
        "",
        "how about the purple frog?",
        "I recommend Chinese food.",
        "How about Monday?",
        "The Hotel is nice. The North is nice.",
        "Great! Thank You. Have A Nice Day.",
        "Your Reference Number is X. The Phone Number is 5.",
        "Is there Anything Else I can help with?",
        "Glad I was able to help. Enjoy Your Stay.",
    ],
)
def test_other_capitals_are_no_names(response: str) -> None:
    assert invented(response) == []


@pytest.mark.parametrize(
    ("response", "active", "domains"),
    [
        ("How about the Purple Frog?", ("hotel",), ["hotel"]),
        ("How about the Purple Frog?", ("train", "attraction"), ["attraction"]),
        ("How about the Purple Frog, a museum in the north?", ("hotel",), ["attraction"]),
        ("How about the Purple Frog Hotel near the museum?", HERE, ["hotel"]),
        ("How about the Purple Frog?", ("hotel", "restaurant"), [None]),
        ("How about the Purple Frog?", ("taxi",), []),
        ("How about the Purple Frog?", (), [None]),
    ],
)
def test_the_domain_is_told_by_words_or_by_the_turn(
    response: str, active: tuple[str, ...], domains: list[str | None]
) -> None:
    assert [of for _, of in invented(response, active)] == domains


def test_what_is_a_mention_already_is_no_part_of_a_name() -> None:
    response = "I recommend the Blue Lantern and the Green Dragon."
    known = Mention(16, 28, "Blue Lantern", "name", "restaurant", "blue lantern", ("1",))
    assert response[known.start : known.end] == known.text
    found = with_unknown_names(response, (known,), HERE, delexicalizer().gazetteer)
    assert found[0] is known
    assert all(mention.start >= known.end for mention in found[1:])


@given(st.text(alphabet="Ab the andHow is'.,&\n", max_size=80))
def test_places_are_those_of_the_text(response: str) -> None:
    for mention in alone(response):
        assert response[mention.start : mention.end] == mention.text
        assert mention.value is None
        assert mention.venues == ()


def test_words_in_capitals_are_passed_over_once() -> None:
    # Searched from each letter anew to its end, it would take a quarter of an hour.
    assert CAPITALS.search("A" * 90_000) is None


@pytest.mark.parametrize("piece", ["Aa ", "Aa and ", "Aa and of the ", "How about the ", "A"])
@pytest.mark.exhaustive(but=2)
def test_of_a_long_response_only_the_beginning_is_searched(piece: str) -> None:
    short, long = (piece * (size // len(piece) + 1) for size in (LONGEST, 2**20))
    found = alone(long)
    assert found == alone(short)
    assert all(mention.end <= LONGEST for mention in found)
    assert calls(lambda: alone(long)) == calls(lambda: alone(short))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4 pounds", 4),
        ("£4.40", 4.4),
        ("four", 4),
        ("Four Stars", 4),
        ("3-star", 3),
        ("free", 0),
        ("20 minutes", 20),
        ("2 hours", 120),
        ("1 hr", 60),
        ("whatever", None),
        ("", None),
    ],
)
def test_amounts_are_numbers(text: str, number: float | None) -> None:
    assert amount(text) == number


@given(st.integers(1, 8), st.integers(100, 8000))
def test_a_total_is_the_price_of_up_to_eight_tickets(tickets: int, pence: int) -> None:
    ticket = pence / 100
    assert is_total(tickets * ticket, ticket)
    assert not is_total(9 * ticket, ticket)
    assert not is_total(tickets * ticket + 0.4, ticket)
    assert not is_total(ticket, 0)


@pytest.mark.parametrize(
    ("response", "landmarks"),
    [
        ("Blue Lantern is near the Purple Frog Hotel.", ["Purple Frog Hotel"]),
        ("It is opposite the **Purple Frog Museum** and cheap.", ["Purple Frog Museum"]),
        ("A short walk from Regency Gallery and the Purple Frog Hotel.", ["Purple Frog Hotel"]),
        ("It is not far from Purple Frog, which is nice.", ["Purple Frog"]),
    ],
)
def test_a_name_by_which_another_place_is_found_is_no_name_on_offer(
    response: str, landmarks: list[str]
) -> None:
    found = delexicalizer().dialogue([response], [{}], [HERE])[0].mentions
    named = with_unknown_names(response, found, HERE, delexicalizer().gazetteer)
    assert [m.text for m in named if m.slot == "landmark" and m not in found] == landmarks
    assert invented(response) == []
