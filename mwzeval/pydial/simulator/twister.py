"""Functions with the same results as `native.py`, for numba: Python's random generator, 64-bit
words, and sums.

Each dialogue has a Mersenne Twister, seeded from a NumPy generator (PCG64), with the same bits as
Python's generator. Sources: Matsumoto & Nishimura (1998), O'Neill (2014).
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.simulator.user import answer

u64 = np.uint64
let_user_answer = answer
WORDS, MIDDLE = 624, 397
_INITIAL_SEED, _FIRST_FACTOR, _SECOND_FACTOR = 19650218, 1664525, 1566083941


def _initial_words() -> NDArray[np.uint32]:
    """Return the initial words of the seeding algorithm."""
    words = [_INITIAL_SEED]
    for index in range(1, WORDS):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + index) & 0xFFFFFFFF)
    return np.array(words, dtype=np.uint32)


_INITIAL = _initial_words()
_LOW32 = np.uint64(0xFFFFFFFF)
_HIGHEST_BIT, _LOWER_BITS = np.uint64(0x80000000), np.uint64(0x7FFFFFFF)
_TWIST = np.uint64(0x9908B0DF)
_B, _C = np.uint64(0x9D2C5680), np.uint64(0xEFC60000)
_0, _1, _7, _11, _15, _18, _30, _32 = (np.uint64(n) for n in (0, 1, 7, 11, 15, 18, 30, 32))
_58, _63, _64 = (np.uint64(n) for n in (58, 63, 64))
_FACTOR1, _FACTOR2 = np.uint64(_FIRST_FACTOR), np.uint64(_SECOND_FACTOR)
_PCG_HIGH, _PCG_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_TO_UNIT = 1.0 / 9007199254740992.0


def seed_twister(d: Any, seed: Any) -> None:
    """Seed the dialogue's generator with 63 bits, like `Random(seed)`."""
    words = d.twister
    words[:] = _INITIAL
    low, high = seed & _LOW32, seed >> _32
    keys = 2 if high else 1
    at, key = 1, 0
    before = np.uint64(words[0])
    for _ in range(WORDS):
        add = high + _1 if key else low
        mixed = (np.uint64(words[at]) ^ ((before ^ before >> _30) * _FACTOR1)) + add
        before = mixed & _LOW32
        words[at] = before
        at += 1
        key = key + 1 if key + 1 < keys else 0
        if at >= WORDS:
            words[0] = before
            at = 1
    for _ in range(WORDS - 1):
        mixed = (np.uint64(words[at]) ^ ((before ^ before >> _30) * _FACTOR2)) - np.uint64(at)
        before = mixed & _LOW32
        words[at] = before
        at += 1
        if at >= WORDS:
            words[0] = before
            at = 1
    words[0] = _HIGHEST_BIT
    d.twister_at = WORDS
    d.has_normal = False


def _twisted(high: Any, low: Any, far: Any) -> Any:
    y = (np.uint64(high) & _HIGHEST_BIT) | (np.uint64(low) & _LOWER_BITS)
    return np.uint64(far) ^ (y >> _1) ^ (_TWIST if y & _1 else _0)


def _twist(words: Any) -> None:
    for i in range(WORDS - MIDDLE):
        words[i] = _twisted(words[i], words[i + 1], words[i + MIDDLE])
    for i in range(WORDS - MIDDLE, WORDS - 1):
        words[i] = _twisted(words[i], words[i + 1], words[i + MIDDLE - WORDS])
    words[WORDS - 1] = _twisted(words[WORDS - 1], words[0], words[MIDDLE - 1])


def _word(d: Any) -> Any:
    """Return the next 32 bits."""
    at = d.twister_at
    if at >= WORDS:
        _twist(d.twister)
        at = 0
    y = np.uint64(d.twister[at])
    d.twister_at = at + 1
    y ^= y >> _11
    y ^= (y << _7) & _B
    y ^= (y << _15) & _C
    return y ^ y >> _18


def random(d: Any) -> float:
    """Return a number in the interval [0, 1)."""
    high = _word(d) >> np.uint64(5)
    low = _word(d) >> np.uint64(6)
    return (float(high) * 67108864.0 + float(low)) * _TO_UNIT


def below(d: Any, number: int) -> int:
    """Return an integer below a number, drawn like in `Random.sample`."""
    bits = 0
    while number >> bits:
        bits += 1
    shift = np.uint64(32 - bits)
    drawn = np.int64(_word(d) >> shift)
    while drawn >= number:
        drawn = np.int64(_word(d) >> shift)
    return drawn


def gauss(d: Any, mean: float, deviation: float) -> float:
    """Return a number from a normal distribution."""
    if d.has_normal:
        d.has_normal = False
        return mean + d.normal * deviation
    angle = random(d) * (2.0 * math.pi)
    radius = math.sqrt(-2.0 * math.log(1.0 - random(d)))
    d.normal = math.sin(angle) * radius
    d.has_normal = True
    return mean + math.cos(angle) * radius * deviation


def weighted(d: Any, sums: Any, number: int) -> int:
    """Return a random index, drawn with weights; `sums` are the cumulative sums of the weights."""
    drawn = random(d) * sums[number - 1]
    at = 0
    while at < number and sums[at] <= drawn:
        at += 1
    return at


def _high_product(a: Any, b: Any) -> Any:
    """Return the upper 64 bits of a 128-bit product."""
    a_low, a_high, b_low, b_high = a & _LOW32, a >> _32, b & _LOW32, b >> _32
    middle = a_high * b_low + (a_low * b_low >> _32)
    carried = a_low * b_high + (middle & _LOW32)
    return a_high * b_high + (middle >> _32) + (carried >> _32)


def next_seed(d: Any) -> Any:
    """Return the next result of `integers(2**63)` of a dialogue's NumPy generator."""
    state = d.seeder
    high, low = state[0], state[1]
    product = low * _PCG_LOW
    high = _high_product(low, _PCG_LOW) + high * _PCG_LOW + low * _PCG_HIGH
    low = product + state[3]
    high = high + state[2] + (_1 if low < product else _0)
    state[0], state[1] = high, low
    mixed, turn = high ^ low, high >> _58
    return (mixed >> turn | mixed << (_64 - turn & _63)) >> _1


_2, _4, _56 = np.uint64(2), np.uint64(4), np.uint64(56)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


def _bits(word: Any) -> int:
    word -= word >> _1 & _PAIRS
    word = (word & _FOURS) + (word >> _2 & _FOURS)
    word = word + (word >> _4) & _EIGHTS
    return np.int64(word * _ONES >> _56)


def count(rows: Any) -> int:
    """Return the number of entities in a bit set."""
    number = 0
    for word in range(len(rows)):
        if rows[word]:
            number += _bits(rows[word])
    return number


def copy_rows(rows: Any, copy: Any) -> None:
    """Copy the entities of one set to another set."""
    for word in range(len(rows)):
        copy[word] = rows[word]


def narrow(rows: Any, having: Any) -> None:
    """Remove from the set `rows` the entities that are not in the set `having`."""
    for word in range(len(rows)):
        rows[word] &= having[word]


def drop(rows: Any, having: Any) -> None:
    """Remove from the set `rows` the entities that are in the set `having`."""
    for word in range(len(rows)):
        rows[word] &= ~having[word]


def at_least_two(rows: Any) -> bool:
    """Return whether an entity set has at least two entities."""
    some = False
    for word in range(len(rows)):
        bits = rows[word]
        if bits:
            if some or bits & (bits - _1):
                return True
            some = True
    return False


def _lowest(word: Any) -> int:
    """Return the index of the lowest set bit."""
    return _bits(~word & (word - _1))


def nth(rows: Any, number: int) -> int:
    """Return the entity at an index of an entity set, or -1 if the set is smaller."""
    for word in range(len(rows)):
        bits = rows[word]
        inside = _bits(bits)
        if number >= inside:
            number -= inside
            continue
        for _ in range(number):
            bits &= bits - _1
        return 64 * word + _lowest(bits)
    return -1


def differ(rows: Any, alike: Any, slot: int) -> bool:
    """Return whether the entities of a set have different values of a slot."""
    first = -1
    for word in range(len(rows)):
        bits = rows[word]
        while bits:
            value = alike[64 * word + _lowest(bits)][slot]
            if first < 0:
                first = value
            elif value != first:
                return True
            bits &= bits - _1
    return False


def recall(t: Any, d: Any) -> bool:
    """Return False, because there is no cache in compiled code, which would not be faster."""
    return False


def remember(t: Any, d: Any) -> None:
    """Do nothing, because compiled code has no cache of matches."""


def fill(numbers: Any, number: float) -> None:
    """Set all elements of an array to a number."""
    numbers[:] = number


def put(numbers: Any, at: int, some: Any) -> None:
    """Write numbers into an array, beginning at an index."""
    for index in range(len(some)):
        numbers[at + index] = some[index]


_COMPENSATED = sys.version_info >= (3, 12)
"""Since Python 3.12, `sum` of floats compensates rounding errors (Neumaier)."""
_SCALE = float(10**4)
_SPLIT = 134217729.0  # 2**27 + 1: splits a significand into halves


def summed(numbers: Any, count: int) -> float:
    """Return the sum of the first `count` numbers, computed like Python's `sum`."""
    total, lost = 0.0, 0.0
    for index in range(count):
        number = numbers[index]
        added = total + number
        if _COMPENSATED:
            if abs(total) >= abs(number):
                lost += (total - added) + number
            else:
                lost += (number - added) + total
        total = added
    return total + lost


def rounded(number: float) -> float:
    """Return a number between 0 and 1 rounded to four digits, exactly as by Python's `round`."""
    product = number * _SCALE
    # Near the middle between two results, the rounding error of the product (Dekker) decides.
    high = number * _SPLIT
    high = high - (high - number)
    lacking = (high * _SCALE - product) + (number - high) * _SCALE
    whole = float(int(product))
    beyond = (product - whole) - 0.5
    if beyond + lacking > 0.0 or (beyond + lacking == 0.0 and int(product) % 2 == 1):
        whole += 1.0
    return whole / _SCALE
