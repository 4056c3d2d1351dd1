"""Tracker, masks, actions and handcrafted policy equal the specification in random dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.pydial.acts import HELLO, Act, Item, parse_act
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import TASKS, Task
from tests.pydial.simulator.parts import MASKED, Tracker
from tests.pydial.simulator.random_acts import DOMAIN_CASES, RandomActs, domain_named
from tests.pydial.simulator.specified_system import METHODS, SpecifiedSystem
from tests.pydial.small_domain import CAFES

DIALOGUES = 36
EXCHANGES = 8
LARGEST_LIST = 5
in_domains = pytest.mark.parametrize("code", DOMAIN_CASES)
in_both_modes = pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "clean"])


def close(expected: object) -> object:
    return pytest.approx(expected, abs=1e-9)


def random_hypotheses(acts: RandomActs, system: Act) -> list[tuple[Act, float]]:
    """Draw user acts with scores that are not normalised."""
    random = acts.random
    number = random.randint(1, random.choice([1, 1, 2, LARGEST_LIST]))
    said = [
        acts.user_act(system) if random.random() < 0.5 else acts.constraint_inform()
        for _ in range(number)
    ]
    return [(act, random.random() ** 2 + 0.01) for act in dict.fromkeys(said)]


def random_exchanges(
    domain: Domain, seed: str, *, legacy: bool
) -> Iterator[tuple[Random, SpecifiedSystem, Tracker]]:
    """Yield both trackers after each turn."""
    random = Random(seed)
    tracker, specified = Tracker(domain, legacy=legacy), SpecifiedSystem(domain, legacy=legacy)
    for _ in range(DIALOGUES):
        acts = RandomActs(domain, random)
        tracker.begin()
        specified.begin()
        for number in range(EXCHANGES):
            system = acts.system_act() if number else HELLO
            hypotheses = random_hypotheses(acts, system)
            specified.update(system, hypotheses)
            tracker.update(system, hypotheses)
            yield random, specified, tracker


@in_both_modes
@in_domains
def test_beliefs_match_the_specification(code: str, legacy: bool) -> None:
    domain = domain_named(code)
    for _, specified, tracker in random_exchanges(domain, f"beliefs of {code}", legacy=legacy):
        belief = tracker.belief
        for slot, goal in specified.goals.items():
            found = belief.slots[slot]
            assert (found.values, found.none) == (close(goal), close(specified.none[slot])), slot
            ranked = [*specified.ranked(slot), (0.0, ""), (0.0, "")][:2]
            assert [found.best.probability, found.second.probability] == close(
                [p for p, _ in ranked]
            )
        accepted = {slot: str(belief[slot].accepted) for slot in tracker.accepted()}
        assert accepted == specified.accepted()
        probabilities = [belief[slot].best.probability for slot in accepted]
        assert probabilities == sorted(probabilities, reverse=True)
        methods = dict(zip(METHODS, belief.methods, strict=True))
        assert (methods, tracker.method()) == (close(specified.methods), specified.method())
        assert belief.discourse_acts == close(specified.discourse_acts)
        requested = {slot: belief.requested.get(slot, 0.0) for slot in specified.requested}
        assert requested == close(specified.requested)
        assert belief.last_offered == specified.last_offered
        assert belief.offered_since_none == specified.offered_since_none
        assert belief.nothing_found == specified.cannot_help
        assert belief.offered == specified.offered
        assert list(map(bool, tracker.d.matches)) == specified.matches(tracker.accepted())


@in_both_modes
@in_domains
def test_action_masks_match_the_specification(code: str, legacy: bool) -> None:
    """A request for alternatives is pending until it is answered or no longer made."""
    pending = False
    exchanges = random_exchanges(domain_named(code), f"masks of {code}", legacy=legacy)
    for number, (random, specified, tracker) in enumerate(exchanges):
        looks_again = tracker.t.looks_again = number >= DIALOGUES * EXCHANGES // 2
        tracker.d.alternative_awaited = pending
        pending |= specified.asks_for_alternatives()
        masked = {*tracker.names} - tracker.allowed()
        assert masked == specified.forbidden(pending=pending)
        taken = "inform_alternatives"
        if taken in masked or random.random() < 0.5:
            taken = random.choice([name for name in tracker.names if name not in masked])
        tracker.act(taken, Rng(0))
        if taken == "inform_alternatives":
            pending = looks_again and specified.asks_for_alternatives()
        assert tracker.d.alternative_awaited == pending


@in_both_modes
@in_domains
def test_system_acts_match_the_specification(code: str, legacy: bool) -> None:
    handcrafted = HandcraftedPolicy()
    exchanges = random_exchanges(domain_named(code), f"acts in {code}", legacy=legacy)
    for random, specified, tracker in exchanges:
        rng = Rng(random.random())
        for name in tracker.names:
            act = tracker.act(name, rng)
            assert any(map(act.says_the_same, specified.acts(name))), (name, str(act))
        act = handcrafted.act(tracker.belief, rng)
        assert any(map(act.says_the_same, specified.handcrafted_acts())), str(act)


@pytest.mark.parametrize(
    ("said", "score", "accepted", "method"),
    [
        ('inform(quiet="1")', 0.53, 1, "byconstraints"),  # of two values: above 1 / 1.9
        ('inform(quiet="1")', 0.52, 0, "byconstraints"),
        ('inform(area="north")', 0.51, 1, "byconstraints"),  # of three values: more than no value
        ('inform(area="north")', 0.49, 0, "byconstraints"),
        ("bye()", 0.51, 0, "finished"),
        ("bye()", 0.5, 0, "byconstraints"),
    ],
)
def test_values_and_methods_are_accepted_above_a_threshold(
    said: str, score: float, accepted: int, method: str
) -> None:
    tracker = Tracker(CAFES)
    tracker.update(HELLO, [(parse_act(said), score), (Act("null"), 1 - score)])
    assert (tracker.d.count, tracker.method()) == (accepted, method)


def test_empty_hypothesis_lists_leave_the_belief_unchanged() -> None:
    tracker = Tracker(CAFES)
    before = tracker.update(HELLO, [(parse_act('inform(area="north")'), 0.7)]).slots
    assert tracker.update(HELLO, []).slots == before


def test_any_entity_may_be_offered_without_constraints() -> None:
    tracker, rng = Tracker(CAFES), Rng(1)
    offers = {str(tracker.act("inform", rng)) for _ in range(200)}
    assert len(offers) == len({row["name"] for row in CAFES.table.rows})


def test_offers_are_limited_to_the_maximum_number_of_slots() -> None:
    rng = Rng(1)
    said = parse_act('inform(area="north",food="cake",pricerange="cheap",quiet="1")')
    three = Tracker(CAFES, task=replace(MASKED, name="three", max_informed_slots=3))
    three.update(HELLO, [(said, 1.0)])
    offers = [three.act("inform", rng) for _ in range(200)]
    assert {len(act.items) for act in offers} == {4}
    assert len({frozenset(item.slot for item in act.items) for act in offers}) == 4


def allowed(task: Task) -> set[str]:
    tracker = Tracker(CAFES, task=task)
    tracker.update(HELLO, [(Act("bye"), 0.4), (Act("null"), 0.6)])
    return tracker.allowed()


def test_tasks_without_masks_allow_all_actions_except_repeat_and_restart() -> None:
    assert allowed(TASKS["CR-2"]) == {*Tracker(CAFES).names} - {"repeat", "restart"}


def test_random_policy_chooses_exactly_the_allowed_actions() -> None:
    mask, rng = np.array([False, True, False, True, True]), Rng(3)
    assert {RandomPolicy().act(None, mask, rng) for _ in range(200)} == {1, 3, 4}


VALUES = CAFES.ontology.values_and_dontcare
USER_ACTS = [
    "hello", "thankyou", "ack", "bye", "inform", "request", "reqalts", "reqmore", "confirm",
    "affirm", "negate", "deny", "repeat", "null", "silence", "restart",
]  # fmt: skip
SYSTEM_ACTS = ["hello", "request", "confirm", "select", "inform", "reqmore", "bye", "null"]
ITEMS = st.sampled_from([*CAFES.ontology.requestable, "type", ""]).flatmap(
    lambda slot: st.builds(
        Item,
        st.just(slot),
        st.sampled_from([None, "none", "dontcare", *VALUES.get(slot, ("x",))]),
        st.booleans(),
    )
)


def acts(names: list[str]) -> st.SearchStrategy[Act]:
    return st.builds(Act, st.sampled_from(names), st.lists(ITEMS, max_size=3).map(tuple))


HYPOTHESES = st.lists(st.tuples(acts(USER_ACTS), st.floats(0.01, 0.99)), min_size=1, max_size=5)


@given(st.booleans(), st.lists(st.tuples(acts(SYSTEM_ACTS), HYPOTHESES), min_size=1, max_size=6))
def test_beliefs_are_distributions_after_any_acts(
    legacy: bool, exchanges: list[tuple[Act, list[tuple[Act, float]]]]
) -> None:
    tracker = Tracker(CAFES, legacy=legacy)
    for system, hypotheses in exchanges:
        belief = tracker.update(system, hypotheses)
        for slot, marginal in belief.slots.items():
            assert set(marginal.values) <= {*VALUES[slot], "x", "none"}
            assert sum(marginal.values.values()) + marginal.none == pytest.approx(1)
            assert min([marginal.none, *marginal.values.values()]) >= 0
        assert sum(belief.methods) == pytest.approx(1)
        assert sum(belief.discourse_acts.values()) == pytest.approx(1)
        assert set(belief.requested) <= set(CAFES.ontology.requestable)
        assert all(0 <= p <= 1 for p in belief.requested.values())
