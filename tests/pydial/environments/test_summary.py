"""What policies look at, against scans of the rows."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from mwzeval.pydial.dialogue.acts import DONTCARE, Act, Item, parse_act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import METHODS
from mwzeval.pydial.dialogue.tracker import Tracker
from mwzeval.pydial.environments.features import (
    Summarizer,
    Summary,
    asked_slots,
    is_said,
    method_of,
)
from tests.pydial.small_domain import CAFES, ROWS

SLOTS = CAFES.ontology.constraint_slots


def tracked(**values: tuple[str, float]) -> Belief:
    """Return the belief after values were heard with these confidences, one an exchange."""
    tracker = Tracker(CAFES)
    tracker.begin()
    for slot, (value, score) in values.items():
        act = Act("inform", (Item(slot, value),))
        tracker.update(Act("hello"), [(act, score), (Act("null"), 1 - score)])
    return tracker.belief


def summary(**values: tuple[str, float]) -> Summary:
    return Summarizer(CAFES)(tracked(**values))


def scanned(pairs: tuple[tuple[str, str], ...]) -> list[int]:
    """Return the five truth values about some accepted pairs."""
    wanted = {slot: value for slot, value in pairs if value != DONTCARE}
    rows = [row for row in ROWS if all(row[slot] == value for slot, value in wanted.items())]
    indifferent = {slot for slot, value in pairs if value == DONTCARE}
    told_apart = len(rows) > 1 and any(
        len({row[slot] for row in rows}) > 1
        for slot in CAFES.ontology.informable
        if slot not in {"name", "price", *indifferent}
    )
    number = len(rows)
    return [number == 0, number == 1, 2 <= number <= 4, number > 4, told_apart]


@pytest.mark.parametrize("chosen", [c for n in range(5) for c in combinations(SLOTS, n)])
def test_matches_of_the_likeliest_accepted_slots(chosen: tuple[str, ...]) -> None:
    values = CAFES.ontology.values_and_dontcare
    confidences = dict(zip(chosen, (0.7, 0.95, 0.8, 0.9), strict=False))
    for said in product(*(values[slot] for slot in chosen)):
        found = summary(**{s: (v, confidences[s]) for s, v in zip(chosen, said, strict=True)})
        ranked = sorted(zip(chosen, said, strict=True), key=lambda p: -confidences[p[0]])
        assert found.accepted == tuple(ranked)
        expected = [flag for k in range(1, 6) for flag in scanned(tuple(ranked[:k]))]
        assert list(found.matches) == expected
        assert found.discriminable == scanned(tuple(ranked))[-1]


@pytest.mark.parametrize(
    ("slot", "value", "accepted", "refused"),
    [
        ("quiet", "1", 0.53, 0.52),  # two values: more than 1 / 1.9
        ("area", "north", 0.51, 0.49),  # three: more than 1 / 2.9, and than no value
    ],
)
def test_slots_are_accepted_when_a_value_beats_none(
    slot: str, value: str, accepted: float, refused: float
) -> None:
    assert summary(**{slot: (value, accepted)}).count == 1
    assert summary(**{slot: (value, refused)}).count == 0


@pytest.mark.parametrize(
    ("masses", "clean", "legacy"),
    [
        ({"none": 1.0}, "byconstraints", "byconstraints"),
        ({"none": 0.85, "byalternatives": 0.15}, "byconstraints", "byalternatives"),
        ({"none": 0.6, "byname": 0.4}, "byconstraints", "byname"),
        ({"none": 0.3, "byname": 0.7}, "byname", "byname"),
        ({"byconstraints": 0.6, "byname": 0.4}, "byconstraints", "byconstraints"),
        ({"none": 0.5, "finished": 0.5}, "byconstraints", "byconstraints"),
        ({"none": 0.4, "finished": 0.6}, "finished", "finished"),
        ({"none": 0.2, "byname": 0.3, "finished": 0.5}, "byconstraints", "byconstraints"),
        ({"restart": 0.9, "none": 0.1}, "restart", "restart"),
    ],
)
def test_the_method_is_the_likeliest_and_in_legacy_never_none(
    masses: dict[str, float], clean: str, legacy: str
) -> None:
    belief = Belief(CAFES.ontology)
    belief.methods = [masses.get(method, 0.0) for method in METHODS]
    assert (method_of(belief), method_of(belief, legacy=True)) == (clean, legacy)


def test_asking_and_saying_need_more_than_half() -> None:
    tracker = Tracker(CAFES)
    tracker.begin()
    acts = [("request(phone)", 0.51), ("thankyou()", 0.49)]
    belief = tracker.update(Act("hello"), [(parse_act(act), score) for act, score in acts])
    assert asked_slots(belief) == ("phone",)
    assert not is_said(belief, "thankyou", "ack")
    acts = [("request(phone)", 0.49), ("thankyou()", 0.51)]
    belief = tracker.update(
        Act("inform", (Item("phone", "1"),)), [(parse_act(a), s) for a, s in acts]
    )
    assert asked_slots(belief) == ()
    assert is_said(belief, "thankyou", "ack")
