"""Ids of candidates as the track has them, all different, from a running number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.reading.tracks import Dataset

LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", dtype=np.uint8)
UBUNTU_LENGTH = 12
ADVISING_MODULUS = 999_999_937
"""A prime, so that multiplying by anything below it permutes the numbers below it."""

ADVISING_STEP = 618_033_988
UBUNTU_MODULUS = 2**61 - 1
UBUNTU_STEP = 1_141_592_653_589_793


def identities(dataset: Dataset, start: int, count: int) -> list[str] | list[int]:
    """Return so many ids from number `start` on; Ubuntu has text, Advising integers below 10⁹."""
    if dataset == "advising":
        numbers = range(start + 1, start + count + 1)
        return [number * ADVISING_STEP % ADVISING_MODULUS for number in numbers]
    scrambled = [
        number * UBUNTU_STEP % UBUNTU_MODULUS for number in range(start + 1, start + count + 1)
    ]
    digits = _digits(np.array(scrambled, dtype=np.uint64))
    text = LETTERS[digits].tobytes().decode("ascii")
    return [text[i : i + UBUNTU_LENGTH] for i in range(0, len(text), UBUNTU_LENGTH)]


def _digits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    powers = np.uint64(36) ** np.arange(UBUNTU_LENGTH, dtype=np.uint64)
    digits: NDArray[np.uint64] = (numbers[:, np.newaxis] // powers) % np.uint64(36)
    return digits
