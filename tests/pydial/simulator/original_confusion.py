"""The confusion tables of a run of the original, drawn with its seed.

The original draws nothing before the tables, so they depend only on the seed. NumPy's `RandomState`
shuffles word lists, and NumPy 1.16's quicksort finds nearest words and determines the order of
words with equal distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from Levenshtein import distance

from mwzeval.pydial.domain import NAME, Domain
from mwzeval.pydial.simulator.channel import SOFTENING, Confusion, Neighbours
from mwzeval.pydial.simulator.codes import NEIGHBOURS, USER_ACTS
from mwzeval.pydial.simulator.rng import Rng
from tests.pydial.real_domains import domain

SHORT = 16
"""Partitions of up to this length plus one are sorted by insertion."""


@cache
def original_confusion(code: str, seed: int) -> Confusion:
    """Return the confusion tables of a run of the original in one of its domains."""
    task_domain: Domain = domain(code)
    random = np.random.RandomState(seed)
    confusion = Confusion(task_domain, Rng(0))
    confusion.acts = _table(USER_ACTS, random)
    slots = _table(task_domain.ontology.requestable, random)
    confusion.slots = {slot: near.without(NAME) for slot, near in slots.items()}
    confusion.values_taken_for = {
        slot: _table(task_domain.ontology.values_and_dontcare[slot], random)
        for slot in (*task_domain.ontology.constraint_slots, NAME)
    }
    return confusion


def _table(words: Sequence[str], random: np.random.RandomState) -> dict[str, Neighbours]:
    shuffled = list(words)
    random.shuffle(shuffled)
    table = {}
    for word in shuffled:
        distances = [distance(word, other) for other in shuffled]
        nearest = order_of(distances)[1 : NEIGHBOURS + 1]
        inverse = [1 / distances[at] for at in nearest]
        weights = [weight / sum(inverse) + SOFTENING for weight in inverse]
        table[word] = Neighbours([shuffled[at] for at in nearest], weights)
    return table


def order_of(keys: Sequence[int]) -> list[int]:
    """Return the indices that sort the keys, with the order of ties in NumPy 1.16."""
    order = list(range(len(keys)))
    parts = [(0, len(keys) - 1)]
    while parts:
        first, last = parts.pop()
        while last - first > SHORT:
            middle = _divide(keys, order, first, last)
            low, high = (first, middle - 1), (middle + 1, last)
            larger, (first, last) = (high, low) if middle - first < last - middle else (low, high)
            parts.append(larger)
        order[first : last + 1] = sorted(order[first : last + 1], key=keys.__getitem__)
    return order


def _divide(keys: Sequence[int], order: list[int], first: int, last: int) -> int:
    """Partition around the median of three; return its index."""

    def swap(a: int, b: int) -> None:
        order[a], order[b] = order[b], order[a]

    middle = first + (last - first >> 1)
    for low, high in ((first, middle), (middle, last), (first, middle)):
        if keys[order[high]] < keys[order[low]]:
            swap(low, high)
    median = keys[order[middle]]
    left, right = first, last - 1
    swap(middle, right)
    while True:
        left += 1
        while keys[order[left]] < median:
            left += 1
        right -= 1
        while median < keys[order[right]]:
            right -= 1
        if left >= right:
            break
        swap(left, right)
    swap(left, last - 1)
    return left
