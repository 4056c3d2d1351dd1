"""Read numbers and identifiers in texts and in the database by form, meaning and spelling.

Phone numbers, postcodes, train ids and booking references are recognized by their form. The meaning
of other numbers (price, time, duration of a ride, stars, people, choices, …) is inferred from
adjacent words. This module does not check whether the database has a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from mwzeval.multiwoz.words.text import NUMERIC, WORD, Tokens
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS, PATTERNS, WORDS, has_any, phrases

AMOUNTS = frozenset({"stars", "entrancefee", "price", "duration"})
"""Slots whose values are equal if their numbers are equal."""
MOST_TICKETS = 8
"""Maximum number of tickets whose total price may be stated, as in goals."""
PENCE = 0.05
"""Maximum difference between total prices, because the prices of single tickets are rounded."""
REFERENCE_LENGTH = 8
LONGEST_RIDE = 12 * 60
"""Maximum duration of a ride in minutes. Longer durations are not about rides."""
TABLE_HELD = 15
"""The number of minutes for which restaurants hold a table."""
STARS = WORDS["star signs"]
NUMBER_STARTS = STARS | {"an", "half"}
"""Words and signs that may begin a number: `an hour and a half`, ⭐⭐⭐."""


def _minutes(duration: re.Match[str]) -> float:
    if duration["clock"]:
        hours, _, minutes = duration["clock"].partition(":")
        return 60.0 * int(hours) + int(minutes)
    if duration["minutes"]:
        return _number(duration["minutes"])
    if duration["hours"] is None:
        return 30.0
    half = 30 if duration["half"] or duration["late_half"] else 0
    rest = duration["rest"] or duration["glued"]
    return 60 * _number(duration["hours"]) + half + (_number(rest) if rest else 0)


def _number(text: str) -> float:
    """Return the value of a number in digits or words: `fifty-one` is 51, `an` is 1."""
    if text[0].isdigit():
        return float(text)
    return float(sum(int(NUMBER_WORDS.get(word, 1)) for word in re.split(r"[\s-]", text)))


@lru_cache(maxsize=2**12)
def amount(text: str) -> float | None:
    """Return the number in a text (`free` is 0, hours are converted to minutes), or None."""
    text = text.lower()
    if duration := PATTERNS["duration"].search(text):
        return _minutes(duration)
    if figure := PATTERNS["figure"].search(text):
        whole = float(figure[0].replace(",", ""))
        pence = PATTERNS["pence"].search(text)
        if pence is None:
            return whole
        return whole + int(pence[1]) / 100 if pence[1] else whole / 100
    if stars := sum(sign in STARS for sign in text):
        return float(stars)
    for word in re.findall(r"[a-z]+", text):
        if word in NUMBER_WORDS:
            return float(NUMBER_WORDS[word])
    return 0.0 if PATTERNS["none at all"].search(text) else None


def is_total(total: float, ticket: float) -> bool:
    """Return whether a price is the price of 1 to `MOST_TICKETS` tickets, apart from rounding."""
    if ticket <= 0:
        return False
    tickets = round(total / ticket)
    return 1 <= tickets <= MOST_TICKETS and abs(total - tickets * ticket) <= PENCE


def clock(text: str) -> str:
    """Return a time as HH:MM in 24-hour notation: 24:08 and 12:08 am are 00:08."""
    low = text.lower()
    if spoken := PATTERNS["spoken clock"].search(low):
        return "00:00" if spoken[1] else "12:00"
    first, *rest = low.split() or [""]
    if first in NUMBER_WORDS:
        low = " ".join((NUMBER_WORDS[first], *rest))
    match = PATTERNS["clock"].search(low)
    if match is None:
        return low
    hours, minutes = int(match[1]), match[2] or match[3] or "00"
    if (match[4] or match[5]) and hours <= 12:
        early = match[4] == "a" or match[5] == "morning" or (match[5] == "night" and hours == 12)
        hours = hours % 12 + 12 * (not early)
    return f"{hours % 24:02}:{minutes}"


def _phone(text: str) -> str:
    """Return the digits of a phone number, with 0 in place of the country code."""
    digits = "".join(filter(str.isdigit, text))
    abroad = digits.removeprefix("00")
    return f"0{abroad[2:].removeprefix('0')}" if abroad.startswith("44") else digits


def _letters_and_digits(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _train(text: str) -> str:
    plain = _letters_and_digits(text)
    return f"tr{plain}" if plain.isdigit() else plain


def number(text: str) -> str:
    """Convert a number in a text to digits. The text may contain digits, words or stars."""
    value = amount(text)
    return text if value is None else f"{value:g}"


def _written(form: str) -> Callable[[str], str]:
    """Return a function that formats the amount in a text and changes other text to lower case."""

    def write(text: str) -> str:
        value = amount(text)
        return text.lower() if value is None else form.format(value)

    return write


_money = _written("{:.2f}")
SPELLED: Mapping[str, Callable[[str], str]] = {
    "phone": _phone,
    "postcode": _letters_and_digits,
    "trainid": _train,
    "price": _money,
    "entrancefee": _money,
    **dict.fromkeys(("leaveat", "arriveby", "booktime"), clock),
    "duration": _written("{:g} minutes"),
    **dict.fromkeys(("stars", "bookpeople", "bookstay"), number),
}
"""The functions that normalize the values of slots for comparison."""


def has_identifier(response: str) -> bool:
    """Return quickly whether a response has a phone number, postcode, train id or reference."""
    return PATTERNS["identifier"].search(response) is not None


Meaning = tuple[str, str]
"""Slot and value, in the database's spelling."""


class Candidate(NamedTuple):
    """A part of the text (characters `start` to `end`, tokens `first` to `after`).

    `meanings` are (slot, value) pairs, with the value in the database's spelling. The value of a
    pair is "" if only the slot is known, or if the database has no such value. `sure` is False for
    misspelled values.
    """

    start: int
    end: int
    first: int
    after: int
    meanings: tuple[Meaning, ...]
    sure: bool = True

    @property
    def slot(self) -> str:
        """The slot of the candidate's first meaning."""
        return self.meanings[0][0]

    @classmethod
    def of_tokens(
        cls, tokens: Tokens, first: int, after: int, slot: str, end: int | None = None
    ) -> Candidate:
        """Return a candidate value, whose slot is identified by its tokens.

        `end` is the end of the last token.
        """
        end = tokens.end(after - 1) if end is None else end
        return cls(tokens.start(first), end, first, after, ((slot, ""),))


def identifier_at(tokens: Tokens, index: int) -> Candidate | None:
    """Return the train id, postcode, phone number or reference at a token, or None."""
    train = train_at(tokens, index)
    if train is not None:
        return train
    for slot, find in (("postcode", _end_of_postcode), ("phone", _end_of_phone)):
        end = find(tokens, index)
        if end is not None:
            low, start = tokens.low, tokens.start(index)
            if low[start - 1 : start] == "(" and ")" in low[start:end]:
                start -= 1
            if low[start - 1 : start] == "+":
                start -= 1
            return Candidate(start, end, index, tokens.after(end, index), ((slot, ""),))
    if is_reference(tokens, index):
        return Candidate.of_tokens(tokens, index, index + 1, "reference")
    return None


def _end_of_phone(tokens: Tokens, index: int) -> int | None:
    """Return the end of the phone number that begins at a token, or None if there is none."""
    word = tokens.words[index]
    if PATTERNS["bare phone"].fullmatch(word):
        return tokens.end(index)
    if not word.startswith(("0", "44")) or ":" in word:
        return None
    match = PATTERNS["grouped phone"].match(tokens.low, tokens.start(index))
    return match.end() if match else None


def _end_of_postcode(tokens: Tokens, index: int) -> int | None:
    """Return the end of the postcode that begins at a token, or None if there is none."""
    word = tokens.words[index]
    if PATTERNS["postcode"].fullmatch(word):
        return tokens.end(index)
    if PATTERNS["district"].fullmatch(word) and PATTERNS["inward"].fullmatch(
        tokens.word(index + 1)
    ):
        return tokens.end(index + 1)
    spaced = PATTERNS["spaced postcode"]
    match = PATTERNS["outward"].fullmatch(word) and spaced.match(tokens.low, tokens.start(index))
    return match.end() if match else None


def train_at(tokens: Tokens, index: int) -> Candidate | None:
    """Return the train id at a token, or None if there is none."""
    word = tokens.words[index]
    if word == "tr" and tokens.word(index + 1).isdigit():
        return Candidate.of_tokens(tokens, index, index + 2, "trainid")
    is_train = PATTERNS["train id"].fullmatch(word) is not None
    if len(word) == 4 and word.isdigit():
        before = tokens.word(index - 1)
        is_train = before in ("train", "id", "tr") or (
            before in ("number", "#") and tokens.word(index - 2) == "train"
        )
    return Candidate.of_tokens(tokens, index, index + 1, "trainid") if is_train else None


def is_reference(tokens: Tokens, index: int) -> bool:
    """Return whether a token is a booking reference."""
    word = tokens.words[index]
    if len(word) == REFERENCE_LENGTH:
        if PATTERNS["reference"].fullmatch(word) and not word.isdigit():
            return True
        is_capital = tokens.text[tokens.start(index) : tokens.end(index)].isupper()
        if word.isalpha() and is_capital and not tokens.only_capitals:
            return True
    if not PATTERNS["loose reference"].fullmatch(word):
        return False
    if word.isalpha() and (len(word) != REFERENCE_LENGTH or tokens.word(index + 1) not in ".,!;)"):
        return False
    for before in tokens.words[max(0, index - 5) : index][::-1]:
        if before not in WORDS["before references"]:
            return before in {"reference", "ref", "confirmation", "references"}
    return False


def number_at(tokens: Tokens, index: int) -> Candidate | None:
    """Return the number at a token, or None if the number has no known or relevant meaning."""
    word, before, after = tokens.words[index], tokens.word(index - 1), tokens.word(index + 1)

    def through(last: int, slot: str) -> Candidate:
        return Candidate.of_tokens(tokens, index, last + 1, slot)

    if word in STARS:
        return _star_run(tokens, index)
    if word in NUMBER_STARTS:
        return _duration(tokens, index)[1]
    if after in {"hrs", "hours", "hr"}:
        if PATTERNS["four digits"].fullmatch(word):
            return through(index + 1, "time")
    elif PATTERNS["clock word"].fullmatch(word):
        return _time(tokens, index)
    price = _price(tokens, index)
    if price is not None:
        return price
    if after in WORDS["minutes"] or after in ("-", "and") or not word.isdigit():
        is_duration, duration = _duration(tokens, index)
        if is_duration:
            return duration
    stars = _last_of_stars(tokens, index)
    if stars is not None:
        return through(stars, "stars")
    is_half_day = PATTERNS["half day"].match(tokens.low, tokens.end(index))
    is_due = before in WORDS["before times"]
    if PATTERNS["dotted time"].fullmatch(word) and (is_half_day or (is_due and before != "is")):
        return _time(tokens, index)
    if not word.isdigit():
        return None
    if is_half_day or PATTERNS["o'clock"].match(tokens.low, tokens.end(index)):
        return _time(tokens, index)
    if len(word) == 4 and is_due and int(word[:2]) < 24 and int(word[2:]) < 60:
        return through(index, "time")
    if after in WORDS["people"]:
        return through(index, "people")
    if after in {"night", "nights", "days", "day"}:
        return through(index, "stay")
    if (before == "for" and len(word) == 1 and tokens.kinds[index] == NUMERIC) or (
        before == "of" and tokens.word(index - 2) in ("party", "group")
    ):
        return through(index, "people")
    if word == "1" and tokens.kinds[index] == WORD:
        is_choice = before in WORDS["before single choices"] and after not in ("of", "or")
        return through(index, "choice") if is_choice or after in WORDS["single choices"] else None
    if len(word) <= 4 and (after in WORDS["choices"] or before in WORDS["before choices"]):
        return through(index, "choice")
    return None


def _price(tokens: Tokens, index: int) -> Candidate | None:
    if tokens.word(index + 1) in WORDS["money"]:
        match = PATTERNS["pounds and pence"].match(tokens.low, tokens.end(index))
        end = match.end() if match else tokens.end(index + 1)
        return Candidate.of_tokens(tokens, index, tokens.after(end, index), "price", end)
    earlier = tokens.words[max(0, index - 3) : index]
    if tokens.word(index - 1) in {"£", "€", "$", "gbp"} or (
        PATTERNS["cents"].fullmatch(tokens.words[index]) and has_any("price cues", earlier)
    ):
        return Candidate.of_tokens(tokens, index, index + 1, "price")
    return None


def _duration(tokens: Tokens, index: int) -> tuple[bool, Candidate | None]:
    """Return whether a duration begins at a token, and the duration if it belongs to a train ride.

    Frequencies, distances and notice periods are not durations of a train ride.
    """
    match = PATTERNS["duration"].match(tokens.low, tokens.start(index))
    if match is None:
        return False, None
    after = tokens.after(match.end(), index)
    earlier = tokens.words[max(0, index - 8) : index]
    on_foot = tokens.word(after) in ("-", "on", "by", "'")
    minutes = _minutes(match)
    is_ride = (
        not has_any("often", earlier[-2:])
        and not has_any("vague", earlier[-3:])
        and not has_any("holding", earlier)
        and tokens.word(after + on_foot) not in WORDS["not of trains"]
        and minutes <= LONGEST_RIDE
        and (minutes % 30 != 0 or not has_any("roughly", earlier[-2:]))
        and (minutes != TABLE_HELD or "for" not in earlier)
    )
    if not is_ride:
        return True, None
    return True, Candidate.of_tokens(tokens, index, after, "duration", match.end())


def _star_run(tokens: Tokens, index: int) -> Candidate | None:
    """Return a series of stars that is a hotel's rating. A single star may be decoration."""
    after = index
    while tokens.word(after) in STARS or tokens.word(after) == "☆":
        after += 1
    return Candidate.of_tokens(tokens, index, after, "stars") if after > index + 1 else None


def _last_of_stars(tokens: Tokens, index: int) -> int | None:
    """Return the last token of a hotel's rating that begins at a token, or None without one."""
    first, second, third, *_ = (*tokens.words[index + 1 : index + 4], "", "", "")
    if (first, second) == ("/", "5") or (first == "-" and second in WORDS["star words"]):
        return index + 2
    if (first, second, third) == ("out", "of", "5"):
        return index + 3
    if first in WORDS["star words"]:
        return index + (first in STARS)
    is_rating = tokens.word(index - 1) in {"of", "is", ":", "-", "|", "at", "="} and tokens.word(
        index - 2
    ) in {"rating", "ratings", "stars", "star", "rated"}
    return index if is_rating else None


def _time(tokens: Tokens, index: int) -> Candidate:
    low, end = tokens.low, tokens.end(index)
    for pattern in (PATTERNS["o'clock"], PATTERNS["half day"]):
        if match := pattern.match(low, end):
            end = match.end()
            if low[end - 1] == "." and not match[0].rstrip(".").endswith("m"):
                end -= 1
    return Candidate.of_tokens(tokens, index, tokens.after(end, index), "time", end)


_QUANTITIES: dict[str, list[list[str]]] = {}
for _first, *_rest in phrases("quantities"):
    _QUANTITIES.setdefault(_first, []).append([_first, *_rest])
QUANTITY_STARTS = _QUANTITIES.keys()


def quantity_at(tokens: Tokens, index: int) -> Candidate | None:
    """Return the vague number of choices (`quite a few`) that begins at a token, or None."""
    for phrase in _QUANTITIES.get(tokens.words[index], ()):
        after = index + len(phrase)
        if tokens.words[index:after] == phrase:
            is_degree = tokens.word(index - 1) in ("how", "that", "so", "too", "as")
            if is_degree or tokens.word(after) in WORDS["not chosen"]:
                return None
            return Candidate.of_tokens(tokens, index, after, "choice")
    return None
