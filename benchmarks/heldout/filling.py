"""Sentences filled from the tables of a database: all true, and with one claim false.

A false claim is another venue's value (`swap`), that of the other venue in the same text
(`neighbour`), a value that no venue has (`invented`), an altered `house number`, or the total of
another number of people (`wrong total`); it is false of the venue that is named, else of every
venue that is as the user asked. Other claims about a venue of an invented name are `unclear`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from benchmarks.heldout.forms import money, spelled
from benchmarks.heldout.sentences import NAMES, NONE, OTHER, OTHERWISE, WISH, HeldOut, Sentence, Tag
from benchmarks.heldout.values import ROOMS, TIMES, Row, Tables, contradicts, value_of

SEED = 20
ROUNDS = 3
TRIES = 400
TURN = " ||| "
RIGHT, UNCLEAR, WRONG_TOTAL = "right", "unclear", "wrong total"
STATED = {
    "hotel": ("area", "pricerange", "type"),
    "restaurant": ("area", "food", "pricerange"),
    "attraction": ("area", "type"),
    "train": ("departure", "destination", "day"),
}


@dataclass(frozen=True, slots=True)
class Filled:
    """A sentence with values: its turns, what is true of each claim, and what was asked before."""

    sentence: Sentence
    turns: tuple[str, ...]
    facts: tuple[dict[str, Any], ...]
    state: dict[str, dict[str, str]]
    venues: tuple[Row, ...]

    def domains(self, turn: int) -> tuple[str, ...]:
        """Return the domains that a turn is about."""
        here = {fact["domain"] for fact in self.facts if fact["turn"] == turn}
        return tuple(sorted(here or set(self.sentence.about)))


class Filler:
    """Fills sentences from the tables of a database; the same seed fills them alike."""

    def __init__(self, tables: Tables, held_out: HeldOut, seed: int = SEED) -> None:
        self._held_out = held_out
        self._seed = seed
        times = Counter(row["trainID"] for row in tables["train"])
        alone = [row for row in tables["train"] if times[row["trainID"]] == 1]
        self._tables: dict[str, Sequence[Row]] = {**tables, "train": alone}
        self._all = tables
        self._values: dict[tuple[str, str], list[str]] = {}
        towns = [row["departure"] for row in tables["train"]]
        self._town = max(sorted(set(towns)), key=towns.count)

    def fillings(self, rounds: int = ROUNDS) -> Iterator[Filled]:
        """Yield every sentence true, then with each claim false, as far as there are venues."""
        for number, sentence in product(range(rounds), self._held_out.sentences):
            for false in (None, *sentence.claims):
                if false is not None and false.venue == 0:
                    continue
                place = false.start if false else None
                rng = Random(f"{self._seed} {number} {sentence.text} {place}")
                filled = self.fill(sentence, false, rng)
                if filled is not None:
                    yield filled
                elif false is None:
                    break

    def fill(self, sentence: Sentence, false: Tag | None, rng: Random) -> Filled | None:
        """Return a sentence with one claim false, or none; None when no venues fit it."""
        for _ in range(TRIES):
            venues: list[Row] = []
            for domain in sentence.about:
                left = [row for row in self._tables[domain] if row not in venues]
                venues.append(rng.choice(left))
            filled = self._filled(sentence, venues, false, rng)
            if filled is not None:
                return filled
        return None

    def _filled(
        self, sentence: Sentence, venues: Sequence[Row], false: Tag | None, rng: Random
    ) -> Filled | None:
        state = self._state(sentence, venues, rng)
        if state is None:
            return None
        said: dict[int, tuple[str, str, str]] = {}
        for tag in sentence.tags:
            if not tag.claim:
                text = self._words(tag, sentence, venues, state, rng)
                said[tag.start] = ("", "", text or "")
                if text is None:
                    return None
                continue
            row = venues[tag.venue - 1]
            value = str(self._count(tag, sentence, venues)) if tag.slot == "count" else None
            value = value or value_of(row, tag.slot)
            if tag.venue == 0 and len({value_of(row, tag.slot) for row in venues}) > 1:
                return None
            true = None if value is None else tag.say(value)
            if tag is false:
                made = value and self._false(tag, value, sentence, venues, state, rng)
                if not made or (true and made[2].casefold() == true.casefold()):
                    return None
                said[tag.start] = made
            elif value is None or true is None:
                return None
            else:
                said[tag.start] = (RIGHT, value, true)
        return _joined(sentence, venues, said, false, state)

    def _state(
        self, sentence: Sentence, venues: Sequence[Row], rng: Random
    ) -> dict[str, dict[str, str]] | None:
        """Return what a user asked for: mostly values that all venues of a domain have.

        None when something is as was asked where nothing should be.
        """
        state: dict[str, dict[str, str]] = {}
        for domain in sentence.about:
            by = [slot for tag in sentence.tags for slot in tag.by]
            rows = [row for row, of in zip(venues, sentence.about, strict=True) if of == domain]
            asked = {}
            for slot in by or STATED[domain]:
                values = {value_of(row, slot) for row in rows}
                value = values.pop()
                if not values and value is not None:
                    asked[slot] = value
            if not by and domain != "train":
                asked = dict(rng.sample([*asked.items()], min(2, len(asked))))
            state[domain] = asked
        for tag in sentence.tags:
            if WISH in tag.forms or NONE in tag.forms:
                domain = sentence.about[tag.venue - 1]
                true = value_of(venues[tag.venue - 1], tag.slot)
                state[domain][tag.slot] = rng.choice(self._others(domain, tag.slot, true))
        for tag in sentence.tags:
            domain = sentence.about[tag.venue - 1]
            if NONE in tag.forms and self._satisfying(domain, state[domain]):
                return None
        return state

    def _satisfying(self, domain: str, asked: Mapping[str, str]) -> list[Row]:
        return [
            row
            for row in self._all[domain]
            if all(value_of(row, slot) == value for slot, value in asked.items())
        ]

    def _count(self, tag: Tag, sentence: Sentence, venues: Sequence[Row]) -> int:
        domain, venue = sentence.about[tag.venue - 1], venues[tag.venue - 1]
        asked = {slot: value_of(venue, slot) or "" for slot in tag.by}
        return len(self._satisfying(domain, asked))

    def _words(
        self,
        tag: Tag,
        sentence: Sentence,
        venues: Sequence[Row],
        state: Mapping[str, Mapping[str, str]],
        rng: Random,
    ) -> str | None:
        """Return words that are no claim."""
        forms = tuple(form for form in tag.forms if form not in OTHERWISE)
        if tag.slot == "town":
            return spelled(self._town, forms or ("title",))
        if tag.slot == "ref":
            return "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", k=8))
        row, domain = venues[tag.venue - 1], sentence.about[tag.venue - 1]
        value = value_of(row, tag.slot)
        if WISH in tag.forms or NONE in tag.forms:
            value = state[domain][tag.slot]
        elif OTHER in tag.forms:
            value = rng.choice(self._others(domain, tag.slot, value))
        return value and spelled(value, forms)

    def _others(self, domain: str, slot: str, value: str | None) -> list[str]:
        """Return the values of all venues but one, in order."""
        every = self._values.get((domain, slot))
        if every is None:
            found = {value_of(row, slot) for row in self._all[domain]}
            every = self._values[domain, slot] = sorted(filter(None, found))
        return [other for other in every if other != value]

    def _false(
        self,
        tag: Tag,
        true: str,
        sentence: Sentence,
        venues: Sequence[Row],
        state: Mapping[str, Mapping[str, str]],
        rng: Random,
    ) -> tuple[str, str, str] | None:
        """Return kind, value and words of a false claim; None when none was found."""
        domain, venue = sentence.about[tag.venue - 1], venues[tag.venue - 1]
        possible = [venue]
        if not sentence.names(tag):
            possible = self._satisfying(domain, state[domain])
        kinds = list(self._kinds(tag, true, domain, rng))
        neighbours = [
            value
            for row, of in zip(venues, sentence.about, strict=True)
            if row is not venue and of == domain and (value := value_of(row, tag.slot))
        ]
        if neighbours and tag.slot not in NAMES:
            kinds.append(("neighbour", neighbours))
        rng.shuffle(kinds)
        for kind, values in kinds:
            for value in rng.sample(values, min(20, len(values))):
                if kind != WRONG_TOTAL and not all(
                    contradicts(tag.slot, value, row) for row in possible
                ):
                    continue
                words = tag.say(value)
                if words is not None:
                    return kind, value, words
        return None

    def _kinds(
        self, tag: Tag, true: str, domain: str, rng: Random
    ) -> Iterator[tuple[str, list[str]]]:
        slot = tag.slot
        others = self._others(domain, slot, true)
        if slot not in NAMES and slot != "count":
            yield "swap", others
        people = next((int(form[1:]) for form in tag.forms if re.fullmatch(r"x\d", form)), None)
        if people:
            wrong = rng.choice([people - 1, people + 1]) * money(true) / people
            yield WRONG_TOTAL, [f"{wrong} pounds"]
        made = [value for value in self._made_up(slot, true, domain, rng) if value not in others]
        if made:
            yield "invented", made
        number = re.match(r"\d+(?: ?- ?\d+)?", true) if slot == "address" else None
        if number:
            altered = f"{rng.randint(700, 980)}{true[number.end() :]}"
            yield "house number", [altered]

    def _made_up(self, slot: str, true: str, domain: str, rng: Random) -> Iterator[str]:
        """Yield values that the database does not have."""
        invented = self._held_out.invented
        if slot == "name":
            yield from invented[domain]
        elif slot == "trainid":
            yield f"TR{rng.randrange(10_000):04}"
        elif slot == "phone":
            yield f"{true[:5]}{rng.randrange(10**6):06}"
        elif slot == "postcode":
            yield f"{true[:3]}{rng.randrange(1, 10)}{''.join(rng.choices('bdefhjlnpq', k=2))}"
        elif slot == "address":
            yield f"{rng.randint(2, 190)} {rng.choice(invented['street'])}"
        elif slot in ("food", "departure", "destination"):
            yield from invented["food" if slot == "food" else "station"]
        elif slot in TIMES:
            for _ in range(20):
                yield f"{rng.randrange(5, 24):02}:{rng.randrange(60):02}"
        elif slot == "price":
            yield f"{rng.randrange(400, 9900) / 100:.2f} pounds"
        elif slot == "duration":
            yield f"{rng.randrange(20, 119)} minutes"
        elif slot in ROOMS:
            yield str(rng.randrange(31, 299))
        elif slot == "count":
            yield str(int(true) + rng.randint(1, 6))
        elif slot == "openhours":
            yield f"it opens daily from {rng.choice([7, 8, 11])} a.m. to {rng.choice([3, 7])} p.m."


def _joined(
    sentence: Sentence,
    venues: Sequence[Row],
    said: Mapping[int, tuple[str, str, str]],
    false: Tag | None,
    state: dict[str, dict[str, str]],
) -> Filled:
    """Put the words into the text, and write down where each claim came to stand."""
    turns, facts, text, end = [], [], "", 0
    for tag in sentence.tags:
        *before, last = (text + sentence.text[end : tag.start]).split(TURN)
        turns += before
        kind, value, words = said[tag.start]
        if tag.claim:
            of_no_venue = false is not None and false.slot in NAMES and false.venue == tag.venue
            place = {"turn": len(turns), "start": len(last), "end": len(last) + len(words)}
            facts.append(
                {
                    **place,
                    "domain": sentence.about[tag.venue - 1],
                    "slot": tag.slot,
                    "form": tag.form,
                    "kind": UNCLEAR if of_no_venue and tag is not false else kind,
                    "said": value,
                    "venue": tag.venue,
                }
            )
        text, end = last + words, tag.end
    turns += (text + sentence.text[end:]).split(TURN)
    return Filled(sentence, tuple(turns), tuple(facts), state, tuple(venues))
