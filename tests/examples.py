"""The number of hypothesis examples: 10 in `make test`, 60 in `make test-all`."""

from __future__ import annotations

from hypothesis import settings

QUICK = 10
THOROUGH = 60


def examples(number: int) -> settings:
    """Return settings with this number of examples, reduced in proportion in `make test`."""
    return settings(max_examples=max(1, number * settings().max_examples // THOROUGH))
