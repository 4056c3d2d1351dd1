"""Times and places of trains are read as those of the end of the journey that they are said of."""

from __future__ import annotations

from functools import cache

import pytest

from mwzeval.multiwoz.words.delexicalization import Delexicalizer
from mwzeval.multiwoz.words.text import Mention
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


@pytest.mark.parametrize(
    "template",
    [
        "TR1234 leaves {D} at {L} and gets into {T} at {A}.",
        "TR1234 departs at {L}, reaching {T} at {A}.",
        "The {L} from {D} (TR1234) pulls into {T} at {A}.",
        "TR1234 sets off from {D} at {L} and is due in {T} at {A}.",
        "TR1234 dep. {L}, arr. {A}.",
        "TR1234 lv {L} arr {A}",
        "TR1234 ETD {L} ETA {A}",
        "TR1234: {L} → {A}",
        "TR1234 ({L}\N{EN DASH}{A})",
        "TR1234 ({L} to {A})",
        "TR1234 [{L} - {A}]",
        "TR1234 {L}->{A}",
        "TR1234: {L} / {A}",
        "TR1234 leaves at {L} and TR5678 leaves at {M}.",
        "TR1234 gets in at {A}, TR5678 at {B}.",
        "1. TR1234 \N{EN DASH} {L} to {A}\n2. TR5678 \N{EN DASH} {M} to {B}",
        "TR1234 at {L} (arrives {A})",
        "The {L} train, TR1234, arrives at {A}.",
        "The {L} departure (TR1234) has a {A} arrival.",
        "TR1234 - {L} departure, {A} arrival",
        "TR1234 has a departure time of {L} and an arrival time of {A}.",
        "TR1234 arrives in {T} at {A} after leaving {D} at {L}.",
        "TR1234 arrives at {A}. The one at {L} is full.",
        "Take TR1234: out at {L}, in at {A}.",
        "Get TR1234 at {L} and get off at {A}.",
        "You will be in {T} at {A}.",
        "It calls at {T} at {A}.",
        "It arrives into {T} at {A}",
        "It leaves {D} for {T} at {L}.",
        "It runs from {D} to {T}.",
        "Route: {D} → {T}",
        "**TR1234**\n- From: {D}\n- To: {T}\n- Departs: {L}\n- Arrives: {A}",
        "**TR1234**\n- Departure: {D}, {L}\n- Arrival: {T}, {A}",
        "| Train | Departs | Arrives |\n|---|---|---|\n| TR1234 | {L} | {A} |\n"
        "| TR5678 | {M} | {B} |",
        "| ID | From | To | Dep | Arr |\n|---|---|---|---|---|\n| TR1234 | {D} | {T} | {L} | {A} |",
        "| | TR1234 | TR5678 |\n|---|---|---|\n| Leaves | {L} | {M} |\n| Arrives | {A} | {B} |",
        "| Train | TR1234 |\n|---|---|\n| From | {D} |\n| To | {T} |\n| Departure | {L} |\n"
        "| Arrival | {A} |",
        "TR1234: {D} {L} → {T} {A}",
        "TR1234 runs every Monday, {L} to {A}.",
        "TR1234 is the {L} service to {T}, {A} arrival, £10.10 per person.",
        "TR1234 brings you to {T} at {A}.",
        "TR1234 will get you to {T} by {A}.",
        "Get tickets for the train at {L}.",
        "It starts its journey in {D} at {L}.",
        "You would be there by {A}, having left {D} at {L}.",
        "It is a train out of {D}, bound for {T}.",
        "TR1234 makes the trip between {D} and {T}.",
        "Trains leave hourly from {L} to {M}.",
        "There are trains at {L} and {M}.",
    ],
)
def test_the_end_of_the_journey(template: str) -> None:
    response, expected = filled(template)
    assert [(mention.slot, mention.text) for mention in read(response)] == expected


@pytest.mark.parametrize(
    "said",
    [
        *("TR5678: Quarrow End 10:01 → Cambridge 18:15", "Quarrow End-Cambridge, 10:01-18:15"),
        *("From: Quarrow End\nTo: Cambridge", "Origin: Quarrow End; destination: Cambridge"),
        *("between Quarrow End and Cambridge", "Quarrow End\N{EN DASH}Cambridge, £10.10"),
        *("It travels to Cambridge from Quarrow End.", "| Quarrow End | Cambridge |"),
        *("Depart: 10:01 from Quarrow End\nArrive: 18:15 at Cambridge", "Quarrow End → Cambridge"),
    ],
)
def test_the_town_itself_is_a_station_where_one_travels(said: str) -> None:
    response = f"| From | To |\n|--|--|\n{said}" if said[0] == "|" else said
    stations = {m.slot: m.value for m in read(response) if m.slot in ("departure", "destination")}
    assert stations == {"departure": "quarrow end", "destination": "cambridge"}


@pytest.mark.parametrize(
    "said",
    [
        "Enjoy Cambridge!",
        "Enjoy Quarrow End!",
        "Cambridge - what a town",
        "your trip to Cambridge",
        "in Cambridge",
    ],
)
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


@pytest.mark.parametrize(
    ("said", "slot"),
    [
        *(("TR1234 leaves Millbrook at 09:01", "departure"), ("from Hexham", None)),
        *(("TR1234 goes from Pellingford to Nether Wallop.", "destination"),),
        *(("TR1234: Millbrook → Cambridge", "departure"), ("TR1234 to Confirm", None)),
        *(("TR1234\nFrom: Millbrook", "departure"), ("TR1234\nTo: Millbrook", "destination")),
        *(("TR1234 arrives in Millbrook at 17:15", "destination"),),
        *(("TR1234 leaves from Platform 4", None), ("TR1234 leaves Monday", None)),
        *(("TR1234 leaves Pellingford. To Book it, say yes.", None),),
        *(("TR1234 leaves Pellingford with Greater Anglia.", None), ("leaves Millbrook", None)),
    ],
)
def test_stations_that_are_nowhere(said: str, slot: str | None) -> None:
    unknown = [m for m in read(said) if m.value is None]
    assert [m.slot for m in unknown] == ([slot] if slot else [])
    assert not any(m.written for m in unknown)
