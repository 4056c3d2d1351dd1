"""What is said of parking and internet is yes, no, or nothing."""

from __future__ import annotations

from mwzeval.multiwoz.words.amenities import said_of
from mwzeval.multiwoz.words.text import Tokens, lowered
from tests.multiwoz.words.cases import tabled


def told(text: str) -> str | None:
    """What a text says of its only parking."""
    tokens = Tokens(text, lowered(text))
    at = tokens.words.index("parking")
    answer = said_of(tokens.words, at, at + 1)
    return answer[1] if answer else None


@tabled
def test_what_is_said_of_parking(text: str, answer: str | None) -> None:
    assert told(text) == answer


def test_the_answer_belongs_to_what_is_said() -> None:
    words = ["parking", ":", "yes", ",", "wifi", ":", "no"]
    assert said_of(words, 0, 1) == (3, "yes")
    assert said_of(words, 4, 5) == (7, "no")
