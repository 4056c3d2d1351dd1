"""Whether a hotel is said to have parking or internet, by the words beside.

`has free parking`, `parking: no`, `3 stars, parking, wifi` and `✅ Wi-Fi` say so;
`parking needed?`, `if you want parking` and `parking nearby` say nothing of the hotel.
"""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.multiwoz.words.surface_tables import words_of

YES = "yes"
NO = "no"

_TICKS = frozenset("✓✔✅☑")
_CROSSES = frozenset("✗✘❌✖")
_HAS = _TICKS | frozenset(
    words_of("yes y free available included provided complimentary offered possible onsite there")
)
_HAS_NOT = _CROSSES | frozenset(words_of("no none unavailable n"))
_LINKS = frozenset(":-=→|")
_BE = frozenset({"is", "are"})
_ADVERBS = frozenset(words_of("also always both all currently freely"))
_UNTOLD = frozenset(
    words_of(
        """
    a an the clear known listed mentioned specified sure needed required important essential
    necessary guaranteed only just free cheap
    """
    )
)
"""Words after `parking is not` that do not say that there is none."""
_ELSEWHERE = frozenset({"nearby", "elsewhere", "near", "close", "next"})
_INFORMATION = frozenset(words_of("information info details status preference preferences needs"))
_QUALITIES = frozenset(
    words_of(
        """
    free complimentary on site onsite off street - private secure own its their the any fast high
    speed guest guests ample also good reliable gratis unlimited public
    """
    )
)
_FREE = frozenset({"free", "complimentary", "gratis"})
_WITHOUT = frozenset(words_of("no without lacks lack lacking neither nor"))
_HAVING = frozenset(
    words_of(
        """
    has have having offers offer offering includes include includes including provides provide
    providing with comes features feature featuring enjoy enjoys boasts get gets got plus there
    """
    )
)
_NOT = frozenset({"not", "t", "never", "cannot"})
_WISHES = frozenset(
    words_of(
        """
    if need needs needing want wants require requires requiring prefer would like looking whether
    should wanted asked other others another search searching searched must
    """
    )
)
_ASKING = _WISHES | frozenset(
    words_of("you your preferences let know tell confirm criteria about regarding filter options")
)
_CONTRASTS = frozenset(words_of("but however though although while whereas yet"))
_SENTENCE_ENDS = frozenset(".!?;¶|")
_LISTED = frozenset({",", "and", "or", "nor", "&", "+", "/", "·", "•"})
_BEFORE_LISTED = _LISTED | _TICKS | _CROSSES | frozenset("(:-;¶")
_AFTER_LISTED = _LISTED | frozenset(".!;)¶-")
FARTHEST = 14
"""So many words before and behind tell."""


def said_of(words: Sequence[str], index: int, after: int) -> tuple[int, str] | None:
    """Return the token after what is said of an amenity, and yes or no.

    The amenity is said from `index` to `after`. Returns None where that is asked, wished or open.
    """
    later = words[after : after + FARTHEST]
    before = _clause(words[max(0, index - FARTHEST) : index][::-1])
    if "?" in _until(later, ".!¶") or not _INFORMATION.isdisjoint(later[:1]):
        return None
    if not _WISHES.isdisjoint(before):
        return None
    told = _behind(later)
    if told is not None:
        count, answer = told
        if answer == YES and not _ELSEWHERE.isdisjoint(later[count : count + 2]):
            return None
        if answer == YES and _without(before):
            answer = NO
        elif answer == YES and not _DENIED.isdisjoint(before):
            return None
        return after + count, answer
    if not _ELSEWHERE.isdisjoint(later[:1]):
        return None
    said = _before(words, index, before, later)
    return None if said is None else (after, said)


_ANY = frozenset({"any", "either"})
_DENIED = _NOT | _ANY | frozenset({"no", "none", "neither", "nor"})


def _until(words: Sequence[str], ends: str) -> Sequence[str]:
    return next((words[:at] for at, word in enumerate(words) if word in ends), words)


def _clause(backwards: Sequence[str]) -> Sequence[str]:
    """Return words, read backwards, down to the last sign or contrast that begins something."""
    for at, word in enumerate(backwards):
        if word in _SENTENCE_ENDS or word in _CONTRASTS:
            return backwards[:at]
    return backwards


def _behind(later: Sequence[str]) -> tuple[int, str] | None:
    """Return how many words behind an amenity say whether there is any, and what they say."""
    at = 0
    linked = later[:1] and (later[0] in _LINKS or later[0] in _BE)
    if linked:
        at = 1
        while at < len(later) and later[at] in _ADVERBS:
            at += 1
    rest = later[at:]
    if later[:3] in (["isn", "'", "t"], ["aren", "'", "t"]):
        return (4, NO) if _UNTOLD.isdisjoint(later[3:4]) else None
    if not rest:
        return None
    negated = len(rest) > 1 and (rest[0] in _NOT or (linked and list(rest[:3]) == ["n", "'", "t"]))
    if negated:
        return (at + 2, NO) if linked and _UNTOLD.isdisjoint(rest[1:2]) else None
    ended = len(rest) < 2 or not rest[1].isalpha()
    if rest[0] in _HAS_NOT and ((linked and later[0] not in _BE) or ended):
        return at + 1, NO
    if rest[0] in _HAS and (linked or ended or rest[0] in ("available", "included", "provided")):
        return at + 1, YES
    return None


def _without(before: Sequence[str]) -> bool:
    """Tell whether what is said before is `no`, but for words like `free`."""
    at = 0
    while at < len(before) and before[at] in _QUALITIES:
        at += 1
    return at < len(before) and before[at] in _WITHOUT


def _before(
    words: Sequence[str], index: int, before: Sequence[str], later: Sequence[str]
) -> str | None:
    """Return whether there is any by what stands before; None where that is open."""
    if _without(before):
        return NO
    verb = next((at for at, word in enumerate(before) if word in _HAVING), None)
    if verb is not None:
        between, earlier = before[:verb], before[verb + 1 :]
        negated = earlier[:1] and earlier[0] in _NOT
        if negated:
            return NO if (_DENIED - _ANY).isdisjoint(between) else None
        if not _DENIED.isdisjoint(between):
            # Neither `no parking, wifi` nor `not parking` tells more; `no parking or wifi` does.
            joined = between[:1] and between[0] in ("or", "nor")
            return NO if joined and not _WITHOUT.isdisjoint(between) else _if_free(words, index)
        return YES if _DENIED.isdisjoint(earlier) else None
    if not _DENIED.isdisjoint(before):
        return None
    if _if_free(words, index) is not None:
        return YES
    at = 0
    while at < len(before) and before[at] in _QUALITIES:
        at += 1
    sign = before[at] if at < len(before) else words[index - at - 1] if index > at else ""
    if sign in _CROSSES:
        return NO
    listed = sign in _BEFORE_LISTED and (not later or later[0] in _AFTER_LISTED)
    return YES if listed and _ASKING.isdisjoint(before) else None


def _if_free(words: Sequence[str], index: int) -> str | None:
    free = words[index] == "free" or (index > 0 and words[index - 1] in _FREE)
    return YES if free else None
