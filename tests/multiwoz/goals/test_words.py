"""A goal in sentences says everything that a user is judged by."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.convlab.resources import load_act_database
from mwzeval.multiwoz.corpus import corpus_root
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.goals.selection import RunGoals, select_goals
from mwzeval.multiwoz.goals.words import goal_sentences
from tests.places import shared


def selected(corpus: str, source: str) -> RunGoals:
    root = corpus_root(corpus, None if corpus == SAMPLE else shared("data"), offline=True)
    database = load_act_database(root)
    return select_goals(source, corpus=corpus, root=root, database=database, refused_bookings=True)


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
        (SAMPLE, "sampled:100", 100),
        pytest.param("multiwoz-2.1", "corpus-raw", 1000, marks=pytest.mark.integration),
        pytest.param("multiwoz-2.1", "corpus:dev", 999, marks=pytest.mark.integration),
        pytest.param("multiwoz-2.1", "sampled:300", 300, marks=pytest.mark.integration),
    ],
)
def test_every_value_of_a_goal_is_said_of_its_domain(corpus: str, source: str, number: int) -> None:
    goals = selected(corpus, source).goals
    assert len(goals) == number
    for item, goal in goals.items():
        for domain, text in by_domain(goal).items():
            part = goal[domain]
            for name in ("info", "fail_info", "book", "fail_book"):
                for slot, value in part.get(name, {}).items():
                    said = slot if slot in ("internet", "parking") else value
                    assert said in text, (item, domain, slot, text)
            if "reqt" in part:
                assert "Ask for " in text
            assert "{" not in text
            assert ".." not in text


def test_sentences_of_the_corpus_are_preferred_where_they_are_exact() -> None:
    goals = selected(SAMPLE, "corpus-raw")
    assert goals.messages.keys() == goals.goals.keys()
    item, message = next(iter(goals.messages.items()))
    assert goals.sentences(item) == list(message)
    drawn = selected(SAMPLE, "sampled:1")
    assert drawn.sentences("sampled-0001") == goal_sentences(drawn.goals["sampled-0001"])


HOTEL: dict[str, Any] = {
    "info": {"area": "north", "stars": "4", "parking": "yes", "internet": "no"},
    "fail_info": {"area": "north", "stars": "1", "parking": "no", "internet": "no"},
    "reqt": ["phone", "internet", "entrance fee"],
    "book": {"stay": "1", "people": "1", "day": "monday"},
    "fail_book": {"stay": "3", "people": "1", "day": "monday"},
}
RESTAURANT: dict[str, Any] = {
    "info": {"food": "dontcare", "name": "ask"},
    "book": {"time": "18:15", "people": "2", "day": "friday"},
}


def test_a_goal_reads_like_this() -> None:
    goal = {
        ORDERING: ["hotel", "restaurant", "taxi", "police"],
        "hotel": HOTEL,
        "restaurant": RESTAURANT,
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
