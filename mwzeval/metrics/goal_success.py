"""Inform and Success: did the system offer the right things and give all that was asked for?

Dataset-blind: a benchmark says what each turn offers and provides and which offers satisfy the
goal; here is what follows from that for a dialogue, and what sums of dialogues are worth.

Source: Budzianowski et al., EMNLP 2018, section 6; Nekvinda and Dušek, GEM 2021, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypedDict

from mwzeval.scores.score import WHOLE


class NeedsOffer(Enum):
    """When a domain is matched without looking at the offer."""

    ALWAYS = "an offer that satisfies the goal is needed"
    IF_MADE = "no offer is as good as one that satisfies the goal"
    NEVER = "the domain is matched whatever is offered"


@dataclass(frozen=True, slots=True)
class DomainGoal:
    """What a user wants of one domain."""

    satisfying: frozenset[str]
    requested: frozenset[str]
    needs_offer: NeedsOffer = NeedsOffer.ALWAYS


class DomainTurn(NamedTuple):
    """What one system turn does in one domain.

    `found` is None when the turn offers nothing, else the venues that it may be offering.
    """

    found: tuple[str, ...] | None
    provided: frozenset[str]


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """How one domain of a dialogue's goal ended.

    `success` is None when Inform failed for the dialogue: Success is not asked then.
    """

    inform: bool
    success: bool | None
    offered: tuple[str, ...]
    provided: frozenset[str]
    missing: frozenset[str]


@dataclass(frozen=True, slots=True)
class DialogueOutcome:
    """Inform and Success of one dialogue and of each domain of its goal."""

    inform: bool
    success: bool
    domains: Mapping[str, DomainOutcome]


class Progress:
    """What has been offered and provided so far, in each domain of a goal.

    `offered` and `provided` say it by domain; they change with every turn.
    """

    __slots__ = ("goal", "offered", "provided")

    def __init__(self, goal: Mapping[str, DomainGoal]) -> None:
        self.goal = goal
        self.offered: dict[str, tuple[str, ...]] = dict.fromkeys(goal, ())
        self.provided: dict[str, set[str]] = {domain: set() for domain in goal}

    def advance(self, turn: Mapping[str, DomainTurn]) -> None:
        """Take in what the next turn does in the goal's domains."""
        for domain, act in turn.items():
            self.offered[domain] = offer_after(self.offered[domain], act.found)
            self.provided[domain] |= act.provided

    def outcome(self) -> DialogueOutcome:
        """Return the outcome of a dialogue that ends here."""
        matched = {
            domain: is_matched(wanted, self.offered[domain]) for domain, wanted in self.goal.items()
        }
        inform = all(matched.values())
        domains = {}
        for domain, wanted in self.goal.items():
            provided = self.provided[domain]
            missing = wanted.requested - provided
            domains[domain] = DomainOutcome(
                inform=matched[domain],
                success=not missing if inform else None,
                offered=self.offered[domain],
                provided=frozenset(provided),
                missing=missing,
            )
        success = inform and all(outcome.success for outcome in domains.values())
        return DialogueOutcome(inform, success, domains)


def judge(
    goal: Mapping[str, DomainGoal], turns: Iterable[Mapping[str, DomainTurn]]
) -> DialogueOutcome:
    """Return the outcome of a dialogue, from what each of its turns does in the goal's domains."""
    progress = Progress(goal)
    for turn in turns:
        progress.advance(turn)
    return progress.outcome()


def offer_after(offered: tuple[str, ...], found: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return what is on offer after a turn that may be offering `found`."""
    return found if found is not None and replaces(found, offered) else offered


def replaces(found: tuple[str, ...], offered: tuple[str, ...]) -> bool:
    """Tell whether the venues found by a turn that offers replace what is on offer.

    An offer that is still among the venues found stays as it is, so that a narrower offer made
    earlier is not widened by naming it again.
    """
    return not offered or not set(offered) <= set(found)


def is_matched(wanted: DomainGoal, offered: tuple[str, ...]) -> bool:
    """Tell whether the final offer of a domain satisfies the goal."""
    if wanted.needs_offer is NeedsOffer.NEVER:
        return True
    if not offered:
        return wanted.needs_offer is NeedsOffer.IF_MADE
    return wanted.satisfying.issuperset(offered)


class GoalSuccessScores(TypedDict):
    """Percent of the dialogues that have the domain (`total`: of all), unrounded."""

    inform: dict[str, float]
    success: dict[str, float]


class GoalSuccess:
    """Rows and rates of Inform and Success over the given domains."""

    def __init__(self, domains: Iterable[str]) -> None:
        self.scopes = (WHOLE, *domains)
        self.columns = tuple(
            f"{count}.{scope}" for count in ("goals", "inform", "success") for scope in self.scopes
        )

    def row(self, outcome: DialogueOutcome) -> dict[str, float]:
        """Return one dialogue's counts: has the domain, informs, succeeds (each 0 or 1)."""
        row: dict[str, float] = {
            f"goals.{WHOLE}": 1,
            f"inform.{WHOLE}": outcome.inform,
            f"success.{WHOLE}": outcome.success,
        }
        for domain, result in outcome.domains.items():
            row[f"goals.{domain}"] = 1
            row[f"inform.{domain}"] = result.inform
            row[f"success.{domain}"] = bool(result.success)
        return row

    def rates(self, what: str, sums: Mapping[str, float]) -> dict[str, float]:
        """Return unrounded percentages by scope, without domains that no goal has.

        `what` is `inform` or `success`.
        """
        return {
            scope: 100 * sums[f"{what}.{scope}"] / sums[f"goals.{scope}"]
            for scope in self.scopes
            if sums[f"goals.{scope}"]
        }

    def scores(self, sums: Mapping[str, float]) -> GoalSuccessScores:
        """Return the rates of both, unrounded."""
        return GoalSuccessScores(
            inform=self.rates("inform", sums), success=self.rates("success", sums)
        )
