"""Corpus BLEU out of additive rows: sacreBLEU's tokeniser, n-grams and formula, one row a dialogue.

Source: Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018; the `sacrebleu` package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU, MAX_NGRAM_ORDER

from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import Signature
from mwzeval.statistics import ScoreFunction, Sums, elementwise

ORDERS = range(1, MAX_NGRAM_ORDER + 1)
FIELDS = (
    "system_length",
    "reference_length",
    *(f"correct_{order}" for order in ORDERS),
    *(f"total_{order}" for order in ORDERS),
)

# Library defaults: 13a tokenisation, mixed case, exponential smoothing.
_BLEU = BLEU()
"""Only its tokeniser and formula are used, so that nothing of one call leaks into the next."""
SIGNATURE = {
    "nrefs": "1",
    "case": "mixed",
    "eff": "no",
    "tok": _BLEU.tokenizer.signature(),
    "smooth": _BLEU.smooth_method,
}


REMEMBERED = 2**14
"""Segments whose n-grams are kept: a test fold's references, and some 100 MB at most."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A segment's n-gram counts, all orders together, and its length in tokens.

    An n-gram is its tokens with blanks between: no token has a blank, so its order is plain, and
    the garbage collector passes over a mapping of texts (it would not over one of tuples).
    """

    ngrams: Mapping[str, int]
    length: int


def tokenize(text: str) -> str:
    """Return the segment as sacreBLEU sees it: tokens with single blanks between them."""
    return str(_BLEU.tokenizer(text.rstrip()))


@lru_cache(maxsize=REMEMBERED)
def prepare(text: str) -> PreparedText:
    """Return n-gram counts and length of one segment of detokenised text.

    Remembered, because systems repeat themselves: half of a usual file's responses are repeats.
    """
    return _counted(tokenize(text))


@lru_cache(maxsize=REMEMBERED)
def prepare_tokenized(text: str) -> PreparedText:
    """Return n-gram counts and length of a segment that `tokenize` has returned.

    Remembered, because references come again with every evaluation.
    """
    return _counted(text)


def _counted(tokenized: str) -> PreparedText:
    tokens = tokenized.split()
    ngrams = tokens.copy()
    longest = tokens
    for order in ORDERS[1:]:
        following = tokens[order - 1 :]
        longest = [f"{ngram} {token}" for ngram, token in zip(longest, following, strict=False)]
        ngrams += longest
    return PreparedText(dict(Counter(ngrams)), len(tokens))


class Bleu:
    """BLEU against one reference set, called `name` in the columns and scores."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns = tuple(f"bleu.{name}.{field}" for field in FIELDS)

    def row(
        self, hypotheses: Iterable[PreparedText], references: Iterable[PreparedText]
    ) -> dict[str, float]:
        """Return the summed statistics of aligned segments; both must be equally many."""
        system_length = reference_length = 0
        correct = [0] * MAX_NGRAM_ORDER
        total = [0] * MAX_NGRAM_ORDER
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            system_length += hypothesis.length
            reference_length += reference.length
            for index in range(MAX_NGRAM_ORDER):
                total[index] += max(0, hypothesis.length - index)
            counts, limits = hypothesis.ngrams, reference.ngrams
            for ngram in counts.keys() & limits.keys():
                count, limit = counts[ngram], limits[ngram]
                correct[ngram.count(" ")] += count if count < limit else limit
        numbers = [system_length, reference_length, *correct, *total]
        return dict(zip(self.columns, numbers, strict=True))

    def score(self, sums: Mapping[str, float]) -> float:
        """Return BLEU, 0 to 100, of summed statistics; equal to sacreBLEU's `corpus_bleu`."""
        system_length, reference_length, *counts = (int(sums[column]) for column in self.columns)
        return float(
            BLEU.compute_bleu(
                correct=counts[:MAX_NGRAM_ORDER],
                total=counts[MAX_NGRAM_ORDER:],
                sys_len=system_length,
                ref_len=reference_length,
                smooth_method=_BLEU.smooth_method,
                smooth_value=_BLEU.smooth_value,
                effective_order=_BLEU.effective_order,
            ).score
        )

    @property
    def of(self) -> ScoreFunction:
        """BLEU as a function of many sums at once."""
        return partial(_of_columns, self.score, self.columns)

    def measures(self, signature: Signature) -> Iterator[Measure]:
        """Yield the one score, `bleu.NAME`."""
        yield Measure(f"bleu.{self.name}", f"BLEU ({self.name})", signature, self.of)


def _of_columns(
    score: Callable[[Mapping[str, float]], float], columns: Sequence[str], sums: Sums
) -> NDArray[np.float64]:
    return elementwise(score)({column: sums[column] for column in columns})
