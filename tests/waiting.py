"""Waiting for another process. What takes longer than this hangs, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

HANGING = 600.0
"""Seconds."""


def wait_until(what: str, done: Callable[[], bool]) -> None:
    """Return as soon as something is done; raises `TimeoutError` that says what never was."""
    deadline = time.monotonic() + HANGING
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)
