"""Corpus BLEU with many references a segment, out of additive rows; tokens come from the caller.

As NLTK's `corpus_bleu` computes it: n-gram counts are clipped by their maximum over the references
and pooled over the corpus, the closest reference length counts for the brevity penalty, and a
segment shorter than n still counts for one n-gram. Smoothing is "method 1" of Chen and Cherry
(2014): 0.1 in the place of no match.
Source: Papineni et al., ACL 2002; the `nltk` package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.statistics import Sums

ORDERS = (1, 2, 3, 4)
EPSILON = 0.1
Tokens = Sequence[str]
SIGNATURE = {"nrefs": "group", "smooth": "method1", "len": "closest"}


@dataclass(frozen=True, slots=True)
class SegmentCounts:
    """What a segment adds to the corpus: lengths in tokens, and n-grams by order from 1 to 4."""

    system_length: int
    reference_length: int
    correct: tuple[int, ...]
    total: tuple[int, ...]


def segment_counts(
    hypotheses: Iterable[Tokens], references: Iterable[Tokens]
) -> list[SegmentCounts]:
    """Return the counts of segments that have the same references.

    References are gone through once for all of them; none may be repeated in vain, but it changes
    nothing.

    Raises:
        ValueError: Without references.
    """
    counted = [(tokens, [_ngrams(tokens, order) for order in ORDERS]) for tokens in hypotheses]
    lengths = set()
    limits: list[dict[tuple[str, ...], int]] = [{} for _ in ORDERS]
    wanted = [set().union(*(counts[index] for _, counts in counted)) for index in range(4)]
    repeated = [
        {ngram for _, counts in counted for ngram, count in counts[index].items() if count > 1}
        for index in range(4)
    ]
    for reference in references:
        lengths.add(len(reference))
        for index, order in enumerate(ORDERS):
            limit = limits[index]
            # That an n-gram is there says nearly everything: few come more than once.
            for ngram in wanted[index].intersection(_windows(reference, order)):
                limit.setdefault(ngram, 1)
            if repeated[index]:
                for ngram, count in _ngrams(reference, order).items():
                    if count > 1 and ngram in repeated[index]:
                        limit[ngram] = max(limit[ngram], count)
    if not lengths:
        raise ValueError("a segment needs at least one reference")
    return [_clipped(tokens, counts, limits, lengths) for tokens, counts in counted]


def _windows(tokens: Tokens, order: int) -> Iterable[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(order)), strict=False)


def _ngrams(tokens: Tokens, order: int) -> Counter[tuple[str, ...]]:
    return Counter(_windows(tokens, order))


def _clipped(
    tokens: Tokens,
    counts: Sequence[Mapping[tuple[str, ...], int]],
    limits: Sequence[Mapping[tuple[str, ...], int]],
    lengths: Iterable[int],
) -> SegmentCounts:
    length = len(tokens)
    correct = tuple(
        sum(min(count, limit.get(ngram, 0)) for ngram, count in of_order.items())
        for of_order, limit in zip(counts, limits, strict=True)
    )
    closest = min(lengths, key=lambda other: (abs(other - length), other))
    return SegmentCounts(
        length, closest, correct, tuple(max(1, length - order + 1) for order in ORDERS)
    )


class MultiReferenceBleu:
    """BLEU-4 of rows, called `name` in their columns."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns = tuple(
            f"{name}.{field}"
            for field in (
                "system_length",
                "reference_length",
                *(f"correct_{order}" for order in ORDERS),
                *(f"total_{order}" for order in ORDERS),
            )
        )

    def row(self, segments: Iterable[SegmentCounts]) -> dict[str, float]:
        """Return the sums of segments."""
        totals = np.zeros(len(self.columns), dtype=np.int64)
        for of in segments:
            totals += (of.system_length, of.reference_length, *of.correct, *of.total)
        return dict(zip(self.columns, totals.tolist(), strict=True))

    def score(self, sums: Sums) -> NDArray[np.float64]:
        """Return BLEU-4, 0 to 1, of summed rows, in the shape of the sums; 0 without any match."""
        system, reference, *counts = (
            np.asarray(sums[column], dtype=np.float64) for column in self.columns
        )
        correct, total = np.stack(counts[:4]), np.stack(counts[4:])
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(correct > 0, correct, EPSILON) / total
            mean = np.exp(np.log(precisions).mean(axis=0))
            penalty = np.where(system > reference, 1.0, np.exp(1 - reference / system))
        bleu: NDArray[np.float64] = np.where(correct[0] > 0, mean * penalty, 0.0)
        return bleu
