"""Predictions as people write them, checked and typed.

Everything that is wrong with an input is collected with its place. Whether it fits a fold is the
business of `fit.py`, and so is whether a track has what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.crosswoz import META, NAME
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.dialogues import Goal, Selected, State
from mwzeval.crosswoz.corpus.file_shapes import chinese_text
from mwzeval.crosswoz.predictions.fields import (
    checked_acts,
    checked_delexicalized,
    checked_selected,
    checked_state,
    checked_text,
    checked_user_state,
)
from mwzeval.crosswoz.predictions.tracks import (
    FIELDS,
    RESPONSE,
    SELECTED,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_DELEX,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
    USER_RESPONSE,
    USER_STATE,
)
from mwzeval.errors import InputError, Problem, did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, parse_json, parse_json_lines, plain_name, read_bytes
from mwzeval.scores.findings import Findings, Place, found

DIALOGUE, TURNS, TURN = "dialogue_id", "turns", "turn"


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself (`_meta`); None where it says nothing.

    `track` is one or several names of tracks; `more` is what else it says, for reports.
    """

    dataset: str | None = None
    revision: str | None = None
    split: str | None = None
    track: tuple[str, ...] = ()
    conditioning: str | None = None
    system: str | None = None
    seed: int | str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a system has predicted for one exchange; None where it says nothing.

    `state` has all 26 slots, "" where nothing is asked, and whatever slots there are not.
    """

    user_acts: Acts | None = None
    state: State | None = None
    system_acts: Acts | None = None
    system_acts_delex: tuple[str, ...] | None = None
    system_acts_nlu: Acts | None = None
    selected: Selected | None = None
    user_state: Goal | None = None
    user_response: str | None = None
    response: str | None = None


Dialogues = Mapping[str, Sequence[Predicted]]


@dataclass(frozen=True, slots=True)
class Predictions:
    """A predictions file: what it says of itself, and its exchanges by dialogue."""

    header: Header
    dialogues: Dialogues


def read_predictions(path: str | Path) -> Any:
    """Return what a JSON or JSON Lines file has in it (also compressed, or `-`).

    Lines `{"dialogue_id": …, "turns": […]}` become one object of dialogues; a line `{"_meta": …}`
    may stand among them. Raises `InputError` when a file is neither, or in GBK.
    """
    name = str(path)
    text = chinese_text(read_bytes(path), name)
    if not is_lines(name, text):
        return parse_json(text, name)
    dialogues: dict[str, Any] = {}
    problems: list[Problem] = []

    def problem(kind: str, message: str, dialogue: str | None = None) -> None:
        problems.append(Problem(kind, message, file=name, dialogue=dialogue))

    for number, line in parse_json_lines(text, name):
        if isinstance(line, dict) and line.keys() == {META}:
            dialogues[META] = line[META]
            continue
        identity = line.get(DIALOGUE) if isinstance(line, dict) else None
        if not isinstance(identity, str) or TURNS not in line:
            problem("shape", f'line {number}: expected {{"{DIALOGUE}": id, "{TURNS}": […]}}')
        elif identity in dialogues:
            problem("repeated-key", f"line {number}: the dialogue was given before", identity)
        else:
            dialogues[identity] = line[TURNS]
    if problems:
        raise InputError(problems)
    return dialogues


def said_in_header(raw: Any, key: str) -> str | None:
    """Return what the header of a raw file says as its `revision` or `split`, None for nothing."""
    header = raw.get(META) if isinstance(raw, Mapping) else None
    said = header.get(key) if isinstance(header, Mapping) else None
    return said if isinstance(said, str) else None


def is_lines(name: str, text: str) -> bool:
    """Tell whether a file is JSON Lines, by its name or its first line."""
    if plain_name(name).endswith(".jsonl"):
        return True
    first, _, rest = text.lstrip().partition("\n")
    begins = first.startswith((f'{{"{DIALOGUE}"', f'{{"{META}"'))
    return begins and first.rstrip().endswith("}") and rest.lstrip().startswith("{")


def check_predictions(raw: Any, findings: Findings) -> Predictions:
    """Return the typed predictions of a raw file; problems go to `findings`."""
    if not isinstance(raw, Mapping):
        message = 'expected an object of dialogues, {"2303": [exchange, …], …}'
        findings.error("shape", f"{message}, {found(raw)}")
        return Predictions(Header(), {})
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue is given more than once", dialogue=key)
    header = _header(raw.get(META, {}), findings)
    dialogues = {}
    corpus_like = 0
    for name, exchanges in raw.items():
        if name == META:
            continue
        if not isinstance(name, str):
            findings.error("shape", f"a dialogue id must be text, {found(name)}")
        elif isinstance(exchanges, Mapping) and "messages" in exchanges:
            corpus_like += 1
        elif not isinstance(exchanges, list | tuple):
            message = f"expected a list of exchanges, {found(exchanges)}"
            findings.error("shape", message, dialogue=name)
        else:
            dialogues[name] = tuple(
                _exchange(exchange, Place(findings, name, index))
                for index, exchange in enumerate(exchanges)
            )
    if corpus_like:
        message = (
            f"{corpus_like} dialogues are those of a corpus file (they have messages), where "
            "predictions are meant: a list with one entry for each exchange"
        )
        findings.error("corpus-file", message)
    elif not dialogues and not findings.errors:
        findings.error("empty", "there is no dialogue in it")
    return Predictions(header, dialogues)


def _header(raw: Any, findings: Findings) -> Header:
    if not isinstance(raw, Mapping):
        findings.error("shape", f"expected an object, {found(raw)}", key=META)
        return Header()
    known = ("dataset", "revision", "split", "track", "conditioning", "system", "seed")
    texts: dict[str, Any] = {}
    for key in ("dataset", "revision", "split", "conditioning", "system"):
        value = raw.get(key)
        if value is not None and not isinstance(value, str):
            findings.error("shape", f"{META}: {key} must be text, {found(value)}", key=META)
            value = None
        texts[key] = value
    if texts["dataset"] not in (None, NAME):
        message = f'{META} says dataset "{shorten(texts["dataset"])}", not "{NAME}"'
        findings.error("other-dataset", message, key=META)
    track = raw.get("track")
    names: Iterable[Any] = () if track is None else (track,)
    if isinstance(track, list | tuple):
        names = track
    for name in names:
        if not isinstance(name, str):
            findings.error("shape", f"{META}: a track must be text, {found(name)}", key=META)
    seed = raw.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | str)):
        findings.error("shape", f"{META}: seed must be a number, {found(seed)}", key=META)
        seed = None
    return Header(
        **texts,
        track=tuple(name for name in names if isinstance(name, str)),
        seed=seed,
        more={str(key): value for key, value in raw.items() if key not in known},
    )


def _exchange(raw: Any, place: Place) -> Predicted:
    if not isinstance(raw, Mapping):
        place.error("shape", f"expected an object, {found(raw)}")
        return Predicted()
    if isinstance(raw, RepeatedKeys):
        names = ", ".join(f'"{shorten(key)}"' for key in raw.repeated)
        place.error("repeated-key", f"given more than once in one object: {names}")
    number = raw.get(TURN)
    if number is not None and number != place.turn:
        message = f"it says it is number {shorten(str(number))}, but stands at {place.turn}"
        place.at(TURN).error("wrong-number", message)
    for key in raw:
        near = did_you_mean(key, FIELDS) if isinstance(key, str) and key not in FIELDS else ""
        if near and key != TURN:
            place.warning("unknown-field", f'"{shorten(key)}" is not looked at{near}')

    def given(key: str) -> bool:
        return raw.get(key) is not None

    acts = {
        key: checked_acts(raw[key], side, place.at(key)) if given(key) else None
        for key, side in (
            (USER_ACTS, "user"),
            (SYSTEM_ACTS, "system"),
            (SYSTEM_ACTS_NLU, "system"),
        )
    }
    delex, state, selected = raw.get(SYSTEM_ACTS_DELEX), raw.get(STATE), raw.get(SELECTED)
    user_state = raw.get(USER_STATE)
    return Predicted(
        user_acts=acts[USER_ACTS],
        state=None if state is None else checked_state(state, place.at(STATE)),
        system_acts=acts[SYSTEM_ACTS],
        system_acts_delex=(
            None if delex is None else checked_delexicalized(delex, place.at(SYSTEM_ACTS_DELEX))
        ),
        system_acts_nlu=acts[SYSTEM_ACTS_NLU],
        selected=None if selected is None else checked_selected(selected, place.at(SELECTED)),
        user_state=(
            None if user_state is None else checked_user_state(user_state, place.at(USER_STATE))
        ),
        user_response=checked_text(raw.get(USER_RESPONSE), place.at(USER_RESPONSE)),
        response=checked_text(raw.get(RESPONSE), place.at(RESPONSE)),
    )
