"""One pass over a response: which stretches of it may be values, and of which slots.

Some are names that are nearly those of venues (`the Lenfield`, `Huntington Marriott hotel`): a word
that no name has is replaced by the closest word of a name, and if a name can then be read there,
the text must be close to it as a whole. Closeness is rapidfuzz's `ratio`, 0 to 100: twice the
letters in common, in order, of those of both texts.
"""

from __future__ import annotations

from typing import NamedTuple

from rapidfuzz import fuzz, process

from mwzeval.multiwoz.words.addresses import (
    SAINT,
    next_part,
    numbers_before,
    numbers_from,
    other_street,
    unknown_street,
)
from mwzeval.multiwoz.words.gazetteer import SHORT, Gazetteer, Longest, Meaning
from mwzeval.multiwoz.words.name_cues import DISHES, TAILS, cuisine_before, name_before
from mwzeval.multiwoz.words.number_meanings import (
    NUMBER_STARTS,
    QUANTITY_STARTS,
    number_at,
    quantity_at,
)
from mwzeval.multiwoz.words.surface_tables import CAPITAL_STREETS, ORDINARY_WORDS
from mwzeval.multiwoz.words.text import NUMERIC, PLACEHOLDER, POSSESSIVE, SIGN, WORD, Tokens
from mwzeval.multiwoz.words.value_spellings import (
    REFERENCE_LENGTH,
    phone_at,
    postcode_at,
    reference_at,
    train_at,
)
from mwzeval.multiwoz.words.word_meanings import accepted

WORD_THRESHOLD = 80
"""How close a word must be to that of a name."""
STREET_THRESHOLD = 83
"""How close the name of a street must be to that of another `Road` of the database."""
NAME_THRESHOLD = 87
"""How close the text must be to the name as a whole."""
SHORTEST, LONGEST = 5, 24
"""Letters of a word that is tried: too short ones are close to anything, names have no longer."""
EARLIER = 3
"""How many words before it may belong to a name with a misspelt word."""
REMEMBERED = 2**14


class NearMisses:
    """Finds misspelt names; what it remembers only saves time."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self._gazetteer = gazetteer
        self._known = gazetteer.words
        self._targets = sorted(
            word for word in gazetteer.name_words if len(word) >= SHORTEST and word.isalpha()
        )
        self._closest: dict[str, str | None] = {}

    def closest(self, word: str) -> str | None:
        """Return the word of a name that an unknown word is close to; None if there is none."""
        found = self._closest.get(word, word)  # no unknown word is the closest to itself
        if found != word:
            return found
        found = None
        if word not in self._known and word.isalpha() and SHORTEST <= len(word) <= LONGEST:
            best = process.extractOne(
                word, self._targets, scorer=fuzz.ratio, score_cutoff=WORD_THRESHOLD
            )
            found = best[0] if best else None
        if len(self._closest) >= REMEMBERED:
            self._closest.clear()
        self._closest[word] = found
        return found

    def name_at(self, tokens: Tokens, index: int) -> tuple[int, Longest] | None:
        """Return the misspelt name around a word: its first token, and what it is close to."""
        words = tokens.words
        said = words[index]
        meant = self.closest(said)
        if meant is None:
            return None
        words[index] = meant
        try:
            for first in range(max(0, index - EARLIER), index + 1):
                longest = self._gazetteer.longest(tokens, first)
                if longest is None or longest.after <= index:
                    continue
                if longest.meanings[0][0] != "name" or (
                    meant in ORDINARY_WORDS and longest.after < first + 2
                ):
                    continue
                name = " ".join(words[first : longest.after])
                words[index] = said
                near = fuzz.ratio(" ".join(words[first : longest.after]), name)
                words[index] = meant
                if near >= NAME_THRESHOLD:
                    return first, longest
        finally:
            words[index] = said
        return None


NUMBERS = frozenset({"choice", "people", "stay", "time", "stars"})
"""What a number in front of a street may have been taken for."""
ADDRESS_CUES = frozenset({"address", "addresses", "located", "location", "situated"})
NEAR = 4
"""So many words before a place may tell that it is an address."""
SPLIT_IDENTIFIERS = frozenset({"c", "p", "cb", "pe", "sg", "tr"})
"""First letters of postcodes and train ids that stand apart from what follows."""


BEGINNINGS = frozenset(
    {*SPLIT_IDENTIFIERS, *QUANTITY_STARTS, *TAILS, *CAPITAL_STREETS, SAINT, *NUMBER_STARTS, *DISHES}
)
"""Words with which something begins, or ends, that is not in the database."""


class Candidate(NamedTuple):
    """A stretch of the text (characters `start` to `end`, tokens `first` to `after`).

    `meanings` are (slot, value) in the database's spelling; the value is "" where the text alone
    tells the slot, None where the database has no such value. `sure` is False for near misses.
    """

    start: int
    end: int
    first: int
    after: int
    meanings: tuple[Meaning, ...]
    sure: bool = True

    @property
    def slot(self) -> str:
        """The slot of its (first) meaning."""
        return self.meanings[0][0]


class Recognizer:
    """Finds candidates in texts; what it remembers only saves time."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self._gazetteer = gazetteer
        self._near_misses = NearMisses(gazetteer)
        self._dull: set[str] = set()
        # Words that mean nothing unless they begin a value of the database.
        self._quiet = frozenset(
            word for word in gazetteer.begins if word.isalpha() and self._is_dull(word, WORD)
        )

    def candidates(self, text: str, low: str, tokens: Tokens) -> list[Candidate]:
        """Return the candidates of a text (`low` in lower case) in its order, none overlapping."""
        words, kinds = tokens.words, tokens.kinds
        begins, dull, quiet = self._gazetteer.begins, self._dull, self._quiet
        found: list[Candidate] = []
        done = 0
        for index in [number for number, word in enumerate(words) if word not in dull]:
            if index < done:
                continue
            kind, word = kinds[index], words[index]
            candidate = None
            if word in begins or kind == POSSESSIVE:
                longest = self._gazetteer.longest(tokens, index)
                if longest is not None:
                    candidate = self._known(text, tokens, index, longest, found)
                if candidate is None and word in quiet:
                    continue
            elif self._is_dull(word, kind):
                if len(dull) >= REMEMBERED:
                    dull.clear()
                dull.add(word)
                continue
            if candidate is None and kind != PLACEHOLDER:
                candidate = self._unknown(text, low, tokens, index, found)
                # What is read backwards may begin before what was found last.
                while candidate is not None and found and found[-1].after > candidate.first:
                    found.pop()
            if candidate is not None:
                found.append(candidate)
                done = candidate.after
        return found

    def _is_dull(self, word: str, kind: int) -> bool:
        """Tell whether a word that begins no value never means anything by itself."""
        if kind in (SIGN, PLACEHOLDER):
            return word not in NUMBER_STARTS
        return (
            kind == WORD
            and len(word) != REFERENCE_LENGTH
            and word not in BEGINNINGS
            and not word[0].isdigit()
            and self._near_misses.closest(word) is None
        )

    def _unknown(
        self, text: str, low: str, tokens: Tokens, index: int, found: list[Candidate]
    ) -> Candidate | None:
        """Return what can be told without the database, or is nearly in it."""
        words, kinds = tokens.words, tokens.kinds
        kind, word = kinds[index], words[index]
        if kind == NUMERIC or word in SPLIT_IDENTIFIERS:
            candidate = _identifier(text, low, tokens, index)
            if candidate is not None:
                return candidate
        elif len(word) == REFERENCE_LENGTH and reference_at(text, tokens, index):
            return Candidate(
                tokens.start(index), tokens.end(index), index, index + 1, (("reference", ""),)
            )
        if word[0].isdigit() or word in NUMBER_STARTS:
            number = number_at(low, tokens, index)
            if number is None:
                return None
            meanings = ((number.slot, ""),)
            return Candidate(tokens.start(index), number.end, index, number.token_end, meanings)
        if kind < WORD:
            return None
        plural = quantity_at(words, index)
        if plural is not None:
            end = tokens.end(plural - 1)
            return Candidate(tokens.start(index), end, index, plural, (("choice", ""),))
        if len(word) >= SHORTEST:
            near = self._near_miss(text, tokens, index)
            if near is not None:
                return near
        if word in DISHES:
            said = cuisine_before(text, tokens, index, self._gazetteer.words)
            if said is not None:
                start, end = tokens.start(said), tokens.end(said)
                return Candidate(start, end, said, max(said, index) + 1, (("oddfood", ""),))
        if word in TAILS:
            first = name_before(text, tokens, index, self._gazetteer.words)
            if first is not None:
                meanings = (("name", ""),)
                return Candidate(tokens.start(first), tokens.end(index), first, index + 1, meanings)
        if word in CAPITAL_STREETS or word == SAINT:
            known = found[-1].after if found and found[-1].slot == "address" else 0
            first = unknown_street(text, tokens, index, known)
            if first is not None:
                street = self._near_street(words[first : index + 1])
                nearest = Longest(index + 1, street, owner=False)
                return self._address(text, tokens, first, nearest, found)._replace(sure=False)
        return None

    def _near_street(self, words: list[str]) -> tuple[Meaning, ...]:
        """Return what a misspelt street means; nothing if it is none."""
        name, kind = " ".join(words[:-1]), words[-1]
        streets = self._gazetteer.streets.get(SHORT.get(kind, kind), {})
        best = process.extractOne(
            name, streets.keys(), scorer=fuzz.ratio, score_cutoff=STREET_THRESHOLD
        )
        return streets[best[0]] if best else ()

    def _near_miss(self, text: str, tokens: Tokens, index: int) -> Candidate | None:
        near = self._near_misses.name_at(tokens, index)
        if near is None:
            return None
        first, (after, meanings, _) = near
        if tokens.words[first] == "the":
            first += 1
        start, end = tokens.start(first), tokens.end(after - 1)
        if after == first + 1 and text[start].islower() and not tokens.without_capitals:
            return None
        return Candidate(start, end, first, after, meanings, False)

    def _known(
        self, text: str, tokens: Tokens, index: int, longest: Longest, found: list[Candidate]
    ) -> Candidate | None:
        """Return a value of the database as it is meant here; None if no value is meant."""
        after, meanings = longest.after, longest.meanings
        if meanings[-1][0] == "tail":
            # A part of the town is a value only as the end of an address.
            meanings = meanings[:-1]
            if not meanings:
                return None
        slot = meanings[0][0]
        if slot == "address" or (slot == "name" and _is_where(tokens, index, meanings, found)):
            address = self._address(text, tokens, index, longest, found)
            if slot == "address" or address.after > after:
                return address
        kept = accepted(self._gazetteer, tokens, index, after, meanings)
        if kept is None:
            return None
        after, meanings = kept
        first = _first_word(text, tokens, index, after)
        return Candidate(
            tokens.start(first), _last_end(tokens, after, longest), first, after, meanings
        )

    def _address(
        self, text: str, tokens: Tokens, index: int, longest: Longest, found: list[Candidate]
    ) -> Candidate:
        """Return the whole address of which a street or building begins at a token.

        Its meanings are the addresses of the database with all that is said.
        """
        addresses = [value for slot, value in longest.meanings if slot == "address"]
        first, numbers = numbers_before(tokens, index)
        if first == index and (not found or found[-1].after < index):
            longer = other_street(text, tokens, index)
            if longer is not None:
                first, addresses = longer, []
        while found and found[-1].after > first:
            if found[-1].slot not in NUMBERS:
                first, numbers = index, ()
                break
            found.pop()
        if first == index:
            first = _first_word(text, tokens, index, longest.after)
        tails = []
        while True:
            goes_on, more = numbers_from(tokens, next_part(tokens, longest.after))
            part = self._part(text, tokens, longest.after, goes_on)
            if part is None:
                break
            if part.meanings[-1][0] == "tail":
                tails.append(part.meanings[-1][1])
            else:
                both = [value for value in addresses if ("address", value) in part.meanings]
                if not both:
                    break
                addresses = both
                numbers += more
            longest = part
        known = self._gazetteer.addresses
        meanings = tuple(
            ("address", value) for value in addresses if known[value].allows(numbers, tails)
        )
        return Candidate(
            tokens.start(first),
            _last_end(tokens, longest.after, longest),
            first,
            longest.after,
            meanings or (("address", ""),),
        )

    def _part(self, text: str, tokens: Tokens, after: int, index: int) -> Longest | None:
        """Return what an address goes on with at a token on the same line."""
        if index >= len(tokens.words) or "\n" in text[tokens.end(after - 1) : tokens.start(index)]:
            return None
        return self._gazetteer.longest(tokens, index)


def _is_where(
    tokens: Tokens, index: int, meanings: tuple[Meaning, ...], found: list[Candidate]
) -> bool:
    """Tell whether a name may begin an address here: `Milton Country Park, Milton`.

    That of a venue that is named for the first time is its name.
    """
    return meanings[-1][0] == "address" and (
        not ADDRESS_CUES.isdisjoint(tokens.words[max(0, index - NEAR) : index])
        or any(candidate.meanings[0] == meanings[0] for candidate in found)
    )


def _first_word(text: str, tokens: Tokens, index: int, after: int) -> int:
    """Return the first token of a value; only a capital makes an article part of it."""
    words = tokens.words
    article = words[index] == "the" and after > index + 1 and text[tokens.start(index)] == "t"
    return index + 1 if article else index


def _last_end(tokens: Tokens, after: int, longest: Longest) -> int:
    """Return the end of a value in the text, without the s of a possessive."""
    if longest.owner:
        return tokens.start(after - 1) + len(tokens.words[after - 1]) - 1
    return tokens.end(after - 1)


def _identifier(text: str, low: str, tokens: Tokens, index: int) -> Candidate | None:
    train = train_at(tokens, index)
    if train is not None:
        return Candidate(*train, index, _token_after(tokens, train[1], index), (("trainid", ""),))
    for slot, find in (("postcode", postcode_at), ("phone", phone_at)):
        end = find(low, tokens, index)
        if end is not None:
            start = tokens.start(index)
            if low[start - 1 : start] == "(" and ")" in low[start:end]:
                start -= 1
            if low[start - 1 : start] == "+":
                start -= 1
            return Candidate(start, end, index, _token_after(tokens, end, index), ((slot, ""),))
    if reference_at(text, tokens, index):
        return Candidate(
            tokens.start(index), tokens.end(index), index, index + 1, (("reference", ""),)
        )
    return None


def _token_after(tokens: Tokens, end: int, index: int) -> int:
    while index < len(tokens.words) and tokens.start(index) < end:
        index += 1
    return index
