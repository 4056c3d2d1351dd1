"""Whether a hotel is said to have parking or internet, by the words beside.

`has free parking`, `parking: no`, `3 stars, parking, wifi` and `✅ Wi-Fi` say so;
`parking needed?`, `if you want parking` and `parking nearby` say nothing of the hotel.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import takewhile

from mwzeval.multiwoz.words.vocabulary import WORDS

YES = "yes"
NO = "no"

FARTHEST = 14
"""So many words before and behind tell."""


def has_amenity(said: Sequence[str], index: int, after: int) -> tuple[int, str] | None:
    """Return the token after what is said of an amenity, and yes or no.

    The amenity is said from `index` to `after`. Returns None where that is asked, wished or open.
    """
    later = said[after : after + FARTHEST]
    before = _until(said[max(0, index - FARTHEST) : index][::-1], WORDS["ends of clauses"])
    if "?" in _until(later, ".!¶") or not WORDS["information"].isdisjoint(later[:1]):
        return None
    if not WORDS["wishes"].isdisjoint(before):
        return None
    behind = _behind(later)
    if behind is None:
        if not WORDS["not in hotels"].isdisjoint(later[:1]):
            return None
        answer = _before(said, index, before, later)
        return (after, answer) if answer else None
    count, answer = behind
    if answer == YES:
        if not WORDS["not in hotels"].isdisjoint(later[count : count + 2]):
            return None
        if _is_without(before):
            answer = NO
        elif not WORDS["denied"].isdisjoint(before):
            return None
    return after + count, answer


def _until(said: Sequence[str], ends: Container[str]) -> Sequence[str]:
    return list(takewhile(lambda word: word not in ends, said))


def _behind(later: Sequence[str]) -> tuple[int, str] | None:
    """Return how many words behind an amenity say whether there is any, and what they say."""
    if later[:3] in (["isn", "'", "t"], ["aren", "'", "t"]):
        return (4, NO) if WORDS["open"].isdisjoint(later[3:4]) else None
    link = later[0] if later and later[0] in WORDS["links to amenities"] else ""
    at = 0
    if link:
        at = 1 + len(list(takewhile(WORDS["adverbs"].__contains__, later[1:])))
    rest = list(later[at : at + 3])
    if not rest:
        return None
    if len(rest) > 1 and (rest[0] in WORDS["not"] or (link and rest == ["n", "'", "t"])):
        return (at + 2, NO) if link and WORDS["open"].isdisjoint(rest[1:2]) else None
    ended = len(rest) < 2 or not rest[1].isalpha()
    if rest[0] in WORDS["has not"] and (ended or (link and link not in ("is", "are"))):
        return at + 1, NO
    if rest[0] in WORDS["has"] and (
        ended or link or rest[0] in ("available", "included", "provided")
    ):
        return at + 1, YES
    return None


def _count_qualities(before: Sequence[str]) -> int:
    return len(list(takewhile(WORDS["qualities"].__contains__, before)))


def _is_without(before: Sequence[str]) -> bool:
    """Tell whether `no` stands before, but for words like `free`."""
    at = _count_qualities(before)
    return not WORDS["without"].isdisjoint(before[at : at + 1])


def _before(
    said: Sequence[str], index: int, before: Sequence[str], later: Sequence[str]
) -> str | None:
    """Return whether there is any by what stands before; None where that is open."""
    if _is_without(before):
        return NO
    is_free = said[index] == "free" or (
        index > 0 and said[index - 1] in ("free", "complimentary", "gratis")
    )
    verb = next((at for at, word in enumerate(before) if word in WORDS["having"]), None)
    if verb is not None:
        between, earlier = before[:verb], before[verb + 1 :]
        if not WORDS["not"].isdisjoint(earlier[:1]):
            return NO if WORDS["none"].isdisjoint(between) else None
        if WORDS["denied"].isdisjoint(between):
            return YES if WORDS["denied"].isdisjoint(earlier) else None
        # Neither `no parking, wifi` nor `not parking` tells more; `no parking or wifi` does.
        if between[0] in ("or", "nor") and not WORDS["without"].isdisjoint(between):
            return NO
        return YES if is_free else None
    if not WORDS["denied"].isdisjoint(before):
        return None
    if is_free:
        return YES
    at = _count_qualities(before)
    sign = before[at] if at < len(before) else said[index - at - 1] if index > at else ""
    if sign in WORDS["crosses"]:
        return NO
    listed = sign in WORDS["before listed"] and (not later or later[0] in WORDS["behind listed"])
    return YES if listed and WORDS["asking"].isdisjoint(before) else None
