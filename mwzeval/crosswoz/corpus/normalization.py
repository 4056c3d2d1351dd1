"""When are two texts the same? Acts and states in a form in which spelling does not matter.

How the values of a state constrain venues: ranges of prices, lower bounds of ratings.

Sources: the query of the public CrossWOZ code, without what one query leaks into the next.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.names import COST, DISHES, HOTEL_TYPE, PRICE, SERVICES, TICKET

FREE, NOT_FREE = "免费", "不免费"
AT_LEAST, AT_MOST = "以上", "以下"
PRICE_SLOTS = frozenset({TICKET, COST, PRICE})


class Bounds(NamedTuple):
    """The numbers from `low` to `high`, both included."""

    low: float
    high: float


EVERYTHING = float("inf")


def price_bounds(slot: str, value: str) -> Bounds | None:
    """Return what a ticket, cost or price may be; None when the value sets no bound.

    A bare number is an exact price, and blanks around the hyphen of a range leave its first number:
    `100 - 150元` asks for exactly 100.
    """
    if slot == TICKET and value in (FREE, NOT_FREE):
        return Bounds(0, 0) if value == FREE else Bounds(1, EVERYTHING)
    if match := re.match(r"([0-9]+)-([0-9]+)", value):
        return Bounds(float(match[1]), float(match[2]))
    if match := re.match(r"[0-9]+", value):
        number = float(match[0])
        if AT_LEAST in value:
            return Bounds(number, EVERYTHING)
        return Bounds(-EVERYTHING if AT_MOST in value else number, number)
    return None


def rating_bounds(value: str) -> Bounds | None:
    """Return what a rating may be: the number that the value begins with, or more.

    `4.5分`, `4.5分以上` and `4.50` all mean at least 4.5; None when there is no number.
    """
    match = re.match(r"[0-9]\.[0-9]|[0-9]", value)
    return Bounds(float(match[0]), EVERYTHING) if match else None


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
