"""Random numbers of dialogues, drawn from Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from mwzeval.pydial.batched.compiled import entry, sources_digest
from mwzeval.pydial.batched.kernel.rng import random


@cache
def random_function() -> Callable[[Any, int], float]:
    """Return the compiled function that draws the next random number of a dialogue."""
    digest = sources_digest()

    def draw(dialogues: Any, place: int) -> float:
        len(digest)
        return random(dialogues[place])

    return entry(draw)
