"""Templates that express dialogue acts and goals as text with literal values.

The file `wordings.tsv` has the wordings for dialogue acts. A sentence may express several acts, and
a random generator chooses between wordings. A key of `wordings.tsv` consists of a kind such as
`after` (after the noun), a domain or `any`, and a slot. Keys of values that are not literal also
have `=value`, and keys of phrases such as "the same day" have `=same`.

The template system and the rule agent use whole sentences from `agents.tsv` in rotation. Goals are
expressed by the phrases in `goal_sentences.tsv`.
"""

from __future__ import annotations

import re
import string
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Any

from mwzeval.multiwoz.acts import (
    ASIDE,
    CHANGE,
    CHANGE_OF_MIND,
    CORRECT,
    GENERAL,
    GIVE_UP,
    NONE,
    REPEAT,
    RETURN,
    SLIP,
    Act,
)
from mwzeval.multiwoz.goals import ORDERING, Goal, RunGoals, places_before_taxi
from mwzeval.multiwoz.schema import (
    ACT_BOOKING_SLOTS,
    DONTCARE_SPELLINGS,
    FLAG_SLOTS,
    NAME_SLOTS,
    UNKNOWN_VALUES,
)
from mwzeval.multiwoz.words.vocabulary import keyed_rows

Values = Mapping[str, str]
"""Maps slots, spelled as in acts, to values."""

ANY = "any"
OTHER = "other"
"""The slot name in the keys of wordings for all slots that have no own wordings."""
ADJECTIVES = ("Price", "Stars", "Food", "Type")
"""Slots that can precede the noun, in this order."""
BEHIND = (
    *("Name", "Depart", "Dest", "Food", "Type", "Area", "Day", "Leave", "Arrive", "Stars", "Price"),
    *("Department", "Internet", "Parking"),
)
"""Slots that follow the noun, in this order; all remaining slots come after these."""

AGENTS = "agents.tsv"
_PLACEHOLDER = re.compile(r"\{(\w+)(?:\|([^{}|]*)\|([^{}|]*))?\}")
_SAME = re.compile(r"(?:in )?(?:the )?same\b")
_ARTICLE = re.compile(r"\ba/an(?= (\W*)(\w*))")
_VOWEL = re.compile(r"(?!eu|uni|use|one\b)[aeiou]|8|11\b|18\b", re.IGNORECASE)
_DOUBLED = re.compile(r"\b([^\W_]+) \1\b", re.IGNORECASE)
_ONE = frozenset({"1", "one"})
_CLAUSES = frozenset({"with", "that", "rated", "without"})
BOOKED = ("Name", "People", "Stay", "Day", "Time")
"""Slots of bookings, in the order of a sentence."""
_WHETHER = frozenset({"Internet", "Parking"})
_MOST_PREDICATES = 3
_CHANGES = (CHANGE, CHANGE_OF_MIND, SLIP)
_MARKERS = frozenset({*_CHANGES, CORRECT, REPEAT})


def _ordered(values: Values, order: Sequence[str]) -> list[str]:
    return sorted(values, key=lambda slot: order.index(slot) if slot in order else len(order))


def filled(wording: str, value: Callable[[str], str]) -> str:
    """Return a wording in which the slots are replaced by their values."""

    def put(found: re.Match[str]) -> str:
        slot, singular, plural = found.groups()
        known = value(slot)
        if singular is None:
            return known
        return singular if known.strip().lower() in _ONE else plural or ""

    return _PLACEHOLDER.sub(put, wording)


def listed(items: Sequence[str], word: str = "and") -> str:
    """Return the items as an enumeration such as `a, b and c`."""
    return f" {word} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def finished(sentence: str) -> str:
    """Return a sentence with an initial capital and with the correct form of `a/an`."""
    text = _ARTICLE.sub(lambda found: "an" if _VOWEL.match(found[2]) else "a", sentence)
    return text[:1].upper() + text[1:]


def begun_small(sentence: str) -> str:
    """Return a sentence with a lower-case first letter (except in "I"), as needed after a comma."""
    first = sentence.split(maxsplit=1)[0]
    if first == "I" or first.startswith("I'"):
        return sentence
    return sentence[:1].lower() + sentence[1:]


def rounds(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Distribute pairs of slot and value over dictionaries.

    A slot with two values is in two dictionaries.
    """
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
    """Return a sentence of an agent, with inserted values. The wording depends only on `seed`."""
    table = keyed_rows("live", AGENTS)
    wordings = table.get(f"{agent} {what}") or table[what]
    return filled(wordings[zlib.crc32(f"{seed} {what}".encode()) % len(wordings)], value)


def details(row: Mapping[str, Any], slots: Iterable[str], value: Callable[[str], str]) -> str:
    """Return the values of a database row for some slots, as one sentence."""
    table = keyed_rows("live", AGENTS)
    clauses = []
    for slot in slots:
        known = row.get(slot)
        if not isinstance(known, str) or known in UNKNOWN_VALUES:
            name = table.get(f"name of {slot}", (slot,))[0]
            clauses.append(filled(table["detail unknown"][0], {"what": name}.__getitem__))
        else:
            flag = "no" if known == "no" else "yes"
            wordings = table.get(f"detail {slot}={flag}") or table[f"detail {slot}"]
            clauses.append(filled(wordings[0], value))
    return f"{listed(clauses)}."


def shown_value(slot: str, value: str) -> str:
    """Return a database value in the spelling that agents use."""
    if slot in NAME_SLOTS:
        return string.capwords(value)
    return value.upper() if slot == "postcode" else value


# Text for acts


def is_same(value: str) -> bool:
    """Return whether a value is a reference to the value of another domain."""
    return _SAME.match(value.lower()) is not None


def user_text(acts: Sequence[Act], rng: Random) -> str:
    """Return a text that expresses the user acts, or an empty text if no act is known."""
    return _UserTurn(rng).text(acts)


def system_text(acts: Sequence[Act], rng: Random) -> str:
    """Return the text for system acts, or an empty text if no act is known."""
    return _SystemTurn(rng).text(acts)


class _Turn(ABC):
    """The sentences of a turn. The dialogue's random generator selects wordings."""

    def __init__(self, rng: Random) -> None:
        self.sentences: list[str] = []
        self._wordings = keyed_rows("live", "wordings.tsv")
        self._rng = rng

    def text(self, acts: Sequence[Act]) -> str:
        for (intent, domain), group in groupby(acts, key=lambda act: act[:2]):
            if domain.lower() == GENERAL:
                for act in group:
                    self.add_general(act)
            else:
                self.add(intent.lower(), domain.lower(), list(group))
        return " ".join(map(finished, self.sentences))

    @abstractmethod
    def add_general(self, act: Act) -> None:
        """Add the text for an act without a domain."""

    @abstractmethod
    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        """Add sentences for acts of one intent and domain."""

    def find(self, kind: str, domain: str, slot: str, value: str = "") -> Sequence[str]:
        """Return the possible wordings of a slot's value; the list may be empty."""
        spelled = "same" if is_same(value) else value.lower()
        for name in (f"{slot}={spelled}", slot):
            for scope in (domain, ANY):
                if (key := f"{kind} {scope} {name}") in self._wordings:
                    return self._wordings[key]
        return ()

    def phrase(self, kind: str, domain: str, slot: str, value: str) -> str:
        """Return a phrase for a value of a slot, which is general for slots without wordings."""
        wordings = self.find(kind, domain, slot, value) or self.find(kind, domain, OTHER)
        return self.fill(wordings, {slot: value, "value": value})

    def phrases(
        self, kind: str, domain: str, values: Values, order: Sequence[str] = ()
    ) -> list[str]:
        return [self.phrase(kind, domain, slot, values[slot]) for slot in _ordered(values, order)]

    def sentence(self, key: str, domain: str = "", **parts: str) -> str:
        """Return a sentence for a domain, or a general sentence if the domain has none."""
        wordings = self._wordings.get(f"{key} {domain}".strip())
        return self.fill(wordings or self._wordings[f"{key} {ANY}"], parts)

    def fill(self, wordings: Sequence[str], values: Values) -> str:
        """Return one of the wordings with its values, preferably without a repeated word."""
        first = int(self._rng.random() * len(wordings))
        phrase = ""
        for wording in (*wordings[first:], *wordings[:first]):
            phrase = filled(wording, values.__getitem__)
            if not _DOUBLED.search(phrase):
                break
        return phrase

    def noun_phrase(self, domain: str, values: Values) -> str:
        """Return a noun phrase without an article for these values: `cheap hotel in the north`."""
        left = dict(values)
        nouns = self._wordings.get(f"noun {domain} Type={left.get('Type', '').lower()}")
        others = self._wordings.get(f"noun {domain}") or self._wordings[f"noun {ANY}"]
        noun = self.fill(nouns or self.find("noun", domain, "") or others, left)
        if nouns:
            del left["Type"]
        words = []
        for slot in ADJECTIVES:
            if slot in left and not is_same(left[slot]):
                wordings = self.find("before", domain, slot, left[slot])
                if wordings:
                    words.append(self.fill(wordings, left))
                    del left[slot]
        return " ".join([*words, noun, *self.behind(domain, left)])

    def behind(self, domain: str, values: Values) -> list[str]:
        """Return the phrases that follow the noun, with `and` between adjacent clauses."""
        phrases: list[str] = []
        # Negative phrases are last: "without wifi and with parking" is easily misread.
        slots = sorted(_ordered(values, BEHIND), key=lambda slot: values[slot].lower() == "no")
        for slot in slots:
            phrase = self.phrase("after", domain, slot, values[slot])
            clause = phrase.split()[0] in _CLAUSES
            follows = bool(phrases) and phrases[-1].removeprefix("and ").split()[0] in _CLAUSES
            phrases.append(f"and {phrase}" if clause and follows else phrase)
        return phrases


def _pair(act: Act) -> tuple[str, str]:
    # Write "unknown" for values that are missing in the database.
    return act.slot, "unknown" if act.value.strip() in UNKNOWN_VALUES else act.value


class _UserTurn(_Turn):
    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._markers: set[str] = set()

    def add_general(self, act: Act) -> None:
        if act in _MARKERS:
            self._markers.add(act.intent)
        elif act.intent in (GIVE_UP, RETURN):
            self.sentences.append(self.sentence(f"user {act.intent}", what=act.value))
        elif act.intent == ASIDE:
            self.sentences.append(act.value)
        elif f"user {act.intent}" in self._wordings:
            self.sentences.append(self.sentence(f"user {act.intent}"))

    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        before = len(self.sentences)
        for values in rounds(map(_pair, acts)):
            if intent == "request":
                self._ask(domain, values)
            else:
                self._inform(domain, values)
        for marker in (REPEAT.intent, CORRECT.intent):
            if marker in self._markers and len(self.sentences) > before:
                rest = self.sentences[before]
                self.sentences[before] = self.sentence(
                    f"user {marker}", rest=begun_small(rest), Rest=finished(rest)
                )
        self._markers.clear()

    def _inform(self, domain: str, values: dict[str, str]) -> None:
        opens = values.pop(NONE, None) is not None
        any_choice = values.pop("Choice", None) is not None
        no_booking = values.pop("NotBook", None) is not None
        wanted, booking, unwanted = dict[str, str](), dict[str, str](), dict[str, str]()
        for slot, value in values.items():
            is_booking = slot in ACT_BOOKING_SLOTS.get(domain, ())
            kind = unwanted if value == "dontcare" else booking if is_booking else wanted
            kind[slot] = value
        add = self.sentences.append
        if wanted or opens:
            add(self._want(domain, wanted, opens))
        if unwanted:
            things = listed(self.phrases("thing", domain, unwanted))
            add(self.sentence("user dontcare", domain, things=things))
        if booking:
            how = " ".join(self.phrases("how", domain, booking, BOOKED))
            # A slip concerns a venue. A booking in the same message is not corrected.
            changes = (CHANGE, CHANGE_OF_MIND, CORRECT)
            markers = [marker.intent for marker in changes if marker.intent in self._markers]
            key, scope = (f"user {markers[0]} book", "") if markers else ("user book", domain)
            add(self.sentence(key, scope, how=how, what=domain))
        if any_choice:
            add(self.sentence("user any", domain))
        if no_booking:
            add(self.sentence("user notbook", domain))

    def _want(self, domain: str, wanted: Values, opens: bool) -> str:
        if set(wanted) == {"Name"} and not opens and self._rng.random() < 0.5:
            return self.sentence("user name", domain, **wanted)
        changes = [marker.intent for marker in _CHANGES if marker.intent in self._markers]
        if changes or opens or REPEAT.intent in self._markers:
            what = f"a/an {self.noun_phrase(domain, wanted)}"
            return self.sentence(f"user {changes[0] if changes else 'begin'}", domain, what=what)
        after = " ".join(self.behind(domain, wanted))
        be = listed(
            [
                self.phrase("be", domain, slot, value)
                if self.find("be", domain, slot, value)
                else f"be one {self.phrase('after', domain, slot, value)}"
                for slot, value in wanted.items()
            ]
        )
        return self.sentence("user more", domain, be=be, after=after)

    def _ask(self, domain: str, asked: Values) -> None:
        things = listed(self.phrases("thing", domain, asked))
        is_flag = not _WHETHER.isdisjoint(asked)
        if self._rng.random() < 0.3 and domain not in things and not is_flag:
            things = f"{things} of the {domain}"
        kind = "any"
        if not is_flag and self._rng.random() < 0.6:
            kind = "noun" if len(asked) == 1 else "nouns"
        self.sentences.append(self.sentence(f"user ask {kind}", things=things))


class _SystemTurn(_Turn):
    def add_general(self, act: Act) -> None:
        if f"system {act.intent}" in self._wordings:
            self._say(act.intent)

    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        if intent == "select":
            self._select(domain, acts)
            return
        for values in rounds(map(_pair, acts)):
            if intent == "request":
                self._ask(domain, values)
                continue
            values.pop(NONE, None)
            if intent == "nooffer":
                if values:
                    self._say("nooffer", domain, np=self.noun_phrase(domain, values))
                else:
                    self._say("nothing", domain)
            elif intent in ("book", "nobook") or domain == "booking":
                self._book(intent if intent in ("book", "nobook") else "booking", values)
            else:
                self._inform(domain, intent, values)

    def _say(self, key: str, domain: str = "", **parts: str) -> None:
        self.sentences.append(self.sentence(f"system {key}", domain, **parts))

    def _inform(self, domain: str, intent: str, values: dict[str, str]) -> None:
        if intent in ("offerbook", "offerbooked"):
            self._say("offer" if intent == "offerbook" else "booked", "train")
        elif not values:
            self._say("found" if intent == "inform" else "recommended", domain)
        choice, name = values.pop("Choice", None), values.pop("Name", None)
        # The `Ref` of a venue is an ordinary field, because there is no booking yet.
        reference = values.pop("Ref", None) if domain == "train" else None
        if choice is not None:
            self._say("choice", domain, Choice=choice)
        if name is not None:
            self._say("recommend" if intent == "recommend" else "name", domain, Name=name)
        if "Car" in values:
            self._say("booked", "taxi")
        predicates = self.phrases("tells", domain, values)
        for start in range(0, len(predicates), _MOST_PREDICATES):
            tells = listed(predicates[start : start + _MOST_PREDICATES])
            self._say("tells", domain, it=self.sentence("system it", domain), tells=tells)
        if reference is not None:
            self._say("reference", domain, Ref=reference)
        if intent == "offerbook":
            self._say("offerbook", "train")

    def _select(self, domain: str, acts: Sequence[Act]) -> None:
        options = []
        for slot, value in map(_pair, acts):
            if slot == "Choice":
                self._say("select Choice", "", Choice=value)
            elif slot == NONE:
                self._say("select none")
            else:
                options.append(f"one {self.phrase('after', domain, slot, value)}")
        if options:
            self._say("select", domain, options=listed(options, "or"))

    def _book(self, intent: str, values: dict[str, str]) -> None:
        reference = values.pop("Ref", None) if intent != "nobook" else None
        if values:
            self._say(f"{intent} how", how=" ".join(self.phrases("how", "booking", values, BOOKED)))
        elif intent != "booking" or reference is None:
            self._say(intent, "any")
        if reference is not None:
            self._say("reference", "any", Ref=reference)

    def _ask(self, domain: str, asked: Values) -> None:
        questions = [self.find("system question", domain, slot) for slot in asked]
        if all(questions) and len(questions) < _MOST_PREDICATES and self._rng.random() < 0.7:
            self.sentences += (self.fill(wordings, {}) for wordings in questions)
            return
        things = listed(self.phrases("thing", domain, asked))
        self._say(f"ask {'any' if _WHETHER.isdisjoint(asked) else 'whether'}", things=things)


# Goals as sentences, for people and language models that play the user. The sentences contain
# everything that affects the judgment, with explicit values, because "the same day" would be
# ambiguous.

TOGETHER = 3
"""The maximum number of constraints in a sentence."""


def goal_sentences(goal: Goal) -> list[str]:
    """Return the goal as sentences addressed to the user, in the order of its domains."""
    sentences: list[str] = []
    for domain in goal[ORDERING]:
        part = goal[domain]
        needed = _goal_phrase("need", domain, "also " if sentences else "")
        sentences.append(f"{needed}{_ride(goal) if domain == 'taxi' else ''}.")
        info = part.get("info", {})
        first = part.get("fail_info", info)
        sentences += _constraints(first)
        other = _changed(first, info)
        if other:
            wishes = listed([_goal_phrase("should", *wish) for wish in other.items()])
            sentences.append(f"If there is none, look for one that should {wishes} instead.")
        dropped = [_goal_phrase("name", slot) for slot in first if slot not in info]
        if dropped:
            sentences.append(f"If there is none, you do not mind the {listed(dropped)}.")
        book = part.get("book")
        if book:
            failed = part.get("fail_book") or book
            how = f"{_goal_phrase('book', domain)} {_booking(failed)}"
            sentences.append(f"{how}, and get the reference number.")
            if other := _changed(failed, book):
                sentences.append(f"If that cannot be booked, book {_booking(other)} instead.")
        if part.get("reqt"):
            asked = [
                f"whether there is {slot}"
                if slot in FLAG_SLOTS
                else f"the {_goal_phrase('name', slot)}"
                for slot in part["reqt"]
            ]
            sentences.append(f"Ask for {listed(asked)}.")
    return sentences


def sentences_for(goals: RunGoals, item: str) -> list[str]:
    """Return the sentences of a run's goal: from the corpus if they are exact, else generated."""
    return list(goals.messages.get(item, ())) or goal_sentences(goals.goals[item])


def _goal_phrase(kind: str, name: str, value: str = "") -> str:
    """Return the phrase of a kind for a domain or slot, or else the phrase for other names."""
    table = keyed_rows("live", "goal_sentences.tsv")
    keys = (f"{kind} {name}={value}", f"{kind} {name}", f"{kind} {OTHER}")
    (wording,) = next(table[key] for key in keys if key in table)
    return filled(wording, {"slot": name, "value": value}.__getitem__)


def _changed(first: Values, then: Values) -> Values:
    return {slot: value for slot, value in then.items() if first.get(slot) != value}


def _ride(goal: Goal) -> str:
    """Return the route of a taxi if it depends on other domains of the goal."""
    places = places_before_taxi(goal)
    info = goal["taxi"].get("info", {})
    departs = f" from the {places[-2]}" if "departure" not in info and len(places) > 1 else ""
    return departs + (f" to the {places[-1]}" if "destination" not in info and places else "")


def _constraints(info: Values) -> Iterator[str]:
    any_value = [slot for slot, value in info.items() if value in DONTCARE_SPELLINGS]
    cared = [_goal_phrase("should", slot, info[slot]) for slot in info if slot not in any_value]
    # Distribute the constraints evenly over the smallest number of sentences.
    number = -(-len(cared) // TOGETHER)
    for place in range(number):
        yield f"It should {listed(cared[place::number])}."
    for slot in any_value:
        yield f"Any {_goal_phrase('name', slot)} will do."


def _booking(book: Values) -> str:
    kind = "stay from" if "stay" in book else "booked"
    slots = _ordered(dict(sorted(book.items())), ("people", "stay", "time", "day"))
    return " ".join(
        _goal_phrase(kind if slot == "day" else "booked", slot, book[slot]) for slot in slots
    )
