"""Values are of the venue of their list item, row, column or sentence."""

from __future__ import annotations

import re

import pytest

from mwzeval.multiwoz.grounding.binding import Binding
from mwzeval.multiwoz.words.text import Mention


def bound(response: str) -> str:
    """Return the names, in capitals of one letter, that the value `v` is said of."""
    names = [
        Mention(match.start(), match.end(), match[0], "name", "hotel")
        for match in re.finditer(r"\b[A-Z]\b", response)
    ]
    place = re.search(r"\bv\b", response)
    assert place is not None
    value = Mention(place.start(), place.end(), "v", "area", "hotel")
    return "".join(name.text for name in Binding(response).of(value, names))


@pytest.mark.parametrize(
    ("response", "names"),
    [
        ("X is x, and Y is v.", "Y"),
        ("X is v, and Y is y.", "X"),
        ("X and Y are both v. Z is not.", "XY"),
        ("X, Y, and the Z are v.", "XYZ"),
        ("X is nice. It is v. Y is not.", "X"),
        ("X is nice. Y is dear. It is v.", "Y"),
        ("There is the v X. Y is dear.", "X"),
        ("The v place is X, the other Y.", "X"),
        ("i found v places. X is good. Y too.", ""),
        ("1. **X** – x\n2. **Y** – v\n3. Z – z", "Y"),
        ("1. **X**\n   - x\n   - v\n2. **Y**\n   - y", "X"),
        ("**X**\n- v\n- x\n\n**Y**\n- y", "X"),
        ("we like X best.\n- v\n- w\n\nY is good, too.", "X"),
        ("### X\nIt is nice.\n\nIt is v.\n### Y\nno", "X"),
        ("X or Y?\n1. X: x\n2. Y: v", "Y"),
        ("| n | a |\n|---|---|\n| X | x |\n| Y | v |", "Y"),
        ("| | X | Y |\n|---|---|---|\n| a | x | v |", "Y"),
        ("X is nice. Shall we book it? It is v.", ""),
        ("1. X – x\n2. Y – y\n\nWhich one? It is v.", ""),
        ("1. X – x\n2. Y – y\n\nThey are v.", ""),
        ("1. X – x\n2. Y – y\n\nY is v.", "Y"),
        ("In v.", ""),
    ],
)
def test_what_a_value_is_said_of(response: str, names: str) -> None:
    assert bound(response) == names
