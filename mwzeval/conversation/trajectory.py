"""Trajectories: what happened in dialogues, a line of JSON each, with a header line before them.

Whoever scores, explains or compares dialogues reads these and needs no agent. Keys that nobody
knows are left alone. A file has no times and no order of its own: the same run has the same bytes,
however many dialogues were held beside each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from mwzeval.conversation.messages import Message
from mwzeval.conversation.protocols import ENDS, USER_STOP, End
from mwzeval.scores.trials import item_and_trial, trial_name

FORMAT = "mwzeval_live"
"""The key of a header that says that it is one, and the version of the format."""
FORMAT_VERSION = 1
DIALOGUE, GOAL, MESSAGES, ACTS = "dialogue", "goal", "messages", "acts"
_KNOWN = ("dialogue", "trial", "goal", "messages", "acts", "end", "problem", "turns")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One dialogue: what it was about, what was said and called, and how it ended.

    `item` names the goal, which several `trial`s (from 1) may have in common; `messages` are those
    of dialogues in words, `acts` the exchanges of those in acts, `[user's, agent's]` each. `turns`
    counts the user's. `user` is what the user reports, None where it does not. `more` has the other
    keys of the line.
    """

    item: str
    goal: Any
    messages: tuple[Message, ...] = ()
    acts: tuple[Any, ...] = ()
    end: End = USER_STOP
    problem: str | None = None
    turns: int = 0
    trial: int = 1
    is_numbered: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the dialogue is called: its goal, with the number of the trial if there are more."""
        return trial_name(self.item, self.trial if self.is_numbered else None)

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object."""
        plain: dict[str, Any] = {DIALOGUE: self.name, "trial": self.trial, GOAL: self.goal}
        if self.acts:
            plain[ACTS] = self.acts
        if self.messages or not self.acts:
            plain[MESSAGES] = self.messages
        plain["end"] = self.end
        if self.problem is not None:
            plain["problem"] = self.problem
        return {**plain, "turns": self.turns, **self.more}

    def line(self) -> str:
        """Return the line, with its end."""
        return json_line(self.to_json())


def json_line(plain: Mapping[str, Any]) -> str:
    """Return a JSON object as a line of a file, with its end."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def is_header(raw: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a JSON value is the header of a file of trajectories."""
    return isinstance(raw, Mapping) and FORMAT in raw


def header(benchmark: str, version: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a file: `about` is all that its dialogues depend on."""
    return {FORMAT: FORMAT_VERSION, "benchmark": benchmark, "version": version, **about}


def is_dialogue(raw: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a JSON value looks like the line of a dialogue of such a file."""
    return (
        isinstance(raw, Mapping)
        and isinstance(raw.get(DIALOGUE), str)
        and (MESSAGES in raw or ACTS in raw)
    )


def trajectory_of(raw: Mapping[str, Any]) -> Trajectory:
    """Return the dialogue of a line that `is_dialogue`.

    A line of another program may lack all but its name and its messages or acts. Raises
    `ValueError` for values that no such line has.
    """
    item, number = item_and_trial(raw[DIALOGUE])
    trial = raw.get("trial", number or 1)
    end = raw.get("end", USER_STOP)
    turns = raw.get("turns", 0)
    problem = raw.get("problem")
    acts = raw.get(ACTS, ())
    messages = raw.get(MESSAGES, ())
    wrong = [
        (type(trial) is not int or trial < 1, f"trial is a whole number from 1 on, not {trial!r}"),
        (end not in ENDS, f"end is one of {', '.join(ENDS)}, not {end!r}"),
        (type(turns) is not int or turns < 0, f"turns is a whole number, not {turns!r}"),
        (not isinstance(problem, str | None), f"problem is text, not {problem!r}"),
        (not isinstance(acts, list | tuple), "acts is a list of exchanges"),
        (not isinstance(messages, list | tuple), "messages is a list of objects"),
    ]
    for is_wrong, what in wrong:
        if is_wrong:
            raise ValueError(what)
    if not all(isinstance(message, Mapping) for message in messages):
        raise ValueError("messages is a list of objects")
    return Trajectory(
        item,
        raw.get(GOAL),
        tuple(messages),
        tuple(acts),
        end,
        problem,
        turns or sum(message.get("role") == "user" for message in messages) or len(acts),
        trial,
        number is not None,
        {key: value for key, value in raw.items() if key not in _KNOWN},
    )
