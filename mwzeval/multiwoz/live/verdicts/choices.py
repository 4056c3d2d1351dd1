"""Which venue a live dialogue settles on in a domain, as far as words tell.

What counts is what the user ends with: the venue that the user has chosen from a list, or asked
about, or that the agent named last. Where nothing was chosen from a list the first is meant, as it
is when users say no more than "yes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NamedTuple

from mwzeval.multiwoz.database.facts import VenueFacts, comparable
from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.grounding.counts import SENTENCE
from mwzeval.multiwoz.grounding.evidence import REFERENCE
from mwzeval.multiwoz.grounding.responses import CHECKED
from mwzeval.multiwoz.live.verdicts.spoken import Spoken
from mwzeval.multiwoz.live.verdicts.transcript import domains_told
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.text import Mention


class Option(NamedTuple):
    """A venue as it was named: its words, and the venues of that name, none where it is none."""

    text: str
    venues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """What was settled on after the exchange `turn`.

    `options` are what is left to choose from, the first of them meant; `chosen` tells that the user
    named it, and `confirmed` that the agent has spoken of it.
    """

    turn: int
    options: tuple[Option, ...]
    chosen: bool = False
    confirmed: bool = True

    @property
    def option(self) -> Option:
        """The venue that is meant."""
        return self.options[0]


_CANNOT = (
    r"(?:(?:could|ca|can|did|do|was|am|were|is|are)\s?n['’]?t|(?:could|can|did|do|was|am|were) not"
    r"|cannot|unable to|not able to|no)"
)
_DENIED = re.compile(
    rf"\b{_CANNOT}\s+(?:able to\s+)?(?:(?:find|locate|have|see|recognize|know)\s+)?"
    r"(?:any|anything|a|an|the)?\s*(?:information|info|details|records?|data|entry|listings?"
    r"|results?|match(?:es)?)?\s*(?:about|on|for|of|regarding|matching)?\s*(?:any|a|an|the)?\s*"
    r"(?:\w+\s+)?(?:(?:called|named|by the name of)\s+)?[\"'“‘*_]*$",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    rf"\b{_CANNOT}\s+(?:able to\s+)?find\s+any|\bthere\s+(?:are\s+(?:no|not any)|aren['’]?t any)\b",
    re.IGNORECASE,
)
BEFORE = 90
"""So many characters before a name may say that there is none."""
_ORDINAL = re.compile(
    r"\b(?:the\s+)?(?P<number>first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)\s+"
    r"(?:one|option|choice|\w+s?\b)",
    re.IGNORECASE,
)
_PLACES = {
    **{word: number for number, word in enumerate(("first", "second", "third", "fourth", "fifth"))},
    **{word: number for number, word in enumerate(("1st", "2nd", "3rd", "4th", "5th"))},
    "last": -1,
}
_KINDS_OF_ORDINAL = frozenset(
    {
        *("one", "option", "choice", "restaurant", "hotel", "guesthouse", "attraction", "train"),
        *("place", "museum", "college", "listing", "suggestion", "result"),
    }
)


class Choices:
    """Follows which venue of a domain the user and the agent settle on."""

    def __init__(self, domain: str, facts: VenueFacts, database: Database) -> None:
        self._domain = domain
        self._facts = facts
        self._database = database

    def settled(
        self,
        spoken: Sequence[Spoken],
        states: Sequence[State],
        booked: Mapping[int, tuple[str, tuple[str, ...]]],
    ) -> Settled | None:
        """Return what is settled on in the end, None for nothing.

        `states` (normalised) are what the user wants at each exchange, `booked` the venues that are
        booked in some: what they are called, and which they are.
        """
        settled: Settled | None = None
        for turn, one in enumerate(spoken):
            if one.asked or (settled and len(settled.options) > 1):
                settled = self._after_user(turn, one, settled)
            settled = self._after_agent(turn, one, settled, states[turn].get(self._domain))
            if turn in booked:
                called, venues = booked[turn]
                settled = Settled(turn, (Option(called, venues),), chosen=True)
        return settled if settled and settled.confirmed else None

    def _after_user(self, turn: int, one: Spoken, settled: Settled | None) -> Settled | None:
        options = settled.options if settled else ()
        named = _options(m for m in one.asked if self._names(m) and m.venues)
        if not named and settled and not settled.chosen:
            low = one.user.lower()
            named = tuple(o for o in options if not o.venues and o.text.lower() in low)
        if named:
            before = {venue for option in options for venue in option.venues}
            known = tuple(o for o in named if not o.venues or not before.isdisjoint(o.venues))
            confirmed = bool(known) and settled is not None and settled.confirmed
            return Settled(turn, known or named, chosen=True, confirmed=confirmed)
        if settled is None or len(options) < 2:
            return settled
        place = next(_ordinals(one.user), None)
        if place is not None and place < len(options):
            return replace(settled, turn=turn, options=(options[place],), chosen=True)
        return replace(settled, options=self._with_values(options, one.asked))

    def _with_values(
        self, options: Sequence[Option], asked: Iterable[Mention]
    ) -> tuple[Option, ...]:
        """Return the options that have the values the user says, where any has."""
        domain, facts = self._domain, self._facts
        left = tuple(options)
        for mention in asked:
            slot = mention.slot
            if slot not in CHECKED[domain] or mention.domain not in (domain, None):
                continue
            value = comparable(slot, mention.value or mention.text)
            if value is not None:
                left = (
                    tuple(
                        option
                        for option in left
                        if any(facts.has(domain, venue, slot, value) for venue in option.venues)
                    )
                    or left
                )
        return left

    def _after_agent(
        self, turn: int, one: Spoken, settled: Settled | None, wanted: Mapping[str, str] | None
    ) -> Settled | None:
        mentions = [mention for mention in one.said if self._names(mention)]
        named = _options(m for m in mentions if not _is_denied(one.agent, m))
        if named:
            return self._after_names(turn, named, settled, wanted)
        if settled is None:
            return None
        if mentions:  # all of them denied
            none = {venue for mention in mentions for venue in mention.venues}
            return None if _share(settled.options, none) else settled
        if settled.chosen:
            told = {venue for mention in one.said for venue in mention.venues}
            is_booked = self._domain in one.domains[:1] and any(
                mention.slot == REFERENCE for mention in one.said
            )
            confirmed = settled.confirmed or is_booked or _share(settled.options, told)
            return replace(settled, confirmed=confirmed)
        return None if self._finds_nothing(one) else settled

    def _after_names(
        self,
        turn: int,
        named: tuple[Option, ...],
        settled: Settled | None,
        wanted: Mapping[str, str] | None,
    ) -> Settled:
        if settled is None:
            return Settled(turn, named)
        if settled.chosen or (len(settled.options) == 1 and len(named) > 1):
            venues = {venue for option in named for venue in option.venues}
            texts = {option.text.lower() for option in named}
            if _share(settled.options, venues) or any(
                option.text.lower() in texts for option in settled.options
            ):
                return replace(settled, turn=turn, confirmed=True)
        if len(named) > 1 and settled.confirmed and wanted:
            # Nobody takes one of a list that has nothing of what was asked for.
            found = set(self._database.find(self._domain, wanted))
            if _share(settled.options[:1], found) and not _share(named, found):
                return settled
        return Settled(turn, named)

    def _finds_nothing(self, one: Spoken) -> bool:
        """Tell whether the agent says that there is nothing in the domain."""
        for match in _NOTHING.finditer(one.agent):
            rest = SENTENCE.match(one.agent, match.end())
            told = domains_told(rest[0] if rest else "") or one.domains
            if told[:1] == (self._domain,):
                return True
        return False

    def _names(self, mention: Mention) -> bool:
        return mention.domain == self._domain and mention.slot == NAMED_BY[self._domain]


def _ordinals(text: str) -> Iterator[int]:
    for match in _ORDINAL.finditer(text):
        what = match[0].split()[-1].lower()
        if what in _KINDS_OF_ORDINAL:
            yield _PLACES[match["number"].lower()]


def _is_denied(text: str, mention: Mention) -> bool:
    """Tell whether a venue is named only to say that there is none."""
    return _DENIED.search(text[max(0, mention.start - BEFORE) : mention.start]) is not None


def _share(options: Iterable[Option], venues: AbstractSet[str]) -> bool:
    return any(not venues.isdisjoint(option.venues) for option in options)


def _options(mentions: Iterable[Mention]) -> tuple[Option, ...]:
    """Return each venue once, in the order of the text."""
    return tuple({m.venues or m.text.lower(): Option(m.text, m.venues) for m in mentions}.values())
