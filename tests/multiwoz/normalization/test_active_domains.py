"""Which domain a turn is about: the estimate goes by the rules, step by step."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given

from mwzeval.multiwoz.normalization import estimate_active_domains
from tests.examples import examples
from tests.multiwoz import specification, worlds
from tests.multiwoz.specification import State

R, H, T = (
    {"restaurant": {"food": "thai"}},
    {"hotel": {"area": "east"}},
    {"train": {"day": "monday"}},
)
TWO_SLOTS: State = {"hotel": {"area": "east", "stars": "4"}}


@examples(300)
@given(worlds.conversations())
def test_the_estimate_is_that_of_the_rules(states: list[State]) -> None:
    before = deepcopy(states)
    estimates = estimate_active_domains(states)
    assert [list(domains) for domains in estimates] == specification.active_domains(states)
    assert states == before


@pytest.mark.parametrize(
    ("name", "states", "expected"),
    [
        ("no turns", [], []),
        ("nothing said yet", [{}, {}, R], ["", "", "restaurant"]),
        ("a domain without slots is not said", [{"hotel": {}}, R], ["", "restaurant"]),
        ("nothing new keeps the domain", [R, R, {}], ["restaurant"] * 3),
        ("another domain takes over", [R, R | H, R | H], ["restaurant", "hotel", "hotel"]),
        (
            "the current domain stays if it changes too",
            [R, {"restaurant": {"food": "x"}} | H],
            ["restaurant"] * 2,
        ),
        ("most slots win", [R | TWO_SLOTS], ["hotel"]),
        ("the first of equals wins", [R | H], ["restaurant"]),
        ("then the other one's turn comes", [R | H, R | H], ["restaurant", "hotel"]),
        ("but once only", [R | H, R | H, R | H], ["restaurant", "hotel", "hotel"]),
        ("in the order of the change", [R | H | T, R | H | T], ["restaurant", "hotel"]),
        ("unless it is gone", [R | H | T, R | T], ["restaurant", "train"]),
        ("all gone", [R | H, R], ["restaurant", "restaurant"]),
        (
            "a value said again after it was gone is new",
            [R, H, R],
            ["restaurant", "hotel", "restaurant"],
        ),
        (
            "a lost slot is no change",
            [TWO_SLOTS, R | TWO_SLOTS, R | H],
            ["hotel", "restaurant", "restaurant"],
        ),
    ],
)
def test_the_estimate_case_by_case(name: str, states: list[State], expected: list[str]) -> None:
    found = [" ".join(domains) for domains in estimate_active_domains(states)]
    assert found == expected, name
