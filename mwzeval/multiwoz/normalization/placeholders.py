"""The placeholder names of delexicalised responses, and the canonical name of each.

To teach the evaluator a placeholder, add its name to the right row. That changes scores, so it
also raises the scoring revision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from mwzeval.multiwoz.schema import PLACE_DOMAINS, VENUE_DOMAINS


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


class Placeholders(NamedTuple):
    """A response by its placeholders.

    `text` is the response in lower case with canonical placeholders, without the endings of old
    delexicalisers, and `names` are those that are in it. `known` are the same without texts of
    Markdown links, `unknown` the names that nobody knows, without these too.
    """

    text: str
    names: frozenset[str]
    known: frozenset[str]
    unknown: tuple[str, ...]


@lru_cache(maxsize=2**14)
def placeholders_of(response: str) -> Placeholders:
    """Return the one reading of a response that all scores and warnings share.

    An unknown placeholder becomes nothing at all. So does the text of a Markdown link.
    """
    names: list[str] = []
    links: list[str] = []
    unknown: list[str] = []

    def canonical(match: re.Match[str]) -> str:
        name = match[1]
        if name in PLACEHOLDERS:
            found = PLACEHOLDERS[name]
            is_link = match.string.startswith("(", match.end(1) + 1)
            (links if is_link else names).append(found)
            return found
        if not match.string.startswith("(", match.end()):
            unknown.append(name)
        return ""

    text = response.lower()
    if "[" in text:
        text = _PLACEHOLDER.sub(canonical, text)
    # (odd) Plural and adverb endings of old delexicalisers (`hotel -s`, `[pricerange] -ly`) go,
    # wherever else these letters stand too.
    if "-" in text:
        text = text.replace("-s", "").replace("-ly", "")
    known = frozenset(names)
    return Placeholders(text, known.union(links) if links else known, known, tuple(unknown))


def known_placeholders(response: str) -> frozenset[str]:
    """Return the canonical names of the placeholders of a response that the scorer knows."""
    return placeholders_of(response).known if "[" in response else NO_NAMES


NO_NAMES: frozenset[str] = frozenset()
