"""Corpus BLEU out of additive rows: sacreBLEU's tokeniser, n-grams and formula, one row a dialogue.

Source: Post, "A Call for Clarity in Reporting BLEU Scores", WMT 2018; the `sacrebleu` package, with
its defaults: 13a tokenisation, mixed case, exponential smoothing. It is imported only for texts
that its tokeniser changes beyond setting punctuation apart.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.libraries import required
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import Signature
from mwzeval.statistics import ScoreFunction, Sums

MAX_NGRAM_ORDER = 4
ORDERS = range(1, MAX_NGRAM_ORDER + 1)
FIELDS = (
    "system_length",
    "reference_length",
    *(f"correct_{order}" for order in ORDERS),
    *(f"total_{order}" for order in ORDERS),
)

SIGNATURE = {"nrefs": "1", "case": "mixed", "eff": "no", "tok": "13a", "smooth": "exp"}


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
    text = text.rstrip()
    if _NOT_PLAIN.search(text):
        return str(_library_tokenizer()(text))
    text = _POINT.sub(r" \g<0> ", _SIGN.sub(r" \g<0> ", f" {text} "))
    return " ".join((_DASH.sub(" - ", text) if "-" in text else text).split())


_NOT_PLAIN = re.compile(r"[\n&]|<skipped>|[.,][.,]")
"""What the library does something else with: escapes, ends of lines, and points in a row, of which
its expressions look at every second one only."""
_SIGN = re.compile(r"[{-~\[-`!-&(-+:-@/]")
_POINT = re.compile(r"(?<![0-9])[.,]|[.,](?![0-9])")
_DASH = re.compile(r"(?<=[0-9])-")


@cache
def _library_tokenizer() -> Any:
    return required("sacrebleu.tokenizers.tokenizer_13a", None).Tokenizer13a()


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
        reference_length = 0
        lengths = []
        correct = [0] * MAX_NGRAM_ORDER
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            lengths.append(hypothesis.length)
            reference_length += reference.length
            counts, limits = hypothesis.ngrams, reference.ngrams
            for ngram in counts.keys() & limits.keys():
                count, limit = counts[ngram], limits[ngram]
                correct[ngram.count(" ")] += count if count < limit else limit
        system_length = sum(lengths)
        total = [
            sum([length - shorter for length in lengths if length > shorter])
            for shorter in range(MAX_NGRAM_ORDER)
        ]
        numbers = [system_length, reference_length, *correct, *total]
        return dict(zip(self.columns, numbers, strict=True))

    @property
    def of(self) -> ScoreFunction:
        """BLEU as a function of many sums at once."""
        return partial(_of_columns, self.columns)

    def measures(self, signature: Signature) -> Iterator[Measure]:
        """Yield the one score, `bleu.NAME`."""
        yield Measure(f"bleu.{self.name}", f"BLEU ({self.name})", signature, self.of, unit="points")


def _of_columns(columns: Sequence[str], sums: Sums) -> NDArray[np.float64]:
    rows = zip(*(sums[column].tolist() for column in columns), strict=True)
    return np.array([_bleu(*row) for row in rows], dtype=np.float64)


def _bleu(system_length: float, reference_length: float, *counts: float) -> float:
    """Return BLEU, 0 to 100, of summed statistics; equal to sacreBLEU's `corpus_bleu`.

    In the library's order of operations, so that it is the same to the last bit.
    """
    correct, total = counts[:MAX_NGRAM_ORDER], counts[MAX_NGRAM_ORDER:]
    if not any(correct):
        return 0.0
    penalty = 1.0
    if system_length < reference_length:
        penalty = math.exp(1 - reference_length / system_length) if system_length > 0 else 0.0
    smoothing = 1.0
    logarithms = [_LOG_OF_ZERO] * MAX_NGRAM_ORDER
    for index, (found, of) in enumerate(zip(correct, total, strict=True)):
        if not of:
            break
        if not found:
            smoothing *= 2
        precision = 100 * found / of if found else 100 / (smoothing * of)
        logarithms[index] = math.log(precision)
    return penalty * math.exp(sum(logarithms) / MAX_NGRAM_ORDER)


_LOG_OF_ZERO = -9999999999.0
