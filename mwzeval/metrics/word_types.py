"""Distinct n-grams and entropies as functions of how often each n-gram occurs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.richness import Richness, trigrams
from mwzeval.type_counts import Counts, Type, TypeCounts, TypeFunction


def count_ngrams(richness: Richness, units: Sequence[str]) -> TypeCounts:
    """Return the unigrams, bigrams and trigrams of each dialogue, named by `units`."""
    return TypeCounts.of(zip(units, map(_ngrams, richness.dialogues), strict=True))


def _ngrams(dialogue: Iterable[tuple[str, ...]]) -> Iterable[Type]:
    for turn in dialogue:
        yield from chain(((word,) for word in turn), pairwise(turn), trigrams(turn))


def distinct(order: int) -> TypeFunction:
    """Return the function that counts distinct n-grams of an order."""

    def score(counts: Counts, types: Sequence[Type]) -> NDArray[np.float64]:
        present = np.count_nonzero(counts[:, _of_order(order, types)], axis=1)
        return np.asarray(present, dtype=np.float64)

    return score


def entropy(counts: Counts, types: Sequence[Type]) -> NDArray[np.float64]:
    """Return the entropy of words, in bits."""
    words = counts[:, _of_order(1, types)]
    total = words.sum(axis=1)
    bits = np.log2(total) - _n_log_n(words).sum(axis=1) / total
    return np.asarray(bits, dtype=np.float64)


def conditional_entropy(counts: Counts, types: Sequence[Type]) -> NDArray[np.float64]:
    """Return the entropy of a word given the one before it, in bits.

    As published, probabilities are per word, not per bigram: −Σ c(h,w)/N · log2 (c(h,w)/c(h)).
    """
    column = {kind: index for index, kind in enumerate(types)}
    bigrams = _of_order(2, types)
    firsts = np.array([column[types[index][:1]] for index in bigrams], dtype=np.int64)
    pairs, first_words = counts[:, bigrams], counts[:, firsts]
    total = counts[:, _of_order(1, types)].sum(axis=1)
    surprise = pairs * _log_table(counts)[first_words] - _n_log_n(pairs)
    return np.asarray(surprise.sum(axis=1) / total, dtype=np.float64)


def _of_order(order: int, types: Sequence[Type]) -> NDArray[np.int64]:
    return np.array([i for i, kind in enumerate(types) if len(kind) == order], dtype=np.int64)


def _n_log_n(counts: Counts) -> NDArray[np.float64]:
    numbers = np.arange(counts.max(initial=0) + 1)
    return np.asarray((numbers * _log_table(counts))[counts], dtype=np.float64)


def _log_table(counts: Counts) -> NDArray[np.float64]:
    """Return log2 of every number up to the largest count; 0 for 0, where it never matters."""
    numbers = np.arange(counts.max(initial=0) + 1)
    return np.log2(np.maximum(numbers, 1))
