"""Lexical richness of responses: distinct n-grams, entropies, lengths, MSTTR.

Not additive (a word that two dialogues share counts once), so there is an accumulator instead of
table columns. Accumulators merge in order, and the merged one equals that of a single pass.

Source: lexical-diversity's `tokenize` and `msttr`; the definitions of the public MultiWOZ
evaluator (Nekvinda and Dušek, "Shades of BLEU, Flavours of Success", GEM 2021, section 5).
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypedDict

from mwzeval.errors import DependencyError

try:
    with warnings.catch_warnings():
        # Its use of `pkg_resources` is none of the user's business.
        warnings.simplefilter("ignore")
        from lexical_diversity.lex_div import msttr
        from lexical_diversity.lex_div import tokenize as _tokenize
except ImportError as error:
    # lexical-diversity 0.1.1 finds its word list by setuptools' `pkg_resources`.
    raise DependencyError(
        f"lexical-diversity cannot be used ({error}): pip install lexical-diversity 'setuptools<82'"
    ) from None

MSTTR_WINDOW = 50


class RichnessScores(TypedDict):
    """Entropies in bits; `avg_lengths` in tokens per turn; `msttr` between 0 and 1."""

    entropy: float
    cond_entropy: float
    avg_lengths: float
    msttr: float
    num_unigrams: int
    num_bigrams: int
    num_trigrams: int


@lru_cache(maxsize=2**14)
def tokenize(text: str) -> tuple[str, ...]:
    """Return the words of a response, without punctuation, in lower case.

    As the library does: a text without words is one empty word, which counts.
    """
    return tuple(_tokenize(text))


class Richness:
    """Accumulates dialogues in input order; `scores` may be asked at any time."""

    def __init__(self) -> None:
        self.dialogues: list[list[tuple[str, ...]]] = []
        """The words of each turn of each dialogue."""

    def update(self, responses: Iterable[str]) -> None:
        """Add a dialogue; n-grams do not cross from one turn into the next."""
        self.dialogues.append([tokenize(response) for response in responses])

    def merge(self, later: Richness) -> None:
        """Add what `later` has seen, as if it had come after what this one has seen."""
        self.dialogues.extend(later.dialogues)

    columns = ("richness.turns", "richness.words", "richness.window_types", "richness.windows")

    def rows(self) -> list[dict[str, float]]:
        """Return what is additive of each dialogue: turns, words, and windows of MSTTR.

        A window, and the number of distinct words in it, belong to the dialogue where it starts.
        """
        tokens = self.words()
        rows = []
        first = 0
        for dialogue in self.dialogues:
            end = first + sum(map(len, dialogue))
            start = -(-first // MSTTR_WINDOW) * MSTTR_WINDOW
            windows = [
                tokens[at : at + MSTTR_WINDOW]
                for at in range(start, end, MSTTR_WINDOW)
                if at + MSTTR_WINDOW <= len(tokens)
            ]
            types = sum(len(set(window)) for window in windows)
            numbers = map(float, (len(dialogue), end - first, types, len(windows)))
            rows.append(dict(zip(self.columns, numbers, strict=True)))
            first = end
        return rows

    def words(self) -> list[str]:
        """Return all words in input order."""
        return [word for dialogue in self.dialogues for turn in dialogue for word in turn]

    def scores(self) -> RichnessScores:
        """Return all measures; without any turn all are 0."""
        tokens = self.words()
        turns = [turn for dialogue in self.dialogues for turn in dialogue]
        unigrams = Counter(tokens)
        bigrams = Counter(ngram for turn in turns for ngram in pairwise(turn))
        words = len(tokens)
        # Sorted, so that a sum of rounded terms does not depend on the order of the turns.
        probabilities = [count / words for count in sorted(unigrams.values())]
        conditional = sorted(
            (count / words) * math.log2(count / unigrams[first])
            for (first, _), count in bigrams.items()
        )
        return RichnessScores(
            entropy=-math.fsum(p * math.log2(p) for p in probabilities) + 0.0,
            cond_entropy=-math.fsum(conditional) + 0.0,
            avg_lengths=words / len(turns) if turns else 0.0,
            msttr=float(msttr(tokens, MSTTR_WINDOW)) if words else 0.0,
            num_unigrams=len(unigrams),
            num_bigrams=len(bigrams),
            num_trigrams=len({ngram for turn in turns for ngram in trigrams(turn)}),
        )


def trigrams(words: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Return the trigrams of a turn."""
    return zip(words, words[1:], words[2:], strict=False)
