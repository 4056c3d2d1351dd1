"""The order in which the original goes through slots."""

from __future__ import annotations

import pytest

from mwzeval.pydial.environments.features import after_name, alphabetical, by_legacy_hash
from tests.places import read_json, shared


@pytest.mark.integration
def test_ties_are_broken_as_by_python_2() -> None:
    order = read_json(shared("data", "pydial", "legacy_tie_order.json"))["order"]
    sets = [(slots, listed) for of in order.values() for slots, listed in of.items()]
    assert len(sets) == 2117
    wrong = {s for s, listed in sets if "|".join(by_legacy_hash(tuple(s.split("|")))) != listed}
    assert not wrong


@pytest.mark.parametrize(
    ("slots", "offered"),
    [
        (("area", "food", "pricerange"), ("food", "pricerange", "name", "area")),
        (("area", "food"), ("food", "name", "area")),
        (
            by_legacy_hash(("allowedforkids", "area", "food", "pricerange")),
            ("food", "allowedforkids", "pricerange", "name", "area"),
        ),
        (
            by_legacy_hash(("batteryrating", "driverange", "family", "utility")),
            ("batteryrating", "driverange", "name", "family", "utility"),
        ),
    ],
)
def test_offers_list_their_slots_as_in_the_traces(
    slots: tuple[str, ...], offered: tuple[str, ...]
) -> None:
    assert after_name(slots, "name") == offered


def test_the_clean_order_is_that_of_the_alphabet() -> None:
    assert alphabetical(("food", "area")) == ("area", "food")
