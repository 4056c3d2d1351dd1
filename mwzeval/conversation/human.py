"""People in a conversation, at the terminal: as the user, or as the agent that calls tools.

What they are shown goes to standard error: standard output has the result of the run.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from mwzeval.conversation.loop import ToolSession
from mwzeval.conversation.messages import TOOL_ROLE, USER_ROLE, AgentTurn, Message
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import did_you_mean, printable, shorten

COMMAND, QUIT = "/", "/quit"
PROMPT = "you> "
MANY = 1_000
"""Calls in one turn, and calls that are wrong: a person is not stopped for these."""
LONGEST_RESULT = 2_000
"""Characters of a tool's result that are shown."""
USER_HELP = """\
Type what you say to the agent. Commands:
  /goal        show the goal again
  /bye [TEXT]  say your last, and end the dialogue
  /quit        leave; the dialogue does not count"""
AGENT_HELP = """\
Type what you say to the user. Commands:
  /tools                       show the functions and their arguments
  /find_hotel area=north …     call a function; quote values with spaces: name="the lodge"
  /quit                        leave; the dialogue does not count"""


class LeftError(KeyboardInterrupt):
    """The person has left: the dialogue does not count, and no other one begins."""


class Terminal:
    """Reads lines from one stream, and shows text on another."""

    def __init__(self, read: TextIO, show: TextIO) -> None:
        self._read = read
        self._show = show

    def show(self, text: str = "") -> None:
        """Show a line or several; signs that would steer a terminal are made visible."""
        self._show.write(printable(f"{text}\n", keep="\n"))
        self._show.flush()

    def ask(self) -> str:
        """Return a line that is not empty. Raises `LeftError` for `/quit` and at the end."""
        while True:
            self._show.write(PROMPT)
            self._show.flush()
            line = self._read.readline()
            if not line:
                self.show()
            if not line or line.split()[:1] == [QUIT]:
                raise LeftError("the person left")
            if line.strip():
                return line.strip()

    def explain(self, command: str, known: Sequence[str], text: str) -> None:
        """Show what can be typed, and what an unknown command may mean."""
        if command != "/help":
            self.show(f'unknown command "{shorten(command)}"{did_you_mean(command, known)}')
        self.show(text)


class HumanUser:
    """A person who is shown a goal, a line a wish, and talks to an agent in words."""

    def __init__(self, goal: Sequence[str], terminal: Terminal) -> None:
        self._goal = "\n".join(["Your goal:", *(f"  {line}" for line in goal)])
        self._terminal = terminal
        self.is_done = False

    def begin(self) -> str:
        """Return what the person says first."""
        self._terminal.show(self._goal)
        self._terminal.show("`/bye` ends the dialogue, `/help` explains what can be typed.")
        return self._asked()

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the person says to a turn of the agent."""
        self._terminal.show(f"\nagent> {heard.text}\n")
        return self._asked()

    def _asked(self) -> str:
        while True:
            line = self._terminal.ask()
            command, _, rest = line.partition(" ")
            if not line.startswith(COMMAND):
                return line
            if command == "/bye":
                self.is_done = True
                return rest.strip() or "Thank you, goodbye."
            if command == "/goal":
                self._terminal.show(self._goal)
            else:
                self._terminal.explain(command, ("/goal", "/bye", QUIT), USER_HELP)


class HumanAgent:
    """A person who answers a user and calls functions for that: an agent as `ToolSession` asks it.

    `schema` has the functions.
    """

    def __init__(self, schema: Sequence[Mapping[str, Any]], terminal: Terminal) -> None:
        self._functions = {tool["function"]["name"]: tool["function"] for tool in schema}
        self._terminal = terminal
        self._has_begun = False

    def __call__(self, messages: list[Message]) -> Any:
        """Return what the person says, or the call that is typed."""
        terminal = self._terminal
        if not self._has_begun:
            self._has_begun = True
            terminal.show("You are the agent. `/help` explains what can be typed.")
        last = messages[-1]
        if last["role"] == USER_ROLE:
            terminal.show(f"\nuser> {last['content']}\n")
        elif last["role"] == TOOL_ROLE:
            text = json.dumps(json.loads(last["content"]), ensure_ascii=False, indent=2)
            terminal.show(text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]}\n…")
        while True:
            line = terminal.ask()
            if not line.startswith(COMMAND):
                return line
            command = line.split()[0]
            name = command.removeprefix(COMMAND)
            if command == "/tools":
                for known, function in self._functions.items():
                    terminal.show(f"  /{known}  {', '.join(function['parameters']['properties'])}")
            elif name in self._functions:
                try:
                    arguments = json.dumps(_arguments(line), ensure_ascii=False)
                    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
                except ValueError as error:
                    terminal.show(str(error))
            else:
                commands = ("/tools", QUIT, *(COMMAND + name for name in self._functions))
                terminal.explain(command, commands, AGENT_HELP)


def _arguments(line: str) -> dict[str, str]:
    """Return the arguments of a typed call. Raises `ValueError` when they cannot be read."""
    try:
        words = shlex.split(line)[1:]
    except ValueError as error:
        raise ValueError(f"that cannot be read: {error}") from None
    arguments = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f'"{shorten(word)}": write name=value, as in area=north')
        arguments[name] = value
    return arguments


def human_agent(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
    """Return a person as the agent of a dialogue."""
    person = HumanAgent(() if tools is None else tools.schema, Terminal(sys.stdin, sys.stderr))
    return ToolSession(person, tools, record.message, tool_rounds=MANY, tool_errors=MANY)
