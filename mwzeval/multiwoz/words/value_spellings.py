"""The one spelling of values that are told by their form, in texts and in the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from mwzeval.multiwoz.times import normalize_time
from mwzeval.multiwoz.words.text import fold

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


def amount(text: str) -> str:
    """Return an amount of money with two decimals; `free` is one."""
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
    "price": amount,
    "entrancefee": amount,
    "leaveat": clock,
    "arriveby": clock,
    "duration": duration,
    "stars": number,
}
"""Slot → how what is said of it is spelled."""
