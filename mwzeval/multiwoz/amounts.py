"""Amounts as responses and the database say them: pounds, minutes and stars."""

from __future__ import annotations

import re
from functools import lru_cache

from mwzeval.multiwoz.words.surface_tables import NUMBER_WORDS

AMOUNTS = frozenset({"stars", "entrancefee", "price", "duration"})
"""Slots whose values are the same when their numbers are."""

MOST_TICKETS = 8
"""A price for this many people at most is known as a multiple of a ticket's: goals have no more."""

PENCE = 0.05
"""Totals may differ by this: prices of single tickets are rounded."""

_FIGURE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HOUR = re.compile(r"\bh(?:ou)?rs?\b")


@lru_cache(maxsize=2**12)
def amount(text: str) -> float | None:
    """Return the number in a text (`free` is 0, hours are in minutes), None when there is none."""
    text = text.lower()
    figure = _FIGURE.search(text)
    if figure:
        number = float(figure[0])
    else:
        words = [NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in NUMBER_WORDS]
        if not words:
            return 0.0 if "free" in text else None
        number = float(words[0])
    return 60 * number if _HOUR.search(text) else number


def is_total(total: float, ticket: float) -> bool:
    """Tell whether a price is that of one to so many tickets, but for rounding."""
    if ticket <= 0:
        return False
    tickets = round(total / ticket)
    return 1 <= tickets <= MOST_TICKETS and abs(total - tickets * ticket) <= PENCE
