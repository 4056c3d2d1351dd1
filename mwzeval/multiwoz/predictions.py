"""Predictions as people write them, checked and typed.

Everything that is wrong with an input is collected with its place; nothing of the input is changed.
Whether it fits a corpus is the business of `coverage.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.errors import InputError, Problem, did_you_mean, shorten
from mwzeval.files import RepeatedKeys, parse_json, parse_json_lines, read_text
from mwzeval.multiwoz.normalization import State

TURN_KEYS = ("response", "state", "active_domains")
_TURN_KEYS = frozenset(TURN_KEYS)
LINE_KEYS = ("dialogue", "turns")


class Turn(NamedTuple):
    """A system turn; what the prediction does not say is None."""

    response: str | None
    state: State | None
    active_domains: tuple[str, ...] | None


Dialogues = Mapping[str, Sequence[Turn]]


@dataclass(slots=True)
class Findings:
    """Collects problems; warnings of one kind about one thing are counted, not repeated."""

    file: str | None = None
    errors: list[Problem] = field(default_factory=list)
    _warnings: dict[tuple[str, str], Problem] = field(default_factory=dict)

    def error(self, kind: str, message: str, **place: Any) -> None:
        """Note something that prevents scoring; `place` is dialogue, turn, key."""
        self.errors.append(Problem(kind, message, "error", self.file, **place))

    def warning(self, kind: str, message: str, *, count: int = 1, **place: Any) -> None:
        """Note something that is scored, but perhaps not as meant."""
        known = self._warnings.get((kind, message))
        self._warnings[kind, message] = (
            replace(known, count=known.count + count)
            if known
            else Problem(kind, message, "warning", self.file, **place, count=count)
        )

    @property
    def warned(self) -> int:
        """How many different warnings there are so far."""
        return len(self._warnings)

    @property
    def warnings(self) -> list[Problem]:
        """The warnings so far, each once with its count and first place."""
        return list(self._warnings.values())

    def check(self) -> None:
        """Raise `InputError` if anything prevents scoring."""
        if self.errors:
            raise InputError(self.errors)


def read_predictions(path: str | Path) -> Mapping[str, Any]:
    """Return the raw predictions of a JSON or JSON Lines file (also compressed, or `-`).

    Raises `InputError` when it is neither, or a dialogue comes twice.
    """
    name = str(path)
    text = read_text(path)
    called_lines = name.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl")
    if called_lines or _has_lines(text):
        return _from_lines(text, name)
    raw = parse_json(text, name)
    if not isinstance(raw, dict):
        raise InputError(
            [
                Problem(
                    "shape",
                    f'expected an object of dialogues, {{"sng0073": [turn, …], …}}, {found(raw)}',
                    file=name,
                )
            ]
        )
    return raw


def _has_lines(text: str) -> bool:
    """Recognise JSON Lines by the first line, on standard input and under other names."""
    first = text.lstrip().partition("\n")[0].rstrip()
    if not (first.endswith("}") and all(f'"{key}"' in first for key in LINE_KEYS)):
        return False
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and all(key in line for key in LINE_KEYS)


def _from_lines(text: str, name: str) -> dict[str, Any]:
    dialogues: dict[str, Any] = {}
    findings = Findings(name)
    for number, line in parse_json_lines(text, name):
        if (
            not isinstance(line, dict)
            or not isinstance(line.get("dialogue"), str)
            or "turns" not in line
        ):
            findings.error("shape", f'line {number}: expected {{"dialogue": id, "turns": [...]}}')
            continue
        if isinstance(line, RepeatedKeys):
            findings.error(
                "repeated-key", f"line {number}: {_repeated(line)}", dialogue=line["dialogue"]
            )
        if line["dialogue"] in dialogues:
            findings.error(
                "repeated-key",
                f"line {number}: the dialogue was given before",
                dialogue=line["dialogue"],
            )
        dialogues[line["dialogue"]] = line["turns"]
    findings.check()
    return dialogues


def check_dialogues(raw: Any, findings: Findings, *, need_responses: bool) -> Dialogues:
    """Return the typed dialogues of raw predictions; problems go to `findings`."""
    if not isinstance(raw, Mapping):
        findings.error("shape", f"expected an object of dialogues, {found(raw)}")
        return {}
    if isinstance(raw, RepeatedKeys):
        for key in raw.repeated:
            findings.error("repeated-key", "the dialogue is given more than once", dialogue=key)
    if not raw:
        findings.error("empty", "there is no dialogue in it")
    dialogues = {}
    for name, turns in raw.items():
        if not isinstance(name, str):
            findings.error("shape", f"a dialogue id must be text, {found(name)}")
        elif not isinstance(turns, list | tuple):
            findings.error("shape", f"expected a list of turns, {found(turns)}", dialogue=name)
        elif not turns:
            findings.error("empty", "the dialogue has no turns", dialogue=name)
        else:
            dialogues[name] = [
                _plain_turn(turn) or _turn(turn, need_responses, _Place(findings, name, index))
                for index, turn in enumerate(turns)
            ]
    return dialogues


@dataclass(frozen=True, slots=True)
class _Place:
    """A turn of the input, for its findings."""

    findings: Findings
    dialogue: str
    turn: int

    def error(self, kind: str, message: str, key: str | None = None) -> None:
        self.findings.error(kind, message, dialogue=self.dialogue, turn=self.turn, key=key)

    def warning(self, kind: str, message: str, key: str | None = None) -> None:
        self.findings.warning(kind, message, dialogue=self.dialogue, turn=self.turn, key=key)


def _plain_turn(raw: Any) -> Turn | None:
    """Return a turn that is exactly as it should be, as nearly all are, without further ado."""
    if type(raw) is not dict or not raw.keys() <= _TURN_KEYS:
        return None
    response, state, active = raw.get("response"), raw.get("state"), raw.get("active_domains")
    if type(response) is not str or ("state" in raw and not _is_plain_state(state)):
        return None
    if "active_domains" in raw:
        if type(active) is not list or not all(type(domain) is str for domain in active):
            return None
        active = tuple(active)
    return Turn(response, state, active)


def _is_plain_state(raw: Any) -> bool:
    if type(raw) is not dict:
        return False
    for domain, slots in raw.items():
        if type(domain) is not str or type(slots) is not dict:
            return False
        for slot, value in slots.items():
            if not (type(slot) is type(value) is str):
                return False
    return True


def _turn(raw: Any, need_response: bool, place: _Place) -> Turn:
    if not isinstance(raw, Mapping):
        place.error("shape", f"expected an object, {found(raw)}")
        return Turn(None, None, None)
    _check_repeated(raw, place)
    response = raw.get("response")
    if response is None and not need_response:
        pass
    elif "response" not in raw:
        if need_response:
            near = [key for key in raw if isinstance(key, str)]
            close = did_you_mean("response", near).replace("did you mean", "was this meant:")
            place.error("missing-response", f"the turn has no response{close}", "response")
    elif not isinstance(response, str):
        place.error("shape", f"expected text, {found(response)}", "response")
        response = None
    for key in raw:
        if key not in TURN_KEYS:
            name = shorten(str(key))
            place.warning(
                "unknown-key",
                f'a turn\'s key "{name}" is not known and not used{did_you_mean(name, TURN_KEYS)}',
                name,
            )
    state = _state(raw["state"], place) if "state" in raw else None
    active = _active_domains(raw["active_domains"], place) if "active_domains" in raw else None
    return Turn(response, state, active)


def _state(raw: Any, place: _Place) -> State:
    if not isinstance(raw, Mapping):
        place.error("shape", f"a state is an object of domains, {found(raw)}", "state")
        return {}
    _check_repeated(raw, place)
    return {
        domain: values
        for domain, slots in raw.items()
        if (values := _slots(domain, slots, place)) is not None
    }


def _slots(domain: Any, raw: Any, place: _Place) -> dict[str, str] | None:
    key = f"state.{domain}"
    if not isinstance(domain, str) or not isinstance(raw, Mapping):
        place.error("shape", f"a domain's state is an object of slots, {found(raw)}", key)
        return None
    _check_repeated(raw, place)
    slots = {}
    for slot, value in raw.items():
        where = f"{key}.{slot}"
        if isinstance(value, list | tuple):
            place.warning(
                "list-value", "a list stands as a slot's value; its first item is used", where
            )
            if not value:
                continue
            value = value[0]
        if not isinstance(slot, str):
            place.error("shape", f"a slot's name is text, {found(slot)}", where)
        elif not isinstance(value, str):
            hint = f': write "{value}"' if type(value) in (int, float) else ""
            place.error("shape", f"a slot's value is text, {found(value)}{hint}", where)
        else:
            slots[slot] = value
    return slots


def _active_domains(raw: Any, place: _Place) -> tuple[str, ...]:
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of domain names, {found(raw)}", "active_domains")
        return ()
    for domain in raw:
        if not isinstance(domain, str):
            message = f"a domain's name is text, {found(domain)}"
            place.error("shape", message, "active_domains")
    return tuple(raw)


def _check_repeated(raw: Mapping[Any, Any], place: _Place) -> None:
    if isinstance(raw, RepeatedKeys):
        place.error("repeated-key", _repeated(raw))


def _repeated(raw: RepeatedKeys) -> str:
    names = ", ".join(f'"{shorten(key)}"' for key in raw.repeated)
    return f"given more than once in one object: {names}"


def found(value: Any) -> str:
    """Return `found a number` and the like, for messages about a wrong shape."""
    names: Iterable[tuple[type | tuple[type, ...], str]] = (
        (bool, "true or false"),
        (str, "text"),
        ((int, float), "a number"),
        ((list, tuple), "a list"),
        (Mapping, "an object"),
        (type(None), "null"),
    )
    kind = next((name for types, name in names if isinstance(value, types)), type(value).__name__)
    return f"found {kind}"
