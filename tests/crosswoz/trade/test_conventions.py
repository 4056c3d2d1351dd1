"""Joint accuracy as the public code may be read: what each reading changes, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.baselines import gold_exchanges
from mwzeval.crosswoz.scoring.state_scores import StateScores
from mwzeval.crosswoz.trade.conventions import CONVENTIONS, accuracies_text, joint_accuracies
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold

FIRST, NO_BLANKS, LAST, NO_SERVICES = (each.label for each in CONVENTIONS)
DIALOGUES = small_gold().fold.dialogues


def gold() -> dict[str, list[Predicted]]:
    return {name: list(gold_exchanges(of)) for name, of in DIALOGUES.items()}


def accuracies(predicted: dict[str, Any]) -> dict[str, float]:
    return {label: of["total"] for label, of in joint_accuracies(DIALOGUES, predicted).items()}


def test_gold_is_right_but_for_relaxed_queries_and_services() -> None:
    """Of five turns one has services, and its first query is not the last."""
    by_type = joint_accuracies(DIALOGUES, gold())
    assert {label: of["total"] for label, of in by_type.items()} == {
        FIRST: 100,
        NO_BLANKS: 100,
        LAST: 80,
        NO_SERVICES: 80,
    }
    assert by_type[LAST] == {"total": 80, "S": 0, "CM": 100, "Select turns": 100}


def test_blanks_matter_to_the_letter_alone() -> None:
    predicted = gold()
    state = copy.deepcopy(predicted["1"][0].state)
    assert state is not None
    state["景点"]["门票"] = "免 费"
    predicted["1"][0] = Predicted(state=state)
    assert accuracies(predicted) == {FIRST: 80, NO_BLANKS: 100, LAST: 60, NO_SERVICES: 60}


def test_dialogues_that_are_not_predicted_do_not_count() -> None:
    predicted = {"1": gold()["1"]}
    assert accuracies(predicted) == dict.fromkeys((FIRST, NO_BLANKS, LAST, NO_SERVICES), 100)
    assert "S" not in joint_accuracies(DIALOGUES, predicted)[FIRST]


def test_a_table_has_a_line_a_convention() -> None:
    lines = accuracies_text(joint_accuracies(DIALOGUES, gold())).splitlines()
    assert lines[0].split() == ["total", "S", "CM", "Select", "turns"]
    assert lines[1].startswith(FIRST)
    assert lines[3].split()[-4:] == ["80.00", "0.00", "100.00", "100.00"]


def test_services_bound_the_public_slots_on_the_test_fold() -> None:
    """In 30.2 % of all turns the state has services, which 38 slots of one embedding cannot say."""
    dialogues = fold().dialogues
    predicted = {name: gold_exchanges(of) for name, of in dialogues.items()}
    found = joint_accuracies(dialogues, predicted)
    assert found[FIRST]["total"] == 100
    assert found[LAST]["total"] == pytest.approx(89.5, abs=0.05)
    assert found[NO_SERVICES]["total"] == pytest.approx(69.80, abs=0.005)
    assert found[NO_SERVICES]["S"] == pytest.approx(95.0)
    assert found[NO_SERVICES]["CM+T"] == pytest.approx(60.39, abs=0.005)


def test_the_first_convention_is_the_score() -> None:
    """Row by row, with the previous turn's gold state as the prediction."""
    dialogues = fold("val").dialogues
    scores = StateScores("predicted_history")
    right = turns = 0.0
    predicted = {}
    for name, dialogue in dialogues.items():
        before = [Predicted(state={}), *gold_exchanges(dialogue)[:-1]]
        predicted[name] = before
        row = scores.row(dialogue, before)
        right, turns = right + row.get("dst.strict@total", 0), turns + row["dst.turns@total"]
    assert joint_accuracies(dialogues, predicted)[FIRST]["total"] == 100 * right / turns
