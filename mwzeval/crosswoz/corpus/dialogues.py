"""Typed CrossWOZ dialogues: goals, exchanges, states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from mwzeval.crosswoz.corpus.acts import Acts, parse_acts
from mwzeval.crosswoz.corpus.file_shapes import ShapeError, is_texts
from mwzeval.crosswoz.corpus.names import CODE_OF_GOAL_TYPE, STATE_SLOTS
from mwzeval.errors import InputError, Problem, shorten
from mwzeval.scores.findings import found

SELECTED_RESULTS = "selectedResults"
LINE = (
    "a line [sub-goal, domain, slot, value, expressed]: a number, two strings, a string or a "
    "list of strings, true or false"
)
Kind = TypeVar("Kind")
Value = str | tuple[str, ...]
State = dict[str, dict[str, str]]
"""A mapping from domain to slot to value ("" if the slot is not constrained); several items are
joined by a space."""
Selected = Mapping[str, tuple[str, ...]]
"""Domain → the names that the system has selected from the results of its query."""


class SemanticTuple(NamedTuple):
    """A line of a user's goal or state: a constraint or a request of one sub-goal.

    `value` is "" or () for an unanswered request. `expressed` is true if the user has expressed the
    line in this turn or before.
    """

    subgoal: int
    domain: str
    slot: str
    value: Value
    expressed: bool

    @property
    def refers(self) -> bool:
        """Whether the value is a reference to another sub-goal (`出现在id=1的周边…`)."""
        return isinstance(self.value, str) and "id" in self.value

    @property
    def done(self) -> bool:
        """Whether the user expressed the line of the goal and the system answered it."""
        value = self.value
        return self.expressed and bool(value) and not (isinstance(value, str) and "id" in value)

    def with_value(self, value: Value, *, expressed: bool = True) -> SemanticTuple:
        """Return a copy of the line with another value."""
        return self._replace(value=value, expressed=expressed)


Goal = tuple[SemanticTuple, ...]


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The user's utterance and acts, and the user's state after the turn."""

    utterance: str
    acts: Acts
    state: Goal


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """The system's utterance and acts, and its state at the first and last query of the turn.

    `first_query` has the constraints of the first query (`sys_state_init`, the target of state
    tracking). `last_query` may have fewer constraints (`sys_state`, from which the next turn
    starts). `first_selected` and `last_selected` are the names selected from the results of these
    queries.
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
    """Return a state without constraints: all 26 slots are ""."""
    return {domain: dict.fromkeys(slots, "") for domain, slots in STATE_SLOTS.items()}


def dialogue_from_json(name: str, plain: Any) -> Dialogue:
    """Return a dialogue of the public files.

    Raises `ShapeError` with the location of the fault if a part is missing or invalid.
    """
    kind = field(plain, "type", str, "text")
    if kind not in CODE_OF_GOAL_TYPE:
        known = ", ".join(CODE_OF_GOAL_TYPE)
        raise ShapeError(f'type: unknown type "{shorten(kind)}" (known: {known})')
    messages = field(plain, "messages", list, "a list of turns")
    if not messages or len(messages) % 2:
        raise ShapeError("messages: user and system must alternate, the user first")
    description = plain.get("task description", [])
    if not is_texts(description):
        raise ShapeError(f"task description: expected a list of strings, {found(description)}")
    dialogue = Dialogue(
        name=name,
        goal_type=CODE_OF_GOAL_TYPE[kind],
        goal=_goal(plain, "goal"),
        final_goal=_goal(plain, "final_goal"),
        task_description=tuple(description),
        exchanges=tuple(
            Exchange(
                _at(f"turn {n}, ", _user_turn, messages[n]),
                _at(f"turn {n + 1}, ", _system_turn, messages[n + 1]),
            )
            for n in range(0, len(messages), 2)
        ),
    )
    _check_goals(dialogue)
    return dialogue


def check_characters(dialogues: Iterable[Dialogue]) -> None:
    """Raise `InputError` if a text of a dialogue is not valid Unicode (a lone surrogate).

    Dialogue files that contain such texts are rejected when they are read. Without this check,
    models trained on dialogues made in Python would contain words that cannot be written to files.
    """
    for dialogue in dialogues:
        for number, exchange in enumerate(dialogue.exchanges):
            user, system = exchange.user, exchange.system
            texts = [user.utterance, system.utterance]
            texts += [part for act in (*user.acts, *system.acts) for part in act]
            texts += [value for slots in system.first_query.values() for value in slots.values()]
            if any("\ud800" <= character <= "\udfff" for character in "".join(texts)):
                what = "the text contains an unpaired surrogate: correct it"
                raise InputError([Problem("bad-text", what, dialogue=dialogue.name, turn=number)])


def _check_goals(dialogue: Dialogue) -> None:
    """Check that the user's states and the final goal have the goal's lines in the same order."""
    lines = [line[:3] for line in dialogue.goal]
    if [line[:3] for line in dialogue.final_goal] != lines:
        raise ShapeError("final_goal: expected the lines of the goal, in the same order")
    for number, exchange in enumerate(dialogue.exchanges):
        if [line[:3] for line in exchange.user.state] != lines:
            place = f"turn {2 * number}, user_state"
            raise ShapeError(f"{place}: expected the lines of the goal, in the same order")


def goal_from_json(plain: Any) -> Goal:
    """Return a goal or user state from its lines, which are lists of five parts.

    Raises `ShapeError` if a line of the goal or state is invalid.
    """
    if not isinstance(plain, list):
        raise ShapeError(f"expected a list of five-part lists, {found(plain)}")
    return tuple(_line(line) for line in plain)


def goal_to_json(goal: Goal) -> list[list[Any]]:
    """Return the lines of a goal or user state in the format of the public files."""
    return [
        [*line[:3], v if isinstance(v := line.value, str) else list(v), line.expressed]
        for line in goal
    ]


def goal_line(raw: Any) -> SemanticTuple | None:
    """Return a line of a goal or user state, None if it is invalid."""
    if not isinstance(raw, list | tuple) or len(raw) != 5:
        return None
    subgoal, domain, slot, value, expressed = raw
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        value = tuple(value)
    elif not isinstance(value, str):
        return None
    if not (isinstance(domain, str) and isinstance(slot, str) and isinstance(expressed, bool)):
        return None
    if not isinstance(subgoal, int) or isinstance(subgoal, bool):
        return None
    return SemanticTuple(subgoal, domain, slot, value, expressed)


def _line(raw: Any) -> SemanticTuple:
    line = goal_line(raw)
    if line is None:
        raise ShapeError(f"expected {LINE}, found {shorten(str(raw))}")
    if line.domain not in STATE_SLOTS:
        known = ", ".join(STATE_SLOTS)
        raise ShapeError(f'unknown domain "{shorten(line.domain)}" (known: {known})')
    return line


def field(plain: Any, key: str, kind: type[Kind], expected: str) -> Kind:
    """Return the value of the key `key` of a JSON object.

    Raises `ShapeError` with the `expected` kind of value if the value is missing or of another
    kind.
    """
    if not isinstance(plain, dict):
        raise ShapeError(f"expected an object, {found(plain)}")
    if key not in plain:
        raise ShapeError(f"{key}: it is missing")
    value = plain[key]
    if not isinstance(value, kind):
        raise ShapeError(f"{key}: expected {expected}, {found(value)}")
    return value


def _at(place: str, read: Callable[[Any], Kind], plain: Any) -> Kind:
    """Return the result of `read`; errors are raised with the location."""
    try:
        return read(plain)
    except ValueError as error:
        raise ShapeError(f"{place}{error}") from None


def _goal(plain: Any, key: str) -> Goal:
    return _at(f"{key}: ", goal_from_json, field(plain, key, list, "a list of lines"))


def _acts(plain: Any) -> Acts:
    return _at("dialog_act: ", parse_acts, field(plain, "dialog_act", list, "a list of acts"))


def _utterance(plain: Any, role: str) -> str:
    if (found_role := field(plain, "role", str, "text")) != role:
        raise ShapeError(f'role: expected "{role}", found "{shorten(found_role)}"')
    return field(plain, "content", str, "text")


def _user_turn(plain: Any) -> UserTurn:
    return UserTurn(_utterance(plain, "usr"), _acts(plain), _goal(plain, "user_state"))


def _system_turn(plain: Any) -> SystemTurn:
    utterance = _utterance(plain, "sys")
    first, first_selected = _state(plain, "sys_state_init")
    last, last_selected = _state(plain, "sys_state")
    return SystemTurn(utterance, _acts(plain), first, last, first_selected, last_selected)


def _state(plain: Any, key: str) -> tuple[State, Selected]:
    domains = field(plain, key, dict, "an object of domains")
    state, selected = {}, {}
    for domain, slots in STATE_SLOTS.items():
        try:
            given = field(domains, domain, dict, "an object of slots")
            state[domain] = {slot: field(given, slot, str, "text") for slot in slots}
            names = given.get(SELECTED_RESULTS, [])
            if not is_texts(names):
                what = f"expected a list of names, {found(names)}"
                raise ShapeError(f"{SELECTED_RESULTS}: {what}")
        except ValueError as error:
            raise ShapeError(f"{key}, {domain}, {error}") from None
        selected[domain] = tuple(names)
    return state, selected
