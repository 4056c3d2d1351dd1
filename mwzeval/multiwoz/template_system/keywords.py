"""What a user asks for and talks about, by simple keywords: all that is read of an utterance."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mwzeval.multiwoz.normalization.normalize import State

EVERYTHING = ("phone", "address", "postcode")
"""What somebody gets who asks for "information"."""

REQUESTS: Mapping[str, str] = {
    "phone": r"phone|telephone|contact|(?<!reference )(?<!confirmation )(?<!train )number(?! of)",
    "address": r"\baddress|where (?:is|are) (?:it|they|that)|located|location|directions",
    "postcode": r"post ?-?code|postal|\bzip",
    "reference": r"reference|confirmation|booking number|\bref\b",
    "trainid": r"train ?-?id|train number|\bid\b|which train|train name",
    "price": r"\bprices?\b(?! range)|cost|how much|\bfees?\b|entrance|admission|\bfare|ticket",
    "pricerange": r"price ?range|\bexpensive\?|how expensive|is it cheap",
    "area": r"(?:what|which) (?:area|part|side)|the area\b|\barea (?:is|are)|area of town is",
    "food": r"(?:what|which|kind|type)[\w\s]* (?:food|cuisine)|food type|what do they serve",
    "stars": r"star rating|how many stars|what star|star of",
    "type": r"what (?:type|kind)|type of (?:attraction|hotel|place)|hotel type|attraction type",
    "internet": r"internet|wi-?fi",
    "parking": r"parking",
    "duration": r"how long|travel time|duration|travell?ing time|trip take|length of",
    "arriveby": r"arrival|when (?:does|will|would) [\w\s]*(?:arrive|get)|time[\w\s]* arriv",
    "leaveat": r"departure time|when (?:does|will|would) [\w\s]*(?:leave|depart)|time[\w\s]* leav",
    "car": r"car type|type of (?:car|vehicle)|\bcar\b|vehicle|\bmodel\b|colou?r",
}
_REQUESTS = {slot: re.compile(pattern) for slot, pattern in REQUESTS.items()}
_INFORMATION = re.compile(r"\binfo\b|information|details|more about")

TOPICS: Mapping[str, str] = {
    "taxi": r"taxi|\bcab\b",
    "police": r"police|\brobbed|stolen|burgl",
    "hospital": r"hospital|\binjur|emergency|medical|accident|addenbrooke",
    "train": r"\btrains?\b",
    "restaurant": r"restaurant|to eat|dinner|dining|\bfood\b|\btable\b|gastropub|\blunch",
    "hotel": r"hotel|guest ?-?house|lodging|to stay|accommodation|\bb ?& ?b\b|\broom",
    "attraction": (
        r"attraction|museum|college|\bparks?\b|theat(?:re|er)|cinema|night ?club|swimming|\bpool"
        r"|architecture|boat|concert|entertainment|places? to (?:go|see|visit)|gallery|\bsights"
    ),
}
_TOPICS = {domain: re.compile(pattern) for domain, pattern in TOPICS.items()}

_BOOKING = re.compile(r"\bbook|reserv|\btickets?\b|\bseats?\b")
_LAST_WORDS = re.compile(r"\bbye|that(?: i|'| ')?s (?:all|it|everything)|all (?:the|i|that i) ")
_CLOSING = re.compile(
    r"\bbye\b|goodbye|that(?: i|'| ')?s (?:all|it|everything)|\bnothing\b|all set|\bno\b|thank"
    r"|cheers|that (?:will|would|should)? ?(?:be|do)|all i need|appreciate|you(?: ha|')ve been"
)


def requested_slots(utterance: str) -> tuple[str, ...]:
    """Return the slots that an utterance seems to ask for."""
    text = utterance.lower()
    slots = [slot for slot, pattern in _REQUESTS.items() if pattern.search(text)]
    if not slots and _INFORMATION.search(text) and not _LAST_WORDS.search(text):
        return EVERYTHING
    return tuple(slots)


def topics_of(utterance: str, state: State) -> tuple[str, ...]:
    """Return the domains that an utterance names, by a word of theirs or a venue's name."""
    text = utterance.lower()
    return tuple(
        domain
        for domain, pattern in _TOPICS.items()
        if pattern.search(text) or (state.get(domain, {}).get("name") or "\n") in text
    )


def wants_booking(utterance: str) -> bool:
    """Tell whether an utterance speaks of booking."""
    return bool(_BOOKING.search(utterance.lower()))


def closes(utterance: str) -> bool:
    """Tell whether an utterance may be the last of a dialogue."""
    return bool(_CLOSING.search(utterance.lower()))
