"""What users and agents say in words, from tables of wordings, with values in them word for word.

Acts become sentences by `wordings.tsv`: several acts in one sentence, drawn by a generator. A key
is a kind such as `after` (behind the noun), a domain or `any`, and a slot. Where a value is said in
its own way, `=value` follows; `=same` are values such as "the same day".

The template system and the rule agent have whole sentences in `agents.tsv`, which take turns.
"""

from __future__ import annotations

import re
import string
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Any

from mwzeval.multiwoz.acts import CHANGE, CORRECT, GENERAL, GIVE_UP, NONE, REPEAT, Act
from mwzeval.multiwoz.live.cues import keyed_lines
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, NAME_SLOTS

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

AGENTS = "agents.tsv"
_PLACEHOLDER = re.compile(r"\{(\w+)(?:\|([^{}|]*)\|([^{}|]*))?\}")
_SAME = re.compile(r"(?:in )?(?:the )?same\b")
_ARTICLE = re.compile(r"\ba/an(?= (\W*)(\w*))")
_VOWEL = re.compile(r"(?!eu|uni|use|one\b)[aeiou]|8|11\b|18\b", re.IGNORECASE)
_DOUBLED = re.compile(r"\b([^\W_]+) \1\b", re.IGNORECASE)
_ONE = frozenset({"1", "one"})
_CLAUSES = frozenset({"with", "that", "rated", "without"})
BOOKED = ("Name", "People", "Stay", "Day", "Time")
"""Slots of bookings, in the order in which they are said."""
_WHETHER = frozenset({"Internet", "Parking"})
_MARKERS = (CHANGE, CORRECT, REPEAT)
_UNKNOWN = frozenset({"", "?"})
_MOST_PREDICATES = 3


class Phrases:
    """Wordings of acts, drawn by the generator of one dialogue."""

    def __init__(self, rng: Random) -> None:
        self._wordings = keyed_lines("wordings.tsv")
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
        phrase = ""
        for wording in (*wordings[first:], *wordings[:first]):
            phrase = filled(wording, values.__getitem__)
            if not _DOUBLED.search(phrase):
                break
        return phrase

    def noun_phrase(self, domain: str, values: Values) -> str:
        """Return what is described by values, without article: `cheap hotel in the north`."""
        left = dict(values)
        nouns = self._wordings.get(f"noun {domain} Type={left.get('Type', '').lower()}")
        others = self._wordings.get(f"noun {domain}") or self._wordings[f"noun {ANY}"]
        noun = self.fill(nouns or self.find("noun", domain, "") or others, left)
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


def filled(wording: str, value: Callable[[str], str]) -> str:
    """Return a wording with the values of its slots."""

    def put(found: re.Match[str]) -> str:
        slot, singular, plural = found.groups()
        known = value(slot)
        if singular is None:
            return known
        return singular if known.strip().lower() in _ONE else plural or ""

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


# Sentences of agents


def agent_sentence(agent: str, what: str, seed: str, value: Callable[[str], str]) -> str:
    """Return a sentence with the values of its slots; which of several depends on `seed` alone."""
    table = keyed_lines(AGENTS)
    wordings = table.get(f"{agent} {what}") or table[what]
    return filled(wordings[zlib.crc32(f"{seed} {what}".encode()) % len(wordings)], value)


def details(row: Mapping[str, Any], slots: Iterable[str], value: Callable[[str], str]) -> str:
    """Return what a row of the database says of slots, as one sentence."""
    table = keyed_lines(AGENTS)
    clauses = []
    for slot in slots:
        known = row.get(slot)
        if not isinstance(known, str) or known in _UNKNOWN:
            name = table.get(f"name of {slot}", (slot,))[0]
            clauses.append(filled(table["detail unknown"][0], {"what": name}.__getitem__))
        else:
            flag = "no" if known == "no" else "yes"
            wordings = table.get(f"detail {slot}={flag}") or table[f"detail {slot}"]
            clauses.append(filled(wordings[0], value))
    return f"{listed(clauses)}."


def shown_value(slot: str, value: str) -> str:
    """Return a value of the database as agents write it."""
    if slot in NAME_SLOTS:
        return string.capwords(value)
    return value.upper() if slot == "postcode" else value


# Acts in words


class UserWordings:
    """Puts the acts of users into words."""

    def say(self, acts: Sequence[Act], rng: Random) -> str:
        """Return what a user says; the empty text for no acts that are known."""
        return _UserTurn(rng).text(acts)


class SystemWordings:
    """Puts the acts of systems into words."""

    def say(self, acts: Sequence[Act], rng: Random) -> str:
        """Return what a system says; the empty text for no acts that are known."""
        return _SystemTurn(rng).text(acts)


class _Turn(ABC):
    """The sentences of a turn in the making."""

    def __init__(self, rng: Random) -> None:
        self.sentences: list[str] = []
        self._phrases = Phrases(rng)

    def text(self, acts: Sequence[Act]) -> str:
        for (intent, domain), group in groupby(acts, key=lambda act: act[:2]):
            self.add(intent.lower(), domain.lower(), list(group))
        return " ".join(map(finished, self.sentences))

    @abstractmethod
    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        """Add sentences for acts of one intent and domain."""


def _pair(act: Act) -> tuple[str, str]:
    # What databases do not know, people call unknown.
    return act.slot, "unknown" if act.value.strip() in _UNKNOWN else act.value


class _UserTurn(_Turn):
    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._markers: set[str] = set()

    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        if domain == GENERAL:
            self._general(acts)
            return
        before = len(self.sentences)
        for values in rounds(map(_pair, acts)):
            if intent == "request":
                self._ask(domain, values)
            else:
                self._inform(domain, values)
        for marker in (REPEAT.intent, CORRECT.intent):
            if marker in self._markers and len(self.sentences) > before:
                rest = self.sentences[before]
                self.sentences[before] = self._phrases.sentence(
                    f"user {marker}", rest=begun_small(rest), Rest=finished(rest)
                )
        self._markers.clear()

    def _general(self, acts: Sequence[Act]) -> None:
        for act in acts:
            if act in _MARKERS:
                self._markers.add(act.intent)
            elif act.intent == GIVE_UP:
                sentence = self._phrases.sentence("user giveup", what=act.value)
                self.sentences.append(sentence)
            elif self._phrases.has(f"user {act.intent}"):
                self.sentences.append(self._phrases.sentence(f"user {act.intent}"))

    def _inform(self, domain: str, values: dict[str, str]) -> None:
        phrases = self._phrases
        opens = values.pop(NONE, None) is not None
        any_will_do = values.pop("Choice", None) is not None
        books_not = values.pop("NotBook", None) is not None
        unwanted = {slot: value for slot, value in values.items() if value == "dontcare"}
        booking = {
            slot: value
            for slot, value in values.items()
            if slot in ACT_BOOKING_SLOTS.get(domain, ()) and slot not in unwanted
        }
        wanted = {
            slot: value
            for slot, value in values.items()
            if slot not in booking and slot not in unwanted
        }
        add = self.sentences.append
        if wanted or opens:
            add(self._want(domain, wanted, opens))
        if unwanted:
            things = listed(phrases.each("thing", domain, unwanted))
            add(phrases.sentence("user dontcare", domain, things=things))
        if booking:
            how = " ".join(phrases.each("how", domain, booking, BOOKED))
            add(self._book(domain, how))
        if any_will_do:
            add(phrases.sentence("user any", domain))
        if books_not:
            add(phrases.sentence("user notbook", domain))

    def _want(self, domain: str, wanted: Values, opens: bool) -> str:
        phrases = self._phrases
        if set(wanted) == {"Name"} and not opens and phrases.draw():
            return phrases.sentence("user name", domain, **wanted)
        if CHANGE.intent in self._markers:
            what = f"a/an {phrases.noun_phrase(domain, wanted)}"
            return phrases.sentence("user change", domain, what=what)
        if opens or REPEAT.intent in self._markers:
            what = f"a/an {phrases.noun_phrase(domain, wanted)}"
            return phrases.sentence("user begin", domain, what=what)
        after = " ".join(phrases.behind(domain, wanted))
        be = listed(
            [
                phrases.of("be", domain, slot, value)
                if phrases.find("be", domain, slot, value)
                else f"be one {phrases.of('after', domain, slot, value)}"
                for slot, value in wanted.items()
            ]
        )
        return phrases.sentence("user more", domain, be=be, after=after)

    def _book(self, domain: str, how: str) -> str:
        for marker in (CHANGE.intent, CORRECT.intent):
            if marker in self._markers:
                return self._phrases.sentence(f"user {marker} book", how=how)
        return self._phrases.sentence("user book", domain, how=how)

    def _ask(self, domain: str, asked: Values) -> None:
        things = listed(self._phrases.each("thing", domain, asked))
        if self._phrases.draw(0.3) and domain not in things and not _WHETHER.intersection(asked):
            things = f"{things} of the {domain}"
        plain = not _WHETHER.intersection(asked) and self._phrases.draw(0.6)
        kind = ("noun" if len(asked) == 1 else "nouns") if plain else "any"
        self.sentences.append(self._phrases.sentence(f"user ask {kind}", things=things))


class _SystemTurn(_Turn):
    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        if domain == GENERAL:
            keys = (f"system {act.intent}" for act in acts)
            self.sentences += (
                self._phrases.sentence(key) for key in keys if self._phrases.has(key)
            )
            return
        if intent == "select":
            self._select(domain, acts)
            return
        for values in rounds(map(_pair, acts)):
            if intent == "request":
                self._ask(domain, values)
            elif intent == "nooffer":
                self._find_nothing(domain, values)
            elif intent in ("book", "nobook") or domain == "booking":
                self._book(intent if intent in ("book", "nobook") else "booking", values)
            else:
                self._tell(domain, intent, values)

    def _say(self, key: str, domain: str = "", **parts: str) -> None:
        self.sentences.append(self._phrases.sentence(f"system {key}", domain, **parts))

    def _tell(self, domain: str, intent: str, values: dict[str, str]) -> None:
        values.pop(NONE, None)
        if intent in ("offerbook", "offerbooked"):
            self._say("offer" if intent == "offerbook" else "booked", "train")
        elif not values:
            self._say("found" if intent == "inform" else "recommended", domain)
        choice, name = values.pop("Choice", None), values.pop("Name", None)
        # Of a venue it is said like any other field: nothing is booked yet.
        reference = values.pop("Ref", None) if domain == "train" else None
        if choice is not None:
            self._say("choice", domain, Choice=choice)
        if name is not None:
            self._say("recommend" if intent == "recommend" else "name", domain, Name=name)
        if "Car" in values:
            self._say("booked", "taxi")
        predicates = self._phrases.each("tells", domain, values)
        for start in range(0, len(predicates), _MOST_PREDICATES):
            tells = listed(predicates[start : start + _MOST_PREDICATES])
            it = self._phrases.sentence("system it", domain)
            self._say("tells", domain, it=it, tells=tells)
        if reference is not None:
            self._say("reference", domain, Ref=reference)
        if intent == "offerbook":
            self._say("offerbook", "train")

    def _find_nothing(self, domain: str, values: dict[str, str]) -> None:
        values.pop(NONE, None)
        if values:
            self._say("nooffer", domain, np=self._phrases.noun_phrase(domain, values))
        else:
            self._say("nothing", domain)

    def _select(self, domain: str, acts: Sequence[Act]) -> None:
        options = []
        for slot, value in map(_pair, acts):
            if slot == "Choice":
                self._say("select Choice", "", Choice=value)
            elif slot == NONE:
                self._say("select none")
            else:
                options.append(f"one {self._phrases.of('after', domain, slot, value)}")
        if options:
            self._say("select", domain, options=listed(options, "or"))

    def _book(self, intent: str, values: dict[str, str]) -> None:
        values.pop(NONE, None)
        reference = values.pop("Ref", None) if intent != "nobook" else None
        if values:
            how = " ".join(self._phrases.each("how", "booking", values, BOOKED))
            self._say(f"{intent} how", how=how)
        elif intent != "booking" or reference is None:
            self._say(intent, "any")
        if reference is not None:
            self._say("reference", "any", Ref=reference)

    def _ask(self, domain: str, asked: Values) -> None:
        phrases = self._phrases
        questions = [phrases.find("system question", domain, slot) for slot in asked]
        if all(questions) and len(questions) < _MOST_PREDICATES and phrases.draw(0.7):
            self.sentences += (phrases.fill(wordings, {}) for wordings in questions)
            return
        things = listed(phrases.each("thing", domain, asked))
        kind = "whether" if _WHETHER.intersection(asked) else "any"
        self._say(f"ask {kind}", things=things)
