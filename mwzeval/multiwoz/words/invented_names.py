"""Names that the database does not have, where their form gives them away."""

from __future__ import annotations

from collections.abc import Container

from mwzeval.multiwoz.words.text import WORD, Tokens

TAILS = {
    **dict.fromkeys(
        ("restaurant", "brasserie", "bistro", "cafe", "pizzeria", "takeaway"), "restaurant"
    ),
    **dict.fromkeys(("hotel", "guesthouse", "lodge", "inn"), "hotel"),
    **dict.fromkeys(
        ("museum", "college", "theatre", "gallery", "cinema", "nightclub"), "attraction"
    ),
}
"""Last words of names, and the domain that they tell."""

LONGEST_UNKNOWN = 4
"""Words before the last one that are looked at."""


def name_before(text: str, tokens: Tokens, index: int, known: Container[str]) -> int | None:
    """Return the first token of a name that ends with this one; None if it does not look like one.

    All of its words have capitals, and one that is not the first of a sentence is no word of the
    database: neither `Indian Restaurant` nor `Restaurants` is a name.
    """
    if not text[tokens.start(index)].isupper():
        return None
    first, telling = index, False
    while first and index - first < LONGEST_UNKNOWN:
        before = first - 1
        if tokens.kinds[before] < WORD or not text[tokens.start(before)].isupper():
            break
        if tokens.words[before] not in known and before and tokens.words[before - 1] not in ".!?":
            telling = True
        first = before
    while first < index and (tokens.words[first] in known or _begins(tokens, first)):
        first += 1
    return first if telling and first < index else None


def _begins(tokens: Tokens, index: int) -> bool:
    return index == 0 or tokens.words[index - 1] in ".!?"
