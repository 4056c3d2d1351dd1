"""Lexical richness of responses: distinct n-grams, entropies, lengths, MSTTR.

Not additive (a word that two dialogues share counts once), so there is an accumulator instead of
table columns. Accumulators merge in order, and the merged one equals that of a single pass.

Source: lexical-diversity's `tokenize`, and what its `msttr` is; the definitions of the public
MultiWOZ evaluator (Nekvinda and Dušek, "Shades of BLEU, Flavours of Success", GEM 2021, section 5).
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, TypedDict

from mwzeval.errors import DependencyError
from mwzeval.metrics.windows import WindowTypes
from mwzeval.version import import_without_setuptools

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of the library's regular expressions
        warnings.simplefilter("ignore", DeprecationWarning)  # the same, before Python 3.12
        _tokenize = import_without_setuptools("lexical_diversity.lex_div").tokenize
except ImportError as error:
    raise DependencyError(
        f"lexical-diversity cannot be imported ({error}): pip install lexical-diversity"
    ) from None

MSTTR_WINDOW = 50
TURNS_AT_A_TIME = 2**12


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
    """Accumulates dialogues in input order; `scores` may be asked at any time.

    Memory is bounded by the distinct n-grams, not by the number of dialogues.
    """

    columns = ("richness.turns", "richness.words", "richness.window_types", "richness.windows")

    def __init__(self) -> None:
        self._turns = 0
        self._unigrams: Counter[str] = Counter()
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._trigrams: set[tuple[str, str, str]] = set()
        self._windows = WindowTypes(MSTTR_WINDOW)
        self._waiting: list[tuple[str, ...]] = []
        """Turns not counted yet: many at a time are counted faster."""

    def update(self, responses: Iterable[str]) -> None:
        """Add a dialogue; n-grams do not cross from one turn into the next."""
        self.update_all([[tokenize(response) for response in responses]])

    def update_all(self, dialogues: Iterable[Iterable[tuple[str, ...]]]) -> None:
        """Add dialogues, each as the words of its turns (see `tokenize`)."""
        for turns in dialogues:
            self._waiting.extend(turns)
            if len(self._waiting) >= TURNS_AT_A_TIME:
                self._count()

    def merge(self, later: Richness) -> None:
        """Add what `later` has seen, as if it had come after what this one has seen."""
        self._count()
        later._count()
        self._turns += later._turns
        self._unigrams.update(later._unigrams)
        self._bigrams.update(later._bigrams)
        self._trigrams |= later._trigrams
        self._windows.merge(later._windows)

    def totals(self) -> dict[str, float]:
        """Return the sums of the additive columns (see `DialogueWords.rows`)."""
        self._count()
        windows = self._windows
        numbers = (self._turns, windows.words, windows.types(), windows.windows())
        return dict(zip(self.columns, map(float, numbers), strict=True))

    def scores(self) -> RichnessScores:
        """Return all measures; without any turn all are 0."""
        self._count()
        unigrams, words = self._unigrams, self._windows.words
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
            msttr=self._msttr(),
            num_unigrams=len(unigrams),
            num_bigrams=len(self._bigrams),
            num_trigrams=len(self._trigrams),
        )

    def __getstate__(self) -> dict[str, Any]:
        self._count()
        return vars(self)

    def _msttr(self) -> float:
        words, windows = self._windows.words, self._windows.windows()
        if words <= MSTTR_WINDOW:
            # As the library does: the ratio of the whole text, however short.
            return len(self._unigrams) / words if words else 0.0
        return self._windows.types() / (MSTTR_WINDOW * windows)

    def _count(self) -> None:
        turns, self._waiting = self._waiting, []
        if not turns:
            return
        words = list(chain.from_iterable(turns))
        self._turns += len(turns)
        self._unigrams.update(words)
        self._bigrams.update(chain.from_iterable(map(pairwise, turns)))
        self._trigrams.update(chain.from_iterable(map(trigrams, turns)))
        self._windows.update(words)


def trigrams(words: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Return the trigrams of a turn."""
    return zip(words, words[1:], words[2:], strict=False)
