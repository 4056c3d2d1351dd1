"""What a live dialogue comes to in one domain: the venue chosen, the ride, and the answers given.

* The chosen venue is what the user ends with: the venue that the user has picked from a list, or
  asked about, or that the agent named last. Where nothing was picked from a list the first is
  meant, as it is when users say no more than "yes".
* A taxi is what its call orders. An agent without calls, or one that never comes to the call, has
  at least to hear of the ride what the goal wants: places and times count that are said where the
  dialogue is about the taxi.
* An answer is right when it is that of the chosen venue, service or booking. Where both right and
  wrong was said, the last counts, because that is what the user goes away with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.convlab.evaluator import CORRECTED_SUPERFLUOUS
from mwzeval.multiwoz.database import OTHER_END, SAID_AS, Database, VenueFacts, comparable
from mwzeval.multiwoz.grounding.claims import CHECKED, OF_ONE_VENUE, Judged
from mwzeval.multiwoz.grounding.statements import SENTENCE
from mwzeval.multiwoz.live.transcript import TAXI, Exchange, MadeBooking, Transcript, domains_in
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.text import Mention, fold

REFERENCE = "reference"
_REFERENCE_KEYS = (REFERENCE, "ref", "confirmation")
RIDE_TIMES = {"leave": "leaveat", "arrive": "arriveby"}
RIDE_SLOTS = ("departure", "destination", *RIDE_TIMES)
"""The constraints of a goal that a ride has to meet."""
_STILL_ABOUT_TAXI = 2
"""So many exchanges after one that is about a taxi may be about it, too."""
_ARTICLES = frozenset({"the", "a"})
_TIME = re.compile(r"\b0?([0-9]{1,2})[:.]?([0-9]{2})\b")
_NO_SIGN = re.compile(r"[^0-9a-z]+")

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
_BEFORE_NAME = 90
"""So many characters before a name may say that there is none."""
_PLACES = {
    **{word: number for number, word in enumerate(("first", "second", "third", "fourth", "fifth"))},
    **{word: number for number, word in enumerate(("1st", "2nd", "3rd", "4th", "5th"))},
    "last": -1,
}
_ORDINAL = re.compile(
    rf"\b(?:the\s+)?(?P<number>{'|'.join(_PLACES)})\s+(?P<what>one|option|choice|\w+s?\b)",
    re.IGNORECASE,
)
_ORDERED = frozenset(
    {
        *("one", "option", "choice", "restaurant", "hotel", "guesthouse", "attraction", "train"),
        *("place", "museum", "college", "listing", "suggestion", "result"),
    }
)


class Option(NamedTuple):
    """A venue as it was named: its words, and the venues of that name, none where it is none."""

    text: str
    venues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The venue chosen after the exchange `turn`.

    `options` are what is left to choose from, the first of them meant; `is_picked` tells that the
    user named it, and `is_confirmed` that the agent has spoken of it.
    """

    turn: int
    options: tuple[Option, ...]
    is_picked: bool = False
    is_confirmed: bool = True

    @property
    def option(self) -> Option:
        """The venue that is meant."""
        return self.options[0]

    def is_among(self, venues: AbstractSet[str]) -> bool:
        """Tell whether any of the options is one of these venues."""
        return _share(self.options, venues)


class VenueChoices:
    """Follows which venue of a domain the user and the agent settle on."""

    def __init__(self, domain: str, facts: VenueFacts, database: Database) -> None:
        self._domain = domain
        self._facts = facts
        self._database = database

    def final(self, exchanges: Sequence[Exchange], booked: Mapping[int, Option]) -> Choice | None:
        """Return the choice in the end, None for none; `booked` are venues by exchange."""
        choice: Choice | None = None
        for turn, exchange in enumerate(exchanges):
            if exchange.user_mentions or (choice and len(choice.options) > 1):
                choice = self._after_user(turn, exchange, choice)
            choice = self._after_agent(turn, exchange, choice)
            if turn in booked:
                choice = Choice(turn, (booked[turn],), is_picked=True)
        return choice if choice and choice.is_confirmed else None

    def _after_user(self, turn: int, exchange: Exchange, choice: Choice | None) -> Choice | None:
        options = choice.options if choice else ()
        named = _options(m for m in exchange.user_mentions if self._is_name(m) and m.venues)
        if not named and choice and not choice.is_picked:
            low = exchange.user.lower()
            named = tuple(o for o in options if not o.venues and o.text.lower() in low)
        if named:
            before = {venue for option in options for venue in option.venues}
            known = tuple(o for o in named if not o.venues or not before.isdisjoint(o.venues))
            is_confirmed = bool(known) and choice is not None and choice.is_confirmed
            return Choice(turn, known or named, is_picked=True, is_confirmed=is_confirmed)
        if choice is None or len(options) < 2:
            return choice
        place = next(
            (
                _PLACES[match["number"].lower()]
                for match in _ORDINAL.finditer(exchange.user)
                if match["what"].lower() in _ORDERED
            ),
            None,
        )
        if place is not None and place < len(options):
            return replace(choice, turn=turn, options=(options[place],), is_picked=True)
        # Of the options those are left that have the values which the user says, where any has.
        domain, has = self._domain, self._facts.has
        for mention in exchange.user_mentions:
            slot = mention.slot
            if slot in CHECKED[domain] and mention.domain in (domain, None):
                value = comparable(slot, mention.value or mention.text)
                if value is not None:
                    left = (
                        o for o in options if any(has(domain, v, slot, value) for v in o.venues)
                    )
                    options = tuple(left) or options
        return replace(choice, options=options)

    def _after_agent(self, turn: int, exchange: Exchange, choice: Choice | None) -> Choice | None:
        mentions = [mention for mention in exchange.agent_mentions if self._is_name(mention)]
        named = _options(m for m in mentions if not _is_denied(exchange.agent, m))
        if named:
            return self._after_names(turn, named, choice, exchange.state.get(self._domain))
        if choice is None:
            return None
        if mentions:  # all of them denied
            return None if choice.is_among({v for m in mentions for v in m.venues}) else choice
        if choice.is_picked:
            is_booked = self._domain in exchange.domains[:1] and any(
                mention.slot == REFERENCE for mention in exchange.agent_mentions
            )
            about = {venue for mention in exchange.agent_mentions for venue in mention.venues}
            is_confirmed = choice.is_confirmed or is_booked or choice.is_among(about)
            return replace(choice, is_confirmed=is_confirmed)
        return None if self._finds_nothing(exchange) else choice

    def _after_names(
        self,
        turn: int,
        named: tuple[Option, ...],
        choice: Choice | None,
        wanted: Mapping[str, str] | None,
    ) -> Choice:
        if choice is None:
            return Choice(turn, named)
        if choice.is_picked or (len(choice.options) == 1 and len(named) > 1):
            texts = {option.text.lower() for option in named}
            if choice.is_among({venue for option in named for venue in option.venues}) or any(
                option.text.lower() in texts for option in choice.options
            ):
                return replace(choice, turn=turn, is_confirmed=True)
        if len(named) > 1 and choice.is_confirmed and wanted:
            # Nobody takes one of a list that has nothing of what was asked for.
            found = set(self._database.find(self._domain, wanted))
            if _share((choice.option,), found) and not _share(named, found):
                return choice
        return Choice(turn, named)

    def _finds_nothing(self, exchange: Exchange) -> bool:
        """Tell whether the agent says that there is nothing in the domain."""
        for match in _NOTHING.finditer(exchange.agent):
            rest = SENTENCE.match(exchange.agent, match.end())
            about = domains_in(rest[0] if rest else "") or exchange.domains
            if about[:1] == (self._domain,):
                return True
        return False

    def _is_name(self, mention: Mention) -> bool:
        return mention.domain == self._domain and mention.slot == NAMED_BY[self._domain]


def _is_denied(text: str, mention: Mention) -> bool:
    """Tell whether a venue is named only to say that there is none."""
    return _DENIED.search(text[max(0, mention.start - _BEFORE_NAME) : mention.start]) is not None


def _share(options: Iterable[Option], venues: AbstractSet[str]) -> bool:
    return any(not venues.isdisjoint(option.venues) for option in options)


def _options(mentions: Iterable[Mention]) -> tuple[Option, ...]:
    """Return each venue once, in the order of the text."""
    return tuple({m.venues or m.text.lower(): Option(m.text, m.venues) for m in mentions}.values())


class RideFault(NamedTuple):
    """A constraint of the ride that is not met; `value` is None where nothing was said of it."""

    slot: str
    value: str | None
    wanted: str
    turn: int | None


def ride_faults(
    goal: Mapping[str, str], transcript: Transcript, rules: Rules
) -> tuple[RideFault, ...]:
    """Return what of the last taxi ordered is not as a goal with these constraints wants it."""
    wanted = {slot: goal[slot] for slot in RIDE_SLOTS if goal.get(slot)}
    ordered = [
        (turn, call.arguments)
        for turn, exchange in enumerate(transcript.exchanges)
        for call in exchange.calls
        if call.function == "book_taxi"
    ]
    ordered += [
        (len(transcript.exchanges), made.booking.slots)
        for made in transcript.bookings_of(TAXI)
        if made.turn is None
    ]
    if ordered:
        turn, slots = ordered[-1]
        given = {normalize_slot(slot): value for slot, value in slots.items()}
        if not given.keys().isdisjoint(wanted):
            return tuple(
                RideFault(slot, given.get(slot), value, turn)
                for slot, value in wanted.items()
                if not _is_same(slot, value, given.get(slot, ""), rules)
            )
    texts = list(_texts_about_taxi(transcript.exchanges))
    return tuple(
        RideFault(slot, None, value, None)
        for slot, value in wanted.items()
        if not any(_says(slot, value, text) for text in texts)
    )


def _texts_about_taxi(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """Yield what is said about the taxi, answers to questions about its ride among it."""
    since = _STILL_ABOUT_TAXI + 1
    for exchange in exchanges:
        since = 0 if TAXI in exchange.domains else since + 1
        if since <= _STILL_ABOUT_TAXI:
            yield from (exchange.user, exchange.agent)
        if TAXI in domains_in(exchange.agent):
            since = 0


def _is_same(slot: str, wanted: str, given: str, rules: Rules) -> bool:
    if slot in RIDE_TIMES:
        return comparable(RIDE_TIMES[slot], wanted) == comparable(RIDE_TIMES[slot], given)
    if normalize_value("name", wanted, rules) == normalize_value("name", given, rules):
        return True
    first, second = _words(wanted), _words(given)
    return bool(second) and (first <= second or second <= first)


def _says(slot: str, wanted: str, text: str) -> bool:
    if slot in RIDE_TIMES:
        time = _TIME.search(wanted)
        return time is not None and time.groups() in (m.groups() for m in _TIME.finditer(text))
    return _words(wanted) <= _words(text)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(text)) - _ARTICLES


class Answer(NamedTuple):
    """What the agent says of a requested slot: right or wrong, None where nobody could tell it.

    `text` are the words in `turn` that were wrong, None where nothing was said at all; `right` is
    what would have been right.
    """

    slot: str
    given: bool | None
    turn: int | None = None
    text: str | None = None
    right: tuple[str, ...] = ()


def mention_slot(requested: str) -> str:
    """Return the slot of mentions that a requested slot of a goal has: `entrance fee` → …"""
    slot = normalize_slot(requested)
    return "type" if slot == "cartype" else SAID_AS.get(slot, slot)


def venue_answer(
    domain: str,
    slot: str,
    venues: Sequence[str],
    exchanges: Sequence[Exchange],
    judged: Mapping[tuple[int, int, int], Judged],
    facts: VenueFacts,
) -> Answer:
    """Return what was said of a slot of a venue; `venues` are those that may be meant.

    `judged` is what the database says of mentions, by exchange, start and end.
    """
    known = [venue for venue in venues if facts.knows(domain, venue, slot)]
    if not known:
        return Answer(slot, None)
    right = tuple(dict.fromkeys(v for venue in known for v in facts.values(domain, venue, slot)))
    answer = Answer(slot, False, right=right)
    for turn, exchange in enumerate(exchanges):
        for mention in exchange.agent_mentions:
            if mention.slot != slot:
                continue
            if is_value_of(domain, mention, known, facts):
                answer = Answer(slot, True, turn, right=right)
            # In one answer, another value is mostly another venue's.
            elif not (answer.given and answer.turn == turn) and mention.domain in (domain, None):
                found = judged.get((turn, mention.start, mention.end))
                offered = set(found.offered) if found and found.agrees is False else set()
                if offered and offered.issubset(venues):
                    answer = Answer(slot, False, turn, mention.text, right)
    return answer


def is_value_of(domain: str, mention: Mention, venues: Sequence[str], facts: VenueFacts) -> bool:
    """Tell whether a mention says a value that one of the venues has.

    Where no word tells of a train's time which of both it is, it may be either.
    """
    slot = mention.slot
    if mention.domain not in (domain, None) and slot not in OF_ONE_VENUE:
        return False
    if mention.domain == domain and not set(venues).isdisjoint(mention.venues):
        return True
    value = comparable(slot, mention.value or mention.text)
    slots = (slot,) if mention.sure or slot not in OTHER_END else (slot, OTHER_END[slot])
    return value is not None and any(
        facts.has(domain, venue, slot, value) for venue in venues for slot in slots
    )


def service_answer(
    slot: str, rows: Sequence[Mapping[str, Any]], exchanges: Sequence[Exchange]
) -> Answer:
    """Return what was said of the police or a hospital; `rows` are those that are asked for.

    What the database does not have is right whatever is said of it.
    """
    right = tuple(dict.fromkeys(str(row[slot]) for row in rows if row.get(slot)))
    return _answer(slot, right, exchanges, None, is_open=True)


def taxi_answer(slot: str, transcript: Transcript) -> Answer:
    """Return what was said of a taxi's car or phone number, which only its booking knows.

    Of an agent that calls no functions whatever is said of a taxi counts.
    """
    bookings = transcript.bookings_of(TAXI)
    values = [value for made in bookings if (value := _returned(made, (slot,)))]
    is_open = bool(bookings) or not transcript.has_calls
    right = tuple(values[-1:])
    return _answer(slot, right, transcript.exchanges, {TAXI}, is_open=is_open, in_any_order=True)


def reference_answer(domain: str, transcript: Transcript) -> Answer:
    """Return whether the reference of the last booking of a domain was said as it is."""
    code = _returned(transcript.bookings_of(domain)[-1], _REFERENCE_KEYS)
    right = (code,) if code else ()
    return _answer(REFERENCE, right, transcript.exchanges, {domain, None}, is_open=True)


def _answer(
    slot: str,
    right: tuple[str, ...],
    exchanges: Iterable[Exchange],
    domains: AbstractSet[str | None] | None,
    *,
    is_open: bool,
    in_any_order: bool = False,
) -> Answer:
    """Return the first answer that is right, else the last that is wrong.

    Where nothing is `right` and it `is_open`, any mention is. `domains` are those of mentions that
    count, None for all; `in_any_order` tells that the words of a value may come so.
    """
    answer = Answer(slot, False, right=right)
    for turn, exchange in enumerate(exchanges):
        text = exchange.agent
        for value in right:
            words = value.split() if in_any_order else ()
            if _signs(value) in _signs(text) or (
                len(words) > 1
                and all(re.search(rf"\b{re.escape(word)}\b", text, re.I) for word in words)
            ):
                return Answer(slot, True, turn, right=right)
        for mention in exchange.agent_mentions:
            if mention.slot == slot and (domains is None or mention.domain in domains):
                if not right and is_open:
                    return Answer(slot, True, turn)
                answer = Answer(slot, False, turn, mention.text, right)
    return answer


def _returned(made: MadeBooking, slots: Iterable[str]) -> str | None:
    """Return a value that a booking came back with."""
    records = [*(made.returned.records if made.returned else ())]
    records.append({slot.lower(): value for slot, value in made.booking.slots.items()})
    return next((record[slot] for record in records for slot in slots if record.get(slot)), None)


def _signs(text: str) -> str:
    return _NO_SIGN.sub("", text.lower())


REQUESTABLE: Mapping[str, frozenset[str]] = {
    domain: frozenset(map(mention_slot, slots)) for domain, slots in CORRECTED_SUPERFLUOUS.items()
}
"""Domain → slots that count as informed, requested or not, as in acts by corrected rules."""


def requested_slots(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a domain of a goal asks for; a reference belongs to its booking."""
    slots = dict.fromkeys(map(mention_slot, part.get("reqt") or ()))
    return tuple(slot for slot in slots if slot != REFERENCE)


def inform_counts(
    goal: Mapping[str, Any],
    answers: Mapping[str, Iterable[Answer]],
    judged: Iterable[Judged],
    exchanges: Iterable[Exchange],
) -> tuple[int, int, int]:
    """Return slots informed that were requested, informed otherwise, and requested only.

    `answers` are by domain of the goal; where there is none the slot was not informed. Only what is
    right counts as an answer; a wrong value was informed otherwise. Informed is what is claimed of
    venues, and whatever is said of a ride or a service. What the goal itself says of a domain is
    not counted, and neither is a requested slot of which nobody knows what is right.
    """
    found, missing, uncounted = (set[tuple[str | None, str]]() for _ in range(3))
    for domain, given in answers.items():
        right = {answer.slot: answer.given for answer in given}
        for slot in requested_slots(goal[domain]):
            slots = {True: found, False: missing, None: uncounted}[right.get(slot, False)]
            slots.add((domain, slot))
        wishes = {(domain, mention_slot(slot)) for slot in goal[domain].get("info") or ()}
        uncounted |= wishes - found - missing
    informed = {(claim.mention.domain, claim.mention.slot) for claim in judged}
    informed |= {
        (mention.domain, mention.slot)
        for exchange in exchanges
        for mention in exchange.agent_mentions
        if mention.domain not in NAMED_BY
    }
    counted = {
        (domain, slot) for domain, slot in informed if slot in REQUESTABLE.get(domain or "", ())
    }
    return len(found), len(counted - found - uncounted), len(missing)
