"""Whether a hotel is said to have parking or internet, by the words beside.

`has free parking`, `parking: no`, `3 stars, parking, wifi` and `✅ Wi-Fi` say so;
`parking needed?`, `if you want parking` and `parking nearby` say nothing of the hotel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from mwzeval.multiwoz.words.vocabulary import word_set

YES = "yes"
NO = "no"

_TICKS, _CROSSES = frozenset("✓✔✅☑"), frozenset("✗✘❌✖")
_HAS, _HAS_NOT = _TICKS | word_set("has"), _CROSSES | word_set("has not")
_HAS_BY_ITSELF = frozenset({"available", "included", "provided"})
_BE = frozenset({"is", "are"})
_LINKS = frozenset(":-=→|") | _BE
_ADVERBS, _OPEN, _QUALITIES = word_set("adverbs"), word_set("open"), word_set("qualities")
_ELSEWHERE = frozenset({"nearby", "elsewhere", "near", "close", "next"})
_INFORMATION, _CONTRASTS = word_set("information"), word_set("contrasts")
_FREE = frozenset({"free", "complimentary", "gratis"})
_HAVING, _WITHOUT = word_set("having"), word_set("without")
_NOT = frozenset({"not", "t", "never", "cannot"})
_NONE = _NOT | {"no", "none", "neither", "nor"}
_DENIED = _NONE | {"any", "either"}
_WISHES = word_set("wishes")
_ASKING = _WISHES | word_set("asking")
_CLAUSE_ENDS = _CONTRASTS | frozenset(".!?;¶|")
_LISTED = frozenset({",", "and", "or", "nor", "&", "+", "/", "·", "•"})
_BEFORE_LISTED = _LISTED | _TICKS | _CROSSES | frozenset("(:-;¶")
_AFTER_LISTED = _LISTED | frozenset(".!;)¶-")
FARTHEST = 14
"""So many words before and behind tell."""


def has_amenity(said: Sequence[str], index: int, after: int) -> tuple[int, str] | None:
    """Return the token after what is said of an amenity, and yes or no.

    The amenity is said from `index` to `after`. Returns None where that is asked, wished or open.
    """
    later = said[after : after + FARTHEST]
    before = _until(said[max(0, index - FARTHEST) : index][::-1], _CLAUSE_ENDS)
    if "?" in _until(later, frozenset(".!¶")) or not _INFORMATION.isdisjoint(later[:1]):
        return None
    if not _WISHES.isdisjoint(before):
        return None
    behind = _behind(later)
    if behind is None:
        if not _ELSEWHERE.isdisjoint(later[:1]):
            return None
        answer = _before(said, index, before, later)
        return (after, answer) if answer else None
    count, answer = behind
    if answer == YES:
        if not _ELSEWHERE.isdisjoint(later[count : count + 2]):
            return None
        if _is_without(before):
            answer = NO
        elif not _DENIED.isdisjoint(before):
            return None
    return after + count, answer


def _until(said: Sequence[str], ends: frozenset[str]) -> Sequence[str]:
    return list(takewhile(lambda word: word not in ends, said))


def _behind(later: Sequence[str]) -> tuple[int, str] | None:
    """Return how many words behind an amenity say whether there is any, and what they say."""
    if later[:3] in (["isn", "'", "t"], ["aren", "'", "t"]):
        return (4, NO) if _OPEN.isdisjoint(later[3:4]) else None
    link = later[0] if later and later[0] in _LINKS else ""
    at = 0
    if link:
        at = 1 + len(list(takewhile(_ADVERBS.__contains__, later[1:])))
    rest = list(later[at : at + 3])
    if not rest:
        return None
    if len(rest) > 1 and (rest[0] in _NOT or (link and rest == ["n", "'", "t"])):
        return (at + 2, NO) if link and _OPEN.isdisjoint(rest[1:2]) else None
    ended = len(rest) < 2 or not rest[1].isalpha()
    if rest[0] in _HAS_NOT and (ended or (link and link not in _BE)):
        return at + 1, NO
    if rest[0] in _HAS and (ended or link or rest[0] in _HAS_BY_ITSELF):
        return at + 1, YES
    return None


def _count_qualities(before: Sequence[str]) -> int:
    return len(list(takewhile(_QUALITIES.__contains__, before)))


def _is_without(before: Sequence[str]) -> bool:
    """Tell whether `no` stands before, but for words like `free`."""
    at = _count_qualities(before)
    return not _WITHOUT.isdisjoint(before[at : at + 1])


def _before(
    said: Sequence[str], index: int, before: Sequence[str], later: Sequence[str]
) -> str | None:
    """Return whether there is any by what stands before; None where that is open."""
    if _is_without(before):
        return NO
    is_free = said[index] == "free" or (index > 0 and said[index - 1] in _FREE)
    verb = next((at for at, word in enumerate(before) if word in _HAVING), None)
    if verb is not None:
        between, earlier = before[:verb], before[verb + 1 :]
        if not _NOT.isdisjoint(earlier[:1]):
            return NO if _NONE.isdisjoint(between) else None
        if _DENIED.isdisjoint(between):
            return YES if _DENIED.isdisjoint(earlier) else None
        # Neither `no parking, wifi` nor `not parking` tells more; `no parking or wifi` does.
        if between[0] in ("or", "nor") and not _WITHOUT.isdisjoint(between):
            return NO
        return YES if is_free else None
    if not _DENIED.isdisjoint(before):
        return None
    if is_free:
        return YES
    at = _count_qualities(before)
    sign = before[at] if at < len(before) else said[index - at - 1] if index > at else ""
    if sign in _CROSSES:
        return NO
    listed = sign in _BEFORE_LISTED and (not later or later[0] in _AFTER_LISTED)
    return YES if listed and _ASKING.isdisjoint(before) else None
