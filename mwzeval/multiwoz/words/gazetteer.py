"""What can be said about the venues of a database: every value in its usual spellings.

A trie of folded words finds the longest value that begins at a word in as many steps as the value
has words, so that a text is read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.multiwoz.database.venues import UNKNOWN, id_column
from mwzeval.multiwoz.normalization.aliases import NAME_ALIASES
from mwzeval.multiwoz.surface_forms import Words, address_forms, is_telling, name_forms, short_forms
from mwzeval.multiwoz.words.surface_tables import (
    ADDRESS_TAILS,
    AREAS,
    CAR_BRANDS,
    CAR_COLOURS,
    CUISINES,
    DAYS,
    FOOD_SPELLINGS,
    LONG_CUISINES,
    PRICE_RANGES,
    SKIPPED_SIGNS,
    STATION_SPELLINGS,
    TYPES,
)
from mwzeval.multiwoz.words.text import POSSESSIVE, Tokens, fold
from mwzeval.multiwoz.words.value_spellings import SPELLED

Meaning = tuple[str, str]
"""Slot and value, in the database's spelling."""
Found = Mapping[str, tuple[str, ...]]
"""Domain → ids of the venues with a value."""
NOWHERE: Found = {}

VENUE_COLUMNS = ("name", "area", "food", "pricerange", "type", "stars", "phone", "postcode")
TRAIN_COLUMNS = {
    "departure": "departure",
    "destination": "destination",
    "day": "day",
    "leaveAt": "leaveat",
    "arriveBy": "arriveby",
    "price": "price",
    "duration": "duration",
    "trainID": "trainid",
}


NOTHING: dict[Any, Any] = {}


class Longest(NamedTuple):
    """A value in tokens: the token after it, its meanings; `owner` if a possessive s follows."""

    after: int
    meanings: tuple[Meaning, ...]
    owner: bool


class Gazetteer:
    """Finds values in tokens, and the venues that have them."""

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._venues: dict[Meaning, dict[str, list[str]]] = {}
        self._spellings: dict[Meaning, str] = {}
        self._root: dict[Any, Any] = {}
        self._meanings: dict[Words, dict[Meaning, None]] = {}
        for domain in ("restaurant", "hotel", "attraction"):
            for row in tables[domain]:
                self._add_venue(domain, row)
        for row in tables["train"]:
            identifier = str(row[id_column("train")])
            for column, slot in TRAIN_COLUMNS.items():
                value = str(row.get(column, UNKNOWN))
                self._have(slot, value, "train", identifier)
        self._add_words()
        for domain in ("restaurant", "hotel", "attraction"):
            for row in tables[domain]:
                for form in short_forms(str(row["name"]), domain):
                    known = self._meanings.get(form, {})
                    if all(slot == "short" for slot, _ in known):
                        self._say(form, "short", str(row["name"]))
                    elif all(slot == "name" and fold(name) != form for slot, name in known):
                        # The short name of another venue is that of this one, too.
                        self._say(form, "name", str(row["name"]))
        for tail in ADDRESS_TAILS:
            self._say(tail, "tail", " ".join(tail))
        self._venue_ids = {
            meaning: {domain: tuple(ids) for domain, ids in found.items()}
            for meaning, found in self._venues.items()
        }
        for words, meanings in self._meanings.items():
            node = self._root
            for word in words:
                node = node.setdefault(word, {})
            node[None] = tuple(meanings)
        self.begins = frozenset(self._root)
        self.words = frozenset(word for words in self._meanings for word in words)
        self.name_words = frozenset(
            word
            for words, meanings in self._meanings.items()
            if any(slot == "name" for slot, _ in meanings)
            for word in words
        )
        del self._venues, self._meanings

    def _have(self, slot: str, value: str, domain: str, identifier: str) -> None:
        if value == UNKNOWN:
            return
        if slot in SPELLED:
            spelled = SPELLED[slot](value)
            self._spellings[slot, spelled] = value
            value = spelled
        ids = self._venues.setdefault((slot, value), {}).setdefault(domain, [])
        if identifier not in ids[-1:]:
            ids.append(identifier)

    def _say(self, words: Words, slot: str, value: str) -> None:
        if words:
            self._meanings.setdefault(words, {})[slot, value] = None

    def _add_venue(self, domain: str, row: Mapping[str, Any]) -> None:
        identifier = str(row[id_column(domain)])
        for column in VENUE_COLUMNS:
            if isinstance(row.get(column), str):
                self._have(column, row[column], domain, identifier)
        if "entrance fee" in row:
            self._have("entrancefee", str(row["entrance fee"]), domain, identifier)
        name = str(row["name"])
        for form in name_forms(name, domain):
            self._say(form, "name" if is_telling(form) else "short", name)
        for aliases in NAME_ALIASES.values():
            for alias, canonical in aliases.items():
                if canonical == name:
                    for form in name_forms(alias, domain):
                        self._say(form, "name", name)
        for part, form in address_forms(str(row.get("address", ""))):
            self._have("address", part, domain, identifier)
            self._say(form, "address", part)

    def _add_words(self) -> None:
        for area in AREAS:
            self._say((area,), "area", area)
            self._say((f"{area}ern",), "area", area)
        for town in ("city", "town"):
            self._say((town, "centre"), "area", "centre")
        for day in DAYS:
            for form in (day, f"{day}s"):
                self._say((form,), "day", day)
        for food in (*CUISINES, *LONG_CUISINES):
            self._say(fold(food), "food", food)
        for spelling, food in FOOD_SPELLINGS.items():
            self._say(fold(spelling), "food", food)
        for meaning in list(self._venues):
            if meaning[0] in ("food", "area"):
                self._say(fold(meaning[1]), *meaning)
            elif meaning[0] == "type" and meaning[1] != "restaurant":
                for ending in ("", "s"):
                    self._say(fold(meaning[1] + ending), *meaning)
            elif meaning[0] in ("departure", "destination"):
                self._say(fold(meaning[1]), "place", meaning[1])
        for spelling, station in STATION_SPELLINGS.items():
            self._say(fold(spelling), "place", station)
        for price_range, spellings in PRICE_RANGES.items():
            for spelling in spellings:
                self._say(fold(spelling), "pricerange", price_range)
        for types in TYPES.values():
            for kind, spellings in types.items():
                for spelling in spellings:
                    self._say(fold(spelling), "type", kind)
        for brand in CAR_BRANDS:
            self._say((brand,), "car", brand)
            for colour in CAR_COLOURS:
                self._say((colour, brand), "car", f"{colour} {brand}")
        self._say(("free",), "free", "free")

    def venues(self, slot: str, value: str) -> Found:
        """Return the ids of the venues with a value, by domain, in table order."""
        return self._venue_ids.get((slot, value), NOWHERE)

    def spelling(self, slot: str, value: str) -> str:
        """Return a value that venues have as the database spells it."""
        return self._spellings.get((slot, value), value)

    def longest(self, tokens: Tokens, index: int) -> Longest | None:
        """Return the longest value that begins at a token."""
        words, kinds = tokens.words, tokens.kinds
        node = self._root
        found = None
        position, last = index, len(words)
        if index + 1 < last and kinds[index] != POSSESSIVE:
            # Nearly always this is the end: `the` and `a` begin much, but not with what follows.
            first, after = node.get(words[index], NOTHING), words[index + 1]
            if (
                None not in first
                and after not in first
                and after not in SKIPPED_SIGNS
                and kinds[index + 1] != POSSESSIVE
            ):
                return None
        while position < last:
            word = words[position]
            following = node.get(word)
            if following is None:
                if kinds[position] == POSSESSIVE:
                    meanings = node.get(word[:-1], NOTHING).get(None)
                    return Longest(position + 1, meanings, True) if meanings else found
                if word not in SKIPPED_SIGNS or position == index or position + 1 >= last:
                    break
                position += 1
                following = node.get(words[position])
                if following is None:
                    break
            node = following
            position += 1
            if None in node:
                found = Longest(position, node[None], False)
        return found
