"""What the template system reads of a user, by simple keywords, and the sentences that it says.

Several wordings of one thing take turns, so that the same dialogue always reads the same.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence

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


WORDING: Mapping[str, Sequence[str]] = {
    # An offer, when there are several venues or exactly one.
    "several restaurant": ("there are [restaurant_choice] restaurants.",),
    "several hotel": ("there are [hotel_choice] places to stay.",),
    "several attraction": ("i have [attraction_choice] options for you.",),
    "several train": ("there are [train_choice] trains that match.",),
    "offer restaurant": (
        "[restaurant_name] is a [restaurant_pricerange] [restaurant_food] restaurant in the "
        "[restaurant_area].",
        "how about [restaurant_name]? it serves [restaurant_food] food in the [restaurant_area].",
    ),
    "offer hotel": (
        "[hotel_name] is a [hotel_pricerange] [hotel_stars] star [hotel_type] in the [hotel_area].",
        "how about [hotel_name]? it is a [hotel_stars] star [hotel_type] in the [hotel_area].",
    ),
    "offer attraction": (
        "[attraction_name] is a [attraction_type] in the [attraction_area].",
        "how about [attraction_name]? it is a [attraction_type] in the [attraction_area].",
    ),
    "offer train": (
        "[train_trainid] leaves [train_departure] at [train_leaveat] and arrives in "
        "[train_destination] at [train_arriveby].",
        "[train_trainid] leaves at [train_leaveat] and arrives by [train_arriveby].",
    ),
    "offer restaurant unnamed": (
        "it is a [restaurant_pricerange] [restaurant_food] restaurant in the [restaurant_area].",
    ),
    "offer hotel unnamed": (
        "it is a [hotel_pricerange] [hotel_stars] star [hotel_type] in the [hotel_area].",
    ),
    "offer attraction unnamed": ("it is a [attraction_type] in the [attraction_area].",),
    "offer train unnamed": ("it leaves at [train_leaveat] and arrives by [train_arriveby].",),
    "again restaurant": ("i would recommend [restaurant_name].",),
    "again hotel": ("i would recommend [hotel_name].",),
    "again attraction": ("i would recommend [attraction_name].",),
    "again train": ("[train_trainid] would suit you. it leaves at [train_leaveat].",),
    "none restaurant": (
        "i am sorry, there are no restaurants that match. would you like to try something else?",
    ),
    "none hotel": (
        "i am sorry, there are no places to stay that match. would you like to try something else?",
    ),
    "none attraction": (
        "i am sorry, there are no attractions that match. would you like to try something else?",
    ),
    "none train": ("i am sorry, there are no trains that match. can you change the time or day?",),
    # Questions after an offer.
    "book? restaurant": (
        "would you like me to book a table for you?",
        "would you like to make a reservation?",
    ),
    "book? hotel": (
        "would you like me to book it for you?",
        "would you like to book a room?",
    ),
    "book? train": (
        "would you like me to book it for you?",
        "would you like to book a ticket?",
    ),
    "more? attraction": (
        "would you like more information?",
        "is there anything else i can help you with?",
    ),
    "more?": (
        "is there anything else i can help you with?",
        "can i help you with anything else?",
        "is there anything else?",
    ),
    # Questions for what is needed to search or to book.
    "ask train departure": ("where will you be departing from?",),
    "ask train destination": ("what is your destination?",),
    "ask train day": ("what day would you like to travel?",),
    "ask train time": ("what time would you like to leave or arrive?",),
    "ask train bookpeople": ("how many tickets do you need?",),
    "ask restaurant bookpeople": ("how many people will be dining?",),
    "ask restaurant bookday": ("what day would you like the table?",),
    "ask restaurant booktime": ("what time would you like the table?",),
    "ask hotel bookpeople": ("how many people will be staying?",),
    "ask hotel bookday": ("what day will you be arriving?",),
    "ask hotel bookstay": ("how many nights will you be staying?",),
    "ask taxi departure": ("where would you like to be picked up?",),
    "ask taxi destination": ("where would you like to go?",),
    "ask taxi time": ("what time would you like to leave or arrive by?",),
    # Bookings.
    "booked restaurant": (
        "i have booked [restaurant_name] for you. your reference number is [restaurant_reference].",
        "booking was successful. the table will be held at [restaurant_name]. your reference "
        "number is [restaurant_reference].",
    ),
    "booked hotel": (
        "i have booked [hotel_name] for you. your reference number is [hotel_reference].",
        "booking was successful at [hotel_name]. your reference number is [hotel_reference].",
    ),
    "booked train": (
        "i have booked [train_trainid] for you. a ticket is [train_price]. your reference number "
        "is [train_reference].",
    ),
    "booked restaurant unnamed": (
        "booking was successful. your reference number is [restaurant_reference].",
    ),
    "booked hotel unnamed": (
        "booking was successful. your reference number is [hotel_reference].",
    ),
    "booked train unnamed": (
        "booking was successful. a ticket is [train_price]. your reference number is "
        "[train_reference].",
    ),
    "reference restaurant": ("your reference number is [restaurant_reference].",),
    "reference hotel": ("your reference number is [hotel_reference].",),
    "reference train": ("your reference number is [train_reference].",),
    "booked taxi": (
        "i have booked your taxi. it will be a [taxi_type] and the contact number is [taxi_phone].",
        "your taxi is booked. look for a [taxi_type]. the contact number is [taxi_phone].",
    ),
    # Venues without a choice.
    "inform police": (
        "the police station is at [police_address], postcode [police_postcode]. their phone "
        "number is [police_phone].",
    ),
    "inform hospital": (
        "the hospital is at [hospital_address], postcode [hospital_postcode]. the phone number is "
        "[hospital_phone].",
    ),
    # Nothing to look up.
    "welcome": (
        "you are welcome. have a great day!",
        "thank you for using our service. have a good day!",
        "you are welcome. goodbye!",
    ),
    "hello": ("how can i help you today?",),
}

DETAILS: Mapping[str, str] = {
    "phone": "the phone number is [{domain}_phone]",
    "address": "the address is [{domain}_address]",
    "postcode": "the postcode is [{domain}_postcode]",
    "area": "it is in the [{domain}_area]",
    "pricerange": "it is in the [{domain}_pricerange] price range",
    "food": "it serves [{domain}_food] food",
    "stars": "it has [{domain}_stars] stars",
    "type": "it is a [{domain}_type]",
    "entrancefee": "the entrance fee is [{domain}_entrancefee]",
    "price": "the price is [{domain}_price] per ticket",
    "trainid": "the train id is [{domain}_trainid]",
    "duration": "the travel time is [{domain}_duration]",
    "arriveby": "it arrives at [{domain}_arriveby]",
    "leaveat": "it leaves at [{domain}_leaveat]",
}
"""One thing about a venue; several are joined to one sentence."""

FLAGS: Mapping[tuple[str, bool], str] = {
    ("internet", True): "it has free wifi",
    ("internet", False): "it does not have free wifi",
    ("parking", True): "it has free parking",
    ("parking", False): "it does not have free parking",
}
NOT_KNOWN = "i do not have their {what}"
NAMES_OF_SLOTS: Mapping[str, str] = {
    "phone": "phone number",
    "pricerange": "price range",
    "entrancefee": "entrance fee",
    "stars": "star rating",
}


def sentence(what: str, seed: str) -> str:
    """Return a wording of `what`; which one of several depends on `seed` alone."""
    wordings = WORDING[what]
    return wordings[zlib.crc32(f"{seed} {what}".encode()) % len(wordings)]


def joined(clauses: Sequence[str]) -> str:
    """Return clauses as one sentence: a, b and c."""
    if len(clauses) > 1:
        clauses = [*clauses[:-2], f"{clauses[-2]} and {clauses[-1]}"]
    return ", ".join(clauses) + "."
