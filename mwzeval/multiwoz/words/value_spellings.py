"""The one spelling of values that are told by their form, in texts and in the database.

Phone numbers, postcodes, train ids and booking references, told by their form alone; amounts as
responses and the database say them: pounds, minutes, stars and times of day. Whether the database
has them is another question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from mwzeval.multiwoz.words.surface_tables import NUMBER_WORDS
from mwzeval.multiwoz.words.text import Tokens

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


def duration_at(low: str, start: int) -> int | None:
    """Return the end of the duration that begins at a place of a text; None if there is none."""
    match = _DURATION.match(low, start)
    return match.end() if match else None


def minutes_of(text: str) -> float | None:
    """Return the minutes of the first duration in a text in lower case; None without one."""
    match = _DURATION.search(text)
    if match is None:
        return None
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
    minutes = minutes_of(text)
    if minutes is not None:
        return minutes
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
    words = [NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in NUMBER_WORDS]
    if words:
        return float(words[0])
    return 0.0 if NONE_AT_ALL.search(text) else None


NONE_AT_ALL = re.compile(
    r"\b(?:free|no|nothing|not|without|never|unrated|complimentary|gratis)\b|n\s?['’]?t\b"
)
"""What says that an amount is 0: `free`, `no entrance fee`, `unrated`."""


def is_total(total: float, ticket: float) -> bool:
    """Tell whether a price is that of one to so many tickets, but for rounding."""
    if ticket <= 0:
        return False
    tickets = round(total / ticket)
    return 1 <= tickets <= MOST_TICKETS and abs(total - tickets * ticket) <= PENCE


# Eleven digits in groups, as dialled in Britain; each group may be set apart, on one line.
_GROUPED_PHONE = re.compile(
    r"(?:(?:00)?44[^\S\r\n]?(?:\(0\))?|0)"
    r"(?:(?:[^\S\r\n]|[()/-]|\.(?!\s)){0,3}[0-9]){9,10}(?!-?[0-9]|\w)"
)
_PHONE_START = re.compile(r"0|44")
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
_BETWEEN = frozenset({"is", ":", "#", "number", "of", "code", "-", "are", ".", "now", "no"})
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
    if len(word) >= 10 and _BARE_PHONE.fullmatch(word):
        return tokens.end(index)
    if not _PHONE_START.match(word):
        return None
    match = _GROUPED_PHONE.match(low, tokens.start(index))
    if match is None or ":" in word:
        return None
    return match.end()


def postcode_at(low: str, tokens: Tokens, index: int) -> int | None:
    """Return the end of the postcode whose first token this is; None if it is none."""
    word = tokens.words[index]
    if _POSTCODE.fullmatch(word):
        return tokens.end(index)
    following = tokens.words[index + 1] if index + 1 < len(tokens.words) else ""
    if _INWARD.fullmatch(following) and _DISTRICT.fullmatch(word):
        return tokens.end(index + 1)
    if not _OUTWARD.fullmatch(word):
        return None
    match = _SPACED_POSTCODE.match(low, tokens.start(index))
    return match.end() if match else None


def train_at(tokens: Tokens, index: int) -> tuple[int, int] | None:
    """Return start and end of the train id at a token; None if it is none."""
    words = tokens.words
    word = words[index]
    if _TRAIN.fullmatch(word):
        return tokens.start(index), tokens.end(index)
    if word == "tr" and index + 1 < len(words) and words[index + 1].isdigit():
        return tokens.start(index), tokens.end(index + 1)
    if len(word) == 4 and word.isdigit() and index:
        before = words[index - 1]
        if before in ("train", "id", "tr") or (
            before in ("number", "#") and index > 1 and words[index - 2] == "train"
        ):
            return tokens.start(index), tokens.end(index)
    return None


def reference_at(text: str, tokens: Tokens, index: int) -> bool:
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
    with_digits = any(char.isdigit() for char in word)
    if not (with_digits or len(word) == REFERENCE_LENGTH):
        return False
    return _after_cue(tokens, index) and (with_digits or _ends(tokens, index))


def _after_cue(tokens: Tokens, index: int) -> bool:
    words = tokens.words
    position = index - 1
    while position >= 0 and index - position <= 5:
        if words[position] in ("reference", "ref", "confirmation", "references"):
            return True
        if words[position] not in _BETWEEN:
            return False
        position -= 1
    return False


def _ends(tokens: Tokens, index: int) -> bool:
    following = tokens.words[index + 1 : index + 2]
    return not following or following[0] in ".,!;)"


def phone(text: str) -> str:
    """Return a phone number's digits, with 0 for the country's code."""
    digits = "".join(char for char in text if char.isdigit())
    abroad = digits.removeprefix("00")
    return f"0{abroad[2:].removeprefix('0')}" if abroad.startswith("44") else digits


def letters_and_digits(text: str) -> str:
    """Return a postcode or train id in lower case, without blanks and signs."""
    return "".join(char for char in text.lower() if char.isalnum())


def train(text: str) -> str:
    """Return a train id in lower case, with the letters that are often left out."""
    plain = letters_and_digits(text)
    return f"tr{plain}" if plain.isdigit() else plain


def money(text: str) -> str:
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
    words = low.split()
    if words and words[0] in NUMBER_WORDS:
        low = " ".join((NUMBER_WORDS[words[0]], *words[1:]))
    match = _CLOCK.search(low)
    if match is None:
        return low
    hours, minutes = int(match[1]), match[2] or match[3] or "00"
    if match[4] or match[5]:
        early = match[4] == "a" or match[5] == "morning" or (match[5] == "night" and hours > 11)
        hours = hours % 12 + 12 * (not early) if hours <= 12 else hours
    return f"{hours % 24:02}:{minutes}"


def duration(text: str) -> str:
    """Return a duration in minutes, as the database says it: `51 minutes`."""
    minutes = amount(text)
    return text.lower() if minutes is None else f"{minutes:g} minutes"


def number(text: str) -> str:
    """Return a number, also one in words or of so many stars, as digits."""
    found = amount(text)
    return text if found is None else f"{found:g}"


SPELLED: Mapping[str, Callable[[str], str]] = {
    "phone": phone,
    "postcode": letters_and_digits,
    "trainid": train,
    "price": money,
    "entrancefee": money,
    "leaveat": clock,
    "arriveby": clock,
    "duration": duration,
    "stars": number,
}
"""Slot → how what is said of it is spelled."""
