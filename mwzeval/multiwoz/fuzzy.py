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


def reaches(first: str, second: str, threshold: int) -> bool:
    """Tell whether `partial_ratio` is at least `threshold`, mostly without computing it.

    The ratio is at best 2·m / (s + w), of m characters matched in order between the shorter text
    (length s) and a window of the longer one (length w ≥ m). With m at most the number c of
    characters that both texts have at all, it cannot exceed 2·c / (s + c).
    """
    shorter, longer = (first, second) if len(first) <= len(second) else (second, first)
    common = sum(min(shorter.count(char), longer.count(char)) for char in set(shorter))
    # Half a percent less, because the ratio is rounded, and a little more for float errors.
    if 200 * common < (threshold - 0.501) * (len(shorter) + common):
        return False
    return partial_ratio(first, second) >= threshold
