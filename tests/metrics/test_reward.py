"""Rewards by hand, and against the outcomes of ever longer beginnings of a dialogue."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import UsageError
from mwzeval.metrics.goal_success import DomainGoal, DomainTurn, NeedsOffer, judge
from mwzeval.metrics.grounding import MentionCounts
from mwzeval.metrics.reward import GroundedReward, RewardWeights, TurnReward, reward

GROUNDED = ("grounded_success", "hallucination", "consistency")
HOTEL = DomainGoal(frozenset({"1", "2"}), frozenset({"PHONE", "REFERENCE"}))
TAXI = DomainGoal(frozenset(), frozenset({"PHONE"}), NeedsOffer.NEVER)
TRAIN = DomainGoal(frozenset({"TR1"}), frozenset({"REFERENCE"}), NeedsOffer.IF_MADE)


def act(found: str | None = None, *provided: str) -> DomainTurn:
    return DomainTurn(None if found is None else tuple(found.split()), frozenset(provided))


@pytest.mark.parametrize(
    ("goal", "turn", "offered", "lost", "provided", "credit"),
    [
        (HOTEL, act("1 2"), ("x",), (), (), 1 / 3),
        (HOTEL, act("1 9"), (), (), (), 0),
        (HOTEL, act("", "PHONE"), (), (), ("PHONE",), 1 / 3),
        (HOTEL, act(None, "ADDRESS"), (), (), (), 0),
        (HOTEL, act("1", "PHONE", "REFERENCE"), ("x",), (), ("PHONE", "REFERENCE"), 1),
        (TAXI, act("1"), (), (), (), 0),
        (TAXI, act(None, "PHONE"), (), (), ("PHONE",), 1),
        # A train that need not be offered is right until a wrong one is.
        (TRAIN, act("TR1"), (), (), (), 0),
        (TRAIN, act("TR1 TR2"), (), ("x",), (), -1 / 2),
        (TRAIN, act("TR2", "REFERENCE"), (), ("x",), ("REFERENCE",), 0),
    ],
)
def test_a_first_turn_earns_this(
    goal: DomainGoal,
    turn: DomainTurn,
    offered: tuple[str, ...],
    lost: tuple[str, ...],
    provided: tuple[str, ...],
    credit: float,
) -> None:
    (found,) = reward({"x": goal}, [{"x": turn}]).turns
    assert found == TurnReward(offered, lost, tuple(("x", slot) for slot in provided), credit)


def test_nothing_is_earned_twice_and_what_is_lost_can_be_won_back() -> None:
    turns = [act("1"), act("1", "PHONE"), act("8"), act("2", "PHONE"), act(None, "REFERENCE")]
    found = reward({"hotel": HOTEL}, [{"hotel": turn} for turn in turns])
    assert [turn.offered for turn in found.turns] == [("hotel",), (), (), ("hotel",), ()]
    assert [turn.lost for turn in found.turns] == [(), (), ("hotel",), (), ()]
    given_slots = [turn.provided for turn in found.turns]
    assert given_slots == [(), (("hotel", "PHONE"),), (), (), (("hotel", "REFERENCE"),)]
    assert [round(3 * turn.credit) for turn in found.turns] == [1, 1, -1, 1, 1]
    assert (found.inform, found.success, found.progress, found.value) == (True, True, 1, 1)


@pytest.mark.parametrize(
    ("weights", "value", "per_turn"),
    [
        (RewardWeights(), 0.5, (0, 0.5)),
        (RewardWeights(1, 10), 1, (0, 1)),
        (RewardWeights(0, 0, 1), 2 / 3, (1 / 3, 1 / 3)),
        (RewardWeights(1, 1, -3), -1, (-1, 0)),
    ],
)
def test_weights_say_what_counts(
    weights: RewardWeights, value: float, per_turn: tuple[float, ...]
) -> None:
    turns = [{"hotel": act("1")}, {"hotel": act(None, "PHONE")}]
    found = reward({"hotel": HOTEL}, turns, weights)
    assert found.value == pytest.approx(value)
    assert found.per_turn == pytest.approx(per_turn)


@pytest.mark.parametrize("weight", [math.nan, math.inf, 10**400, "1", None])
def test_a_weight_is_a_finite_number(weight: object) -> None:
    with pytest.raises(UsageError, match="weight of success"):
        RewardWeights(success=weight)  # type: ignore[arg-type]


def test_a_goal_that_needs_nothing_is_reached_from_the_start() -> None:
    found = reward({"taxi": DomainGoal(frozenset(), frozenset(), NeedsOffer.NEVER)}, [{}])
    assert (found.progress, found.success, found.turns[0].credit) == (1, True, 0)


IDS = st.frozensets(st.sampled_from("abc"), max_size=3)
SLOTS = st.frozensets(st.sampled_from(("PHONE", "POST", "REFERENCE")), max_size=3)
GOALS = st.dictionaries(
    st.sampled_from(("hotel", "train", "taxi")),
    st.builds(DomainGoal, IDS, SLOTS, st.sampled_from(NeedsOffer)),
    min_size=1,
)
ACTS = st.builds(DomainTurn, st.none() | IDS.map(lambda ids: tuple(sorted(ids))), SLOTS)


@given(GOALS, st.data())
def test_credits_are_what_outcomes_of_longer_beginnings_differ_by(
    goal: dict[str, DomainGoal], data: st.DataObject
) -> None:
    turn = st.dictionaries(st.sampled_from(sorted(goal)), ACTS)
    turns = data.draw(st.lists(turn, min_size=1, max_size=6))
    found = reward(goal, turns, RewardWeights(0.2, 0.3, 0.7))
    needs = 0
    for wanted in goal.values():
        needs += len(wanted.requested) + (wanted.needs_offer != NeedsOffer.NEVER)
    outcomes = [judge(goal, turns[:length]) for length in range(len(turns) + 1)]
    met = [
        sum(
            len(goal[domain].requested - result.missing)
            + (result.inform and goal[domain].needs_offer != NeedsOffer.NEVER)
            for domain, result in outcome.domains.items()
        )
        for outcome in outcomes
    ]
    for number, each in enumerate(found.turns):
        assert each.credit == pytest.approx((met[number + 1] - met[number]) / (needs or 1))
    assert found.outcome == outcomes[-1]
    assert (found.progress == 1) == found.success
    assert sum(found.per_turn) == pytest.approx(found.value)
    gained = (met[-1] - met[0]) / (needs or 1)
    assert found.value == pytest.approx(0.2 * found.inform + 0.3 * found.success + 0.7 * gained)


JUDGED = st.lists(
    st.lists(st.tuples(st.booleans(), st.none() | st.booleans()), max_size=4), min_size=1
)
WEIGHTS = st.lists(st.integers(-4, 4), min_size=6, max_size=6)


@given(GOALS, JUDGED, st.booleans(), WEIGHTS, WEIGHTS)
def test_a_value_is_linear_in_its_weights_and_shared_out_among_the_turns(
    goal: dict[str, DomainGoal],
    judged: list[list[tuple[bool, bool | None]]],
    kept: bool,
    one: list[int],
    other: list[int],
) -> None:
    acts = [{next(iter(goal)): act("a", "PHONE")} for _ in judged]
    outcome = replace(judge(goal, acts), success=kept)
    said = GroundedReward(outcome, tuple(map(MentionCounts.of, judged)))

    def value(weights: list[int]) -> float:
        found = reward(goal, acts, RewardWeights(*weights), said)
        assert sum(found.per_turn) == pytest.approx(found.value)
        return found.value

    together = [2 * a + b for a, b in zip(one, other, strict=True)]
    assert value(together) == pytest.approx(2 * value(one) + value(other))

    values = [pair for turn in judged for pair in turn]
    unknown = [not known for known, _ in values]
    agree = [agrees for _, agrees in values if agrees is not None]
    assert said.hallucination == (sum(unknown) / len(unknown) if unknown else None)
    assert said.consistency == (sum(agree) / len(agree) if agree else None)
    assert value([0, 0, 0, 1, 0, 0]) == kept
    assert value([0, 0, 0, 0, 1, 0]) == pytest.approx(said.hallucination or 0)
    assert value([0, 0, 0, 0, 0, 1]) == pytest.approx(said.consistency or 0)


def test_without_weights_what_is_said_counts_for_nothing() -> None:
    assert RewardWeights() == RewardWeights(0.5, 0.5, 0, 0, 0, 0)
    assert not RewardWeights(1, 2, 3).grounded
    assert all(RewardWeights(**{name: 1}).grounded for name in GROUNDED)
