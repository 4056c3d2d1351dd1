"""The agents and the user in words that come along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from mwzeval.conversation.messages import Message
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.tool_session import Respond, ToolSession
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.convlab.said_values import SaidValues
from mwzeval.multiwoz.database.venues import Row
from mwzeval.multiwoz.live.reading.reader import AgentReader
from mwzeval.multiwoz.live.rule_agent import RuleAgent, Vocabulary
from mwzeval.multiwoz.live.settings.acts import agenda_user
from mwzeval.multiwoz.live.settings.options import RULE
from mwzeval.multiwoz.live.user_in_words import UserInWords
from mwzeval.multiwoz.live.wordings.sentences import UserWordings

Tables = Mapping[str, Sequence[Row]]


class BuiltInAgent:
    """`rule`, or `silent`, which marks the floor of all scores; one for all dialogues.

    `tables` are the rows of the database by domain.
    """

    def __init__(self, name: str, tables: Tables, tool_rounds: int) -> None:
        self._vocabulary = Vocabulary(tables) if name == RULE else None
        self._tool_rounds = tool_rounds

    def partner(self, planned: Planned, tools: Tools, record: Record) -> ToolSession:
        """Return the agent's side of a dialogue, whose messages go to the `record`."""
        agent: Respond = say_nothing
        if self._vocabulary is not None:
            agent = RuleAgent(self._vocabulary, planned.seed, f"{planned.item}#{planned.trial}")
        return ToolSession(agent, tools, record.message, tool_rounds=self._tool_rounds)


def say_nothing(messages: Sequence[Message]) -> dict[str, Any]:
    """Return a message that says nothing of use."""
    return {"role": "assistant", "content": "Hm.", "acts": []}


class BuiltInUser:
    """The agenda user in words; one for all dialogues.

    With `values` it is the public simulator with its faults.
    """

    def __init__(self, tables: Tables, rules: Rules, values: SaidValues | None = None) -> None:
        self._reader = AgentReader(tables, rules)
        self._wordings = UserWordings()
        self._values = values

    def user(self, planned: Planned) -> UserInWords:
        """Return the user of a dialogue."""
        user = agenda_user(planned, self._values)
        return UserInWords(user, self._wordings, self._reader, Random(planned.key))
