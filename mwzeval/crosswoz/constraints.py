"""How the values of a state constrain venues: ranges of prices, lower bounds of ratings.

Sources: the query of the public CrossWOZ code, without what one query leaks into the next.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mwzeval.crosswoz.corpus.names import COST, PRICE, TICKET

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
