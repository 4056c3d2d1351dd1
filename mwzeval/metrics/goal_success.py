"""Inform and Success: did the system offer the right things and give all that was asked for?

Dataset-blind: a benchmark says what each turn offers and provides and which offers satisfy the
goal; here is what follows from that for a dialogue, and what sums of dialogues are worth.

Source: Budzianowski et al., EMNLP 2018, section 6; Nekvinda and Dušek, GEM 2021, section 4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from mwzeval.metrics.measure import Measure, Sign, percentage
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
        for domain, (found, provided) in turn.items():
            if found is not None:
                self.offered[domain] = offer_after(self.offered[domain], found)
            if provided:
                self.provided[domain] |= provided

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
        if turn:
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


class OutcomeRates:
    """Rows and measures of 0/1 outcomes of the parts of a goal, and of the whole goal.

    `cases` names the column that counts where the outcomes are asked for; `labels` are those of
    the outcomes, in their order; `parts` are the scopes beside the whole. `descriptions` are the
    outcomes that comparisons neither test nor rank.
    """

    def __init__(
        self,
        cases: str,
        labels: Mapping[str, str],
        parts: Iterable[str],
        descriptions: Collection[str] = (),
    ) -> None:
        self.cases = cases
        self._descriptions = descriptions
        self.labels = labels
        self.scopes = (WHOLE, *parts)
        self.columns = tuple(
            f"{name}.{scope}" for name in (cases, *labels) for scope in self.scopes
        )

    def row(self, kept: Mapping[str, Sequence[bool]]) -> dict[str, float]:
        """Return one unit's row; `kept` has a scope's outcomes in the order of `labels`."""
        row: dict[str, float] = {}
        for scope, results in kept.items():
            row[f"{self.cases}.{scope}"] = 1
            for name, result in zip(self.labels, results, strict=True):
                row[f"{name}.{scope}"] = result
        return row

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the outcomes in percent of the cases, for each scope that has cases."""
        for name, label in self.labels.items():
            for scope in self.scopes:
                outcome, cases = f"{name}.{scope}", f"{self.cases}.{scope}"
                if sums[cases]:
                    yield Measure(
                        name=name,
                        label=label,
                        signature=sign(name),
                        of=percentage(outcome, of=cases),
                        places=1,
                        scope=scope,
                        cases=cases,
                        outcome=outcome,
                        is_description=name in self._descriptions,
                    )


class GoalSuccess:
    """Rows and measures of Inform and Success over the given domains."""

    def __init__(self, domains: Iterable[str]) -> None:
        self._rates = OutcomeRates("goals", {"inform": "Inform", "success": "Success"}, domains)
        self.columns = self._rates.columns

    def row(self, outcome: DialogueOutcome) -> dict[str, float]:
        """Return one dialogue's counts: has the domain, informs, succeeds (each 0 or 1)."""
        kept: dict[str, Sequence[bool]] = {WHOLE: (outcome.inform, outcome.success)}
        for domain, result in outcome.domains.items():
            kept[domain] = (result.inform, bool(result.success))
        return self._rates.row(kept)

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield both in percent, of all dialogues and of those with each domain."""
        return self._rates.measures(sums, sign)
