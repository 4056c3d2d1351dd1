"""Pellingford, a fictional town: venues, trains, and phrases about them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mwzeval.multiwoz.schema import DATABASE_DOMAINS
from tools.samples.common import ROOT, read_lists, read_rows

FOLDER = Path(__file__).parent
PHRASES = read_lists(FOLDER / "phrases.tsv")
TOWN = "pellingford"
TOWNS = PHRASES["world", "town", ""]
AREAS = ("centre", "east", "north", "south", "west")
SLOTS = {row[0]: row[1:] for row in read_rows(FOLDER / "slots.tsv")}
OLD_NAMES = {slot: names[0] for slot, names in SLOTS.items()}
NUMBERS = PHRASES["world", "number", ""]
_SMALL_WORDS = ("and", "of", "the", "on", "at")
_PROPER = ("name", "departure", "destination", "day", "bookday", "address")
_FIELD = re.compile(r"\{([a-z]+)[0-9]*\}")
_ARTICLE = re.compile(r"\b([aA])\(n\) (\{[a-z]+[0-9]*\}|\w)")

Venue = Mapping[str, str]
"""A row of a database, with slots named as in MultiWOZ 2.2 (`trainid`, `entrancefee`)."""


def _venues(domain: str) -> list[Venue]:
    rows = json.loads((ROOT / f"data/sample/db/{domain}_db.json").read_text(encoding="utf-8"))
    return [
        {slot: row[old] for slot, old in OLD_NAMES.items() if isinstance(row.get(old), str)}
        for row in rows
    ]


VENUES = {domain: _venues(domain) for domain in DATABASE_DOMAINS}


def phrases(speaker: str, kind: str, key: str = "") -> tuple[str, ...]:
    """Return the phrases for a domain or slot if they exist, otherwise the general phrases."""
    return PHRASES.get((speaker, kind, key)) or PHRASES[speaker, kind, ""]


def find(domain: str, constraints: Mapping[str, str]) -> list[Venue]:
    """Return the venues that satisfy all constraints, in table order."""
    return [
        venue
        for venue in VENUES[domain]
        if all(_satisfies(venue, *constraint) for constraint in constraints.items())
    ]


def _satisfies(venue: Venue, slot: str, value: str) -> bool:
    own = venue.get(slot, "?")
    if own == "?" or value == "dontcare":
        return True
    # Times have the form "HH:MM", so that they are ordered as texts.
    if slot == "leaveat":
        return own >= value
    return own <= value if slot == "arriveby" else own == value


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


def text_of(segments: Sequence[Segment]) -> str:
    return " ".join(fill(s.template, s.values)[0] for s in segments)


def marks_of(segments: Sequence[Segment]) -> list[Mark]:
    """Return all slot values of the text, from left to right."""
    marks, offset = [], 0
    for segment in segments:
        text, fields = fill(segment.template, segment.values)
        for slot, start, end in fields:
            value = text[start:end]
            marks.append(Mark(segment.act, slot, value, offset + start, offset + end))
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
