"""Progress bars on standard error: on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

VARIABLE = "MWZEVAL_PROGRESS"
DELAY = 1.0
"""Seconds until a bar appears."""
Item = TypeVar("Item")


def is_shown() -> bool:
    """Return whether progress bars are shown; `MWZEVAL_PROGRESS=0` turns them off."""
    is_terminal = (
        sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    )
    return is_terminal and os.environ.get(VARIABLE) != "0"


@contextmanager
def counting(total: int, units: str, *, shown: bool = True) -> Iterator[Callable[[int], object]]:
    """Show a progress bar within a `with` block; yield the function that advances it by `n`."""
    if not (shown and is_shown()):
        yield lambda n: None
        return
    from tqdm import tqdm  # not before it is needed: importing it takes as long as a small file

    # A monitor thread would be copied to worker processes.
    tqdm.monitor_interval = 0
    look = {"leave": False, "dynamic_ncols": True, "miniters": 1, "unit_scale": units == "B"}
    with tqdm(total=total, unit=f" {units}", delay=DELAY, **look) as bar:
        yield bar.update


def followed(items: Collection[Item], units: str, *, shown: bool = True) -> Iterator[Item]:
    """Yield the items and count them in a progress bar."""
    with counting(len(items), units, shown=shown) as update:
        for item in items:
            yield item
            update(1)
