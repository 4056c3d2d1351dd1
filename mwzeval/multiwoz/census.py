"""The counts of turns and dialogues in an input of predictions, computed in one pass. The counts of
parts can be added to obtain the counts of the whole input.

All decisions and reports about a whole input are derived from these counts.

Responses are lexicalized if most identifiers (phone numbers, postcodes, train ids and references)
are values and not placeholders. Systems give identifiers in a quarter to a third of their turns,
and rarely mix the two forms. Only known placeholders are counted, because brackets have other uses,
for example in Markdown.

A file may be well formed despite an error, for example if its states are shifted by one turn. Such
an error is not visible in a single turn, but is visible in counts over many dialogues. Therefore, a
sample of dialogues is compared with the gold annotation. The sample consists of the dialogues whose
ids have the smallest checksums, so it does not depend on how the input is divided into parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from heapq import nsmallest
from itertools import pairwise
from operator import add
from typing import NamedTuple
from zlib import crc32

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.corpus import GoldFold, References, Seen
from mwzeval.multiwoz.normalization import State, normalize_states
from mwzeval.multiwoz.placeholders import (
    canonical_response,
    known_placeholders,
    placeholders_of,
)
from mwzeval.multiwoz.predictions import Dialogues, Turn
from mwzeval.multiwoz.schema import OFFERED_BY, PROVIDABLE, TIME_SLOTS
from mwzeval.multiwoz.words.numbers import has_identifier

SAMPLED = 50
"""Number of dialogues that are compared with gold data, which takes a few milliseconds."""
DIFFERENT_PLACEHOLDERS = 2**12
"""Maximum number of unknown placeholders that are counted in a part of an input."""

IDENTIFIERS = frozenset({"PHONE", "POST", "TRAINID", "REFERENCE"})
"""The canonical placeholders of values that are recognized by their form alone."""
IDENTIFYING_SLOTS = frozenset({"name", "phone", "postcode", "trainid", "reference"})
"""The slots whose mentions distinguish lexicalized responses if a database is available."""
COUNTED = tuple(sorted({*OFFERED_BY.values(), *PROVIDABLE}))
"""The placeholders that affect Inform and Success."""
_REQUEST_OF = {
    "PHONE": re.compile(r"phone|number"),
    "POST": re.compile(r"post ?code|zip"),
    "ADDRESS": re.compile(r"address|locat"),
    "REFERENCE": re.compile(r"reference|book|reserv|confirm"),
    "TRAINID": re.compile(r"\bid\b|train number"),
}
"""The words, in lower case, with which users request the value of each placeholder."""

Key = tuple[str | int, ...]
"""A key of the counts in sampled dialogues: a sign of an error, possibly followed by details."""


class Wording(NamedTuple):
    """The numbers of turns that have a known placeholder, that have the placeholder of an
    identifier, and that have the value of an identifier but no known placeholder.
    """

    with_placeholder: int = 0
    identifier_as_placeholder: int = 0
    identifier_in_words: int = 0

    @classmethod
    def of(cls, responses: Iterable[str]) -> Wording:
        """Return the numbers of responses with placeholders and with identifiers."""
        placeholders = as_placeholder = in_words = 0
        for response, times in Counter(responses).items():
            if known := known_placeholders(response):
                placeholders += times
                as_placeholder += times * (not known.isdisjoint(IDENTIFIERS))
            elif has_identifier(response):
                in_words += times
        return cls(placeholders, as_placeholder, in_words)

    @property
    def lexicalized(self) -> bool:
        """Whether responses are lexicalized, that is, most identifiers (or all) are values.

        If the two forms are equally frequent, responses count as lexicalized: delexicalization does
        not change placeholders, whereas values in delexicalized responses are not scored.
        """
        in_words = self.identifier_in_words
        return not self.with_placeholder or 0 < in_words >= self.identifier_as_placeholder


@dataclass(slots=True)
class Tally:
    """The counts of one dialogue, and the file position of the first turn with each count."""

    counts: Counter[Key] = field(default_factory=Counter)
    turns: dict[Key, int] = field(default_factory=dict)

    def add(self, turn: int, *key: str | int) -> None:
        """Add one turn to the count of a key."""
        self.counts[key] += 1
        self.turns.setdefault(key, turn)


@dataclass(slots=True)
class Census:
    """The counts of the predictions in an input.

    `turns` is the number of turns. The fields `with_…` are numbers of turns: with a predicted
    state, with a value in the state, with active domains, with a nonempty list of active domains,
    and in dialogues with bookings. `references` has the number of turns in each reference set, and
    `answers` has the number of turns for each placeholder in `COUNTED`. `requests` counts the
    user's requests for slots of the goal, and `early` counts the requested slots that were answered
    before the request. `unknown_placeholders` counts the occurrences of each unknown name. `seen`
    contains the dialogue ids, and `sample` contains the counts of the sampled dialogues.
    """

    turns: int = 0
    with_state: int = 0
    with_values: int = 0
    with_domains: int = 0
    with_any_domain: int = 0
    with_bookings: int = 0
    requests: int = 0
    early: int = 0
    wording: Wording = field(default_factory=Wording)
    answers: Counter[tuple[str, ...]] = field(default_factory=Counter)
    references: Counter[str] = field(default_factory=Counter)
    unknown_placeholders: Counter[str] = field(default_factory=Counter)
    seen: Seen = field(default_factory=Seen)
    sample: dict[str, Tally] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        dialogues: Dialogues,
        reference_sets: Mapping[str, References],
        gold: GoldFold,
        rules: Rules = "2021",
        positions: Mapping[str, Sequence[int]] | None = None,
    ) -> Census:
        """Return the counts of checked dialogues of a fold; for `positions`, see `Findings`."""
        census = cls(references=Counter(dict.fromkeys(reference_sets, 0)))
        all_responses: list[str] = []
        for name, turns in dialogues.items():
            census.seen.add(name)
            dialogue = gold.name_of(name)
            responses = [turn.response or "" for turn in turns]
            all_responses += responses
            census._count_answers(responses, gold.dialogues.get(dialogue))
            for reference_set, references in reference_sets.items():
                there = len(references.responses.get(dialogue, ()))
                census.references[reference_set] += min(len(turns), there)
            census.turns += len(turns)
            if any(turn.bookings is not None for turn in turns):
                census.with_bookings += len(turns)
            states = [turn.state for turn in turns if turn.state is not None]
            domains = [turn.active_domains for turn in turns if turn.active_domains is not None]
            census.with_state += len(states)
            census.with_values += sum(any(state.values()) for state in states)
            census.with_domains += len(domains)
            census.with_any_domain += sum(map(bool, domains))
        census.wording = Wording.of(all_responses)
        for response, times in Counter(all_responses).items():
            if "[" in response:
                for placeholder in placeholders_of(response).unknown:
                    census.unknown_placeholders[placeholder] += times
        names = list(gold.dialogues)
        others = dict(zip(names, [*names[1:], *names[:1]], strict=True))
        for name in _sampled(dialogues):
            own = gold.name_of(name)
            if own in gold.dialogues:
                other = gold.dialogues[others[own]]
                tally = _tally(dialogues[name], gold.dialogues[own], other, rules)
                if positions:
                    tally.turns = {key: positions[name][turn] for key, turn in tally.turns.items()}
                census.sample[name] = tally
        return census

    def _count_answers(self, responses: Sequence[str], gold: GoldDialogue | None) -> None:
        answered = [_answers_in(response) if "[" in response else () for response in responses]
        self.answers.update(answered)
        if gold is not None:
            requested = {slot for goal in gold.goal.values() for slot in goal.requestable}
            for slot in requested & _REQUEST_OF.keys():
                turn = _first_request(slot, gold.user_utterances)
                if turn is not None:
                    self.requests += 1
                    self.early += any(slot in names for names in answered[:turn])

    def merge(self, later: Census) -> None:
        """Add the counts of a later part of the input.

        The sample of the whole input is selected from the samples of both parts.
        """
        known = self.unknown_placeholders
        for item in fields(self):
            own, other = getattr(self, item.name), getattr(later, item.name)
            if isinstance(own, int):
                setattr(self, item.name, own + other)
            elif isinstance(own, Counter):
                own.update(other)  # `+` would remove keys with the count 0.
        self.wording = Wording(*map(add, self.wording, later.wording))
        self.seen.merge(later.seen)
        tallies = {**self.sample, **later.sample}
        self.sample = {name: tallies[name] for name in _sampled(tallies)}
        for name in list(known)[DIFFERENT_PLACEHOLDERS:]:
            del known[name]


@lru_cache(maxsize=2**14)
def _answers_in(response: str) -> tuple[str, ...]:
    names = placeholders_of(response).names
    return tuple([name for name in COUNTED if name in names])


@lru_cache(maxsize=2**12)
def _first_request(slot: str, user_utterances: tuple[str, ...]) -> int | None:
    """Return the turn in which the user first requests a slot, or None."""
    turns = enumerate(user_utterances)
    return next((turn for turn, text in turns if _REQUEST_OF[slot].search(text.lower())), None)


def _sampled(names: Mapping[str, object]) -> list[str]:
    return nsmallest(
        SAMPLED, names, key=lambda name: (crc32(name.encode("utf-8", "replace")), name)
    )


def _tally(turns: Sequence[Turn], gold: GoldDialogue, other: GoldDialogue, rules: Rules) -> Tally:
    """Compare a dialogue with its annotation and with `other`, another dialogue of the fold."""
    tally = Tally()
    turns = turns[: len(gold.states)]  # Additional turns are reported by another check.
    _compare_responses(turns, gold, other, tally)
    if all(turn.state is not None for turn in turns):
        _compare_states(turns, gold, rules, tally)
    if all(turn.active_domains is not None for turn in turns):
        for index, turn in enumerate(turns):
            tally.counts["turns",] += 1
            if not turn.active_domains:
                tally.add(index, "inactive")
            elif len(turn.active_domains) >= 3:
                tally.add(index, "all active")
        if len(gold.goal) >= 2 and len(turns) >= 4:
            tally.counts["of several domains",] += 1
            if len({frozenset(turn.active_domains or ()) for turn in turns}) == 1:
                tally.add(0, "same domains")
    return tally


WORD = re.compile(r"[a-z]{4,}|[A-Z]{2,}")
"""Matches placeholders (in capitals) and longer words; short words are in all responses."""
MARKS = re.compile(r"^[\W_]|[\]_'\"]$|[<`&\\*▁ĠĊ:>{(]|@@|##|/INST")
"""A fast test that matches every response with a shape, except responses with many underscores."""
BEGINNING = 24
"""Responses count as equal if their length and this number of initial characters are equal."""
SENTENCE_ENDS = frozenset(".?!)]\"'}>`*")
OTHER, BEFORE, AFTER = "another dialogue", "the turn before", "the turn after"
"""Each response is also compared with the references of another dialogue, of the turn before, and
of the turn after."""


class Shape(NamedTuple):
    """A line of `data/shapes.tsv`, which explains its columns."""

    kind: str
    name: str
    pattern: str
    meaning: str


@cache
def shapes() -> tuple[Shape, ...]:
    """Return the forms of responses and values that indicate errors in predictions."""
    return tuple(Shape(*row) for row in table_rows(embedded("shapes.tsv"), 4))


@lru_cache(maxsize=8)
def _pattern(kind: str) -> re.Pattern[str]:
    patterns = [f"(?P<{shape.name}>{shape.pattern})" for shape in shapes() if shape.kind == kind]
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


def _compare_responses(
    turns: Sequence[Turn], gold: GoldDialogue, other: GoldDialogue, tally: Tally
) -> None:
    """Count irregularities of responses, and how well they fit their own and other references."""
    counts, before = tally.counts, ""
    responses = [(turn.response or "").strip() for turn in turns]
    in_words = not any(map(known_placeholders, responses))
    references, elsewhere = (
        _words(dialogue.system_utterances if in_words else dialogue.references, in_words)
        for dialogue in (gold, other)
    )
    for index, response in enumerate(responses):
        counts["responses",] += 1
        if not response:
            tally.add(index, "empty")
            continue
        words = frozenset(WORD.findall(canonical_response(response)))
        fit = _overlap(words, references[index])
        rivals = {OTHER: elsewhere[min(index, len(elsewhere) - 1)]}
        if index:
            rivals[BEFORE] = references[index - 1]
        if index + 1 < len(turns):
            rivals[AFTER] = references[index + 1]
        for rival, reference in rivals.items():
            other_fit = _overlap(words, reference)
            counts["own", rival] += fit
            counts["fit", rival] += other_fit
            if other_fit > fit:
                tally.add(index, f"nearer to {rival}")
        if not fit:
            tally.add(index, "no fit", response[:BEGINNING])
        if known := known_placeholders(response):
            counts["identifiers",] += not known.isdisjoint(IDENTIFIERS)
        elif not in_words and has_identifier(response):
            counts["identifiers",] += 1
            tally.add(index, "in words")
        _inspect(response, index, in_words, tally)
        user = gold.user_utterances[index][:30].lower()
        if (len(user) == 30 and user in response.lower()) or (
            len(before) >= 20 and len(response) > len(before) and response.startswith(before)
        ):
            tally.add(index, "history")
        before = response
    if len(turns) >= 3:
        counts["long",] += 1
        if responses[0] and len(set(responses)) == 1:
            tally.add(1, "alike")


@lru_cache(maxsize=2**12)
def _words(texts: tuple[str, ...], in_words: bool) -> tuple[frozenset[str], ...]:
    lower = [text.lower() for text in texts] if in_words else texts
    return tuple([frozenset(WORD.findall(text)) for text in lower])


def _overlap(words: frozenset[str], others: frozenset[str]) -> int:
    """Return half of Dice's coefficient in per mille, as an integer, so that sums are exact."""
    return 1000 * len(words & others) // (len(words) + len(others) or 1)


def _inspect(text: str, index: int, in_words: bool, tally: Tally) -> None:
    """Count irregularities in the form of a response."""
    words, end = text.split(), text[-1]
    searched = {
        "response": MARKS.search(text) or text.count("_") > text.count("["),
        # Only in delexicalized responses, a layout, such as a list, is an error.
        "response with layout": not in_words,
        "response of a word": len(words) == 1,
    }
    for kind, is_searched in searched.items():
        if is_searched and (found := _pattern(kind).search(text)):
            tally.add(index, "markup", str(found.lastgroup))
    if text.count("[") != text.count("]"):
        tally.add(index, "bracket")
    pieces, text = len(words), " ".join(words)
    if pieces >= 3 and (
        text in (text + text)[1:-1]
        or text in f"{text} {text}"[1:-1]
        or (pieces >= 4 and words[::2] == words[1::2])
    ):
        tally.add(index, "doubled")
    tally.counts["length", text[:BEGINNING], len(text), pieces] += 1
    if end not in SENTENCE_ENDS:
        tally.add(index, "no end")


Slot = tuple[str, str]
"""A pair of domain and slot."""
TIME = re.compile(r"(\d{1,2}):(\d\d)")


def _compare_states(turns: Sequence[Turn], gold: GoldDialogue, rules: Rules, tally: Tally) -> None:
    """Count irregularities of predicted values, and compare them with annotated turns and slots."""
    counts = tally.counts
    states = _values(normalize_states((turn.state or {} for turn in turns), rules))
    annotated = _values(normalize_states(gold.states, rules))[: len(turns)]
    first, first_annotated = _first_turns(states), _first_turns(annotated)
    values: dict[Slot, set[str]] = {}
    for slot, value in first_annotated:
        values.setdefault(slot, set()).add(value)
        counts["annotated", slot[1], value] += 1
    elsewhere = {value for _, value in first_annotated}
    for (slot, value), turn in first.items():
        counts["values",] += 1
        tally.add(turn, "predicted", slot[1], value)
        # A value that is part of an annotated value is probably an error and not copied.
        if not any(value in other for other in elsewhere) and any(
            value in text.lower() for text in gold.user_utterances[: turn + 1]
        ):
            counts["copied", slot[1], value] += 1
        if value in values.get(slot, ()):
            counts["right",] += 1
            if begins := first_annotated[slot, value]:
                counts["placed",] += 1
                if turn != begins:
                    tally.add(turn, "moved", turn - begins)
        elif shape := _pattern("value").search(value):
            tally.add(turn, "shape", str(shape.lastgroup))
        elif value in elsewhere:
            tally.add(turn, "misplaced")
        time = TIME.fullmatch(value) if slot[1] in TIME_SLOTS else None
        if time and (others := [*filter(None, map(TIME.fullmatch, values.get(slot, ())))]):
            counts["times",] += 1
            apart = {(int(time[1]) - int(other[1])) % 24 for other in others if other[2] == time[2]}
            if apart and 0 not in apart:
                tally.add(turn, "hours", min(apart))
    if len(first) >= 3:
        counts["filled",] += 1
        if first.keys().isdisjoint(first_annotated):
            tally.add(min(first.values()), "none right")
    for index, (before, state) in enumerate(pairwise(states), 1):
        counts["slots",] += len(before)
        if gone := len(before.keys() - state.keys()):
            tally.add(index, "vanished")
            counts["vanished",] += gone - 1
    if states[-1].keys() < states[0].keys() or (any(states) and not states[-1]):
        tally.add(len(states) - 1, "emptied")
    if annotated[0] != annotated[-1]:
        counts["changing",] += 1
        if states[0] and all(state == states[0] for state in states):
            tally.add(0, "constant")


def _values(states: Iterable[State]) -> list[dict[Slot, str]]:
    """Return the values of states by domain and slot. Equal consecutive states are one object."""
    result: list[dict[Slot, str]] = []
    before: State | None = None
    for state in states:
        if state is not before:
            before = state
            values = {
                (domain, slot.removeprefix("book")): value
                for domain, slots in state.items()
                for slot, value in slots.items()
            }
        result.append(values)
    return result


def _first_turns(states: Sequence[Mapping[Slot, str]]) -> dict[tuple[Slot, str], int]:
    """Return the first turn in which each pair of a slot and a value occurs."""
    first: dict[tuple[Slot, str], int] = {}
    for index, state in enumerate(states):
        if not index or state is not states[index - 1]:
            for pair in state.items():
                first.setdefault(pair, index)
    return first
