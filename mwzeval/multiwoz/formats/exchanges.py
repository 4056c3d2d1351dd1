"""Lists of dialogues whose turns have speakers, as the unified format and SGD have them.

What every adapter gives: predictions as mwzeval writes them, and where they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.json_files import RepeatedKeys
from mwzeval.multiwoz.corpus.gold import dialogue_id
from mwzeval.scores.findings import OBJECT, Findings, Place, check_repeated, found, repeated


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


class Said(NamedTuple):
    """A turn of either speaker, with its place."""

    turn: Mapping[str, Any]
    place: Place


class Exchange(NamedTuple):
    """What the user said and what the system answered; no user where the system spoke unasked."""

    user: Said | None
    system: Said


class Dialogue(NamedTuple):
    """A dialogue by its id as the corpus has it."""

    name: str
    exchanges: list[Exchange]


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
        yield Dialogue(name, list(_exchanges(dialogue.get("turns"), name, findings)))


def _name(dialogue: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    names = [name for key in keys if isinstance(name := dialogue.get(key), str)]
    for name in names:
        if _FILE_NAME.fullmatch(name):
            return dialogue_id(name)
    return names[-1] if names else None


def _exchanges(turns: Any, name: str, findings: Findings) -> Iterator[Exchange]:
    if not isinstance(turns, list | tuple):
        findings.error("shape", f"expected a list of turns, {found(turns)}", dialogue=name)
        return
    if not turns:
        findings.error("empty", "the dialogue has no turns", dialogue=name)
    waiting: Said | None = None
    for position, turn in enumerate(turns):
        place = Place(findings, name, position)
        speaker = _speaker(turn, place)
        if speaker == USER:
            if waiting:
                _no_answer(waiting)
            waiting = Said(turn, place)
        elif speaker == SYSTEM:
            if waiting is None:
                begins = position == 0
                message = "the dialogue begins with the system" if begins else "it speaks twice"
                place.error("order", f"{message}: every turn of the system answers one of the user")
            yield Exchange(waiting, Said(turn, place))
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


def _no_answer(said: Said) -> None:
    said.place.error("no-answer", "the system gives no answer to this turn of the user")
