"""The one spelling of values that are told by their form, in texts and in the database.

Phone numbers, postcodes, train ids and booking references, told by their form alone.

Whether the database has them is another question.

Amounts as responses and the database say them: pounds, minutes and stars.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from mwzeval.multiwoz.normalization.aliases import normalize_time
from mwzeval.multiwoz.words.surface_tables import NUMBER_WORDS
from mwzeval.multiwoz.words.text import Tokens, fold

AMOUNTS = frozenset({"stars", "entrancefee", "price", "duration"})
"""Slots whose values are the same when their numbers are."""

MOST_TICKETS = 8
"""A price for this many people at most is known as a multiple of a ticket's: goals have no more."""

PENCE = 0.05
"""Totals may differ by this: prices of single tickets are rounded."""

_FIGURE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HOUR = re.compile(r"\bh(?:ou)?rs?\b")


@lru_cache(maxsize=2**12)
def amount(text: str) -> float | None:
    """Return the number in a text (`free` is 0, hours are in minutes), None when there is none."""
    text = text.lower()
    figure = _FIGURE.search(text)
    if figure:
        number = float(figure[0])
    else:
        words = [NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in NUMBER_WORDS]
        if not words:
            return 0.0 if "free" in text else None
        number = float(words[0])
    return 60 * number if _HOUR.search(text) else number


def is_total(total: float, ticket: float) -> bool:
    """Tell whether a price is that of one to so many tickets, but for rounding."""
    if ticket <= 0:
        return False
    tickets = round(total / ticket)
    return 1 <= tickets <= MOST_TICKETS and abs(total - tickets * ticket) <= PENCE


# Eleven digits in groups, as dialled in Britain; each group may be set apart.
_GROUPED_PHONE = re.compile(r"\(?(?:\+?44|0)(?:[\s().-]{0,3}[0-9]){9,10}(?![\s-]?[0-9]|\w)")
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


_AMOUNT = re.compile(r"[0-9]+(?:[.,][0-9]+)?")


def phone(text: str) -> str:
    """Return a phone number's digits, with 0 for the country's code."""
    digits = "".join(char for char in text if char.isdigit())
    return f"0{digits[2:].removeprefix('0')}" if digits.startswith("44") else digits


def letters_and_digits(text: str) -> str:
    """Return a postcode or train id in lower case, without blanks and signs."""
    return "".join(char for char in text.lower() if char.isalnum())


def train(text: str) -> str:
    """Return a train id in lower case, with the letters that are often left out."""
    plain = letters_and_digits(text)
    return f"tr{plain}" if plain.isdigit() else plain


def spelled_amount(text: str) -> str:
    """Return an spelled_amount of money with two decimals; `free` is one."""
    match = _AMOUNT.search(text.replace(" ", ""))
    if match is None:
        return text.lower()
    return f"{float(match[0].replace(',', '.')):.2f}"


def clock(text: str) -> str:
    """Return a time as HH:MM."""
    time = text.lower().replace(" ", "").replace("o'clock", "").rstrip(".")
    return normalize_time(time.replace("p.m", "pm").replace("a.m", "am").replace(".", ":"))


def duration(text: str) -> str:
    """Return a duration in the words of the database: `51 minutes`."""
    number = fold(text)[0]
    return f"{number} minutes" if "h" not in text.lower() else text


def number(text: str) -> str:
    """Return a number, also one in words, as digits."""
    return next((word for word in fold(text) if word.isdigit()), text)


SPELLED: Mapping[str, Callable[[str], str]] = {
    "phone": phone,
    "postcode": letters_and_digits,
    "trainid": train,
    "price": spelled_amount,
    "entrancefee": spelled_amount,
    "leaveat": clock,
    "arriveby": clock,
    "duration": duration,
    "stars": number,
}
"""Slot → how what is said of it is spelled."""
