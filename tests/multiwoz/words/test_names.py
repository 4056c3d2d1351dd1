"""Unknown venue names are recognized only in text that marks them clearly."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.multiwoz.words.names import LONGEST, with_unknown_names
from mwzeval.multiwoz.words.numbers import amount, is_total
from mwzeval.multiwoz.words.text import Mention
from mwzeval.multiwoz.words.vocabulary import PATTERNS
from tests.cases import tabled
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
    """Return a delexicalizer that knows a few venues."""
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
    """Return the unknown venue names and their domains."""
    found = delexicalizer().dialogue([response], [{}], [active])[0].mentions
    named = with_unknown_names(response, found, active, delexicalizer().gazetteer)
    return [(m.text, m.domain) for m in named if m.slot == "name" and m.value is None]


def alone(response: str) -> tuple[Mention, ...]:
    """Return the unknown names in a response without other mentions."""
    return with_unknown_names(response, (), HERE, delexicalizer().gazetteer)


@tabled
def test_unknown_names_are_found(response: str, name: str) -> None:
    assert [text for text, _ in invented(response)] == [name]


@tabled
def test_labels_capitalized_words_and_known_names_are_not_unknown_names(response: str) -> None:
    assert invented(response) == []


@pytest.mark.parametrize(
    "label",
    [
        *("Pricerange", "Entrancefee", "Openhours", "TrainID", "Leaveat", "Signature", "Vibe"),
        *("Specialty", "Description", "Atmosphere", "Sadly", "Otherwise", "Certainly", "Surely"),
        *("Their", "Comparatively", "Setting", "Pricing", "Mood", "Decor", "Reviews", "Platform"),
        *("Phonenumber", "Starrating", "Accessibility", "Overall", "Three", "Pet-friendly"),
        *("Dress code", "Rationale"),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "- {}: cheap",
        "Blue Lantern fits.\n- **{}:** cheap",
        "### {}: cheap",
        "- {}, it is in the north and cheap.",
        "- **{}**: it is a cheap place in the north",
        "**{}** the north has none that is cheap.",
        "| {} | cheap |",
        "| Field | Value |\n|---|---|\n| {} | north |",
        "- **{}** – cheap, north",
    ],
)
def test_formatted_common_words_are_not_venue_names(label: str, line: str) -> None:
    assert invented(line.format(label)) == []


def test_bold_part_of_a_name_is_not_a_complete_name() -> None:
    assert invented("- **Huntingdon** Marriotte Hotel is cheap and in the north.") != [
        ("Huntingdon", "hotel")
    ]


@tabled
def test_domain_of_an_unknown_name_comes_from_words_or_the_turn(
    response: str, active: tuple[str, ...], domains: list[str | None]
) -> None:
    assert [domain for _, domain in invented(response, active)] == domains


def test_unknown_names_do_not_overlap_existing_mentions() -> None:
    response = "I recommend the Blue Lantern and the Green Dragon."
    known = Mention(16, 28, "Blue Lantern", "name", "restaurant", "blue lantern", ("1",))
    assert response[known.start : known.end] == known.text
    found = with_unknown_names(response, (known,), HERE, delexicalizer().gazetteer)
    assert found[0] is known
    assert all(mention.start >= known.end for mention in found[1:])


@given(st.text(alphabet="Ab the andHow is'.,&\n", max_size=80))
def test_unknown_name_spans_match_the_text(response: str) -> None:
    for mention in alone(response):
        assert response[mention.start : mention.end] == mention.text
        assert mention.value is None
        assert mention.venues == ()


def test_capitals_pattern_scans_long_words_once() -> None:
    # A quadratic search would take a quarter of an hour.
    assert PATTERNS["capitals"].search("A" * 90_000) is None


@pytest.mark.parametrize(
    "piece",
    [
        *("Aa ", "Aa and "),
        *(
            pytest.param(piece, marks=pytest.mark.integration)
            for piece in ("Aa and of the ", "How about the ", "A")
        ),
    ],
)
def test_name_search_covers_only_the_start_of_long_responses(piece: str) -> None:
    short, long = (piece * (size // len(piece) + 1) for size in (LONGEST, 2**20))
    found = alone(long)
    assert found == alone(short)
    assert all(mention.end <= LONGEST for mention in found)
    assert calls(lambda: alone(long)) == calls(lambda: alone(short))


@tabled
def test_amounts_are_parsed_as_numbers(text: str, number: float | None) -> None:
    assert amount(text) == number


@given(st.integers(1, 8), st.integers(100, 8000))
def test_totals_cover_at_most_eight_tickets(tickets: int, pence: int) -> None:
    ticket = pence / 100
    assert is_total(tickets * ticket, ticket)
    assert not is_total(9 * ticket, ticket)
    assert not is_total(tickets * ticket + 0.4, ticket)
    assert not is_total(ticket, 0)


@tabled
def test_names_in_location_descriptions_are_landmarks(response: str, landmarks: list[str]) -> None:
    found = delexicalizer().dialogue([response], [{}], [HERE])[0].mentions
    named = with_unknown_names(response, found, HERE, delexicalizer().gazetteer)
    assert [m.text for m in named if m.slot == "landmark" and m not in found] == landmarks
    assert invented(response) == []
