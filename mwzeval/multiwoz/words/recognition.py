"""One pass over a response: which stretches of it may be values, and of which slots.

Some are names that are nearly those of venues (`the Lenfield`, `Huntington Marriott hotel`): a word
that no name has is replaced by the closest word of a name, and if a name can then be read there,
the text must be close to it as a whole. Closeness is rapidfuzz's `ratio`, 0 to 100: twice the
letters in common, in order, of those of both texts.
"""

from __future__ import annotations

from typing import NamedTuple

from rapidfuzz import fuzz, process

from mwzeval.multiwoz.words.gazetteer import Gazetteer, Longest, Meaning
from mwzeval.multiwoz.words.invented_names import STREETS, TAILS, address_before, name_before
from mwzeval.multiwoz.words.number_meanings import (
    QUANTITY_STARTS,
    Number,
    accepted,
    duration_of,
    number_at,
    quantity_at,
)
from mwzeval.multiwoz.words.surface_tables import ORDINARY_WORDS, STREET_WORDS
from mwzeval.multiwoz.words.text import NUMERIC, PLACEHOLDER, POSSESSIVE, SIGN, WORD, Tokens
from mwzeval.multiwoz.words.value_spellings import (
    REFERENCE_LENGTH,
    STAR_SIGNS,
    duration_at,
    phone_at,
    postcode_at,
    reference_at,
    train_at,
)

WORD_THRESHOLD = 80
"""How close a word must be to that of a name."""
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
HOUSE_DIGITS = 4
STAR_RUN = STAR_SIGNS | {"☆", "\N{VARIATION SELECTOR-16}", "\N{ZERO WIDTH JOINER}"}
SPLIT_IDENTIFIERS = frozenset({"c", "p", "cb", "pe", "sg", "tr"})
"""First letters of postcodes and train ids that stand apart from what follows."""


HOUR_STARTS = frozenset({"an", "half"})
"""First words of durations without a number: `an hour and a half`."""

BEGINNINGS = frozenset({*SPLIT_IDENTIFIERS, *QUANTITY_STARTS, *TAILS, *STREETS, *HOUR_STARTS})
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
                    candidate = _known(text, tokens, index, longest, found)
                if candidate is None and word in quiet:
                    continue
            elif self._is_dull(word, kind):
                if len(dull) >= REMEMBERED:
                    dull.clear()
                dull.add(word)
                continue
            if candidate is None and kind != PLACEHOLDER:
                candidate = self._unknown(text, low, tokens, index)
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
            return word not in STAR_SIGNS
        return (
            kind == WORD
            and len(word) != REFERENCE_LENGTH
            and word not in BEGINNINGS
            and not word[0].isdigit()
            and self._near_misses.closest(word) is None
        )

    def _unknown(self, text: str, low: str, tokens: Tokens, index: int) -> Candidate | None:
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
        if word[0].isdigit():
            number = number_at(low, tokens, index)
            if number is None:
                return None
            return _of_number(tokens, index, number)
        if kind < WORD:
            return _star_run(tokens, index) if word in STAR_SIGNS else None
        if word in HOUR_STARTS:
            duration = duration_at(low, tokens.start(index))
            number = duration_of(low, tokens, index, duration) if duration else None
            if number is not None:
                return _of_number(tokens, index, number)
        quantity = quantity_at(words, index)
        if quantity is not None:
            end = tokens.end(quantity - 1)
            return Candidate(tokens.start(index), end, index, quantity, (("choice", ""),))
        if len(word) >= SHORTEST:
            near = self._near_miss(text, tokens, index)
            if near is not None:
                return near
        if word in TAILS:
            first = name_before(text, tokens, index, self._gazetteer.words)
            if first is not None:
                meanings = (("name", ""),)
                return Candidate(tokens.start(first), tokens.end(index), first, index + 1, meanings)
        if word in STREETS:
            first = address_before(tokens, index)
            if first is not None:
                meanings = (("address", ""),)
                return Candidate(tokens.start(first), tokens.end(index), first, index + 1, meanings)
        return None

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
    text: str, tokens: Tokens, index: int, longest: Longest, found: list[Candidate]
) -> Candidate | None:
    """Return a value of the database as it is meant here; None if no value is meant."""
    words, kinds = tokens.words, tokens.kinds
    after, meanings = longest.after, longest.meanings
    if meanings[-1][0] == "tail":
        # A part of the town belongs to the address before it: `Milton Road, Chesterton`.
        continued = (
            bool(found)
            and found[-1].slot == "address"
            and found[-1].after == index - 1
            and words[index - 1] == ","
        )
        meanings = (("address", meanings[-1][1]),) if continued else meanings[:-1]
        if not meanings:
            return None
    kept = accepted(tokens, index, after, meanings)
    if kept is None:
        return None
    after, meanings = kept
    end = tokens.end(after - 1)
    if longest.owner:
        end = tokens.start(after - 1) + len(words[after - 1]) - 1
    first = index
    if words[index] == "the" and after > index + 1 and text[tokens.start(index)] == "t":
        # Only a capital makes the article part of a name.
        first += 1
    if meanings[0][0] == "address" and index and kinds[index - 1] == NUMERIC:
        number = words[index - 1]
        if len(number) <= HOUSE_DIGITS and words[after - 1] in STREET_WORDS:
            if found and found[-1].after == index and found[-1].slot in NUMBERS:
                found.pop()
            if not found or found[-1].after < index:
                # A house that the database does not have in this street.
                first = index - 1
                meanings = (("address", ""),)
    return Candidate(tokens.start(first), end, first, after, meanings)


def _of_number(tokens: Tokens, index: int, number: Number) -> Candidate:
    meanings = ((number.slot, ""),)
    return Candidate(tokens.start(index), number.end, index, number.token_end, meanings)


def _star_run(tokens: Tokens, index: int) -> Candidate | None:
    """Return a run of stars that is a hotel's rating; a single one may be an ornament."""
    after, stars = index, 0
    while after < len(tokens.words) and tokens.words[after] in STAR_RUN:
        stars += tokens.words[after] in STAR_SIGNS
        after += 1
    if after - index < 2:
        return None
    return Candidate(tokens.start(index), tokens.end(after - 1), index, after, (("stars", ""),))


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
