"""How many examples hypothesis tries: all of them in `make test-all`, a quarter in `make test`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
QUICK = 25


def examples(number: int) -> settings:
    """Return settings with this number of examples, or with its share of them."""
    return settings(max_examples=number * settings().max_examples // USUAL)
