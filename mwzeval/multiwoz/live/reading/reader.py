"""What an agent's turn says to a user that thinks in acts.

A rule user hears words, so that words count: what only a tool returned, such as a phone number that
the agent keeps to itself or a reference that it does not say, the user does not know. Calls of the
turn tell what the words are about: a domain, whose booking a reference is, and that a sentence of
regret means that nothing was found. Values come from the mention finder that the grounded scores
use, in the spelling of the database, or of the user's goal where both mean the same.

Several venues or trains of one domain are a choice among those that are said to be as the user
wants them (Select); one is an offer (Recommend). What is said of only some of several is not heard.
A booking counts as made when the words say so or give a reference; its day, people, time and nights
are heard, so that the user can object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mwzeval.conversation.messages import AgentTurn
from mwzeval.multiwoz.acts import GENERAL, NONE, SYSTEM_SLOTS, USER_SLOTS, Act
from mwzeval.multiwoz.choices import RULES, Rules
from mwzeval.multiwoz.goals.goal import Goal, correction
from mwzeval.multiwoz.live.reading import cues
from mwzeval.multiwoz.live.reading.calls import calls_of
from mwzeval.multiwoz.live.reading.context import ReadingContext
from mwzeval.multiwoz.live.reading.questions import BOOKING, asked_in, asks
from mwzeval.multiwoz.live.reading.said import TIMES, Said, Sentence, Value
from mwzeval.multiwoz.live.reading.values import (
    Services,
    WordLikeNames,
)
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, NAMED_BY
from mwzeval.multiwoz.words.delexicalize import Context, Delexicalizer
from mwzeval.multiwoz.words.text import Mention

_BOOKING = BOOKING.capitalize()
_EXAMPLE = re.compile(
    r"\W*(?:for (?:example|instance)|specifically|namely|such as|e\.g|including)\b"
)
"""What begins a sentence that goes on with what was asked for."""
LONGEST_LINE = 60
"""Characters of a line of a list of what is asked for."""
UNKNOWN = "unknown"
"""The value of what the user has asked for when the agent says that it does not know it."""


class AgentReader:
    """Reads what agents say. One serves all dialogues of a process; what it holds saves time.

    `tables` are the rows of the database by domain, as they stand in its files.
    """

    def __init__(
        self, tables: Mapping[str, Sequence[Mapping[str, Any]]], rules: Rules = RULES[-1]
    ) -> None:
        venues = {domain: rows for domain, rows in tables.items() if domain in NAMED_BY}
        self._delexicalizer = Delexicalizer(venues)
        self._services = Services(tables)
        self._names = WordLikeNames(tables, self._delexicalizer)
        self._rules = rules

    def context(self, goal: Goal) -> ReadingContext:
        """Return what the reading of a new dialogue depends on; `goal` is the user's."""
        return ReadingContext(goal, self._delexicalizer.gazetteer, self._rules)

    def mentions_of(self, text: str) -> list[Mention]:
        """Return the venues and values that a text names, without anything that went before."""
        return self._delexicalizer.read(text, Context(self._delexicalizer.gazetteer))

    def acts_of(self, turn: AgentTurn, context: ReadingContext) -> list[Act]:
        """Return what a turn says, as acts of a system; none for a turn without meaning.

        The context goes on to what the turn names. Nothing that a turn holds raises.
        """
        calls = calls_of(turn.messages)
        called = [one.domain for one in reversed(calls) if one.domain in context.domains]
        told = (context.domain,) if context.domain else ()
        focus = tuple(dict.fromkeys((*called, *told, *context.domains)))
        context.words.turn(context.state, tuple(dict.fromkeys((*called[:1], *told))))
        for one in calls:
            # A name that is also a word is one where it was found.
            context.words.names.update(name.lower() for name in one.names)
        mentions = self._delexicalizer.read(turn.text, context.words)
        mentions = self._names.added(turn.text, mentions)
        said = Said(turn.text, mentions, calls, focus, context)
        said.read(self._services)
        return _Meaning(said).acts()


class _Meaning:
    """What the words of one turn mean to the user."""

    def __init__(self, said: Said) -> None:
        self._said = said

    def acts(self) -> list[Act]:
        """Return the acts of the turn: what is not there, what is, questions, bookings."""
        booked = self._booked()
        nothing = list(dict.fromkeys(self._nothing()))
        acts = [Act("NoOffer", domain.capitalize(), NONE, NONE) for domain in nothing]
        heard = [v for v in self._said.values if not (v.sentence.nothing or v.sentence.unavailable)]
        for domain in dict.fromkeys(value.domain for value in heard):
            acts += self._of_domain(domain, [value for value in heard if value.domain == domain])
        acts += self._said.services
        acts += self._unknown(acts)
        acts += self._requests()
        acts += self._of_bookings(booked, acts)
        acts += (Act(intent, GENERAL, NONE, NONE) for intent in cues.courtesies_of(self._said.low))
        return list(dict.fromkeys(acts))

    def _nothing(self) -> Iterator[str]:
        """Yield the domains in which nothing was found."""
        for sentence in self._said.sentences:
            if sentence.unbooked or not (sentence.nothing or sentence.unavailable):
                continue
            domain = self._searched(sentence)
            if domain is not None and not (sentence.unavailable and self._is_of_slot(sentence)):
                yield domain
        last = {call.domain: call for call in self._said.calls if call.kind == "find"}
        named = {value.domain for value in self._said.values if value.slot in ("Name", "Id")}
        # The words need not say of what there is nothing.
        if any(cues.denies(sentence.low) for sentence in self._said.sentences):
            for domain, call in last.items():
                if call.found == 0 and domain in self._said.context.domains and domain not in named:
                    yield domain

    def _searched(self, sentence: Sentence) -> str | None:
        within = [
            value.domain for value in self._said.values if value.sentence.start == sentence.start
        ]
        for domain in (*sentence.topics, *within, *self._said.focus):
            if domain in NAMED_BY or domain == "hospital":
                return domain
        return None

    def _of_domain(self, domain: str, heard: Sequence[Value]) -> Iterator[Act]:
        """Yield what is said of a domain: of one venue, or of several to choose from."""
        spoken = domain.capitalize()
        naming = "Id" if domain == "train" else "Name"
        names = list(dict.fromkeys(value.value for value in heard if value.slot == naming))
        rest = [value for value in heard if value.slot not in (naming, "Choice")]
        choices = [value for value in heard if value.slot == "Choice"]
        for value in choices[:1]:
            yield Act("Inform", spoken, "Choice", value.value)
        if len(names) > 1:
            of_name = self._by_name(names, naming, heard)
            chosen = self._chosen(domain, of_name)
            if len(chosen) == 1:
                names, rest = chosen, of_name[chosen[0]]
            else:
                yield from (Act("Select", spoken, naming, name) for name in chosen)
                names = []
                of_some = {id(value) for values in of_name.values() for value in values}
                rest = [value for value in rest if id(value) not in of_some]
        intent = "Recommend" if names and domain != "train" else "Inform"
        yield from (Act(intent, spoken, naming, name) for name in names)
        by_slot: dict[str, list[Value]] = {}
        for value in rest:
            by_slot.setdefault(value.slot, []).append(value)
        for slot, values in by_slot.items():
            different = list(dict.fromkeys(value.value for value in values))
            if len(different) == 1:
                yield Act(intent, spoken, slot, different[0])
            elif any(v.sentence.asks and cues.chooses(v.sentence.low) for v in values):
                yield from (Act("Select", spoken, slot, value) for value in different)
            elif len(names) == 1 or domain not in NAMED_BY:
                # Said of one thing, the last counts: `not 10 but 12 pounds`.
                yield Act(intent, spoken, slot, different[-1])

    def _unknown(self, acts: Sequence[Act]) -> Iterator[Act]:
        """Yield what the user has asked for and the agent does not know."""
        told = {(act.domain.lower(), act.slot) for act in acts}
        for sentence in self._said.sentences:
            if sentence.asks or not cues.denies(sentence.low):
                continue
            lacking = self._said.context.asked if cues.lacks_information(sentence.low) else ()
            for domain, slot in sorted(self._wanted(sentence) - told):
                if (domain, slot) in lacking or cues.is_unknown(sentence.low, slot):
                    told.add((domain, slot))
                    yield Act("Inform", domain.capitalize(), slot, UNKNOWN)

    def _wanted(self, sentence: Sentence) -> set[tuple[str, str]]:
        """Return domain and slot of what the user has asked for, or will ask for here."""
        context = self._said.context
        domain = self._said.likeliest(sentence)
        slots = context.goal[domain].get("reqt", ()) if domain else ()
        words = USER_SLOTS.get(str(domain), {})
        return context.asked | {(str(domain), words[slot]) for slot in slots if slot in words}

    def _by_name(
        self, names: Sequence[str], naming: str, heard: Sequence[Value]
    ) -> dict[str, list[Value]]:
        """Return what is said of each of several venues."""
        of_name: dict[str, list[Value]] = {name: [] for name in names}
        called = {value.mention.start: value.value for value in heard if value.slot == naming}
        mentions = [value.mention for value in heard if value.slot == naming]
        for value in heard:
            if value.slot not in (naming, "Choice"):
                for name in self._said.statements.spoken_of(value.mention, mentions):
                    of_name[called[name.start]].append(value)
        return of_name

    def _chosen(self, domain: str, of_name: Mapping[str, Sequence[Value]]) -> list[str]:
        """Return the venues that the user may want: what it named, or those that fit its goal.

        If none fits, that is the first, so that the user objects to it.
        """
        context = self._said.context
        wanted = context.goal[domain]
        fitting = [
            name
            for name, values in of_name.items()
            if all(
                correction(wanted, SYSTEM_SLOTS[domain][value.slot.lower()], value.value) is None
                for value in values
            )
        ]
        own = context.state.get(domain, {}).get(NAMED_BY.get(domain, "name"), "").lower()
        named = [name for name in fitting if name.lower() == own]
        return named or fitting or list(of_name)[:1]

    def _requests(self) -> Iterator[Act]:
        """Yield what the user is asked."""
        last: list[str] = []
        lists = asked = False
        for sentence in self._said.sentences:
            of = [v.domain for v in self._said.values if v.sentence.start == sentence.start]
            last = of[-1:] or last
            domains = dict.fromkeys((*sentence.topics, *last, *self._said.focus))
            given = {
                slot
                for (start, slot), values in self._said.given.items()
                if start == sentence.start and len(values) == 1 and not cues.chooses(sentence.low)
            }
            if given & TIMES:
                given |= TIMES
            question = sentence.low
            is_line = lists and not given and ": " not in question
            if is_line or (asked and _EXAMPLE.match(question)):
                # `Please tell me: - the day - the time`; `For example, the area or the price.`
                question += "?"
            asked = asks(question)
            if question.rstrip().endswith(":"):
                lists = asked
            elif given or len(question) > LONGEST_LINE:
                lists = False
            for domain, slot in asked_in(question, tuple(domains)):
                # `Would you like Chinese food?` proposes what it gives.
                if slot not in given:
                    yield Act("Request", domain, slot, "?")

    def _booked(self) -> dict[str, str]:
        """Return domain → reference of the bookings that were made; "" where none is told."""
        booked = {domain: code for code, domain in self._said.references if domain}
        for sentence in self._said.sentences:
            if sentence.booked and not self._said.references:
                domain = self._whose_booking(sentence)
                if domain in ACT_BOOKING_SLOTS and "taxi" not in sentence.topics:
                    booked.setdefault(domain, "")
        return booked

    def _whose_booking(self, sentence: Sentence) -> str:
        made = [call.domain for call in self._said.calls if call.booked]
        within = [v.domain for v in self._said.values if v.sentence.start == sentence.start]
        for domain in (*made, *sentence.topics, *within, *self._said.focus):
            return domain
        return ""

    def _of_bookings(self, booked: Mapping[str, str], before: Sequence[Act]) -> Iterator[Act]:
        """Yield the bookings that were made, or could not be, with their details."""
        if not booked:
            yield from self._not_booked()
            for sentence, slot, value in self._said.details:
                domain = self._said.likeliest(sentence)
                if slot in ACT_BOOKING_SLOTS.get(str(domain), ()) and not sentence.nothing:
                    yield Act("Inform", _BOOKING, slot, value)
            return
        *others, last = booked
        for domain in others:
            # Acts of a booking are about one domain, that which was spoken of last.
            yield Act("OfferBooked", domain.capitalize(), "Ref", booked[domain])
        goal = self._said.context.domains
        spoken = [act.domain.lower() for act in before if act.domain.lower() in goal]
        current = list(dict.fromkeys(spoken))[-1] if spoken else self._said.context.domain
        if current != last:
            yield Act("Inform", last.capitalize(), NONE, NONE)
        code = booked[last]
        yield Act("Book", _BOOKING, "Ref" if code else NONE, code or NONE)
        for sentence, slot, value in self._said.details:
            told = sentence.booked or not sentence.asks
            if told and slot in ACT_BOOKING_SLOTS.get(last, ()) and len(booked) == 1:
                yield Act(
                    "Book", _BOOKING, slot, self._said.context.spelled(last, slot.lower(), value)
                )

    def _not_booked(self) -> Iterable[Act]:
        failed = any(call.kind == "book" and not call.booked for call in self._said.calls)
        if (
            any(sentence.unbooked for sentence in self._said.sentences)
            or any(s.unavailable and self._is_of_slot(s) for s in self._said.sentences)
            or (failed and any(cues.denies(sentence.low) for sentence in self._said.sentences))
        ):
            return [Act("NoBook", _BOOKING, NONE, NONE)]
        return ()

    def _is_of_slot(self, sentence: Sentence) -> bool:
        """Tell whether what is not available is a table or a room, not a venue.

        So it is when the user has come to book, or its day or number of people is said.
        """
        return self._is_booking(str(self._searched(sentence))) or any(
            of.start == sentence.start for of, _, _ in self._said.details
        )

    def _is_booking(self, domain: str) -> bool:
        """Tell whether user or agent have come to book in a domain."""
        slots = {slot.lower() for slot in ACT_BOOKING_SLOTS.get(domain, ())}
        return any(
            call.kind == "book" and call.domain == domain for call in self._said.calls
        ) or not slots.isdisjoint(self._said.context.state.get(domain, {}))
