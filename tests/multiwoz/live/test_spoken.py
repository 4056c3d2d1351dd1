"""What the user wants at each exchange, by calls or by the user's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.multiwoz.live.verdicts.spoken import read
from mwzeval.multiwoz.live.verdicts.transcript import Transcript, domains_told
from mwzeval.multiwoz.words.delexicalization import Delexicalizer
from tests.multiwoz.worlds import sample_tables


def states_of(*messages: dict[str, Any]) -> list[Any]:
    _, states = read(Transcript.of(messages), Delexicalizer(sample_tables()), "2021")
    return states


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("A cheap chinese restaurant.", {"restaurant": {"pricerange": "cheap", "food": "chinese"}}),
        (
            "I need a hotel with free wifi and parking.",
            {"hotel": dict.fromkeys(("internet", "parking"), "yes")},
        ),
        ("A hotel in the north, please. Does it have wifi?", {"hotel": {"area": "north"}}),
        ("I need a hotel. Parking does not matter.", {"hotel": {}}),
        ("I need a taxi.", {"taxi": {}}),
        ("Hello!", {}),
    ],
)
def test_without_calls_the_state_is_what_the_user_has_said(said: str, state: Any) -> None:
    assert states_of(
        {"role": "user", "content": said}, {"role": "assistant", "content": "Let me see."}
    ) == [state]


def test_a_later_wish_replaces_an_earlier_one() -> None:
    states = states_of(
        {"role": "user", "content": "A restaurant in the north."},
        {"role": "assistant", "content": "There is none."},
        {"role": "user", "content": "Then in the south."},
        {"role": "assistant", "content": "OK."},
    )
    assert [state["restaurant"]["area"] for state in states] == ["north", "south"]


def test_with_calls_the_state_is_what_they_were_told() -> None:
    function = {"name": "find_hotel", "arguments": json.dumps({"area": "east"})}
    call = {"id": "1", "type": "function", "function": function}
    states = states_of(
        {"role": "user", "content": "A hotel in the north."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "{}"},
        {"role": "assistant", "content": "OK."},
    )
    assert states == [{"hotel": {"area": "east"}}]


@pytest.mark.parametrize(
    ("text", "domains"),
    [
        ("A table near the hotel", ("restaurant", "hotel")),
        ("From the restaurant by taxi", ("taxi", "restaurant")),
        ("Some place to stay with parking", ("hotel",)),
        ("Any places to go?", ("attraction",)),
        ("Hello", ()),
    ],
)
def test_domains_are_told_by_words(text: str, domains: tuple[str, ...]) -> None:
    assert domains_told(text) == domains
