"""The usual spellings of all values of the database, and a search for these spellings in texts.

Spellings of names and addresses are stored as normalized words in a trie. The search for the
longest value at a word takes one step per word of the value, so a text is read once.

Names may be misspelled (`the Lenfield`, `Huntington Marriott hotel`). Therefore, a word that occurs
in no name is replaced by the most similar word of a name. If the text then contains a venue name,
the original text must be similar to the whole name. Similarity is rapidfuzz's `ratio`, 0 to 100:
200 times the number of letters in common, in order, divided by the number of letters of both texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from mwzeval.multiwoz.normalization import NAME_ALIASES
from mwzeval.multiwoz.schema import FLAG_SLOTS, UNKNOWN, VENUE_DOMAINS, id_column
from mwzeval.multiwoz.words.numbers import SPELLED, Meaning
from mwzeval.multiwoz.words.text import POSSESSIVE, Cache, Tokens, fold
from mwzeval.multiwoz.words.vocabulary import SPELLINGS, WORDS, Words, phrases


def name_forms(name: str, domain: str) -> set[Words]:
    """Return the usual forms of a venue's name; each form is a tuple of normalized words."""
    whole = fold(name)
    stem = _stem(whole, domain)
    forms = {whole, *(stem + tail for tail in phrases(f"added tails of {domain}s"))}
    if whole[0] == "restaurant":
        forms |= {whole[1:], whole[1:] + whole[:1]}
        if all(word.isdigit() for word in whole[1:]):
            forms.add((whole[0], "".join(whole[1:])))
            forms.discard(whole[1:])
    if domain == "hotel" and stem[-1] == "house" and len(stem) > 1:
        # Archway House may be called Archway guesthouse.
        tails = phrases("added tails of hotels")
        forms |= {stem[:-1] + tail for tail in tails if tail[0].startswith("guest")}
    if _is_telling(stem):
        forms.add(stem)
    for form in list(forms):
        if form[0] != "the":
            forms.add(("the", *form))
        elif _is_telling(form[1:]):
            forms.add(form[1:])
    return forms - {()}


def _short_forms(name: str, domain: str) -> Iterator[Words]:
    """Yield beginnings of a name that are used as short forms after the full name."""
    stem = _stem(fold(name), domain)
    stem = stem[1:] if stem[0] == "the" else stem
    for end in range(1, len(stem)):
        last = stem[end - 1]
        if not (
            last in WORDS["linking words"]
            or last.isdigit()
            or (end == 1 and last in WORDS["generic words"])
        ):
            yield stem[:end]


def _stem(name: Words, domain: str) -> Words:
    dropped = phrases(f"dropped tails of {domain}s")
    tails = [tail for tail in dropped if name[-len(tail) :] == tail != name]
    return _stem(name[: -len(tails[0])], domain) if tails else name


def _is_telling(form: Words) -> bool:
    """Return whether words are certainly a name, as in `river bar` but not in `the place`."""
    form = form[1:] if form[:1] == ("the",) else form
    return len(form) > 1 or (
        bool(form) and len(form[0]) > 2 and form[0] not in WORDS["ordinary words"]
    )


OFF = "off"
"""The word between a street and the street from which it branches off."""
TOWN = ("cambridge",)
"""Words that may follow every address."""
TOWN_PARTS = {TOWN, ("city", "centre"), ("town", "centre")}
"""Words that may follow addresses, in addition to the parts of the town in the database."""
SAINT = "saint"
"""The normalized form of `St` in all contexts, even if it means street."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of the database in normalized words.

    `streets` are the streets and buildings in the address, without numbers. `tail` is the part of
    the town, or empty. A response may give only parts of an address, so each part is compared
    separately. An address matches a response if it has all streets and numbers that the response
    gives.
    """

    streets: tuple[Words, ...]
    numbers: frozenset[str]
    tail: Words

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the parsed form of an address in the database's spelling."""
        parts = [part for part in map(fold, text.split(",")) if part]
        streets: list[Words] = []
        tail: Words = ()
        has_street = False
        for part in parts:
            for stretch, numbered in _stretches(part):
                is_street = stretch[-1] in WORDS["street words"]
                if part is parts[-1] and has_street and not (is_street or numbered):
                    # 169 High Street Chesterton Chesterton
                    half = len(stretch) // 2
                    tail = stretch[:half] if stretch[:half] == stretch[half:] else stretch
                else:
                    streets += _street_forms(stretch)
                has_street = has_street or is_street
        numbers = frozenset(word for part in parts for word in part if has_digit(word))
        return cls(tuple(dict.fromkeys(streets)), numbers, tail)

    def allows(self, numbers: Iterable[str], tails: Iterable[str]) -> bool:
        """Return whether house numbers and parts of the town are consistent with this address."""
        return self.numbers.issuperset(numbers) and (
            not self.tail or all(fold(tail) in (self.tail, TOWN) for tail in tails)
        )


def _stretches(part: Words) -> list[tuple[Words, bool]]:
    """Return words split at numbers and after each street. The flag is True after a number."""
    if "and" in part:
        # Between Victoria Road and the river
        return [(part, False)]
    stretches: list[tuple[Words, bool]] = []
    begun: Words = ()
    numbered = False
    for word, following in zip(part, (*part[1:], ""), strict=True):
        cuts = has_digit(word) or word in WORDS["house words"] or word == OFF
        if not cuts:
            begun += (word,)
        is_street = (
            word in WORDS["street words"]
            and len(begun) > 1
            and following not in WORDS["street words"]
        )
        if begun and (cuts or is_street or not following):
            stretches.append((begun, numbered))
            begun, numbered = (), False
        if cuts:
            numbered = word != OFF
    return stretches


def _street_forms(street: Words) -> list[Words]:
    if "s" in street[1:]:
        # 10 King s Parade
        at = street.index("s", 1)
        return [street, (*street[: at - 1], f"{street[at - 1]}s", *street[at + 1 :])]
    if len(street) >= 4 and street[-1] in WORDS["street words"]:
        return [street, street[:-2], street[-2:]]
    return [street]


def has_digit(word: str) -> bool:
    """Return whether a word contains a digit."""
    return any(char.isdigit() for char in word)


Found = Mapping[str, tuple[str, ...]]
"""The ids of the venues that have a value, by domain."""
NOWHERE: Found = {}
SKIPPED_SIGNS = frozenset(".-'’`´\"")
"""Signs that may occur between the words of a value."""
_NO_NODE: dict[Any, Any] = {}

_COLUMNS = (
    *("name", "area", "food", "pricerange", "type", "stars", "phone", "postcode"),
    *("address", "entrance fee", *FLAG_SLOTS),
)
_TRAIN_COLUMNS = (
    *("departure", "destination", "day", "leaveAt", "arriveBy", "price", "duration"),
    "trainID",
)


WORD_THRESHOLD = 80
"""Minimum similarity of a word and the word of a name."""
STREET_THRESHOLD = 83
"""Minimum similarity of a street's name and the name of a similar street in the database."""
NAME_THRESHOLD = 87
"""Minimum similarity of the text and the whole name."""
SHORTEST, LONGEST = 5, 24
"""Minimum and maximum length of a compared word, because short words are similar to many words."""


class Longest(NamedTuple):
    """The longest database value at a token: the token after it, its meanings, and whether a
    possessive "s" follows.
    """

    after: int
    meanings: tuple[Meaning, ...]
    owner: bool


class Gazetteer:
    """Finds database values in tokens, and finds the venues that have these values.

    `names` has the words of each venue name, `places` has the words of each train station, and
    `town_parts` has the words that may follow an address. `begins` has the first words of all
    values, and `words` has all words of the values. `closest` maps a word to the similar word of a
    name, or to None if no word is similar or if the word is known. The caches of the object do not
    affect results.
    """

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._venues, self._spellings = _venues_by_value(tables)
        rows = [(domain, row) for domain in VENUE_DOMAINS for row in tables[domain]]
        self.names = tuple(dict.fromkeys(fold(str(row["name"])) for _, row in rows))
        self.addresses = {
            str(row["address"]): Address.parse(str(row["address"]))
            for _, row in rows
            if row.get("address")
        }
        self.town_parts = {address.tail for address in self.addresses.values()} - {()} | TOWN_PARTS
        meanings = _Meanings()
        meanings.add_names(rows)
        meanings.add_spellings(self._venues)
        meanings.add_addresses(self.addresses, self.town_parts)
        meanings.add_short_names(rows)
        for part in self.town_parts:
            meanings.add(part, "tail", " ".join(part))
        self._root = meanings.trie()
        self.begins = frozenset(self._root)
        self.words = frozenset(chain.from_iterable(meanings))
        self.places = frozenset(meanings.forms("place"))
        self._streets = meanings.streets()
        in_names = set(chain.from_iterable(meanings.forms("name")))
        self._targets = sorted(filter(_is_compared, in_names))
        self.closest = Cache(self._find)

    def venues(self, slot: str, value: str) -> Found:
        """Return the ids of the venues with a value, by domain, in table order."""
        return self._venues.get((slot, value), NOWHERE)

    def spelling(self, slot: str, value: str) -> str:
        """Return the database's spelling of a value that venues have."""
        return self._spellings.get((slot, value), value)

    def longest(self, tokens: Tokens, index: int) -> Longest | None:
        """Return the longest database value that begins at a token."""
        words, kinds = tokens.words, tokens.kinds
        node = self._root
        found = None
        position, last = index, len(words)
        while position < last:
            word = words[position]
            following = node.get(word)
            if following is None:
                if kinds[position] == POSSESSIVE:
                    meanings = node.get(word[:-1], _NO_NODE).get(None)
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

    def _find(self, word: str) -> str | None:
        if word in self.words or not _is_compared(word):
            return None
        best = process.extractOne(
            word, self._targets, scorer=fuzz.ratio, score_cutoff=WORD_THRESHOLD
        )
        return best[0] if best else None

    def near_miss(self, tokens: Tokens, index: int) -> tuple[int, Longest] | None:
        """Return the first token and the intended value of a misspelled name around a word."""
        words = tokens.words
        written = words[index]
        meant = self.closest[written]
        if meant is None:
            return None
        words[index] = meant  # changed here and restored below, because a copy would be slower
        try:
            for first in range(max(0, index - 3), index + 1):
                longest = self.longest(tokens, first)
                if longest is None or longest.after <= index or longest.meanings[0][0] != "name":
                    continue
                if meant in WORDS["ordinary words"] and longest.after < first + 2:
                    continue
                name = words[first : longest.after]
                text = [*words[first:index], written, *words[index + 1 : longest.after]]
                if fuzz.ratio(" ".join(text), " ".join(name)) >= NAME_THRESHOLD:
                    return first, longest
        finally:
            words[index] = written
        return None

    def near_street(self, tokens: Tokens, first: int, last: int) -> tuple[Meaning, ...]:
        """Return the meanings of a misspelled street name, or () if no known street is similar."""
        name, kind = " ".join(tokens.words[first:last]), tokens.words[last]
        streets = self._streets.get(SAINT if kind == "street" else kind, {})
        best = process.extractOne(
            name, streets.keys(), scorer=fuzz.ratio, score_cutoff=STREET_THRESHOLD
        )
        return streets[best[0]] if best else ()


def _is_compared(word: str) -> bool:
    return word.isalpha() and SHORTEST <= len(word) <= LONGEST


def _is_dash_behind(found: Longest | None, tokens: Tokens, position: int) -> bool:
    """Return whether a sign is a dash after a name: `Pembroke – college`, not `alpha - milton`."""
    return (
        found is not None
        and found.after == position
        and found.meanings[0][0] == "name"
        and tokens.end(position - 1) < tokens.start(position)
        and tokens.end(position) < tokens.start(position + 1)
    )


def _venues_by_value(
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
) -> tuple[dict[Meaning, Found], dict[Meaning, str]]:
    """Return the venues that have each value, and the database's spelling of each value."""
    venues: dict[Meaning, dict[str, list[str]]] = {}
    spellings: dict[Meaning, str] = {}
    for domain in (*VENUE_DOMAINS, "train"):
        columns = _TRAIN_COLUMNS if domain == "train" else _COLUMNS
        for row in tables[domain]:
            identifier = str(row[id_column(domain)])
            for column in columns:
                slot = column.lower().replace(" ", "")
                value = str(row.get(column, UNKNOWN))
                if value in (UNKNOWN, "", "None"):
                    continue
                if slot in SPELLED:
                    raw, value = value, SPELLED[slot](value)
                    spellings[slot, value] = raw
                ids = venues.setdefault((slot, value), {}).setdefault(domain, [])
                if identifier not in ids[-1:]:
                    ids.append(identifier)
    found: dict[Meaning, Found] = {
        meaning: {domain: tuple(ids) for domain, ids in by_domain.items()}
        for meaning, by_domain in venues.items()
    }
    return found, spellings


class _Meanings(dict[Words, dict[Meaning, None]]):
    """The meanings of normalized words. The first meaning of ambiguous words is preferred."""

    def add(self, form: Words, slot: str, value: str) -> None:
        if form:
            self.setdefault(form, {})[slot, value] = None
        if slot in ("place", "address") and "street" in form:
            self.add(tuple(SAINT if word == "street" else word for word in form), slot, value)

    def add_names(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        aliases = [pair for names in NAME_ALIASES.values() for pair in names.items()]
        for domain, row in rows:
            name = str(row["name"])
            for form in name_forms(name, domain):
                self.add(form, "name" if _is_telling(form) else "short", name)
            for alias, meant in aliases:
                for form in name_forms(alias, domain) if meant == name else ():
                    self.add(form, "name", name)

    def add_spellings(self, values: Iterable[Meaning]) -> None:
        for slot, spellings in SPELLINGS.items():
            for value, forms in spellings.items() if slot != "word" else ():
                for form in forms:
                    self.add(fold(form) or tuple(form), slot, value)
        for slot, value in values:
            if slot in ("food", "area"):
                self.add(fold(value), slot, value)
            elif slot == "type" and value != "restaurant":
                for ending in ("", "s"):
                    self.add(fold(value + ending), slot, value)
            elif slot in ("departure", "destination"):
                self.add(fold(value), "place", value)
        for brand in WORDS["car brands"]:
            self.add((brand,), "car", brand)
            for colour in WORDS["car colours"]:
                self.add((colour, brand), "car", f"{colour} {brand}")

    def add_addresses(self, addresses: Mapping[str, Address], town_parts: set[Words]) -> None:
        for spelling, address in addresses.items():
            for street in address.streets:
                if street not in town_parts or len(address.streets) == 1:
                    self.add(street, "address", spelling)

    def add_short_names(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        for domain, row in rows:
            for form in _short_forms(str(row["name"]), domain):
                known = self.get(form, {})
                if all(slot == "short" for slot, _ in known):
                    self.add(form, "short", str(row["name"]))
                elif all(slot == "name" and fold(name) != form for slot, name in known):
                    # The short form of one venue may be the full name of another.
                    self.add(form, "name", str(row["name"]))

    def forms(self, slot: str) -> dict[Words, tuple[Meaning, ...]]:
        """Return the forms with a meaning in this slot, and all their meanings."""
        return {
            form: tuple(meanings)
            for form, meanings in self.items()
            if any(other == slot for other, _ in meanings)
        }

    def streets(self) -> dict[str, dict[str, tuple[Meaning, ...]]]:
        streets: dict[str, dict[str, tuple[Meaning, ...]]] = {}
        for form, meanings in self.forms("address").items():
            if form[-1] in WORDS["street words"]:
                last = SAINT if form[-1] == "street" else form[-1]
                streets.setdefault(last, {})[" ".join(form[:-1])] = meanings
        return streets

    def trie(self) -> dict[Any, Any]:
        root: dict[Any, Any] = {}
        for form, meanings in self.items():
            node = root
            for word in form:
                node = node.setdefault(word, {})
            node[None] = tuple(meanings)
        return root
