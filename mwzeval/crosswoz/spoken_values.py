"""Does a response say what the database has of a slot?"""

from __future__ import annotations

import re

from mwzeval.crosswoz.constraints import FREE
from mwzeval.crosswoz.corpus.acts import SERVICE_PREFIX
from mwzeval.crosswoz.corpus.names import LIST_SLOTS, NO, NOTHING, TICKET, YES
from mwzeval.crosswoz.corpus.normalization import comparable_text
from mwzeval.crosswoz.facts import NUMBERS, is_nothing

DENIALS = re.compile("没有|没|无|不提供|不含|不包|不支持|暂未|不具备|不是")
"""How a sentence says that there is no such thing."""
AFFIRMATIONS = re.compile("有|提供|是的|可以|支持|能")
SENTENCES = re.compile(r"[。！？!?;；，,\n]")
SEPARATORS = re.compile(r"[,;、/]")


def told_in(
    response: str, slot: str, held: object, *, asked: bool = False
) -> str | tuple[str, ...]:
    """Return the value that a response tells of a slot, as far as it is the database's `held`.

    "" when it does not: words that say something else are no answer. Services are told by a
    sentence part with their name, which may deny them; where they have just been `asked` for, a
    bare yes or no tells them, too.
    """
    if slot.startswith(SERVICE_PREFIX):
        told = _service(response, slot.removeprefix(SERVICE_PREFIX))
        return told or (_bare_answer(response) if asked else "")
    if is_nothing(held):
        return NOTHING if DENIALS.search(response) else ""
    if slot in LIST_SLOTS:
        items = held if isinstance(held, list | tuple) else ()
        text = comparable_text(response)
        return tuple(str(item) for item in items if comparable_text(str(item)) in text)
    if slot in NUMBERS:
        return _number(response, slot, float(str(held)))
    plain = SEPARATORS.sub("", comparable_text(str(held)))
    return str(held) if plain in SEPARATORS.sub("", comparable_text(response)) else ""


def _service(response: str, service: str) -> str:
    name = comparable_text(service)
    for part in SENTENCES.split(response):
        if name in comparable_text(part):
            rest = part.replace(service, "")
            return NO if DENIALS.search(rest) else YES
    return ""


def _bare_answer(response: str) -> str:
    if DENIALS.search(response):
        return NO
    return YES if AFFIRMATIONS.search(response) else ""


def _number(response: str, slot: str, held: float) -> str:
    if slot == TICKET and held == 0 and FREE in response:
        return FREE
    for match in re.finditer(r"[0-9]+(?:\.[0-9]+)?", comparable_text(response)):
        if float(match[0]) == held:
            return match[0]
    return ""
