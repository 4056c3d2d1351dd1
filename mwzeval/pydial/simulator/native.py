"""What plain Python and compiled code do differently: chance, sets of entities, sums.

`twister.py` has functions of the same names and results for numba. A set of entities is a list of
words; here one word, an integer of any length, has them all.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.layout import Dialogue, Rows, Shared

u64 = int


def let_user_answer(t: Shared, d: Dialogue) -> None:
    """Let the user hear what the system says now, and say something."""
    d.answer(t, d)


def random(d: Dialogue) -> float:
    """Return a number from 0 up to, but without, 1."""
    return d.rng.random()


def happens(d: Dialogue, probability: float) -> bool:
    """Return True with the given probability."""
    return d.rng.random() < probability


def choose(d: Dialogue, number: int) -> int:
    """Return the index of one of so many members."""
    return int(d.rng.random() * number)


def which(d: Dialogue, first: float, second: float) -> int:
    """Return `FIRST` and `SECOND` with these probabilities, `NEITHER` otherwise."""
    drawn = d.rng.random()
    if drawn < first:
        return c.FIRST
    return c.SECOND if drawn < first + second else c.NEITHER


def below(d: Dialogue, number: int) -> int:
    """Return an integer below a number, as `Random.sample` draws it."""
    return d.rng.randrange(number)


def gauss(d: Dialogue, mean: float, deviation: float) -> float:
    """Return a number from a normal distribution."""
    return d.rng.gauss(mean, deviation)


def weighted(d: Dialogue, sums: Any, number: int) -> int:
    """Return an index, drawn by weights of which the cumulative sums are given."""
    return bisect_right(sums, d.rng.random() * sums[number - 1], 0, number)


def count(rows: Rows) -> int:
    """Return how many entities are in a set."""
    return rows[0].bit_count()


def copy_rows(rows: Rows, copy: Rows) -> None:
    """Make a set of entities the same as another."""
    copy[0] = rows[0]


def narrow(rows: Rows, having: Rows) -> None:
    """Keep those entities of a set that are in another, too."""
    rows[0] &= having[0]


def drop(rows: Rows, having: Rows) -> None:
    """Keep those entities of a set that are not in another."""
    rows[0] &= ~having[0]


def at_least_two(rows: Rows) -> bool:
    """Return whether a set has at least two entities."""
    return rows[0] & (rows[0] - 1) != 0


def nth(rows: Rows, number: int) -> int:
    """Return an entity of a set by its number from 0, -1 if there are not so many."""
    bits = rows[0]
    for _ in range(number):
        bits &= bits - 1
    return (bits & -bits).bit_length() - 1


def differ(rows: Rows, alike: Any, slot: int) -> bool:
    """Return whether entities of a set have different values of a slot."""
    bits, first = rows[0], -1
    while bits:
        value = alike[(bits & -bits).bit_length() - 1][slot]
        if first < 0:
            first = value
        elif value != first:
            return True
        bits &= bits - 1
    return False


KEPT = 2**14


def recall(t: Shared, d: Dialogue) -> bool:
    """Put what matches in place if that was found before for the same values."""
    found = t.matching.get(_accepted(d))
    if found is not None:
        d.rows[0], d.number, d.discriminable, d.matches[:] = found
    return found is not None


def remember(t: Shared, d: Dialogue) -> None:
    """Keep what matches, for `recall`."""
    if len(t.matching) >= KEPT:
        t.matching.clear()
    t.matching[_accepted(d)] = d.rows[0], d.number, d.discriminable, d.matches[:]


def _accepted(d: Dialogue) -> tuple[tuple[int, int], ...]:
    return tuple([(slot, d.best[slot]) for slot in d.accepted_slot[: d.count]])


def fill(numbers: Any, number: float) -> None:
    """Set all numbers to one."""
    numbers[:] = [number] * len(numbers)


def put(numbers: Any, at: int, some: Any) -> None:
    """Write some numbers into others, from a place on."""
    numbers[at : at + len(some)] = some


def summed(numbers: Any, number: int) -> float:
    """Return the sum of the first numbers."""
    return sum(numbers[:number])


def rounded(number: float) -> float:
    """Return a number between 0 and 1 with four digits."""
    return round(number, 4)
