"""The goals of live dialogues are those of the corpus, in the public simulator's form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot, embedded
from mwzeval.multiwoz.choices import SAMPLE, Fold
from mwzeval.multiwoz.corpus import corpus_root
from mwzeval.multiwoz.goals.goal import (
    ORDERING,
    annotated_goals,
    begun,
    corpus_goals,
    given_goal,
    goal_of,
    satisfiable_failures,
    without,
)
from tests.multiwoz.convlab.records import golden, real_database
from tests.places import read_json, shared

RESTAURANT = {
    "info": {"food": "thai", "area": "west"},
    "fail_info": {"food": "thai", "area": "moon"},
    "book": {"time": "17:30", "people": "8", "invalid": False, "pre_invalid": True},
    "fail_book": {"time": "18:30"},
}
TRAIN = {"info": {"day": "monday"}, "reqt": ["price", "duration"], "fail_info": {}}
ANNOTATED: dict[str, Any] = {
    "restaurant": RESTAURANT,
    "train": TRAIN,
    "police": {},
    "message": ["You need a <span>TRAIN</span>.", "Then a place to dine", "and a restaurant"],
}


@pytest.fixture(scope="module")
def root() -> DataRoot:
    return corpus_root("multiwoz-2.1", shared("data", "multiwoz"), offline=True)


@pytest.mark.integration
def test_goals_of_the_test_fold_are_the_golden_ones(root: DataRoot) -> None:
    """Of the public conversion in everything: the order of dialogues, domains, parts and slots."""
    expected = list(golden("corpus_goals"))
    goals = corpus_goals("multiwoz-2.1", "test", root)
    assert list(goals) == [each["dialogue"].lower() for each in expected]
    for each, goal in zip(expected, goals.values(), strict=True):
        assert json.dumps(goal) == json.dumps(each["goal"])
    database = real_database()
    dropped = [satisfiable_failures(goal, database) for goal in goals.values()]
    assert dropped == [each["drop_fail_info"] for each in expected]
    assert sum(map(len, dropped)) == 181


@pytest.mark.parametrize(
    ("corpus", "fold"),
    [
        (SAMPLE, "test"),
        (SAMPLE, "dev"),
        pytest.param("multiwoz-2.1", "dev", marks=pytest.mark.integration),
    ],
)
def test_every_fold_has_goals(corpus: str, fold: Fold) -> None:
    data = None if corpus == SAMPLE else shared("data", "multiwoz")
    goals = corpus_goals(corpus, fold, corpus_root(corpus, data, offline=True))
    assert goals
    for goal in goals.values():
        assert goal.keys() - {ORDERING} == set(goal[ORDERING])
        assert all("info" in goal[domain] for domain in goal[ORDERING])


@pytest.mark.integration
def test_bookings_that_are_refused_are_tried_whole(root: DataRoot) -> None:
    annotated = annotated_goals("multiwoz-2.1", "test", root).values()
    parts = [each.goal[domain] for each in annotated for domain in each.goal[ORDERING]]
    refused = [part for part in parts if "fail_book" in part]
    assert len(refused) == 80
    assert all(part["fail_book"].keys() == part["book"].keys() for part in refused)


def test_a_goal_is_read_in_the_order_of_its_sentences() -> None:
    assert goal_of(ANNOTATED) == {
        "domain_ordering": ["train", "restaurant"],
        "train": {"info": {"day": "monday"}, "reqt": ["price", "duration"]},
        "restaurant": {
            "info": {"food": "thai", "area": "west"},
            "fail_info": {"food": "thai", "area": "moon"},
            "book": {"time": "17:30", "people": "8"},
            "fail_book": {"time": "18:30", "people": "8"},
        },
    }


def test_a_goal_whose_sentences_leave_a_domain_out_is_refused() -> None:
    with pytest.raises(ValueError, match="train"):
        goal_of({**ANNOTATED, "message": "Find a restaurant"})


def test_a_failure_that_the_database_does_not_have_is_dropped_alone() -> None:
    goal = goal_of(ANNOTATED)
    kept = without(goal, "fail_info", ["restaurant"])
    assert "fail_info" not in kept["restaurant"]
    assert kept["train"] == goal["train"]
    assert "fail_info" in goal["restaurant"]
    assert list(kept) == list(goal)


def test_a_dialogue_begins_with_a_copy_in_which_nothing_is_answered() -> None:
    goal = goal_of(ANNOTATED)
    before = json.dumps(goal)
    copy = begun(goal)
    assert copy["train"]["reqt"] == {"price": "?", "duration": "?"}
    assert copy["restaurant"]["booked"] == "?"
    assert "booked" not in copy["train"]
    copy["train"]["reqt"]["price"] = "10 pounds"
    copy["restaurant"]["info"]["area"] = "east"
    copy[ORDERING].pop()
    assert json.dumps(goal) == before


def test_files_of_another_format_are_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("root")
    place = folder / "data" / "MultiWOZ_2.1" / "test.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"SNG1.json": {"goal": {"train": TRAIN}, "log": []}}))
    root = corpus_root("multiwoz-2.1", folder, offline=True)
    with pytest.raises(DataError, match=r"test\.json.*sng1"):
        corpus_goals("multiwoz-2.1", "test", root)


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
