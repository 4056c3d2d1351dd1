"""The placeholder names of delexicalised responses, and the canonical name of each.

To teach the evaluator a placeholder, add its name to the right row. That changes scores, so it
also raises the scoring revision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

VENUE_DOMAINS = ("attraction", "restaurant", "hotel")
PLACE_DOMAINS = ("attraction", "hospital", "hotel", "police", "restaurant")


def _each(domains: Iterable[str], slot: str) -> list[str]:
    return [f"{domain}_{slot}" for domain in domains]


CANONICAL: dict[str, list[str]] = {
    "ADDRESS": ["address", *_each([*PLACE_DOMAINS, "value"], "address")],
    "AREA": ["area", *_each([*VENUE_DOMAINS, "value"], "area")],
    "TIME": [
        *["booktime", "value_time", "time", "duration", "value_duration", "train_duration"],
        *["arriveby", "taxi_arriveby", "value_arrive", "arrive by", "train_arriveby"],
        *["leaveat", "value_leave", "leave at", "train_leaveat", "train_leave"],
        *["train_arrive", "taxi_leaveat"],
    ],
    "DAY": ["day", "value_day", "bookday", "train_day"],
    "PLACE": [
        *["destination", "value_destination", "train_destination", "taxi_destination"],
        *["departure", "value_departure", "train_departure", "taxi_departure", "value_place"],
    ],
    "FOOD": ["food", "value_food", "restaurant_food"],
    "NAME": ["name", *_each([*PLACE_DOMAINS, "value"], "name")],
    "PHONE": ["phone", *_each([*PLACE_DOMAINS, "taxi", "value"], "phone")],
    "POST": ["postcode", *_each([*PLACE_DOMAINS, "value"], "postcode")],
    "PRICE": [
        *["price", "value_price", "train_price", "attraction_price"],
        *["entrancefee", "entrance fee", "attraction_entrancefee"],
        *["pricerange", "price range", *_each([*VENUE_DOMAINS, "value"], "pricerange")],
    ],
    "REFERENCE": ["ref", "reference", *_each([*VENUE_DOMAINS, "train", "value"], "reference")],
    "COUNT": [
        *["stars", "value_stars", "hotel_stars", "bookstay", "value_stay", "stay"],
        *["bookpeople", "value_people", "people", "value_count"],
        *["choice", *_each([*VENUE_DOMAINS, "train", "value"], "choice")],
    ],
    "TYPE": [
        *["type", *_each([*VENUE_DOMAINS, "taxi", "value"], "type")],
        *["car", "taxi_car", "value_car"],
    ],
    "TRAINID": ["trainid", "train_id", "value_id", "id", "train", "train_trainid"],
    "INTERNET": ["internet", "hotel_internet"],
    "PARKING": ["parking", "hotel_parking"],
    "ID": ["hospital_id", "attraction_id", "restaurant_id"],
    "DEPARTMENT": ["value_department", "department", "hospital_department"],
    "OPEN": ["openhours"],
}
PLACEHOLDERS = {name: canonical for canonical, names in CANONICAL.items() for name in names}

KNOWN_PLACEHOLDER = rf"\[(?:{'|'.join(sorted(PLACEHOLDERS, key=len, reverse=True))})\]"
"""Matches a known placeholder in lower case, and nothing else in brackets."""

# The plural ending goes with the placeholder; of the alternatives the first that fits counts.
_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:es|s|-s|-es)?")


@lru_cache(maxsize=2**14)
def canonical_placeholders(response: str) -> tuple[str, tuple[str, ...]]:
    """Return a response in lower case with canonical placeholders, and the names nobody knows.

    An unknown placeholder becomes nothing at all. So does the text of a Markdown link, which is no
    placeholder and not among the names.
    """
    unknown: list[str] = []

    def canonical(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in PLACEHOLDERS:
            return PLACEHOLDERS[name]
        if not match.string.startswith("(", match.end()):
            unknown.append(name)
        return ""

    return _PLACEHOLDER.sub(canonical, response.lower()), tuple(unknown)


# Text in brackets before a parenthesis is a link of Markdown.
_NO_LINK = re.compile(rf"{KNOWN_PLACEHOLDER}(?!\()")


def known_placeholders(response: str) -> frozenset[str]:
    """Return the canonical names of the placeholders of a response that the scorer knows."""
    if "[" not in response:
        return frozenset()
    return frozenset(PLACEHOLDERS[found[1:-1]] for found in _NO_LINK.findall(response.lower()))
