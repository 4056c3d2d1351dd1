"""Claims of lexicalized responses, compared with the database and with the log of tools.

Works on what `mwzeval.multiwoz.words.recognition` finds in the text. Definitions with examples are
in `docs/metrics.md`.

A claim is what Hallucination and Consistency count, what the log of tools tells something about,
and what could be compared with either, but nothing tells: a taxi's number, a reference without a
log. What is asked, wished or denied is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import NamedTuple

from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.database import (
    NUMERIC,
    Database,
    Value,
    VenueFacts,
    comparable,
)
from mwzeval.multiwoz.grounding.statements import CHOICE, Statements, compare_counts
from mwzeval.multiwoz.normalization import State, normalize_slot, normalize_value
from mwzeval.multiwoz.predictions.reading import FunctionCall
from mwzeval.multiwoz.schema import NAMED_BY, OTHER_END, PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import (
    WITHOUT_OFFER,
    DialogueOutcome,
    DomainGoal,
    NeedsOffer,
    Progress,
)
from mwzeval.multiwoz.words.delexicalize import with_numbers_of_taxis
from mwzeval.multiwoz.words.text import LANDMARK, Mention
from mwzeval.scores import explanation

RIGHT, INCONSISTENT, UNKNOWN, UNJUDGED = "right", "inconsistent", "unknown", "unjudged"
VERDICTS = (UNKNOWN, INCONSISTENT, RIGHT, UNJUDGED)
"""What becomes of a claim, the worst first: nothing has it; it is of another; it is so; open."""
SHOWN_NAMES = 3
"""How many names or values of a claim are shown before the rest is left out."""

REFERENCE = "REFERENCE"
CHECKED = {
    "restaurant": ("name", "address", "phone", "postcode", "area", "food", "pricerange"),
    "hotel": (
        *("name", "address", "phone", "postcode", "area", "pricerange", "stars", "type"),
        *("price", "internet", "parking"),
    ),
    "attraction": (
        *("name", "address", "phone", "postcode", "area", "pricerange", "type"),
        *("entrancefee", "openhours"),
    ),
    "train": (
        *("trainid", "day", "departure", "destination", "leaveat", "arriveby"),
        *("price", "duration"),
    ),
}
"""The slots of each domain that are compared with its table.

A taxi's car and phone number are in no table, because they are drawn when it is booked.
"""

OF_ONE_VENUE = frozenset({"name", "address", "phone", "postcode", "trainid"})
"""Slots compared with the database even where no domain could be told."""

OF_ANY_VENUE = frozenset({"area", "pricerange", "phone", "postcode", "address"})
"""Slots that venues of every domain have, so that the domain may have been misread."""

CHOSEN_BY = frozenset({"area", "food", "pricerange", "stars", "type", "departure", "destination"})
"""Slots whose values users choose by: to say that nobody has one is not to claim that it exists."""

CHOICES = CHOSEN_BY | {"day", "entrancefee"}
"""Slots whose values are often asked for, denied, or said of others."""

SLOTS = (*dict.fromkeys(slot for slots in CHECKED.values() for slot in slots), CHOICE)
INVENTED = "?"
"""Stands among the venues named for one that the database does not have."""

FEW = 8
"""Up to so many venues on offer are asked one by one whether they have a value."""


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """A turn of the system: its words, its (normalized) state, and what it mentions.

    `booked` are the domains booked by this turn; `calls` are those made for it.
    """

    words: str
    state: State
    mentions: Sequence[Mention]
    booked: frozenset[str] = frozenset()
    calls: Sequence[FunctionCall] = ()


class CheckedMention(NamedTuple):
    """A mention, compared with the database or with the log of tools.

    `known` is whether the database has it, None where it cannot tell. `agrees` is whether a venue
    on offer has it, of the log whether tools returned it, None where nothing tells. `offered` are
    the venues on offer at that place. `right` are numbers of venues, where these are what is said,
    and what tools returned of it or in its place.
    """

    turn: int
    mention: Mention
    known: bool | None
    agrees: bool | None
    offered: tuple[str, ...] = ()
    right: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim(explanation.Claim):
    """What the system says of something, and whether it is so.

    `text` is what stands from `start` to `end` (characters) of the response of `turn` as it was
    written; `domain`, `slot` and `value` are as what it was read, `value` in the database's
    spelling, None where the database has no such value. `venue` names the first of the `venues`
    (their number) that it is about, none where it names one or where that is open.

    `verdict` is the worst that the sources of `held_against` (`database`, `log`) say; `right` are
    the values that would be right. What each source says: the database has such a value (`known`),
    and a venue that it is about has it (`agrees`); tools have returned it (`log_agrees`); None
    where it cannot tell.
    """

    turn: int
    start: int
    end: int
    text: str
    domain: str | None
    slot: str
    value: str | None
    venue: tuple[str, ...]
    venues: int
    verdict: str
    right: tuple[str, ...]
    held_against: tuple[str, ...]
    known: bool | None
    agrees: bool | None
    log_agrees: bool | None

    @property
    def is_flagged(self) -> bool:
        """Whether it is not so."""
        return self.verdict in (INCONSISTENT, UNKNOWN)

    def line(self) -> str:
        """Return slot and words, what would be right, and by what source, on one line."""
        return f"{self.slot} {' '.join(self.text.split())}{self._remarks()}"

    def note(self) -> str:
        """Return the same without the words."""
        return f"{self.slot}{self._remarks()}"

    def _remarks(self) -> str:
        words = " ".join(self.text.split())
        remarks = []
        if self.value is not None and self.value.casefold() != words.casefold():
            remarks.append(f"read as {self.value}")
        if self.venue:
            remarks.append(f"of {_some(self.venue, self.venues)}")
        if self.is_flagged and self.right:
            remarks.append(f"right: {_some(self.right, len(self.right))}")
        if self.is_flagged and self.log_agrees:
            remarks.append("by database, but a tool returned it")
        elif self.log_agrees is False and not self.right:
            remarks.append("nothing of it in the log")
        elif self.held_against:
            remarks.append(f"by {' and '.join(self.held_against)}")
        return f" ({'; '.join(remarks)})" if remarks else ""


def _some(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    return shown if count <= SHOWN_NAMES else f"{shown} and {count - SHOWN_NAMES} more"


class Named(NamedTuple):
    """The venues that the last turn to name any in a domain has named."""

    turn: int
    venues: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Grounded:
    """The turns of a dialogue compared with the database.

    `named` are the venues named last, by domain, before later states narrow them; `outcome` has
    Grounded Inform as `inform` and Grounded Success as `success`, both for `goal`. A domain's
    `offered` are the venues named in the end.
    """

    turns: Sequence[SystemTurn]
    checked: tuple[CheckedMention, ...]
    named: Mapping[str, Named]
    goal: Mapping[str, DomainGoal]
    outcome: DialogueOutcome


class Grounding:
    """Judges the mentions of dialogues; what it holds only saves time."""

    def __init__(self, database: Database, facts: VenueFacts) -> None:
        self.database = database
        self.facts = facts

    def judge(self, goal: Mapping[str, DomainGoal], turns: Sequence[SystemTurn]) -> Grounded:
        """Return what the mentions of a dialogue are worth; `goal` is as for Inform and Success."""
        checked: list[CheckedMention] = []
        named: dict[str, Named] = {}
        read: list[Sequence[Mention]] = []
        for number, turn in enumerate(turns):
            mentions = turn.mentions
            if "taxi" in turn.state:
                mentions = tuple(with_numbers_of_taxis(mentions, turn.words))
            read.append(mentions)
            if mentions:
                comparison = _Turn(self, number, turn.words, mentions, turn.state, named)
                checked += comparison.checked()
                named = comparison.named
        progress = Progress(
            {
                # Who asks by name need not be told it, but may not be misled.
                domain: replace(part, needs_offer=NeedsOffer.IF_MADE)
                if domain in NAMED_BY and part.needs_offer is NeedsOffer.NEVER
                else part
                for domain, part in goal.items()
            }
        )
        for domain, last in named.items():
            if domain in goal:
                progress.offered[domain] = self._chosen(domain, last, turns)
        goal = dict(progress.goal)
        for domain, part in goal.items():
            venues = progress.offered[domain] or tuple(sorted(part.satisfying))
            requested = part.requested - self._unanswerable(domain, part, venues)
            goal[domain] = replace(part, requested=requested)
            after_booking = [*compress(read, (domain in turn.booked for turn in turns))]
            progress.provided[domain] = {
                slot
                for slot in requested
                if any(
                    _is_right(mention, domain, venues, slot)
                    for of_turn in (after_booking if slot == REFERENCE else read)
                    for mention in of_turn
                    if mention.slot == PROVIDABLE[slot]
                )
            }
        progress.goal = goal
        return Grounded(turns, tuple(checked), named, goal, progress.outcome())

    def _chosen(self, domain: str, last: Named, turns: Sequence[SystemTurn]) -> tuple[str, ...]:
        """Return the venues named last, or those of them that the user has chosen since."""
        later = turns[-1].state.get(domain) if len(turns) > last.turn + 1 else None
        if later is None or len(last.venues) == 1:
            return last.venues
        return _among(last.venues, self.database.find(domain, later)) or last.venues

    def _unanswerable(
        self, domain: str, part: DomainGoal, venues: tuple[str, ...]
    ) -> frozenset[str]:
        """Return the requested slots to which the database has no answer."""
        real = _real(venues)
        if domain not in NAMED_BY or not real:
            return frozenset()
        return frozenset(
            slot
            for slot in part.requested - {REFERENCE}
            if not any(self.facts.knows(domain, venue, PROVIDABLE[slot]) for venue in real)
        )


def _is_right(mention: Mention, domain: str, venues: tuple[str, ...], slot: str) -> bool:
    """Return whether a mention gives a requested slot rightly of one of the venues."""
    if slot == REFERENCE or domain not in NAMED_BY:
        # Nothing tells right from wrong here: a taxi's number is drawn, the others have no choice.
        return mention.domain in (domain, None)
    return mention.domain == domain and any(venue in mention.venues for venue in venues)


class _Turn:
    """Compares the mentions of one turn with the database.

    `named` are the venues named last by domain, this turn included.
    """

    def __init__(
        self,
        grounding: Grounding,
        number: int,
        response: str,
        mentions: Sequence[Mention],
        state: State,
        before: Mapping[str, Named],
    ) -> None:
        self._facts, self._database = grounding.facts, grounding.database
        self._number = number
        self._response = response
        self._mentions = mentions
        self._state = state
        self._before = before
        self._now: dict[str, tuple[str, ...]] = {}
        for mention in mentions:
            if mention.domain is not None and NAMED_BY.get(mention.domain) == mention.slot:
                known = self._now.get(mention.domain, ())
                venues = mention.venues or (INVENTED,)
                self._now[mention.domain] = (
                    *known,
                    *(venue for venue in venues if venue not in known),
                )
        self.named = {
            **before,
            **{domain: Named(number, venues) for domain, venues in self._now.items()},
        }
        self._names = {
            domain: [m for m in mentions if m.slot == slot and m.domain in (domain, None)]
            for domain, slot in NAMED_BY.items()
        }
        self._offers: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    @cached_property
    def _statements(self) -> Statements:
        return Statements(self._response)

    def checked(self) -> Iterator[CheckedMention]:
        """Yield the mentions that are claims, and the counts of the response."""
        for mention in self._mentions:
            if (checked := self._check(mention)) is not None:
                yield checked
        for count, agrees, counted in compare_counts(
            self._response, self._mentions, self._state, self._database
        ):
            yield CheckedMention(self._number, count, True, agrees, (), tuple(map(str, counted)))

    def _check(self, mention: Mention) -> CheckedMention | None:
        domain, slot = mention.domain, mention.slot
        number, facts = self._number, self._facts
        if domain is None:
            is_claim = slot in OF_ONE_VENUE and WITHOUT_OFFER.isdisjoint(self._state)
            known = mention.value is not None
            return CheckedMention(number, mention, known, None) if is_claim else None
        if slot not in CHECKED.get(domain, ()) or not facts.covers(domain, slot):
            return None
        value = self._value(mention, domain)
        if value is None and (
            (slot in CHOSEN_BY and domain not in self._now) or self._is_asked_for(mention, domain)
        ):
            return None
        if slot == NAMED_BY[domain]:
            return CheckedMention(number, mention, value is not None, None)
        names, is_choice = self._names[domain], slot in CHOICES
        if (is_choice or slot in OTHER_END) and not self._statements.is_claim(
            mention, names, choice=is_choice
        ):
            return None
        about: tuple[str, ...] = ()
        if names:
            named = self._statements.spoken_of(mention, names)
            about = tuple(
                dict.fromkeys(venue for name in named for venue in name.venues or (INVENTED,))
            )
        if (domain, about) not in self._offers:
            self._offers[domain, about] = self._on_offer(domain, about)
        offered = self._offers[domain, about]
        agrees = self._agrees(mention, domain, value, offered)
        if agrees and slot == "price":
            agrees = facts.is_price(domain, offered, value, self._statements.tickets(mention))
        if agrees is False and slot in OTHER_END and not mention.sure:
            end = mention._replace(slot=OTHER_END[slot])
            if self._agrees(end, domain, value, offered):
                mention, agrees = end, True
        if agrees is False and not about and value is not None and slot in OF_ANY_VENUE:
            # The domain may have been misread: it is another one's whose venue was named.
            for other, last in self.named.items():
                venues = _real(last.venues)
                if (
                    other != domain
                    and slot in CHECKED.get(other, ())
                    and any(facts.has(other, venue, slot, value) for venue in venues)
                ):
                    return CheckedMention(
                        number, mention._replace(domain=other), True, True, venues
                    )
        return CheckedMention(number, mention, value is not None, agrees, offered)

    def _value(self, mention: Mention, domain: str) -> Value | None:
        """Return the value that the database has of what is said, None when it has none."""
        slot = mention.slot
        if slot in NUMERIC:
            value = comparable(slot, mention.value or mention.text)
            known = value is not None and self._facts.exists(domain, slot, value)
            return value if known else None
        return None if mention.value is None else mention.value.lower()

    def _is_asked_for(self, mention: Mention, domain: str) -> bool:
        """Return whether the user has said the value: who repeats it does not claim it exists."""
        asked, rules = self._state.get(domain, {}), self._database.rules
        slot = normalize_slot(mention.slot)
        return slot in asked and normalize_value(
            slot, asked[slot].lower(), rules
        ) == normalize_value(slot, mention.text.lower(), rules)

    def _on_offer(self, domain: str, about: tuple[str, ...]) -> tuple[str, ...]:
        """Return the venues that a value may be of; none when nobody can tell.

        `about` are those that it is said of, none where that is open.
        """
        if real := _real(about):
            return real
        constraints = self._state.get(domain)
        named = _real(self._before[domain].venues) if domain in self._before else ()
        here = _real(self._now.get(domain, ()))
        if constraints is None:
            return () if about else tuple(dict.fromkeys((*here, *named)))
        found = self._database.find(domain, constraints)
        if about or domain in self._now:
            # Of a venue that is nowhere, at least one of the others that it stands for.
            return tuple(dict.fromkeys((*here, *found, *named)))
        return _among(named, found) or found

    def _agrees(
        self, mention: Mention, domain: str, value: Value | None, offered: tuple[str, ...]
    ) -> bool | None:
        """Return whether any venue on offer has the value; None when none has any in the slot."""
        slot, facts = mention.slot, self._facts
        if not any(facts.knows(domain, venue, slot) for venue in offered):
            return None
        if value is None:
            return False
        if len(offered) > FEW and slot not in NUMERIC:
            return not set(mention.venues).isdisjoint(offered)
        return any(facts.has(domain, venue, slot, value) for venue in offered) or any(
            venue in mention.venues for venue in offered
        )


def _real(venues: Iterable[str]) -> tuple[str, ...]:
    return tuple(venue for venue in venues if venue != INVENTED)


def _among(venues: tuple[str, ...], found: Sequence[str]) -> tuple[str, ...]:
    return tuple(venue for venue in venues if venue in found) if venues else ()


def with_named_venues(
    domain_goals: Mapping[str, DomainGoal], goals: Mapping[str, Goal], facts: VenueFacts
) -> dict[str, DomainGoal]:
    """Return a goal with the venues of the very names that it asks for.

    An alias of the rules can hide a venue: "the junction" is one in the database.
    """
    complete = dict(domain_goals)
    for domain, goal in goals.items():
        called = facts.called(domain, goal.informable.get("name", ""))
        part = domain_goals[domain]
        if not part.satisfying.issuperset(called):
            complete[domain] = replace(part, satisfying=part.satisfying.union(called))
    return complete


DATABASE, LOG = "database", "log"
BOOKED = "book"
"""How slots begin that say what is booked: `bookpeople`."""


def claims_of(
    grounded: Grounded, of_log: Iterable[CheckedMention], facts: VenueFacts
) -> tuple[Claim, ...]:
    """Return the claims of a dialogue in the order of its turns and their text.

    `grounded` and `of_log` are what database and log say of its mentions.
    """

    def place(turn: int, mention: Mention) -> tuple[int, int, int, str]:
        return turn, mention.start, mention.end, mention.slot

    turns = [*enumerate(grounded.turns)]
    found = {place(number, m): m for number, turn in turns for m in turn.mentions}
    logged = {place(checked.turn, checked.mention): checked for checked in of_log}
    by_database = {place(checked.turn, checked.mention): checked for checked in grounded.checked}
    known = dict.fromkeys((*by_database, *logged))
    claims = []
    for at in known:
        database, log = by_database.get(at), logged.get(at)
        mention = database.mention if database else found.get(at, logged[at].mention)
        claims.append(_claim(at[0], mention, database, log, facts))
    for number, turn in turns:
        claims += (
            _claim(number, mention, None, None, facts)
            for mention in _open_claims(turn.words, turn.mentions)
            if place(number, mention) not in known
        )
    return tuple(sorted(claims, key=lambda claim: (claim.turn, claim.start, claim.end, claim.slot)))


def _open_claims(response: str, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield what is claimed of slots that no table has."""
    statements = None
    for mention in mentions:
        slot = mention.slot
        if slot == LANDMARK or slot in CHECKED.get(str(mention.domain), ()):
            continue
        is_choice = slot in CHOICES or slot.startswith(BOOKED)
        if is_choice or slot in OTHER_END:
            statements = statements or Statements(response)
            if not statements.is_claim(mention, (), choice=is_choice):
                continue
        yield mention


def _claim(
    turn: int,
    mention: Mention,
    database: CheckedMention | None,
    log: CheckedMention | None,
    facts: VenueFacts,
) -> Claim:
    """Return a mention as a claim, with what database and log say of it, as far as they do."""
    domain, slot = str(mention.domain), mention.slot
    verdicts: dict[str, str] = {}
    right: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    if database is not None:
        offered, agrees = database.offered, database.agrees
        if not database.known:
            verdicts[DATABASE] = UNKNOWN
        elif agrees is None:
            # There is nothing that a name could agree with.
            verdicts[DATABASE] = RIGHT if slot in NAMED_BY.values() else UNJUDGED
        else:
            verdicts[DATABASE] = RIGHT if agrees else INCONSISTENT
        if agrees is not None:
            values = (value for venue in offered for value in facts.values(domain, venue, slot))
            right = (
                database.right
                or tuple(dict.fromkeys(value.removesuffix(".0") for value in values))[:FEW]
            )
    if log is not None:
        verdicts[LOG] = RIGHT if log.agrees else INCONSISTENT
        if not log.agrees and (database is None or database.agrees is not False):
            # Only the tools disagree.
            right = log.right[:FEW]
    return Claim(
        turn=turn,
        start=mention.start,
        end=mention.end,
        text=mention.text,
        domain=mention.domain,
        slot=slot,
        value=mention.value,
        venue=tuple(facts.name(domain, venue) for venue in offered[:FEW]),
        venues=len(offered),
        verdict=min(verdicts.values(), key=VERDICTS.index, default=UNJUDGED),
        right=right,
        held_against=tuple(verdicts),
        known=database.known if database else None,
        agrees=database.agrees if database else None,
        log_agrees=log.agrees if log else None,
    )
