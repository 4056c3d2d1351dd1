"""What the original believed, masked and did, exchange by exchange, from its own traces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from mwzeval.pydial.acts import HELLO, Act, parse_act
from mwzeval.pydial.domain import METHODS
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import TASKS
from tests.pydial.real_domains import domain, task_name, traces
from tests.pydial.simulator.parts import Tracker

pytestmark = pytest.mark.integration
EXCHANGES = 464
DRAWS = 4000
"""Enough to come by each of the acts that are drawn at random (5 slots of 6, any of 9 slots)."""


class Replayed(NamedTuple):
    place: str
    belief: dict[str, dict[str, float]]
    features: dict[str, Any]
    masked: list[str]
    act: Act
    gold: dict[str, Any]


def believed(belief: Belief) -> dict[str, dict[str, float]]:
    return {
        **{slot: {**of.values, "**NONE**": of.none} for slot, of in belief.slots.items()},
        "method": dict(zip(METHODS, belief.methods, strict=True)),
        "discourseAct": belief.discourse_acts,
        "requested": belief.requested,
    }


def act_like(gold: Act, belief: Belief, policy: HandcraftedPolicy, rng: Rng) -> Act:
    """Return what the policy does, in one of the ways that it leaves to chance."""
    act = policy.act(belief, rng)
    for _ in range(DRAWS):
        if act.says_the_same(gold):
            break
        act = policy.act(belief, rng)
    return act


@cache
def replayed() -> tuple[Replayed, ...]:
    return tuple(replay())


def replay() -> Iterator[Replayed]:
    trackers: dict[str, Tracker] = {}
    for record in traces():
        task = TASKS[task_name(record["task"])]
        of = domain(task.domain)
        # The original remembers across dialogues that there was an offer.
        tracker = trackers.setdefault(task.name, Tracker(of, legacy=True, task=task))
        tracker.begin()
        policy, rng = HandcraftedPolicy(), Rng(0)
        last = HELLO
        for gold in record["turns"][1:]:
            heard = [(parse_act(text), score) for text, score in gold["nbest"]]
            belief = tracker.update(last, heard)
            last = parse_act(gold["recognised_policy_act"])
            yield Replayed(
                f"{record['task']} {record['index']}:{gold['turn']}",
                believed(belief),
                {
                    "inform_info": list(map(int, tracker.d.matches)),
                    "informedVenueSinceNone": list(belief.offered_since_none),
                    "lastActionInformNone": belief.nothing_found,
                    "lastInformedVenue": belief.last_offered,
                    "offerHappened": belief.offered,
                },
                [name for name, may in zip(tracker.names, tracker.mask(), strict=True) if not may],
                act_like(last, belief, policy, rng),
                gold,
            )


def test_all_exchanges_are_replayed() -> None:
    assert len(replayed()) == EXCHANGES


def test_beliefs_are_those_of_the_original() -> None:
    for exchange in replayed():
        gold = exchange.gold["belief"]
        assert set(exchange.belief) == set(gold), exchange.place
        for slot, mine in exchange.belief.items():
            for value in {*mine, *gold[slot]}:
                assert mine.get(value, 0.0) == pytest.approx(
                    gold[slot].get(value, 0.0), abs=1e-5
                ), (exchange.place, slot, value)


def test_features_are_those_of_the_original() -> None:
    for exchange in replayed():
        assert exchange.features == exchange.gold["features"], exchange.place


def test_masks_are_those_of_the_original() -> None:
    for exchange in replayed():
        assert exchange.masked == exchange.gold["masked_summary_actions"], exchange.place


def test_the_handcrafted_policy_acts_as_the_original() -> None:
    for exchange in replayed():
        gold = parse_act(exchange.gold["recognised_policy_act"])
        assert exchange.act.says_the_same(gold), (exchange.place, exchange.act, gold)
