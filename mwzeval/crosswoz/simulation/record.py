"""What is kept of simulated dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from mwzeval.crosswoz.corpus.acts import Act, Acts, parse_act
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.simulation.goals import goal_type
from mwzeval.errors import shorten

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
