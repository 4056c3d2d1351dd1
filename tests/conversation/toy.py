"""A small benchmark: the user says words of the goal one by one, the agent says each after it."""

from __future__ import annotations

import enum
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.conversation.agents import MakeAgent, own_agent
from mwzeval.conversation.loop import converse
from mwzeval.conversation.messages import AgentTurn
from mwzeval.conversation.pool import TimeLimits
from mwzeval.conversation.protocols import ConversationError, Ending, InfrastructureError
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record, Trajectory

GOALS = {"a": "one", "b": "one two", "c": "one two three", "d": "", "e": "five six"}


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


class UntoldError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Names(str, enum.Enum):
    """Text whose class only the process knows that has imported the agent."""

    FIND = "find\ud800"
    NOTHING = "{}"

    def __reduce_ex__(self, protocol: object) -> Any:
        return int, ("no text",)


def echo(messages: list[dict[str, Any]]) -> str:
    return str(messages[-1]["content"])


def broken(messages: list[dict[str, Any]]) -> Any:
    """Does what the user says in some other way, when the word is one of these."""
    word = messages[-1]["content"]
    match word:
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
        case "flood":
            return ["x"] * 10
        case "flood calls":
            call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            return {"role": "assistant", "tool_calls": [call] * 20_000}
        case "long":
            return "x" * 1_000_000
        case "print":
            print("printed by the agent")
        case "unreachable":
            raise InfrastructureError("the server cannot be reached")
        case "own end":
            raise ConversationError("a sentence")
        case "panic":
            raise BaseException("in another language")
        case "untold":
            raise UntoldError
        case "page":
            raise ValueError("<p>\n" * 1_000_000)
        case "long name":
            return {"tool_calls": [{"function": {"name": "f" * 1_000_000}}]}
        case "closed":
            os.closerange(3, 256)
        case "copied":
            os.fork()
        case "own text" if messages[-1]["role"] == "user":
            call = {"name": Names.FIND, "arguments": Names.NOTHING}
            return {"content": Names.FIND, "tool_calls": [{"function": call}]}
        case "change":
            messages[-1]["content"] = "changed"
    return "yes"


@dataclass
class ToySetting:
    """Goals are words, the agent any that an agent may be; a goal of nothing ends at once."""

    make_agent: Callable[[], MakeAgent]
    goals: Mapping[str, str] = field(default_factory=lambda: GOALS)
    trusts: bool = False
    about: Mapping[str, Any] = field(default_factory=lambda: {"agent": {"spec": "toy"}})
    benchmark: str = "toy"
    agent: MakeAgent | None = None

    @property
    def items(self) -> Sequence[tuple[str, Any]]:
        return tuple(self.goals.items())

    def begin(self) -> None:
        self.agent = self.make_agent()

    def hold(self, planned: Planned, record: Record) -> Ending:
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


def held(setting: ToySetting, path: Path, **more: Any) -> bytes:
    """Return the file of a run."""
    run(setting, path, **{"progress": False, "limits": TimeLimits(), **more})
    return path.read_bytes()


if __name__ == "__main__":
    # Is killed by itself after so many dialogues: `python -m tests.conversation.toy FILE N`.
    output, most = sys.argv[1:]
    many = {str(number): "one two" for number in range(20)}

    class Killing(ToySetting):
        count = 0

        def hold(self, planned: Planned, record: Record) -> Ending:
            if self.count == int(most):
                os.kill(os.getppid() if self.trusts else os.getpid(), signal.SIGKILL)
            self.count += 1
            return super().hold(planned, record)

    setting = Killing(lambda: own_agent("toy", echo), goals=many)
    run(setting, output, jobs=1, limits=TimeLimits(None, None), trials=2, progress=False)
