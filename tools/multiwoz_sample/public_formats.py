"""The corpus in the file formats of MultiWOZ 2.1 and 2.2."""

import re
from typing import Any

from tools.multiwoz_sample.conversation import Dialogue, Exchange, State
from tools.multiwoz_sample.goal_messages import goal_message
from tools.multiwoz_sample.goals import DomainGoal
from tools.multiwoz_sample.wording import Utterance
from tools.multiwoz_sample.world import TOWN

Json = Any
SERVICES = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
ACT_SLOTS = {
    "name": "Name",
    "area": "Area",
    "pricerange": "Price",
    "food": "Food",
    "type": "Type",
    "stars": "Stars",
    "internet": "Internet",
    "parking": "Parking",
    "phone": "Phone",
    "address": "Addr",
    "postcode": "Post",
    "entrancefee": "Fee",
    "ref": "Ref",
    "choice": "Choice",
    "bookpeople": "People",
    "bookday": "Day",
    "booktime": "Time",
    "bookstay": "Stay",
    "trainid": "Id",
    "departure": "Depart",
    "destination": "Dest",
    "day": "Day",
    "leaveat": "Leave",
    "arriveby": "Arrive",
    "price": "Ticket",
    "duration": "Time",
}
OLD_NAMES = {
    "leaveat": "leaveAt",
    "arriveby": "arriveBy",
    "entrancefee": "entrance fee",
    "trainid": "trainID",
}
_SEMI = {
    "taxi": ("leaveAt", "destination", "departure", "arriveBy"),
    "police": (),
    "restaurant": ("food", "pricerange", "name", "area"),
    "bus": ("leaveAt", "destination", "day", "arriveBy", "departure"),
    "hospital": ("department",),
    "hotel": ("name", "area", "parking", "pricerange", "stars", "internet", "type"),
    "attraction": ("type", "name", "area"),
    "train": ("leaveAt", "destination", "day", "arriveBy", "departure"),
}
_BOOK = {
    "restaurant": ("people", "day", "time"),
    "hotel": ("people", "day", "stay"),
    "train": ("people",),
    "bus": ("people",),
}
_WRITTEN_OUT = ("name", "food", "departure", "destination", "leaveat", "arriveby", "booktime")
_TOKEN = re.compile(r"o'clock|\d+(?:[.:]\d+)+|\w+?(?=n't\b)|n't|'(?:s|d|m|re|ve|ll)\b|\w+|[^\w\s]")


def dialogue_21(dialogue: Dialogue) -> Json:
    """Return goal and log of a dialogue as MultiWOZ 2.1 has them."""
    log = []
    for exchange in dialogue.exchanges:
        log.append({**_turn_21(exchange.user), "metadata": {}})
        log.append({**_turn_21(exchange.operator), "metadata": _metadata(exchange)})
    return {"goal": goal_21(dialogue.goals), "log": log}


def goal_21(goals: tuple[DomainGoal, ...]) -> Json:
    """Return the goal of a dialogue as MultiWOZ 2.1 has it."""
    written: dict[str, Json] = {domain: {} for domain in SERVICES}
    for goal in goals:
        domain = goal.domain
        info = {OLD_NAMES.get(s, s): v for s, v in goal.info.items()}
        first = {OLD_NAMES.get(s, s): v for s, v in goal.first_info.items()}
        entry: dict[str, Json] = {"info": info, "fail_info": {**info, **first} if first else {}}
        if goal.reqt:
            names = {**OLD_NAMES, "type": "car type"} if domain == "taxi" else OLD_NAMES
            entry["reqt"] = [names.get(slot, slot) for slot in goal.reqt]
        if goal.book:
            entry["book"] = {s.removeprefix("book"): v for s, v in goal.book.items()}
            entry["book"]["invalid"] = False
            if goal.first_book:
                entry["book"]["pre_invalid"] = True
            entry["fail_book"] = {s.removeprefix("book"): v for s, v in goal.first_book.items()}
        written[domain] = entry
    topics = (*SERVICES, "booking", "general")
    return {**written, "topic": dict.fromkeys(topics, False), "message": goal_message(goals, TOWN)}


def dialogue_22(dialogue: Dialogue) -> Json:
    """Return a dialogue as MultiWOZ 2.2 has it."""
    turns: list[Json] = []
    for exchange in dialogue.exchanges:
        frames = [_frame(exchange, service) for service in SERVICES]
        for speaker, utterance in (("USER", exchange.user), ("SYSTEM", exchange.operator)):
            turn = {
                "frames": frames if speaker == "USER" else [],
                "speaker": speaker,
                "turn_id": str(len(turns)),
                "utterance": utterance.text,
            }
            turns.append(turn)
    services = [goal.domain for goal in dialogue.goals]
    return {"dialogue_id": f"{dialogue.identity}.json", "services": services, "turns": turns}


def dialogue_acts_22(dialogue: Dialogue) -> Json:
    """Return the acts and character spans of a dialogue, as in `dialog_acts.json` of 2.2."""
    acts: dict[str, Json] = {}
    for exchange in dialogue.exchanges:
        for utterance in (exchange.user, exchange.operator):
            text = utterance.text
            spans = [
                [m.act, m.slot, text[m.start : m.end], m.start, m.end] for m in utterance.marks
            ]
            heard = [text[m.start : m.end] for m in utterance.marks]
            acts[str(len(acts))] = {"dialog_act": _acts(utterance, heard), "span_info": spans}
    return acts


def _turn_21(utterance: Utterance) -> dict[str, Json]:
    tokens = [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(utterance.text)]
    spans, heard = [], []
    for mark in utterance.marks:
        # A plural "s" belongs to the token, so here it belongs to the value.
        inside = [
            i for i, (_, start, end) in enumerate(tokens) if start < mark.end and end > mark.start
        ]
        value = " ".join(tokens[i][0] for i in inside)
        heard.append(value)
        spans.append([mark.act, _act_slot(mark.slot, mark.act), value, inside[0], inside[-1]])
    text = " ".join(token for token, _, _ in tokens)
    return {"text": text, "dialog_act": _acts(utterance, heard), "span_info": spans}


def _acts(utterance: Utterance, heard: list[str]) -> dict[str, list[list[str]]]:
    acts: dict[str, list[list[str]]] = {}
    marks = utterance.marks
    for mark, value in zip(marks, heard, strict=True):
        acts.setdefault(mark.act, []).append([_act_slot(mark.slot, mark.act), value])
    for segment in utterance.segments:
        for slot, value in segment.unspoken:
            acts.setdefault(segment.act, []).append([_act_slot(slot, segment.act), value])
        for slot in segment.asked:
            acts.setdefault(segment.act, []).append([_act_slot(slot, segment.act), "?"])
        acts.setdefault(segment.act, [])
    return {act: pairs or [["none", "none"]] for act, pairs in acts.items()}


def _act_slot(slot: str, act: str) -> str:
    return "Car" if slot == "type" and act.startswith("Taxi") else ACT_SLOTS[slot]


def _metadata(exchange: Exchange) -> dict[str, Json]:
    metadata: dict[str, Json] = {}
    for domain, slots in _SEMI.items():
        known = {s: values[0] for s, values in exchange.state.get(domain, {}).items()}
        blank = "not mentioned" if known else ""
        booking = exchange.bookings.get(domain)
        book: dict[str, Json] = {"booked": [booking] if booking else []}
        book.update({slot: known.get("book" + slot, "") for slot in _BOOK.get(domain, ())})
        semi = {slot: known.get(slot.lower(), blank) for slot in slots}
        metadata[domain] = {"book": book, "semi": semi}
    return metadata


def _frame(exchange: Exchange, service: str) -> Json:
    text, state = exchange.user.text, exchange.state
    intent = "NONE"
    if exchange.domain == service:
        books = any(m.slot.startswith("book") for m in exchange.user.marks)
        intent = f"{'book' if books or service == 'taxi' else 'find'}_{service}"
    slots = [
        {
            "exclusive_end": m.end,
            "slot": f"{service}-{m.slot}",
            "start": m.start,
            "value": text[m.start : m.end],
        }
        for m in exchange.user.marks
        if m.act.lower().startswith(service) and m.slot in _WRITTEN_OUT
    ]
    requested = [slot for slot in exchange.requested if slot.startswith(service)]
    return {
        "actions": [],
        "service": service,
        "slots": slots,
        "state": {
            "active_intent": intent,
            "requested_slots": requested,
            "slot_values": _slot_values(state, service),
        },
    }


def _slot_values(state: State, service: str) -> dict[str, list[str]]:
    return {f"{service}-{slot}": values for slot, values in state.get(service, {}).items()}
