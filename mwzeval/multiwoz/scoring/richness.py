"""Lexical richness of responses: distinct n-grams, entropies, lengths, MSTTR.

Distinct words are counted over all dialogues, so most scores are not additive. `Richness` counts
words and n-grams in the dialogues of an input, in order. Parts of an input are also merged in
order, and the result equals the result of a single pass. Memory does not grow with the number of
dialogues. Intervals and comparisons need the words of each dialogue, because they resample
dialogues.

MSTTR divides the whole text into consecutive windows, so the position of windows in a later part
depends on the number of preceding words. For each possible offset of the first window,
`WindowTypes` stores the sum over all windows within a part. `WindowTypes` also stores the first and
last words of the part, which are needed for windows across parts. All sums are integers, so merging
in order gives exactly the result of a single pass.

Source: `tokenize` and `msttr` of lexical-diversity; the definitions of the evaluator of
Nekvinda and Dušek ("Shades of BLEU, Flavours of Success", GEM 2021, section 5).
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import chain, count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import DependencyError
from mwzeval.libraries import import_without_setuptools
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import Signature
from mwzeval.statistics.bootstrap import ScoreFunction, Sums


class WindowTypes:
    """The numbers of distinct words in MSTTR windows, summed by the offset of the first window."""

    def __init__(self, window: int, words: Sequence[str] = ()) -> None:
        self.window = window
        self.words = len(words)
        self._by_offset = self._counted(words, first=0)
        """For each offset, the numbers of distinct words, summed over all full windows that start
        at this offset."""
        self._start = [*words[: window - 1]]
        self._end = [*words[max(0, len(words) - window + 1) :]]
        """The first and the last words of the text, at most window − 1 of each."""

    def merge(self, later: WindowTypes) -> None:
        """Add the words of `later` after the words of this object."""
        # Windows across both parts begin in this part and end in the first words of the later part.
        border = self._counted([*self._end, *later._start], first=self.words - len(self._end))
        moved = np.roll(later._by_offset, self.words % self.window).tolist()
        self._by_offset = [*map(sum, zip(self._by_offset, border, moved, strict=True))]
        self._start = [*self._start, *later._start][: self.window - 1]
        end = [*self._end, *later._end]
        self._end = end[max(0, len(end) - self.window + 1) :]
        self.words += later.words

    def types(self) -> int:
        """Return the sum of the numbers of distinct words in all windows of the text."""
        return self._by_offset[0]

    def windows(self) -> int:
        """Return the number of full windows, counted from the first word."""
        return self.words // self.window

    def _counted(self, words: Sequence[str], first: int) -> list[int]:
        """Return sums of distinct words per window offset; `first` is the position of `words`."""
        types = types_of_windows(words, self.window)
        sums = np.zeros(self.window, dtype=np.int64)
        np.add.at(sums, (first + np.arange(len(types))) % self.window, types)
        return list(sums.tolist())


def types_of_windows(words: Sequence[str], window: int) -> NDArray[np.int64]:
    """Return the number of distinct words per window, shape (len(words) - window + 1,) or (0,)."""
    windows = max(0, len(words) - window + 1)
    if not windows:
        return np.zeros(0, dtype=np.int64)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words))
    order = np.argsort(codes, kind="stable")
    repeated = codes[order[1:]] == codes[order[:-1]]
    before = np.full(len(words), -1, dtype=np.int64)
    before[order[1:][repeated]] = order[:-1][repeated]
    # A word is counted in the windows in which it occurs for the first time. These windows begin
    # after its previous occurrence and do not end before this occurrence.
    earliest = np.maximum(before + 1, np.arange(len(words)) - window + 1)
    begun = np.cumsum(np.bincount(earliest, minlength=len(words)))[:windows]
    return np.asarray(begun - np.arange(windows), dtype=np.int64)


MSTTR_WINDOW = 50
MSTTR_BLOCK = 10
"""Number of adjacent dialogues resampled together for MSTTR, whose windows span dialogues."""
TURNS_AT_A_TIME = 2**12
RICHNESS_COLUMNS = ("richness.turns", "richness.words", "richness.window_types", "richness.windows")
DialogueWords = Sequence[tuple[str, ...]]
"""The words of each turn of a dialogue."""


def distinct(order: int, sums: Sums) -> NDArray[np.float64]:
    """Return the number of distinct n-grams for one n."""
    return sums[f"distinct_{order}"]


def entropy(sums: Sums) -> NDArray[np.float64]:
    """Return the entropy of words, in bits."""
    return np.asarray(np.log2(sums["words"]) - sums["n_log_n"] / sums["words"])


def conditional_entropy(sums: Sums) -> NDArray[np.float64]:
    """Return the entropy of a word given the previous word, in bits.

    As in the published evaluator, the sum is divided by the number of words N, not of bigrams: −Σ
    c(h,w)/N · log2 (c(h,w)/c(h)).
    """
    return sums["surprise"] / sums["words"]


OF_TYPES: tuple[tuple[str, str, ScoreFunction, int, str], ...] = (
    ("entropy", "Entropy (bits)", entropy, 2, "bits"),
    ("cond_entropy", "Conditional entropy (bits)", conditional_entropy, 2, "bits"),
    ("num_unigrams", "Distinct unigrams", partial(distinct, 1), 0, "words"),
    ("num_bigrams", "Distinct bigrams", partial(distinct, 2), 0, "bigrams"),
    ("num_trigrams", "Distinct trigrams", partial(distinct, 3), 0, "trigrams"),
)
"""Scores of n-grams: name, label, function of the n-gram counts, number of decimals, and unit."""

_PUNCTUATION = str.maketrans("", "", "'.,?!)(%/-_")
_SPACE = re.compile(r"\s+")
_UNUSUAL = re.compile("`|SYM")
"""Matches texts other than punctuation that the library also removes."""
_COLONS = str.maketrans("", "", ":;")


@lru_cache(maxsize=2**14)
def tokenize(text: str) -> tuple[str, ...]:
    """Return the words of a response, without punctuation, in lower case.

    The result is the same as that of the library lexical-diversity. The library lexical-diversity
    is only called for unusual characters, because it reads a table of lemmas in 0.1 seconds. A text
    without words is counted as one empty word. Raises `DependencyError` if the library is needed
    and cannot be imported.
    """
    words = text.translate(_PUNCTUATION)
    if _UNUSUAL.search(words):
        return tuple(_library()(text))
    return tuple(_SPACE.sub(" ", words.translate(_COLONS)).lower().split(" "))


@cache
def _library() -> Callable[[str], list[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # caused by the regexes of the library
        warnings.simplefilter("ignore", DeprecationWarning)  # the same effect before Python 3.12
        try:
            module = import_without_setuptools("lexical_diversity.lex_div")
        except ImportError as error:
            raise DependencyError(
                f"lexical-diversity cannot be imported ({error}): pip install lexical-diversity"
            ) from None
    tokenize: Callable[[str], list[str]] = module.tokenize
    return tokenize


class Richness:
    """Counts of words and n-grams over turns; memory is bounded by the number of distinct n-grams.

    An n-gram never extends over two turns. Turns are counted in batches, which is faster than
    counting single turns.
    """

    def __init__(self, turns: Iterable[tuple[str, ...]] = ()) -> None:
        self._waiting: list[tuple[str, ...]] = []
        self._turns = 0
        self._unigrams: Counter[str] = Counter()
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._trigrams: set[tuple[str, str, str]] = set()
        self._windows = WindowTypes(MSTTR_WINDOW)
        self._add(turns)

    def _add(self, turns: Iterable[tuple[str, ...]]) -> None:
        self._waiting.extend(turns)
        if len(self._waiting) >= TURNS_AT_A_TIME:
            self._count()

    def merge(self, later: Richness) -> None:
        """Append the turns of `later` to the turns of this object."""
        if later._turns:
            self._count()
            later._count()
            self._turns += later._turns
            self._unigrams.update(later._unigrams)
            self._bigrams.update(later._bigrams)
            self._trigrams |= later._trigrams
            self._windows.merge(later._windows)
        else:
            self._add(later._waiting)

    def _count(self) -> None:
        turns, self._waiting = self._waiting, []
        if turns:
            words = list(chain.from_iterable(turns))
            self._turns += len(turns)
            self._unigrams.update(words)
            self._bigrams.update(chain.from_iterable(map(pairwise, turns)))
            for turn in turns:
                self._trigrams.update(zip(turn, turn[1:], turn[2:], strict=False))
            self._windows.merge(WindowTypes(MSTTR_WINDOW, words))

    def __getstate__(self) -> dict[str, Any]:
        self._count()  # Counts need less memory than turns when they are sent or stored.
        return self.__dict__

    def totals(self) -> dict[str, float]:
        """Return the sum of each column in `RICHNESS_COLUMNS`."""
        self._count()
        windows = self._windows
        numbers = (self._turns, windows.words, windows.types(), windows.windows())
        return dict(zip(RICHNESS_COLUMNS, map(float, numbers), strict=True))

    def scores(self) -> dict[str, float]:
        """Return all scores, which are 0 if there is no turn.

        Entropies are in bits, `avg_lengths` is in tokens per turn, and `msttr` is between 0 and 1.
        """
        self._count()
        unigrams, words = self._unigrams, self._windows.words
        # Sorted, so that the rounded sum does not depend on the order of the turns.
        probabilities = [count / words for count in sorted(unigrams.values())]
        conditional = sorted(
            (count / words) * math.log2(count / unigrams[first])
            for (first, _), count in self._bigrams.items()
        )
        if words <= MSTTR_WINDOW:
            # As in the library, a text shorter than a window gets the ratio of the whole text.
            msttr = len(unigrams) / words if words else 0.0
        else:
            msttr = self._windows.types() / (MSTTR_WINDOW * self._windows.windows())
        return {
            "entropy": -math.fsum(p * math.log2(p) for p in probabilities) + 0.0,
            "cond_entropy": -math.fsum(conditional) + 0.0,
            "avg_lengths": words / self._turns if self._turns else 0.0,
            "msttr": msttr,
            "num_unigrams": len(unigrams),
            "num_bigrams": len(self._bigrams),
            "num_trigrams": len(self._trigrams),
        }

    def measures(self, signature: Signature) -> list[Measure]:
        """Return the scores as measures, beginning with those that come from `richness_rows`."""
        scores = self.scores()

        def measure(
            name: str, label: str, function: ScoreFunction, places: int, unit: str
        ) -> Measure:
            known = float(scores[name])
            full = f"richness.{name}"
            return Measure(full, label, signature, function, places, known=known, unit=unit)

        label = f"MSTTR-{MSTTR_WINDOW}"
        return [
            measure("avg_lengths", "Words per turn", _words_per_turn, 2, "words"),
            replace(measure("msttr", label, _msttr, 3, ""), block=MSTTR_BLOCK),
            *(replace(measure(*row), is_description=True, of_types=True) for row in OF_TYPES),
        ]


def richness_rows(dialogues: Sequence[DialogueWords]) -> list[dict[str, float]]:
    """Return the numbers of turns, words and MSTTR windows of each dialogue, in the columns
    `RICHNESS_COLUMNS`.

    A window of words that extends over several dialogues is counted in the dialogue where it
    starts.
    """
    tokens = [word for dialogue in dialogues for turn in dialogue for word in turn]
    starts = range(0, len(tokens) - MSTTR_WINDOW + 1, MSTTR_WINDOW)
    types = [len(set(tokens[start : start + MSTTR_WINDOW])) for start in starts]
    rows = []
    first = 0
    for dialogue in dialogues:
        end = first + sum(map(len, dialogue))
        own = types[-(-first // MSTTR_WINDOW) : -(-end // MSTTR_WINDOW)]
        numbers = map(float, (len(dialogue), end - first, sum(own), len(own)))
        rows.append(dict(zip(RICHNESS_COLUMNS, numbers, strict=True)))
        first = end
    return rows


def _words_per_turn(sums: Sums) -> NDArray[np.float64]:
    return sums["richness.words"] / sums["richness.turns"]


def _msttr(sums: Sums) -> NDArray[np.float64]:
    # Without a full window, this ratio is 0/0; the library then uses the ratio of the whole text.
    return sums["richness.window_types"] / (MSTTR_WINDOW * sums["richness.windows"])
