"""How much of what is asked for is told, and of what is told is asked for, by hand-made cases."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.multiwoz.convlab.scores import COLUMNS, INFORM_COLUMNS, INFORM_SHARES
from mwzeval.scores.score import WHOLE
from tests.multiwoz.live.test_judgement import LANTERN, judged, said
from tests.multiwoz.live.test_live_scores import scored, values
from tests.multiwoz.live.written_runs import line

BLUE, RED = "The Blue Lantern", "The Red Kettle"
PHONE, OTHER_PHONE = "01223000001", "01223000002"
BOTH: dict[str, Any] = {**LANTERN, "reqt": ["phone", "address"]}
TAXI = {"info": {"departure": "blue lantern", "destination": "red kettle"}, "reqt": ["phone"]}


@pytest.mark.parametrize(
    ("goal", "answer", "told", "counts"),
    [
        # Of one that is asked for, and of two.
        (LANTERN, f"{BLUE}: {PHONE}.", (1, 1, 1), (1.0, 1.0)),
        (BOTH, f"{BLUE}: {PHONE}.", (1, 1, 2), (1.0, 0.5)),
        # What nobody asks for, once however often; what the goal says itself does not count.
        (LANTERN, f"{BLUE}: {PHONE}. It is in the north.", (1, 2, 1), (0.5, 1.0)),
        (LANTERN, f"{BLUE} in the north: {PHONE}. It is in the north.", (1, 2, 1), (0.5, 1.0)),
        (LANTERN, f"{BLUE}, a cheap Chinese restaurant: {PHONE}.", (1, 1, 1), (1.0, 1.0)),
        # What is wrong is told, and not what was asked for.
        (LANTERN, f"{BLUE}: {OTHER_PHONE}.", (0, 1, 1), (0.0, 0.0)),
        (LANTERN, f"{RED}: {OTHER_PHONE}.", (0, 1, 1), (0.0, 0.0)),
        (LANTERN, f"{BLUE} is nice.", (0, 0, 1), (0.0, 0.0)),
    ],
)
def test_slots_told_and_asked_for(
    goal: dict[str, Any], answer: str, told: tuple[int, int, int], counts: tuple[float, float]
) -> None:
    row = judged({"restaurant": goal}, said("I want a cheap Chinese restaurant.", answer)).row
    assert (row["found"], row["told"], row["asked"]) == told
    assert (row["precision"], row["recall"]) == counts


def test_a_goal_that_asks_for_nothing_has_no_rates() -> None:
    goal = {"restaurant": {"info": LANTERN["info"]}}
    row = judged(goal, said("I want a cheap Chinese restaurant.", f"{BLUE}: {PHONE}.")).row
    assert (row["found"], row["told"], row["asked"]) == (0, 1, 0)
    assert "recall" not in row


def test_what_is_said_of_a_ride_counts() -> None:
    answer = "Your taxi from the Blue Lantern to the Red Kettle is a white honda, 07123456789."
    row = judged(
        {"taxi": TAXI}, said("A taxi from the Blue Lantern to the Red Kettle.", answer)
    ).row
    assert (row["found"], row["told"], row["asked"]) == (1, 2, 1)


def test_the_rates_are_in_reports_under_the_names_that_they_have_in_acts() -> None:
    run = scored(line("smp0021"), line("smp0022", "phone"))
    found, rows = values(run), run.report().table.sums()
    for name, _, part, whole in INFORM_SHARES:
        assert found[name] == pytest.approx(100 * rows[part] / rows[whole])
        assert run.report().metrics["live"][name] == found[name]
    assert found["inform_micro_recall"] < 100
    assert {*INFORM_COLUMNS} < {*COLUMNS}
    assert {score.scope for score in run.report().scores if score.name == "inform_f1"} == {WHOLE}
