"""The words of an utterance, as all baselines see them."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the lower-case runs of letters, digits and underscores, in order."""
    return _WORD.findall(text.lower())
