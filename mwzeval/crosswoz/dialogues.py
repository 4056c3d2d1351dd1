"""Typed CrossWOZ dialogues: goals, exchanges, states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mwzeval.crosswoz.acts import Acts, parse_acts
from mwzeval.crosswoz.names import CODE_OF_GOAL_TYPE, STATE_SLOTS

SELECTED = "selectedResults"
State = dict[str, dict[str, str]]
"""Domain → slot → value, "" where nothing is asked; several items are joined by one space."""
Selected = Mapping[str, tuple[str, ...]]
"""Domain → the names that the system has chosen among the results of its query."""


class SemanticTuple(NamedTuple):
    """A line of a user's goal or state: what is wanted or asked for in one sub-goal.

    `value` is "" or () for a request that is not answered yet; `expressed` says that the user has
    chosen it for expression, in this turn or before.
    """

    subgoal: int
    domain: str
    slot: str
    value: str | tuple[str, ...]
    expressed: bool

    @property
    def refers(self) -> bool:
        """Whether the value still stands for something chosen elsewhere (`出现在id=1的周边…`)."""
        return isinstance(self.value, str) and "id" in self.value

    @property
    def done(self) -> bool:
        """Whether it has been expressed and is answered."""
        value = self.value
        return self.expressed and bool(value) and not (isinstance(value, str) and "id" in value)

    def with_value(self, value: str | tuple[str, ...], *, expressed: bool = True) -> SemanticTuple:
        """Return the same line with another value."""
        return self._replace(value=value, expressed=expressed)


Goal = tuple[SemanticTuple, ...]


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user says, and the user's state after it."""

    utterance: str
    acts: Acts
    state: Goal


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """What the system says; its state at the first query of the turn and at the last.

    `first_query` holds the user's constraints (`sys_state_init`, the target of state tracking),
    `last_query` may be relaxed (`sys_state`, from which the next turn starts); `first_selected` and
    `last_selected` are the names chosen from their results.
    """

    utterance: str
    acts: Acts
    first_query: State
    last_query: State
    first_selected: Selected
    last_selected: Selected


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user turn and the system turn that answers it."""

    user: UserTurn
    system: SystemTurn


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue; `goal_type` is the paper's code (S, M, M+T, CM, CM+T)."""

    name: str
    goal_type: str
    goal: Goal
    final_goal: Goal
    task_description: tuple[str, ...]
    exchanges: tuple[Exchange, ...]


def empty_state() -> State:
    """Return a state in which nothing is asked: all 26 slots are ""."""
    return {domain: dict.fromkeys(slots, "") for domain, slots in STATE_SLOTS.items()}


def dialogue_from_json(name: str, plain: Mapping[str, Any]) -> Dialogue:
    """Return a dialogue of the public files. Raises `LookupError`, `TypeError`, `ValueError`."""
    messages = plain["messages"]
    if not messages or len(messages) % 2:
        raise ValueError(f"dialogue {name}: user and system must alternate")
    pairs = zip(messages[::2], messages[1::2], strict=True)
    return Dialogue(
        name=name,
        goal_type=CODE_OF_GOAL_TYPE[plain["type"]],
        goal=goal_from_json(plain["goal"]),
        final_goal=goal_from_json(plain["final_goal"]),
        task_description=tuple(plain.get("task description", ())),
        exchanges=tuple(Exchange(_user_turn(u), _system_turn(s)) for u, s in pairs),
    )


def goal_from_json(plain: list[Any]) -> Goal:
    """Return a goal or user state from its five-part lists.

    Raises `TypeError` or `ValueError` when it is none.
    """
    return tuple(_tuple_from_json(line) for line in plain)


def goal_to_json(goal: Goal) -> list[list[Any]]:
    """Return the five-part lists of the public files."""
    return [[*line[:3], _plain_value(line.value), line.expressed] for line in goal]


def _tuple_from_json(line: Any) -> SemanticTuple:
    subgoal, domain, slot, value, expressed = line
    if isinstance(value, list):
        value = tuple(value)
    return SemanticTuple(subgoal, domain, slot, value, bool(expressed))


def _plain_value(value: str | tuple[str, ...]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _user_turn(plain: Mapping[str, Any]) -> UserTurn:
    if plain["role"] != "usr":
        raise ValueError(f'expected a turn of "usr", found "{plain["role"]}"')
    acts = parse_acts(plain["dialog_act"])
    return UserTurn(plain["content"], acts, goal_from_json(plain["user_state"]))


def _system_turn(plain: Mapping[str, Any]) -> SystemTurn:
    if plain["role"] != "sys":
        raise ValueError(f'expected a turn of "sys", found "{plain["role"]}"')
    first, last = plain["sys_state_init"], plain["sys_state"]
    return SystemTurn(
        utterance=plain["content"],
        acts=parse_acts(plain["dialog_act"]),
        first_query=_state(first),
        last_query=_state(last),
        first_selected=_selected(first),
        last_selected=_selected(last),
    )


def _state(plain: Mapping[str, Mapping[str, Any]]) -> State:
    return {
        domain: {slot: plain[domain][slot] for slot in slots}
        for domain, slots in STATE_SLOTS.items()
    }


def _selected(plain: Mapping[str, Mapping[str, Any]]) -> Selected:
    return {domain: tuple(plain[domain].get(SELECTED, ())) for domain in STATE_SLOTS}
