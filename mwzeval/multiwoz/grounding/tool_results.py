"""What tools returned in a dialogue: venues, how many there are, and which bookings were made.

Logs keep results as JSON or as text, and often cut. What is whole in a cut one is read; a cut list
says nothing of how many there are, or of what is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from mwzeval.errors import InputError
from mwzeval.files.json_files import parse_json
from mwzeval.multiwoz.database.facts import NO_VALUES, SAID_AS, TIMES, VenueFacts, comparable
from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.formats.functions import BY_NAME
from mwzeval.multiwoz.grounding.bookings import booked_by_calls
from mwzeval.multiwoz.normalization.normalize import normalize_slot
from mwzeval.multiwoz.predictions.reading import Booking, ToolCall
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.numbers import AMOUNTS, is_total
from mwzeval.multiwoz.words.text import Mention, fold

MOST_NESTED = 16
"""Objects in each other of a cut result; what is deeper is not read."""

FAILED_WHEN = {
    **dict.fromkeys(("error", "errors"), (True,)),
    **dict.fromkeys(("success", "ok", "booked", "confirmed", "available"), (False,)),
    "status": ("error", "fail", "failed", "failure", "rejected", "unavailable"),
}
"""Keys of a result → the values with which they say that a call has failed."""

_FAILURE = re.compile(
    r"\b(?:fail\w*|errors?|unable|unavailable|rejected|declined|no availability|fully booked"
    r"|(?:not|n't|cannot|no longer) (?:be )?(?:book\w*|available|possible|found|complete\w*))\b",
    re.IGNORECASE,
)
_CODE_SIGNS = re.compile(r"[^0-9A-Z]+")
_ESCAPED = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[bfnrt])")
"""Signs within JSON of which the letters are no part of a word."""

Record = Mapping[str, str]
"""Slot → value of something that a tool returned."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call returned.

    `count` is how many venues there are, None where that cannot be told. `codes` are its letters
    and digits in capitals, between blanks. `is_whole` is False where the result is cut.
    """

    call: ToolCall
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


def returned_by(call: ToolCall) -> Returned | None:
    """Return what a call returned; None where the log does not say, or the call is unknown."""
    function = BY_NAME.get(call.function)
    if function is None or call.result is None or call.result == "":
        return None
    is_whole, values = True, [call.result]
    if isinstance(call.result, str):
        is_whole, values = _parsed(call.result)
    text = call.result if isinstance(call.result, str) else " ".join(_said(call.result))
    return Returned(
        call=call,
        domain=function.domain,
        is_booking=function.kind == "book",
        records=tuple(_records(values, call.slots)),
        count=_count(values[0], call.slots) if is_whole and values else None,
        has_failed=any(map(_has_failed, values)),
        codes=f" {_code(_ESCAPED.sub(' ', text))} ",
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
    return _CODE_SIGNS.sub(" ", text.upper()).strip()


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
        decoded = _decoded(decoder, text, start)
        if decoded is None:
            failures += 1
            position = start + 1
        else:
            values.append(decoded[0])
            position = decoded[1]
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
    return SAID_AS.get(slot, slot)


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
        return _FAILURE.search(value) is not None
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

    def add(self, calls: Sequence[ToolCall], returned: Sequence[Returned | None]) -> None:
        """Add the calls of the next turn."""
        found: dict[str, list[Returned]] = {}
        for call, one in zip(calls, returned, strict=True):
            kind, _, domain = call.function.partition("_")
            if kind == "book" and not (one and one.has_failed):
                self.made.append(self._made(domain, call, one))
            if one is None:
                continue
            self.returned.append(one)
            if not one.is_booking:
                found.setdefault(one.domain, []).append(one)
            for record in one.records:
                if called := record.get(NAMED_BY.get(one.domain, "name")):
                    self._records.setdefault((one.domain, folded(called)), []).append(record)
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
            self._spoken_of[domain] = self._called(domain)
        return self._spoken_of[domain]

    def _called(self, domain: str | None) -> tuple[str | None, list[str]]:
        named = [
            name
            for name in self._named
            if domain is None or (name.domain == domain and not name.venues)
        ]
        domains = {name.domain for name in named} | ({domain} if domain else set())
        if len(domains) != 1:
            return None, []
        (only,) = domains
        called = (
            called
            for name in named
            for called in (
                [self.facts.name(str(only), venue) for venue in name.venues] or [name.text]
            )
        )
        return only, list(dict.fromkeys(called))

    def _made(self, domain: str, call: ToolCall, one: Returned | None) -> Made:
        booking = Booking(domain, call.arguments)
        booked = booked_by_calls([[booking]], self.database, self.facts).get(domain)
        called = (booked.venue if booked else None) or ""
        return Made(domain, called, booked.venues if booked else (), one)

    def values(self, domain: str, called: str, slot: str) -> list[str]:
        """Return the values of a slot that tools have returned of a venue of this name."""
        records = self._records.get((domain, folded(called)), ())
        return [record[slot] for record in records if slot in record]

    def is_of_database(
        self, domain: str, slot: str, venues: Sequence[str], listed: Sequence[Sequence[str]]
    ) -> bool:
        """Tell whether tools returned something of each venue, and what the database has of it."""
        return bool(venues) and all(
            values
            and all(
                (said := comparable(slot, value)) is not None
                and self.facts.has(domain, venue, slot, said)
                for value in values
            )
            for venue, values in zip(venues, listed, strict=True)
        )

    def with_code(self, code: str) -> list[Returned]:
        """Return the results that have a booking reference."""
        return [one for one in self.returned if one.has_code(code)]


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
    if slot in AMOUNTS or slot in TIMES:
        first, second = comparable(slot, said), comparable(slot, value)
        if isinstance(first, float) and isinstance(second, float) and slot == "price":
            return is_total(first, second)
        return first == second
    if slot in ("phone", "postcode"):
        return _signs(said)[-10:] == _signs(value)[-10:]
    words, returned = folded(said), folded(value)
    if slot == "address":
        # People leave the last part out, or add the town.
        return words[: len(returned)] == returned[: len(words)]
    return words == returned


def _signs(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum())
