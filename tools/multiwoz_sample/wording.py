"""Filling templates, remembering where each value stands, and how values are spoken."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
           "eleven", "twelve")  # fmt: skip
_TENS = {15: "fifteen", 30: "thirty", 45: "forty five"}
_SMALL_WORDS = ("and", "of", "the", "on", "at")
_PROPER = ("name", "departure", "destination", "day", "bookday", "address")
_COUNTRIES = ("italian", "indian", "chinese", "british", "french", "thai", "turkish", "mexican",
              "japanese", "greek")  # fmt: skip
_KINDS = {"swimmingpool": "swimming pool", "concerthall": "concert hall", "boat": "boat trip",
          "architecture": "historic building", "entertainment": "games venue"}  # fmt: skip
_FIELD = re.compile(r"\{([a-z]+)[0-9]*\}")
_ARTICLE = re.compile(r"\b([aA])\(n\) (\{[a-z]+[0-9]*\}|\w)")


@dataclass(frozen=True)
class Mark:
    """A slot value in a text: `text[start:end]` is the value as it is spoken."""

    act: str
    slot: str
    start: int
    end: int


@dataclass(frozen=True)
class Segment:
    """One thing said: a template of some kind, the values it was filled with, and its act."""

    kind: str
    domain: str
    act: str
    template: str
    values: Mapping[str, str]
    asked: tuple[str, ...] = ()
    unspoken: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Utterance:
    """All that one side says in a turn."""

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The words."""
        return " ".join(fill(s.template, s.values)[0] for s in self.segments)

    @property
    def marks(self) -> list[Mark]:
        """Every slot value of the text, from left to right."""
        marks, offset = [], 0
        for segment in self.segments:
            text, fields = fill(segment.template, segment.values)
            for slot, start, end in fields:
                marks.append(Mark(segment.act, slot, offset + start, offset + end))
            offset += len(text) + 1
        return marks


def fields_of(template: str) -> list[str]:
    """Return the field names of a template, with their digits ("name2")."""
    return [match[1:-1] for match in re.findall(r"\{[a-z]+[0-9]*\}", template)]


def usable(templates: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Return the templates that need no value which is not there."""
    return [t for t in templates if all(f in values for f in fields_of(t))]


def fill(template: str, values: Mapping[str, str]) -> tuple[str, list[tuple[str, int, int]]]:
    """Return the text and (slot, start, end) of every value in it.

    "a(n)" becomes "a" or "an", as what follows it asks for.
    """

    def article(match: re.Match[str]) -> str:
        after = match.group(2)
        word = values[after[1:-1]] if after.startswith("{") else after
        ending = "n" if word[:1].lower() in "aeio" or word.startswith("8") else ""
        return f"{match.group(1)}{ending} {after}"

    template = _ARTICLE.sub(article, template)
    text, marks, last = "", [], 0
    for match in _FIELD.finditer(template):
        text += template[last : match.start()]
        value = values[match.group(0)[1:-1]]
        if not text and value[:1].islower():
            value = value[:1].upper() + value[1:]
        marks.append((match.group(1), len(text), len(text) + len(value)))
        text += value
        last = match.end()
    return text + template[last:], marks


def spoken(slot: str, value: str) -> str:
    """Return a database value as people write it."""
    if slot in _PROPER:
        words = value.split(" ")
        return " ".join(
            w if w in _SMALL_WORDS and i else w[:1].upper() + w[1:] for i, w in enumerate(words)
        )
    if slot == "food" and value in _COUNTRIES:
        return value.capitalize()
    if slot == "postcode":
        return value.upper()
    return _KINDS.get(value, value)


def times_in_words(clock: str) -> list[str]:
    """Return ways to say a time on the quarter hour, the 24-hour way not among them."""
    hour, minute = int(clock[:2]), int(clock[3:])
    name, following = NUMBERS[(hour + 11) % 12 + 1], NUMBERS[hour % 12 + 1]
    half_day = "pm" if hour >= 12 else "am"
    if minute == 0:
        return [f"{name} o'clock", f"{(hour + 11) % 12 + 1} {half_day}"]
    ways = [f"{name} {_TENS[minute]}", f"{(hour + 11) % 12 + 1}:{minute:02d} {half_day}"]
    ways.append({15: f"quarter past {name}", 30: f"half past {name}",
                 45: f"quarter to {following}"}[minute])  # fmt: skip
    return ways


def joined(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
