"""What a number means, told by the words beside it.

A price, a time, how long a train takes, stars, how many people, how many choices, …
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from mwzeval.multiwoz.words.surface_tables import words_of
from mwzeval.multiwoz.words.text import NUMERIC, WORD, Mention, Tokens
from mwzeval.multiwoz.words.value_spellings import STAR_SIGNS, duration_at, minutes_of

MONEY = frozenset(
    words_of(
        """
    pound pounds gbp euro euros quid dollars £ pence
    """
    )
)
CURRENCY_BEFORE = frozenset({*"£€$", "gbp"})
PRICE_CUES = frozenset(
    words_of(
        """
    price cost costs costing fare fares fee fees total pay priced
    """
    )
)
_CENTS = re.compile(r"[0-9]+\.[0-9]{2}")
_POUNDS_AND_PENCE = re.compile(
    r"\s?pounds?,?\s(?:and\s)?[0-9]{1,2}(?:\s?p(?:ence)?)?\b(?![.:][0-9])"
)
MINUTES = frozenset(
    words_of(
        """
    minute minutes min mins hour hours hrs hr h
    """
    )
)
HOURS = frozenset({"hrs", "hours", "hr"})
OFTEN = frozenset({"every", "each", "within", "notice"})
HOLDING = frozenset({"hold", "held", "reserved", "holding", "reserve", "holds"})
ROUGHLY = frozenset({"about", "around", "approximately", "roughly", "some"})
VAGUE = frozenset({"under", "over", "than", "almost", "nearly", "least", "most", "up"})
NOT_OF_A_TRAIN = frozenset(
    words_of(
        """
    walk walking away drive driving foot taxi bus bike bicycle car cab past before early earlier
    late later wait from apart interval intervals stroll cycle prior ahead advance notice day
    layover stop break a per between after until
    """
    )
)
"""Words behind a duration that say that it is not how long a train takes."""
BEFORE_FOOT = frozenset({"-", "on", "by", "'"})
LONGEST_RIDE = 12 * 60
"""Minutes: what is longer is an opening time or a notice."""
STARS = frozenset({"star", "stars", "starred", *STAR_SIGNS})
RATINGS = frozenset({"rating", "ratings", "stars", "star", "rated"})
RATING_LINKS = frozenset({"of", "is", ":", "-", "|", "at", "="})
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
CLOCK = re.compile(r"[0-2]?[0-9][:.][0-9]{2}(?:[ap]m)?|[0-9]{1,2}[ap]m|[0-9]{3,4}[ap]m")
COLON = re.compile(r"[0-9]{1,3}:[0-9]{2}(?:[ap]m)?")
_FOUR_DIGITS = re.compile(r"(?:[01][0-9]|2[0-3])[.:]?[0-5][0-9]")
HELD = 15
DOTTED = re.compile(r"[0-2]?[0-9]\.[0-5][0-9]")
HALF_DAY = re.compile(r"\s?[ap]\s?\.?\s?m\b\.?|\sin\sthe\s(?:morning|afternoon|evening)\b")
OCLOCK = re.compile(r"\s?o\s?['’]\s?clock")
BEFORE_TIMES = frozenset(
    words_of(
        """
    at by after before around until from is
    """
    )
)


NUMBER_STARTS = frozenset({"an", "half", *STAR_SIGNS})
"""With what else than figures a number begins: `an hour and a half`, ⭐⭐⭐."""
STAR_RUN = STAR_SIGNS | {"☆"}


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
    if word in NUMBER_STARTS:
        if word in STAR_SIGNS:
            return _star_run(tokens, index)
        end = duration_at(low, tokens.start(index))
        return _duration(low, tokens, index, end) if end else None
    if after in HOURS and _FOUR_DIGITS.fullmatch(word):
        return Number(tokens.end(index + 1), index + 2, "time")
    if after not in HOURS and (
        COLON.fullmatch(word) or (CLOCK.fullmatch(word) and word[-1] == "m")
    ):
        return _time(low, tokens, index)
    price = _price(low, tokens, index, before, after)
    if price is not None:
        return price
    if after in MINUTES or after in ("-", "and") or not word.isdigit():
        end = duration_at(low, tokens.start(index))
        if end is not None:
            return _duration(low, tokens, index, end)
    stars = _stars(tokens, index, before, after)
    if stars is not None:
        return stars
    if DOTTED.fullmatch(word) and (
        (before in BEFORE_TIMES and before != "is") or HALF_DAY.match(low, tokens.end(index))
    ):
        return _time(low, tokens, index)
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


def _to(tokens: Tokens, index: int, end: int, slot: str) -> Number:
    """Return a number from a token to a place of the text."""
    after = index + 1
    while after < len(tokens.words) and tokens.start(after) < end:
        after += 1
    return Number(end, after, slot)


def _price(low: str, tokens: Tokens, index: int, before: str, after: str) -> Number | None:
    if after in MONEY:
        match = _POUNDS_AND_PENCE.match(low, tokens.end(index))
        return _to(tokens, index, match.end() if match else tokens.end(index + 1), "price")
    if before in CURRENCY_BEFORE:
        return Number(tokens.end(index), index + 1, "price")
    if _CENTS.fullmatch(tokens.words[index]) and not PRICE_CUES.isdisjoint(
        tokens.words[max(0, index - 3) : index]
    ):
        return Number(tokens.end(index), index + 1, "price")
    return None


def _duration(low: str, tokens: Tokens, index: int, end: int) -> Number | None:
    """Return how long a train takes; None for how often, how far or how long before."""
    words = tokens.words
    number = _to(tokens, index, end, "duration")
    earlier = words[max(0, index - 8) : index]
    if not (OFTEN.isdisjoint(earlier[-2:]) and VAGUE.isdisjoint(earlier[-3:])):
        return None
    if not HOLDING.isdisjoint(earlier):
        return None
    later = [*words[number.token_end : number.token_end + 2], "", ""]
    if later[later[0] in BEFORE_FOOT] in NOT_OF_A_TRAIN:
        return None
    length = minutes_of(low[tokens.start(index) : end])
    if length is None or length > LONGEST_RIDE:
        return None
    if length % 30 == 0 and not ROUGHLY.isdisjoint(earlier[-2:]):
        return None
    if length == HELD and "for" in earlier:
        return None
    return number


def _star_run(tokens: Tokens, index: int) -> Number | None:
    """Return a run of stars that is a hotel's rating; a single one may be an ornament."""
    after = index
    while after < len(tokens.words) and tokens.words[after] in STAR_RUN:
        after += 1
    return Number(tokens.end(after - 1), after, "stars") if after > index + 1 else None


def _stars(tokens: Tokens, index: int, before: str, after: str) -> Number | None:
    words = tokens.words
    following = words[index + 1 : index + 4]
    if after == "/" and following[1:2] == ["5"]:
        return Number(tokens.end(index + 2), index + 3, "stars")
    if following == ["out", "of", "5"]:
        return Number(tokens.end(index + 3), index + 4, "stars")
    if after in STAR_SIGNS:
        return Number(tokens.end(index + 1), index + 2, "stars")
    if after in STARS:
        return Number(tokens.end(index), index + 1, "stars")
    if after == "-" and following[1:2] and following[1] in STARS:
        return Number(tokens.end(index + 2), index + 3, "stars")
    if before in RATING_LINKS and index > 1 and words[index - 2] in RATINGS:
        return Number(tokens.end(index), index + 1, "stars")
    return None


def _time(low: str, tokens: Tokens, index: int) -> Number:
    end = tokens.end(index)
    for pattern in (OCLOCK, HALF_DAY):
        match = pattern.match(low, end)
        if match:
            end = match.end()
            if low[end - 1] == "." and not match[0].rstrip(".").endswith(("m",)):
                end -= 1
    return _to(tokens, index, end, "time")


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


def with_numbers_of_taxis(said: Sequence[Mention], response: str) -> Iterator[Mention]:
    """Yield mentions, a number that no venue has as the taxi's.

    Behind the name of a venue it is that venue's, unless the response speaks of a taxi.
    """
    speaks_of_taxi = _TAXI.search(response) or any(mention.domain == "taxi" for mention in said)
    is_of_venue = False
    for mention in said:
        is_of_venue = is_of_venue or (mention.slot == "name" and not speaks_of_taxi)
        is_unknown = mention.slot == "phone" and mention.value is None
        yield replace(mention, domain="taxi") if is_unknown and not is_of_venue else mention


_TAXI = re.compile(r"\b(?:taxi|cab|car|driver|vehicle|ride)s?\b", re.IGNORECASE)
