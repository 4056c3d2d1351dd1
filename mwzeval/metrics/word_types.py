"""Distinct n-grams and entropies as functions of how often each n-gram occurs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.dialogue_words import DialogueWords
from mwzeval.metrics.richness import trigrams
from mwzeval.scores.type_counts import Counts, Type, TypeCounts, Types


def count_ngrams(words: DialogueWords, units: Sequence[str]) -> TypeCounts:
    """Return the unigrams, bigrams and trigrams of each dialogue, named by `units`."""
    return TypeCounts.of(zip(units, map(_ngrams, words.dialogues), strict=True))


def _ngrams(dialogue: Iterable[tuple[str, ...]]) -> Iterable[Type]:
    for turn in dialogue:
        yield from chain(((word,) for word in turn), pairwise(turn), trigrams(turn))


def distinct(order: int, counts: Counts, types: Types) -> NDArray[np.float64]:
    """Return how many distinct n-grams of an order there are."""
    present = np.count_nonzero(counts[:, types.of_order(order)], axis=1)
    return np.asarray(present, dtype=np.float64)


def entropy(counts: Counts, types: Types) -> NDArray[np.float64]:
    """Return the entropy of words, in bits."""
    words = counts[:, types.of_order(1)]
    total = words.sum(axis=1)
    bits = np.log2(total) - _n_log_n(words).sum(axis=1) / total
    return np.asarray(bits, dtype=np.float64)


def conditional_entropy(counts: Counts, types: Types) -> NDArray[np.float64]:
    """Return the entropy of a word given the one before it, in bits.

    As published, probabilities are per word, not per bigram: −Σ c(h,w)/N · log2 (c(h,w)/c(h)).
    """
    pairs, first_words = counts[:, types.of_order(2)], counts[:, types.first_words]
    total = counts[:, types.of_order(1)].sum(axis=1)
    surprise = pairs * _log_table(counts)[first_words] - _n_log_n(pairs)
    return np.asarray(surprise.sum(axis=1) / total, dtype=np.float64)


def _n_log_n(counts: Counts) -> NDArray[np.float64]:
    numbers = np.arange(counts.max(initial=0) + 1)
    return np.asarray((numbers * _log_table(counts))[counts], dtype=np.float64)


def _log_table(counts: Counts) -> NDArray[np.float64]:
    """Return log2 of every number up to the largest count; 0 for 0, where it never matters."""
    numbers = np.arange(counts.max(initial=0) + 1)
    return np.log2(np.maximum(numbers, 1))
