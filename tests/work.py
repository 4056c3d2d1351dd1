"""Measure work by counting function calls, which does not depend on the machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls(action: Callable[[], object]) -> int:
    """Return the number of calls of Python and C functions by an action in this thread."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # finalizers of objects from earlier tests would be counted
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count
