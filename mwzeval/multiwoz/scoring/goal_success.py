"""Inform and Success, which measure whether a system offers the right venues and requested slots.

A domain is matched if its last offer satisfies the goal. Inform is 1 if all domains of the goal
are matched; Success is 1 if, in addition, all requested slots are provided. Live dialogues also
have precision, recall and F1 of the informed slots.

Sources: Budzianowski et al., EMNLP 2018, section 6; Nekvinda and Dušek, GEM 2021, section 4. The
rates of informed slots are those of the published evaluator of ConvLab-2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.metrics.measure import Measure, Rate, Sign
from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.schema import ALL_DOMAINS, OFFERED_BY, PROVIDABLE
from mwzeval.scores.score import WHOLE

_MARKERS = frozenset(OFFERED_BY.values())
WITHOUT_OFFER = frozenset({"taxi", "police", "hospital"})
"""Domains without a choice of venues."""


class NeedsOffer(Enum):
    """The condition under which a domain can be matched although the system makes no offer."""

    ALWAYS = "only an offer that satisfies the goal passes"
    IF_MADE = "making no offer counts as an offer that satisfies the goal"
    NEVER = "the domain passes with any offer or none"


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
    """Return the goal of each domain, including the venues that satisfy the goal."""
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
        # A user who names a venue needs no offer.
        return NeedsOffer.NEVER
    if domain == "train" and "TRAINID" not in goal.requestable:
        return NeedsOffer.IF_MADE
    return NeedsOffer.ALWAYS


class NormalizedTurn(NamedTuple):
    """A turn ready for scoring; `response` has canonical placeholders and original spacing."""

    response: str
    state: State
    active_domains: tuple[str, ...]


class DomainTurn(NamedTuple):
    """The offer and the provided slots of a system turn in one domain.

    `found` are the venues that the turn may offer, or None if the turn makes no offer.
    """

    found: tuple[str, ...] | None
    provided: frozenset[str]


def dialogue_acts(
    goal: Mapping[str, object],
    turns: Iterable[NormalizedTurn],
    booked: Iterable[frozenset[str]],
    database: Database,
) -> Iterator[dict[str, DomainTurn]]:
    """Yield, turn by turn, the offer and provided slots in each active domain of the goal.

    `booked` are the domains that each turn books in the gold annotation. A reference number that is
    given before the booking does not count.
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
    """The placeholders in a canonical response that matter for Inform and Success.

    `provided` are the slots that count after the venue has been booked, and `before_booking` are
    the slots that also count without a booking.
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
    """Return the ids of the venues that a turn may offer, or None if the turn makes no offer."""
    marker = OFFERED_BY.get(domain)
    if marker is None or marker not in turn.response:
        return None
    if domain not in turn.state:
        return ()
    # (odd) The query normalizes values again, which can change them: "1:30 pm." is "1:30pm" in
    # the state and 13:30 in the query.
    return database.find(domain, turn.state[domain])


@dataclass(frozen=True, slots=True)
class DomainOutcome:
    """The outcome of one domain of a goal.

    If Inform failed for the dialogue, Success is not judged and `success` is None.
    """

    inform: bool
    success: bool | None
    offered: tuple[str, ...]
    provided: frozenset[str]
    missing: frozenset[str]


@dataclass(frozen=True, slots=True)
class DialogueOutcome:
    """Inform and Success of one dialogue, and of each domain in its goal."""

    inform: bool
    success: bool
    domains: Mapping[str, DomainOutcome]

    @property
    def scopes(self) -> dict[str, DialogueOutcome | DomainOutcome]:
        """The outcome of the whole dialogue, and the outcomes of its domains."""
        return {WHOLE: self, **self.domains}

    def named(self, inform: str, success: str) -> dict[str, dict[str, bool | None]]:
        """Return the outcomes of each scope for explanations, under the given names."""
        return {name: {inform: r.inform, success: r.success} for name, r in self.scopes.items()}


class Progress:
    """The venues of the last offer and the slots provided so far, for each domain of a goal."""

    __slots__ = ("goal", "offered", "provided")

    def __init__(self, goal: Mapping[str, DomainGoal]) -> None:
        self.goal = goal
        self.offered: dict[str, tuple[str, ...]] = dict.fromkeys(goal, ())
        self.provided: dict[str, set[str]] = {domain: set() for domain in goal}

    def advance(self, turn: Mapping[str, DomainTurn]) -> None:
        """Update the offers and the provided slots with the acts of the next turn."""
        for domain, (found, provided) in turn.items():
            if found is not None and replaces(found, self.offered[domain]):
                self.offered[domain] = found
            if provided:
                self.provided[domain] |= provided

    def is_matched(self, domain: str) -> bool:
        """Return whether the current offer in a domain satisfies the goal."""
        return self.goal[domain].is_matched(self.offered[domain])

    def outcome(self) -> DialogueOutcome:
        """Return the outcome of a dialogue that ends after the present turn."""
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
    """Return the outcome of a dialogue from the acts of its turns in the domains of the goal."""
    progress = Progress(goal)
    for turn in turns:
        progress.advance(turn)
    return progress.outcome()


def replaces(found: tuple[str, ...], offered: tuple[str, ...]) -> bool:
    """Return whether the venues that a turn may offer (`found`) replace the current offer
    (`offered`).

    The current offer remains if all its venues are among the found venues. If every offer replaced
    the current offer, naming a venue again would widen an earlier, narrower offer.
    """
    return not offered or not set(offered) <= set(found)


class Rates:
    """Counts and measures of percentages, in total and for each domain or slot (the scope).

    With `of_dialogues`, each count of a dialogue is 0 or 1, and intervals are Wilson intervals.
    Without `of_dialogues`, the cases of a dialogue are dependent, so intervals resample dialogues.
    """

    def __init__(self, rates: Sequence[Rate], scopes: Iterable[str], *, of_dialogues: bool) -> None:
        self.scopes = (WHOLE, *scopes)
        counts = tuple(dict.fromkeys(name for rate in rates for name in (rate.whole, rate.part)))
        self.columns = tuple(f"{count}.{scope}" for count in counts for scope in self.scopes)
        self._of_scope = {
            scope: tuple(f"{count}.{scope}" for count in counts) for scope in self.scopes
        }
        self._rates = [rate._replace(is_outcome=of_dialogues) for rate in rates]

    def row(self, counted: Mapping[str, Sequence[float]]) -> dict[str, float]:
        """Return the counts of a dialogue.

        `counted` maps each scope to its counts, one for each rate.
        """
        return {
            column: number
            for scope, numbers in counted.items()
            for column, number in zip(self._of_scope[scope], numbers, strict=True)
        }

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the percentages for all scopes in which cases exist."""
        for rate in self._rates:
            yield from rate.measures(sums, sign(rate.name), self.scopes)


GOAL_SUCCESS = Rates(
    (Rate("inform", "Inform", "inform", "goals"), Rate("success", "Success", "success", "goals")),
    ALL_DOMAINS,
    of_dialogues=True,
)


def goal_row(outcome: DialogueOutcome) -> dict[str, float]:
    """Return the `GOAL_SUCCESS` counts of a dialogue, with Inform and Success by domain."""
    return GOAL_SUCCESS.row(
        {scope: (1, r.inform, bool(r.success)) for scope, r in outcome.scopes.items()}
    )


# Informed slots in live dialogues at text level and act level

SLOT_RULES = tuple(table_rows(embedded("live", "convlab_slots.tsv"), 5))
"""Rows of five fields: domain, slot name in acts, slot name in goals, rules under which the slot
counts as superfluous, and value pattern."""


def superfluous_slots(rules: str) -> dict[str, set[str]]:
    """Return, by domain, the slots that are superfluous without a request under a set of rules."""
    slots: dict[str, set[str]] = {domain: set() for domain in ALL_DOMAINS}
    for domain, _, slot, by, _ in SLOT_RULES:
        if by in ("both", rules):
            slots[domain].add(slot)
    return slots


CORRECTED_SUPERFLUOUS = superfluous_slots("corrected")
INFORM_RATES = (
    Rate("inform_precision", "Inform precision", "precision", "dialogues_asking"),
    Rate("inform_recall", "Inform recall", "recall", "dialogues_asking"),
    Rate("inform_f1", "Inform F1", "f1", "dialogues_asking"),
    Rate("inform_micro_precision", "Inform precision (micro)", "found", "told"),
    Rate("inform_micro_recall", "Inform recall (micro)", "found", "asked"),
)
INFORM_COLUMNS = ("found", "told", "asked", "dialogues_asking", "precision", "recall", "f1")


def inform_row(found: int, superfluous: int, missing: int) -> dict[str, float]:
    """Return the values of the columns `INFORM_COLUMNS` for one dialogue."""
    informed, asked = found + superfluous, found + missing
    numbers: dict[str, float] = {"found": found, "told": informed, "asked": asked}
    if not asked:
        return numbers
    recall = found / asked
    precision = found / informed if found else 0.0
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    return {**numbers, "precision": precision, "recall": recall, "f1": f1, "dialogues_asking": 1}
