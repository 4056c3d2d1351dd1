"""Joint goal accuracy: by hand, and against a twin written from the definitions."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.measure import Resampling, ScoredTable, observed
from mwzeval.multiwoz.tracking.joint_goals import JointGoals
from mwzeval.multiwoz.tracking.states import CHOICES, Convention
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from tests.multiwoz.tracking import joint_goal_twin as twin

SLOTS = {"hotel": ("area", "name"), "taxi": ("leave",), "train": ("day",)}
DOMAIN_TURNS = tuple(CHOICES["domain-turns"])


def is_right(value: str, accepted: Sequence[str]) -> bool:
    return value in accepted


def counting(domain_turns: str = "active", *, closed: bool = True, rate: float = 0.5) -> JointGoals:
    slots = "30" if closed else "all"
    chosen = {"domain-turns": domain_turns, "slots": slots, "lambda": repr(rate)}
    return JointGoals(Convention.of("exact", chosen), "2021")


def signed(name: str) -> Signature:
    return Signature("dst", ())


def table_of(goals: JointGoals, dialogues: Sequence[Sequence[twin.Turn]]) -> Table:
    rows = ((f"d{number}", goals.row(turns)) for number, turns in enumerate(dialogues))
    return Table.from_rows(goals.columns, rows)


def scores_of(
    goals: JointGoals, dialogues: Sequence[Sequence[twin.Turn]]
) -> dict[tuple[str, str], float]:
    table = table_of(goals, dialogues)
    sums = observed(table)
    measures = goals.measures(signed, table.sums())
    return {(m.name.removeprefix(f"{goals.prefix}."), m.scope): m.value(sums) for m in measures}


A, B = ("a",), ("b",)
IN_A = {"hotel": {"area": A}}
LATER = {**IN_A, "taxi": {"leave": A}}
BY_HAND: dict[str, tuple[list[twin.Turn], dict[tuple[str, str], float]]] = {
    "flexibly, an old error costs less turn by turn, until another is made": (
        [
            ({}, IN_A),
            ({}, IN_A),
            ({"taxi": {"leave": "a"}}, LATER),
            ({"taxi": {"leave": "b"}}, LATER),
            ({"taxi": {"leave": "b"}}, LATER),
            ({"hotel": {"area": "a"}, "taxi": {"leave": "a"}}, LATER),
        ],
        {
            # Credits 0, 1 - exp(-1/2), 1 - exp(-1), 0, 1 - exp(-1/2), 1.
            ("flexible_goal_accuracy", WHOLE): 100 * (4 - 2 * exp(-1 / 2) - exp(-1)) / 6,
            ("joint_goal_accuracy", WHOLE): 100 / 6,
            ("joint_goal_accuracy_at_turn", "1"): 0,
            ("joint_goal_accuracy_at_turn", "6"): 100,
        },
    ),
    "the example of docs/metrics.md": (
        [
            ({}, {"hotel": {"area": A}}),
            ({"hotel": {"name": "a"}}, {"hotel": {"area": A, "name": A}}),
            (
                {"hotel": {"name": "a"}, "train": {"day": "a"}},
                {"hotel": {"area": A, "name": A}, "train": {"day": A}},
            ),
        ],
        {
            ("joint_goal_accuracy", WHOLE): 0,
            ("flexible_goal_accuracy", WHOLE): 100 * (2 - exp(-1 / 2) - exp(-1)) / 3,
            ("mean_turn_f1", WHOLE): 100 * (0 + 2 / 3 + 4 / 5) / 3,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("turns", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_scores_by_hand(turns: list[twin.Turn], expected: dict[tuple[str, str], float]) -> None:
    found = scores_of(counting(), [turns])
    assert {name: found[name] for name in expected} == pytest.approx(expected)


values = st.sampled_from("ab")
slots = {d: st.sampled_from(names) for d, names in SLOTS.items()}
predicted_states = st.fixed_dictionaries(
    {}, optional={d: st.dictionaries(of, values, min_size=1) for d, of in slots.items()}
)
accepted = st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=2, unique=True).filter(
    lambda found: found != [""]
)
gold_states = st.fixed_dictionaries(
    {}, optional={d: st.dictionaries(of, accepted, min_size=1) for d, of in slots.items()}
)
turns = st.tuples(predicted_states, gold_states)
many_dialogues = st.lists(st.lists(turns, min_size=1, max_size=6), min_size=1, max_size=4)
rates = st.floats(0, 3)


@given(many_dialogues, st.sampled_from(DOMAIN_TURNS), st.booleans(), rates)
def test_scores_are_those_of_the_twin(
    dialogues: list[list[twin.Turn]], domain_turns: str, closed: bool, rate: float
) -> None:
    expected = twin.scores(
        dialogues, list(SLOTS), is_right, domain_turns, 30 if closed else None, rate
    )
    found = scores_of(counting(domain_turns, closed=closed, rate=rate), dialogues)
    assert found == pytest.approx(
        {name: 100 * float(of) for name, of in expected.items()}, abs=1e-4
    )


# Turns come again: what is wrong for reasons of earlier turns alone needs states that stay.


@given(many_dialogues)
def test_states_that_stay_the_same_objects_count_as_those_that_are_equal(
    dialogues: list[list[twin.Turn]],
) -> None:
    goals = counting()
    for turns_of_one in dialogues:
        held = [turn for turn in turns_of_one for _ in range(3)]
        copies = [pickle.loads(pickle.dumps(turn)) for turn in held]
        assert goals.row(held) == goals.row(copies)


@given(many_dialogues, many_dialogues)
def test_rows_add_up_to_whole_numbers_in_any_order(
    some: list[list[twin.Turn]], others: list[list[twin.Turn]]
) -> None:
    goals = counting()
    both = table_of(goals, some + others).sums()
    reverse = table_of(goals, (some + others)[::-1]).sums()
    assert both == reverse
    assert all(number.is_integer() for number in both.values())


def test_a_turns_mean_over_slots_is_kept_exactly_up_to_sixteen_slots() -> None:
    goals = counting(closed=False)
    for slots_there in range(1, 17):
        for right in range(slots_there + 1):
            gold = {"d": {str(slot): A for slot in range(slots_there)}}
            state = {"d": {str(s): "a" if s < right else "x" for s in range(slots_there)}}
            found = scores_of(goals, [[(state, gold)]] * 3)["average_goal_accuracy", WHOLE]
            assert found == pytest.approx(100 * right / slots_there, rel=0, abs=1e-12)


def test_errors_are_counted_by_slot_and_wrong_values_by_turn() -> None:
    goals = counting(closed=False)
    gold: twin.Gold = {"hotel": {"area": ("", "a"), "name": B}, "train": {"day": A}}
    state = {"hotel": {"area": "x", "name": "b"}, "boat": {"size": "y"}}
    confusions: Counter[tuple[str, str, str]] = Counter()
    row = goals.row([(state, gold)] * 2, confusions)
    sums = Table.from_rows(goals.columns, [("d", row)]).sums()
    nothing = {**dict.fromkeys(("correct", "missing", "spurious", "wrong"), 0), "confusions": []}
    wrong = [{"gold": "a", "predicted": "x", "turns": 2}]
    assert goals.view({}, sums, confusions)["errors"] == {
        "hotel-area": {**nothing, "wrong": 2, "confusions": wrong},
        "hotel-name": {**nothing, "correct": 2},
        "train-day": {**nothing, "missing": 2},
        "other": {**nothing, "spurious": 2},
    }


def test_measures_can_be_sent_to_other_processes_and_have_intervals() -> None:
    goals = counting()
    dialogues: list[list[twin.Turn]] = [[({"hotel": {"area": v}}, IN_A)] for v in "abababbb"]
    table = table_of(goals, dialogues)
    measures = tuple(goals.measures(signed, table.sums()))
    scored = pickle.loads(pickle.dumps(ScoredTable(table, measures)))
    for score in scored.scores(Resampling(samples=50)):
        assert score.interval is not None
        assert score.value in score.interval
