"""A small benchmark: the user says the words of its goal one by one, and the agent repeats them."""

from __future__ import annotations

import enum
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from mwzeval.conversation.agents import MakeAgent, own_agent
from mwzeval.conversation.loop import converse
from mwzeval.conversation.messages import AgentTurn
from mwzeval.conversation.pool import NO_LIMITS
from mwzeval.conversation.protocols import ConversationError, Ending, InfrastructureError
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record, Trajectory

GOALS = {"a": "one", "b": "one two", "c": "one two three", "d": "", "e": "five six"}
MANY = {str(number): "one two" for number in range(40)}
Messages = list[dict[str, Any]]


class ToyUser:
    """Says the words of its goal, and is done after the last."""

    def __init__(self, goal: str) -> None:
        self._left = goal.split()
        self._heard: list[str] = []

    def begin(self) -> str:
        return self._left.pop(0) if self._left else "nothing"

    def answer(self, heard: AgentTurn, /) -> str:
        self._heard.append(heard.text)
        return self._left.pop(0)

    @property
    def is_done(self) -> bool:
        return not self._left

    def report(self) -> Mapping[str, Any]:
        return {"heard": list(self._heard)}


def call_of(name: str, arguments: Any, call_id: Any = "x") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


class Adder:
    """Tools of a session with one function; its results have the number of the call."""

    schema: Sequence[Mapping[str, Any]] = (
        {
            "type": "function",
            "function": {
                "name": "add",
                "description": "Add whole numbers.",
                "parameters": {
                    "type": "object",
                    "properties": {"terms": {"type": "array", "items": {"type": "integer"}}},
                    "required": ["terms"],
                    "additionalProperties": False,
                },
            },
        },
    )

    def __init__(self, session: str = "") -> None:
        self.session = session
        self.calls = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.calls += 1
        terms = arguments.get("terms")
        if name != "add" or not isinstance(terms, list):
            return {"error": f"cannot {name} {terms}"}
        return {"sum": sum(terms), "call": self.calls, "session": self.session}


class TextlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Names(str, enum.Enum):
    """Text whose class is known only to the process that has imported the agent."""

    FIND = "find\ud800"
    NOTHING = "{}"

    def __reduce_ex__(self, protocol: object) -> Any:
        return int, ("no text",)


def echo(messages: Messages) -> str:
    return str(messages[-1]["content"])


def broken(messages: Messages) -> Any:
    """Answer yes, or fail in the way that the user's word names."""
    match messages[-1]["content"]:
        case "raise":
            raise ValueError("no")
        case "exit":
            sys.exit(3)
        case "hang":
            while True:
                time.sleep(1000)
        case "die":
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "garbage":
            return {"role": "assistant", "content": object()}
        case "print":
            print("printed by the agent")
        case "unreachable":
            raise InfrastructureError("the server cannot be reached")
        case "own-end":
            raise ConversationError("a sentence")
        case "panic":
            raise BaseException("in another language")
        case "textless":
            raise TextlessError
        case "page":
            raise ValueError("<p>\n" * 1_000_000)
        case "closed":
            os.closerange(3, 256)
        case "copied":
            os.fork()
        case "own-text" if messages[-1]["role"] == "user":
            return {"content": Names.FIND, "tool_calls": [call_of(Names.FIND, Names.NOTHING)]}
        case "change":
            messages[-1]["content"] = "changed"
    return "yes"


@dataclass
class ToySetting:
    """Goals are words. `before` is called before each dialogue."""

    make_agent: Callable[[], MakeAgent]
    goals: Mapping[str, str] = field(default_factory=lambda: GOALS)
    trusts: bool = False
    before: Callable[[Planned], object] = lambda planned: None
    stop: Callable[[], object] = lambda: None
    about: Mapping[str, Any] = field(default_factory=lambda: {"agent": {"spec": "toy"}})
    benchmark: str = "toy"
    agent: MakeAgent | None = None

    @property
    def items(self) -> Sequence[tuple[str, Any]]:
        return tuple(self.goals.items())

    def begin(self) -> None:
        self.agent = self.make_agent()

    def hold(self, planned: Planned, record: Record) -> Ending:
        self.before(planned)
        agent = self.agent
        assert agent is not None
        return converse(
            lambda: ToyUser(planned.goal),
            lambda: agent(planned, None, record),
            record=record,
            user_turns=4,
        )

    def judge(self, trajectory: Trajectory) -> bool | None:
        return trajectory.end == "user_stop"


def toy(agent: Callable[..., Any] = echo, **more: Any) -> ToySetting:
    return ToySetting(lambda: own_agent("toy", agent), **more)


def many(agent: Callable[..., Any] = echo, **more: Any) -> ToySetting:
    """Return a setting with 40 goals whose dialogues can run in threads."""
    return toy(agent, **{"goals": MANY, "trusts": True, **more})


def run_toy(setting: ToySetting, path: Path, **more: Any) -> bytes:
    """Return the file of a run; without limits, dialogues run in this process."""
    run(setting, path, **{"progress": False, "limits": NO_LIMITS, **more})
    return path.read_bytes()


if __name__ == "__main__":
    # `python -m tests.conversation.toy FILE N` kills itself after N dialogues.
    numbers = count()

    def kill(planned: Planned) -> None:
        if next(numbers) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    run_toy(toy(goals=MANY, before=kill), Path(sys.argv[1]))
