"""What is kept of simulated dialogues.

Simulated dialogues as JSON Lines: the objects of a predictions file, with goal and outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from mwzeval.crosswoz.corpus.acts import Act, Acts, parse_act
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_to_json
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import mistakes_in
from mwzeval.crosswoz.simulation.goals import goal_type
from mwzeval.errors import DataError, UsageError, shorten
from mwzeval.files.json_files import parse_json, read_text
from mwzeval.files.reading import read_bytes

Outcome = Literal["finished", "limit", "user failed", "system failed"]
FINISHED: Outcome = "finished"
LIMIT: Outcome = "limit"
USER_FAILED: Outcome = "user failed"
SYSTEM_FAILED: Outcome = "system failed"
OUTCOMES = (FINISHED, LIMIT, USER_FAILED, SYSTEM_FAILED)
Slots = Mapping[str, Mapping[str, str]]
Selected = Mapping[str, tuple[str, ...]]
MOST_ACTS = 1000
"""How many acts a turn has at most: an answer may be a generator, and that may never end."""


@dataclass(frozen=True, slots=True)
class SimulatedExchange:
    """What the user says and what the system answers, as each side means it.

    Where they speak in words there are their utterances too, and `heard_acts`: what the user
    understood. `state` (without empty slots) and `selected` are the system's after its answer.
    """

    user_acts: Acts
    system_acts: Acts
    user_utterance: str | None = None
    system_utterance: str | None = None
    heard_acts: Acts | None = None
    state: Slots = field(default_factory=dict)
    selected: Selected = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SimulatedDialogue:
    """A simulated dialogue and how it ended.

    `number` is that of its goal, from 0; `user_turns` counts what the user said; `silent` the
    answers in which the system said nothing; `problem` tells what failed.
    """

    number: int
    goal: Goal
    final_goal: Goal
    exchanges: tuple[SimulatedExchange, ...]
    outcome: Outcome
    user_turns: int
    silent: int = 0
    problem: str | None = None

    @property
    def goal_type(self) -> str:
        """The paper's code of the type of the goal."""
        return goal_type(self.goal)

    @property
    def finished(self) -> bool:
        """Whether the user terminated in time."""
        return self.outcome == FINISHED


def as_acts(said: Iterable[Any] | None, who: str) -> Acts:
    """Return what a user or system said as acts; None is nothing.

    Raises `ValueError` or `TypeError` for anything but acts: `Act`s, lists of four texts, or texts
    such as `Inform+餐馆+名称+…`; and for more than `MOST_ACTS`.
    """
    if said is None:
        return ()
    if isinstance(said, str):
        raise TypeError(f'{who} said the text "{shorten(said)}" where acts are expected')
    acts: list[Act] = []
    for raw in islice(said, MOST_ACTS + 1):
        try:
            act = raw if type(raw) is Act else parse_act(raw)
            _check_texts(act)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{who} said something that is no act: {error}") from None
        acts.append(act)
    if len(acts) > MOST_ACTS:
        raise ValueError(f"{who} said more than {MOST_ACTS} acts in one turn")
    return tuple(acts)


def as_text(said: object, who: str) -> str:
    """Return what a user or system said in words; None is nothing.

    Raises `TypeError` for anything but text, `ValueError` for text that no file can hold.
    """
    if said is None:
        return ""
    if not isinstance(said, str):
        kind = type(said).__name__
        raise TypeError(f"{who} said something of type {kind}, where text is expected")
    _check_texts((said,))
    return said


def _check_texts(texts: Iterable[str]) -> None:
    """Raise `TypeError` for what is no text, `ValueError` for half of a surrogate pair.

    Both would only be noticed when the log is written, or read again.
    """
    "".join(texts).encode()


def state_of(system: object) -> Slots:
    """Return the state that a system has, without empty slots; {} when it has none.

    Raises `TypeError` when it has something else of that name.
    """
    state = getattr(system, "state", None)
    if not state:
        return {}
    try:
        kept = {
            domain: {slot: _value(value) for slot, value in slots.items() if value}
            for domain, slots in state.items()
            if any(slots.values())
        }
        for domain, slots in kept.items():
            _check_texts((domain, *slots, *slots.values()))
        return kept
    except (AttributeError, TypeError):
        raise TypeError("the state of the system is not domain → slot → value") from None


def selected_of(system: object) -> Selected:
    """Return the names that a system has selected; {} when it says nothing of it.

    Raises `TypeError` when it has something else of that name.
    """
    selected = getattr(system, "selected", None)
    if not selected:
        return {}
    try:
        kept = {domain: tuple(names) for domain, names in selected.items()}
        for domain, names in kept.items():
            _check_texts((domain, *names))
        if not any(isinstance(names, str) for names in selected.values()):
            return kept
    except (AttributeError, TypeError):
        pass
    raise TypeError("what the system has selected is not domain → names")


def _value(value: str | Iterable[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


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
