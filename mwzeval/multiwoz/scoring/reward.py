"""A reward for reinforcement learning from Inform, Success and the contribution of each turn.

A goal is a list of *needs*. There is one need for each requested slot, and one need for each domain
whose offer can be wrong. The *progress* of a dialogue is the proportion of needs that are met.
Progress is 1 if and only if the dialogue succeeds. The *credit* of a turn is the change of progress
in this turn. Rewarding this change is the potential-based shaping of Ng, Harada and Russell (ICML
1999, undiscounted), which does not change the optimal policy.

The content of responses can also have weights: Grounded Success (correct mentions satisfy the
goal), hallucination (the proportion of mentions that are not in the database), and consistency (the
proportion of values that agree with the offered venues).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from sys import float_info
from typing import NamedTuple

from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.scoring.goal_success import (
    DialogueOutcome,
    DomainGoal,
    DomainTurn,
    NeedsOffer,
    Progress,
)


@dataclass(frozen=True, slots=True)
class RewardWeights:
    """The weights of Inform and Success (each is 0 or 1) and of the sum of credits in a reward.

    For lexicalized responses, Grounded Success (0 or 1), hallucination and consistency
    (proportions) also have weights; the weight of hallucination should be negative. With the
    default weights, the value is (Inform + Success) / 2, which is also the first summand of
    Combined (100 times the mean over a fold). Raises `UsageError` for a weight that is not a finite
    number.
    """

    inform: float = 0.5
    success: float = 0.5
    progress: float = 0.0
    grounded_success: float = 0.0
    hallucination: float = 0.0
    consistency: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            weight = getattr(self, field.name)
            # An integer may be too large to be multiplied by a float.
            if not isinstance(weight, int | float) or not abs(weight) <= float_info.max:
                found = shorten(repr(weight))
                raise UsageError(f"the weight of {field.name} must be a finite number, not {found}")

    @property
    def grounded(self) -> bool:
        """Whether any grounded score has a weight."""
        return any((self.grounded_success, self.hallucination, self.consistency))


DEFAULT_WEIGHTS = RewardWeights()


@dataclass(frozen=True, slots=True)
class TurnReward:
    """The changes of offers and provided slots in one turn, in the order of the goal's domains.

    `offered` are domains whose offer became right in this turn. `lost` are domains whose offer was
    right (or not needed) before this turn and became wrong. `provided` are the requested (domain,
    slot) pairs that this turn provides for the first time. `credit`, between -1 and 1, is the
    number of `offered` and `provided` minus the number of `lost`, divided by the number of needs.
    """

    offered: tuple[str, ...]
    lost: tuple[str, ...]
    provided: tuple[tuple[str, str], ...]
    credit: float


class MentionCounts(NamedTuple):
    """The numbers of all mentions, of mentions that are not in the database, of mentions that can
    be compared with the offered venues, and of mentions that agree with these venues.
    """

    mentions: int = 0
    hallucinated: int = 0
    belonging: int = 0
    consistent: int = 0

    @classmethod
    def of(cls, judged: Sequence[tuple[bool, bool | None]]) -> MentionCounts:
        """Count mentions, given as pairs: is in the database, agrees with the offer (or None)."""
        known, agrees = [known for known, _ in judged], [agrees for _, agrees in judged]
        belonging = len(agrees) - agrees.count(None)
        return cls(len(known), known.count(False), belonging, agrees.count(True))


@dataclass(frozen=True, slots=True)
class GroundedReward:
    """The mentions of a dialogue with lexicalized responses, compared with the database.

    `outcome` has the results of Grounded Inform and Grounded Success, and `turns` has the counts of
    each turn.
    """

    outcome: DialogueOutcome
    turns: tuple[MentionCounts, ...]

    @property
    def counts(self) -> MentionCounts:
        """The counts of mentions, summed over the dialogue."""
        return MentionCounts(*map(sum, zip(*self.turns, strict=True)))

    @property
    def hallucination(self) -> float | None:
        """The proportion of mentions that are not in the database, or None without mentions."""
        counts = self.counts
        return counts.hallucinated / counts.mentions if counts.mentions else None

    @property
    def consistency(self) -> float | None:
        """The proportion of values that agree with the offered venues; None without values."""
        counts = self.counts
        return counts.consistent / counts.belonging if counts.belonging else None

    def shares(self, weights: RewardWeights) -> list[float]:
        """Return the contribution of each turn to the value of the reward. The contribution of
        Grounded Success is in the last turn.

        The contribution of a score without cases is 0.
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
    """The reward of a dialogue or of its first turns.

    `value` is the weighted sum of Inform, Success, all credits, and the grounded scores. `progress`
    is the proportion of needs that are met at the end; `progress` is 1 if and only if `success` is
    true. `grounded` is None if grounded scores have no weight.
    """

    value: float
    progress: float
    turns: tuple[TurnReward, ...]
    outcome: DialogueOutcome
    weights: RewardWeights
    grounded: GroundedReward | None = None

    @property
    def inform(self) -> bool:
        """Whether the final offer of every domain satisfies the goal."""
        return self.outcome.inform

    @property
    def success(self) -> bool:
        """Whether Inform is met and all requested slots were provided."""
        return self.outcome.success

    @property
    def per_turn(self) -> tuple[float, ...]:
        """The contribution of each turn to the value of the reward: weighted credit, hallucination
        and consistency. The contribution of the last turn includes Inform, Success and Grounded
        Success.
        """
        values = [self.weights.progress * turn.credit for turn in self.turns]
        if self.grounded is not None:
            shares = self.grounded.shares(self.weights)
            values = [value + share for value, share in zip(values, shares, strict=True)]
        if values:
            values[-1] += _final(self.outcome, self.weights)
        return tuple(values)


def reward(
    goal: Mapping[str, DomainGoal],
    turns: Iterable[Mapping[str, DomainTurn]],
    weights: RewardWeights = DEFAULT_WEIGHTS,
    grounded: GroundedReward | None = None,
) -> Reward:
    """Return the reward of a dialogue, given the acts of each turn in the domains of the goal.

    `grounded` has the grounded scores of the dialogue, if these scores have weights.
    """
    state = Progress(goal)
    to_offer = [d for d in goal if goal[d].needs_offer is not NeedsOffer.NEVER]
    needs = len(to_offer) + sum(len(of_domain.requested) for of_domain in goal.values())
    # Some domains are matched without an offer.
    met = met_before = sum(map(state.is_matched, to_offer))
    rewards = []
    for turn in turns:
        active = [domain for domain in goal if domain in turn]
        before = {d: (state.is_matched(d), frozenset(state.provided[d])) for d in active}
        state.advance(turn)
        offered = tuple(d for d in active if state.is_matched(d) and not before[d][0])
        lost = tuple(d for d in active if before[d][0] and not state.is_matched(d))
        provided = tuple(
            (domain, slot)
            for domain in active
            for slot in sorted(goal[domain].requested & state.provided[domain] - before[domain][1])
        )
        balance = len(offered) + len(provided) - len(lost)
        met += balance
        rewards.append(TurnReward(offered, lost, provided, balance / needs if needs else 0.0))
    outcome = state.outcome()
    gained = (met - met_before) / needs if needs else 0.0
    of_words = sum(grounded.shares(weights)) if grounded is not None else 0.0
    value = _final(outcome, weights) + weights.progress * gained + of_words
    progress = met / needs if needs else 1.0
    return Reward(value, progress, tuple(rewards), outcome, weights, grounded)


def _final(outcome: DialogueOutcome, weights: RewardWeights) -> float:
    return weights.inform * outcome.inform + weights.success * outcome.success
