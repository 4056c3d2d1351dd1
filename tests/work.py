"""How much work something takes, counted: the same on any machine, however busy it is."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls(action: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, an action calls in this thread."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # what it throws away calls functions, too, which are of the tests before
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count
