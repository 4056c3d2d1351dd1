"""Values that a system says become the first listed value that contains them or is contained."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.multiwoz.convlab.said_values import SaidValues

LISTED = {
    "hotel": {
        "stars": ["4", "0", "3"],
        "parking": ["no", "yes"],
        "name": ["El Shaddai", "alpha-milton guest house", "rosa's bed  and breakfast"],
    },
    "train": {"arriveBy": ["21:17", "17:15", "17:10"]},
}
VALUES = SaidValues(LISTED)


@pytest.mark.parametrize(
    ("domain", "slot", "value", "understood"),
    [
        ("hotel", "stars", "4 stars", "4"),
        ("hotel", "stars", "five", "five"),
        ("hotel", "stars", "", "0"),
        ("hotel", "parking", "none", "yes"),
        ("hotel", "parking", "not known", "no"),
        ("hotel", "name", "El Shaddai", "El Shaddai"),
        ("hotel", "name", "the EL SHADDAI", "el shaddai"),
        ("hotel", "name", "at El Shaddai alpha", "El Shaddai"),
        ("hotel", "name", "alpha - milton guest house", "alpha-milton guest house"),
        ("hotel", "name", "the rosa 's bed and breakfast", "rosa's bed and breakfast"),
        ("hotel", "name", "rosa's bed  and breakfast", "rosa's bed  and breakfast"),
        ("hotel", "name", "a l p h a-milton  guest  house", "a l p h a-milton  guest  house"),
        ("hotel", "name", "el shad", "el shaddai"),
        ("hotel", "stars", "2 0", "0"),
        ("train", "arriveBy", "17:1", "17:10"),
        ("train", "arriveBy", "1 7 : 1 5", "17:15"),
        ("train", "arriveBy", "16:59", "16:59"),
        ("hotel", "phone", "4 stars", "4 stars"),
        ("booking", "name", "EL SHADDAI", "EL SHADDAI"),
    ],
)
def test_a_value_is_understood_as_a_listed_one(
    domain: str, slot: str, value: str, understood: str
) -> None:
    assert VALUES.understand(domain, slot, value) == understood


@given(st.text(alphabet="elshadi 's-ELSH\t", max_size=14), st.sampled_from(["name", "stars"]))
@example("\u0130", "name")
def test_what_is_understood_is_listed_or_what_was_said(value: str, slot: str) -> None:
    listed = {" ".join(text.split()) for text in LISTED["hotel"][slot]}
    understood = VALUES.understand("hotel", slot, value)
    assert understood == value or understood in listed | {text.lower() for text in listed}
