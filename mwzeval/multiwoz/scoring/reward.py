"""A reward for reinforcement learning: Inform, Success, and what each turn did towards them.

A goal is a list of *needs*: one for every requested slot, and
one for every domain that can fail for its offer. The *progress* of a dialogue is the share of its
needs that are met, so it is 1 exactly when the dialogue succeeds. A turn's *credit* is the change
of progress that it made: the potential-based shaping of Ng, Harada and Russell (ICML 1999,
undiscounted), which leaves the best policy what it is without.

What responses say may count as well: whether the goal is kept by what was said and true (Grounded
Success), and how much of what is said the database does not have (hallucination) or has of what is
on offer (consistency).
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
    """What the parts of a reward count: Inform and Success (0 or 1 each), and the credits' sum.

    Of responses in words also Grounded Success (0 or 1), and the shares of what is said that are
    hallucinated and consistent; as less hallucination is better, its weight is to be negative.
    By default a dialogue is worth (Inform + Success) / 2, whose mean over a fold is a hundredth of
    what Combined adds to BLEU. Raises `UsageError` for a weight that is no finite number.
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
            # Whole numbers may be too large to be multiplied with.
            if not isinstance(weight, int | float) or not abs(weight) <= float_info.max:
                found = shorten(repr(weight))
                raise UsageError(f"the weight of {field.name} must be a finite number, not {found}")

    @property
    def grounded(self) -> bool:
        """Whether what responses say counts."""
        return any((self.grounded_success, self.hallucination, self.consistency))


DEFAULT_WEIGHTS = RewardWeights()


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


class MentionCounts(NamedTuple):
    """The numbers of values mentioned, of those that the database does not have, of those that
    could agree with what is on offer, and of those that do.
    """

    mentions: int = 0
    hallucinated: int = 0
    belonging: int = 0
    consistent: int = 0

    @classmethod
    def of(cls, judged: Sequence[tuple[bool, bool | None]]) -> MentionCounts:
        """Count values by whether the database has them and whether they agree (None: cannot)."""
        known, agrees = [known for known, _ in judged], [agrees for _, agrees in judged]
        belonging = len(agrees) - agrees.count(None)
        return cls(len(known), known.count(False), belonging, agrees.count(True))


@dataclass(frozen=True, slots=True)
class GroundedReward:
    """The mentions of a dialogue in words, compared with the database.

    `outcome` has Grounded Inform and Grounded Success; `turns` the counts of each turn.
    """

    outcome: DialogueOutcome
    turns: tuple[MentionCounts, ...]

    @property
    def counts(self) -> MentionCounts:
        """The counts of the whole dialogue."""
        return MentionCounts(*map(sum, zip(*self.turns, strict=True)))

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
        """Whether all requested slots were provided, too."""
        return self.outcome.success

    @property
    def per_turn(self) -> tuple[float, ...]:
        """The value spread over the turns: weighted credits, and the share that each turn has of
        hallucination and consistency; Inform and both kinds of Success with the last.
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
    """Return the reward of a dialogue, from what each of its turns does in the goal's domains.

    `grounded` is what its turns say, where that is weighted.
    """
    state = Progress(goal)
    to_offer = [d for d in goal if goal[d].needs_offer is not NeedsOffer.NEVER]
    needs = len(to_offer) + sum(len(of_domain.requested) for of_domain in goal.values())
    # Some domains are matched as long as nothing is offered.
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
