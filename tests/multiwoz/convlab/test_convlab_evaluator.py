"""Dialogues are judged as the public evaluator judges them."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.convlab.evaluator import PublicEvaluator
from mwzeval.multiwoz.convlab.resources import ActDatabase
from mwzeval.multiwoz.convlab.scores import Outcome
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from tests.multiwoz.convlab.records import golden, real_database

HOTELS = [
    {"name": "alpha", "area": "north", "stars": "4", "phone": "01223000001"},
    {"name": "beta", "area": "south", "stars": "4", "phone": "01223000002"},
]
TRAINS = [
    {"departure": "ely", "destination": "cambridge", "leaveAt": "09:00", "arriveBy": "09:30"},
    {"departure": "cambridge", "destination": "ely", "leaveAt": "10:00", "arriveBy": "10:30"},
]
BYE = ("bye", "general", "none", "none")


@pytest.fixture(scope="module")
def database() -> ActDatabase:
    return ActDatabase({"hotel": HOTELS, "train": TRAINS})


def judged(goal: Goal, turns: list[dict[str, Any]], database: ActDatabase) -> PublicEvaluator:
    evaluator = PublicEvaluator(goal, database)
    for turn in turns:
        evaluator.system(Act(*act) for act in turn["system"])
        evaluator.user(Act(*act) for act in turn["user"])
    return evaluator


def after(goal: Goal, database: ActDatabase, *system: tuple[str, ...]) -> PublicEvaluator:
    """Return the evaluator after a dialogue in which the system says these acts in one turn."""
    goal = {ORDERING: list(goal), **goal}
    return judged(goal, [{"system": system, "user": [BYE]}], database)


def plain(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome in the form of the golden ones."""
    return {
        "complete": outcome.complete,
        "success": outcome.success,
        "book": list(outcome.book),
        "inform": list(outcome.inform),
        "prf": list(outcome.inform_scores or (None, None, None)),
        "final_goal": list(outcome.final_goal),
        "domain_success": outcome.domain_success,
        "booked": outcome.booked,
        "steps": outcome.steps,
    }


@pytest.fixture(scope="module")
def records() -> ActDatabase:
    return real_database()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "expected", "number"),
    [
        ("evaluator", "expect", 200),
        ("traces_pair", "result", 35),
        ("traces_pair_corpus", "result", 21),
        ("traces_user", "result", 84),
    ],
)
def test_golden_dialogues_are_judged_as_published(
    name: str, expected: str, number: int, records: ActDatabase
) -> None:
    dialogues = list(golden(name))
    assert len(dialogues) == number
    for dialogue in dialogues:
        goal = {ORDERING: dialogue["goal"][ORDERING], **dialogue["goal_end"]}
        outcome = judged(goal, dialogue["turns"], records).outcome()
        assert plain(outcome) == dialogue[expected], dialogue["id"]


HOTEL = {"info": {"area": "south", "stars": "4"}, "book": {"day": "monday"}, "booked": "yes"}


def test_the_first_booking_of_a_domain_counts(database: ActDatabase) -> None:
    spoken = ("Inform", "Hotel", "Area", "south")
    first, second = (("Book", "Booking", "Ref", f"0000000{row}") for row in (0, 1))
    wrong = after({"hotel": HOTEL}, database, spoken, first, second).outcome()
    assert (wrong.book, wrong.booked) == ((0.5,), {"hotel": "00000000"})
    assert (wrong.success, wrong.final_goal) == (False, (0, 1))
    right = after({"hotel": HOTEL}, database, spoken, second, first).outcome()
    assert (right.book, right.success, right.final_goal) == ((1.0,), True, (1, 0))


@pytest.mark.parametrize("reference", ["7GAWK763", "00000002", "0000001", "000000001", ""])
def test_only_numbers_of_records_are_references(reference: str, database: ActDatabase) -> None:
    spoken = ("Inform", "Hotel", "Area", "south")
    outcome = after({"hotel": HOTEL}, database, spoken, ("Book", "Booking", "Ref", reference))
    assert outcome.outcome().book == (0.0,)
    assert outcome.outcome().booked == {}


def test_a_booking_belongs_to_what_was_spoken_of_last(database: ActDatabase) -> None:
    acts = (("Inform", "Taxi", "Phone", "01223000000"), ("Book", "Booking", "Ref", "00000001"))
    assert after({"hotel": HOTEL}, database, *acts).outcome().booked == {}
    car = ("Inform", "Taxi", "Car", "red tesla")
    assert after({"hotel": HOTEL}, database, *acts, car).outcome().booked == {"taxi": "booked"}


def test_the_direction_of_a_booked_train_is_not_looked_at(database: ActDatabase) -> None:
    info = {"departure": "ely", "destination": "cambridge", "arriveBy": "11:00"}
    goal = {"train": {"info": info, "book": {"people": "2"}, "booked": "yes"}}
    outcome = after(goal, database, ("OfferBooked", "Train", "Ref", "00000001")).outcome()
    assert (outcome.book, outcome.domain_success) == ((1.0,), {"train": True})
    assert (outcome.success, outcome.final_goal) == (False, (0, 1))
    goal["train"]["info"] = {"departure": "ely", "destination": "cambridge"}
    assert after(goal, database, ("Inform", "Train", "Ref", "00000001")).outcome().book == ()
    assert after(goal, database).outcome().book == (0.0,)


def test_what_is_told_counts_by_its_form(database: ActDatabase) -> None:
    goal = {"hotel": {"info": {"stars": "4"}, "reqt": {"phone": "01223000009"}}}
    acts = [
        ("Inform", "Hotel", "Phone", "01223000009"),  # of no hotel at all
        ("Recommend", "Hotel", "Post", "somewhere"),  # wrong each time it is told
        ("Recommend", "Hotel", "Post", "somewhere"),
        ("Inform", "Hotel", "Addr", "unknown"),  # superfluous, but under its other name
        ("Inform", "Hotel", "Type", "hotel"),  # superfluous, once
        ("Inform", "Hotel", "Type", "guesthouse"),
        ("Inform", "Police", "Phone", "01223000009"),  # superfluous in no domain of the goal
        ("Inform", "Hotel", "Area", "dontcare"),
        ("Select", "Hotel", "Internet", "yes"),
    ]
    assert after(goal, database, *acts).outcome().inform == (1, 4, 0)
    assert after(goal, database).outcome().inform_scores == (0.0, 0.0, 0.0)


def test_who_wants_nothing_that_is_scored_has_no_success(database: ActDatabase) -> None:
    outcome = after({"hotel": {"info": {"stars": "4"}}}, database).outcome()
    assert outcome.complete
    assert not outcome.success
    assert (outcome.book_rate, outcome.inform_scores) == (None, None)
    assert outcome.domain_success == {"hotel": False}


def test_a_success_in_the_domain_spoken_of_is_rewarded_too(database: ActDatabase) -> None:
    asked = {"info": {"stars": "4"}, "reqt": {"phone": "01223000001"}}
    told = ("Inform", "Hotel", "Phone", "01223000001")
    assert after({"hotel": asked}, database, told).reward() == 40
    wrong = {**asked, "reqt": {"phone": "elsewhere"}}
    assert after({"hotel": wrong}, database, told).reward() == 5
    assert after({"hotel": asked}, database).reward() == -1
    ended = after({"hotel": wrong}, database, told, ("Request", "Train", "Day", "?"))
    assert ended.reward() == -1


def test_an_answer_that_is_none_leaves_a_goal_open(database: ActDatabase) -> None:
    for answer, complete in (("?", False), ("none", False), ('"none"', True), ("yes", True)):
        goal = {"hotel": {"info": {}, "reqt": {"parking": answer}}}
        assert after(goal, database).outcome().complete is complete
    assert not after({"hotel": {**HOTEL, "booked": "?"}}, database).outcome().complete
