"""Claims of lexicalised responses, compared with the database and with the log of tools.

Works on what `mwzeval.multiwoz.words.recognition` finds in the text. Definitions with examples are
in `docs/metrics.md`.

A claim is what Hallucination and Consistency count, what the log of tools tells something about,
and what could be compared with either, but nothing tells: a taxi's number, a reference without a
log. What is asked, wished or denied is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from mwzeval.multiwoz.schema import NAMED_BY, OTHER_END
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

SAID_AS = {"PHONE": "phone", "ADDRESS": "address", "POST": "postcode", "TRAINID": "trainid"}
"""Requested slots that are values of a venue, and the slot of a mention that gives each."""

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


class Judged(NamedTuple):
    """A mention with what it was compared with; `offered` are the venues on offer at that place.

    `counted` are how many venues there are, where that is what is said.
    """

    turn: int
    mention: Mention
    known: bool
    agrees: bool | None
    offered: tuple[str, ...]
    counted: tuple[int, ...] = ()


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


class LogClaim(NamedTuple):
    """A claim that the log tells something about.

    `returned` is what tools returned of it, or in its place. `known` is whether the
    database has it and, where it is a venue's, of what is on offer; None where it cannot tell.
    """

    turn: int
    mention: Mention
    agrees: bool
    returned: tuple[str, ...] = ()
    known: bool | None = None


class Named(NamedTuple):
    """The venues that the last turn to name any in a domain has named."""

    turn: int
    venues: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Grounded:
    """A dialogue compared with the database.

    `named` are the venues named last, by domain, before later states narrow them; `outcome` has
    Grounded Inform as `inform` and Grounded Success as `success`; `goal` is what these were asked
    of. A domain's `offered` are the venues named in the end.
    """

    judged: tuple[Judged, ...]
    named: Mapping[str, Named]
    goal: Mapping[str, DomainGoal]
    outcome: DialogueOutcome


class Grounding:
    """Judges the mentions of dialogues; what it holds only saves time."""

    def __init__(self, database: Database, facts: VenueFacts) -> None:
        self._database = database
        self.facts = facts

    def judge(
        self,
        goal: Mapping[str, DomainGoal],
        booked: Sequence[frozenset[str]],
        states: Sequence[State],
        responses: Sequence[str],
        mentions: Sequence[Sequence[Mention]],
    ) -> Grounded:
        """Return what the mentions of a dialogue are worth.

        `goal` is as for Inform and Success, `booked` the domains booked by each turn in the gold
        annotation; `states` (normalised), `responses` in words and `mentions` of these have one
        item a turn.
        """
        mentions = [
            tuple(with_numbers_of_taxis(said, response)) if "taxi" in state else said
            for state, said, response in zip(states, mentions, responses, strict=True)
        ]
        judged: list[Judged] = []
        named: dict[str, Named] = {}
        for turn, (state, said) in enumerate(zip(states, mentions, strict=True)):
            if not said:
                continue
            now = _named_in(said)
            judged += self._judged(turn, said, now, named, state, responses[turn])
            for domain, venues in now.items():
                named[domain] = Named(turn, venues)
        progress = Progress({domain: _offers(domain, wanted) for domain, wanted in goal.items()})
        for domain, last in named.items():
            if domain in goal:
                progress.offered[domain] = self._settled(domain, last, states)
        goal = dict(progress.goal)
        for domain, wanted in goal.items():
            venues = progress.offered[domain] or tuple(sorted(wanted.satisfying))
            goal[domain] = self._answerable(domain, wanted, venues)
            progress.provided[domain] = self._given(domain, goal[domain], venues, booked, mentions)
        progress.goal = goal
        return Grounded(tuple(judged), named, goal, progress.outcome())

    def _judged(
        self,
        turn: int,
        said: Sequence[Mention],
        now: Mapping[str, tuple[str, ...]],
        before: Mapping[str, Named],
        state: State,
        response: str,
    ) -> Iterator[Judged]:
        offers: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        text = _Response(response, said)
        here = {**before, **{domain: Named(turn, venues) for domain, venues in now.items()}}
        for mention in said:
            domain, slot = mention.domain, mention.slot
            if domain is None:
                if slot in OF_ONE_VENUE and WITHOUT_OFFER.isdisjoint(state):
                    yield Judged(turn, mention, mention.value is not None, None, ())
                continue
            if slot not in CHECKED.get(domain, ()) or not self.facts.covers(domain, slot):
                continue
            value = self._value(mention, domain)
            if value is None and (
                (slot in CHOSEN_BY and domain not in now)
                or _asked_for(mention, state.get(domain, {}), self._database)
            ):
                continue
            if slot == NAMED_BY[domain]:
                yield Judged(turn, mention, value is not None, None, ())
                continue
            if not text.is_claim(mention):
                continue
            about = text.spoken_of(mention)
            key = domain, about
            if key not in offers:
                offers[key] = self._on_offer(domain, about, now, before.get(domain), state)
            offered = offers[key]
            agrees = self._agrees(mention, domain, value, offered)
            if agrees and slot == "price":
                tickets = text.statements.tickets(mention)
                agrees = self.facts.is_price(domain, offered, value, tickets)
            if agrees is False and slot in OTHER_END and not mention.sure:
                end = mention._replace(slot=OTHER_END[slot])
                if self._agrees(end, domain, value, offered):
                    mention, agrees = end, True
            if agrees is False and not about:
                other = self._of_other_domain(mention, value, here)
                if other is not None:
                    yield Judged(turn, *other)
                    continue
            yield Judged(turn, mention, value is not None, agrees, offered)
        for count, agrees, counted in compare_counts(response, said, state, self._database):
            yield Judged(turn, count, True, agrees, (), counted)

    def _value(self, mention: Mention, domain: str) -> Value | None:
        """Return the value that the database has of what is said, None when it has none."""
        slot = mention.slot
        if slot in NUMERIC:
            said = comparable(slot, mention.value or mention.text)
            known = said is not None and self.facts.exists(domain, slot, said)
            return said if known else None
        return None if mention.value is None else mention.value.lower()

    def _on_offer(
        self,
        domain: str,
        about: tuple[str, ...],
        now: Mapping[str, tuple[str, ...]],
        before: Named | None,
        state: State,
    ) -> tuple[str, ...]:
        """Return the venues that a value may be of; none when nobody can tell.

        `about` are those that it is said of, none where that is open.
        """
        real = tuple(venue for venue in about if venue != INVENTED)
        if real:
            return real
        constraints = state.get(domain)
        named = tuple(venue for venue in (before.venues if before else ()) if venue != INVENTED)
        here = tuple(venue for venue in now.get(domain, ()) if venue != INVENTED)
        if constraints is None:
            return () if about else tuple(dict.fromkeys((*here, *named)))
        found = self._database.find(domain, constraints)
        if about or domain in now:
            # Of a venue that is nowhere, at least one of the others that it stands for.
            return tuple(dict.fromkeys((*here, *found, *named)))
        return _among(named, found) or found

    def _of_other_domain(
        self, mention: Mention, value: Value | None, named: Mapping[str, Named]
    ) -> tuple[Mention, bool, bool, tuple[str, ...]] | None:
        """Return a value as that of a venue of another domain that has been named, if it is."""
        slot = mention.slot
        if value is None or slot not in OF_ANY_VENUE:
            return None
        for domain, last in named.items():
            if domain != mention.domain and slot in CHECKED.get(domain, ()):
                venues = tuple(venue for venue in last.venues if venue != INVENTED)
                if any(self.facts.has(domain, venue, slot, value) for venue in venues):
                    return mention._replace(domain=domain), True, True, venues
        return None

    def _agrees(
        self, mention: Mention, domain: str, value: Value | None, offered: tuple[str, ...]
    ) -> bool | None:
        """Tell whether any venue on offer has the value; None when none has any in the slot."""
        slot, facts = mention.slot, self.facts
        if not any(facts.knows(domain, venue, slot) for venue in offered):
            return None
        if value is None:
            return False
        if len(offered) > FEW and slot not in NUMERIC:
            return not set(mention.venues).isdisjoint(offered)
        return any(facts.has(domain, venue, slot, value) for venue in offered) or any(
            venue in mention.venues for venue in offered
        )

    def _settled(self, domain: str, last: Named, states: Sequence[State]) -> tuple[str, ...]:
        """Return the venues named last, or those of them that the user has chosen since."""
        later = states[-1].get(domain) if len(states) > last.turn + 1 else None
        if later is None or len(last.venues) == 1:
            return last.venues
        return _among(last.venues, self._database.find(domain, later)) or last.venues

    def _answerable(self, domain: str, wanted: DomainGoal, venues: tuple[str, ...]) -> DomainGoal:
        """Return the goal without requests that the database has no answer to."""
        if domain not in NAMED_BY or not wanted.requested:
            return wanted
        real = [venue for venue in venues if venue != INVENTED]
        unanswerable = {
            slot
            for slot in wanted.requested & SAID_AS.keys()
            if real and not any(self.facts.knows(domain, venue, SAID_AS[slot]) for venue in real)
        }
        if not unanswerable:
            return wanted
        return replace(wanted, requested=wanted.requested - unanswerable)

    def _given(
        self,
        domain: str,
        wanted: DomainGoal,
        venues: tuple[str, ...],
        booked: Sequence[frozenset[str]],
        mentions: Sequence[Sequence[Mention]],
    ) -> set[str]:
        """Return the requested slots that were said, and said rightly of one of the venues."""
        given = set()
        for slot in wanted.requested:
            if slot == "REFERENCE":
                right = any(
                    mention.slot == "reference" and mention.domain in (domain, None)
                    for of_turn, said in zip(booked, mentions, strict=False)
                    if domain in of_turn
                    for mention in said
                )
            else:
                named_as = SAID_AS[slot]
                right = any(
                    mention.slot == named_as and _is_right(mention, domain, venues)
                    for said in mentions
                    for mention in said
                )
            if right:
                given.add(slot)
        return given


def with_named_venues(
    wanted: Mapping[str, DomainGoal], goals: Mapping[str, Goal], facts: VenueFacts
) -> dict[str, DomainGoal]:
    """Return a goal with the venues of the very names that it asks for.

    An alias of the rules can hide a venue: "the junction" is one in the database.
    """
    complete = dict(wanted)
    for domain, goal in goals.items():
        called = facts.called(domain, goal.informable.get("name", ""))
        part = wanted[domain]
        if not part.satisfying.issuperset(called):
            complete[domain] = replace(part, satisfying=part.satisfying.union(called))
    return complete


def _named_in(said: Sequence[Mention]) -> dict[str, tuple[str, ...]]:
    """Return the venues that a turn names, by domain, in the order of the text."""
    named: dict[str, tuple[str, ...]] = {}
    for mention in said:
        domain = mention.domain
        if domain is None or NAMED_BY.get(domain) != mention.slot:
            continue
        venues = mention.venues or (INVENTED,)
        known = named.get(domain, ())
        named[domain] = known + tuple(venue for venue in venues if venue not in known)
    return named


class _Response:
    """A response, asked what it says of the venues that it names."""

    def __init__(self, response: str, said: Sequence[Mention]) -> None:
        self._response = response
        self._names = {
            domain: [m for m in said if m.slot == slot and m.domain in (domain, None)]
            for domain, slot in NAMED_BY.items()
        }

    @cached_property
    def statements(self) -> Statements:
        """The sentences and lines of the response."""
        return Statements(self._response)

    def is_claim(self, value: Mention) -> bool:
        """Tell whether a value is said to be so."""
        if value.slot not in CHOICES and value.slot not in OTHER_END:
            return True
        names = self._names[str(value.domain)]
        return self.statements.is_claim(value, names, choice=value.slot in CHOICES)

    def spoken_of(self, value: Mention) -> tuple[str, ...]:
        """Return the venues that a value is said of, none where that is open."""
        names = self._names[str(value.domain)]
        of = self.statements.spoken_of(value, names) if names else ()
        return tuple(dict.fromkeys(venue for name in of for venue in name.venues or (INVENTED,)))


def _among(venues: tuple[str, ...], found: Sequence[str]) -> tuple[str, ...]:
    return tuple(venue for venue in venues if venue in found) if venues else ()


def _asked_for(mention: Mention, asked: Mapping[str, str], database: Database) -> bool:
    """Tell whether the user has said the value: to repeat it is not to claim that it exists."""
    slot = normalize_slot(mention.slot)
    said = normalize_value(slot, mention.text.lower(), database.rules)
    return slot in asked and normalize_value(slot, asked[slot].lower(), database.rules) == said


def _offers(domain: str, wanted: DomainGoal) -> DomainGoal:
    """Return the goal as naming is judged: who asks by name need not be told, but not misled."""
    if domain in NAMED_BY and wanted.needs_offer is NeedsOffer.NEVER:
        return replace(wanted, needs_offer=NeedsOffer.IF_MADE)
    return wanted


def _is_right(mention: Mention, domain: str, venues: tuple[str, ...]) -> bool:
    if domain not in NAMED_BY:
        # Nothing tells right from wrong here: a taxi's number is drawn, the others have no choice.
        return mention.domain in (domain, None)
    return mention.domain == domain and any(venue in mention.venues for venue in venues)


DATABASE, LOG = "database", "log"
NAMING = frozenset(NAMED_BY.values())
"""Slots that say which venue it is: there is nothing that they could agree with."""

BOOKED = "book"
"""How slots begin that say what is booked: `bookpeople`."""

_Place = tuple[int, int, int, str]


def claims_of(
    responses: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
    grounded: Grounded,
    of_log: Sequence[LogClaim],
    facts: VenueFacts,
) -> tuple[Claim, ...]:
    """Return the claims of a dialogue in the order of its turns and their text.

    `responses` and `mentions` have one item a turn; `grounded` and `of_log` are what database and
    log say of them.
    """
    logged = {_place(claim.turn, claim.mention): claim for claim in of_log}
    claims = []
    read = set()
    for judged in grounded.judged:
        place = _place(judged.turn, judged.mention)
        read.add(place)
        claims.append(_claim(judged.turn, judged.mention, judged, logged.get(place), facts))
    found = {
        _place(turn, mention): mention for turn, said in enumerate(mentions) for mention in said
    }
    for place, claim in logged.items():
        if place not in read:
            read.add(place)
            mention = found.get(place, claim.mention)
            claims.append(_claim(claim.turn, mention, None, claim, facts))
    for turn, (response, said) in enumerate(zip(responses, mentions, strict=True)):
        claims += (
            _claim(turn, mention, None, None, facts)
            for mention in _open_claims(response, said)
            if _place(turn, mention) not in read
        )
    return tuple(sorted(claims, key=lambda claim: (claim.turn, claim.start, claim.end, claim.slot)))


def _place(turn: int, mention: Mention) -> _Place:
    return turn, mention.start, mention.end, mention.slot


def _open_claims(response: str, said: Sequence[Mention]) -> Iterator[Mention]:
    """Yield what is claimed of slots that no table has."""
    statements = None
    for mention in said:
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
    judged: Judged | None,
    logged: LogClaim | None,
    facts: VenueFacts,
) -> Claim:
    """Return one claim as database (`judged`) and log have judged it, as far as they have."""
    read = judged.mention if judged else mention
    verdicts = {}
    if judged:
        verdicts[DATABASE] = _by_database(judged)
    if logged:
        verdicts[LOG] = RIGHT if logged.agrees else INCONSISTENT
    domain, offered = read.domain, judged.offered if judged else ()
    return Claim(
        turn=turn,
        start=read.start,
        end=read.end,
        text=read.text,
        domain=domain,
        slot=read.slot,
        value=read.value,
        venue=tuple(facts.name(str(domain), venue) for venue in offered[:FEW]),
        venues=len(offered),
        verdict=min(verdicts.values(), key=VERDICTS.index, default=UNJUDGED),
        right=_right(judged, logged, facts),
        held_against=tuple(verdicts),
        known=judged.known if judged else None,
        agrees=judged.agrees if judged else None,
        log_agrees=logged.agrees if logged else None,
    )


def _by_database(judged: Judged) -> str:
    if not judged.known:
        return UNKNOWN
    if judged.agrees is None:
        return RIGHT if judged.mention.slot in NAMING else UNJUDGED
    return RIGHT if judged.agrees else INCONSISTENT


def _right(judged: Judged | None, logged: LogClaim | None, facts: VenueFacts) -> tuple[str, ...]:
    """Return the first values of the venues, or what tools returned where only these disagree."""
    disagrees = logged is not None and not logged.agrees
    if judged is None or judged.agrees is None or (judged.agrees and disagrees):
        return logged.returned[:FEW] if logged and disagrees else ()
    if judged.counted:
        return tuple(map(str, judged.counted))
    domain, slot = str(judged.mention.domain), judged.mention.slot
    values = dict.fromkeys(
        value.removesuffix(".0")
        for venue in judged.offered
        for value in facts.values(domain, venue, slot)
    )
    return tuple(values)[:FEW]
