"""Tracker, masks, actions and handcrafted policy follow the specification in random dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

import pytest

from mwzeval.pydial.acts import Act
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.simulator.rng import Rng
from tests.pydial.simulator.parts import Tracker
from tests.pydial.simulator.random_acts import DOMAIN_CASES, RandomActs, domain_named
from tests.pydial.simulator.specification_actions import handcrafted_acts, summary_acts
from tests.pydial.simulator.specification_summary import (
    asks_for_alternatives,
    forbidden,
    method_flag,
)
from tests.pydial.simulator.specification_tracker import METHODS, SpecifiedTracker

DIALOGUES = 36
EXCHANGES = 8
LARGEST_LIST = 5


def close(expected: object) -> object:
    return pytest.approx(expected, abs=1e-9)


def random_hypotheses(acts: RandomActs, system: Act) -> list[tuple[Act, float]]:
    """Return what may have been said, with scores that are not in proportion yet."""
    random = acts.random
    number = random.randint(1, random.choice([1, 1, 2, LARGEST_LIST]))
    said = [
        acts.user_act(system) if random.random() < 0.5 else acts.constraint_inform()
        for _ in range(number)
    ]
    return [(act, random.random() ** 2 + 0.01) for act in dict.fromkeys(said)]


def random_exchanges(
    domain: Domain, seed: str
) -> Iterator[tuple[Random, SpecifiedTracker, Tracker]]:
    """Yield trackers after each exchange."""
    random = Random(seed)
    tracker, specified = Tracker(domain, legacy=True), SpecifiedTracker(domain)
    for _ in range(DIALOGUES):
        acts = RandomActs(domain, random)
        tracker.begin()
        specified.begin()
        for number in range(EXCHANGES):
            system = acts.system_act() if number else Act("hello")
            hypotheses = random_hypotheses(acts, system)
            specified.update(system, hypotheses)
            tracker.update(system, hypotheses)
            yield random, specified, tracker


@pytest.mark.parametrize("code", DOMAIN_CASES)
def test_beliefs_are_those_specified(code: str) -> None:
    for _, specified, tracker in random_exchanges(domain_named(code), f"beliefs of {code}"):
        belief = tracker.belief
        for slot, goal in specified.goals.items():
            assert belief.slots[slot].values == close(goal), slot
            assert belief.slots[slot].none == close(specified.none[slot]), slot
        assert dict(zip(METHODS, belief.methods, strict=True)) == close(specified.methods)
        assert belief.discourse_acts == close(specified.discourse_acts)
        requested = {slot: belief.requested.get(slot, 0.0) for slot in specified.requestable}
        assert requested == close(specified.requested)
        assert tracker.method() == method_flag(specified)
        assert belief.last_offered == specified.last_offered
        assert belief.offered_since_none == specified.offered_since_none
        assert belief.nothing_found == specified.cannot_help
        assert belief.offered == specified.offered


@pytest.mark.parametrize("code", DOMAIN_CASES)
def test_actions_are_masked_as_specified(code: str) -> None:
    domain = domain_named(code)
    pending = False
    for random, specified, tracker in random_exchanges(domain, f"masks of {code}"):
        tracker.d.alternative_awaited = pending
        pending |= asks_for_alternatives(specified)
        masked = {*tracker.names} - tracker.allowed()
        assert masked == forbidden(specified, domain, pending=pending)
        taken = "inform_alternatives"
        if taken in masked or random.random() < 0.5:
            taken = random.choice([name for name in tracker.names if name not in masked])
        tracker.act(taken, Rng(0))
        pending &= taken != "inform_alternatives"
        assert tracker.d.alternative_awaited == pending


@pytest.mark.parametrize("code", DOMAIN_CASES)
def test_acts_are_those_specified(code: str) -> None:
    domain = domain_named(code)
    handcrafted = HandcraftedPolicy()
    unspecified = {"repeat", "restart"}
    for random, specified, tracker in random_exchanges(domain, f"acts in {code}"):
        rng = Rng(random.random())
        for slot, goal in specified.goals.items():
            unspecified -= {f"confirm_{slot}", f"select_{slot}"}
            unspecified |= {f"confirm_{slot}"} if len(goal) < 1 else set()
            unspecified |= {f"select_{slot}"} if len(goal) < 2 else set()
        for name in tracker.names:
            if name not in unspecified:
                act = tracker.act(name, rng)
                assert one_of(act, summary_acts(name, specified, domain)), (name, str(act))
        act = handcrafted.act(tracker.belief, rng)
        assert one_of(act, handcrafted_acts(specified, domain)), str(act)


def one_of(act: Act, possible: Iterable[Act]) -> bool:
    return any(act.says_the_same(other) for other in possible)
