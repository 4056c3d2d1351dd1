"""People at the terminal, as users with a goal in words, and as agents that call tools.

What they are shown goes to standard error: standard output has the result of the run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from mwzeval.conversation.human import HumanAgent, HumanUser, Terminal
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.tool_session import ToolSession

MANY = 1_000
"""Calls in one turn, and calls that are wrong: a person is not stopped for these."""


class Agents:
    """A person who is the agent of all dialogues."""

    def partner(self, planned: Planned, tools: Tools, record: Record) -> ToolSession:
        """Return the agent's side of a dialogue."""
        person = HumanAgent(tools.schema, Terminal(sys.stdin, sys.stderr))
        return ToolSession(person, tools, record.message, tool_rounds=MANY, tool_errors=MANY)


class Users:
    """A person who is the user of all dialogues; `sentences` are the goal of an id."""

    def __init__(self, sentences: Callable[[str], Sequence[str]]) -> None:
        self._sentences = sentences

    def user(self, planned: Planned) -> HumanUser:
        """Return the user of a dialogue."""
        return HumanUser(self._sentences(planned.item), Terminal(sys.stdin, sys.stderr))
