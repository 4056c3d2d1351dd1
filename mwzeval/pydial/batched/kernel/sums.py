"""Sums and rounding as Python does them."""

from __future__ import annotations

import sys
from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.dialogue.error_model import DIGITS

_COMPENSATED = sys.version_info >= (3, 12)
"""Since this version `sum` of floats carries what is lost (Neumaier)."""
_SCALE = float(10**DIGITS)
_SPLIT = 134217729.0  # 2**27 + 1: halves a significand


@compiled
def summed(numbers: Any, count: int) -> float:
    """Return `sum` of the first numbers."""
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


@compiled
def rounded(number: float) -> float:
    """Return `round(number, DIGITS)` of a number between 0 and 1, which is exact in Python."""
    product = number * _SCALE
    # What the product lacks (Dekker), for numbers that are next to the middle between two results.
    high = number * _SPLIT
    high = high - (high - number)
    lacking = (high * _SCALE - product) + (number - high) * _SCALE
    whole = float(int(product))
    beyond = (product - whole) - 0.5
    if beyond + lacking > 0.0 or (beyond + lacking == 0.0 and int(product) % 2 == 1):
        whole += 1.0
    return whole / _SCALE
