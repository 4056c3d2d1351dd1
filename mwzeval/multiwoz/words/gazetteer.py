"""What can be said about the venues of a database: every value in its usual spellings.

Names and addresses are spelled as people do, in folded words. A trie of these finds the longest
value that begins at a word in as many steps as the value has words, so that a text is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mwzeval.multiwoz.database.venues import id_column
from mwzeval.multiwoz.normalization.aliases import NAME_ALIASES
from mwzeval.multiwoz.schema import DAYS, UNKNOWN
from mwzeval.multiwoz.words.addresses import Address
from mwzeval.multiwoz.words.surface_tables import (
    ADDED_TAILS,
    AMENITIES,
    AREA_SPELLINGS,
    AREAS,
    CAR_BRANDS,
    CAR_COLOURS,
    CUISINES,
    DAY_SPELLINGS,
    DROPPED_TAILS,
    FOOD_SPELLINGS,
    GENERIC_WORDS,
    HOTEL_TAILS,
    LINKING_WORDS,
    LONG_CUISINES,
    NO_FEE,
    NO_STARS,
    ORDINARY_WORDS,
    PRICE_RANGES,
    SKIPPED_SIGNS,
    STATION_SPELLINGS,
    STREET_WORDS,
    TOWN,
    TOWN_PARTS,
    TYPES,
)
from mwzeval.multiwoz.words.text import POSSESSIVE, Tokens, fold
from mwzeval.multiwoz.words.value_spellings import SPELLED

Words = tuple[str, ...]


def name_forms(name: str, domain: str) -> set[Words]:
    """Return the ways to say a venue's name, each a tuple of folded words."""
    words = fold(name)
    forms = {words}
    stem = _stem(words, domain)
    tails: tuple[Words, ...] = ADDED_TAILS[domain]
    forms |= {stem + tail for tail in tails}
    if words[0] == "restaurant":
        forms |= {words[1:], words[1:] + words[:1]}
        if all(word.isdigit() for word in words[1:]):
            forms.add((words[0], "".join(words[1:])))
            forms.discard(words[1:])
    if domain == "hotel" and stem[-1] == "house" and len(stem) > 1:
        # Archway House is the Archway guesthouse.
        forms |= {stem[:-1] + tail for tail in HOTEL_TAILS if tail[0].startswith("guest")}
    if is_telling(stem):
        forms.add(stem)
    for form in list(forms):
        if form[0] == "the":
            if is_telling(form[1:]):
                forms.add(form[1:])
        else:
            forms.add(("the", *form))
    return {form for form in forms if form}


def short_forms(name: str, domain: str) -> Iterator[Words]:
    """Yield beginnings of a name, by which people call a venue that was named before."""
    words = _stem(fold(name), domain)
    words = words[1:] if words[0] == "the" else words
    for end in range(1, len(words)):
        if words[end - 1] in LINKING_WORDS or words[end - 1].isdigit():
            continue
        if end > 1 or words[0] not in GENERIC_WORDS:
            yield words[:end]


def _stem(words: Words, domain: str) -> Words:
    tails = [*DROPPED_TAILS[domain], *(HOTEL_TAILS if domain == "hotel" else ())]
    again = True
    while again:
        again = False
        for tail in tails:
            if words[-len(tail) :] == tail and len(words) > len(tail):
                words = words[: -len(tail)]
                again = True
    return words


def is_telling(words: Words) -> bool:
    """Tell whether words cannot but be a name: `avalon` and `river bar`, but not `the place`."""
    words = words[1:] if words[:1] == ("the",) else words
    return len(words) > 1 or (bool(words) and len(words[0]) > 2 and words[0] not in ORDINARY_WORDS)


SHORT = {"street": "saint"}

Meaning = tuple[str, str]
"""Slot and value, in the database's spelling."""
Found = Mapping[str, tuple[str, ...]]
"""Domain → ids of the venues with a value."""
NOWHERE: Found = {}

VENUE_COLUMNS = (
    "name",
    "area",
    "food",
    "pricerange",
    "type",
    "stars",
    "phone",
    "postcode",
    *AMENITIES,
)
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
        self.addresses: dict[str, Address] = {}
        self._meanings: dict[Words, dict[Meaning, None]] = {}
        self.names = tuple(
            dict.fromkeys(
                fold(str(row["name"]))
                for domain in ("restaurant", "hotel", "attraction")
                for row in tables[domain]
            )
        )
        """The words of each name."""
        for domain in ("restaurant", "hotel", "attraction"):
            for row in tables[domain]:
                self._add_venue(domain, row)
        for row in tables["train"]:
            identifier = str(row[id_column("train")])
            for column, slot in TRAIN_COLUMNS.items():
                value = str(row.get(column, UNKNOWN))
                self._have(slot, value, "train", identifier)
        self._add_words()
        self._add_addresses()
        for domain in ("restaurant", "hotel", "attraction"):
            for row in tables[domain]:
                for form in short_forms(str(row["name"]), domain):
                    known = self._meanings.get(form, {})
                    if all(slot == "short" for slot, _ in known):
                        self._say(form, "short", str(row["name"]))
                    elif all(slot == "name" and fold(name) != form for slot, name in known):
                        # The short name of another venue is that of this one, too.
                        self._say(form, "name", str(row["name"]))
        for tail in self.town_parts:
            self._say(tail, "tail", " ".join(tail))
        self._venue_ids = {
            meaning: {domain: tuple(ids) for domain, ids in found.items()}
            for meaning, found in self._venues.items()
        }
        self.streets: dict[str, dict[str, tuple[Meaning, ...]]] = {}
        for words, meanings in self._meanings.items():
            if words[-1] in STREET_WORDS and any(slot == "address" for slot, _ in meanings):
                alike = self.streets.setdefault(SHORT.get(words[-1], words[-1]), {})
                alike[" ".join(words[:-1])] = tuple(meanings)
        for words, meanings in self._meanings.items():
            node = self._root
            for word in words:
                node = node.setdefault(word, {})
            node[None] = tuple(meanings)
        self.begins = frozenset(self._root)
        self.words = frozenset(word for words in self._meanings for word in words)
        self.places = frozenset(
            words
            for words, meanings in self._meanings.items()
            if any(slot == "place" for slot, _ in meanings)
        )
        """The words of each place that trains connect."""
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

    def _say_street(self, words: Words, slot: str, value: str) -> None:
        self._say(words, slot, value)
        # In texts `St` is read as Saint, wherever it stands.
        self._say(tuple(SHORT.get(word, word) for word in words), slot, value)

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
        address = str(row.get("address", ""))
        if address:
            self._have("address", address, domain, identifier)
            self.addresses[address] = Address.parse(address)

    def _add_addresses(self) -> None:
        self.town_parts = {address.tail for address in self.addresses.values()} - {()}
        self.town_parts.update(TOWN, TOWN_PARTS)
        for spelling, address in self.addresses.items():
            for street in address.streets:
                if street not in self.town_parts or len(address.streets) == 1:
                    self._say_street(street, "address", spelling)

    def _add_words(self) -> None:
        for area in AREAS:
            self._say((area,), "area", area)
        for spelling, area in AREA_SPELLINGS.items():
            self._say(fold(spelling), "area", area)
        for day in DAYS:
            for form in (day, f"{day}s"):
                self._say((form,), "day", day)
        for short, day in DAY_SPELLINGS.items():
            self._say((short,), "day", day)
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
                self._say_street(fold(meaning[1]), "place", meaning[1])
        for spelling, stations in STATION_SPELLINGS.items():
            for station in stations:
                self._say_street(fold(spelling), "place", station)
        for price_range, spellings in PRICE_RANGES.items():
            for spelling in spellings:
                self._say(fold(spelling) or tuple(spelling), "pricerange", price_range)
        for types in TYPES.values():
            for kind, spellings in types.items():
                for spelling in spellings:
                    self._say(fold(spelling), "type", kind)
        for brand in CAR_BRANDS:
            self._say((brand,), "car", brand)
            for colour in CAR_COLOURS:
                self._say((colour, brand), "car", f"{colour} {brand}")
        self._say(("b&b",), "type", "guesthouse")
        self._say(("free",), "free", "free")
        for spelling in NO_FEE:
            self._say(fold(spelling), "nofee", "free")
        for spelling in NO_STARS:
            self._say(fold(spelling), "nostars", "0")
        for amenity, spellings in AMENITIES.items():
            for spelling in spellings:
                self._say(fold(spelling), amenity, "yes")

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
                if word == "-" and _is_dash_behind(found, tokens, position):
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


def _is_dash_behind(found: Longest | None, tokens: Tokens, position: int) -> bool:
    """Tell whether a sign is a dash behind a name: `Pembroke – college`, but `alpha - milton`."""
    return (
        found is not None
        and found.after == position
        and found.meanings[0][0] == "name"
        and tokens.end(position - 1) < tokens.start(position)
        and tokens.end(position) < tokens.start(position + 1)
    )
