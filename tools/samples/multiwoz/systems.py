"""Five example systems: responses with placeholders or values, and dialogue states."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.samples.common import Deck, Dice
from tools.samples.multiwoz.talk import Dialogue, Exchange, State
from tools.samples.multiwoz.world import AREAS, SLOTS, TOWNS, Segment, fill, joined, phrases, usable

FAULTS = ("names nothing", "withholds", "loses track")
CONFUSED: Mapping[str, Sequence[str]] = {
    "area": AREAS,
    "pricerange": ("cheap", "moderate", "expensive"),
    "food": ("italian", "indian", "chinese", "british", "french"),
    "stars": ("3", "4", "5"),
    "day": ("monday", "thursday", "sunday"),
    "departure": TOWNS,
    "destination": TOWNS,
}
_PLURAL = re.compile(r"\b(restaurant|hotel|guesthouse|train|attraction|place)s\b")


@dataclass(frozen=True)
class System:
    """A system.

    Its placeholders have the form [hotel_name] (`domain`), [value_name] (`value`) or [name]
    (`bare`), or are the values themselves (`words`). `parroting` is its share of the operator's own
    phrases. Output that is `tokenised` is in lower case with spaces around punctuation and plurals
    as " -s". `silent` slots are never given. A share of `faulty` dialogues has one of the faults.
    Per dialogue and slot, the tracker loses or confuses values with the probabilities `lost` and
    `confused`.
    """

    name: str
    convention: str
    parroting: float = 0.2
    faulty: float = 0.1
    lost: float = 0.0
    confused: float = 0.0
    silent: tuple[str, ...] = ()
    tokenised: bool = False
    states: bool = True
    active_domains: bool = True


SYSTEMS = (
    System("sample-good", "domain"),
    System("sample-weak-tracker", "domain", lost=0.12, confused=0.12, active_domains=False),
    System("sample-no-phone", "value", silent=("phone",), faulty=0.05),
    System("sample-policy-only", "bare", 0.15, tokenised=True, faulty=0.2, states=False),
    System("sample-lexicalized", "words", 0.25),
)


def predict(system: System, dialogues: Sequence[Dialogue], seed: int) -> dict[str, list[Any]]:
    """Return the predictions of a system."""
    deck, predictions = Deck(Dice(seed)), {}
    for dialogue in dialogues:
        dice = Dice(seed * 1000 + int(dialogue.name[3:]))
        fault = dice.pick(FAULTS) if dice.chance(system.faulty) else ""
        fates: dict[tuple[str, str], str] = {}
        turns = []
        for exchange in dialogue.exchanges:
            turn: dict[str, Any] = {"response": _respond(exchange, system, fault, dice, deck)}
            if system.states:
                turn["state"] = _track(exchange.state, system, fault, dice, fates)
            if system.active_domains:
                turn["active_domains"] = [d for d in [exchange.domain] if d != "general"]
            turns.append(turn)
        predictions[dialogue.name.lower()] = turns
    return predictions


def _track(
    state: State, system: System, fault: str, dice: Dice, fates: dict[tuple[str, str], str]
) -> dict[str, dict[str, str]]:
    """Return the predicted state of a system; the error of a slot is constant in a dialogue.

    The states of a lexicalized system have the user's wording of times, "&" in names, and
    "dontcare", which the gold states of an evaluation omit.
    """
    more = 0.4 if fault == "loses track" else 0.0
    belief = dict[str, dict[str, str]]()
    for domain, slots in state.items():
        for slot, values in slots.items():
            value = values[0]
            if system.convention == "words":
                wordings = [v for v in values[1:] if v.endswith((" am", " pm"))]
                value = wordings[0] if wordings else value.replace(" and ", " & ")
            elif value == "dontcare":
                continue
            if (domain, slot) not in fates:
                fate = "lost" if dice.chance(system.lost + more) else ""
                if not fate and slot in CONFUSED and dice.chance(system.confused + more):
                    fate = dice.pick([other for other in CONFUSED[slot] if other != value])
                fates[domain, slot] = fate
            if fates[domain, slot] != "lost":
                belief.setdefault(domain, {})[slot] = fates[domain, slot] or value
    return belief


def _respond(exchange: Exchange, system: System, fault: str, dice: Dice, deck: Deck) -> str:
    parts = [_say(s, system, fault, dice, deck) for s in exchange.operator]
    text = " ".join(filter(None, parts)) or phrases("system", "sure")[0]
    if system.tokenised:
        text = re.sub(r"(?<=[\w\]])([.,?!:;])(?= |$)", r" \1", text.lower()).replace("'", " '")
        text = _PLURAL.sub(r"\1 -s", re.sub(r"\](e?s)\b", r"] -\1", text))
    if system.convention == "words" and (remark := deck.deal(phrases("system", "chatty"))):
        text = f"{remark} {text}"
    return text


def _say(segment: Segment, system: System, fault: str, dice: Dice, deck: Deck) -> str:
    """Return the operator's phrase or another phrase of the same kind."""
    kind, values = segment.kind, segment.values
    if fault == "names nothing" and kind in ("offer", "pair", "again"):
        kind = "unnamed"
    parrots = dice.chance(system.parroting) and kind == segment.kind
    silent = (*system.silent, "phone", "ref") if fault == "withholds" else system.silent
    if parrots and not any("{" + slot in segment.template for slot in silent):
        template = segment.template
    elif kind == "facts":
        given = [slot for slot in segment.key.split() if slot not in silent]
        facts = [deck.deal(phrases("system", "fact", slot)) for slot in given]
        template = joined(facts) + " ." if facts else ""
    elif kind == "booked" and "ref" in silent:
        template = "the booking was made ."
    else:
        if kind == "taxi booked" and "phone" in silent:
            kind = "taxi booked without phone"
        possible = usable(phrases("system", kind, segment.key), values)
        template = deck.deal(possible) if possible else ""
    if system.convention == "words":
        if template != segment.template:
            template = _written_properly(template)
    else:
        values = {s: _placeholder(system, segment.domain, s.rstrip("0123456789")) for s in values}
    return fill(template, values)[0]


def _placeholder(system: System, domain: str, slot: str) -> str:
    *_, with_domain, as_value, bare = SLOTS[slot]
    if system.convention == "domain":
        return f"[{domain}_{with_domain}]" if with_domain else f"[{slot}]"
    if (domain, slot) == ("taxi", "type"):
        as_value = bare = "car"
    return f"[value_{as_value}]" if system.convention == "value" else f"[{bare}]"


def _written_properly(template: str) -> str:
    """Return a tokenised lower-case template as a large language model would write it."""
    template = re.sub(r" (?=[.,?!])", "", template)
    template = re.sub(r"\bi\b(?![^{]*\})", "I", template)
    return re.sub(r"(^|[.?!] )([a-z])", lambda match: match[1] + match[2].upper(), template)
