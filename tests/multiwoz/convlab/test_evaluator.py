"""Dialogues are judged as the public evaluator judges them, and by each of the corrected rules."""

from __future__ import annotations

from statistics import mean
from typing import Any

import pytest

from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.convlab.evaluator import (
    CorrectedEvaluator,
    Outcome,
    PublicEvaluator,
)
from mwzeval.multiwoz.convlab.resources import ActDatabase
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.scoring.informed import inform_row
from tests.cases import tabled
from tests.multiwoz.convlab.records import golden, real_database, scored
from tests.tables import named

DATABASE = ActDatabase(
    {
        "hotel": [
            {"name": "alpha", "area": "north", "stars": "4", "phone": "01223000001"},
            {"name": "beta", "area": "south", "stars": "4", "phone": "01223000002"},
            {"name": "far away", "postcode": "qx1 3eu", "stars": 4},
        ],
        "train": [
            {
                **{"departure": "ely", "destination": "cambridge", "day": "monday"},
                **{"leaveAt": "09:00", "arriveBy": "09:30"},
            },
            {
                **{"departure": "cambridge", "destination": "ely", "day": "monday"},
                **{"leaveAt": "10:00", "arriveBy": "10:30"},
            },
        ],
        "attraction": [{"name": "delta", "area": "north"}],
    }
)
BOOK = {"day": "monday", "people": "2", "stay": "3"}
ENDS = {"departure": "ely", "destination": "cambridge"}
HOTEL = {"info": {"area": "south", "stars": "4"}, "book": BOOK, "booked": "yes"}
GOALS: dict[str, Goal] = {
    "hotel": {"hotel": HOTEL},
    "unbooked": {"hotel": {**HOTEL, "booked": "?"}},
    "any hotel": {"hotel": {"info": {}, "book": {"day": "monday"}, "booked": "yes"}},
    "train": {
        "train": {"info": {**ENDS, "day": "monday"}, "book": {"people": "2"}, "booked": "yes"}
    },
    "any train": {"train": {"info": ENDS, "book": {"people": "2"}}},
    "phone": {"hotel": {"info": {"stars": "4"}, "reqt": {"phone": "01223000009"}}},
    "area": {"hotel": {"info": {"area": "north"}, "reqt": {"phone": "01223000001"}}},
    "postcode": {"hotel": {"info": {}, "reqt": {"postcode": "?"}}},
    "attraction": {"attraction": {"info": {"area": "north"}}},
    "attraction nowhere": {"attraction": {"info": {"area": "moon"}}},
    **{
        f"parking {answer}": {"hotel": {"info": {}, "reqt": {"parking": answer}}}
        for answer in ("?", "none", '"none"', "yes")
    },
}


@tabled
def test_outcomes(
    goal: str, turns: list[str], public: dict[str, Any], corrected: dict[str, Any]
) -> None:
    """Turns are the user's first; outcomes are those of the published and the corrected rules."""
    parts = GOALS[goal]
    for judge, expected in ((PublicEvaluator, public), (CorrectedEvaluator, corrected)):
        evaluator = judge({ORDERING: list(parts), **parts}, DATABASE)
        for number, turn in enumerate(turns):
            acts = [Act(*act.split(" ", 3)) for act in turn.split("; ") if act]
            (evaluator.system if number % 2 else evaluator.user)(acts)
        outcome = evaluator.outcome()
        assert {field: getattr(outcome, field) for field in expected} == expected


def outcome_of(result: dict[str, Any]) -> Outcome:
    return Outcome(
        complete=bool(result["complete"]),
        success=bool(result["success"]),
        book=tuple(result["book"]),
        inform=tuple(result["inform"]),
        final_goal=tuple(result["final_goal"]),
        domain_success={d: bool(success) for d, success in result["domain_success"].items()},
        booked=result["booked"],
        steps=result["steps"],
    )


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
def test_golden_dialogues_are_judged_as_published(name: str, expected: str, number: int) -> None:
    dialogues = list(golden(name))
    assert len(dialogues) == number
    for dialogue in dialogues:
        goal = {ORDERING: dialogue["goal"][ORDERING], **dialogue["goal_end"]}
        evaluator = PublicEvaluator(goal, real_database())
        for turn in dialogue["turns"]:
            evaluator.system([Act(*act) for act in turn["system"]])
            evaluator.user([Act(*act) for act in turn["user"]])
        outcome = evaluator.outcome()
        assert outcome == outcome_of(dialogue[expected]), dialogue["id"]
        numbers = inform_row(*outcome.inform)
        rates = [numbers.get(name) for name in ("precision", "recall", "f1")]
        assert rates == dialogue[expected]["prf"]


@pytest.mark.integration
def test_scores_are_means_over_the_dialogues_that_have_them() -> None:
    results = [dialogue["expect"] for dialogue in golden("evaluator")]
    asking = [result["prf"] for result in results if result["prf"][0] is not None]
    books = [mean(result["book"]) for result in results if result["book"]]
    assert len(results) > len(asking)
    assert len(results) > len(books)
    matches, mismatches = (sum(result["final_goal"][i] for result in results) for i in (0, 1))
    found, superfluous, missing = (sum(result["inform"][i] for result in results) for i in range(3))
    successes = [result["steps"] for result in results if result["success"]]
    trains = [r["domain_success"]["train"] for r in results if "train" in r["domain_success"]]
    expected = {
        "complete": 100 * mean(result["complete"] for result in results),
        "success": 100 * mean(result["success"] for result in results),
        "book_rate": 100 * mean(books),
        "inform_precision": 100 * mean(precision for precision, _, _ in asking),
        "inform_recall": 100 * mean(recall for _, recall, _ in asking),
        "inform_f1": 100 * mean(f1 for _, _, f1 in asking),
        "inform_micro_precision": 100 * found / (found + superfluous),
        "inform_micro_recall": 100 * found / (found + missing),
        "domains_satisfied": 100 * matches / (matches + mismatches),
        "goals_satisfied": 100 * mean(result["final_goal"][1] == 0 for result in results),
        "turns": mean(result["steps"] for result in results),
        "turns_of_successes": mean(successes),
    }
    scores = scored([outcome_of(result) for result in results]).scores()
    values = {score.name: score.value for score in scores if score.scope == "total"}
    assert values == pytest.approx(expected)
    assert named(scores, "success", "train").value == pytest.approx(100 * mean(trains))
    assert named(scores, "book_rate").n == len(books)
    assert named(scores, "turns_of_successes").n == len(successes)


def test_there_are_no_scores_of_what_no_dialogue_has() -> None:
    nothing = Outcome(True, False, (), (0, 0, 0), (1, 0), {"hotel": False}, {}, 4)
    names = {measure.name for measure in scored([nothing]).measures}
    assert names == {"complete", "success", "turns", "domains_satisfied", "goals_satisfied"}
