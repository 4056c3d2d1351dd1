"""What an unclear word means, told by the words beside it.

A number is a price, a time, how many people, how many choices, …; a word that may be a value is one
or is not: `a hotel` or `the hotel`, `free entry` or not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mwzeval.multiwoz.words.gazetteer import Meaning
from mwzeval.multiwoz.words.surface_tables import words_of
from mwzeval.multiwoz.words.text import NUMERIC, WORD, Tokens

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


MONEY = frozenset(
    words_of(
        """
    pound pounds gbp euro euros quid dollars £ pence
    """
    )
)
CURRENCY_SIGNS = frozenset("£€$")
MINUTES = frozenset(
    words_of(
        """
    minute minutes min mins hour hours hrs hr
    """
    )
)
STARS = frozenset({"star", "stars", "starred"})
PEOPLE = frozenset(
    words_of(
        """
    people person persons guest guests adult adults diners diner individuals friends tickets
    ticket seats seat passengers travelers travellers
    """
    )
)
STAY = frozenset({"night", "nights", "days", "day"})
CHOICES = frozenset(
    words_of(
        """
    hotel hotels restaurant restaurants guesthouse guesthouses place places option options
    train trains choice choices attraction attractions museum museums college colleges park
    parks theatre theatres nightclub nightclubs church churches cinema cinemas swimming pool
    pools swimmingpool swimmingpools results result matches listings listing possibilities
    locations location venues entries different such more entertainment boat boats boating
    architecture architectural guest in that of to available with matching all great very
    other places selections establishments gastropubs which eateries cheap moderate moderately
    expensive galleries concert night centrally located multiple sites spots properties
    lodgings selection departures
    """
    )
)
CHOICES_BEFORE = frozenset(
    words_of(
        """
    are have is found 's find see were has got only there shows show with was about over just
    the those
    """
    )
)
VENUE_WORDS = frozenset(
    words_of(
        """
    hotel restaurant guesthouse place option train choice attraction museum college park
    theatre nightclub church cinema result match listing location entry that available
    """
    )
)
ONE_AFTER = frozenset(
    words_of(
        """
    have is found only just find 's see got shows
    """
    )
)
HOLDING = frozenset({"hold", "held", "reserved", "holding", "reserve", "holds", "for"})
CLOCK = re.compile(r"[0-2]?[0-9][:.][0-9]{2}(?:[ap]m)?|[0-9]{1,2}[ap]m|[0-9]{3,4}[ap]m")
COLON = re.compile(r"[0-9]{1,3}:[0-9]{2}(?:[ap]m)?")
DOTTED = re.compile(r"[0-2]?[0-9]\.[0-5][0-9]")
HALF_DAY = re.compile(r"\s?[ap]\s?\.?\s?m\b\.?")
OCLOCK = re.compile(r"\s?o\s?['’]\s?clock")
BEFORE_TIMES = frozenset(
    words_of(
        """
    at by after before around until from is
    """
    )
)


class Number(NamedTuple):
    """A number with a meaning: where it ends in the text and the tokens, and its slot."""

    end: int
    token_end: int
    slot: str


def number_at(low: str, tokens: Tokens, index: int) -> Number | None:
    """Return what the number at a token means, None when it cannot be told or means nothing."""
    words = tokens.words
    word = words[index]
    last = len(words)
    after = words[index + 1] if index + 1 < last else ""
    before = words[index - 1] if index else ""
    if COLON.fullmatch(word) or (CLOCK.fullmatch(word) and word[-1] == "m"):
        return _time(low, tokens, index)
    if after in MONEY or before in CURRENCY_SIGNS:
        if after in MONEY:
            return Number(tokens.end(index + 1), index + 2, "price")
        return Number(tokens.end(index), index + 1, "price")
    if after in MINUTES:
        held = word == "15" and any(w in HOLDING for w in words[max(0, index - 8) : index])
        return None if held else Number(tokens.end(index + 1), index + 2, "duration")
    if after in STARS:
        return Number(tokens.end(index), index + 1, "stars")
    after_next = words[index + 2] if index + 2 < last else ""
    if after == "-" and after_next in STARS:
        return Number(tokens.end(index + 2), index + 3, "stars")
    if before == "of" and index > 1 and words[index - 2] in ("rating", "stars"):
        return Number(tokens.end(index), index + 1, "stars")
    if DOTTED.fullmatch(word) and before in BEFORE_TIMES and before != "is":
        return Number(tokens.end(index), index + 1, "time")
    if not word.isdigit():
        return None
    if HALF_DAY.match(low, tokens.end(index)) or OCLOCK.match(low, tokens.end(index)):
        return _time(low, tokens, index)
    if len(word) == 4 and before in BEFORE_TIMES and int(word[:2]) < 24 and int(word[2:]) < 60:
        return Number(tokens.end(index), index + 1, "time")
    if after in PEOPLE:
        return Number(tokens.end(index), index + 1, "people")
    if after in STAY:
        return Number(tokens.end(index), index + 1, "stay")
    if before == "for" and len(word) == 1 and tokens.kinds[index] == NUMERIC:
        return Number(tokens.end(index), index + 1, "people")
    if before == "of" and index > 1 and words[index - 2] in ("party", "group"):
        return Number(tokens.end(index), index + 1, "people")
    if word == "1" and tokens.kinds[index] == WORD:
        chosen = (before in ONE_AFTER and after not in ("of", "or")) or after in VENUE_WORDS
        return Number(tokens.end(index), index + 1, "choice") if chosen else None
    if len(word) <= 4 and (after in CHOICES or before in CHOICES_BEFORE):
        return Number(tokens.end(index), index + 1, "choice")
    return None


def _time(low: str, tokens: Tokens, index: int) -> Number:
    end = tokens.end(index)
    token_end = index + 1
    for pattern in (OCLOCK, HALF_DAY):
        match = pattern.match(low, end)
        if match:
            end = match.end()
            if low[end - 1] == "." and not match[0].rstrip(".").endswith(("m",)):
                end -= 1
    while token_end < len(tokens.words) and tokens.start(token_end) < end:
        token_end += 1
    return Number(end, token_end, "time")


def quantity_at(words: list[str], index: int) -> int | None:
    """Return the token after a vague count of choices (`quite a few`) that begins at a token."""
    word = words[index]
    if word not in QUANTITY_STARTS:
        return None
    before = words[index - 1] if index else ""
    for phrase in QUANTITIES_FROM[word]:
        after = index + len(phrase)
        if words[index:after] == phrase:
            following = words[after] if after < len(words) else ""
            vain = before in ("how", "that", "so", "too", "as") or following in UNCHOSEN
            return None if vain else after
    return None


QUANTITIES = [
    phrase.split()
    for phrase in (
        "quite a few",
        "a few",
        "a couple of",
        "a couple",
        "a lot",
        "a number",
        "lots",
        "tons",
        "plenty",
        "several",
        "many",
        "multiple",
        "numerous",
        "various",
    )
]
"""Vague counts, the longer before the shorter."""
QUANTITIES_FROM = {
    phrase[0]: [other for other in QUANTITIES if other[0] == phrase[0]] for phrase in QUANTITIES
}
QUANTITY_STARTS = QUANTITIES_FROM.keys()
UNCHOSEN = frozenset(
    words_of(
        """
    people nights days guests minutes more tickets seats rooms sports different of. help
    """
    )
)
