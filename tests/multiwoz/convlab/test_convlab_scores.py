"""Scores of many dialogues are the means that published tables have."""

from __future__ import annotations

from statistics import mean
from typing import Any

import pytest

from mwzeval.metrics.measure import ScoredTable, named
from mwzeval.multiwoz.convlab.scores import COLUMNS, Outcome, measures, row
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from tests.multiwoz.convlab.records import golden


def sign(name: str) -> Signature:
    return Signature(name, ())


def scored(results: list[dict[str, Any]]) -> ScoredTable:
    rows = [(str(number), row(outcome_of(result))) for number, result in enumerate(results)]
    table = Table.from_rows(COLUMNS, rows)
    return ScoredTable(table, tuple(measures(table.sums(), sign)))


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
def test_scores_are_means_over_the_dialogues_that_have_them() -> None:
    results = [dialogue["expect"] for dialogue in golden("evaluator")]
    rates = [result["prf"] for result in results if result["prf"][0] is not None]
    books = [mean(result["book"]) for result in results if result["book"]]
    assert len(results) > len(rates)
    assert len(results) > len(books)
    matches, mismatches = (sum(result["final_goal"][i] for result in results) for i in (0, 1))
    found, superfluous, missing = (sum(result["inform"][i] for result in results) for i in range(3))
    successes = [result["steps"] for result in results if result["success"]]
    trains = [r["domain_success"]["train"] for r in results if "train" in r["domain_success"]]
    expected = {
        "complete": 100 * mean(result["complete"] for result in results),
        "success": 100 * mean(result["success"] for result in results),
        "book_rate": 100 * mean(books),
        "inform_precision": 100 * mean(precision for precision, _, _ in rates),
        "inform_recall": 100 * mean(recall for _, recall, _ in rates),
        "inform_f1": 100 * mean(f1 for _, _, f1 in rates),
        "inform_micro_precision": 100 * found / (found + superfluous),
        "inform_micro_recall": 100 * found / (found + missing),
        "domains_satisfied": 100 * matches / (matches + mismatches),
        "goals_satisfied": 100 * mean(result["final_goal"][1] == 0 for result in results),
        "turns": mean(result["steps"] for result in results),
        "turns_of_successes": mean(successes),
    }
    scores = scored(results).scores()
    values = {score.name: score.value for score in scores if score.scope == "total"}
    assert values == pytest.approx(expected)
    assert named(scores, "success", "train").value == pytest.approx(100 * mean(trains))
    assert named(scores, "book_rate").n == len(books)
    assert named(scores, "turns_of_successes").n == len(successes)


def test_there_are_no_scores_of_what_no_dialogue_has() -> None:
    nothing = Outcome(True, False, (), (0, 0, 0), (1, 0), {"hotel": False}, {}, 4)
    table = Table.from_rows(COLUMNS, [("a", row(nothing))])
    names = {measure.name for measure in measures(table.sums(), sign)}
    assert names == {"complete", "success", "turns", "domains_satisfied", "goals_satisfied"}
