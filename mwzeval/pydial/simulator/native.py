"""Functions that differ between plain Python and compiled code: random numbers, sets and sums.

`twister.py` has functions with the same names and results for numba, except for `happens`, `choose`
and `which`, which use one of these functions. Compiled code stores a set of
entities as a list of words; in this module, a set has only one word, an integer of any length.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.layout import Dialogue, Rows, Shared

u64 = int


def let_user_answer(t: Shared, d: Dialogue) -> None:
    """Let the simulated user process the last system act and choose a user act."""
    d.answer(t, d)


def random(d: Dialogue) -> float:
    """Return a number in the interval [0, 1)."""
    return d.rng.random()


def happens(d: Dialogue, probability: float) -> bool:
    """Return True with the given probability."""
    return random(d) < probability


def choose(d: Dialogue, number: int) -> int:
    """Return a random index below a number."""
    return int(random(d) * number)


def which(d: Dialogue, first: float, second: float) -> int:
    """Return `FIRST` with probability `first`, `SECOND` with `second`, otherwise `NEITHER`."""
    drawn = random(d)
    if drawn < first:
        return c.FIRST
    return c.SECOND if drawn < first + second else c.NEITHER


def below(d: Dialogue, number: int) -> int:
    """Return an integer below a number, drawn like in `Random.sample`."""
    return d.rng.randrange(number)


def gauss(d: Dialogue, mean: float, deviation: float) -> float:
    """Return a number from a normal distribution."""
    return d.rng.gauss(mean, deviation)


def weighted(d: Dialogue, sums: Any, number: int) -> int:
    """Return a random index, drawn with weights; `sums` are the cumulative sums of the weights."""
    return bisect_right(sums, d.rng.random() * sums[number - 1], 0, number)


def count(rows: Rows) -> int:
    """Return the number of entities in a set."""
    return rows[0].bit_count()


def copy_rows(rows: Rows, copy: Rows) -> None:
    """Copy a set of entities."""
    copy[0] = rows[0]


def narrow(rows: Rows, having: Rows) -> None:
    """Remove from the set `rows` the entities that are not in the set `having`."""
    rows[0] &= having[0]


def drop(rows: Rows, having: Rows) -> None:
    """Remove from the set `rows` the entities that are in the set `having`."""
    rows[0] &= ~having[0]


def at_least_two(rows: Rows) -> bool:
    """Return whether an entity set has at least two entities."""
    return rows[0] & (rows[0] - 1) != 0


def nth(rows: Rows, number: int) -> int:
    """Return the entity at an index of an entity set, or -1 if the set is smaller."""
    bits = rows[0]
    for _ in range(number):
        bits &= bits - 1
    return (bits & -bits).bit_length() - 1


def differ(rows: Rows, alike: Any, slot: int) -> bool:
    """Return whether the entities of a set have different values of a slot."""
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
    """Restore the cached matches for the accepted values; return whether there were any."""
    found = t.matching.get(_accepted(d))
    if found is not None:
        d.rows[0], d.number, d.discriminable, d.matches[:] = found
    return found is not None


def remember(t: Shared, d: Dialogue) -> None:
    """Cache the matching entities for later calls of `recall`."""
    if len(t.matching) >= KEPT:
        t.matching.clear()
    t.matching[_accepted(d)] = d.rows[0], d.number, d.discriminable, d.matches[:]


def _accepted(d: Dialogue) -> tuple[tuple[int, int], ...]:
    return tuple([(slot, d.best[slot]) for slot in d.accepted_slot[: d.count]])


def fill(numbers: Any, number: float) -> None:
    """Set all elements of an array to a number."""
    numbers[:] = [number] * len(numbers)


def put(numbers: Any, at: int, some: Any) -> None:
    """Write numbers into a list, beginning at an index."""
    numbers[at : at + len(some)] = some


def summed(numbers: Any, number: int) -> float:
    """Return the sum of the first `number` numbers."""
    return sum(numbers[:number])


def rounded(number: float) -> float:
    """Return a number between 0 and 1 after rounding to four digits."""
    return round(number, 4)
