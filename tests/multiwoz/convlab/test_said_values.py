"""Values that a system says become the first listed value that contains them or is contained."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.multiwoz.convlab.said_values import SaidValues
from tests.multiwoz.words.cases import tabled

LISTED = {
    "hotel": {
        "stars": ["4", "0", "3"],
        "parking": ["no", "yes"],
        "name": ["El Shaddai", "alpha-milton guest house", "rosa's bed  and breakfast"],
    },
    "train": {"arriveBy": ["21:17", "17:15", "17:10"]},
}
VALUES = SaidValues(LISTED)


@tabled
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
