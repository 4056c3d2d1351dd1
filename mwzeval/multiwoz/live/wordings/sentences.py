"""What users and systems say in words: several acts in one sentence, each value word for word.

The wordings are mwzeval's own. Nothing is remembered: the same acts and generator, the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from random import Random

from mwzeval.multiwoz.acts import CHANGE, CORRECT, GENERAL, GIVE_UP, NONE, REPEAT, Act
from mwzeval.multiwoz.live.wordings.phrases import (
    Phrases,
    Values,
    begun_small,
    embedded_wordings,
    finished,
    listed,
    rounds,
)
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS

BOOKED = ("Name", "People", "Stay", "Day", "Time")
"""Slots of bookings, in the order in which they are said."""
_WHETHER = frozenset({"Internet", "Parking"})
_MARKERS = (CHANGE, CORRECT, REPEAT)
_UNKNOWN = frozenset({"", "?"})
_MOST_PREDICATES = 3


class UserWordings:
    """Puts the acts of users into words."""

    def say(self, acts: Sequence[Act], rng: Random) -> str:
        """Return what a user says; the empty text for no acts that are known."""
        said = _UserTurn(Phrases(embedded_wordings(), rng))
        for (intent, domain), of_group in _groups(acts):
            said.add(intent, domain, of_group)
        return " ".join(map(finished, said.sentences))


class SystemWordings:
    """Puts the acts of systems into words."""

    def say(self, acts: Sequence[Act], rng: Random) -> str:
        """Return what a system says; the empty text for no acts that are known."""
        said = _SystemTurn(Phrases(embedded_wordings(), rng))
        for (intent, domain), of_group in _groups(acts):
            said.add(intent, domain, of_group)
        return " ".join(map(finished, said.sentences))


def _groups(acts: Iterable[Act]) -> Iterable[tuple[tuple[str, str], list[Act]]]:
    for (intent, domain), of_group in groupby(acts, key=lambda act: act[:2]):
        yield (intent.lower(), domain.lower()), list(of_group)


def _pair(act: Act) -> tuple[str, str]:
    # What databases do not know, people call unknown.
    return act.slot, "unknown" if act.value.strip() in _UNKNOWN else act.value


class _UserTurn:
    """A message of the user in the making."""

    def __init__(self, phrases: Phrases) -> None:
        self.sentences: list[str] = []
        self._phrases = phrases
        self._markers: set[str] = set()

    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        """Add sentences for acts of one intent and domain."""
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


class _SystemTurn:
    """A turn of the system in the making."""

    def __init__(self, phrases: Phrases) -> None:
        self.sentences: list[str] = []
        self._phrases = phrases

    def add(self, intent: str, domain: str, acts: Sequence[Act]) -> None:
        """Add sentences for acts of one intent and domain."""
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
