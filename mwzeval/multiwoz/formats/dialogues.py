"""Lists of dialogues whose turns have speakers: schema-guided frames, ConvLab-3's unified format.

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
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.predictions.reading import UNFILLED, bare
from mwzeval.scores.findings import OBJECT, Findings, Place, check_repeated, found, repeated

PREDICTIONS = "predictions"
RESPONSE_KEYS = ("response", "utterance")
TWO_STATES = "there is a state in this turn and in the user's turn before it: keep one of them"
_NUMBERED_SERVICE = re.compile(r"_\d+$")
"""SGD has several services of a kind, `hotel_1` and `hotel_2`."""

State = dict[str, dict[str, str]]


@dataclass(slots=True)
class Adapted:
    """Dialogue → turns as mwzeval writes them, and → each turn's position in the original list.

    Where problems were found, the dialogues are as whole as can be, for other problems to be found.
    """

    dialogues: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    positions: dict[str, list[int]] = field(default_factory=dict)

    def add(self, dialogue: str, turns: list[tuple[int, dict[str, Any]]]) -> None:
        """Add a dialogue; one without turns is left out, because something was said about it."""
        if turns:
            self.positions[dialogue] = [position for position, _ in turns]
            self.dialogues[dialogue] = [turn for _, turn in turns]


USER, SYSTEM = "user", "system"
SPEAKERS = (USER, SYSTEM)
_FILE_NAME = re.compile(r"[A-Za-z]+\d+(\.json)?")


class SpeakerTurn(NamedTuple):
    """A turn of either speaker, with its place."""

    turn: Mapping[str, Any]
    place: Place


class Pair(NamedTuple):
    """A turn of the user and its answer by the system; no user where the system spoke unasked."""

    user: SpeakerTurn | None
    system: SpeakerTurn


class Dialogue(NamedTuple):
    """A dialogue by its id as the corpus has it."""

    name: str
    pairs: list[Pair]


def dialogues_of(raw: Any, findings: Findings, name_keys: tuple[str, ...]) -> Iterator[Dialogue]:
    """Yield the dialogues of a list; problems go to `findings`.

    The id is the first of `name_keys` that looks like a MultiWOZ file name, `MUL0001.json`; without
    one, the last as it stands.
    """
    if not isinstance(raw, list | tuple):
        findings.error("shape", f"expected a list of dialogues, {found(raw)}")
        return
    if not raw:
        findings.error("empty", "there is no dialogue in it")
    names: set[str] = set()
    for number, dialogue in enumerate(raw):
        if not isinstance(dialogue, OBJECT):
            message = f"dialogue number {number} of the list: expected an object, {found(dialogue)}"
            findings.error("shape", message)
            continue
        name = _name(dialogue, name_keys)
        if name is None:
            message = f'dialogue number {number} of the list has no "{name_keys[-1]}" that is text'
            findings.error("missing-id", message)
            continue
        if isinstance(dialogue, RepeatedKeys):
            findings.error("repeated-key", repeated(dialogue), dialogue=name)
        if name in names:
            findings.error("repeated-key", "the dialogue is given more than once", dialogue=name)
            continue
        names.add(name)
        yield Dialogue(name, list(_pairs(dialogue.get("turns"), name, findings)))


def _name(dialogue: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    names = [name for key in keys if isinstance(name := dialogue.get(key), str)]
    for name in names:
        if _FILE_NAME.fullmatch(name):
            return dialogue_id(name)
    return names[-1] if names else None


def _pairs(turns: Any, name: str, findings: Findings) -> Iterator[Pair]:
    if not isinstance(turns, list | tuple):
        findings.error("shape", f"expected a list of turns, {found(turns)}", dialogue=name)
        return
    if not turns:
        findings.error("empty", "the dialogue has no turns", dialogue=name)
    waiting: SpeakerTurn | None = None
    for position, turn in enumerate(turns):
        place = Place(findings, name, position)
        speaker = _speaker(turn, place)
        if speaker == USER:
            if waiting:
                _no_answer(waiting)
            waiting = SpeakerTurn(turn, place)
        elif speaker == SYSTEM:
            if waiting is None:
                begins = position == 0
                message = "the dialogue begins with the system" if begins else "it speaks twice"
                place.error("order", f"{message}: every turn of the system answers one of the user")
            yield Pair(waiting, SpeakerTurn(turn, place))
            waiting = None
    if waiting:
        _no_answer(waiting)


def _speaker(turn: Any, place: Place) -> str | None:
    if not isinstance(turn, OBJECT):
        place.error("shape", f"expected an object, {found(turn)}")
        return None
    check_repeated(turn, place)
    speaker = turn.get("speaker")
    if not isinstance(speaker, str):
        place.error("shape", f"expected user or system, {found(speaker)}", "speaker")
        return None
    if speaker.lower() not in SPEAKERS:
        close = did_you_mean(speaker.lower(), SPEAKERS)
        message = f'unknown speaker "{shorten(speaker)}"{close} (known: {", ".join(SPEAKERS)})'
        place.error("unknown-speaker", message, "speaker")
        return None
    return speaker.lower()


def _no_answer(said: SpeakerTurn) -> None:
    said.place.error("no-answer", "the system gives no answer to this turn of the user")


def adapt_unified(raw: Any, findings: Findings) -> Adapted:
    """Return the predictions of dialogues in the unified format; problems go to `findings`."""
    dialogues = list(dialogues_of(raw, findings, ("original_id", "dialogue_id")))
    annotated = [
        any(PREDICTIONS in said.turn for pair in dialogue.pairs for said in pair if said)
        for dialogue in dialogues
    ]
    adapted = Adapted()
    for dialogue, has_predictions in zip(dialogues, annotated, strict=True):
        if any(annotated) and not has_predictions and dialogue.pairs:
            # Its utterances are most likely the annotated ones, which must not be scored.
            message = f'no turn has "{PREDICTIONS}", though other dialogues have them'
            findings.error("missing-predictions", message, dialogue=dialogue.name)
            continue
        turns = [(pair.system.place.turn, _turn(pair, has_predictions)) for pair in dialogue.pairs]
        adapted.add(dialogue.name, turns)
    return adapted


def _turn(pair: Pair, has_predictions: bool) -> dict[str, Any]:
    path = ""
    keys: tuple[str, ...] = ("utterance",)
    if has_predictions:
        pair = Pair(pair.user and _predicted(pair.user), _predicted(pair.system))
        path, keys = f"{PREDICTIONS}.", RESPONSE_KEYS
    turn: dict[str, Any] = {}
    given = [key for key in keys if key in pair.system.turn]
    if len(given) > 1:
        message = f"there is {' and '.join(given)}: keep the one that is the system's"
        pair.system.place.error("ambiguous", message, f"{path}{given[0]}")
    if given:
        turn["response"] = pair.system.turn[given[0]]
    with_state = [said for said in pair if said and "state" in said.turn]
    if len(with_state) > 1:
        pair.system.place.error("ambiguous", TWO_STATES, f"{path}state")
    if with_state:
        turn["state"] = _unified_state(with_state[0], f"{path}state")
    return turn


def _predicted(said: SpeakerTurn) -> SpeakerTurn:
    return SpeakerTurn(
        _object(said.turn.get(PREDICTIONS, {}), said.place, PREDICTIONS) or {}, said.place
    )


def _object(
    raw: Any, place: Place, key: str, expected: str = "expected an object"
) -> Mapping[Any, Any] | None:
    """Return an object whose keys are checked; None for anything else, which is noted."""
    if not isinstance(raw, OBJECT):
        place.error("shape", f"{expected}, {found(raw)}", key)
        return None
    check_repeated(raw, place)
    return raw


def _unified_state(said: SpeakerTurn, path: str) -> State:
    """Return the filled slots; a domain without any is left out."""
    place = said.place
    raw = _object(said.turn["state"], place, path, "a state is an object of domains") or {}
    state: State = {}
    for domain, written in raw.items():
        expected = "a domain's state is an object of slots"
        slots = _object(written, place, f"{path}.{domain}", expected) or {}
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


Frame = tuple[int, str, Mapping[str, Any]]
"""A frame's number, domain and slot values."""


def adapt_sgd(raw: Any, findings: Findings) -> Adapted:
    """Return the predictions of dialogues with frames; problems go to `findings`.

    A domain without a frame keeps the state it had, as in SGD, where only the services that are
    spoken of have one. A dialogue none of whose frames has a state has no predicted states.
    """
    adapted = Adapted()
    for dialogue in dialogues_of(raw, findings, ("dialogue_id",)):
        framed = [_with_frames(pair) for pair in dialogue.pairs]
        turns: list[tuple[int, dict[str, Any]]] = []
        state: State = {}
        for pair, with_frames in zip(dialogue.pairs, framed, strict=True):
            turn: dict[str, Any] = {}
            if "utterance" in pair.system.turn:
                turn["response"] = pair.system.turn["utterance"]
            if any(framed):
                for place, frames in with_frames:
                    state = {**state, **_state(place, frames)}
                turn["state"] = {domain: slots for domain, slots in state.items() if slots}
            turns.append((pair.system.place.turn, turn))
        adapted.add(dialogue.name, turns)
    return adapted


def _with_frames(pair: Pair) -> list[tuple[Place, list[Frame]]]:
    """Return who of the two has frames with a state, and these."""
    with_frames = [(said.place, frames) for said in pair if said and (frames := [*_frames(said)])]
    if len(with_frames) > 1:
        pair.system.place.error("ambiguous", TWO_STATES, "frames")
    return with_frames


def _frames(said: SpeakerTurn) -> Iterator[Frame]:
    """Yield the frames with a state."""
    frames, place = said.turn.get("frames", ()), said.place
    if not isinstance(frames, list | tuple):
        place.error("shape", f"expected a list of frames, {found(frames)}", "frames")
        return
    for number, written in enumerate(frames):
        path = f"frames[{number}]"
        frame = _object(written, place, path)
        if frame is None or frame.get("state") is None:
            continue
        service = frame.get("service")
        if not isinstance(service, str):
            place.error("shape", f"a service's name is text, {found(service)}", f"{path}.service")
            continue
        state = _object(frame["state"], place, f"{path}.state", "a state is an object")
        if state is None:
            continue
        path = f"{path}.state.slot_values"
        values = _object(state.get("slot_values", {}), place, path, "slot values are an object")
        if values is not None:
            yield number, _domain(service), values


@lru_cache(maxsize=2**10)
def _domain(service: str) -> str:
    return _NUMBERED_SERVICE.sub("", service).lower()


def _state(place: Place, frames: list[Frame]) -> State:
    """Return the first value of every slot, by the domain of each frame."""
    state: State = {}
    for number, domain, values in frames:
        known = state.setdefault(domain, {})
        for name, listed in values.items():
            path = f"frames[{number}].state.slot_values.{name}"
            if listed in ([], ()):
                continue
            value = listed[0] if isinstance(listed, list | tuple) else listed
            if not isinstance(name, str) or not isinstance(value, str):
                place.error("shape", f"a slot and its value are text, {found(value)}", path)
                continue
            service, hyphen, slot = name.partition("-")
            if not hyphen:
                service, slot = domain, name
            if _domain(service) != domain:
                message = f'a slot of "{_domain(service)}" stands in a frame of "{domain}"'
                place.error("wrong-service", message, path)
                continue
            if slot in known and known[slot] != value:
                message = f'"{domain}-{slot}" has two values in this turn'
                place.error("repeated-key", message, path)
            known[slot] = value
    return state
