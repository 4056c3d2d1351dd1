"""Times and places of trains are read as those of the end of the journey that they are said of."""

from __future__ import annotations

from functools import cache

import pytest

from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.multiwoz.words.text import Mention
from tests.cases import tabled
from tests.multiwoz.worlds import Tables

TRAINS: Tables = {
    **{domain: [] for domain in ("restaurant", "hotel", "attraction")},
    "train": [
        {
            **{"trainID": "TR1234", "leaveAt": "09:01", "arriveBy": "17:15", "day": "monday"},
            **{"departure": "pellingford", "destination": "quarrow end"},
            **{"price": "10.10 pounds", "duration": "51 minutes"},
        },
        {
            **{"trainID": "TR5678", "leaveAt": "10:01", "arriveBy": "18:15", "day": "monday"},
            **{"departure": "quarrow end", "destination": "cambridge"},
            **{"price": "10.10 pounds", "duration": "51 minutes"},
        },
    ],
}
SAID = {
    **{"{D}": "departure", "{T}": "destination", "{L}": "leaveat", "{A}": "arriveby"},
    **{"{M}": "leaveat", "{B}": "arriveby"},
}
WORDS = {
    **{"{D}": "Pellingford", "{T}": "Quarrow End", "{L}": "09:01", "{A}": "17:15"},
    **{"{M}": "10:01", "{B}": "18:15"},
}


@cache
def delexicalizer() -> Delexicalizer:
    return Delexicalizer(TRAINS)


def read(response: str) -> list[Mention]:
    (turn,) = delexicalizer().dialogue([response], [{}], [("train",)])
    return [mention for mention in turn.mentions if mention.slot in SAID.values()]


def filled(template: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a response, and what is to be read in it."""
    expected = sorted((template.index(tag), tag) for tag in SAID if tag in template)
    response = template
    for tag, words in WORDS.items():
        response = response.replace(tag, words)
    return response, [(SAID[tag], WORDS[tag]) for _, tag in expected]


@tabled
def test_the_end_of_the_journey(template: str) -> None:
    response, expected = filled(template)
    assert [(mention.slot, mention.text) for mention in read(response)] == expected


@tabled
def test_the_town_itself_is_a_station_where_one_travels(said: str) -> None:
    response = f"| From | To |\n|--|--|\n{said}" if said[0] == "|" else said
    stations = {m.slot: m.value for m in read(response) if m.slot in ("departure", "destination")}
    assert stations == {"departure": "quarrow end", "destination": "cambridge"}


@tabled
def test_else_the_town_is_no_station(said: str) -> None:
    assert read(said) == []


@pytest.mark.parametrize(
    ("said", "sure"),
    [
        *(("TR1234 at 09:01", False), ("TR1234 leaves at 09:01", True)),
        *(("It arrives at 17:15 if you take TR1234 at 09:01", False), ("due at 17:15", True)),
    ],
)
def test_a_time_that_no_word_tells_of_is_unsure(said: str, sure: bool) -> None:
    assert read(said)[-1].sure is sure


@tabled
def test_stations_that_are_nowhere(said: str, slot: str | None) -> None:
    unknown = [m for m in read(said) if m.value is None]
    assert [m.slot for m in unknown] == ([slot] if slot else [])
    assert not any(m.written for m in unknown)
