"""Dialogues with annotated turns: schema-guided frames, and ConvLab-3's unified format.

Schema-Guided Dialogue and MultiWOZ 2.2 have the state in the frames of the user's turn. The unified
format is a list of dialogues whose turns have an utterance and a state; ConvLab-3's evaluation
scripts put what a system predicts into `predictions` of a turn, beside the annotation.

Sources: Rastogi et al., "Towards scalable multi-domain conversational agents", AAAI 2020; Zang et
al., "MultiWOZ 2.2", NLP4ConvAI 2020; Zhu et al., "ConvLab-3", EMNLP 2023 demonstrations, and
`data/unified_datasets/README.md` of its repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.formats.exchanges import Adapted, Dialogue, Exchange, Said, dialogues_of
from mwzeval.multiwoz.predictions.unfilled import UNFILLED, bare
from mwzeval.scores.findings import OBJECT, Findings, check_repeated, found

PREDICTIONS = "predictions"
RESPONSE_KEYS = ("response", "utterance")


def adapt_unified(raw: Any, findings: Findings) -> Adapted:
    """Return the predictions of dialogues in the unified format; problems go to `findings`."""
    dialogues = list(dialogues_of(raw, findings, ("original_id", "dialogue_id")))
    annotated = [_has_predictions(dialogue) for dialogue in dialogues]
    adapted = Adapted()
    for dialogue, has_predictions in zip(dialogues, annotated, strict=True):
        if any(annotated) and not has_predictions and dialogue.exchanges:
            # Its utterances are most likely the annotated ones, which must not be scored.
            message = f'no turn has "{PREDICTIONS}", though other dialogues have them'
            findings.error("missing-predictions", message, dialogue=dialogue.name)
            continue
        turns = [
            (exchange.system.place.turn, _turn(exchange, has_predictions))
            for exchange in dialogue.exchanges
        ]
        adapted.add(dialogue.name, turns)
    return adapted


def _has_predictions(dialogue: Dialogue) -> bool:
    return any(
        PREDICTIONS in said.turn for exchange in dialogue.exchanges for said in exchange if said
    )


def _turn(exchange: Exchange, has_predictions: bool) -> dict[str, Any]:
    said, path = exchange, ""
    keys: tuple[str, ...] = ("utterance",)
    if has_predictions:
        said = Exchange(exchange.user and _predicted(exchange.user), _predicted(exchange.system))
        path, keys = f"{PREDICTIONS}.", RESPONSE_KEYS
    turn: dict[str, Any] = {}
    given = [key for key in keys if key in said.system.turn]
    if len(given) > 1:
        message = f"there is {' and '.join(given)}: keep the one that is the system's"
        said.system.place.error("ambiguous", message, f"{path}{given[0]}")
    if given:
        turn["response"] = said.system.turn[given[0]]
    with_state = [one for one in said if one and "state" in one.turn]
    if len(with_state) > 1:
        message = "there is a state in this turn and in the user's turn before it: keep one of them"
        said.system.place.error("ambiguous", message, f"{path}state")
    if with_state:
        turn["state"] = _unified_state(with_state[0], f"{path}state")
    return turn


def _predicted(said: Said) -> Said:
    predictions = said.turn.get(PREDICTIONS, {})
    if not isinstance(predictions, OBJECT):
        said.place.error("shape", f"expected an object, {found(predictions)}", PREDICTIONS)
        predictions = {}
    check_repeated(predictions, said.place)
    return Said(predictions, said.place)


def _unified_state(said: Said, path: str) -> dict[str, dict[str, str]]:
    """Return the filled slots; a domain without any is left out."""
    raw, place = said.turn["state"], said.place
    if not isinstance(raw, OBJECT):
        place.error("shape", f"a state is an object of domains, {found(raw)}", path)
        return {}
    check_repeated(raw, place)
    state: dict[str, dict[str, str]] = {}
    for domain, slots in raw.items():
        if not isinstance(slots, OBJECT):
            message = f"a domain's state is an object of slots, {found(slots)}"
            place.error("shape", message, f"{path}.{domain}")
            continue
        check_repeated(slots, place)
        filled = {}
        for slot, value in slots.items():
            if value is None:
                continue
            if not isinstance(slot, str) or not isinstance(value, str):
                message = f"a slot and its value are text, {found(value)}"
                place.error("shape", message, f"{path}.{domain}.{slot}")
                continue
            # Of several values the first, as in gold states.
            first = value.partition("|")[0]
            if bare(first) not in UNFILLED:
                filled[slot.replace(" ", "")] = first
        if filled:
            state[domain] = filled
    return state


_NUMBERED_SERVICE = re.compile(r"_\d+$")
"""SGD has several services of a kind, `hotel_1` and `hotel_2`."""


Frame = tuple[int, str, Mapping[str, Any]]
"""A frame's number, domain and slot values."""
State = dict[str, dict[str, str]]


def adapt_sgd(raw: Any, findings: Findings) -> Adapted:
    """Return the predictions of dialogues with frames; problems go to `findings`.

    A domain without a frame keeps the state it had, as in SGD, where only the services that are
    spoken of have one. A dialogue none of whose frames has a state has no predicted states.
    """
    adapted = Adapted()
    for dialogue in dialogues_of(raw, findings, ("dialogue_id",)):
        framed = [_with_states(exchange) for exchange in dialogue.exchanges]
        turns: list[tuple[int, dict[str, Any]]] = []
        state: State = {}
        for exchange, frames in zip(dialogue.exchanges, framed, strict=True):
            turn: dict[str, Any] = {}
            if "utterance" in exchange.system.turn:
                turn["response"] = exchange.system.turn["utterance"]
            if any(framed):
                for said, states in frames:
                    state = {**state, **_state(said, states)}
                turn["state"] = {domain: slots for domain, slots in state.items() if slots}
            turns.append((exchange.system.place.turn, turn))
        adapted.add(dialogue.name, turns)
    return adapted


def _with_states(exchange: Exchange) -> list[tuple[Said, list[Frame]]]:
    """Return who of the two has frames with a state, and these."""
    with_states = [(said, states) for said in exchange if said and (states := list(_states(said)))]
    if len(with_states) > 1:
        message = "there is a state in this turn and in the user's turn before it: keep one of them"
        exchange.system.place.error("ambiguous", message, "frames")
    return with_states


def _states(said: Said) -> Iterator[Frame]:
    """Yield (number of the frame, its domain, its slot values) for each frame with a state."""
    frames, place = said.turn.get("frames", ()), said.place
    if not isinstance(frames, list | tuple):
        place.error("shape", f"expected a list of frames, {found(frames)}", "frames")
        return
    for number, frame in enumerate(frames):
        path = f"frames[{number}]"
        if not isinstance(frame, OBJECT):
            place.error("shape", f"expected an object, {found(frame)}", path)
            continue
        check_repeated(frame, place)
        state = frame.get("state")
        if state is None:
            continue
        service = frame.get("service")
        if not isinstance(service, str):
            place.error("shape", f"a service's name is text, {found(service)}", f"{path}.service")
            continue
        if not isinstance(state, OBJECT):
            place.error("shape", f"a state is an object, {found(state)}", f"{path}.state")
            continue
        check_repeated(state, place)
        values = state.get("slot_values", {})
        if not isinstance(values, OBJECT):
            message = f"slot values are an object, {found(values)}"
            place.error("shape", message, f"{path}.state.slot_values")
            continue
        check_repeated(values, place)
        yield number, _domain(service), values


@lru_cache(maxsize=2**10)
def _domain(service: str) -> str:
    return _NUMBERED_SERVICE.sub("", service).lower()


def _state(said: Said, frames: list[Frame]) -> State:
    """Return the first value of every slot, by the domain of each frame."""
    state: State = {}
    for number, domain, values in frames:
        known = state.setdefault(domain, {})
        for name, listed in values.items():
            if listed in ([], ()):
                continue
            value = listed[0] if isinstance(listed, list | tuple) else listed
            if not isinstance(name, str) or not isinstance(value, str):
                message = f"a slot and its value are text, {found(value)}"
                said.place.error("shape", message, _path(number, name))
                continue
            service, hyphen, slot = name.partition("-")
            if not hyphen:
                service, slot = domain, name
            if _domain(service) != domain:
                message = f'a slot of "{_domain(service)}" stands in a frame of "{domain}"'
                said.place.error("wrong-service", message, _path(number, name))
                continue
            if slot in known and known[slot] != value:
                message = f'"{domain}-{slot}" has two values in this turn'
                said.place.error("repeated-key", message, _path(number, name))
            known[slot] = value
    return state


def _path(number: int, slot: str) -> str:
    return f"frames[{number}].state.slot_values.{slot}"
