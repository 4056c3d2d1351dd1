"""Whether a word that may be a value is one here: `a hotel` or `the hotel`, `free entry` or not."""

from __future__ import annotations

from mwzeval.multiwoz.words.gazetteer import Meaning
from mwzeval.multiwoz.words.surface_tables import words_of
from mwzeval.multiwoz.words.text import Tokens

FREE_OF_OTHERS = frozenset(
    words_of(
        """
    parking wifi internet wireless wi fi school lane feel time night breakfast
    """
    )
)
Accepted = tuple[int, tuple[Meaning, ...]]

NOT_BEFORE_TYPES = frozenset(
    words_of(
        """
    the this that your their its which each either what my our type guesthouse another these
    those house lodge
    """
    )
)
NOT_AFTER_TYPES = frozenset({"name", "type", "room", "rooms", "booking", "reservation"})


def accepted(
    tokens: Tokens, index: int, after: int, meanings: tuple[Meaning, ...]
) -> Accepted | None:
    """Return the end and meanings of a value as they are here; None if it is no value here."""
    words = tokens.words
    slot = meanings[0][0]
    if slot in ("name", "short", "address"):
        return after, meanings
    before = words[index - 1] if index else ""
    following = words[after] if after < len(words) else ""
    if slot == "area":
        return _area(words, index, after, before, following, meanings)
    if slot == "free":
        if following in FREE_OF_OTHERS or before in ("feel", "has", "have", "offers", "offer"):
            return (after, meanings) if following in ("admission", "entrance", "entry") else None
        return after, meanings
    if slot == "type":
        if before in NOT_BEFORE_TYPES or following in NOT_AFTER_TYPES:
            return None
        return after, meanings
    if slot == "pricerange" and before == "how":
        return None
    if slot == "place":
        return _place(words, index, after, before, following, meanings)
    return after, meanings


def _area(
    words: list[str],
    index: int,
    after: int,
    before: str,
    following: str,
    meanings: tuple[Meaning, ...],
) -> Accepted | None:
    if before == "towninfo" or following in ("road", "street", "end", "american", "indian"):
        return None
    rest = words[after : after + 4]
    for phrase in AREA_PHRASES:
        if rest[: len(phrase)] == phrase:
            return after + len(phrase), meanings
    return after, meanings


AREA_PHRASES = [
    phrase.split()
    for phrase in (
        "of the city",
        "of the town",
        "of cambridge",
        "of town",
        "side of town",
        "side of the city",
        "side of cambridge",
        "side",
        "part of town",
        "part of the city",
        "part of cambridge",
        "end of town",
        "end",
    )
]
"""What belongs to an area that it follows, the longer before the shorter."""

VISITS = frozenset({"visit", "stay", "trip", "welcome", "time", "travels", "holiday"})
PLACE_BEFORE = frozenset(
    words_of(
        """
    from to leaves leaving departs departing depart leave for arrives arriving via into out
    reach reaches
    """
    )
)


def _place(
    words: list[str],
    index: int,
    after: int,
    before: str,
    following: str,
    meanings: tuple[Meaning, ...],
) -> Accepted | None:
    if words[index] != "cambridge" or after > index + 1:
        return after, meanings
    if before == "to" and index > 1 and words[index - 2] in VISITS:
        return None
    if before in PLACE_BEFORE or following in ("at", "by", "to"):
        return after, meanings
    if before in ("in", "at") and index > 1 and words[index - 2][:5] in ("arriv", "arive"):
        return after, meanings
    return None
