"""How an example system answers: the operator's meaning, partly in other words."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.dice import Deck, Dice
from tools.multiwoz_sample import system_templates as own
from tools.multiwoz_sample.conversation import Exchange
from tools.multiwoz_sample.placeholders import placeholders
from tools.multiwoz_sample.wording import Segment, fill, joined, usable

_PLURAL = re.compile(r"\b(restaurant|hotel|guesthouse|train|attraction|place)s\b")
_GENERAL: Mapping[str, Sequence[str]] = {
    "pair": own.PAIRS,
    "again": own.AGAIN,
    "only_one": own.ONLY_ONE,
    "unnamed": own.UNNAMED,
    "no_offer": own.NO_OFFERS,
    "offer_booking": own.OFFER_BOOKING,
    "more_details": own.MORE_DETAILS,
    "booking_failed": own.BOOKING_FAILED,
    "fully_booked": own.FULLY_BOOKED,
    "instead": own.INSTEAD,
    "taxi_booked": own.TAXI_BOOKED,
    "sure": own.SURE,
    "anything_else": own.ANYTHING_ELSE,
    "goodbye": own.GOODBYES,
}
_BY_DOMAIN: Mapping[str, Mapping[str, Sequence[str]]] = {
    "count": own.COUNTS,
    "offer": own.OFFERS,
    "booked": own.BOOKED,
}


@dataclass(frozen=True)
class Style:
    """How a system writes.

    `convention` names the placeholders (see `placeholders`), `parroting` is how often it says what
    the operator said, word for word. `tokenised` output is lower-case with spaces around marks
    and plurals as " -s". `silent` slots are never given.
    """

    convention: str
    parroting: float
    tokenised: bool = False
    chatty: bool = False
    silent: tuple[str, ...] = ()


def respond(exchange: Exchange, style: Style, fault: str, dice: Dice, deck: Deck) -> str:
    """Return the response of a system to the user turn of an exchange."""
    parts = [_say(s, style, fault, dice, deck) for s in exchange.operator.segments]
    text = " ".join(part for part in parts if part) or own.SURE[0]
    if style.tokenised:
        text = re.sub(r"(?<=[\w\]])([.,?!:;])(?= |$)", r" \1", text.lower()).replace("'", " '")
        text = _PLURAL.sub(r"\1 -s", re.sub(r"\](e?s)\b", r"] -\1", text))
    if style.chatty:
        text = deck.deal(own.CHATTY) + text
    return text


def _say(segment: Segment, style: Style, fault: str, dice: Dice, deck: Deck) -> str:
    kind, values = segment.kind, segment.values
    if fault == "names nothing" and kind in ("offer", "pair", "again"):
        kind = "unnamed"
    parrots = dice.chance(style.parroting) and kind == segment.kind
    silent = (*style.silent, "phone", "ref") if fault == "withholds" else style.silent
    if parrots and not any("{" + slot in segment.template for slot in silent):
        template = segment.template
    elif kind.startswith("facts:"):
        given = [
            slot for slot in kind.removeprefix("facts:").split(",") if slot and slot not in silent
        ]
        template = joined([deck.deal(own.FACTS[slot]) for slot in given]) + " ." if given else ""
    elif kind == "booked" and "ref" in silent:
        template = "the booking was made ."
    else:
        ways = _ways(kind, segment.domain, silent)
        possible = usable(ways, values)
        template = deck.deal(possible) if possible else ""
    if style.convention == "words" and template != segment.template:
        template = _written_properly(template)
    return fill(template, placeholders(style.convention, segment.domain, values))[0]


def _ways(kind: str, domain: str, silent: Sequence[str]) -> Sequence[str]:
    if kind == "taxi_booked" and "phone" in silent:
        return own.TAXI_WITHOUT_PHONE
    if kind.startswith("request:"):
        return own.REQUESTS[kind.removeprefix("request:")]
    if kind in _BY_DOMAIN:
        return _BY_DOMAIN[kind][domain]
    return _GENERAL[kind]


def _written_properly(template: str) -> str:
    """Return a tokenised lower-case template the way a large language model would write it."""
    template = re.sub(r" (?=[.,?!])", "", template)
    template = re.sub(r"\bi\b(?![^{]*\})", "I", template)
    return re.sub(r"(^|[.?!] )([a-z])", lambda m: m.group(1) + m.group(2).upper(), template)
