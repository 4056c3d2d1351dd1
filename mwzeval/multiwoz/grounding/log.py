"""Compare claims with the log of tools, that is, with results that calls returned before the claim.

Four kinds of claims are compared: values of a venue that a tool returned, booking references,
statements that a booking was made, and numbers of venues. Definitions are in `docs/metrics.md`.
Dialogues whose log has no results are not judged.

Logs store results as JSON or as text, which may be truncated. If a result is truncated, only its
complete parts are read. A truncated list gives no evidence about numbers or missing values.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from mwzeval.errors import InputError
from mwzeval.files.reading import parse_json
from mwzeval.multiwoz.database import Database, comparable
from mwzeval.multiwoz.functions import BY_NAME
from mwzeval.multiwoz.grounding.bookings import Booked, booked_by_call
from mwzeval.multiwoz.grounding.claims import FEW, CheckedMention, Grounded, SystemTurn
from mwzeval.multiwoz.grounding.statements import CHOICE, SENTENCE, counts_in, domains_of
from mwzeval.multiwoz.normalization import normalize_slot, normalize_slots
from mwzeval.multiwoz.predictions import Booking, FunctionCall
from mwzeval.multiwoz.schema import BOOKED_BY, LONG_SLOTS, NAMED_BY, NO_VALUES, OTHER_END
from mwzeval.multiwoz.words.numbers import AMOUNTS, SPELLED, is_total
from mwzeval.multiwoz.words.text import Mention, fold, shown
from mwzeval.multiwoz.words.vocabulary import PATTERNS

MOST_NESTED = 16
"""Maximum number of objects in a result that cannot be decoded; the text after them is ignored."""

FAILED_WHEN = {
    **dict.fromkeys(("error", "errors"), (True,)),
    **dict.fromkeys(("success", "ok", "booked", "confirmed", "available"), (False,)),
    "status": ("error", "fail", "failed", "failure", "rejected", "unavailable"),
}
"""Maps keys of a result to the values that mean that the call failed."""


Record = Mapping[str, str]
"""An object that a tool returned, as a map from slots to values."""


@dataclass(frozen=True)
class Returned:
    """The result of a tool call, as recorded in a log.

    `count` is the number of venues in the result, or None if the number is unknown. `is_whole` is
    False if the result is truncated.
    """

    call: FunctionCall
    domain: str
    is_booking: bool
    records: tuple[Record, ...]
    count: int | None
    has_failed: bool
    is_whole: bool

    @cached_property
    def _codes(self) -> str:
        """The letters and digits of the result in capitals, separated by spaces."""
        result = self.call.result
        text = result if isinstance(result, str) else " ".join(_texts(result))
        text = PATTERNS["escaped signs"].sub(" ", text)
        return f" {_code(text)} "

    def has_code(self, code: str) -> bool:
        """Return whether the result contains a booking reference in any spelling."""
        return f" {_code(code)} " in self._codes


def returned_by(call: FunctionCall) -> Returned | None:
    """Return the result of a call, or None if the log has no result or the call is unknown."""
    function = BY_NAME.get(call.function)
    if function is None or call.result is None or call.result == "":
        return None
    is_whole, values = True, [call.result]
    if isinstance(call.result, str):
        is_whole, values = _parsed(call.result)
    return Returned(
        call=call,
        domain=function.domain,
        is_booking=function.kind == "book",
        records=tuple(_records(values, call.slots)),
        count=_count(values[0], call.slots) if is_whole and values else None,
        has_failed=any(map(_has_failed, values)),
        is_whole=is_whole,
    )


def _texts(value: Any) -> Iterator[str]:
    """Yield all keys and values of a result at any depth."""
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
    """Return whether a result is complete, and its values (the text itself if it is not JSON)."""
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
    """Return the value that begins at a position and its end, or None if the value is truncated."""
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _records(values: list[Any], slots: Mapping[str, str | None]) -> Iterator[Record]:
    """Yield every object in the values that has known slots, in order."""
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
    """Return the number of listed venues, or the stated number if not all are listed."""
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
        plain = inner.lower() if isinstance(inner, str) else bool(inner)
        if plain in failing or (failing == (True,) and bool(inner)):
            return True
    return False


@lru_cache(maxsize=2**14)
def folded(name: str) -> tuple[str, ...]:
    """Return the words of a name or value without an article, for comparison."""
    words = fold(name)
    return words[1:] if words[:1] == ("the",) else words


def is_same(mention: Mention, value: str) -> bool:
    """Return whether a mention has the value that a tool returned."""
    slot, claimed = mention.slot, mention.value or mention.text
    if claimed == value:
        return True
    if slot in AMOUNTS or slot in OTHER_END:
        first, second = comparable(slot, claimed), comparable(slot, value)
        if isinstance(first, float) and isinstance(second, float) and slot == "price":
            return is_total(first, second)
        return first == second
    if slot in ("phone", "postcode"):
        spelled = SPELLED["postcode"]
        return spelled(claimed)[-10:] == spelled(value)[-10:]
    words, returned = folded(claimed), folded(value)
    if slot == "address":
        # Responses may omit the last part of an address, or add the town.
        return words[: len(returned)] == returned[: len(words)]
    return words == returned


REFERENCE, BOOKING = "reference", "booking"
OF_LOG = (REFERENCE, BOOKING, CHOICE)
"""Slots of claims that cannot be compared with the database, but only with a log."""
BOOKABLE = (*BOOKED_BY, "taxi")


def compare_with_log(grounded: Grounded, database: Database) -> tuple[CheckedMention, ...]:
    """Return the mentions of a dialogue for which the log contains evidence, turn by turn.

    `known` is set only for values of offered venues; for all other mentions, `known` is None.
    """
    returned = [[returned_by(call) for call in turn.calls] for turn in grounded.turns]
    if not any(map(any, returned)):
        return ()
    by_database: list[list[CheckedMention]] = [[] for _ in returned]
    for checked in grounded.checked:
        by_database[checked.turn].append(checked)
    log = _Log(database)
    found: list[CheckedMention] = []
    for number, turn in enumerate(grounded.turns):
        log.go_on(number, turn, returned[number])
        if turn.words:
            found += sorted(log.checked(by_database[number]), key=lambda c: c.mention.start)
    return tuple(found)


class CalledBooking(NamedTuple):
    """A booking made by a call, and the result of the call, if any."""

    domain: str
    booked: Booked
    returned: Returned | None


class _Log:
    """The results of all calls up to the current turn, compared with this turn."""

    def __init__(self, database: Database) -> None:
        self._database, self._facts = database, database.facts
        self._returned: list[Returned] = []
        self._bookings: list[CalledBooking] = []
        self._found: dict[str, list[Returned]] = {}
        """For each domain, the results of its find calls in the last turn with such calls."""
        self._named_last: Sequence[Mention] = ()
        self._names_last: dict[str | None, tuple[str | None, list[str]]] = {}
        self._records: dict[tuple[str, tuple[str, ...]], list[Record]] = {}

    def go_on(self, number: int, turn: SystemTurn, returned: Sequence[Returned | None]) -> None:
        """Start the next turn by adding its calls and remembering the venues that it names."""
        self._number, self._turn = number, turn
        found: dict[str, list[Returned]] = {}
        for call, result in zip(turn.calls, returned, strict=True):
            kind, _, domain = call.function.partition("_")
            if kind == "book" and not (result and result.has_failed):
                booked = booked_by_call(Booking(domain, call.arguments), self._database)
                self._bookings.append(CalledBooking(domain, booked, result))
            if result is None:
                continue
            self._returned.append(result)
            if not result.is_booking:
                found.setdefault(result.domain, []).append(result)
            for record in result.records:
                if known_as := record.get(NAMED_BY.get(result.domain, "name")):
                    self._records.setdefault((result.domain, folded(known_as)), []).append(record)
        self._found |= found
        self._named = [
            mention
            for mention in turn.mentions
            if mention.domain is not None and NAMED_BY.get(mention.domain) == mention.slot
        ]
        if self._named:
            self._named_last = self._named
            self._names_last.clear()

    def checked(self, by_database: Iterable[CheckedMention]) -> Iterator[CheckedMention]:
        """Yield comparisons of the turn with the log. `by_database` are those with the database."""
        for value in by_database:
            if value.mention.slot != CHOICE:
                yield from self._value(value)
        if PATTERNS["cues of the log"].search(self._turn.words):
            self._shown = shown(self._turn.words)
            self._text = self._shown.text
            self._places = [
                (*self._shown.shown_at(mention.start, mention.end), mention)
                for mention in self._named
            ]
            yield from self._of_references()
            yield from self._of_bookings()
            yield from self._of_counts()

    # Comparisons of the values of venues

    def _value(self, found: CheckedMention) -> Iterator[CheckedMention]:
        mention, slot = found.mention, found.mention.slot
        domain, names, offered = self._about(found)
        if domain is None:
            return
        known = found.known and found.agrees is not False
        if slot == NAMED_BY[domain]:
            if self._values(domain, mention.value or mention.text, slot):
                yield CheckedMention(self._number, mention, known, True)
            return
        listed = [self._values(domain, name, slot) for name in names]
        once = tuple(dict.fromkeys(chain.from_iterable(listed)))
        if found.agrees is not None and self._are_of_database(domain, slot, offered, listed):
            # The tools returned the database's values, so the comparison has the same result.
            yield CheckedMention(self._number, mention, known, found.agrees, (), once)
        elif any(is_same(mention, value) for value in once):
            yield CheckedMention(self._number, mention, known, True)
        elif listed and len(listed) <= FEW and all(listed):
            yield CheckedMention(self._number, mention, known, False, (), once)

    def _about(self, found: CheckedMention) -> tuple[str | None, list[str], tuple[str, ...]]:
        """Return the domain of a value, and the names and ids of the venues that it is about.

        If the database cannot judge the value or does not have the named venue, the venues are
        those that this turn names, or else those of the last turn that names venues.
        """
        domain = found.mention.domain
        names = [self._facts.name(str(domain), venue) for venue in found.offered]
        last = [name for name in self._named_last if name.domain == domain]
        only_unknown = bool(last) and not any(name.venues for name in last)
        if domain not in (*NAMED_BY, None) or (names and not only_unknown):
            return domain if names else None, names, found.offered
        if domain not in self._names_last:
            # If the domain is known, only names of venues that are not in the database are used.
            named = [
                name
                for name in self._named_last
                if domain is None or (name.domain == domain and not name.venues)
            ]
            domains = {name.domain for name in named} | ({domain} if domain else set())
            only = next(iter(domains)) if len(domains) == 1 else None
            called: dict[str, None] = {}
            for name in named if only else ():
                of_venues = [self._facts.name(str(only), venue) for venue in name.venues]
                called |= dict.fromkeys(of_venues or [name.text])
            self._names_last[domain] = only, list(called)
        return *self._names_last[domain], ()

    def _values(self, domain: str, name: str, slot: str) -> list[str]:
        """Return the values of a slot that tools have returned for a venue with this name."""
        records = self._records.get((domain, folded(name)), ())
        return [record[slot] for record in records if slot in record]

    def _are_of_database(
        self, domain: str, slot: str, venues: Sequence[str], listed: Sequence[Sequence[str]]
    ) -> bool:
        """Return whether tools returned values of each venue, all as in the database."""
        return bool(venues and all(listed)) and all(
            (value := comparable(slot, text)) is not None
            and self._facts.has(domain, venue, slot, value)
            for venue, values in zip(venues, listed, strict=True)
            for text in values
        )

    # References

    def _of_references(self) -> Iterator[CheckedMention]:
        mentions = [mention for mention in self._turn.mentions if mention.slot == REFERENCE]
        read = {place for m in self._turn.mentions for place in range(m.start, m.end)}
        for match in PATTERNS["code"].finditer(self._text):
            start, end = self._shown.place(*match.span("code"))
            if read.isdisjoint(range(start, end)):
                mentions.append(self._mention(match.start("code"), match.end("code"), REFERENCE))
        mentions.sort(key=lambda mention: mention.start)
        for mention, about in zip(mentions, self._bound(mentions), strict=True):
            results = [r for r in self._returned if r.has_code(mention.text)]
            domains = {result.domain for result in results if result.is_booking}
            made = [booking.returned for booking in self._bookings if booking.returned]
            others = [result for result in made if result.domain == about and result.records]
            if results:
                agrees = not (domains and about and about not in domains and others)
                yield self._checked(mention, agrees, _codes(others))
            elif all(result.is_whole for result in self._returned if result.is_booking):
                yield self._checked(mention, False, _codes(made))

    def _bound(self, mentions: Sequence[Mention]) -> Iterator[str | None]:
        """Yield the domain to which the text assigns each reference, or None if it is unclear.

        The text before a reference is used. If this text mentions no domain, the text after it is
        used.
        """
        after_it = False
        places = [self._shown.shown_at(mention.start, mention.end) for mention in mentions]
        begins, untils = [0, *(end for _, end in places)], [start for start, _ in places[1:]]
        for (start, end), begin, until in zip(
            places, begins, [*untils, len(self._text)], strict=False
        ):
            domains = set() if after_it else self._domains(begin, start)
            if not domains:
                rest = SENTENCE.match(self._text, end, until)
                domains = self._domains(end, rest.end() if rest else end)
                after_it = bool(domains)
            yield next(iter(domains)) if len(domains) == 1 else None

    def _domains(self, begin: int, end: int) -> set[str]:
        """Return the domains that a part of the text mentions."""
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

    def _names_from(self, begin: int) -> Iterator[tuple[int, int, Mention]]:
        """Yield the names that begin at or after a position of the text."""
        first = bisect_left(self._places, begin, key=lambda place: place[0])
        return islice(self._places, first, None)

    # Bookings

    def _of_bookings(self) -> Iterator[CheckedMention]:
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
                agrees = any(
                    not domains or booking.domain in domains
                    for booking in self._bookings
                    if not name or (booking.domain == name.domain and _is_of(booking.booked, name))
                )
                called = tuple(
                    f"{booking.domain} {booking.booked.venue or ''}".strip()
                    for booking in self._bookings
                )
                mention = self._mention(match.start(), until, BOOKING, domains)
                yield self._checked(mention, agrees, called)

    def _booked_name(self, end: int) -> tuple[Mention | None, int]:
        """Return the name after the word "booked", and its end position."""
        for start, after, name in islice(self._names_from(end), 1):
            if start - end <= 60 and PATTERNS["before a booked venue"].fullmatch(
                self._text, end, start
            ):
                return name, after
        return None, end

    # Counts

    def _of_counts(self) -> Iterator[CheckedMention]:
        for count in counts_in(self._text):
            counts = self._counted(count.noun)
            agrees = count.number in counts
            if not counts or (
                # The system counts the venues that it names here, which may be a selection.
                not agrees and count.of_own and count.number == len(self._named)
            ):
                continue
            mention = self._mention(count.start, count.end, CHOICE)
            yield self._checked(mention, agrees, tuple(map(str, sorted(counts))))

    def _counted(self, noun: str) -> set[int]:
        """Return all numbers of venues for the last request, from the log and the database."""
        now = {call.function for call in self._turn.calls}
        domains = domains_of(noun, self._found)
        if len(domains) > 1:
            domains = [domain for domain in domains if f"find_{domain}" in now] or domains[-1:]
        counts = set()
        for domain in domains:
            values = {
                mention.slot: mention.value
                for mention in self._turn.mentions
                if mention.domain == domain and mention.value and mention.slot != NAMED_BY[domain]
            }
            for result in self._found[domain]:
                if result.count is not None:
                    counts.add(result.count)
                asked = normalize_slots(result.call.arguments, self._database.rules)
                for constraints in (asked, {**values, **asked}, self._turn.state.get(domain, {})):
                    counts.add(len(self._database.find(domain, constraints)))
        return counts

    def _checked(self, mention: Mention, agrees: bool, right: tuple[str, ...]) -> CheckedMention:
        """Return a claim that the database cannot judge. `right` are the values in the log."""
        return CheckedMention(self._number, mention, None, agrees, (), () if agrees else right)

    def _mention(self, start: int, end: int, slot: str, domains: Collection[str] = ()) -> Mention:
        first, last = self._shown.place(start, end)
        domain = next(iter(domains)) if len(domains) == 1 else None
        return Mention(first, last, self._turn.words[first:last], slot, domain)


def _codes(bookings: Iterable[Returned]) -> tuple[str, ...]:
    """Return the references of bookings, if tools return references under a known name."""
    records = (record for returned in bookings for record in returned.records)
    return tuple(record[REFERENCE] for record in records if REFERENCE in record)


def _is_of(booking: Booked, name: Mention) -> bool:
    """Return whether a booking may be for the named venue, also True if this is unclear."""
    if booking.venue and booking.venues and name.venues:
        return not set(booking.venues).isdisjoint(name.venues)
    named, booked = {*folded(name.text)}, {*folded(booking.venue or "")}
    return not booked or named <= booked or booked <= named
