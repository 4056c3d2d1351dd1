"""The log of tools as evidence: what they returned, and what is said compared with it.

Compared are values of a venue that a tool returned, booking references, that something is booked,
and how many were found, with what was returned before it was said. Definitions are in
`docs/metrics.md`. Of a dialogue without results nothing is judged.

Logs keep results as JSON or as text, and often cut. What is whole in a cut one is read; a cut list
says nothing of how many there are, or of what is missing.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from mwzeval.errors import InputError
from mwzeval.files.reading import parse_json
from mwzeval.multiwoz.database import Database, VenueFacts, comparable
from mwzeval.multiwoz.formats.functions import BY_NAME
from mwzeval.multiwoz.grounding.bookings import booked_by_calls
from mwzeval.multiwoz.grounding.claims import FEW, Judged, LogClaim
from mwzeval.multiwoz.grounding.statements import CHOICE, SENTENCE, counts_in, domains_of
from mwzeval.multiwoz.normalization import State, normalize_slot, normalize_slots
from mwzeval.multiwoz.predictions.reading import Booking, FunctionCall
from mwzeval.multiwoz.schema import BOOKED_BY, LONG_SLOTS, NAMED_BY, NO_VALUES, OTHER_END
from mwzeval.multiwoz.words.numbers import AMOUNTS, SPELLED, is_total
from mwzeval.multiwoz.words.text import Mention, Shown, fold, shown
from mwzeval.multiwoz.words.vocabulary import PATTERNS

MOST_NESTED = 16
"""Objects in each other of a cut result; what is deeper is not read."""

FAILED_WHEN = {
    **dict.fromkeys(("error", "errors"), (True,)),
    **dict.fromkeys(("success", "ok", "booked", "confirmed", "available"), (False,)),
    "status": ("error", "fail", "failed", "failure", "rejected", "unavailable"),
}
"""Keys of a result → the values with which they say that a call has failed."""


Record = Mapping[str, str]
"""Slot → value of something that a tool returned."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call returned.

    `count` is how many venues there are, None where that cannot be told. `codes` are its letters
    and digits in capitals, between blanks. `is_whole` is False where the result is cut.
    """

    call: FunctionCall
    domain: str
    is_booking: bool
    records: tuple[Record, ...]
    count: int | None
    has_failed: bool
    codes: str
    is_whole: bool

    def has_code(self, code: str) -> bool:
        """Tell whether a booking reference, however it is spelled, stands in it."""
        return f" {_code(code)} " in self.codes


def returned_by(call: FunctionCall) -> Returned | None:
    """Return what a call returned; None where the log does not say, or the call is unknown."""
    function = BY_NAME.get(call.function)
    if function is None or call.result is None or call.result == "":
        return None
    is_whole, values = True, [call.result]
    if isinstance(call.result, str):
        is_whole, values = _parsed(call.result)
    text = call.result if isinstance(call.result, str) else " ".join(_said(call.result))
    text = PATTERNS["escaped signs"].sub(" ", text)
    return Returned(
        call=call,
        domain=function.domain,
        is_booking=function.kind == "book",
        records=tuple(_records(values, call.slots)),
        count=_count(values[0], call.slots) if is_whole and values else None,
        has_failed=any(map(_has_failed, values)),
        codes=f" {_code(text)} ",
        is_whole=is_whole,
    )


def _said(value: Any) -> Iterator[str]:
    """Yield all keys and values of a result, however deep they are."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [part for item in value.items() for part in item][::-1]
        elif isinstance(value, list | tuple):
            waiting += value[::-1]
        else:
            yield str(value)


def _code(text: str) -> str:
    return PATTERNS["no signs of a code"].sub(" ", text.upper()).strip()


def _parsed(text: str) -> tuple[bool, list[Any]]:
    """Return whether a result is whole, and the values in it: text itself where it is no JSON."""
    try:
        return True, [parse_json(text, "result")]
    except InputError:
        if not text.lstrip().startswith(("[", "{")):
            return True, [text]
    decoder = json.JSONDecoder()
    values: list[Any] = []
    position = failures = 0
    while failures < MOST_NESTED and (start := text.find("{", position)) >= 0:
        if decoded := _decoded(decoder, text, start):
            values.append(decoded[0])
            position = decoded[1]
        else:
            failures += 1
            position = start + 1
    return False, values


def _decoded(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int] | None:
    """Return the value that begins at a place, and where it ends; None where it is cut."""
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _records(values: list[Any], slots: Mapping[str, str | None]) -> Iterator[Record]:
    """Yield every object in values that has slots of its own, in order."""
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | tuple):
            waiting += value[::-1]
        elif isinstance(value, Mapping):
            waiting += [inner for inner in value.values() if isinstance(inner, list | tuple | dict)]
            record = {
                slot: text
                for key, inner in value.items()
                if (slot := _slot(key, slots)) and (text := _text(inner)) not in NO_VALUES
            }
            if record:
                yield record


def _slot(key: Any, slots: Mapping[str, str | None]) -> str | None:
    if key in slots:
        return slots[key]
    slot = normalize_slot(str(key).replace("_", "").replace("-", ""))
    return LONG_SLOTS.get(slot, slot)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else ""


def _count(value: Any, slots: Mapping[str, str | None]) -> int | None:
    """Return how many are listed, or are said to be there where not all are listed."""
    if isinstance(value, list | tuple):
        return len(value)
    if not isinstance(value, Mapping):
        return None
    for key, inner in value.items():
        if _slot(key, slots) == "count" and type(inner) is int:
            return inner
    lists = [inner for inner in value.values() if isinstance(inner, list | tuple)]
    return len(lists[0]) if len(lists) == 1 else None


def _has_failed(value: Any) -> bool:
    if isinstance(value, str):
        return PATTERNS["failure"].search(value) is not None
    if not isinstance(value, Mapping):
        return False
    for key, inner in value.items():
        failing = FAILED_WHEN.get(str(key).lower(), ())
        said = inner.lower() if isinstance(inner, str) else bool(inner)
        if said in failing or (failing == (True,) and bool(inner)):
            return True
    return False


class Made(NamedTuple):
    """A booking that was made: what it calls the venue, and the venues of that name."""

    domain: str
    called: str
    venues: tuple[str, ...]
    returned: Returned | None


class Log:
    """What the calls of a dialogue have returned so far."""

    def __init__(self, database: Database, facts: VenueFacts) -> None:
        self.database = database
        self.facts = facts
        self.returned: list[Returned] = []
        self.made: list[Made] = []
        self.found: dict[str, list[Returned]] = {}
        """Domain → what its find calls returned in the last turn that has any."""
        self._named: Sequence[Mention] = ()
        self._spoken_of: dict[str | None, tuple[str | None, list[str]]] = {}
        self._records: dict[tuple[str, tuple[str, ...]], list[Record]] = {}

    def add(self, calls: Sequence[FunctionCall], returned: Sequence[Returned | None]) -> None:
        """Add the calls of the next turn."""
        found: dict[str, list[Returned]] = {}
        for call, result in zip(calls, returned, strict=True):
            kind, _, domain = call.function.partition("_")
            if kind == "book" and not (result and result.has_failed):
                booking = Booking(domain, call.arguments)
                booked = booked_by_calls([booking], self.database, self.facts).get(domain)
                called, venues = (booked.venue or "", booked.venues) if booked else ("", ())
                self.made.append(Made(domain, called, venues, result))
            if result is None:
                continue
            self.returned.append(result)
            if not result.is_booking:
                found.setdefault(result.domain, []).append(result)
            for record in result.records:
                if name := record.get(NAMED_BY.get(result.domain, "name")):
                    self._records.setdefault((result.domain, folded(name)), []).append(record)
        self.found |= found

    def name(self, names: Sequence[Mention]) -> None:
        """Keep the venues that the next turn names, if any; else those named last are kept."""
        if names:
            self._named = names
            self._spoken_of.clear()

    def names_only_unknown(self, domain: str | None) -> bool:
        """Tell whether what was named last of a domain is nothing that the database has."""
        named = [name for name in self._named if name.domain == domain]
        return bool(named) and not any(name.venues for name in named)

    def spoken_of(self, domain: str | None) -> tuple[str | None, list[str]]:
        """Return what the venues named last are called, and the domain if they are all of one.

        Of a domain only those that the database does not have.
        """
        if domain not in self._spoken_of:
            named = [
                name
                for name in self._named
                if domain is None or (name.domain == domain and not name.venues)
            ]
            domains = {name.domain for name in named} | ({domain} if domain else set())
            only = next(iter(domains)) if len(domains) == 1 else None
            called: dict[str, None] = {}
            for name in named if only else ():
                names = [self.facts.name(str(only), venue) for venue in name.venues]
                called |= dict.fromkeys(names or [name.text])
            self._spoken_of[domain] = only, list(called)
        return self._spoken_of[domain]

    def values(self, domain: str, called: str, slot: str) -> list[str]:
        """Return the values of a slot that tools have returned of a venue of this name."""
        records = self._records.get((domain, folded(called)), ())
        return [record[slot] for record in records if slot in record]


@lru_cache(maxsize=2**14)
def folded(name: str) -> tuple[str, ...]:
    """Return the words of a name or value without an article, as they are compared."""
    words = fold(name)
    return words[1:] if words[:1] == ("the",) else words


def is_same(mention: Mention, value: str) -> bool:
    """Tell whether a mention says a value that a tool returned."""
    slot, said = mention.slot, mention.value or mention.text
    if said == value:
        return True
    if slot in AMOUNTS or slot in OTHER_END:
        first, second = comparable(slot, said), comparable(slot, value)
        if isinstance(first, float) and isinstance(second, float) and slot == "price":
            return is_total(first, second)
        return first == second
    if slot in ("phone", "postcode"):
        spelled = SPELLED["postcode"]
        return spelled(said)[-10:] == spelled(value)[-10:]
    words, returned = folded(said), folded(value)
    if slot == "address":
        # People leave the last part out, or add the town.
        return words[: len(returned)] == returned[: len(words)]
    return words == returned


REFERENCE, BOOKING = "reference", "booking"
OF_LOG = (REFERENCE, BOOKING, CHOICE)
"""Slots of claims that nothing but a log can judge."""

BOOKABLE = (*BOOKED_BY, "taxi")


class Said(NamedTuple):
    """A turn of the system: its words, its state, what it mentions, and the calls made for it."""

    words: str
    state: State
    mentions: Sequence[Mention]
    calls: Sequence[FunctionCall]


def compare_with_log(
    turns: Sequence[Said], judged: Sequence[Judged], database: Database, facts: VenueFacts
) -> tuple[LogClaim, ...]:
    """Return the claims of a dialogue that its log tells something about, turn by turn.

    `judged` are its mentions as they were compared with the database.
    """
    returned = [[returned_by(call) for call in turn.calls] for turn in turns]
    if not any(map(any, returned)):
        return ()
    of_database: list[list[Judged]] = [[] for _ in turns]
    for claim in judged:
        of_database[claim.turn].append(claim)
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

    @cached_property
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
        for claim in judged:
            if claim.mention.slot != CHOICE:
                yield from self._value(claim)
        if PATTERNS["cues of the log"].search(self._said.words):
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
        if judged.agrees is not None and self._are_of_database(domain, slot, offered, listed):
            # The tools have the database's values: there is nothing else to compare it with.
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

    def _are_of_database(
        self, domain: str, slot: str, venues: Sequence[str], listed: Sequence[Sequence[str]]
    ) -> bool:
        """Tell whether tools returned values of each venue, and only those of the database."""
        has = self._log.facts.has
        return bool(venues and all(listed)) and all(
            (value := comparable(slot, text)) is not None and has(domain, venue, slot, value)
            for venue, values in zip(venues, listed, strict=True)
            for text in values
        )

    def _references(self) -> Iterator[LogClaim]:
        mentions = [mention for mention in self._said.mentions if mention.slot == REFERENCE]
        read = {place for m in self._said.mentions for place in range(m.start, m.end)}
        for match in PATTERNS["code"].finditer(self._text):
            start, end = self._shown.place(*match.span("code"))
            if read.isdisjoint(range(start, end)):
                mentions.append(self._mention(match.start("code"), match.end("code"), REFERENCE))
        mentions.sort(key=lambda mention: mention.start)
        bound = self._bound(mentions)
        for mention, about in zip(mentions, bound, strict=True):
            results = [r for r in self._log.returned if r.has_code(mention.text)]
            domains = {result.domain for result in results if result.is_booking}
            others = [
                made.returned
                for made in self._log.made
                if made.domain == about and made.returned and made.returned.records
            ]
            if results:
                agrees = not (domains and about and about not in domains and others)
                yield LogClaim(self._number, mention, agrees, () if agrees else _codes(others))
            elif all(result.is_whole for result in self._log.returned if result.is_booking):
                made = [made.returned for made in self._log.made if made.returned]
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
        return domains | {
            domain for domain in BOOKABLE if PATTERNS[f"bookings of {domain}s"].search(text)
        }

    def _bookings(self) -> Iterator[LogClaim]:
        for sentence in SENTENCE.finditer(self._text):
            start, end = sentence.span()
            matches = list(PATTERNS["booked"].finditer(self._text, start, end))
            if not matches or sentence[0].rstrip().endswith("?"):
                continue
            denied = PATTERNS["not done"].search(self._text, start, end)
            domains = self._domains(start, end)
            to_user = PATTERNS["said to the user"].search(sentence[0])
            if not domains <= {*BOOKABLE}:
                continue
            for match in matches:
                if denied and denied.start() < match.end():
                    break
                if match["passive"] and not to_user:
                    continue
                name, until = self._booked_name(match.end())
                agrees = self._is_made(domains, name)
                called = tuple(f"{made.domain} {made.called}".strip() for made in self._log.made)
                mention = self._mention(match.start(), until, BOOKING, domains)
                yield LogClaim(self._number, mention, agrees, () if agrees else called)

    def _booked_name(self, end: int) -> tuple[Mention | None, int]:
        """Return the name that follows on "booked", and where it ends."""
        for start, after, name in self._names_from(end):
            if start - end <= 60 and PATTERNS["before a booked venue"].fullmatch(
                self._text, end, start
            ):
                return name, after
            break
        return None, end

    def _names_from(self, begin: int) -> Iterator[tuple[int, int, Mention]]:
        """Yield the names that begin at a place of the text or behind it."""
        first = bisect_left(self._names, begin, key=lambda name: name[0])
        return itertools.islice(self._names, first, None)

    def _is_made(self, domains: set[str], name: Mention | None) -> bool:
        """Tell whether what is said to be booked was booked by a call."""
        made = (m for m in self._log.made if not domains or m.domain in domains)
        return any(not name or (m.domain == name.domain and _is_called(m, name)) for m in made)

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
            for result in log.found[domain]:
                if result.count is not None:
                    counts.add(result.count)
                asked = normalize_slots(result.call.arguments, log.database.rules)
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
        for result in returned
        if result
        for record in result.records
        if REFERENCE in record
    )


def _is_called(made: Made, name: Mention) -> bool:
    """Tell whether a booking may be of a venue that is named; it is where that is unclear."""
    if not made.called or not (made.venues and name.venues):
        said, called = {*folded(name.text)}, {*folded(made.called)}
        return not called or said <= called or called <= said
    return not set(made.venues).isdisjoint(name.venues)
