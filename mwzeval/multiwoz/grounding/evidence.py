"""The log as evidence: what a turn says, held against what tools returned before it was said.

Values of a venue that a tool returned, booking references, that something is booked, and how many
were found. Definitions are in `docs/metrics.md`. Of a dialogue without results nothing is judged.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from mwzeval.multiwoz.database.facts import VenueFacts
from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.grounding.counts import CHOICE, SENTENCE, counts_in, domains_of
from mwzeval.multiwoz.grounding.responses import FEW, Judged
from mwzeval.multiwoz.grounding.tool_results import (
    Log,
    Made,
    Returned,
    folded,
    is_same,
    returned_by,
)
from mwzeval.multiwoz.normalization.normalize import State, normalize_slots
from mwzeval.multiwoz.predictions.reading import ToolCall
from mwzeval.multiwoz.schema import BOOKED_BY, NAMED_BY
from mwzeval.multiwoz.words.markup import Shown, shown
from mwzeval.multiwoz.words.text import Mention
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS

REFERENCE, BOOKING = "reference", "booking"
OF_LOG = (REFERENCE, BOOKING, CHOICE)
"""Slots of claims that nothing but a log can judge."""

BOOKABLE = (*BOOKED_BY, "taxi")
ANCHORS = {
    "restaurant": re.compile(r"\b(?:restaurant|table|dinner|lunch)\b", re.I),
    "hotel": re.compile(r"\b(?:hotel|guest ?house|rooms?|nights?|stay)\b", re.I),
    "train": re.compile(r"\b(?:train|train tickets?)\b", re.I),
    "taxi": re.compile(r"\b(?:taxi|cab)\b", re.I),
}
"""Words that tell of which domain a booking is."""

_ADVERBS = r"(?:(?:just|now|also|already|successfully|both|all|gone ahead and|went ahead and)\s+)*"
_BOOKED = re.compile(
    rf"\b(?:(?:i|we)(?:\s*['’]ve|\s+have)?\s+{_ADVERBS}(?:booked|reserved)\b"
    rf"|(?P<passive>(?:is|are|was|were|(?:has|have)\s+been)\s+{_ADVERBS}(?:booked|reserved)\b)"
    r"|(?:booking|reservation)\s+(?:is|was|has\s+been|went)\s+(?:now\s+|all\s+)?"
    r"(?:successful(?:ly)?|confirmed|complete[d]?|made|through)\b)"
    r"(?!\s+(?:up|out|solid|(?:on|at|for)\s+th(?:at|ose)))",
    re.I,
)
_SAID_TO_USER = re.compile(r"\b(?:you|your|successfully|all set|reference)\b", re.I)
_NOT_DONE = re.compile(
    r"\b(?:not|never|nothing|no|if|once|when|until|unless|before|after|would|could|can|shall|should"
    r"|cannot|unable|fail\w*|unfortunately|sorry|fully|have you|did)\b|n['’]t\b",
    re.I,
)
_BEFORE_VENUE = re.compile(
    r"(?:\W|\b(?:you|in|into|at|a|an|the|your|table|rooms?|stay|tickets?|seats?|for|on|train"
    r"|people|persons?|guests?|adults?|nights?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|{'|'.join(NUMBER_WORDS)})\b|\d)*",
    re.I,
)
_CUES = re.compile(r"book|reserv|confirm|referenc|found|there|have|'ve|’ve|got|return", re.I)
"""Without any of these, nothing is said of what only a log can tell."""
FARTHEST_NAME = 60
"""Characters between "booked" and the name of what is booked."""
_CODE = re.compile(
    r"\b(?:reference|confirmation|booking)\s+(?:(?:number|code|id|no\.?)\s*)?(?:is|:)\s*[\"'#]?"
    r"(?P<code>(?=[A-Z-]*[0-9])[A-Z0-9][A-Z0-9-]{3,}[A-Z0-9])\b"
)


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


class Said(NamedTuple):
    """A turn of the system: its words, its state, what it mentions, and the calls made for it."""

    words: str
    state: State
    mentions: Sequence[Mention]
    calls: Sequence[ToolCall]


def held_against_log(
    turns: Sequence[Said], judged: Sequence[Judged], database: Database, facts: VenueFacts
) -> tuple[LogClaim, ...]:
    """Return the claims of a dialogue that its log tells something about, turn by turn.

    `judged` are its mentions as they were held against the database.
    """
    returned = [[returned_by(call) for call in turn.calls] for turn in turns]
    if not any(one for of_turn in returned for one in of_turn):
        return ()
    of_database: list[list[Judged]] = [[] for _ in turns]
    for one in judged:
        of_database[one.turn].append(one)
    log = Log(database, facts)
    claims: list[LogClaim] = []
    for number, turn in enumerate(turns):
        log.add(turn.calls, returned[number])
        names = [
            mention
            for mention in turn.mentions
            if mention.domain is not None and NAMED_BY.get(mention.domain) == mention.slot
        ]
        log.name(names)
        if turn.words:
            of_turn = _Turn(number, turn, names, log).claims(of_database[number])
            claims += sorted(of_turn, key=lambda claim: claim.mention.start)
    return tuple(claims)


class _Turn:
    """Judges what one turn says by the log so far."""

    def __init__(self, number: int, said: Said, names: Sequence[Mention], log: Log) -> None:
        self._named = names
        self._number = number
        self._said = said
        self._log = log

    @cached_property
    def _shown(self) -> Shown:
        return shown(self._said.words)

    @property
    def _text(self) -> str:
        return self._shown.text

    @cached_property
    def _names(self) -> list[tuple[int, int, Mention]]:
        """The names in the text as it is shown, with their places there."""
        return [
            (*self._shown.shown_at(mention.start, mention.end), mention) for mention in self._named
        ]

    def claims(self, judged: Sequence[Judged]) -> Iterator[LogClaim]:
        """Yield the claims of this turn."""
        for one in judged:
            if one.mention.slot != CHOICE:
                yield from self._value(one)
        if _CUES.search(self._said.words):
            yield from self._references()
            yield from self._bookings()
            yield from self._counts()

    def _value(self, judged: Judged) -> Iterator[LogClaim]:
        mention, log = judged.mention, self._log
        slot = mention.slot
        domain, called, offered = self._spoken_of(judged)
        if domain is None:
            return
        known = judged.known and judged.agrees is not False
        if slot == NAMED_BY[domain]:
            if log.values(domain, mention.value or mention.text, slot):
                yield LogClaim(self._number, mention, True, (), known)
            return
        listed = [log.values(domain, name, slot) for name in called]
        if judged.agrees is not None and log.is_of_database(domain, slot, offered, listed):
            # The tools have the database's values, so that there is no other to hold it against.
            yield LogClaim(self._number, mention, judged.agrees, _once(listed), known)
        elif any(is_same(mention, value) for values in listed for value in values):
            yield LogClaim(self._number, mention, True, (), known)
        elif listed and len(listed) <= FEW and all(listed):
            yield LogClaim(self._number, mention, False, _once(listed), known)

    def _spoken_of(self, judged: Judged) -> tuple[str | None, list[str], tuple[str, ...]]:
        """Return the domain that a value is of, what its venues are called, and which they are.

        Where the database could not tell, or what is on offer only stands for a venue that it does
        not have, it is that of what is named here, or was last.
        """
        domain, log = judged.mention.domain, self._log
        called = [log.facts.name(str(domain), venue) for venue in judged.offered]
        if domain not in (*NAMED_BY, None) or (called and not log.names_only_unknown(domain)):
            return domain if called else None, called, judged.offered
        return *log.spoken_of(domain), ()

    def _references(self) -> Iterator[LogClaim]:
        mentions = [mention for mention in self._said.mentions if mention.slot == REFERENCE]
        read = {at for one in self._said.mentions for at in range(one.start, one.end)}
        for match in _CODE.finditer(self._text):
            start, end = self._shown.place(*match.span("code"))
            if read.isdisjoint(range(start, end)):
                mentions.append(self._mention(match.start("code"), match.end("code"), REFERENCE))
        mentions.sort(key=lambda mention: mention.start)
        bound = self._bound(mentions)
        for mention, about in zip(mentions, bound, strict=True):
            results = self._log.with_code(mention.text)
            of = {one.domain for one in results if one.is_booking}
            others = [
                made.returned
                for made in self._log.made
                if made.domain == about and made.returned and made.returned.records
            ]
            if results:
                agrees = not (of and about and about not in of and others)
                yield LogClaim(self._number, mention, agrees, () if agrees else _codes(others))
            elif all(one.is_whole for one in self._log.returned if one.is_booking):
                made = [one.returned for one in self._log.made if one.returned]
                yield LogClaim(self._number, mention, False, _codes(made))

    def _bound(self, mentions: Sequence[Mention]) -> Iterator[str | None]:
        """Yield the one domain that each reference is said to be of, None where it is unclear.

        What stands before a reference tells, or where nothing does, what stands after it.
        """
        after_it = False
        for number, mention in enumerate(mentions):
            start, end = self._shown.shown_at(mention.start, mention.end)
            last = mentions[number - 1] if number else None
            begin = self._shown.shown_at(last.start, last.end)[1] if last else 0
            domains = set() if after_it else self._domains(begin, start)
            if not domains:
                until = len(self._text)
                if number + 1 < len(mentions):
                    until = self._shown.shown_at(mentions[number + 1].start, 0)[0]
                rest = SENTENCE.match(self._text, end, until)
                domains = self._domains(end, rest.end() if rest else end)
                after_it = bool(domains)
            yield next(iter(domains)) if len(domains) == 1 else None

    def _domains(self, begin: int, end: int) -> set[str]:
        """Return the domains that a stretch of the text speaks of."""
        domains = set()
        between: list[str] = []
        last = begin
        for start, after, name in self._names_from(begin):
            if after > end:
                break
            domains.add(str(name.domain))
            between.append(self._text[last:start])
            last = after
        between.append(self._text[last:end])
        text = " ".join(between)
        return domains | {domain for domain, words in ANCHORS.items() if words.search(text)}

    def _bookings(self) -> Iterator[LogClaim]:
        for sentence in SENTENCE.finditer(self._text):
            start, end = sentence.span()
            matches = list(_BOOKED.finditer(self._text, start, end))
            if not matches or sentence[0].rstrip().endswith("?"):
                continue
            denied = _NOT_DONE.search(self._text, start, end)
            domains = self._domains(start, end)
            to_user = _SAID_TO_USER.search(sentence[0])
            if not domains <= {*BOOKABLE}:
                continue
            for match in matches:
                if denied and denied.start() < match.end():
                    break
                if match["passive"] and not to_user:
                    continue
                name, until = self._booked_name(match.end())
                agrees = self._is_made(domains, name)
                called = tuple(f"{one.domain} {one.called}".strip() for one in self._log.made)
                mention = self._mention(match.start(), until, BOOKING, domains)
                yield LogClaim(self._number, mention, agrees, () if agrees else called)

    def _booked_name(self, end: int) -> tuple[Mention | None, int]:
        """Return the name that follows on "booked", and where it ends."""
        for start, after, name in self._names_from(end):
            if start - end <= FARTHEST_NAME and _BEFORE_VENUE.fullmatch(self._text, end, start):
                return name, after
            break
        return None, end

    def _names_from(self, begin: int) -> Iterator[tuple[int, int, Mention]]:
        """Yield the names that begin at a place of the text or behind it."""
        first = bisect_left(self._names, begin, key=lambda name: name[0])
        return itertools.islice(self._names, first, None)

    def _is_made(self, domains: set[str], name: Mention | None) -> bool:
        """Tell whether what is said to be booked was booked by a call."""
        made = [one for one in self._log.made if not domains or one.domain in domains]
        if name is None:
            return bool(made)
        return any(one.domain == name.domain and _is_called(one, name) for one in made)

    def _counts(self) -> Iterator[LogClaim]:
        for count in counts_in(self._text):
            counts = self._counted(count.noun)
            if counts:
                right = count.number in counts
                if not right and count.of_own and count.number == len(self._named):
                    continue  # those that are named here, of more
                told = () if right else tuple(map(str, sorted(counts)))
                mention = self._mention(count.start, count.end, CHOICE)
                yield LogClaim(self._number, mention, right, told)

    def _counted(self, noun: str) -> set[int]:
        """Return how many there are of what was asked for last, by log and by database."""
        log, now = self._log, {call.function for call in self._said.calls}
        domains = domains_of(noun, log.found)
        if len(domains) > 1:
            domains = [domain for domain in domains if f"find_{domain}" in now] or domains[-1:]
        counts = set()
        for domain in domains:
            if domain not in NAMED_BY:
                continue
            said = {
                mention.slot: mention.value
                for mention in self._said.mentions
                if mention.domain == domain and mention.value and mention.slot != NAMED_BY[domain]
            }
            for one in log.found[domain]:
                if one.count is not None:
                    counts.add(one.count)
                asked = normalize_slots(one.call.arguments, log.database.rules)
                for constraints in (asked, {**said, **asked}, self._said.state.get(domain, {})):
                    counts.add(len(log.database.find(domain, constraints)))
        return counts

    def _mention(self, start: int, end: int, slot: str, domains: Collection[str] = ()) -> Mention:
        first, last = self._shown.place(start, end)
        domain = next(iter(domains)) if len(domains) == 1 else None
        return Mention(first, last, self._said.words[first:last], slot, domain)


def _once(listed: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for values in listed for value in values))


def _codes(returned: Sequence[Returned | None]) -> tuple[str, ...]:
    """Return the references of bookings, as far as tools call them so."""
    return tuple(
        record[REFERENCE]
        for one in returned
        if one
        for record in one.records
        if REFERENCE in record
    )


def _is_called(made: Made, name: Mention) -> bool:
    """Tell whether a booking may be of a venue that is named; it is where that is unclear."""
    if not made.called or not (made.venues and name.venues):
        said, called = {*folded(name.text)}, {*folded(made.called)}
        return not called or said <= called or called <= said
    return not set(made.venues).isdisjoint(name.venues)
