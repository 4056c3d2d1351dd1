"""Joint goal accuracy: hand cases, and a twin by the definitions."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.measure import Resampling, ScoredTable, observed
from mwzeval.multiwoz.tracking import CHOICES, Convention, JointGoals
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from tests.examples import examples
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


def test_scores_of_the_documented_example_are_correct() -> None:
    turns: list[twin.Turn] = [
        ({}, {"hotel": {"area": A}}),
        ({"hotel": {"name": "a"}}, {"hotel": {"area": A, "name": A}}),
        (
            {"hotel": {"name": "a"}, "train": {"day": "a"}},
            {"hotel": {"area": A, "name": A}, "train": {"day": A}},
        ),
    ]
    found = scores_of(counting(), [turns])
    names = ("joint_goal_accuracy", "flexible_goal_accuracy", "mean_turn_f1")
    assert [found[name, WHOLE] for name in names] == pytest.approx(
        [0, 100 * (2 - exp(-1 / 2) - exp(-1)) / 3, 100 * (0 + 2 / 3 + 4 / 5) / 3]
    )


values = st.sampled_from("ab")
slots = {d: st.sampled_from(names) for d, names in SLOTS.items()}
predicted_states = st.fixed_dictionaries(
    {}, optional={d: st.dictionaries(names, values, min_size=1) for d, names in slots.items()}
)
accepted = st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=2, unique=True).filter(
    lambda found: found != [""]
)
gold_states = st.fixed_dictionaries(
    {}, optional={d: st.dictionaries(names, accepted, min_size=1) for d, names in slots.items()}
)


@st.composite
def dialogue(draw: st.DrawFn) -> list[twin.Turn]:
    """Draw turns from a few repeated states, some of them right."""
    gold = draw(st.lists(gold_states, min_size=1, max_size=3))
    right = [
        {d: {slot: max(values) for slot, values in part.items()} for d, part in state.items()}
        for state in gold
    ]
    predicted = right + draw(st.lists(predicted_states, max_size=2))
    turn = st.tuples(st.sampled_from(predicted), st.sampled_from(gold))
    return draw(st.lists(turn, min_size=1, max_size=6))


many_dialogues = st.lists(dialogue(), min_size=1, max_size=4)
rates = st.floats(0, 3)


@examples(200)
@given(many_dialogues, st.sampled_from(DOMAIN_TURNS), st.booleans(), rates)
def test_scores_equal_a_reference_implementation(
    dialogues: list[list[twin.Turn]], domain_turns: str, closed: bool, rate: float
) -> None:
    slots = 30 if closed else None
    expected = twin.scores(dialogues, list(SLOTS), is_right, domain_turns, slots, rate)
    found = scores_of(counting(domain_turns, closed=closed, rate=rate), dialogues)
    percent = {name: 100 * float(share) for name, share in expected.items()}
    assert found == pytest.approx(percent, abs=1e-4)


@given(many_dialogues)
def test_identical_and_equal_state_objects_are_counted_alike(
    dialogues: list[list[twin.Turn]],
) -> None:
    goals = counting()
    for turns_of_one in dialogues:
        held = [turn for turn in turns_of_one for _ in range(3)]
        copies = [pickle.loads(pickle.dumps(turn)) for turn in held]
        assert goals.row(held) == goals.row(copies)


@given(many_dialogues, many_dialogues)
def test_rows_sum_to_the_same_integers_in_any_order(
    some: list[list[twin.Turn]], others: list[list[twin.Turn]]
) -> None:
    goals = counting()
    both = table_of(goals, some + others).sums()
    reverse = table_of(goals, (some + others)[::-1]).sums()
    assert both == reverse
    assert all(number.is_integer() for number in both.values())


def test_average_goal_accuracy_is_exact_for_up_to_sixteen_slots() -> None:
    goals = counting(closed=False)
    for slots_there in range(1, 17):
        for right in range(slots_there + 1):
            gold = {"d": {str(slot): A for slot in range(slots_there)}}
            state = {"d": {str(s): "a" if s < right else "x" for s in range(slots_there)}}
            found = scores_of(goals, [[(state, gold)]] * 3)["average_goal_accuracy", WHOLE]
            assert found == pytest.approx(100 * right / slots_there, rel=0, abs=1e-12)


def test_state_errors_are_counted_by_slot_and_wrong_values_by_turn() -> None:
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


def test_measures_can_be_pickled_and_have_confidence_intervals() -> None:
    goals = counting()
    gold: twin.Gold = {"hotel": {"area": A}}
    dialogues: list[list[twin.Turn]] = [[({"hotel": {"area": v}}, gold)] for v in "abababbb"]
    table = table_of(goals, dialogues)
    measures = tuple(goals.measures(signed, table.sums()))
    scored = pickle.loads(pickle.dumps(ScoredTable(table, measures)))
    for score in scored.scores(Resampling(samples=50)):
        assert score.interval is not None
        assert score.value in score.interval
