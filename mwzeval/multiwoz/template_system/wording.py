"""What the template system says: sentences with placeholders, by what they are for.

Several wordings of one thing take turns, so that the same dialogue always reads the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

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
UNKNOWN = "i do not have their {what}"
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
