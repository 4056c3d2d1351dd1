"""How many acts of the agenda are said in one turn."""

from __future__ import annotations

import pytest

from mwzeval.multiwoz.convlab.acts import Act
from mwzeval.multiwoz.convlab.agenda import Agenda
from mwzeval.multiwoz.convlab.draws import SeededUserDraws

INFORMS = ("area", "food", "name", "pricerange", "type")


@pytest.mark.parametrize(
    ("waiting", "pushed", "said"),
    [
        # Of its own accord the user says four things; otherwise what it was made to say.
        ([("inform", slot, "x") for slot in INFORMS], [], 4),
        ([("inform", "area", "x")], [("inform", "food", "x"), ("inform", "name", "x")], 2),
        ([("inform", slot, "x") for slot in INFORMS], [("inform", "stars", "dontcare")], 4),
        # What belongs to a booking is said together, and nothing else with it.
        ([("inform", slot, "x") for slot in ("area", "people", "day", "stay")], [], 3),
        ([("inform", "people", "x")], [("inform", "day", "x")], 1),
        ([("request", "phone", "?")], [("inform", "day", "x"), ("inform", "stay", "x")], 2),
        # Constraints and requests are not said in one turn; after a request for the name nothing.
        ([("inform", "area", "x")], [("request", "phone", "?")], 1),
        ([], [("request", "phone", "?"), ("request", "postcode", "?")], 2),
        ([("request", "phone", "?")], [("request", "postcode", "?"), ("request", "name", "?")], 1),
    ],
)
def test_what_is_said_in_one_turn(
    waiting: list[tuple[str, str, str]], pushed: list[tuple[str, str, str]], said: int
) -> None:
    agenda = Agenda(SeededUserDraws(0, "goal", 0))
    for intent, slot, value in waiting:
        agenda.add(Act(intent, "hotel", slot, value))
    for intent, slot, value in pushed:
        agenda.push(Act(intent, "hotel", slot, value))
    before = list(agenda)
    assert agenda.pop() == before[: -said - 1 : -1]
    assert list(agenda) == before[:-said]
