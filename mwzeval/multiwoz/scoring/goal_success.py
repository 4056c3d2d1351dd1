"""Inform and Success: does the system offer the right venues and give all that is requested?

A domain is matched when the last offer made in it satisfies the goal. Inform is that all domains of
the goal are matched; Success is, in addition, that all requested slots are provided.

Source: Budzianowski et al., EMNLP 2018, section 6; Nekvinda and Dušek, GEM 2021, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.schema import ALL_DOMAINS, OFFERED_BY, PROVIDABLE
from mwzeval.scores.score import WHOLE

_MARKERS = frozenset(OFFERED_BY.values())
WITHOUT_OFFER = frozenset({"taxi", "police", "hospital"})
"""Domains without a choice of venues."""


class NeedsOffer(Enum):
    """When a domain is matched without looking at the offer."""

    ALWAYS = "an offer that satisfies the goal is needed"
    IF_MADE = "no offer is as good as one that satisfies the goal"
    NEVER = "the domain is matched whatever is offered"


@dataclass(frozen=True, slots=True)
class DomainGoal:
    """The venues that satisfy a user's constraints in one domain, and the requested slots."""

    satisfying: frozenset[str]
    requested: frozenset[str]
    needs_offer: NeedsOffer = NeedsOffer.ALWAYS

    def is_matched(self, offered: tuple[str, ...]) -> bool:
        """Return whether the final offer satisfies the goal."""
        if self.needs_offer is NeedsOffer.NEVER:
            return True
        if not offered:
            return self.needs_offer is NeedsOffer.IF_MADE
        return self.satisfying.issuperset(offered)


def prepare_goal(goal: Mapping[str, Goal], database: Database) -> dict[str, DomainGoal]:
    """Return the goal of each domain, with the venues that satisfy it looked up."""
    return {
        domain: DomainGoal(
            satisfying=frozenset(database.find(domain, of_domain.informable)),
            requested=of_domain.requestable,
            needs_offer=_needs_offer(domain, of_domain),
        )
        for domain, of_domain in goal.items()
    }


def _needs_offer(domain: str, goal: Goal) -> NeedsOffer:
    if domain in WITHOUT_OFFER or "name" in goal.informable:
        # Whoever asks for a venue by name needs no offer of one.
        return NeedsOffer.NEVER
    if domain == "train" and "TRAINID" not in goal.requestable:
        return NeedsOffer.IF_MADE
    return NeedsOffer.ALWAYS


class NormalizedTurn(NamedTuple):
    """A turn ready for scoring; `response` holds canonical placeholders (spacing as it came)."""

    response: str
    state: State
    active_domains: tuple[str, ...]


class DomainTurn(NamedTuple):
    """What one system turn does in one domain.

    `found` is None when the turn offers nothing, else the venues that it may be offering.
    """

    found: tuple[str, ...] | None
    provided: frozenset[str]


def dialogue_acts(
    goal: Mapping[str, object],
    turns: Iterable[NormalizedTurn],
    booked: Iterable[frozenset[str]],
    database: Database,
) -> Iterator[dict[str, DomainTurn]]:
    """Yield what each turn does in the active domains of the goal.

    `booked` are the domains booked by each turn in the gold annotation: a reference number given
    before cannot be the right one.
    """
    for turn, booked_domains in zip(turns, booked, strict=False):
        found = placeholders_in(turn.response)
        acts = {}
        if found.anything:
            for domain in turn.active_domains:
                if domain in goal:
                    given = found.provided if domain in booked_domains else found.before_booking
                    acts[domain] = DomainTurn(found_by(domain, turn, database), given)
        yield acts


class Placeholders(NamedTuple):
    """The placeholders that Inform and Success look for, anywhere in a canonical response.

    `provided` are slots, `before_booking` those of them that count where nothing is booked.
    """

    anything: bool
    provided: frozenset[str]
    before_booking: frozenset[str]


@lru_cache(maxsize=2**14)
def placeholders_in(response: str) -> Placeholders:
    """Return the placeholders of a canonical response."""
    provided = frozenset([slot for slot in PROVIDABLE if slot in response])
    offers = any(marker in response for marker in _MARKERS)
    return Placeholders(offers or bool(provided), provided, provided - {"REFERENCE"})


def found_by(domain: str, turn: NormalizedTurn, database: Database) -> tuple[str, ...] | None:
    """Return the venues that a turn may be offering, None when it offers nothing."""
    marker = OFFERED_BY.get(domain)
    if marker is None or marker not in turn.response:
        return None
    if domain not in turn.state:
        return ()
    # (odd) The query normalizes once more, which is not always the same as once: "1:30 pm." is
    # "1:30pm" in the state and 13:30 in the query.
    return database.find(domain, turn.state[domain])


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """How one domain of a dialogue's goal ended.

    `success` is None when Inform failed for the dialogue: Success is not judged then.
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
    """The venues offered last and the slots provided so far, by domain of a goal."""

    __slots__ = ("goal", "offered", "provided")

    def __init__(self, goal: Mapping[str, DomainGoal]) -> None:
        self.goal = goal
        self.offered: dict[str, tuple[str, ...]] = dict.fromkeys(goal, ())
        self.provided: dict[str, set[str]] = {domain: set() for domain in goal}

    def advance(self, turn: Mapping[str, DomainTurn]) -> None:
        """Add what the next turn does in the goal's domains."""
        for domain, (found, provided) in turn.items():
            if found is not None and replaces(found, self.offered[domain]):
                self.offered[domain] = found
            if provided:
                self.provided[domain] |= provided

    def is_matched(self, domain: str) -> bool:
        """Return whether the present offer in a domain satisfies the goal."""
        return self.goal[domain].is_matched(self.offered[domain])

    def outcome(self) -> DialogueOutcome:
        """Return the outcome of a dialogue that ends here."""
        inform = all(map(self.is_matched, self.goal))
        domains = {}
        for domain, goal in self.goal.items():
            missing = goal.requested - self.provided[domain]
            domains[domain] = DomainOutcome(
                inform=self.is_matched(domain),
                success=not missing if inform else None,
                offered=self.offered[domain],
                provided=frozenset(self.provided[domain]),
                missing=missing,
            )
        success = inform and not any(outcome.missing for outcome in domains.values())
        return DialogueOutcome(inform, success, domains)


def judge(
    goal: Mapping[str, DomainGoal], turns: Iterable[Mapping[str, DomainTurn]]
) -> DialogueOutcome:
    """Return the outcome of a dialogue, from what each of its turns does in the goal's domains."""
    progress = Progress(goal)
    for turn in turns:
        progress.advance(turn)
    return progress.outcome()


def replaces(found: tuple[str, ...], offered: tuple[str, ...]) -> bool:
    """Return whether the venues found by a turn that offers replace the present offer.

    An offer that is still among the venues found stays as it is, so that a narrower offer made
    earlier is not widened by naming it again.
    """
    return not offered or not set(offered) <= set(found)


class Rate(NamedTuple):
    """A percentage: the count `outcome` of the count `cases`."""

    name: str
    label: str
    outcome: str
    cases: str
    lower_is_better: bool = False
    is_description: bool = False


class Rates:
    """Rows and measures of percentages, of everything and of each scope (a domain or a slot).

    With `of_dialogues` each count of a dialogue is 0 or 1, which makes intervals Wilson's. Without
    it the cases of a dialogue depend on each other, and intervals come from resampled dialogues.
    """

    def __init__(self, rates: Sequence[Rate], scopes: Iterable[str], *, of_dialogues: bool) -> None:
        self.scopes = (WHOLE, *scopes)
        counts = tuple(dict.fromkeys(name for rate in rates for name in (rate.cases, rate.outcome)))
        self.columns = tuple(f"{count}.{scope}" for count in counts for scope in self.scopes)
        self._of_scope = {
            scope: tuple(f"{count}.{scope}" for count in counts) for scope in self.scopes
        }
        self._rates = rates
        self._of_dialogues = of_dialogues

    def row(self, counted: Mapping[str, Sequence[float]]) -> dict[str, float]:
        """Return a dialogue's row; of each scope `counted` has the counts in their order."""
        return {
            column: number
            for scope, numbers in counted.items()
            for column, number in zip(self._of_scope[scope], numbers, strict=True)
        }

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the percentages of each scope that has cases."""
        for name, label, outcome, cases, lower_is_better, is_description in self._rates:
            for scope in self.scopes:
                if sums[f"{cases}.{scope}"]:
                    yield Measure(
                        name=name,
                        label=label,
                        signature=sign(name),
                        of=percentage(f"{outcome}.{scope}", of=f"{cases}.{scope}"),
                        places=1,
                        scope=scope,
                        cases=f"{cases}.{scope}",
                        outcome=f"{outcome}.{scope}" if self._of_dialogues else None,
                        lower_is_better=lower_is_better,
                        is_description=is_description,
                    )


GOAL_SUCCESS = Rates(
    (Rate("inform", "Inform", "inform", "goals"), Rate("success", "Success", "success", "goals")),
    ALL_DOMAINS,
    of_dialogues=True,
)


def goal_row(outcome: DialogueOutcome) -> dict[str, float]:
    """Return one dialogue's counts of `GOAL_SUCCESS`: has the domain, informs, succeeds."""
    counted: dict[str, tuple[float, ...]] = {WHOLE: (1, outcome.inform, outcome.success)}
    for domain, result in outcome.domains.items():
        counted[domain] = (1, result.inform, bool(result.success))
    return GOAL_SUCCESS.row(counted)
