"""How long something takes, as far as a test may ask."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time


def fastest(action: Callable[[], object], *, runs: int = 3) -> float:
    """Return the processor seconds of the fastest run, of this thread alone.

    The collector of garbage rests meanwhile: it walks over what all tests before have left, which
    is not what is measured.
    """
    took = []
    for _ in range(runs):
        gc.disable()
        try:
            start = thread_time()
            action()
            took.append(thread_time() - start)
        finally:
            gc.enable()
    return min(took)
