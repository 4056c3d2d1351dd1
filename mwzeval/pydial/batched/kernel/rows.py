"""Sets of entities, as words of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.batched.compiled import compiled

_0, _1, _2, _4, _56 = (np.uint64(n) for n in (0, 1, 2, 4, 56))
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@compiled
def _bits(word: Any) -> int:
    word -= word >> _1 & _PAIRS
    word = (word & _FOURS) + (word >> _2 & _FOURS)
    word = word + (word >> _4) & _EIGHTS
    return np.int64(word * _ONES >> _56)


@compiled
def count(rows: Any, words: int) -> int:
    """Return how many entities are in a set."""
    number = 0
    for word in range(words):
        if rows[word]:
            number += _bits(rows[word])
    return number


@compiled
def at_least_two(rows: Any, words: int) -> bool:
    """Tell whether a set has at least two entities."""
    some = False
    for word in range(words):
        bits = rows[word]
        if bits:
            if some or bits & (bits - _1):
                return True
            some = True
    return False


@compiled
def lowest(word: Any) -> int:
    """Return the number of the lowest bit that is set."""
    return _bits(~word & (word - _1))


@compiled
def nth(rows: Any, words: int, number: int) -> int:
    """Return an entity of a set by its number from 0, -1 if there are not so many."""
    for word in range(words):
        bits = rows[word]
        inside = _bits(bits)
        if number >= inside:
            number -= inside
            continue
        for _ in range(number):
            bits &= bits - _1
        return 64 * word + lowest(bits)
    return -1
