"""In which order slots are gone through where nothing else decides: ties, items of an act.

The published figures come from Python 2, whose dictionaries go by hash. The order is the same in
every run, so it is part of the benchmark: of equally probable slots it says which is counted first.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

Slots = tuple[str, ...]
_ALL_BITS = 2**64 - 1
_SMALLEST = 8


def alphabetical(slots: Slots) -> Slots:
    """Return the slots from a to z."""
    return tuple(sorted(slots))


@lru_cache(2**14)
def by_legacy_hash(slots: Slots) -> Slots:
    """Return the slots as a Python 2 dictionary lists them that they were put in alphabetically."""
    return _dictionary_order(sorted(slots))


@lru_cache(2**14)
def after_name(slots: Slots, name: str) -> Slots:
    """Return the name and the slots as the Python 2 dictionary of an offer lists them."""
    return _dictionary_order((name, *slots))


def _dictionary_order(keys: Iterable[str]) -> Slots:
    """Return distinct keys in the order of a 64-bit Python 2 dictionary that they are put in."""
    table: list[str | None] = [None] * _SMALLEST
    for used, key in enumerate(keys, start=1):
        _put(key, table)
        if used * 3 >= len(table) * 2:
            size = _SMALLEST
            while size <= used * 4:
                size *= 2
            old, table = table, [None] * size
            for present in old:
                if present is not None:
                    _put(present, table)
    return tuple(key for key in table if key is not None)


def _put(key: str, table: list[str | None]) -> None:
    place = perturbed = _hash(key)
    size = len(table)
    while table[place % size] is not None:
        place = (5 * place + perturbed + 1) & _ALL_BITS
        perturbed >>= 5
    table[place % size] = key


def _hash(text: str) -> int:
    hashed = ord(text[0]) << 7
    for character in text:
        hashed = ((1000003 * hashed) & _ALL_BITS) ^ ord(character)
    return hashed ^ len(text)
