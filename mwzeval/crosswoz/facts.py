"""Is what was told of a slot what the database has?"""

from __future__ import annotations

import re

from mwzeval.crosswoz.constraints import FREE, PRICE_SLOTS
from mwzeval.crosswoz.corpus.acts import SERVICE_PREFIX
from mwzeval.crosswoz.corpus.names import LIST_SLOTS, NO, NOTHING, RATING, TICKET, YES
from mwzeval.crosswoz.corpus.normalization import comparable_text

NUMBERS = PRICE_SLOTS | {RATING}
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
SEPARATORS = re.compile(r"[,;、/]")
"""Signs that stand between several phone numbers, where others put a blank."""


def is_nothing(held: object) -> bool:
    """Tell whether the database has no value: null, an empty text or list."""
    return held is None or held in ("", [], ())


def is_fact(slot: str, told: str | tuple[str, ...], held: object) -> bool:
    """Tell whether a told value is the database's `held`.

    Numbers may have a unit (`300元`, `4.5分`), 免费 (free) is 0; of a list some items are enough,
    but none may be invented; `无` says that there is nothing; texts are compared in one width and
    without case, blanks and separators.
    """
    if slot.startswith(SERVICE_PREFIX):
        service = slot.removeprefix(SERVICE_PREFIX)
        items = held if isinstance(held, list | tuple) else ()
        has = any(service in str(item) for item in items)
        return told == (YES if has else NO)
    if told == NOTHING or told == (NOTHING,):
        return is_nothing(held)
    if slot in LIST_SLOTS:
        items = held if isinstance(held, list | tuple) else ()
        known = {comparable_text(str(item)) for item in items}
        given = (told,) if isinstance(told, str) else told
        return bool(given) and all(comparable_text(item) in known for item in given)
    if is_nothing(held):
        return False
    text = told if isinstance(told, str) else " ".join(told)
    if slot in NUMBERS:
        return _number(slot, text) == float(str(held))
    return _plain(text) == _plain(str(held))


def _number(slot: str, text: str) -> float | None:
    if slot == TICKET and text.strip() == FREE:
        return 0.0
    match = NUMBER.match(text.strip())
    return float(match[0]) if match else None


def _plain(text: str) -> str:
    return SEPARATORS.sub("", comparable_text(text))
