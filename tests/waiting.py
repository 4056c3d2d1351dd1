"""Wait for another process, with a time limit that allows for a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

HANGING = 600.0
"""Seconds."""


def wait_until(what: str, done: Callable[[], bool]) -> None:
    """Return as soon as a condition holds. Raises `TimeoutError`, which names the condition."""
    deadline = time.monotonic() + HANGING
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)
