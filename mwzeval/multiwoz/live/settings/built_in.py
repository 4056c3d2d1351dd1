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
from mwzeval.multiwoz.convlab.resources import ActResources, SystemValues
from mwzeval.multiwoz.database import Row
from mwzeval.multiwoz.live.convlab_agent import ConvlabPolicy
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.rule_agent import CallingAgent, RuleAgent
from mwzeval.multiwoz.live.settings.acts import agenda_user
from mwzeval.multiwoz.live.settings.options import RULE_CONVLAB, SILENT
from mwzeval.multiwoz.live.understanding import Vocabulary
from mwzeval.multiwoz.live.user_in_words import UserInWords
from mwzeval.multiwoz.live.wordings import UserWordings

Tables = Mapping[str, Sequence[Row]]


class BuiltInAgent:
    """`rule`, `rule-convlab`, or `silent`, the floor of all scores; one for all dialogues.

    `tables` are the rows of the database by domain; `resources` are what `rule-convlab` needs.
    """

    def __init__(
        self, name: str, tables: Tables, resources: ActResources | None, tool_rounds: int
    ) -> None:
        self._vocabulary = Vocabulary(tables) if name != SILENT else None
        self._resources = resources if name == RULE_CONVLAB else None
        self._tool_rounds = tool_rounds

    def partner(self, planned: Planned, tools: Tools, record: Record) -> ToolSession:
        """Return the agent's side of a dialogue, whose messages go to the `record`."""
        return ToolSession(
            self._agent(planned), tools, record.message, tool_rounds=self._tool_rounds
        )

    def _agent(self, planned: Planned) -> Respond:
        if self._vocabulary is None:
            return say_nothing
        key = f"{planned.item}#{planned.trial}"
        if self._resources is None:
            return RuleAgent(self._vocabulary, planned.seed, key)
        drawn = planned.seed, planned.item, planned.trial
        policy = ConvlabPolicy(self._vocabulary, self._resources, *drawn)
        return CallingAgent(policy, planned.seed, key)


def say_nothing(messages: Sequence[Message]) -> dict[str, Any]:
    """Return a message that says nothing of use."""
    return {"role": "assistant", "content": "Hm.", "acts": []}


class BuiltInUser:
    """The agenda user in words; one for all dialogues.

    With `values` it is the public simulator with its faults.
    """

    def __init__(self, tables: Tables, rules: Rules, values: SystemValues | None = None) -> None:
        self._reader = AgentReader(tables, rules)
        self._wordings = UserWordings()
        self._values = values

    def user(self, planned: Planned) -> UserInWords:
        """Return the user of a dialogue."""
        user = agenda_user(planned, self._values)
        return UserInWords(user, self._wordings, self._reader, Random(planned.key))
