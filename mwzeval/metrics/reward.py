"""A reward for reinforcement learning: Inform, Success, and what each turn did towards them.

Dataset-blind, as `goal_success` is. A goal is a list of *needs*: one for every requested slot, and
one for every domain that can fail for its offer. The *progress* of a dialogue is the share of its
needs that are met, so it is 1 exactly when the dialogue succeeds. A turn's *credit* is the change
of progress that it made: the potential-based shaping of Ng, Harada and Russell (ICML 1999,
undiscounted), which leaves the best policy what it is without.

What responses say may count as well: whether the goal is kept by what was said and true (Grounded
Success), and how much of what is said the database does not have (hallucination) or has of what is
on offer (consistency).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from sys import float_info
from typing import Any, TypeVar

from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.metrics.goal_success import (
    DialogueOutcome,
    DomainGoal,
    DomainTurn,
    NeedsOffer,
    Progress,
    is_matched,
)
from mwzeval.metrics.grounding import MentionCounts


@dataclass(frozen=True, slots=True)
class RewardWeights:
    """What the parts of a reward count: Inform and Success (0 or 1 each), and the credits' sum.

    Of responses in words also Grounded Success (0 or 1), and the shares of what is said that are
    hallucinated and consistent; as less hallucination is better, its weight is to be negative.
    By default a dialogue is worth (Inform + Success) / 2, whose mean over a fold is a hundredth of
    what Combined has beside BLEU. Raises `UsageError` for a weight that is no finite number.
    """

    inform: float = 0.5
    success: float = 0.5
    progress: float = 0.0
    grounded_success: float = 0.0
    hallucination: float = 0.0
    consistency: float = 0.0

    def __post_init__(self) -> None:
        for each in fields(self):
            weight = getattr(self, each.name)
            # Whole numbers may be too large to be multiplied with.
            if not isinstance(weight, int | float) or not abs(weight) <= float_info.max:
                said = shorten(repr(weight))
                raise UsageError(f"the weight of {each.name} must be a finite number, not {said}")

    @property
    def grounded(self) -> bool:
        """Whether what responses say counts."""
        return any((self.grounded_success, self.hallucination, self.consistency))


DEFAULT_WEIGHTS = RewardWeights()
Rollout = TypeVar("Rollout")


@dataclass(frozen=True, slots=True)
class TurnReward:
    """What one turn changed, in the order of the goal's domains.

    `offered` are domains whose offer is right since this turn and was not before, `lost` those
    whose offer was right (or not needed) and is wrong now, `provided` the (domain, slot) pairs
    that were requested and are given for the first time. `credit` is their balance, each one over
    the number of the goal's needs: between -1 and 1.
    """

    offered: tuple[str, ...]
    lost: tuple[str, ...]
    provided: tuple[tuple[str, str], ...]
    credit: float


@dataclass(frozen=True, slots=True)
class GroundedReward:
    """What a dialogue in words says, held against the database.

    `outcome` has Grounded Inform and Grounded Success; `turns` what each turn says, counted.
    """

    outcome: DialogueOutcome
    turns: tuple[MentionCounts, ...]

    @property
    def counts(self) -> MentionCounts:
        """What the dialogue says, counted."""
        return MentionCounts.total(self.turns)

    @property
    def hallucination(self) -> float | None:
        """The share of values and venues that the database does not have; None of none."""
        counts = self.counts
        return counts.hallucinated / counts.mentions if counts.mentions else None

    @property
    def consistency(self) -> float | None:
        """The share of values that agree with what is on offer; None of none."""
        counts = self.counts
        return counts.consistent / counts.belonging if counts.belonging else None

    def shares(self, weights: RewardWeights) -> list[float]:
        """Return what each turn adds to a reward's value; Grounded Success comes with the last.

        A score without any cases adds nothing.
        """
        total = self.counts
        shares = [
            weights.hallucination * turn.hallucinated / max(1, total.mentions)
            + weights.consistency * turn.consistent / max(1, total.belonging)
            for turn in self.turns
        ]
        if shares:
            shares[-1] += weights.grounded_success * self.outcome.success
        return shares


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of a dialogue, or of the turns of it that there are so far.

    `value` is the weighted sum of Inform, Success, all credits, and the grounded scores.
    `progress` is the share of the goal's needs that are met at the end, 1 exactly if `success`.
    `grounded` is None where it has no weight.
    """

    value: float
    progress: float
    turns: tuple[TurnReward, ...]
    outcome: DialogueOutcome
    weights: RewardWeights
    grounded: GroundedReward | None = None

    @property
    def inform(self) -> bool:
        """Whether every domain's final offer satisfies the goal."""
        return self.outcome.inform

    @property
    def success(self) -> bool:
        """Whether, beside that, all requested slots were provided."""
        return self.outcome.success

    @property
    def per_turn(self) -> tuple[float, ...]:
        """The value spread over the turns: weighted credits, and the share that each turn has of
        hallucination and consistency; Inform and both kinds of Success with the last.
        """
        values = [self.weights.progress * turn.credit for turn in self.turns]
        if self.grounded is not None:
            said = self.grounded.shares(self.weights)
            values = [value + share for value, share in zip(values, said, strict=True)]
        if values:
            values[-1] += _final(self.outcome, self.weights)
        return tuple(values)


def reward(
    goal: Mapping[str, DomainGoal],
    turns: Iterable[Mapping[str, DomainTurn]],
    weights: RewardWeights = DEFAULT_WEIGHTS,
    grounded: GroundedReward | None = None,
) -> Reward:
    """Return the reward of a dialogue, from what each of its turns does in the goal's domains.

    `grounded` is what its turns say, where that is weighted.
    """
    needs = sum(_needs(wanted) for wanted in goal.values())
    state = Progress(goal)
    met = met_before = _met(state)
    rewards = []
    for turn in turns:
        matched_before = {domain: _is_right(state, domain) for domain in turn}
        given_before = {domain: frozenset(state.provided[domain]) for domain in turn}
        state.advance(turn)
        active = [domain for domain in goal if domain in turn]
        offered = [d for d in active if _is_right(state, d) and not matched_before[d]]
        lost = [d for d in active if matched_before[d] and not _is_right(state, d)]
        provided = [
            (domain, slot)
            for domain in active
            for slot in sorted(goal[domain].requested & state.provided[domain])
            if slot not in given_before[domain]
        ]
        balance = len(offered) + len(provided) - len(lost)
        met += balance
        credit = balance / needs if needs else 0.0
        rewards.append(TurnReward(tuple(offered), tuple(lost), tuple(provided), credit))
    outcome = state.outcome()
    gained = (met - met_before) / needs if needs else 0.0
    said = sum(grounded.shares(weights)) if grounded is not None else 0.0
    return Reward(
        value=_final(outcome, weights) + weights.progress * gained + said,
        progress=met / needs if needs else 1.0,
        turns=tuple(rewards),
        outcome=outcome,
        weights=weights,
        grounded=grounded,
    )


def collected(
    reward_of: Callable[[Rollout, str], Reward], rollouts: Iterable[Rollout], noun: str
) -> list[Reward]:
    """Return the rewards of rollouts; `reward_of` takes one and what to call it in messages.

    Raises:
        InputError: With the problems of all of them.
    """
    rewards: list[Reward] = []
    problems: list[Problem] = []
    for number, rollout in enumerate(rollouts):
        try:
            rewards.append(reward_of(rollout, f"{noun} {number}"))
        except InputError as error:  # noqa: PERF203 - each rollout's problems are wanted
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return rewards


def checked_pair(rollout: Any, place: str) -> tuple[Any, Any]:
    """Return a rollout's dialogue id and turns. Raises `InputError` when it is no pair of these."""
    if isinstance(rollout, list | tuple) and len(rollout) == 2:
        return rollout[0], rollout[1]
    message = (
        f"expected a pair (dialogue id, turns), not {shorten(repr(rollout))} (of predictions, "
        "dialogue id → turns, take the `.items()`)"
    )
    raise InputError([Problem("shape", message, file=place)])


def _needs(wanted: DomainGoal) -> int:
    return len(wanted.requested) + (wanted.needs_offer is not NeedsOffer.NEVER)


def _met(state: Progress) -> int:
    """Return how many needs are met: some domains are right as long as nothing is offered."""
    return sum(
        len(wanted.requested & state.provided[domain])
        + (wanted.needs_offer is not NeedsOffer.NEVER and _is_right(state, domain))
        for domain, wanted in state.goal.items()
    )


def _is_right(state: Progress, domain: str) -> bool:
    return is_matched(state.goal[domain], state.offered[domain])


def _final(outcome: DialogueOutcome, weights: RewardWeights) -> float:
    return weights.inform * outcome.inform + weights.success * outcome.success
