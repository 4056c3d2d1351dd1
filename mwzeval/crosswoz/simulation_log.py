"""Simulated dialogues as JSON Lines: the objects of a predictions file, with goal and outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import goal_to_json
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import mistakes_in
from mwzeval.crosswoz.simulation.record import (
    OUTCOMES,
    Outcome,
    SimulatedDialogue,
    SimulatedExchange,
)
from mwzeval.errors import DataError, UsageError
from mwzeval.files.json_files import parse_json, read_text
from mwzeval.files.reading import read_bytes

META = "_meta"
NAME = "simulated-{number:06d}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a simulated dialogue ended, in short.

    `unknown` are sentences about acts of it that do not exist, each once.
    """

    number: int
    goal_type: str
    outcome: Outcome
    user_turns: int
    silent: int
    problem: str | None
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, dialogue: SimulatedDialogue) -> Ended:
        """Return how a dialogue ended."""
        return cls(
            dialogue.number,
            dialogue.goal_type,
            dialogue.outcome,
            dialogue.user_turns,
            dialogue.silent,
            dialogue.problem,
            _unknown((exchange.user_acts, exchange.system_acts) for exchange in dialogue.exchanges),
        )


def header_line(meta: Mapping[str, Any]) -> str:
    """Return the first line of a log."""
    return _line({META: meta})


def dialogue_line(dialogue: SimulatedDialogue) -> str:
    """Return the line of a dialogue."""
    return _line(dialogue_to_json(dialogue))


def dialogue_to_json(dialogue: SimulatedDialogue) -> dict[str, Any]:
    """Return a dialogue as plain values; `n_turns` are the user's turns."""
    plain: dict[str, Any] = {
        "dialogue_id": NAME.format(number=dialogue.number),
        "goal_type": dialogue.goal_type,
        "finished": dialogue.finished,
        "outcome": dialogue.outcome,
        "n_turns": dialogue.user_turns,
        "silent": dialogue.silent,
    }
    if dialogue.problem is not None:
        plain["problem"] = dialogue.problem
    plain["goal"] = goal_to_json(dialogue.goal)
    plain["final_goal"] = goal_to_json(dialogue.final_goal)
    plain["turns"] = [_exchange(i, exchange) for i, exchange in enumerate(dialogue.exchanges)]
    return plain


def _exchange(number: int, exchange: SimulatedExchange) -> dict[str, Any]:
    plain: dict[str, Any] = {"turn": number, "user_acts": exchange.user_acts}
    if exchange.user_utterance is not None:
        plain["user_response"] = exchange.user_utterance
    plain["state"] = exchange.state
    plain["selected"] = exchange.selected
    plain["system_acts"] = exchange.system_acts
    if exchange.heard_acts is not None:
        plain["system_acts_nlu"] = exchange.heard_acts
    if exchange.system_utterance is not None:
        plain["response"] = exchange.system_utterance
    return plain


def _line(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_log(path: str | Path) -> tuple[Mapping[str, Any], Iterator[dict[str, Any]]]:
    """Return the header of a log and an iterator over its dialogues, as plain values.

    Raises `InputError` when the file cannot be read or is not JSON, `DataError` when it is no log
    of a simulation.
    """
    lines = [line for line in read_text(path).split("\n") if line.strip()]
    head = parse_json(lines[0], str(path))
    if not isinstance(head, dict) or not isinstance(head.get(META), dict):
        raise DataError(f"{path}: not a log of a simulation: the first line must be {META}")
    return head[META], _dialogues(path, lines[1:])


def _dialogues(path: str | Path, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=2):
        plain = parse_json(line, str(path), first_line=number)
        if not isinstance(plain, dict) or not isinstance(plain.get("turns"), list):
            raise DataError(f"{path}: line {number}: expected a simulated dialogue")
        yield plain


def ended_from_json(plain: Mapping[str, Any]) -> Ended:
    """Return how a logged dialogue ended. Raises `LookupError` or `ValueError` if it is damaged."""
    if plain["goal_type"] not in GOAL_TYPES or plain["outcome"] not in OUTCOMES:
        raise ValueError("unknown goal type or outcome")
    number = int(plain["dialogue_id"].rpartition("-")[2])
    return Ended(
        number,
        plain["goal_type"],
        plain["outcome"],
        plain["n_turns"],
        plain["silent"],
        plain.get("problem"),
        _unknown((turn["user_acts"], turn["system_acts"]) for turn in plain["turns"]),
    )


def _unknown(said: Iterable[tuple[object, object]]) -> tuple[str, ...]:
    """Return what is wrong with the acts of user and system, each sentence once."""
    found = (
        f"{side} acts: {message}"
        for exchange in said
        for side, acts in zip(("user", "system"), exchange, strict=True)
        for _, message in mistakes_in(side, acts)
    )
    return tuple(dict.fromkeys(found))


def unfinished(path: Path, meta: Mapping[str, Any]) -> tuple[list[Ended], int]:
    """Return what a log has that a killed simulation left, and how many bytes of it are whole.

    Raises `UsageError` when it is the log of another simulation.
    """
    raw = read_bytes(path)
    whole = raw.rfind(b"\n") + 1
    lines = raw[:whole].decode("utf-8", "replace").split("\n")[:-1]
    wrong = UsageError(
        f"{path} is not the log of this simulation: choose another file, or call it as before"
    )
    if not lines:
        if raw and not header_line(meta).encode().startswith(raw):
            raise wrong
        return [], 0
    try:
        if json.loads(lines[0])[META] != json.loads(json.dumps(meta)):
            raise wrong
        return [ended_from_json(json.loads(line)) for line in lines[1:]], whole
    except (ValueError, LookupError, TypeError, AttributeError):
        raise wrong from None
