"""Goals that other programs give: both forms, and the errors about those that are none."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.files.downloads import embedded
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.corpus.corpora import corpus_root
from mwzeval.multiwoz.goals.given_goals import given_goal
from mwzeval.multiwoz.goals.goals import annotated_goals, begun
from tests.places import read_json

HOTEL = {"info": {"area": "north"}, "reqt": ["phone"]}


def test_the_goals_of_a_corpus_are_read_in_every_form() -> None:
    """As they are annotated, as they are used, and as a user holds them."""
    known = annotated_goals(SAMPLE, "test", corpus_root(SAMPLE, None, offline=True))
    annotated = {
        name.removesuffix(".json").lower(): dialogue["goal"]
        for name, dialogue in read_json(next(embedded("sample").rglob("data.json"))).items()
    }
    assert len(known) > 30
    for name, each in known.items():
        assert given_goal(each.goal) == each.goal
        assert given_goal(begun(each.goal)) == each.goal
        told = given_goal(annotated[name])
        assert {**told, "domain_ordering": None} == {**each.goal, "domain_ordering": None}
        assert sorted(told["domain_ordering"]) == sorted(each.goal["domain_ordering"])


def test_what_is_no_slot_is_left_out_and_numbers_are_text() -> None:
    book = {"people": 3, "day": ["monday", "friday"], "invalid": False, "pre_invalid": True}
    goal = given_goal({"message": ["…"], "topic": {}, "police": {}, "hotel": {"book": book}})
    assert goal == {
        "domain_ordering": ["hotel"],
        "hotel": {"info": {}, "book": {"people": "3", "day": "monday"}},
    }


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (3, "hotel"),
        ({}, "restaurant"),
        ({"hotels": HOTEL}, '"hotel"'),
        ({"hotel": {}}, '"hotel"'),
        ({"hotel": ["area"]}, "hotel:"),
        ({"hotel": {"info": ["area"]}}, "hotel.info:"),
        ({"hotel": {"info": {"area": None}}}, "hotel.info.area:"),
        ({"hotel": {"book": {"stay": True}}}, "hotel.book.stay:"),
        ({"hotel": {"reqt": "phone"}}, "hotel.reqt:"),
        ({"hotel": HOTEL, "domain_ordering": ["hotel", "train"]}, "domain_ordering"),
        ({"hotel": HOTEL, "domain_ordering": 3}, "domain_ordering"),
    ],
)
def test_the_error_about_what_is_no_goal_has_its_place(raw: Any, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        given_goal(raw)
