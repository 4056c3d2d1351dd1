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
from mwzeval.conversation.messages import (
    TOOL_ROLE,
    USER_ROLE,
    AgentTurn,
    Message,
)
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import did_you_mean, printable, shorten

COMMAND = "/"
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
        """Return a line that is not empty. Raises `LeftError` at the end of what can be read."""
        while True:
            self._show.write(PROMPT)
            self._show.flush()
            line = self._read.readline()
            if not line:
                self.show()
                raise LeftError("the person left")
            if line.strip():
                return line.strip()


class HumanUser:
    """A person who is shown a goal, a line a wish, and talks to an agent in words."""

    def __init__(self, goal: Sequence[str], terminal: Terminal) -> None:
        self._goal = goal
        self._terminal = terminal
        self.is_done = False

    def begin(self) -> str:
        """Return what the person says first."""
        self._show_goal()
        self._terminal.show("`/bye` ends the dialogue, `/help` explains what can be typed.")
        return self._asked()

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the person says to a turn of the agent."""
        self._terminal.show(f"\nagent> {heard.text}\n")
        return self._asked()

    def _show_goal(self) -> None:
        self._terminal.show("Your goal:")
        for line in self._goal:
            self._terminal.show(f"  {line}")

    def _asked(self) -> str:
        while True:
            line = self._terminal.ask()
            command, _, rest = line.partition(" ")
            if not line.startswith(COMMAND):
                return line
            if command == "/bye":
                self.is_done = True
                return rest.strip() or "Thank you, goodbye."
            if command == "/quit":
                raise LeftError("the person left")
            if command == "/goal":
                self._show_goal()
            else:
                _explain(self._terminal, command, ("/goal", "/bye", "/quit"), USER_HELP)


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
            if command == "/quit":
                raise LeftError("the person left")
            if command == "/tools":
                self._show_functions()
            elif command.removeprefix(COMMAND) in self._functions:
                arguments = self._arguments(line)
                if arguments is not None:
                    text = json.dumps(arguments, ensure_ascii=False)
                    function = {"name": command.removeprefix(COMMAND), "arguments": text}
                    return {"tool_calls": [{"function": function}]}
            else:
                known = ("/tools", "/quit", *(COMMAND + name for name in self._functions))
                _explain(terminal, command, known, AGENT_HELP)

    def _show_functions(self) -> None:
        for name, function in self._functions.items():
            arguments = ", ".join(function["parameters"]["properties"])
            self._terminal.show(f"  /{name}  {arguments}")

    def _arguments(self, line: str) -> dict[str, Any] | None:
        """Return the arguments of a typed call; None when they cannot be read, which is told."""
        try:
            words = shlex.split(line)[1:]
        except ValueError as error:
            self._terminal.show(f"that cannot be read: {error}")
            return None
        arguments: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                self._terminal.show(f'"{shorten(word)}": write name=value, as in area=north')
                return None
            arguments[name] = value
        return arguments


def human_agent(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
    """Return a person as the agent of a dialogue."""
    person = HumanAgent(() if tools is None else tools.schema, Terminal(sys.stdin, sys.stderr))
    return ToolSession(person, tools, record.message, tool_rounds=MANY, tool_errors=MANY)


def _explain(terminal: Terminal, command: str, known: Sequence[str], text: str) -> None:
    if command != "/help":
        terminal.show(f'unknown command "{shorten(command)}"{did_you_mean(command, known)}')
    terminal.show(text)
