"""Phrases and sentences from a table of wordings, with values in them word for word.

A key of the table is a kind such as `after` (behind the noun), a domain or `any`, and a slot. Where
a value is said in its own way, `=value` follows; `=same` are values such as "the same day".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random

from mwzeval.files.downloads import embedded
from mwzeval.files.json_files import table_rows

Values = Mapping[str, str]
"""Slot, spelled as in acts → value."""

ANY = "any"
OTHER = "other"
"""The slot of wordings for slots that have none of their own."""
ADJECTIVES = ("Price", "Stars", "Food", "Type")
"""Slots that can stand before the noun, in this order."""
BEHIND = (
    *("Name", "Depart", "Dest", "Food", "Type", "Area", "Day", "Leave", "Arrive", "Stars", "Price"),
    *("Department", "Internet", "Parking"),
)
"""Slots behind the noun, in this order; others follow."""

_PLACEHOLDER = re.compile(r"\{(\w+)(?:\|([^{}|]*)\|([^{}|]*))?\}")
_SAME = re.compile(r"(?:in )?(?:the )?same\b")
_ARTICLE = re.compile(r"\ba/an(?= (\W*)(\w*))")
_VOWEL = re.compile(r"(?!eu|uni|use|one\b)[aeiou]|8|11\b|18\b", re.IGNORECASE)
_DOUBLED = re.compile(r"\b([^\W_]+) \1\b", re.IGNORECASE)
_ONE = frozenset({"1", "one"})
_CLAUSES = frozenset({"with", "that", "rated", "without"})


class Phrases:
    """The wordings of a table, drawn by the generator of one dialogue."""

    def __init__(self, wordings: Mapping[str, Sequence[str]], rng: Random) -> None:
        self._wordings = wordings
        self._rng = rng

    def draw(self, probability: float = 0.5) -> bool:
        """Return True with a probability."""
        return self._rng.random() < probability

    def has(self, key: str) -> bool:
        """Return whether there are wordings of exactly this key."""
        return key in self._wordings

    def find(self, kind: str, domain: str, slot: str, value: str = "") -> Sequence[str]:
        """Return the wordings for a value of a slot; none when there are none at all."""
        known = _SAME.match(value.lower())
        said_as = "same" if known else value.lower()
        for key in (
            f"{kind} {domain} {slot}={said_as}",
            f"{kind} {ANY} {slot}={said_as}",
            f"{kind} {domain} {slot}",
            f"{kind} {ANY} {slot}",
        ):
            if key in self._wordings:
                return self._wordings[key]
        return ()

    def of(self, kind: str, domain: str, slot: str, value: str = "") -> str:
        """Return a phrase for a value of a slot, also where only one for any slot is known."""
        wordings = self.find(kind, domain, slot, value) or self.find(kind, domain, OTHER)
        return self.fill(wordings, {slot: value, "value": value})

    def sentence(self, key: str, domain: str = "", **parts: str) -> str:
        """Return a sentence; of a domain, or of any when the domain has no own."""
        wordings = self._wordings.get(f"{key} {domain}".strip())
        return self.fill(wordings or self._wordings[f"{key} {ANY}"], parts)

    def fill(self, wordings: Sequence[str], values: Values) -> str:
        """Return one of the wordings with its values, if possible one that doubles no word."""
        first = int(self._rng.random() * len(wordings))
        filled = ""
        for wording in (*wordings[first:], *wordings[:first]):
            filled = _filled(wording, values)
            if not _DOUBLED.search(filled):
                break
        return filled

    def noun_phrase(self, domain: str, values: Values) -> str:
        """Return what is described by values, without article: `cheap hotel in the north`."""
        left = dict(values)
        nouns = self._wordings.get(f"noun {domain} Type={left.get('Type', '').lower()}")
        noun = self.fill(nouns or self.find("noun", domain, "") or self._nouns(domain), left)
        if nouns:
            del left["Type"]
        words = []
        for slot in ADJECTIVES:
            if slot in left and not _SAME.match(left[slot].lower()):
                wordings = self.find("before", domain, slot, left[slot])
                if wordings:
                    words.append(self.fill(wordings, left))
                    del left[slot]
        return " ".join([*words, noun, *self.behind(domain, left)])

    def _nouns(self, domain: str) -> Sequence[str]:
        return self._wordings.get(f"noun {domain}") or self._wordings[f"noun {ANY}"]

    def behind(self, domain: str, values: Values) -> list[str]:
        """Return the phrases that follow the noun; with `and` where two clauses meet."""
        phrases: list[str] = []
        # What is not wanted comes last: "without wifi and with parking" is easily misread.
        slots = sorted(_ordered(values, BEHIND), key=lambda slot: values[slot].lower() == "no")
        for slot in slots:
            phrase = self.of("after", domain, slot, values[slot])
            clause = phrase.split()[0] in _CLAUSES
            follows = bool(phrases) and phrases[-1].removeprefix("and ").split()[0] in _CLAUSES
            phrases.append(f"and {phrase}" if clause and follows else phrase)
        return phrases

    def each(self, kind: str, domain: str, values: Values, order: Sequence[str] = ()) -> list[str]:
        """Return a phrase for each value."""
        return [self.of(kind, domain, slot, values[slot]) for slot in _ordered(values, order)]


def _ordered(values: Values, order: Sequence[str]) -> list[str]:
    return sorted(values, key=lambda slot: order.index(slot) if slot in order else len(order))


def _filled(wording: str, values: Values) -> str:
    def put(found: re.Match[str]) -> str:
        slot, one, many = found.groups()
        value = values[slot]
        if one is None:
            return value
        return one if value.strip().lower() in _ONE else many or ""

    return _PLACEHOLDER.sub(put, wording)


def listed(items: Sequence[str], word: str = "and") -> str:
    """Return `a, b and c`."""
    return f" {word} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def finished(sentence: str) -> str:
    """Return a sentence with a capital letter and the articles that its words need."""
    text = _ARTICLE.sub(lambda found: "an" if _VOWEL.match(found[2]) else "a", sentence)
    return text[:1].upper() + text[1:]


def begun_small(sentence: str) -> str:
    """Return a sentence as it goes on behind a comma."""
    first = sentence.split(maxsplit=1)[0]
    if first == "I" or first.startswith("I'"):
        return sentence
    return sentence[:1].lower() + sentence[1:]


def rounds(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return slots with their values, in as many dictionaries as a slot has values."""
    found: list[dict[str, str]] = []
    for slot, value in pairs:
        free = next((values for values in found if slot not in values), None)
        if free is None:
            free = {}
            found.append(free)
        free[slot] = value
    return found


@cache
def embedded_wordings() -> Mapping[str, tuple[str, ...]]:
    """Return mwzeval's own wordings: key → wordings."""
    wordings: dict[str, list[str]] = {}
    for key, wording in table_rows(embedded("live", "wordings.tsv"), 2):
        wordings.setdefault(key, []).append(wording)
    return {key: tuple(of_key) for key, of_key in wordings.items()}
