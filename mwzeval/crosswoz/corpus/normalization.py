"""When are two texts the same? Acts and states in a form in which spelling does not matter."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.names import DISHES, HOTEL_TYPE, SERVICES

REMEMBERED = 2**16
"""Texts kept before the oldest is forgotten: bounds memory on hostile input."""
TYPE_ENDING = "型"
"""What the hotel types of the database end in (`经济型`), and some states leave out."""
ITEM_SLOTS = frozenset({DISHES, SERVICES})


@lru_cache(REMEMBERED)
def comparable_text(text: str) -> str:
    """Return a text in one width (NFKC), in lower case and without blanks.

    `（Ａ店）` and `(a 店)` become the same.
    """
    if text.isascii():
        return "".join(text.lower().split())
    return "".join(unicodedata.normalize("NFKC", text).lower().split())


@lru_cache(REMEMBERED)
def comparable(act: Act) -> Act:
    """Return an act with slot and value in comparable form.

    NLU models give back word pieces, which have neither case nor blanks (section 9 of the paper's
    code); so both sides are compared without.
    """
    return Act(act.intent, act.domain, comparable_text(act.slot), comparable_text(act.value))


@lru_cache(REMEMBERED)
def normal_value(slot: str, value: str) -> str:
    """Return a state's value in normal form: items in one order, no blanks that mean nothing.

    Blanks separate dishes and services, and mean nothing elsewhere. Hotel types come without the
    ending that only some annotators wrote (`经济` for `经济型`). Width and case stay as they are.
    """
    items = value.split()
    if slot in ITEM_SLOTS:
        return " ".join(sorted(items))
    text = "".join(items)
    return text.removesuffix(TYPE_ENDING) if slot == HOTEL_TYPE else text
