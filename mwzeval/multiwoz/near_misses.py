"""Names that are nearly those of venues: `the Lenfield`, `Huntington Marriott hotel`.

A word that no name has is first replaced by the closest word of a name; if a name can then be read
there, the text must be close to it as a whole. Closeness is rapidfuzz's `ratio`, 0 to 100: twice
the letters in common, in order, of those of both texts.
"""

from __future__ import annotations

from rapidfuzz import fuzz, process

from mwzeval.multiwoz.words.gazetteer import Gazetteer, Longest
from mwzeval.multiwoz.words.surface_tables import ORDINARY_WORDS
from mwzeval.multiwoz.words.text import Tokens

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
