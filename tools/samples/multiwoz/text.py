"""Filling phrases, the positions of values in them, and values as people write them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tools.samples.multiwoz.world import PHRASES, phrases

NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
_SMALL_WORDS = ("and", "of", "the", "on", "at")
_PROPER = ("name", "departure", "destination", "day", "bookday", "address")
_FIELD = re.compile(r"\{([a-z]+)[0-9]*\}")
_ARTICLE = re.compile(r"\b([aA])\(n\) (\{[a-z]+[0-9]*\}|\w)")


@dataclass(frozen=True)
class Segment:
    """A filled phrase: its kind, its domain or slots as key, its act and its values.

    `asked` are the slots that it requests, `unspoken` the values that it expresses without words.
    """

    kind: str
    key: str
    domain: str
    act: str
    template: str
    values: Mapping[str, str]
    asked: tuple[str, ...] = ()
    unspoken: tuple[tuple[str, str], ...] = ()


class Mark(NamedTuple):
    """A slot value in a text, `text[start:end]`, as MultiWOZ 2.2 has it."""

    act: str
    slot: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Utterance:
    """The phrases of one side in a turn."""

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The phrases joined."""
        return " ".join(fill(s.template, s.values)[0] for s in self.segments)

    @property
    def marks(self) -> list[Mark]:
        """All slot values of the text, from left to right."""
        marks, offset = [], 0
        for segment in self.segments:
            text, fields = fill(segment.template, segment.values)
            marks += [
                Mark(segment.act, slot, text[start:end], offset + start, offset + end)
                for slot, start, end in fields
            ]
            offset += len(text) + 1
        return marks


def usable(templates: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Return the templates whose fields all have values."""
    return [t for t in templates if all(m[0][1:-1] in values for m in _FIELD.finditer(t))]


def fill(template: str, values: Mapping[str, str]) -> tuple[str, list[tuple[str, int, int]]]:
    """Return the text and (slot, start, end) of its values; "a(n)" becomes "a" or "an"."""

    def article(match: re.Match[str]) -> str:
        after = match[2]
        word = values[after[1:-1]] if after.startswith("{") else after
        ending = "n" if word[:1].lower() in "aeio" or word.startswith("8") else ""
        return f"{match[1]}{ending} {after}"

    template = _ARTICLE.sub(article, template)
    text, marks, last = "", [], 0
    for match in _FIELD.finditer(template):
        text += template[last : match.start()]
        value = values[match[0][1:-1]]
        if not text:
            value = value[:1].upper() + value[1:]
        marks.append((match[1], len(text), len(text) + len(value)))
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
    if slot == "food" and value != "vegetarian":
        return value.capitalize()
    if slot == "postcode":
        return value.upper()
    return PHRASES.get(("world", "type", value), (value,))[0]


def times_in_words(clock: str) -> list[str]:
    """Return ways to say a time on the quarter hour on a 12-hour clock."""
    hour, minute = map(int, clock.split(":"))
    number, half_day = (hour + 11) % 12 + 1, "pm" if hour >= 12 else "am"
    name = NUMBERS[number]
    if minute == 0:
        return [f"{name} o'clock", f"{number} {half_day}"]
    digits, quarter = {
        15: ("fifteen", f"quarter past {name}"),
        30: ("thirty", f"half past {name}"),
        45: ("forty five", f"quarter to {NUMBERS[hour % 12 + 1]}"),
    }[minute]
    return [f"{name} {digits}", f"{number}:{minute:02d} {half_day}", quarter]


def joined(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def opening(
    domain: str, slots: Collection[str], *, first: bool, pick: Callable[[Sequence[str]], str]
) -> Sequence[str]:
    """Return phrases that begin a domain, such as "I need a(n) {food} place in the {area}."."""
    if "name" in slots:
        return phrases("user", "open name")
    ride, noun = domain in ("train", "taxi"), pick(phrases("user", "noun", domain))
    order: tuple[str, ...] = ("departure", "destination", "day", "leaveat", "arriveby")
    before, after = [noun], list[str]()
    if not ride:
        order = ("food", "stars", "internet", "parking", "area")
        before = ["a(n)", *(["{pricerange}"] if "pricerange" in slots else [])]
    for slot in filter(slots.__contains__, order):
        in_front = slot in ("food", "stars") and pick(("before", "after")) == "before"
        if in_front and (slot == "stars" or noun == "restaurant"):
            before.append("{food}" if slot == "food" else "{stars} star")
        else:
            after.insert(0 if slot == "area" else len(after), pick(phrases("user", "with", slot)))
    if not ride:
        before.append("{type}" if "type" in slots else noun)
    frames = phrases("user", "open ride" if ride else "open", "first" if first else "next")
    return [pick(frames).replace("{np}", " ".join([*before, *after]))]
