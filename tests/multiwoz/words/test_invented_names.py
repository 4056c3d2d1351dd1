"""Names that no database has are found where the text makes them plain, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.words.invented_names import LONGEST, with_invented
from mwzeval.multiwoz.words.text import Mention
from mwzeval.multiwoz.words.value_spellings import amount, is_total
from tests.work import calls

HERE = ("restaurant",)


def invented(response: str, active: tuple[str, ...] = HERE) -> list[tuple[str, str | None]]:
    return [(mention.text, mention.domain) for mention in with_invented(response, (), active)]


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ("How about the Purple Frog? It is cheap.", "Purple Frog"),
        ("I recommend Green Dragon, which is nice.", "Green Dragon"),
        ("I recommend the Dragon of Ely.", "Dragon of Ely"),
        ("Purple Frog is in the north.", "Purple Frog"),
        ("The Purple Frog serves soup.", "The Purple Frog"),
        ("It is a nice place, and Purple Frog's number is 5.", "Purple Frog"),
        ("I have booked you a table at Purple Frog, bye.", "Purple Frog"),
        ("The phone number of the Purple Frog is 5.", "Purple Frog"),
        ("you could eat in the Purple Frog Brasserie", "Purple Frog Brasserie"),
        ("Sure, Purple Frog & Sons has room.", "Purple Frog & Sons"),
    ],
)
def test_names_that_are_plain_are_found(response: str, name: str) -> None:
    assert invented(response) == [(name, "restaurant")]


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
        "I think Purple Frog might",
        "Is there Anything Else I can help with?",
        "Glad I was able to help. Enjoy Your Stay.",
    ],
)
def test_other_capitals_are_no_names(response: str) -> None:
    assert invented(response) == []


@pytest.mark.parametrize(
    ("response", "active", "domain"),
    [
        ("How about the Purple Frog?", ("hotel",), "hotel"),
        ("How about the Purple Frog?", ("train", "attraction"), "attraction"),
        ("How about the Purple Frog, a museum in the north?", ("hotel",), "attraction"),
        ("How about the Purple Frog Hotel near the museum?", HERE, "hotel"),
        ("How about the Purple Frog?", ("hotel", "restaurant"), None),
        ("How about the Purple Frog?", ("taxi",), None),
        ("How about the Purple Frog?", (), None),
    ],
)
def test_the_domain_is_told_by_words_or_by_the_turn(
    response: str, active: tuple[str, ...], domain: str | None
) -> None:
    assert [of for _, of in invented(response, active)] == ([domain] if domain else [])


def test_what_is_a_mention_already_is_no_part_of_a_name() -> None:
    response = "I recommend the Blue Lantern and the Green Dragon."
    known = Mention(16, 28, "Blue Lantern", "name", "restaurant", "blue lantern", ("1",))
    assert response[known.start : known.end] == known.text
    found = with_invented(response, (known,), HERE)
    assert found[0] is known
    assert all(mention.start >= known.end for mention in found[1:])


@given(st.text(alphabet="Ab the andHow is'.,&\n", max_size=80))
def test_places_are_those_of_the_text(response: str) -> None:
    for mention in with_invented(response, (), HERE):
        assert response[mention.start : mention.end] == mention.text
        assert mention.value is None
        assert mention.venues == ()


@pytest.mark.parametrize("piece", ["Aa ", "Aa and ", "Aa and of the ", "How about the ", "A"])
@pytest.mark.exhaustive(but=2)
def test_of_a_long_response_only_the_beginning_is_searched(piece: str) -> None:
    short, long = (piece * (size // len(piece) + 1) for size in (LONGEST, 2**20))
    found = with_invented(long, (), HERE)
    assert found == with_invented(short, (), HERE)
    assert all(mention.end <= LONGEST for mention in found)
    assert calls(lambda: with_invented(long, (), HERE)) == calls(
        lambda: with_invented(short, (), HERE)
    )


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
