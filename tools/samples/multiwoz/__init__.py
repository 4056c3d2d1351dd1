"""The MultiWOZ sample: dialogues about a fictional town, and predictions of five systems.

This module writes the files: the corpus in the formats of MultiWOZ 2.1 and 2.2.
"""

import re
from collections.abc import Sequence
from typing import Any

from mwzeval.multiwoz.convlab.system import SEMI_SLOTS
from mwzeval.multiwoz.schema import ALL_DOMAINS, BOOKING_SLOTS
from tools.samples.common import array_text, object_text
from tools.samples.multiwoz.goals import Goal, described
from tools.samples.multiwoz.systems import SYSTEMS, predict
from tools.samples.multiwoz.talk import FOLDS, Dialogue, Exchange, make_dialogues
from tools.samples.multiwoz.world import OLD_NAMES, SLOTS, TOWN, Segment, marks_of, text_of

Json = dict[str, Any]
SEED = 411
DESCRIBED = ("taxi", "police", "restaurant", "bus", "hospital", "hotel", "attraction", "train")
"""The domains in the metadata of MultiWOZ 2.1, in their order."""
WRITTEN_OUT = ("name", "food", "departure", "destination", "leaveat", "arriveby", "booktime")
TOKEN = re.compile(r"o'clock|\d+(?:[.:]\d+)+|\w+?(?=n't\b)|n't|'(?:s|d|m|re|ve|ll)\b|\w+|[^\w\s]")


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    dialogues = make_dialogues(SEED)
    old, new = "data/sample/data/MultiWOZ_2.1", "data/sample/data/MultiWOZ_2.2"
    written = dict[str, str]()
    for path, layout in ((f"{old}/data.json", _dialogue_21), (f"{new}/dialog_acts.json", _acts_22)):
        written[path] = object_text({f"{d.name}.json": layout(d) for d in dialogues})
    for fold, _ in FOLDS:
        members = [d for d in dialogues if d.fold == fold]
        written[f"{new}/{fold}/dialogues_001.json"] = array_text(map(_dialogue_22, members))
        if fold != "train":
            name = {"test": "testListFile.txt", "dev": "valListFile.txt"}[fold]
            written[f"{old}/{name}"] = "".join(f"{d.name}.json\n" for d in members)
    tested = [d for d in dialogues if d.fold == "test"]
    for number, system in enumerate(SYSTEMS, start=1):
        predictions = predict(system, tested, SEED + number)
        written[f"predictions/{system.name}.json"] = object_text(predictions)
    return written


def _dialogue_21(dialogue: Dialogue) -> Json:
    log = []
    for exchange in dialogue.exchanges:
        log.append({**_turn_21(exchange.user), "metadata": {}})
        log.append({**_turn_21(exchange.operator), "metadata": _metadata(exchange)})
    return {"goal": _goal_21(dialogue.goals), "log": log}


def _goal_21(goals: Sequence[Goal]) -> Json:
    written: Json = {domain: {} for domain in ALL_DOMAINS}
    for goal in goals:
        names = {**OLD_NAMES, "type": "car type"} if goal.domain == "taxi" else OLD_NAMES
        first = {**goal.info, **goal.first_info} if goal.first_info else {}
        entry: Json = {
            "info": {OLD_NAMES[slot]: value for slot, value in goal.info.items()},
            "fail_info": {OLD_NAMES[slot]: value for slot, value in first.items()},
        }
        if goal.reqt:
            entry["reqt"] = [names[slot] for slot in goal.reqt]
        if goal.book:
            entry["book"] = {s.removeprefix("book"): v for s, v in goal.book.items()}
            entry["book"]["invalid"] = False
            if goal.first_book:
                entry["book"]["pre_invalid"] = True
            entry["fail_book"] = {s.removeprefix("book"): v for s, v in goal.first_book.items()}
        written[goal.domain] = entry
    topics = dict.fromkeys((*ALL_DOMAINS, "booking", "general"), False)
    message = [f"You are spending some days in {TOWN.capitalize()}"]
    message += [line for goal in goals for line in described(goal)]
    return {**written, "topic": topics, "message": message}


def _turn_21(utterance: Sequence[Segment]) -> Json:
    tokens = list(TOKEN.finditer(text_of(utterance)))
    spans, values = [], []
    for mark in marks_of(utterance):
        # A plural "s" is part of the token, and therefore of the value.
        inside = [n for n, t in enumerate(tokens) if t.start() < mark.end and t.end() > mark.start]
        values.append(" ".join(tokens[number][0] for number in inside))
        slot = _act_slot(mark.slot, mark.act)
        spans.append([mark.act, slot, values[-1], inside[0], inside[-1]])
    text = " ".join(token[0] for token in tokens)
    return {"text": text, "dialog_act": _acts(utterance, values), "span_info": spans}


def _metadata(exchange: Exchange) -> Json:
    metadata: Json = {}
    for domain in DESCRIBED:
        known = {slot: values[0] for slot, values in exchange.state.get(domain, {}).items()}
        booking, blank = exchange.bookings.get(domain), "not mentioned" if known else ""
        journey = "train" if domain == "bus" else domain
        book = {slot: known.get("book" + slot, "") for slot in BOOKING_SLOTS.get(journey, ())}
        semi = {slot: known.get(slot.lower(), blank) for slot in SEMI_SLOTS[journey]}
        metadata[domain] = {"book": {"booked": [booking] if booking else [], **book}, "semi": semi}
    return metadata


def _acts(utterance: Sequence[Segment], values: Sequence[str]) -> dict[str, list[list[str]]]:
    acts: dict[str, list[list[str]]] = {}
    for mark, value in zip(marks_of(utterance), values, strict=True):
        acts.setdefault(mark.act, []).append([_act_slot(mark.slot, mark.act), value])
    for segment in utterance:
        pairs = [*segment.unspoken, *((slot, "?") for slot in segment.asked)]
        acts.setdefault(segment.act, []).extend(
            [_act_slot(slot, segment.act), value] for slot, value in pairs
        )
    return {act: pairs or [["none", "none"]] for act, pairs in acts.items()}


def _act_slot(slot: str, act: str) -> str:
    return "Car" if slot == "type" and act.startswith("Taxi") else SLOTS[slot][1]


def _acts_22(dialogue: Dialogue) -> Json:
    acts: Json = {}
    for exchange in dialogue.exchanges:
        for utterance in (exchange.user, exchange.operator):
            of_turn = _acts(utterance, [mark.value for mark in marks_of(utterance)])
            acts[str(len(acts))] = {"dialog_act": of_turn, "span_info": marks_of(utterance)}
    return acts


def _dialogue_22(dialogue: Dialogue) -> Json:
    turns: list[Json] = []
    for exchange in dialogue.exchanges:
        frames = [_frame(exchange, service) for service in ALL_DOMAINS]
        for speaker, utterance in (("USER", exchange.user), ("SYSTEM", exchange.operator)):
            turn = {"frames": frames if speaker == "USER" else [], "speaker": speaker}
            turns.append({**turn, "turn_id": str(len(turns)), "utterance": text_of(utterance)})
    services = [goal.domain for goal in dialogue.goals]
    return {"dialogue_id": f"{dialogue.name}.json", "services": services, "turns": turns}


def _frame(exchange: Exchange, service: str) -> Json:
    marks, intent = marks_of(exchange.user), "NONE"
    if exchange.domain == service:
        books = service == "taxi" or any(m.slot.startswith("book") for m in marks)
        intent = f"{'book' if books else 'find'}_{service}"
    slots = [
        {"exclusive_end": m.end, "slot": f"{service}-{m.slot}", "start": m.start, "value": m.value}
        for m in marks
        if m.act.lower().startswith(service) and m.slot in WRITTEN_OUT
    ]
    values = {f"{service}-{slot}": v for slot, v in exchange.state.get(service, {}).items()}
    asked = [(segment.domain, slot) for segment in exchange.user for slot in segment.asked]
    requested = [f"{service}-{slot}" for domain, slot in asked if domain == service]
    state = {"active_intent": intent, "requested_slots": requested, "slot_values": values}
    return {"actions": [], "service": service, "slots": slots, "state": state}
