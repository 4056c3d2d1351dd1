"""Lists of dialogues whose turns have speakers: schema-guided frames and the unified format.

In Schema-Guided Dialogue and MultiWOZ 2.2, the frames of the user's turn contain the state. In
ConvLab-3's unified format, each turn has an utterance and a state; ConvLab-3's evaluation scripts
write predictions into the key `predictions` of a turn, next to the annotation.

Sources: Rastogi et al., "Towards scalable multi-domain conversational agents", AAAI 2020; Zang et
al., "MultiWOZ 2.2", NLP4ConvAI 2020; Zhu et al., "ConvLab-3", EMNLP 2023 demonstrations, and
`unified_datasets/README.md` of its repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from mwzeval.errors import did_you_mean, shorten
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.predictions.reading import bare
from mwzeval.multiwoz.schema import UNFILLED
from mwzeval.scores.findings import LIST, OBJECT, Findings, Place, expect, found

PREDICTIONS = "predictions"
TWO_STATES = "there is a state in this turn and in the user's turn before it: keep one of them"
SLOT_AND_VALUE = "a slot and its value must be strings"
USER, SYSTEM = "user", "system"
SPEAKERS = (USER, SYSTEM)
_FILE_NAME = re.compile(r"[A-Za-z]+\d+(\.json)?")

Adapted = Iterator[tuple[str, list[tuple[int, dict[str, Any]]]]]
"""Yields (dialogue id, turns). A turn is a pair of its position in the original file and the
converted turn.

Incomplete dialogues are also yielded, so that later checks can find further problems.
"""
State = dict[str, dict[str, str]]


class SpeakerTurn(NamedTuple):
    """A turn of the user or of the system, and its position in the file."""

    turn: Mapping[str, Any]
    place: Place


Pair = tuple[SpeakerTurn | None, SpeakerTurn]
"""A user turn and the system's response. The user turn is None if the system begins."""


def dialogues_of(
    raw: Any, findings: Findings, name_keys: tuple[str, ...]
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the ids and turns of a list of dialogues; add problems to `findings`.

    The id of a dialogue is the first value of `name_keys` that looks like a MultiWOZ file name
    (`MUL0001.json`), or else the value of the last key.
    """
    if not expect(raw, LIST, "expected a list of dialogues", Place(findings)):
        return
    if not raw:
        findings.error("empty", "the file has no dialogue")
    seen: set[str] = set()
    for number, dialogue in enumerate(raw):
        where = f"dialogue number {number} of the list"
        if not isinstance(dialogue, OBJECT):
            findings.error("shape", f"{where}: expected an object, {found(dialogue)}")
            continue
        names = [name for key in name_keys if isinstance(name := dialogue.get(key), str)]
        if not names:
            findings.error("missing-id", f'{where}: "{name_keys[-1]}" is missing or not a string')
            continue
        files = [dialogue_id(name) for name in names if _FILE_NAME.fullmatch(name)]
        name = files[0] if files else names[-1]
        expect(dialogue, OBJECT, "", Place(findings, name))
        if name in seen:
            findings.error("repeated-key", "the dialogue occurs more than once", dialogue=name)
            continue
        seen.add(name)
        yield name, list(_pairs(dialogue.get("turns"), Place(findings, name)))


def _pairs(turns: Any, whole: Place) -> Iterator[Pair]:
    if not expect(turns, LIST, "expected a list of turns", whole):
        return
    if not turns:
        whole.error("empty", "the dialogue has no turns")
    user: SpeakerTurn | None = None
    for position, turn in enumerate(turns):
        place = Place(whole.findings, whole.dialogue, position)
        if not expect(turn, OBJECT, "expected an object", place):
            continue
        speaker = turn.get("speaker")
        if not expect(speaker, str, "expected user or system", place, "speaker"):
            continue
        if speaker.lower() == SYSTEM:
            if user is None:
                message = (
                    ("it has two turns in a row")
                    if position
                    else "the dialogue begins with the system"
                )
                place.error("order", f"{message}: every system turn must follow a user turn")
            yield user, SpeakerTurn(turn, place)
            user = None
        elif speaker.lower() == USER:
            _check_answered(user)
            user = SpeakerTurn(turn, place)
        else:
            close = did_you_mean(speaker.lower(), SPEAKERS)
            message = f'unknown speaker "{shorten(speaker)}"{close} (known: {", ".join(SPEAKERS)})'
            place.error("unknown-speaker", message, "speaker")
    _check_answered(user)


def _check_answered(user: SpeakerTurn | None) -> None:
    if user:
        user.place.error("no-answer", "this user turn has no answer of the system")


def adapt_unified(raw: Any, findings: Findings) -> Adapted:
    """Yield the predictions of dialogues in the unified format; add problems to `findings`."""
    dialogues = list(dialogues_of(raw, findings, ("original_id", "dialogue_id")))
    annotated = {
        name
        for name, pairs in dialogues
        if any(PREDICTIONS in side.turn for pair in pairs for side in pair if side)
    }
    for name, pairs in dialogues:
        if annotated and pairs and name not in annotated:
            # The utterances are probably annotated utterances, which must not be scored.
            message = f'no turn has "{PREDICTIONS}", though other dialogues have them'
            findings.error("missing-predictions", message, dialogue=name)
        else:
            yield (
                name,
                [
                    (system.place.turn or 0, _unified_turn(user, system, name in annotated))
                    for user, system in pairs
                ],
            )


def _unified_turn(
    user: SpeakerTurn | None, system: SpeakerTurn, has_predictions: bool
) -> dict[str, Any]:
    prefix, keys = "", ["utterance"]
    sides = [side for side in (user, system) if side]
    if has_predictions:
        prefix, keys = f"{PREDICTIONS}.", ["response", "utterance"]
        sides = [
            SpeakerTurn(turn.get(PREDICTIONS, {}), place)
            for turn, place in sides
            if expect(turn.get(PREDICTIONS, {}), OBJECT, "expected an object", place, PREDICTIONS)
        ]
    turn: dict[str, Any] = {}
    place = system.place
    given = [key for key in keys for side in sides if side.place is place and key in side.turn]
    if len(given) > 1:
        message = f"there is {' and '.join(given)}: keep the one that is the system's"
        place.error("ambiguous", message, f"{prefix}{given[0]}")
    if given:
        turn["response"] = sides[-1].turn[given[0]]
    with_state = [side for side in sides if "state" in side.turn]
    if len(with_state) > 1:
        place.error("ambiguous", TWO_STATES, f"{prefix}state")
    for side in with_state[:1]:
        turn["state"] = _unified_state(side.turn["state"], side.place, f"{prefix}state")
    return turn


def _unified_state(raw: Any, place: Place, path: str) -> State:
    """Return the filled slots; domains without filled slots are omitted."""
    state: State = {}
    if not expect(raw, OBJECT, "a state must be an object of domains", place, path):
        return state
    for domain, slots in raw.items():
        at = f"{path}.{domain}"
        if expect(slots, OBJECT, "the state of a domain must be an object of slots", place, at):
            for slot, value in slots.items():
                if not (isinstance(slot, str) and isinstance(value, str)):
                    if value is not None:
                        message = f"{SLOT_AND_VALUE}, {found(value)}"
                        place.error("shape", message, f"{at}.{slot}")
                    continue
                # The first of several values is used, as in gold states.
                first = value.partition("|")[0]
                if bare(first) not in UNFILLED:
                    state.setdefault(domain, {})[slot.replace(" ", "")] = first
    return state


def adapt_sgd(raw: Any, findings: Findings) -> Adapted:
    """Yield the predictions of dialogues with frames; problems are added to `findings`.

    The state of a domain without a frame does not change, because in SGD only active services have
    frames. If no frame of a dialogue has a state, the dialogue has no predicted states.
    """
    for name, pairs in dialogues_of(raw, findings, ("dialogue_id",)):
        framed = [[state for side in pair if side for state in _framed(*side)] for pair in pairs]
        turns: list[tuple[int, dict[str, Any]]] = []
        state: State = {}
        for (_, system), changed in zip(pairs, framed, strict=True):
            turn: dict[str, Any] = {}
            if "utterance" in system.turn:
                turn["response"] = system.turn["utterance"]
            if len(changed) > 1:
                system.place.error("ambiguous", TWO_STATES, "frames")
            if any(framed):
                for domains in changed:
                    state = {**state, **domains}
                turn["state"] = {domain: slots for domain, slots in state.items() if slots}
            turns.append((system.place.turn or 0, turn))
        yield name, turns


def _framed(turn: Mapping[str, Any], place: Place) -> list[State]:
    """Return [state] with the first value of each slot in the frames, or [] without a state."""
    state: State = {}
    frames = turn.get("frames", ())
    if not expect(frames, LIST, "expected a list of frames", place, "frames"):
        return []
    for number, frame in enumerate(frames):
        path = f"frames[{number}]"
        if not expect(frame, OBJECT, "expected an object", place, path):
            continue
        service, of_frame = frame.get("service"), frame.get("state")
        if of_frame is None or not (
            expect(service, str, "the name of a service must be a string", place, f"{path}.service")
            and expect(of_frame, OBJECT, "a state must be an object", place, f"{path}.state")
        ):
            continue
        values, path = of_frame.get("slot_values", {}), f"{path}.state.slot_values"
        if not expect(values, OBJECT, "slot values must be an object", place, path):
            continue
        domain = _domain(service)
        slots = state.setdefault(domain, {})
        for key, listed in values.items():
            at = place.at(f"{path}.{key}")
            if isinstance(listed, LIST) and not listed:
                continue
            value = listed[0] if isinstance(listed, LIST) else listed
            if not (
                expect(key, str, SLOT_AND_VALUE, at) and expect(value, str, SLOT_AND_VALUE, at)
            ):
                continue
            *prefix, slot = key.split("-", 1)
            other = _domain(prefix[0]) if prefix else domain
            if other != domain:
                at.error("wrong-service", f'a slot of "{other}" is in a frame of "{domain}"')
            elif slots.setdefault(slot, value) != value:
                at.error("repeated-key", f'"{domain}-{slot}" has two values in this turn')
    return [state] if state else []


@lru_cache(maxsize=2**10)
def _domain(service: str) -> str:
    """Return the domain of a service. SGD numbers similar services (`hotel_1`, `hotel_2`)."""
    return re.sub(r"_\d+$", "", service).lower()
