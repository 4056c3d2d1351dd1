"""Numbers and identifiers in texts and in the database: how they look, mean and are spelled.

Phone numbers, postcodes, train ids and booking references have a form of their own. What another
number means (a price, a time, how long a train takes, stars, people, choices, …) is known by the
words beside it. Whether the database has a value is another question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from mwzeval.multiwoz.words.text import NUMERIC, WORD, Tokens
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS, phrase_list, word_set

AMOUNTS = frozenset({"stars", "entrancefee", "price", "duration"})
"""Slots whose values are the same when their numbers are."""

MOST_TICKETS = 8
"""A price for this many people at most is known as a multiple of a ticket's: goals have no more."""

PENCE = 0.05
"""Totals may differ by this: prices of single tickets are rounded."""

STAR_SIGNS = frozenset("★⭐🌟")
_STAR_RUN = re.compile("[★⭐🌟]")
_FIGURE = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_PENCE = re.compile(
    r"[0-9]\s?pounds?,?\s(?:and\s)?([0-9]{1,2})(?:\s?p(?:ence)?)?\b(?!\.)|^([0-9]{1,2})\s?p\b"
)
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_UNITS = "one|two|three|four|five|six|seven|eight|nine"
_NUMBER = (
    rf"(?:[0-9]{{1,4}}(?:\.[0-9]{{1,2}})?|(?:{_TENS})(?:[\s-](?:{_UNITS}))?"
    rf"|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))}|an?)"
)
_HALF = r"[\s-]and[\s-]a[\s-]half"
_HOURS = r"(?:hours?|hrs?|h)"
_MINUTES = r"(?:minutes?|mins?)"
_DURATION = re.compile(
    rf"(?<!\w)(?:half[\s-]an[\s-]hour\b"
    rf"|(?P<hours>{_NUMBER})(?P<half>{_HALF})?[\s-]?{_HOURS}(?:(?P<late_half>{_HALF})\b"
    rf"|[\s,-]{{0,2}}(?:and\s)?(?P<rest>{_NUMBER})[\s-]?(?:{_MINUTES}|m)\b"
    rf"|(?P<glued>[0-5][0-9])\b|\b)"
    rf"|(?P<clock>[0-9]{{1,2}}:[0-5][0-9])\s?{_HOURS}\b"
    rf"|(?P<minutes>{_NUMBER})[\s-]?{_MINUTES}\b)"
)


def _minutes(match: re.Match[str]) -> float:
    """Return the minutes of a duration."""
    if match["clock"]:
        hours, _, minutes = match["clock"].partition(":")
        return 60.0 * int(hours) + int(minutes)
    if match["minutes"]:
        return _number(match["minutes"])
    if match["hours"] is None:
        return 30.0
    half = 30 if match["half"] or match["late_half"] else 0
    rest = match["rest"] or match["glued"]
    return 60 * _number(match["hours"]) + half + (_number(rest) if rest else 0)


def _number(text: str) -> float:
    """Return the number of figures or of words that say one: `fifty-one`; `an` is 1."""
    if text[0].isdigit():
        return float(text)
    return float(sum(int(NUMBER_WORDS.get(word, 1)) for word in re.split(r"[\s-]", text)))


@lru_cache(maxsize=2**12)
def amount(text: str) -> float | None:
    """Return the number in a text (`free` is 0, hours are in minutes), None when there is none."""
    text = text.lower()
    duration = _DURATION.search(text)
    if duration:
        return _minutes(duration)
    figure = _FIGURE.search(text)
    if figure:
        whole = float(figure[0].replace(",", ""))
        pence = _PENCE.search(text)
        if pence is None:
            return whole
        return whole + int(pence[1]) / 100 if pence[1] else whole / 100
    stars = len(_STAR_RUN.findall(text))
    if stars:
        return float(stars)
    for word in re.findall(r"[a-z]+", text):
        if word in NUMBER_WORDS:
            return float(NUMBER_WORDS[word])
    return 0.0 if _NONE_AT_ALL.search(text) else None


_NONE_AT_ALL = re.compile(
    r"\b(?:free|no|nothing|not|without|never|unrated|complimentary|gratis)\b|n\s?['’]?t\b"
)
"""What says that an amount is 0: `free`, `no entrance fee`, `unrated`."""


def is_total(total: float, ticket: float) -> bool:
    """Tell whether a price is that of one to so many tickets, but for rounding."""
    if ticket <= 0:
        return False
    tickets = round(total / ticket)
    return 1 <= tickets <= MOST_TICKETS and abs(total - tickets * ticket) <= PENCE


def _phone(text: str) -> str:
    """Return a phone number's digits, with 0 for the country's code."""
    digits = "".join(char for char in text if char.isdigit())
    abroad = digits.removeprefix("00")
    return f"0{abroad[2:].removeprefix('0')}" if abroad.startswith("44") else digits


def _letters_and_digits(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _train(text: str) -> str:
    """Return a train id in lower case, with the letters that are often left out."""
    plain = _letters_and_digits(text)
    return f"tr{plain}" if plain.isdigit() else plain


def _money(text: str) -> str:
    """Return an amount of money in pounds with two decimals; that of `free` is 0.00."""
    pounds = amount(text)
    return text.lower() if pounds is None else f"{pounds:.2f}"


_CLOCK = re.compile(
    r"(?<![0-9])([0-9]{1,2})(?:\s?[:.h]\s?([0-9]{2})|([0-9]{2}))?"
    r"(?:\s?o\s?['’]?\s?clock)?"
    r"\s?(?:([ap])\s?\.?\s?m\b|(?:in\sthe|at)\s(morning|afternoon|evening|night)\b)?"
)
_SPOKEN_CLOCK = re.compile(r"\b(?:noon|midday|(midnight))\b")


def clock(text: str) -> str:
    """Return a time as HH:MM of a day of 24 hours: 24:08 is 00:08, and so is 12:08 am."""
    low = text.lower()
    spoken = _SPOKEN_CLOCK.search(low)
    if spoken:
        return "00:00" if spoken[1] else "12:00"
    first, *rest = low.split() or [""]
    if first in NUMBER_WORDS:
        low = " ".join((NUMBER_WORDS[first], *rest))
    match = _CLOCK.search(low)
    if match is None:
        return low
    hours, minutes = int(match[1]), match[2] or match[3] or "00"
    if match[4] or match[5]:
        early = match[4] == "a" or match[5] == "morning" or (match[5] == "night" and hours > 11)
        hours = hours % 12 + 12 * (not early) if hours <= 12 else hours
    return f"{hours % 24:02}:{minutes}"


def _ride(text: str) -> str:
    """Return a duration in minutes, as the database writes it: `51 minutes`."""
    minutes = amount(text)
    return text.lower() if minutes is None else f"{minutes:g} minutes"


def number(text: str) -> str:
    """Return a number, also in words or of so many stars, as digits."""
    found = amount(text)
    return text if found is None else f"{found:g}"


SPELLED: Mapping[str, Callable[[str], str]] = {
    "phone": _phone,
    "postcode": _letters_and_digits,
    "trainid": _train,
    "price": _money,
    "entrancefee": _money,
    "leaveat": clock,
    "arriveby": clock,
    "duration": _ride,
    "stars": number,
}
"""Slot → how its values are spelled to be compared."""

# Eleven digits in groups, as dialled in Britain; each group may be set apart, on one line.
_GROUPED_PHONE = re.compile(
    r"(?:(?:00)?44[^\S\r\n]?(?:\(0\))?|0)"
    r"(?:(?:[^\S\r\n]|[()/-]|\.(?!\s)){0,3}[0-9]){9,10}(?!-?[0-9]|\w)"
)
_BARE_PHONE = re.compile(r"[0-9]{10,13}")
_POSTCODE = re.compile(r"[a-z]{1,2}[0-9]{2,3}[a-z]{2}|cb[0-9]{1,2}o[a-z]{2}")
_OUTWARD = re.compile(r"(?:cb|pe|sg|co)[0-9]{0,3}|c|p")
_SPACED_POSTCODE = re.compile(
    r"(?:c\s?\.?\s?b|p\s?\.?\s?e|s\s?\.?\s?g)[\s.,]{0,2}[0-9]{1,2}[\s.,-]{0,3}"
    r"[0-9]?\s?[a-z]\s?\.?\s?[a-z]\b"
)
_DISTRICT = re.compile(r"[a-z]{1,2}[0-9]{1,2}")
_INWARD = re.compile(r"[0-9][a-z]{2}")
_TRAIN = re.compile(r"tr[0-9]{2,5}")
_REFERENCE = re.compile(r"(?=[a-z]*[0-9])[a-z0-9]{8}")
_LOOSE_REFERENCE = re.compile(r"[a-z0-9]{5,12}")
_REFERENCE_CUES = frozenset({"reference", "ref", "confirmation", "references"})
_BEFORE_REFERENCES = word_set("before references")
_FARTHEST_CUE = 5
REFERENCE_LENGTH = 8
_IN_WORDS = re.compile(
    r"\b(?:0[0-9]{9,10}|cb[0-9]{1,2} ?[0-9][a-z]{2}|tr[0-9]{4}"
    r"|(?=[a-z]{0,7}[0-9])(?=[0-9]{0,7}[a-z])[a-z0-9]{8})\b",
    re.ASCII | re.IGNORECASE,
)


def has_identifier(response: str) -> bool:
    """Tell cheaply whether a response has a phone number, postcode, train id or reference."""
    return _IN_WORDS.search(response) is not None


def phone_at(low: str, tokens: Tokens, index: int) -> int | None:
    """Return the end of the phone number whose first token this is; None if it is none."""
    word = tokens.words[index]
    if _BARE_PHONE.fullmatch(word):
        return tokens.end(index)
    if not word.startswith(("0", "44")) or ":" in word:
        return None
    match = _GROUPED_PHONE.match(low, tokens.start(index))
    return match.end() if match else None


def postcode_at(low: str, tokens: Tokens, index: int) -> int | None:
    """Return the end of the postcode whose first token this is; None if it is none."""
    word = tokens.words[index]
    if _POSTCODE.fullmatch(word):
        return tokens.end(index)
    if _DISTRICT.fullmatch(word) and _INWARD.fullmatch(tokens.word(index + 1)):
        return tokens.end(index + 1)
    match = _OUTWARD.fullmatch(word) and _SPACED_POSTCODE.match(low, tokens.start(index))
    return match.end() if match else None


def train_at(tokens: Tokens, index: int) -> tuple[int, int] | None:
    """Return start and end of the train id at a token; None if it is none."""
    word = tokens.words[index]
    if word == "tr" and tokens.word(index + 1).isdigit():
        return tokens.start(index), tokens.end(index + 1)
    is_train = _TRAIN.fullmatch(word) is not None
    if len(word) == 4 and word.isdigit():
        before = tokens.word(index - 1)
        is_train = before in ("train", "id", "tr") or (
            before in ("number", "#") and tokens.word(index - 2) == "train"
        )
    return (tokens.start(index), tokens.end(index)) if is_train else None


def is_reference(text: str, tokens: Tokens, index: int) -> bool:
    """Tell whether a token is a booking reference."""
    word = tokens.words[index]
    if len(word) == REFERENCE_LENGTH:
        if _REFERENCE.fullmatch(word) and not word.isdigit():
            return True
        start, end = tokens.start(index), tokens.end(index)
        if word.isalpha() and text[start:end].isupper() and not tokens.only_capitals:
            return True
    if not _LOOSE_REFERENCE.fullmatch(word):
        return False
    if word.isalpha() and (len(word) != REFERENCE_LENGTH or tokens.word(index + 1) not in ".,!;)"):
        return False
    for before in tokens.words[max(0, index - _FARTHEST_CUE) : index][::-1]:
        if before not in _BEFORE_REFERENCES:
            return before in _REFERENCE_CUES
    return False


_MONEY, _PRICE_CUES = word_set("money"), word_set("price cues")
_CURRENCY_BEFORE = frozenset({"£", "€", "$", "gbp"})
_CENTS = re.compile(r"[0-9]+\.[0-9]{2}")
_POUNDS_AND_PENCE = re.compile(
    r"\s?pounds?,?\s(?:and\s)?[0-9]{1,2}(?:\s?p(?:ence)?)?\b(?![.:][0-9])"
)
_MINUTE_WORDS = word_set("minutes")
_HOUR_WORDS = frozenset({"hrs", "hours", "hr"})
_OFTEN = frozenset({"every", "each", "within", "notice"})
_HOLDING, _VAGUE, _NOT_OF_TRAINS = word_set("holding"), word_set("vague"), word_set("not of trains")
_ROUGHLY = frozenset({"about", "around", "approximately", "roughly", "some"})
_BEFORE_FOOT = frozenset({"-", "on", "by", "'"})
_LONGEST_RIDE = 12 * 60
"""Minutes: what is longer is an opening time or a notice."""
_HELD = 15
"""Minutes for which a table is held."""
_STARS = frozenset({"star", "stars", "starred", *STAR_SIGNS})
_RATINGS = frozenset({"rating", "ratings", "stars", "star", "rated"})
_RATING_LINKS = frozenset({"of", "is", ":", "-", "|", "at", "="})
_PEOPLE, _STAY = word_set("people"), frozenset({"night", "nights", "days", "day"})
_CHOICES, _BEFORE_CHOICES = word_set("choices"), word_set("before choices")
_SINGLE_CHOICES, _BEFORE_SINGLE_CHOICES = (
    word_set("single choices"),
    word_set("before single choices"),
)
_CLOCK_WORD = re.compile(r"[0-9]{1,3}:[0-9]{2}(?:[ap]m)?|(?:[0-2]?[0-9]\.[0-9]{2}|[0-9]{1,4})[ap]m")
_FOUR_DIGITS = re.compile(r"(?:[01][0-9]|2[0-3])[.:]?[0-5][0-9]")
_DOTTED = re.compile(r"[0-2]?[0-9]\.[0-5][0-9]")
_HALF_DAY = re.compile(r"\s?[ap]\s?\.?\s?m\b\.?|\sin\sthe\s(?:morning|afternoon|evening)\b")
_OCLOCK = re.compile(r"\s?o\s?['’]\s?clock")
_BEFORE_TIMES = word_set("before times")

NUMBER_STARTS = frozenset({"an", "half", *STAR_SIGNS})
"""With what else than figures a number begins: `an hour and a half`, ⭐⭐⭐."""
_STAR_RUN_SIGNS = STAR_SIGNS | {"☆"}


class Number(NamedTuple):
    """A number with a meaning: where it ends in the text and the tokens, and its slot."""

    end: int
    token_end: int
    slot: str


def number_at(low: str, tokens: Tokens, index: int) -> Number | None:
    """Return what the number at a token means, None when it cannot be told or means nothing."""
    word, before, after = tokens.words[index], tokens.word(index - 1), tokens.word(index + 1)

    def through(last: int, slot: str) -> Number:
        return Number(tokens.end(last), last + 1, slot)

    if word in STAR_SIGNS:
        return _star_run(tokens, index)
    if word in NUMBER_STARTS:
        return _duration(low, tokens, index)[1]
    if after in _HOUR_WORDS:
        if _FOUR_DIGITS.fullmatch(word):
            return through(index + 1, "time")
    elif _CLOCK_WORD.fullmatch(word):
        return _time(low, tokens, index)
    price = _price(low, tokens, index)
    if price is not None:
        return price
    if after in _MINUTE_WORDS or after in ("-", "and") or not word.isdigit():
        is_duration, duration = _duration(low, tokens, index)
        if is_duration:
            return duration
    stars = _last_of_stars(tokens, index)
    if stars is not None:
        return through(stars, "stars")
    is_half_day = _HALF_DAY.match(low, tokens.end(index))
    if _DOTTED.fullmatch(word) and (is_half_day or (before in _BEFORE_TIMES and before != "is")):
        return _time(low, tokens, index)
    if not word.isdigit():
        return None
    if is_half_day or _OCLOCK.match(low, tokens.end(index)):
        return _time(low, tokens, index)
    if len(word) == 4 and before in _BEFORE_TIMES and int(word[:2]) < 24 and int(word[2:]) < 60:
        return through(index, "time")
    if after in _PEOPLE:
        return through(index, "people")
    if after in _STAY:
        return through(index, "stay")
    if (before == "for" and len(word) == 1 and tokens.kinds[index] == NUMERIC) or (
        before == "of" and tokens.word(index - 2) in ("party", "group")
    ):
        return through(index, "people")
    if word == "1" and tokens.kinds[index] == WORD:
        is_choice = before in _BEFORE_SINGLE_CHOICES and after not in ("of", "or")
        return through(index, "choice") if is_choice or after in _SINGLE_CHOICES else None
    if len(word) <= 4 and (after in _CHOICES or before in _BEFORE_CHOICES):
        return through(index, "choice")
    return None


def _price(low: str, tokens: Tokens, index: int) -> Number | None:
    if tokens.word(index + 1) in _MONEY:
        match = _POUNDS_AND_PENCE.match(low, tokens.end(index))
        end = match.end() if match else tokens.end(index + 1)
        return Number(end, tokens.after(end, index), "price")
    earlier = tokens.words[max(0, index - 3) : index]
    if tokens.word(index - 1) in _CURRENCY_BEFORE or (
        _CENTS.fullmatch(tokens.words[index]) and not _PRICE_CUES.isdisjoint(earlier)
    ):
        return Number(tokens.end(index), index + 1, "price")
    return None


def _duration(low: str, tokens: Tokens, index: int) -> tuple[bool, Number | None]:
    """Return whether a duration begins at a token, and the duration if a train takes it.

    A train takes none that says how often, how far or how long before something is.
    """
    match = _DURATION.match(low, tokens.start(index))
    if match is None:
        return False, None
    after = tokens.after(match.end(), index)
    earlier = tokens.words[max(0, index - 8) : index]
    foot = tokens.word(after) in _BEFORE_FOOT
    minutes = _minutes(match)
    is_ride = (
        _OFTEN.isdisjoint(earlier[-2:])
        and _VAGUE.isdisjoint(earlier[-3:])
        and _HOLDING.isdisjoint(earlier)
        and tokens.word(after + foot) not in _NOT_OF_TRAINS
        and minutes <= _LONGEST_RIDE
        and (minutes % 30 != 0 or _ROUGHLY.isdisjoint(earlier[-2:]))
        and (minutes != _HELD or "for" not in earlier)
    )
    return True, Number(match.end(), after, "duration") if is_ride else None


def _star_run(tokens: Tokens, index: int) -> Number | None:
    """Return a run of stars that is a hotel's rating; a single star may be an ornament."""
    after = index
    while tokens.word(after) in _STAR_RUN_SIGNS:
        after += 1
    return Number(tokens.end(after - 1), after, "stars") if after > index + 1 else None


def _last_of_stars(tokens: Tokens, index: int) -> int | None:
    """Return the last token of a hotel's rating that begins at a token; None if it is none."""
    following = (*tokens.words[index + 1 : index + 4], "", "")
    if following[:2] == ("/", "5") or (following[0] == "-" and following[1] in _STARS):
        return index + 2
    if following[:3] == ("out", "of", "5"):
        return index + 3
    if following[0] in _STARS:
        return index + (following[0] in STAR_SIGNS)
    is_rating = tokens.word(index - 1) in _RATING_LINKS and tokens.word(index - 2) in _RATINGS
    return index if is_rating else None


def _time(low: str, tokens: Tokens, index: int) -> Number:
    end = tokens.end(index)
    for pattern in (_OCLOCK, _HALF_DAY):
        match = pattern.match(low, end)
        if match:
            end = match.end()
            if low[end - 1] == "." and not match[0].rstrip(".").endswith("m"):
                end -= 1
    return Number(end, tokens.after(end, index), "time")


_QUANTITIES: dict[str, list[list[str]]] = {}
for _phrase in phrase_list("quantities"):
    _QUANTITIES.setdefault(_phrase[0], []).append(list(_phrase))
QUANTITY_STARTS = _QUANTITIES.keys()
_BEFORE_DEGREES = frozenset({"how", "that", "so", "too", "as"})
_NOT_CHOSEN = word_set("not chosen")


def quantity_at(tokens: Tokens, index: int) -> int | None:
    """Return the token after a vague count of choices (`quite a few`) that begins at a token."""
    for phrase in _QUANTITIES.get(tokens.words[index], ()):
        after = index + len(phrase)
        if tokens.words[index:after] == phrase:
            vain = tokens.word(index - 1) in _BEFORE_DEGREES or tokens.word(after) in _NOT_CHOSEN
            return None if vain else after
    return None
