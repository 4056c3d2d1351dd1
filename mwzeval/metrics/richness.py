"""Lexical richness of responses: distinct n-grams, entropies, lengths, MSTTR.

Not additive (a word that two dialogues share counts once), so there is an accumulator instead of
table columns. Accumulators merge in order, and the merged one equals that of a single pass.

Source: lexical-diversity's `tokenize` and `msttr`; the definitions of the public MultiWOZ
evaluator (Nekvinda and Dušek, "Shades of BLEU, Flavours of Success", GEM 2021, section 5).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TypedDict

from mwzeval.errors import DependencyError

try:
    with warnings.catch_warnings():
        # Its use of `pkg_resources` is none of the user's business.
        warnings.simplefilter("ignore")
        from lexical_diversity.lex_div import msttr
        from lexical_diversity.lex_div import tokenize as _tokenize
except ModuleNotFoundError as error:
    # lexical-diversity 0.1.1 finds its word list by setuptools' `pkg_resources`.
    raise DependencyError(
        f"lexical-diversity cannot be used because the module {error.name!r} is missing: "
        "pip install lexical-diversity 'setuptools<82'"
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
    """Accumulates turns in input order; `scores` may be asked at any time."""

    def __init__(self) -> None:
        self._turns = 0
        self._tokens: list[str] = []
        self._unigrams: Counter[str] = Counter()
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._trigrams: set[tuple[str, str, str]] = set()

    def update(self, responses: Iterable[str]) -> None:
        """Add turns; n-grams do not cross from one turn into the next."""
        for response in responses:
            words = tokenize(response)
            self._turns += 1
            self._tokens.extend(words)
            self._bigrams.update(itertools.pairwise(words))
            self._trigrams.update(zip(words, words[1:], words[2:], strict=False))

    def merge(self, later: Richness) -> None:
        """Add what `later` has seen, as if it had come after what this one has seen."""
        self._turns += later._turns
        self._tokens.extend(later._tokens)
        self._bigrams.update(later._bigrams)
        self._trigrams.update(later._trigrams)

    def scores(self) -> RichnessScores:
        """Return all measures; without any turn all are 0."""
        unigrams = Counter(self._tokens)
        words = len(self._tokens)
        # Sorted, so that a sum of rounded terms does not depend on the order of the turns.
        probabilities = [count / words for count in sorted(unigrams.values())]
        conditional = sorted(
            (count / words) * math.log2(count / unigrams[first])
            for (first, _), count in self._bigrams.items()
        )
        return RichnessScores(
            entropy=-math.fsum(p * math.log2(p) for p in probabilities) + 0.0,
            cond_entropy=-math.fsum(conditional) + 0.0,
            avg_lengths=words / self._turns if self._turns else 0.0,
            msttr=float(msttr(self._tokens, MSTTR_WINDOW)) if words else 0.0,
            num_unigrams=len(unigrams),
            num_bigrams=len(self._bigrams),
            num_trigrams=len(self._trigrams),
        )
