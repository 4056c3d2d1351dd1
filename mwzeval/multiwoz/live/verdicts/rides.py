"""Whether the taxi that a live dialogue orders is the one that its goal wants.

Where a call orders it, its arguments tell. An agent without calls, or one that never comes to the
call, has at least to hear of the ride what the goal wants: places and times count that are said
where the dialogue is about the taxi.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.database.facts import comparable
from mwzeval.multiwoz.live.verdicts.transcript import TAXI, Transcript, domains_told
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_value
from mwzeval.multiwoz.words.text import fold

TIMES = {"leave": "leaveat", "arrive": "arriveby"}
STILL = 2
"""So many exchanges after one that speaks of a taxi may be about it, too."""
_ARTICLES = frozenset({"the", "a"})
_TIME = re.compile(r"\b0?([0-9]{1,2})[:.]?([0-9]{2})\b")


class Wrong(NamedTuple):
    """A constraint of the ride that is not met; `said` is None where nothing was said of it."""

    slot: str
    said: str | None
    wanted: str
    turn: int | None


def faults(wanted: Mapping[str, str], transcript: Transcript, rules: Rules) -> tuple[Wrong, ...]:
    """Return what is not as the goal wants it; `wanted` are its constraints."""
    ordered = [
        (turn, call.arguments)
        for turn, exchange in enumerate(transcript.exchanges)
        for call in exchange.calls
        if call.function == "book_taxi"
    ]
    ordered += [
        (len(transcript.exchanges), made.booking.slots)
        for made in transcript.made
        if made.turn is None and made.booking.domain == TAXI
    ]
    if ordered:
        turn, slots = ordered[-1]
        given = {normalize_slot(slot): value for slot, value in slots.items()}
        if not given.keys().isdisjoint(wanted):
            return tuple(
                Wrong(slot, given.get(slot), value, turn)
                for slot, value in wanted.items()
                if not _is_same(slot, value, given.get(slot, ""), rules)
            )
    texts = list(_texts(transcript))
    return tuple(
        Wrong(slot, None, value, None)
        for slot, value in wanted.items()
        if not any(_says(slot, value, text) for text in texts)
    )


def _texts(transcript: Transcript) -> Iterator[str]:
    """Yield what is said about the taxi, answers to questions about its ride among it."""
    since = STILL + 1
    for exchange in transcript.exchanges:
        since = 0 if TAXI in exchange.domains else since + 1
        if since <= STILL:
            yield from (exchange.user, exchange.agent)
        if TAXI in domains_told(exchange.agent):
            since = 0


def _is_same(slot: str, wanted: str, given: str, rules: Rules) -> bool:
    if slot in TIMES:
        return comparable(TIMES[slot], wanted) == comparable(TIMES[slot], given)
    if normalize_value("name", wanted, rules) == normalize_value("name", given, rules):
        return True
    first, second = _words(wanted), _words(given)
    return bool(second) and (first <= second or second <= first)


def _says(slot: str, wanted: str, text: str) -> bool:
    if slot in TIMES:
        time = _TIME.search(wanted)
        said = (match.groups() for match in _TIME.finditer(text))
        return time is not None and time.groups() in said
    return _words(wanted) <= _words(text)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(text)) - _ARTICLES


def places_and_times(informable: Mapping[str, str]) -> dict[str, str]:
    """Return the constraints of a goal that a ride has to meet."""
    slots: Sequence[str] = ("departure", "destination", *TIMES)
    return {slot: informable[slot] for slot in slots if informable.get(slot)}
