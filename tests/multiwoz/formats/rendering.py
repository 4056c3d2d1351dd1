"""Convert predictions to other formats, independently of the code that reads them.

Every function takes predictions in mwzeval's own format and does not modify them.
"""

from __future__ import annotations

import json
from typing import Any

from mwzeval.errors import Problem
from mwzeval.multiwoz.formats import adapt
from mwzeval.multiwoz.functions import read_tools
from mwzeval.scores.findings import Findings

Predictions = dict[str, list[dict[str, Any]]]

BOOKED = {"bookday": "day", "bookpeople": "people", "booktime": "time", "bookstay": "stay"}
SPACED = {
    "pricerange": "price range",
    "arriveby": "arrive by",
    "leaveat": "leave at",
    **{slot: f"book {name}" for slot, name in BOOKED.items()},
}
SERVICES = ("taxi", "police", "restaurant", "hospital", "hotel", "attraction", "train", "bus")


def file_name(dialogue: str) -> str:
    """`sng0073` → `SNG0073.json`."""
    return f"{dialogue.upper()}.json"


def calls_between(
    before: dict[str, Any], after: dict[str, Any]
) -> list[tuple[str, dict[str, str]]]:
    """Return the calls (function, arguments) that change the first state to the second."""
    calls = []
    for domain, slots in after.items():
        old = before.get(domain, {})
        wanted = {slot: value for slot, value in slots.items() if slot not in BOOKED}
        if domain not in before or wanted != {s: v for s, v in old.items() if s not in BOOKED}:
            calls.append((f"find_{domain}", wanted))
        booked = {
            BOOKED[slot]: value
            for slot, value in slots.items()
            if slot in BOOKED and old.get(slot) != value
        }
        if booked:
            calls.append((f"book_{domain}", booked))
    return calls


def is_expressible_by_calls(turns: list[dict[str, Any]]) -> bool:
    """Return whether calls can produce these states: booking slots are never removed."""
    before: dict[str, Any] = {}
    for turn in turns:
        for domain, slots in before.items():
            now = turn["state"].get(domain)
            if now is None or any(slot in BOOKED and slot not in now for slot in slots):
                return False
        before = turn["state"]
    return True


def call(name: str, id_: str | None = "c1", /, **arguments: Any) -> dict[str, Any]:
    """Return a function call in the format of assistant messages."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"type": "function", "function": function} | ({} if id_ is None else {"id": id_})


def calls(*made: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(id_: str = "c1", content: str = "[]") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def to_messages(predictions: Predictions, *, as_text: bool = True) -> dict[str, Any]:
    """Convert to messages whose find and book calls produce the states, one call per message."""
    return {
        dialogue: {"messages": _messages(turns, as_text)} for dialogue, turns in predictions.items()
    }


def _messages(turns: list[dict[str, Any]], as_text: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You know Cambridge."}]
    before: dict[str, Any] = {}
    for turn in turns:
        messages.append({"role": "user", "content": "…"})
        for function, arguments in calls_between(before, turn.get("state", {})):
            id_ = f"call_{len(messages)}"
            made = call(function, id_, **arguments)
            if not as_text:
                made["function"]["arguments"] = arguments
            messages += [calls(made), result(id_)]
        messages.append({"role": "assistant", "content": turn["response"]})
        before = turn.get("state", {})
    return messages


def adapted(raw: Any, input_format: str, tools: Any = None) -> tuple[dict[str, Any], list[Problem]]:
    """Return the dialogues that are read from predictions, and all problems."""
    findings = Findings()
    dialogues = adapt(raw, input_format, findings, read_tools(tools)) or {}
    return dialogues, [*findings.errors, *findings.warnings]


def to_unified(predictions: Predictions, *, beside_annotation: bool = True) -> list[dict[str, Any]]:
    """Convert to ConvLab-3's unified format, with predictions next to or as the annotation."""
    return [
        {
            "dataset": "multiwoz21",
            "data_split": "test",
            "dialogue_id": f"multiwoz21-test-{number}",
            "original_id": file_name(dialogue),
            "turns": [
                side
                for index, turn in enumerate(turns)
                for side in _unified(turn, index, beside_annotation)
            ],
        }
        for number, (dialogue, turns) in enumerate(predictions.items())
    ]


def _unified(turn: dict[str, Any], index: int, beside_annotation: bool) -> list[dict[str, Any]]:
    user: dict[str, Any] = {"speaker": "user", "utterance": "…", "utt_idx": 2 * index}
    system = {"speaker": "system", "utterance": turn["response"], "utt_idx": 2 * index + 1}
    if "state" not in turn:
        return [user, system]
    empty = {service: {"name": "", "price range": "", "area": ""} for service in SERVICES}
    state: dict[str, Any] = dict(empty)
    for domain, slots in turn["state"].items():
        spaced = {SPACED.get(slot, slot): value for slot, value in slots.items()}
        state[domain] = {**empty.get(domain, {}), **spaced}
    if beside_annotation:
        user |= {"state": {"hotel": {"area": "never said"}}, "predictions": {"state": state}}
        system |= {"utterance": "annotated", "predictions": {"response": turn["response"]}}
    else:
        user |= {"state": state}
    return [user, system]


def to_sgd(predictions: Predictions, *, prefixed: bool = True) -> list[dict[str, Any]]:
    """Convert to the format of MultiWOZ 2.2, or of SGD with numbered services."""
    return [
        {
            "dialogue_id": file_name(dialogue),
            "services": [],
            "turns": [
                side for index, turn in enumerate(turns) for side in _framed(turn, index, prefixed)
            ],
        }
        for dialogue, turns in predictions.items()
    ]


def _framed(turn: dict[str, Any], index: int, prefixed: bool) -> list[dict[str, Any]]:
    frames = []
    for service in dict.fromkeys((*SERVICES, *turn.get("state", {}))):
        slots = turn.get("state", {}).get(service, {})
        values = {
            (f"{service}-{slot}" if prefixed else slot): [value, f"{value} again"]
            for slot, value in slots.items()
        }
        frame: dict[str, Any] = {"service": service if prefixed else f"{service.title()}_1"}
        if "state" in turn:
            frame["state"] = {"active_intent": "NONE", "slot_values": values}
        frames.append(frame)
    user = {"turn_id": str(2 * index), "speaker": "USER", "utterance": "…", "frames": frames}
    response = turn["response"]
    system = {"turn_id": str(2 * index + 1), "speaker": "SYSTEM", "utterance": response}
    return [user, {**system, "frames": []}]
