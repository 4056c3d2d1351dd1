"""The goals of live dialogues are those of the corpus, in the public simulator's form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.resources import load_act_database
from mwzeval.multiwoz.corpus import corpus_root
from mwzeval.multiwoz.goals.goal import (
    ORDERING,
    Goal,
    annotated_goals,
    begun,
    given_goal,
    goal_of,
    without,
)
from mwzeval.multiwoz.goals.selection import select_goals
from mwzeval.multiwoz.live.wordings import goal_sentences
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
        annotated_goals("multiwoz-2.1", "test", root)


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


def by_domain(goal: Goal) -> dict[str, str]:
    """Return the sentences about each domain, which begin with its own."""
    texts: dict[str, str] = {}
    domains = iter(goal[ORDERING])
    domain = ""
    for sentence in goal_sentences(goal):
        if sentence.startswith("You ") and "do not mind" not in sentence:
            domain = next(domains)
        texts[domain] = f"{texts.get(domain, '')} {sentence}"
    assert next(domains, None) is None
    return texts


@pytest.mark.parametrize(
    ("corpus", "source", "number"),
    [
        (SAMPLE, "corpus-raw", 62),
        (SAMPLE, "corpus-raw:dev", 10),
        (SAMPLE, "sampled:100", 100),
        pytest.param("multiwoz-2.1", "corpus-raw", 1000, marks=pytest.mark.integration),
        pytest.param("multiwoz-2.1", "corpus:dev", 999, marks=pytest.mark.integration),
        pytest.param("multiwoz-2.1", "sampled:300", 300, marks=pytest.mark.integration),
    ],
)
def test_every_value_of_a_goal_is_said_of_its_domain(corpus: str, source: str, number: int) -> None:
    root = corpus_root(corpus, None if corpus == SAMPLE else shared("data"), offline=True)
    database = load_act_database(root)
    goals = select_goals(
        source, corpus=corpus, root=root, database=database, refused_bookings=True
    ).goals
    assert len(goals) == number
    for item, goal in goals.items():
        assert goal.keys() - {ORDERING} == set(goal[ORDERING])
        for domain, text in by_domain(goal).items():
            part = goal[domain]
            for name in ("info", "fail_info", "book", "fail_book"):
                for slot, value in part.get(name, {}).items():
                    said = slot if slot in ("internet", "parking") else value
                    assert said in text, (item, domain, slot, text)
            assert ("Ask for " in text) == ("reqt" in part)
            assert "{" not in text
            assert ".." not in text


INN: dict[str, Any] = {
    "info": {"area": "north", "stars": "4", "parking": "yes", "internet": "no"},
    "fail_info": {"area": "north", "stars": "1", "parking": "no", "internet": "no"},
    "reqt": ["phone", "internet", "entrance fee"],
    "book": {"stay": "1", "people": "1", "day": "monday"},
    "fail_book": {"stay": "3", "people": "1", "day": "monday"},
}
BISTRO: dict[str, Any] = {
    "info": {"food": "dontcare", "name": "ask"},
    "book": {"time": "18:15", "people": "2", "day": "friday"},
}


def test_a_goal_reads_like_this() -> None:
    goal = {
        ORDERING: ["hotel", "restaurant", "taxi", "police"],
        "hotel": INN,
        "restaurant": BISTRO,
        "taxi": {"info": {"arriveBy": "18:15"}, "reqt": ["car type"]},
        "police": {"info": {}, "reqt": ["postcode"]},
    }
    assert goal_sentences(goal) == [
        "You need a place to stay.",
        "It should be in the north and have no parking.",
        "It should have 1 star and have no internet.",
        "If there is none, look for one that should have 4 stars and have parking instead.",
        "Book a room for 1 person for 3 nights from monday, and get the reference number.",
        "If that cannot be booked, book for 1 night instead.",
        "Ask for the phone number, whether there is internet and the entrance fee.",
        "You are also looking for a restaurant.",
        "It should be called ask.",
        "Any kind of food will do.",
        "Book a table for 2 people at 18:15 on friday, and get the reference number.",
        "You also need a taxi from the hotel to the restaurant.",
        "It should arrive by 18:15.",
        "Ask for the car type.",
        "You also need help from the police.",
        "Ask for the postcode.",
    ]


def test_a_wish_that_is_given_up_is_said() -> None:
    part = {"info": {"food": "thai"}, "fail_info": {"food": "thai", "area": "moon"}}
    told = goal_sentences({ORDERING: ["restaurant"], "restaurant": part})
    assert told[-1] == "If there is none, you do not mind the area."


def test_a_taxi_says_what_no_place_tells() -> None:
    taxi = {"info": {"departure": "ely", "leaveAt": "09:00"}, "reqt": ["phone"]}
    goal = {ORDERING: ["attraction", "taxi"], "attraction": {"info": {}}, "taxi": taxi}
    assert goal_sentences(goal)[1:3] == [
        "You also need a taxi to the attraction.",
        "It should leave from ely and leave at 09:00 or later.",
    ]
