"""Rewards: hand cases, outcomes of partial dialogues, and scores of `evaluate`."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import InputError, UsageError
from mwzeval.multiwoz.corpus import corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.scoring.goal_success import DomainGoal, DomainTurn, NeedsOffer, judge
from mwzeval.multiwoz.scoring.reward import (
    GroundedReward,
    MentionCounts,
    RewardWeights,
    TurnReward,
    reward,
)
from mwzeval.multiwoz.template_system import baseline_predictions, known_services
from mwzeval.multiwoz.training import reward_function
from tests.places import SAMPLE_SYSTEMS, sample_predictions

HOTEL = DomainGoal(frozenset({"1", "2"}), frozenset({"PHONE", "REFERENCE"}))


def act(found: str | None = None, *provided: str) -> DomainTurn:
    return DomainTurn(None if found is None else tuple(found.split()), frozenset(provided))


def test_credit_is_given_once_and_lost_credit_can_be_regained() -> None:
    turns = [act("1"), act("1 9", "PHONE"), act("8"), act("2", "PHONE"), act(None, "REFERENCE")]
    found = reward({"hotel": HOTEL}, [{"hotel": turn} for turn in turns])
    assert found.turns == (
        TurnReward(("hotel",), (), (), 1 / 3),
        TurnReward((), (), (("hotel", "PHONE"),), 1 / 3),
        TurnReward((), ("hotel",), (), -1 / 3),
        TurnReward(("hotel",), (), (), 1 / 3),
        TurnReward((), (), (("hotel", "REFERENCE"),), 1 / 3),
    )
    assert found.per_turn == (0, 0, 0, 0, 1)  # Inform and Success belong to the last turn
    with_credit = reward(
        {"hotel": HOTEL}, [{"hotel": turn} for turn in turns], RewardWeights(0, 0, 1)
    )
    assert with_credit.per_turn == pytest.approx([turn.credit for turn in found.turns])
    assert (found.inform, found.success, found.progress, found.value) == (True, True, 1, 1)


@pytest.mark.parametrize("weight", [math.nan, math.inf, 10**400, "1", None])
def test_weights_must_be_finite_numbers(weight: object) -> None:
    with pytest.raises(UsageError, match="weight of success"):
        RewardWeights(success=weight)  # type: ignore[arg-type]


IDS = st.frozensets(st.sampled_from("abc"), max_size=3)
SLOTS = st.frozensets(st.sampled_from(("PHONE", "POST", "REFERENCE")), max_size=3)
GOALS = st.dictionaries(
    st.sampled_from(("hotel", "train", "taxi")),
    st.builds(DomainGoal, IDS, SLOTS, st.sampled_from(NeedsOffer)),
    min_size=1,
)
ACTS = st.builds(DomainTurn, st.none() | IDS.map(lambda ids: tuple(sorted(ids))), SLOTS)


@given(GOALS, st.data())
def test_credits_equal_outcome_differences_between_dialogue_prefixes(
    goal: dict[str, DomainGoal], data: st.DataObject
) -> None:
    turn = st.dictionaries(st.sampled_from(sorted(goal)), ACTS)
    turns = data.draw(st.lists(turn, min_size=1, max_size=6))
    found = reward(goal, turns, RewardWeights(0.2, 0.3, 0.7))
    to_offer = [d for d in goal if goal[d].needs_offer != NeedsOffer.NEVER]
    needs = len(to_offer) + sum(len(wanted.requested) for wanted in goal.values())
    outcomes = [judge(goal, turns[:length]) for length in range(len(turns) + 1)]
    for (before, after), change in zip(pairwise(outcomes), found.turns, strict=True):
        kept, right = (
            {d for d in to_offer if outcome.domains[d].inform} for outcome in (before, after)
        )
        provided = [
            (domain, slot)
            for domain in goal
            for slot in sorted(before.domains[domain].missing - after.domains[domain].missing)
        ]
        balance = len(right) - len(kept) + len(provided)
        assert change == TurnReward(
            tuple(d for d in goal if d in right - kept),
            tuple(d for d in goal if d in kept - right),
            tuple(provided),
            balance / (needs or 1),
        )
    assert found.outcome == outcomes[-1]
    assert (found.progress == 1) == found.success
    assert sum(found.per_turn) == pytest.approx(found.value)
    gained = sum(turn.credit for turn in found.turns)
    assert found.value == pytest.approx(0.2 * found.inform + 0.3 * found.success + 0.7 * gained)


JUDGED = st.lists(
    st.lists(st.tuples(st.booleans(), st.none() | st.booleans()), max_size=4), min_size=1
)
NUMBERS = st.lists(st.integers(-4, 4), min_size=6, max_size=6)


@given(GOALS, JUDGED, st.booleans(), NUMBERS, NUMBERS)
def test_rewards_are_linear_in_weights_and_sum_over_turns(
    goal: dict[str, DomainGoal],
    judged: list[list[tuple[bool, bool | None]]],
    kept: bool,
    some: list[int],
    other: list[int],
) -> None:
    acts = [{next(iter(goal)): act("a", "PHONE")} for _ in judged]
    outcome = replace(judge(goal, acts), success=kept)
    said = GroundedReward(outcome, tuple(map(MentionCounts.of, judged)))

    def value(weights: list[int]) -> float:
        found = reward(goal, acts, RewardWeights(*weights), said)
        assert sum(found.per_turn) == pytest.approx(found.value)
        return found.value

    together = [2 * a + b for a, b in zip(some, other, strict=True)]
    assert value(together) == pytest.approx(2 * value(some) + value(other))

    values = [pair for turn in judged for pair in turn]
    unknown = [not known for known, _ in values]
    agree = [agrees for _, agrees in values if agrees is not None]
    assert said.hallucination == (sum(unknown) / len(unknown) if unknown else None)
    assert said.consistency == (sum(agree) / len(agree) if agree else None)
    expected = [float(kept), said.hallucination or 0, said.consistency or 0]
    single = [value([0, 0, 0, *weights]) for weights in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    assert single == pytest.approx(expected)


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_the_mean_reward_is_the_mean_of_inform_and_success(
    evaluator: Evaluator, system: str
) -> None:
    predictions = sample_predictions(system)
    before = deepcopy(predictions)
    rewards = [evaluator.reward(name, turns) for name, turns in predictions.items()]
    scores = evaluator.evaluate(predictions).metrics["success"]
    mean = 100 * sum(result.value for result in rewards) / len(rewards)
    expected = (scores["inform"]["total"] + scores["success"]["total"]) / 2
    assert mean == pytest.approx(expected)
    assert predictions == before


def test_batches_may_contain_a_dialogue_several_times(evaluator: Evaluator) -> None:
    good, weak = sample_predictions("good"), sample_predictions("no-phone")
    name = next(n for n in good if evaluator.reward(n, good[n]) != evaluator.reward(n, weak[n]))
    rollouts = [(name, good[name]), (name, weak[name]), (name, good[name][:2]), (name, good[name])]
    rewards = evaluator.rewards(iter(rollouts))
    assert rewards == [evaluator.reward(name, turns) for _, turns in rollouts]
    assert rewards[0] == rewards[3] != rewards[1]
    assert evaluator.rewards([]) == []


def test_all_errors_in_a_batch_are_reported_with_their_rollout(evaluator: Evaluator) -> None:
    good = sample_predictions("good")
    name, turns = next(iter(good.items()))
    with pytest.raises(InputError) as caught:
        evaluator.rewards([(name, [{}]), (name, turns), (name, turns * 9), ("smp9999", turns)])
    kinds = [(problem.file, problem.kind) for problem in caught.value.problems]
    assert kinds == [
        ("rollout 0", "missing-response"),
        ("rollout 2", "too-many-turns"),
        ("rollout 3", "unknown-dialogue"),
    ]


GROUNDED = RewardWeights(0, 0, 0, grounded_success=0.5, hallucination=-0.5, consistency=0.25)


def test_grounded_rewards_equal_the_evaluation_of_the_dialogue() -> None:
    evaluator = Evaluator(grounded=True, corpus="sample", responses="lexicalized")
    predictions = sample_predictions("lexicalized")
    for number, turns in enumerate(predictions.values()):
        if number % 3 == 0:
            turns[-1]["response"] += " Or call 01632999999, at the Zanzibar Grill Restaurant."
    rewards = evaluator.rewards(predictions.items(), weights=GROUNDED)
    for (name, turns), found in zip(predictions.items(), rewards, strict=True):
        scores = evaluator.evaluate({name: turns}).metrics["grounded"]
        grounded = found.grounded
        assert grounded is not None
        assert 100 * grounded.outcome.inform == scores["grounded_inform"]["total"]
        assert 100 * grounded.outcome.success == scores["grounded_success"]["total"]
        assert grounded.counts.mentions == scores["mentions"]["total"]
        rates = {"hallucination": grounded.hallucination, "consistency": grounded.consistency}
        for score, share in rates.items():
            percent = scores[score].get("total")
            assert share == (None if percent is None else pytest.approx(percent / 100))
        expected = 0.5 * grounded.outcome.success - 0.5 * (grounded.hallucination or 0)
        assert found.value == pytest.approx(expected + 0.25 * (grounded.consistency or 0))
        assert sum(found.per_turn) == pytest.approx(found.value)
        assert [turn.hallucinated for turn in grounded.turns[:-1]] == [0] * (len(turns) - 1)
    shares = {round(result.grounded.hallucination or 0, 3) for result in rewards if result.grounded}
    assert len(shares) > 3


@pytest.mark.parametrize("responses", ["auto", "delexicalized"])
@pytest.mark.parametrize("name", ["grounded_success", "hallucination", "consistency"])
def test_grounded_weights_require_explicitly_lexicalized_responses(
    responses: str, name: str
) -> None:
    """With detection, a policy could choose its evaluation by adding a bracket."""
    evaluator = Evaluator(corpus="sample", responses=responses)
    weights = RewardWeights(**{name: 1})
    rollout = next(iter(sample_predictions("lexicalized").items()))
    for call in (
        lambda: evaluator.reward(*rollout, weights=weights),
        lambda: evaluator.rewards([rollout], weights=weights),
        lambda: reward_function(evaluator, weights=weights),
    ):
        with pytest.raises(UsageError, match="lexicalized"):
            call()


def test_lexicalized_and_delexicalized_responses_get_equal_rewards() -> None:
    root = corpus_root("sample", None, offline=True)
    gold = load_fold("sample", "test", root)
    plain = Evaluator(corpus="sample", responses="delexicalized")
    in_words = Evaluator(corpus="sample", responses="lexicalized")
    filled = baseline_predictions(gold, services=known_services(root))
    expected = plain.rewards(baseline_predictions(gold).items())
    assert sum(result.success for result in expected) > 50
    assert sum(result.success for result in plain.rewards(filled.items())) < 5
    found = in_words.rewards(filled.items())
    assert [result.outcome for result in found] == [result.outcome for result in expected]
    assert [result.turns for result in found] == [result.turns for result in expected]


def test_rollouts_that_are_not_pairs_are_errors(evaluator: Evaluator) -> None:
    turns = sample_predictions("good")["smp0021"]
    for odd in ({"smp0021": turns}, [("smp0021", turns, 1)], [5]):
        with pytest.raises(InputError, match="rollout 0"):
            evaluator.rewards(odd)  # type: ignore[arg-type]
