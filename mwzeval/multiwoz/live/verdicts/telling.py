"""How much of what was asked for an agent tells, and how much of what it tells was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from mwzeval.multiwoz.convlab.evaluator import CORRECTED_SUPERFLUOUS
from mwzeval.multiwoz.grounding.responses import Judged
from mwzeval.multiwoz.live.verdicts.answers import REFERENCE, Answer, slot_of
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.text import Mention

REQUESTABLE: Mapping[str, frozenset[str]] = {
    domain: frozenset(map(slot_of, slots)) for domain, slots in CORRECTED_SUPERFLUOUS.items()
}
"""The slots of each domain that count as told, asked for or not, as in acts by corrected rules."""

Told = tuple[str | None, str]
"""Domain and slot of a value that an agent says."""


def requested_slots(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a domain of a goal asks for; a reference belongs to its booking."""
    slots = dict.fromkeys(map(slot_of, part.get("reqt") or ()))
    return tuple(slot for slot in slots if slot != REFERENCE)


def told_in(judged: Iterable[Judged], said: Iterable[Iterable[Mention]]) -> Iterator[Told]:
    """Yield what is claimed of venues, and whatever is said of a ride or a service."""
    for one in judged:
        yield one.mention.domain, one.mention.slot
    for mention in chain.from_iterable(said):
        if mention.domain not in NAMED_BY:
            yield mention.domain, mention.slot


def inform_counts(
    goal: Mapping[str, Any], answers: Mapping[str, Iterable[Answer]], told: Iterable[Told]
) -> tuple[int, int, int]:
    """Return slots told that were asked for, told otherwise, and asked for and not told.

    `answers` are what was told of requested slots, by domain of the goal; where there is none the
    slot was not told. Only what is right counts as told that was asked for; a wrong value was told
    otherwise. What the goal itself says of a domain is not counted, and neither is a requested slot
    of which nobody knows what is right.
    """
    found, missing, open_ = set[Told](), set[Told](), set[Told]()
    for domain, given in answers.items():
        right = {answer.slot: answer.given for answer in given}
        for slot in requested_slots(goal[domain]):
            kept = {True: found, False: missing, None: open_}[right.get(slot, False)]
            kept.add((domain, slot))
        wished = {(domain, slot_of(slot)) for slot in goal[domain].get("info") or ()}
        open_ |= wished - found - missing
    counted = {(domain, slot) for domain, slot in told if slot in REQUESTABLE.get(domain or "", ())}
    return len(found), len(counted - found - open_), len(missing)
