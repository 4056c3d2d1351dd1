"""Whether two texts are nearly the same, by exactly the ratio that the published scores rely on."""

from __future__ import annotations

from functools import lru_cache

from mwzeval.errors import DependencyError

try:
    # fuzzywuzzy falls back on difflib in silence, and difflib gives other ratios.
    import Levenshtein  # noqa: F401
except ImportError:
    raise DependencyError(
        "python-Levenshtein is not installed: without it fuzzywuzzy computes other ratios, and the "
        "scores would not be comparable — pip install python-Levenshtein"
    ) from None

from fuzzywuzzy import fuzz
from fuzzywuzzy.StringMatcher import StringMatcher

if fuzz.SequenceMatcher is not StringMatcher:
    raise DependencyError(
        "fuzzywuzzy was imported before python-Levenshtein was there: restart the program"
    )


@lru_cache(maxsize=2**16)
def partial_ratio(first: str, second: str) -> int:
    """Return fuzzywuzzy's `partial_ratio`, 0 to 100: how well the shorter fits into the longer."""
    return int(fuzz.partial_ratio(first, second))
