"""What an agent asks the user: `For how many people?` is a request for that slot of the booking.

Mentions of values do not tell questions, so that patterns do. A question counts when it asks the
user for a wish. One that offers something (`would you like the phone number?`) or proposes to give
a wish up (`would you like to try another area?`) is no request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

BOOKING = "booking"
"""The domain of acts about the booking of a venue, whichever it is of."""
TABLES = frozenset({"restaurant", "hotel"})
JOURNEYS = frozenset({"train", "taxi"})

_ASKS = re.compile(
    r"\?|\bplease (?:provide|tell|specify|give|let|confirm|share|choose|select|indicate|state"
    r"|inform)"
    r"|\b(?:(?:could|can|would|will) you (?:please )?(?:tell|give|provide|specify|share|let)"
    r"|may i (?:have|know|ask)|let me know|tell me|provide (?:me|us)|specify"
    r"|i(?: ?['’] ?ll| will| would| ?['’] ?d)?(?: just| also| only| still)? (?:need|require"
    r"|like to know)"
    r"|(?:need|like|want) to know|(?:can|could) i (?:have|get|ask)|what about)\b"
    r"|^\W*(?:(?:and|so|ok|okay|sure|for|at|on)\b\W*)*(?:what|which|where|when|how (?:many"
    r"|long)|do you"
    r"|would you|is there)\b"
)
_OFFERS = re.compile(
    r"(?:would you like|do you (?:want|need)|you (?:want|need|would like)|shall i|should i|can i"
    r"|may i|want me|like me|i can|i could|happy to)\b.{0,60}?"
    r"\b(?:to know|information|details|phone|address|postcode|post code|their|its|reference"
    r"|more about|contact|directions)\b"
)
_GIVES_UP = re.compile(
    r"\b(?:different|another|others?|else|change|changing|expand|broaden|instead|alternatives?"
    r"|adjust|widen|relax|elsewhere|flexible|any more|anything more)\b"
)
_SETS_OUT = re.compile(
    r"\b(?:leav\w*|depart\w*|set(?:ting)? off|pick\w*|travel from|go(?:ing)? out)\b"
)
_PLACES = re.compile(
    r"\b(?:place|point|station|location|city) of (?:departure|arrival)"
    r"|\b(?:departure|arrival) (?:place|point|station|location|city)"
)
_ARRIVES = re.compile(r"\b(?:arriv\w*|get(?:ting)? (?:there|in)|reach\w*|be there|drop\w*)\b")
_TIME = re.compile(
    r"\b(?:(?<!travel )(?<!total )(?<!at the )times?\b(?! of (?:day|year))|o ?'? ?clock"
    r"|(?:when|how (?:early|late|soon))\b)"
)
_WHEN = re.compile(r"\bwhen\b")

_TRAVELLERS = (
    r"people|persons?|guests?|tickets?|passengers?|seats?|travell?ers?|diners?|adults?|individuals?"
)
_PATTERNS: Mapping[str, str] = {
    "people": (
        rf"how many (?:\w+ )?(?:{_TRAVELLERS})\b|how many (?:will|are|of you|in|would|do"
        rf"|should|is)\b"
        rf"|number of (?:\w+ )?(?:{_TRAVELLERS})|\bparty\b|size of|group size|how (?:large|big)"
        r"|for how many\b(?! (?:night|day))|how many\s*(?:\?|$|,)|who will be|people will"
    ),
    "stay": (
        r"how many (?:nights?|days?)|how long|(?:length|duration) of (?:your |the )?stay"
        r"|number of (?:nights|days)|(?:nights|days) (?:will|would|are)|check ?-?out date"
    ),
    "day": (
        r"(?:what|which|the|a|on|certain|specific|desired|preferred|particular|your) (?:\w+"
        r" )?days?\b"
        r"|\bdays? (?:of|and|or|would|will|are|is|do|for|you)\b|\bdate\b|, (?:the )?day\b"
        r"|^\W*(?:[0-9]\W*)?(?:the |booking )?days?\b"
    ),
    "area": (
        r"\bareas?\b|(?:parts?|sides?) of (?:the )?(?:town|city|cambridge)|(?:which|what) side"
        r"|\b(?:what|which|specific|certain|particular|preferred|the|as|your|any) locations?\b"
        r"|location (?:in mind|preference)|, location|\blocation,|where (?:in|abouts)"
        r"|where would you like (?:to (?:stay|eat|dine)|it|your (?:hotel|restaurant))"
    ),
    "pricerange": (
        r"price ?-?range|pricing|\bbudget\b|\bprices?\b|how (?:much|expensive)|cheap|expensive"
        r"|moderate"
    ),
    "food": (
        r"\bfoods?\b|cuisines?\b|what (?:are you|do you|would you like to) (?:eat|in the mood)"
        r"|(?:kind|type|sort|style) of restaurants?|restaurant type"
    ),
    "venue type": (
        r"(?:types?|kinds?|sorts?|styles?) of (?:attraction|place|venue|activit|entertainment"
        r"|thing"
        r"|site|lodging|accommodation|hotel|room|establishment|property)|attraction type|hotel"
        r" type"
        r"|what (?:would you like to|do you want to) (?:see|do|visit)"
        r"|guest ?-?house|hotel or (?:an? )?(?:b ?& ?b|bed)|interested in (?:visiting|seeing)"
        r"|(?:what|which) (?:type|kind|sort)\b|what are you interested in"
    ),
    "stars": r"\bstars?\b|\bratings?\b",
    "parking": r"\bparking\b",
    "internet": r"\binternet\b|\bwi ?-?fi\b",
    "name": (
        r"\bname\b(?! (?:for|under|on) )"
        r"|(?:what|which) (?:restaurant|hotel|attraction|museum|college|park)\b"
    ),
    "departure": (
        r"where .{0,40}?\b(?:depart\w*|leav\w*|from|pick\w*|coming|start\w*"
        r"|set(?:ting)? (?:off|out))"
        r"|from where|(?<!time of )departure (?:location|station|point|city|place|site|and)"
        r"|(?<!time of )\bdeparture\b(?! (?:time|dat))|departing (?:from|station|location)"
        r"|leaving from(?! ?[a-z]{3,} ?to)|pick(?:ed|ing)? ?-?(?:you )?up (?:from|at|location"
        r"|point"
        r"|address|and)|\borigin\b|starting (?:point|location)"
        r"|(?:what|which) (?:station|city|place|location|town) .{0,30}\b(?:depart|leav|from)"
    ),
    "destination": (
        r"destinations?\b|where(?! .{0,30}\b(?:from|depart|leav|stay|eat|dine|pick"
        r"|collect)).{0,40}?"
        r"\b(?:go|going|heading|head|headed|travel\w*|arriv\w*|tak\w*|to|visit\w*|drop\w*)\b"
        r"|drop(?:ped)? ?-?off (?:at|location|point)|where to\b"
        r"|arrival (?:location|station|point|city)"
        r"|(?:what|which) (?:station|city|place|location|town) .{0,30}\b(?:go|arriv"
        r"|travel(?:l?ing)? to)"
    ),
    "department": r"departments?\b",
}
_SLOTS = {slot: re.compile(pattern) for slot, pattern in _PATTERNS.items()}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in (*_PATTERNS.values(), _TIME.pattern)))

_OF_VENUES: Mapping[str, Mapping[str, str]] = {
    "restaurant": {"area": "Area", "pricerange": "Price", "food": "Food", "name": "Name"},
    "hotel": {
        "area": "Area",
        "pricerange": "Price",
        "venue type": "Type",
        "stars": "Stars",
        "parking": "Parking",
        "internet": "Internet",
        "name": "Name",
    },
    "attraction": {"area": "Area", "pricerange": "Price", "venue type": "Type", "name": "Name"},
    "hospital": {"department": "Department"},
    "train": {"departure": "Depart", "destination": "Dest", "day": "Day", "people": "People"},
    "taxi": {"departure": "Depart", "destination": "Dest"},
    "police": {},
}
_OF_BOOKINGS: Mapping[str, Mapping[str, str]] = {
    "restaurant": {"people": "People", "day": "Day"},
    "hotel": {"people": "People", "day": "Day", "stay": "Stay"},
}


def asks(sentence: str) -> bool:
    """Tell whether a sentence in lower case asks the user for anything."""
    return _ASKS.search(sentence) is not None


def asked_in(sentence: str, domains: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield domain and slot, as acts call them, of what a sentence in lower case asks for.

    `domains` are those that it may be about, the likeliest first.
    """
    if not (asks(sentence) and _ANY.search(sentence)):
        return
    if _OFFERS.search(sentence) or _GIVES_UP.search(sentence):
        return
    told = [slot for slot, pattern in _SLOTS.items() if pattern.search(sentence)]
    timed = _TIME.search(sentence) is not None
    domain = _of(told, timed, domains)
    if domain is None:
        return
    spoken = domain.capitalize()
    if timed and domain in JOURNEYS:
        yield from ((spoken, slot) for slot in _ends_asked(sentence, told))
    if timed and domain in TABLES:
        at = _WHEN.search(sentence) and not ({"people", "stay", "day"} & {*told})
        if domain == "restaurant":
            yield BOOKING.capitalize(), "Time"
        if at:
            yield BOOKING.capitalize(), "Day"
    for slot in told:
        if slot in _OF_BOOKINGS.get(domain, ()):
            yield BOOKING.capitalize(), _OF_BOOKINGS[domain][slot]
        elif slot in _OF_VENUES[domain]:
            yield spoken, _OF_VENUES[domain][slot]


def _of(told: Collection[str], timed: bool, domains: Sequence[str]) -> str | None:
    """Return the first domain that has any of the slots."""
    for domain in domains:
        has = _OF_VENUES.get(domain, {}).keys() | _OF_BOOKINGS.get(domain, {}).keys()
        if not has.isdisjoint(told) or (timed and domain in JOURNEYS | TABLES):
            return domain
    return None


def _ends_asked(sentence: str, told: Collection[str]) -> list[str]:
    """Return of which ends of a journey the time is asked for: of both, unless a word tells."""
    sentence = _PLACES.sub(" ", sentence)
    leaves = _SETS_OUT.search(sentence) is not None
    arrives = _ARRIVES.search(sentence) is not None
    if leaves == arrives:
        return ["Leave", "Arrive"]
    return ["Leave"] if leaves else ["Arrive"]
