"""Whether what a user asks for was told, and told truly: values of a venue, a service, a booking.

A value is right when it is that of the venue settled on. Where both right and wrong was said of it,
the last counts, because that is what the user goes away with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.multiwoz.database.facts import OTHER_END, SAID_AS, VenueFacts, comparable
from mwzeval.multiwoz.grounding.responses import OF_ONE_VENUE, Judged
from mwzeval.multiwoz.live.verdicts.transcript import TAXI, Made
from mwzeval.multiwoz.normalization.normalize import normalize_slot
from mwzeval.multiwoz.words.text import Mention

REFERENCE = "reference"
CAR = "type"
_REFERENCE_KEYS = (REFERENCE, "ref", "confirmation")


class Answer(NamedTuple):
    """What was told of a requested slot: True or False, None where nobody could tell it.

    `said` are the words in `turn` that were wrong, None where nothing was said at all; `right` is
    what would have been right.
    """

    slot: str
    given: bool | None
    turn: int | None = None
    said: str | None = None
    right: tuple[str, ...] = ()


def slot_of(requested: str) -> str:
    """Return the slot of mentions that one of a goal is about: `entrance fee` → `entrancefee`."""
    slot = normalize_slot(requested)
    return CAR if slot == "cartype" else SAID_AS.get(slot, slot)


def of_venue(
    domain: str,
    slot: str,
    venues: Sequence[str],
    said: Sequence[Sequence[Mention]],
    judged: Mapping[tuple[int, int, int], Judged],
    facts: VenueFacts,
) -> Answer:
    """Return what was told of a slot of a venue; `venues` are those that may be meant.

    `said` are the agent's mentions, one item an exchange; `judged` is what the database says of
    them, by exchange, start and end.
    """
    known = [venue for venue in venues if facts.knows(domain, venue, slot)]
    if not known:
        return Answer(slot, None)
    right = tuple(dict.fromkeys(v for venue in known for v in facts.values(domain, venue, slot)))
    answer = Answer(slot, False, right=right)
    for turn, of_turn in enumerate(said):
        for mention in of_turn:
            if mention.slot == slot and is_value(domain, mention, known, facts):
                answer = Answer(slot, True, turn, right=right)
            elif (
                # In one answer, another value is mostly another venue's.
                not (answer.given and answer.turn == turn)
                and mention.slot == slot
                and mention.domain in (domain, None)
            ):
                held = judged.get((turn, mention.start, mention.end))
                if held and held.agrees is False and held.offered and {*venues} >= {*held.offered}:
                    answer = Answer(slot, False, turn, mention.text, right)
    return answer


def is_value(domain: str, mention: Mention, venues: Sequence[str], facts: VenueFacts) -> bool:
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


def of_service(
    slot: str,
    rows: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    said: Sequence[Sequence[Mention]],
) -> Answer:
    """Return what was told of the police or a hospital; `rows` are those that are asked for.

    What the database does not have is right whatever is said of it.
    """
    right = tuple(dict.fromkeys(str(row[slot]) for row in rows if row.get(slot)))
    wrong: Answer | None = None
    for turn, of_turn in enumerate(said):
        for value in right:
            if _signs(value) in _signs(texts[turn]):
                return Answer(slot, True, turn, right=right)
        for mention in of_turn:
            if mention.slot == slot:
                if not right:
                    return Answer(slot, True, turn)
                wrong = Answer(slot, False, turn, mention.text, right)
    return wrong or Answer(slot, False, right=right)


def of_taxi(
    slot: str,
    made: Sequence[Made],
    texts: Sequence[str],
    said: Sequence[Sequence[Mention]],
    *,
    has_calls: bool,
) -> Answer:
    """Return what was told of a taxi's car or phone number, which only its booking knows.

    Of an agent that calls no functions whatever is said of a taxi counts.
    """
    told = [value for one in made if (value := _returned(one, (slot,)))]
    right = tuple(told[-1:])
    wrong: Answer | None = None
    for turn, of_turn in enumerate(said):
        if right and _is_told(right[0], texts[turn]):
            return Answer(slot, True, turn, right=right)
        for mention in of_turn:
            if mention.slot == slot and mention.domain == TAXI:
                if not right and (made or not has_calls):
                    return Answer(slot, True, turn)
                wrong = Answer(slot, False, turn, mention.text, right)
    return wrong or Answer(slot, False, right=right)


def of_reference(
    domain: str, made: Sequence[Made], texts: Sequence[str], said: Sequence[Sequence[Mention]]
) -> Answer:
    """Return whether the reference of the last booking of a domain was told as it is."""
    if not made:
        return Answer(REFERENCE, False)
    last = made[-1]
    code = _returned(last, _REFERENCE_KEYS)
    right = (code,) if code else ()
    wrong: Answer | None = None
    for turn, of_turn in enumerate(said):
        if code and _signs(code) in _signs(texts[turn]):
            return Answer(REFERENCE, True, turn, right=right)
        for mention in of_turn:
            if mention.slot == REFERENCE and mention.domain in (domain, None):
                if not code:
                    return Answer(REFERENCE, True, turn)
                wrong = Answer(REFERENCE, False, turn, mention.text, right)
    return wrong or Answer(REFERENCE, False, right=right)


def _returned(made: Made, slots: Iterable[str]) -> str | None:
    """Return a value that a booking came back with."""
    records = [*(made.returned.records if made.returned else ())]
    records.append({slot.lower(): v for slot, v in made.booking.slots.items()})
    return next((record[slot] for record in records for slot in slots if record.get(slot)), None)


def _is_told(value: str, text: str) -> bool:
    """Tell whether a text has a value: its words in any order, or its signs together."""
    words = value.lower().split()
    return _signs(value) in _signs(text) or (
        len(words) > 1 and all(re.search(rf"\b{re.escape(word)}\b", text, re.I) for word in words)
    )


_OTHER = re.compile(r"[^0-9a-z]+")


def _signs(text: str) -> str:
    return _OTHER.sub("", text.lower())
