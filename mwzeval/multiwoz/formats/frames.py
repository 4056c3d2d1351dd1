"""Dialogues with frames, as the Schema-Guided Dialogue data and MultiWOZ 2.2 write them.

Sources: Rastogi et al., "Towards scalable multi-domain conversational agents", AAAI 2020; Zang et
al., "MultiWOZ 2.2", NLP4ConvAI 2020. The state stands in the frames of the user's turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.formats.adapted import Adapted
from mwzeval.multiwoz.formats.exchanges import Exchange, Said, dialogues_of
from mwzeval.scores.findings import OBJECT, Findings, check_repeated, found

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
