"""`Evaluator.reward`: stateless, the numbers of `evaluate`, and the same wherever it runs."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from multiprocessing import get_context
from threading import Barrier
from typing import Any

import pytest

import mwzeval
from mwzeval.errors import InputError, UsageError
from mwzeval.metrics.reward import Reward, RewardWeights
from mwzeval.multiwoz.corpus.corpora import corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.template_system import baseline_predictions, known_services
from mwzeval.multiwoz.training import reward_function
from tests.places import SAMPLE_SYSTEMS, sample_predictions

WEIGHTS = RewardWeights(0.25, 0.5, 0.25)
PROCESSES = 8


def rewards_of(system: str, evaluator: Evaluator | None = None) -> list[Reward]:
    """Return a system's rewards; a process of its own has an evaluator of its own."""
    evaluator = evaluator or Evaluator(corpus="sample")
    return evaluator.rewards(sample_predictions(system).items(), weights=WEIGHTS)


def test_the_names_are_public() -> None:
    assert mwzeval.RewardWeights is RewardWeights
    assert mwzeval.Reward is Reward


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_the_mean_reward_is_inform_and_success(evaluator: Evaluator, system: str) -> None:
    predictions = sample_predictions(system)
    before = deepcopy(predictions)
    rewards = [evaluator.reward(name, turns) for name, turns in predictions.items()]
    scores = evaluator.evaluate(predictions)["success"]
    mean = 100 * sum(each.value for each in rewards) / len(rewards)
    expected = (scores["inform"]["total"] + scores["success"]["total"]) / 2
    assert mean == pytest.approx(expected)
    assert predictions == before


@pytest.mark.parametrize(
    "system",
    [
        *SAMPLE_SYSTEMS[:2],
        *(pytest.param(system, marks=pytest.mark.integration) for system in SAMPLE_SYSTEMS[2:]),
    ],
)
def test_a_turn_changes_what_its_reward_says(evaluator: Evaluator, system: str) -> None:
    seen = set()
    for name, turns in sample_predictions(system).items():
        whole = evaluator.reward(name, turns)
        before = evaluator.evaluate_dialogue(name, [{**turns[0], "response": ""}])
        for length, of_turn in enumerate(whole.turns, start=1):
            part = evaluator.reward(name, turns[:length])
            after = evaluator.evaluate_dialogue(name, turns[:length])
            assert part.outcome == after
            assert part.turns == whole.turns[:length]
            for domain, outcome in after.domains.items():
                gained = outcome.inform - before.domains[domain].inform
                assert gained == (domain in of_turn.offered) - (domain in of_turn.lost)
                new = before.domains[domain].missing - outcome.missing
                assert {slot for d, slot in of_turn.provided if d == domain} == new
                seen |= {f"inform {gained}"} | ({"provided"} if new else set())
            before = after
    if system == "good":
        assert seen == {"inform 0", "inform 1", "provided"}


def test_a_batch_may_hold_a_dialogue_many_times(evaluator: Evaluator) -> None:
    good, weak = sample_predictions("good"), sample_predictions("no-phone")
    name = next(n for n in good if evaluator.reward(n, good[n]) != evaluator.reward(n, weak[n]))
    rollouts = [(name, good[name]), (name, weak[name]), (name, good[name][:2]), (name, good[name])]
    rewards = evaluator.rewards(iter(rollouts))
    assert rewards == [evaluator.reward(name, turns) for _, turns in rollouts]
    assert rewards[0] == rewards[3] != rewards[1]
    assert evaluator.rewards([]) == []


def test_each_rollout_of_a_batch_is_judged_alone(evaluator: Evaluator) -> None:
    predictions = sample_predictions("weak-tracker")
    stateless = {n: [{"response": t["response"]} for t in p] for n, p in predictions.items()}
    mixed: list[tuple[str, Any]] = [*predictions.items(), *stateless.items()]
    expected = [evaluator.reward(name, turns) for name, turns in mixed]
    assert evaluator.rewards(mixed) == expected
    assert expected[: len(predictions)] != expected[len(predictions) :]


def test_all_problems_of_a_batch_are_reported_with_their_rollout(evaluator: Evaluator) -> None:
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


def test_what_is_no_pair_is_told(evaluator: Evaluator) -> None:
    turns = sample_predictions("good")["smp0021"]
    for odd in ({"smp0021": turns}, [("smp0021", turns, 1)], [5], ["ab"]):
        with pytest.raises(InputError, match="rollout 0"):
            evaluator.rewards(odd)  # type: ignore[arg-type]


@pytest.mark.integration
def test_two_threads_at_once_get_the_same_rewards(evaluator: Evaluator) -> None:
    expected = {system: rewards_of(system, evaluator) for system in SAMPLE_SYSTEMS}
    shared, start = Evaluator(corpus="sample"), Barrier(2)

    def work(systems: tuple[str, ...]) -> dict[str, list[Reward]]:
        start.wait()
        return {system: rewards_of(system, shared) for system in systems}

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, [SAMPLE_SYSTEMS, SAMPLE_SYSTEMS[::-1]]))
    assert found == [expected, expected]


@pytest.mark.integration
def test_eight_processes_at_once_get_the_same_rewards(evaluator: Evaluator) -> None:
    systems = [SAMPLE_SYSTEMS[number % len(SAMPLE_SYSTEMS)] for number in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        # Half of them make an evaluator of their own, half are sent this one.
        sent = [None if number % 2 else evaluator for number in range(PROCESSES)]
        found = list(pool.map(rewards_of, systems, sent))
    assert found == [rewards_of(system, evaluator) for system in systems]


def test_responses_in_words_are_worth_what_their_placeholders_are() -> None:
    root = corpus_root("sample", None, offline=True)
    gold = load_fold("sample", "test", root)
    plain = Evaluator(corpus="sample", responses="delexicalized")
    in_words = Evaluator(corpus="sample", responses="lexicalized")
    filled = baseline_predictions(gold, services=known_services(root))
    expected = plain.rewards(baseline_predictions(gold).items())
    assert sum(each.success for each in expected) > 50
    assert sum(each.success for each in plain.rewards(filled.items())) < 5
    found = in_words.rewards(filled.items())
    assert [each.outcome for each in found] == [each.outcome for each in expected]
    assert [each.turns for each in found] == [each.turns for each in expected]


GROUNDED = RewardWeights(0, 0, 0, grounded_success=0.5, hallucination=-0.5, consistency=0.25)


def test_the_grounded_part_is_what_an_evaluation_of_the_dialogue_says() -> None:
    evaluator = Evaluator(grounded=True, corpus="sample", responses="lexicalized")
    predictions = sample_predictions("lexicalized")
    for number, turns in enumerate(predictions.values()):
        if number % 3 == 0:
            turns[-1]["response"] += " Or call 01632999999, at the Zanzibar Grill Restaurant."
    rewards = evaluator.rewards(predictions.items(), weights=GROUNDED)
    for (name, turns), found in zip(predictions.items(), rewards, strict=True):
        scores = evaluator.evaluate({name: turns})["grounded"]
        grounded = found.grounded
        assert grounded is not None
        assert 100 * grounded.outcome.inform == scores["grounded_inform"]["total"]
        assert 100 * grounded.outcome.success == scores["grounded_success"]["total"]
        assert grounded.counts.mentions == scores["mentions"]["total"]
        said = {"hallucination": grounded.hallucination, "consistency": grounded.consistency}
        for score, share in said.items():
            percent = scores[score].get("total")
            assert share == (None if percent is None else pytest.approx(percent / 100))
        expected = 0.5 * grounded.outcome.success - 0.5 * (grounded.hallucination or 0)
        assert found.value == pytest.approx(expected + 0.25 * (grounded.consistency or 0))
        assert sum(found.per_turn) == pytest.approx(found.value)
    shares = {round(each.grounded.hallucination or 0, 3) for each in rewards if each.grounded}
    assert len(shares) > 3


def test_a_false_claim_costs_the_turn_that_makes_it() -> None:
    evaluator = Evaluator(corpus="sample", responses="lexicalized")
    name, turns = next(iter(sample_predictions("lexicalized").items()))
    before = evaluator.reward(name, turns, weights=GROUNDED)
    turns[1]["response"] += " Their number is 01632999999."
    after = evaluator.reward(name, turns, weights=GROUNDED)
    assert after.value < before.value
    assert after.grounded is not None
    assert [turn.hallucinated for turn in after.grounded.turns].index(1) == 1


@pytest.mark.parametrize("responses", ["auto", "delexicalized"])
@pytest.mark.parametrize("name", ["grounded_success", "hallucination", "consistency"])
def test_what_responses_are_must_be_said_for_grounded_weights(responses: str, name: str) -> None:
    """A policy could choose what it is judged as by a bracket."""
    evaluator = Evaluator(corpus="sample", responses=responses)
    weights = RewardWeights(**{name: 1})
    rollout = next(iter(sample_predictions("lexicalized").items()))
    with pytest.raises(UsageError, match="lexicalized"):
        evaluator.reward(*rollout, weights=weights)
    with pytest.raises(UsageError, match="lexicalized"):
        evaluator.rewards([rollout], weights=weights)
    with pytest.raises(UsageError, match="lexicalized"):
        reward_function(evaluator, weights=weights)
