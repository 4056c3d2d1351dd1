"""ConvLab-3's unified format: a list of dialogues whose turns have an utterance and a state.

Source: Zhu et al., "ConvLab-3", EMNLP 2023 demonstrations; `data/unified_datasets/README.md` of its
repository. Its evaluation scripts put what a system predicts into `predictions` of a turn, beside
the annotation.
"""

from __future__ import annotations

from typing import Any

from mwzeval.multiwoz.formats.adapted import Adapted
from mwzeval.multiwoz.formats.exchanges import Dialogue, Exchange, Said, dialogues_of
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
        turn["state"] = _state(with_state[0], f"{path}state")
    return turn


def _predicted(said: Said) -> Said:
    predictions = said.turn.get(PREDICTIONS, {})
    if not isinstance(predictions, OBJECT):
        said.place.error("shape", f"expected an object, {found(predictions)}", PREDICTIONS)
        predictions = {}
    check_repeated(predictions, said.place)
    return Said(predictions, said.place)


def _state(said: Said, path: str) -> dict[str, dict[str, str]]:
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
