"""What the agent says: sentences in words with the acts that they stand for.

Questions and details have the wordings of the template system; several wordings of one thing take
turns, from the dialogue and its turn alone.
"""

from __future__ import annotations

import re
import string
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.acts import GENERAL, NONE, SYSTEM_SLOTS, Act
from mwzeval.multiwoz.schema import DONTCARE
from mwzeval.multiwoz.template_system import language as templates
from mwzeval.multiwoz.template_system.language import (
    DETAILS,
    FLAGS,
    NAMES_OF_SLOTS,
    NOT_KNOWN,
    joined,
)

Record = Mapping[str, Any]

WORDING: Mapping[str, Sequence[str]] = {
    "restaurant": (
        "{name} is {pricerange} {food} restaurant in the {area}.",
        "How about {name}? It is {pricerange} restaurant in the {area} and serves {food} food.",
        "I recommend {name}, {pricerange} {food} restaurant in the {area}.",
    ),
    "hotel": (
        "{name} is {pricerange} {stars} star {type} in the {area}.",
        "How about {name}? It is {pricerange} {type} with {stars} stars in the {area}.",
        "I recommend {name}, {pricerange} {stars} star {type} in the {area}.",
    ),
    "attraction": (
        "{name} is {type} in the {area}.",
        "How about {name}? It is {type} in the {area}.",
        "I recommend {name}, {type} in the {area}.",
    ),
    "train": (
        "{trainid} leaves {departure} at {leaveat} on {day} and arrives in {destination} at "
        "{arriveby}.",
        "On {day}, {trainid} departs from {departure} at {leaveat} and arrives in {destination} at "
        "{arriveby}.",
        "There is {trainid} on {day}: it leaves {departure} at {leaveat} and arrives in "
        "{destination} at {arriveby}.",
    ),
    "several": (
        "There are {count} {plural} that match.",
        "I found {count} {plural} for you.",
        "I have {count} {plural} like that.",
    ),
    "booked restaurant": (
        "I have booked a table at {name} for {people} on {day} at {time}. Your reference number is "
        "{reference}.",
        "Your table at {name} is booked for {people} on {day} at {time}. The reference number is "
        "{reference}.",
    ),
    "booked hotel": (
        "I have booked {name} for {people} and {stay} from {day}. Your reference number is "
        "{reference}.",
        "Your room at {name} is booked for {people} and {stay} from {day}. The reference number is "
        "{reference}.",
    ),
    "booked train": (
        "I have booked {tickets} for {trainid}. A ticket is {price}. Your reference number is "
        "{reference}.",
        "Your booking of {tickets} for {trainid} was successful. A ticket is {price}. The "
        "reference number is {reference}.",
    ),
    "booked taxi": (
        "I have booked your taxi from {departure} to {destination}. It will be a {type} and the "
        "contact number is {phone}.",
        "Your taxi from {departure} to {destination} is booked. Look for a {type}. The contact "
        "number is {phone}.",
    ),
    "reference": ("Your reference number is {reference}.",),
    "refused": (
        "I am sorry, the booking at {name} was not possible. Would you like another day, time or "
        "length of stay?",
    ),
    "not booked": ("I am sorry, the booking was not possible.",),
    "name": ("It is called {name}.",),
    "no other": (
        "I am afraid there are no others that match.",
        "That is the only option, I am afraid.",
    ),
    "ask hospital department": ("Which department do you need?",),
    "ask restaurant": (
        "What kind of food would you like, in which price range, and in which area?",
        "Do you have a preference for the food, the price range or the area?",
    ),
    "ask hotel": (
        "In which area would you like to stay, and in what price range?",
        "Do you have a preference for the area or the price range?",
    ),
    "ask attraction": (
        "What type of attraction would you like to visit, and in which area?",
        "Do you have a preference for the type of attraction or the area?",
    ),
    "police": (
        "{name} is at {address}, postcode {postcode}. The phone number is {phone}.",
        "The address of {name} is {address}, postcode {postcode}. The phone number is {phone}.",
    ),
    "hospital": (
        "The hospital is at {address}, postcode {postcode}. The phone number is {phone}.",
    ),
    "department": (
        "The {department} is at {address}, postcode {postcode}. The phone number is {phone}.",
    ),
}
"""What it is that is said → wordings with the slots of records."""

PLURAL = {
    "restaurant": "restaurants",
    "hotel": "places to stay",
    "attraction": "attractions",
    "train": "trains",
}
_CALLED = frozenset({"name", "departure", "destination"})
_TOLD = {
    domain: {internal.lower().replace(" ", ""): slot.capitalize() for slot, internal in of.items()}
    for domain, of in SYSTEM_SLOTS.items()
}
"""Domain → slot of a record → slot of an act."""
_BLANKS = re.compile(r"\{(\w+)\}")
_ALONE = re.compile(r"\bi\b")
_BEGINNING = re.compile(r"^\w|(?<=[.?!] )\w")


class Speech:
    """What is said in a turn: sentences, and the acts that they stand for."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.sentences: list[str] = []
        self.acts: list[Act] = []

    def __bool__(self) -> bool:
        return bool(self.sentences)

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)

    def add(self, text: str, acts: Iterable[Act] = ()) -> None:
        """Say a sentence."""
        text = _ALONE.sub("I", text)
        self.sentences.append(_BEGINNING.sub(lambda begun: begun[0].upper(), text))
        self.acts += acts

    def say(self, what: str, record: Record, acts: Iterable[Act] = ()) -> None:
        """Say a wording of this table with the values of a record."""
        wordings = WORDING[what]
        wording = wordings[zlib.crc32(f"{self._seed} {what}".encode()) % len(wordings)]
        self.add(_BLANKS.sub(lambda blank: _value(record, blank[1]), wording), acts)

    def template(self, what: str, acts: Iterable[Act] = ()) -> None:
        """Say a sentence of the template system that has no values."""
        self.add(templates.sentence(what, self._seed), acts)

    def offer(self, domain: str, record: Record, count: int) -> None:
        """Recommend a venue or train, of so many."""
        spoken = domain.capitalize()
        if count > 1:
            values = {"count": str(count), "plural": PLURAL[domain]}
            self.say("several", values, [Act("Inform", spoken, "Choice", str(count))])
        said = _BLANKS.findall(WORDING[domain][0])
        intent = "Inform" if domain == "train" else "Recommend"
        self.say(domain, with_article(domain, record), told(intent, domain, record, said))

    def details(self, domain: str, record: Record, slots: Sequence[str]) -> None:
        """Answer what was asked about a venue or train."""
        clauses = []
        for slot in slots:
            value = record.get(slot)
            if not isinstance(value, str) or value in ("", "?"):
                clauses.append(NOT_KNOWN.format(what=NAMES_OF_SLOTS.get(slot, slot)))
            elif (slot, value != "no") in FLAGS:
                clauses.append(FLAGS[slot, value != "no"])
            else:
                blank = f"[{{domain}}_{slot}]"
                clauses.append(DETAILS[slot].replace(blank, _shown(slot, value)))
        if clauses:
            self.add(joined(clauses), told("Inform", domain, record, slots))

    def ask(self, domain: str, slots: Sequence[str]) -> None:
        """Ask for slots of states, one sentence for each."""
        for slot in slots:
            what = "time" if slot in ("leaveat", "arriveby") else slot
            plain = slot.removeprefix("book")
            of = "Booking" if plain != slot and domain != "train" else domain.capitalize()
            asked = [plain]
            if what == "time":
                asked = ["leaveat", "arriveby"]
            acts = [Act("Request", of, _TOLD[of.lower()].get(one, one), "?") for one in asked]
            key = f"ask {domain} {what}"
            if key in WORDING:
                self.say(key, {}, acts)
            else:
                self.template(key, acts)

    def general(self, intent: str, what: str) -> None:
        """Say a courtesy of the template system."""
        self.template(what, [Act(intent, GENERAL, NONE, NONE)])


def told(intent: str, domain: str, record: Record, slots: Iterable[str]) -> list[Act]:
    """Return the acts that tell slots of a record."""
    names = _TOLD[domain]
    return [
        Act(intent, domain.capitalize(), names[slot], str(record[slot]))
        for slot in slots
        if slot in names and slot in record
    ]


def with_article(domain: str, record: Record) -> Record:
    """Return a record such that its wording has an article: `a cheap thai restaurant`."""
    first = "type" if domain == "attraction" else "pricerange"
    value = record.get(first)
    if domain == "train" or not isinstance(value, str):
        return record
    article = "an" if value[:1] in "aeiou" else "a"
    return {**record, first: f"{article} {value}"}


def number_of(count: str, one: str, several: str) -> str:
    """Return `1 person`, `2 people`."""
    return f"{count} {one if count == '1' else several}"


def _value(record: Record, slot: str) -> str:
    value = record.get(slot)
    if not isinstance(value, str) or value in ("", "?", DONTCARE):
        return "unknown"
    return _shown(slot, value)


def _shown(slot: str, value: str) -> str:
    if slot in _CALLED:
        return string.capwords(value)
    return value.upper() if slot == "postcode" else value
