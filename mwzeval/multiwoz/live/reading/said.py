"""What the words of an agent's turn give, before it is asked what they mean for the user."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from mwzeval.multiwoz.acts import SYSTEM_SLOTS, Act
from mwzeval.multiwoz.grounding.counts import SENTENCE
from mwzeval.multiwoz.grounding.statements import GENERIC, Statements
from mwzeval.multiwoz.live.reading import cues
from mwzeval.multiwoz.live.reading.calls import Called
from mwzeval.multiwoz.live.reading.context import ReadingContext
from mwzeval.multiwoz.live.reading.questions import JOURNEYS
from mwzeval.multiwoz.live.reading.values import (
    ACT_SLOTS,
    BOOKED_SLOTS,
    Services,
    said_values,
)
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, NAMED_BY, SERVICES
from mwzeval.multiwoz.words.markup import shown
from mwzeval.multiwoz.words.text import Mention, lowered

_LIMIT = re.compile(r"\b(?:after|before|past|between|around|about|than|earliest|latest|to|or)\s*$")
"""What stands before a time that only bounds others."""
_LETTER = re.compile(r"\w")
_NAMES = frozenset({"name", "address", "departure", "destination"})
_FLAGS = frozenset({"internet", "parking"})
_OF_KINDS = frozenset({"type", "food", "stars", "internet", "parking"})
_OF_JOURNEYS = frozenset({"departure", "destination", "leaveat", "arriveby"})
_LISTED = re.compile(r"^(?!.*\b(?:book|reserv|ticket)).*\b(?:has|under) the reference\b")
"""What says the reference of a venue, of which nothing was booked."""
_OF_TYPE = re.compile(r"\b(?:type|(?:it|this|that|which)(?: is|['’]s) an?)\W+$")
"""What stands before a kind that is told."""
_FREE_OF = re.compile(r"\b(?:parking|wi-?fi|internet|breakfast)\W+(?:is |are |it'?s? )?$")
"""What stands before `free of charge` that is no visit."""
_NO_CHOICE = re.compile(
    r"\W*(?:more |other |quick )?(?:details?|questions?|things?|constraints?|ways?)\b"
)
"""What stands behind a count that is none of venues."""
_COUNTED = re.compile(r"[0-9]+ [a-z]+s")
"""What may be a name, but is a count: `17 restaurants`."""
_OTHER_END = {"Leave": "Arrive", "Arrive": "Leave"}
TIMES = frozenset({"Leave", "Arrive"})
_OF_SENTENCE = frozenset({"area", "pricerange", "phone", "postcode", "address", "choice"})
"""Slots of several domains, so that the words of the sentence tell whose they are."""


class Sentence(NamedTuple):
    """A sentence or line in lower case, where it begins, and what its words do.

    `topics` are the domains of the goal that its words tell. `nothing`: it says that there is
    nothing; `booked`, `unbooked`: that something was, or cannot be booked; `unavailable`: that it
    is not to be had, be it a venue or a booking.
    """

    start: int
    low: str
    topics: tuple[str, ...]
    nothing: bool
    booked: bool
    unbooked: bool
    unavailable: bool

    @property
    def asks(self) -> bool:
        """Whether it ends as a question."""
        return self.low.rstrip().endswith("?")


class Value(NamedTuple):
    """A value as it is heard; `sentence` is where, `mention` what was found there."""

    sentence: Sentence
    domain: str
    slot: str
    value: str
    mention: Mention


class Said:
    """What the words of one turn give: sentences, values, details of bookings, references.

    `focus` are the domains of the goal, those that the turn is likeliest about first.
    """

    def __init__(
        self,
        response: str,
        mentions: Sequence[Mention],
        calls: Sequence[Called],
        focus: Sequence[str],
        context: ReadingContext,
    ) -> None:
        self._response = response
        self._mentions = mentions
        self.calls = calls
        self.focus = focus
        self.context = context
        self._shown = shown(response)
        self.low = self._without_names(lowered(self._shown.text))
        self.sentences = list(self._split())
        self._starts = [sentence.start for sentence in self.sentences]
        self.values: list[Value] = []
        self.details: list[tuple[Sentence, str, str]] = []
        """Sentence, slot and value of what a booking is for."""
        self.references: list[tuple[str, str]] = []
        """References with the domains whose bookings they are."""
        self.services: list[Act] = []
        """What is said of the police and the hospital."""
        self.given: dict[tuple[int, str], set[str]] = {}
        """Sentence and slot → values, whether or not they are said to be so."""
        self.spoken_of: list[str] = []
        """Domains in the order in which the turn comes to them."""

    def _without_names(self, low: str) -> str:
        """Return a text with `_` for the letters of names and streets, often words that tell."""
        for mention in self._mentions:
            if mention.slot in _NAMES:
                start, end = self._shown.shown_at(mention.start, mention.end)
                low = low[:start] + _LETTER.sub("_", low[start:end]) + low[end:]
        return low

    def _split(self) -> Iterator[Sentence]:
        goal = self.context.domains
        for match in SENTENCE.finditer(self.low):
            low = match[0]
            topics = tuple(domain for domain in cues.topics_of(low) if domain in goal)
            unbooked = cues.fails_to_book(low)
            yield Sentence(
                start=match.start(),
                low=low,
                topics=topics,
                nothing=not unbooked and cues.finds_nothing(low),
                booked=cues.has_booked(low),
                unbooked=unbooked,
                unavailable=cues.is_unavailable(low),
            )

    @cached_property
    def statements(self) -> Statements:
        """The sentences of the turn, asked what they say of what they name."""
        return Statements(self._response)

    def read(self, services: Services) -> None:
        """Collect the values of the turn, each with its domain and the sentence it is in."""
        if not self.sentences:
            return
        of_taxi = self.focus[:1] == ("taxi",) or any("taxi" in s.topics for s in self.sentences)
        for mention, value in said_values(self._response, self._mentions, of_taxi):
            start, _ = self._shown.shown_at(mention.start, mention.end)
            sentence = self.sentences[max(0, bisect_right(self._starts, start) - 1)]
            if mention.slot == "reference":
                self.references.append((value.upper(), self._whose(mention, value, sentence)))
            else:
                self._add(mention, value, sentence, start)
        for domain in SERVICES:
            if domain in self.context.domains:
                self.services += (
                    Act("Inform", domain.capitalize(), ACT_SLOTS[domain][slot], value)
                    for slot, value in services.values_in(domain, self.low)
                )

    def _add(self, mention: Mention, value: str, sentence: Sentence, start: int) -> None:
        slot = mention.slot
        if slot in BOOKED_SLOTS and self._is_of_booking(mention, sentence):
            self.details.append((sentence, BOOKED_SLOTS[slot], value))
            self.given.setdefault((sentence.start, BOOKED_SLOTS[slot]), set()).add(value)
            return
        if slot == "entrancefee" and _FREE_OF.search(self.low, max(0, start - 25), start):
            return
        end = start + len(mention.text)
        if slot == "choice" and _NO_CHOICE.match(self.low, end):
            return
        domain = self._domain(mention, sentence)
        if domain is None:
            return
        if slot == "name" and _COUNTED.fullmatch(mention.text.lower()):
            slot, value = "choice", mention.text.split()[0]
        if domain not in self.spoken_of:
            self.spoken_of.append(domain)
        spoken = ACT_SLOTS[domain][slot]
        self.given.setdefault((sentence.start, spoken), set()).add(value)
        if spoken in TIMES:
            if _LIMIT.search(self.low, max(sentence.start, start - 12), start):
                return
            spoken = self._end(domain, spoken, value, mention)
        elif slot in _FLAGS:
            if mention.value is None:
                value = "no" if self.statements.is_denied(mention) else "yes"
        elif not self._is_said(mention, domain):
            return
        if spoken == "Choice" and not value.isdigit():
            value = "several"
        goal_slot = SYSTEM_SLOTS[domain][spoken.lower()]
        value = self.context.spelled(domain, goal_slot, value)
        self.values.append(Value(sentence, domain, spoken, value, mention))

    def _is_of_booking(self, mention: Mention, sentence: Sentence) -> bool:
        """Tell whether a day, a time or a number is that of a table or of rooms, not a train's."""
        slot = mention.slot
        if slot in ("bookpeople", "bookstay"):
            return True
        if mention.domain in self.context.domains and mention.value is not None:
            # It is a train's.
            return False
        whose = self.likeliest(sentence)
        if whose == "restaurant":
            # The time at which a taxi is at a restaurant is not that of a table.
            is_ride = not JOURNEYS.isdisjoint(self.focus[:1]) and whose not in sentence.topics
            return slot in ("day", "bookday") or not is_ride
        return whose == "hotel" and slot in ("day", "bookday")

    def likeliest(self, sentence: Sentence) -> str | None:
        """Return the domain that a sentence is about as far as its words and the turn tell."""
        return next(iter((*sentence.topics, *self.spoken_of[-1:], *self.focus)), None)

    def _domain(self, mention: Mention, sentence: Sentence) -> str | None:
        """Return the domain of the goal that a value is of; None when it is of none."""
        slot, goal = mention.slot, self.context.domains
        domain = mention.domain
        elsewhere = slot in _OF_SENTENCE and sentence.topics and domain not in sentence.topics
        if domain in goal and slot in ACT_SLOTS[str(domain)] and not elsewhere:
            return domain
        if slot in ("name", "trainid") or (slot in _OF_KINDS and domain not in (None, *goal)):
            return None
        last = self.spoken_of[-1:]
        # Towns and times are said of much else than journeys.
        focus = self.focus[:1] if slot in _OF_JOURNEYS else self.focus
        for other in (*sentence.topics, *last, *focus):
            if slot in ACT_SLOTS[other]:
                return other
        return None

    def _is_said(self, mention: Mention, domain: str) -> bool:
        """Tell whether a value is said to be so, as far as a user takes words for it."""
        if mention.slot == "type" and domain == "hotel":
            named = self._named(domain)
            if any(not set(name.venues).isdisjoint(mention.venues) for name in named):
                return True
            start, _ = self._shown.shown_at(mention.start, mention.end)
            if ("hotel", "Type") in self.context.asked or _OF_TYPE.search(self.low, 0, start):
                return True
            # A guesthouse may be called a hotel, too, and so may anything that is looked for.
            return mention.text.lower() != GENERIC and self.statements.is_claim(
                mention, named, choice=True
            )
        if mention.slot in ("choice", "trainid", "phone", "postcode", "address"):
            return True
        return not self.statements.is_denied(mention)

    def _named(self, domain: str) -> list[Mention]:
        slot = NAMED_BY.get(domain)
        return [one for one in self._mentions if one.slot == slot and one.domain == domain]

    def _end(self, domain: str, spoken: str, value: str, mention: Mention) -> str:
        """Return the end of a journey that a time is of; the user's own time where that is open."""
        if mention.sure:
            return spoken
        other = _OTHER_END[spoken]
        wanted = self.context.goal[domain].get("info", {})
        return other if wanted.get(SYSTEM_SLOTS[domain][other.lower()]) == value else spoken

    def _whose(self, mention: Mention, code: str, sentence: Sentence) -> str:
        """Return the domain whose booking a reference is."""
        for call in self.calls:
            if call.reference and call.reference.lower() == code.lower():
                return call.domain
        bookable = [d for d in self.context.domains if d in ACT_BOOKING_SLOTS]
        if _LISTED.search(sentence.low):
            return ""
        about = sentence.topics or self.spoken_of[-1:]
        if about and not sentence.booked and ACT_BOOKING_SLOTS.keys().isdisjoint(about):
            return ""
        named = [d for d in (*sentence.topics, *self.spoken_of[::-1]) if d in bookable]
        for domain in (*named, self.context.domain, mention.domain, *bookable):
            if domain in bookable:
                return str(domain)
        return ""
