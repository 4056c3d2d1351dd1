"""A model behind an endpoint as the agent of dialogues in words."""

from __future__ import annotations

from random import Random

from mwzeval.conversation.endpoint.client import Client, Texts, tools_text
from mwzeval.conversation.messages import Message
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.tool_session import TOOL_ROUNDS, ToolSession

CUT_OFF = "length"
"""The finish reason of a message that was longer than it may be."""


class EndpointAgent:
    """A model that is asked for each turn of many dialogues, whatever thread they are held in.

    `prompt` is the system message, `dialogue_seconds` how long a dialogue may take (None: any
    time), `sends_seed` whether requests have a seed that follows from that of the run.
    """

    def __init__(
        self,
        client: Client,
        prompt: str,
        *,
        tool_rounds: int = TOOL_ROUNDS,
        dialogue_seconds: float | None = None,
        sends_seed: bool = False,
    ) -> None:
        self._client = client
        self._prompt = prompt
        self._tool_rounds = tool_rounds
        self._dialogue_seconds = dialogue_seconds
        self._sends_seed = sends_seed

    def partner(self, planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
        """Return the agent's side of a dialogue, whose messages go to the `record`."""
        clock = self._client.clock
        deadline = None
        if self._dialogue_seconds is not None:
            deadline = clock.now() + self._dialogue_seconds
        schema = "" if tools is None else tools_text(tools.schema)
        texts = Texts()
        rng = Random(f"{planned.key}/agent")
        more = {"seed": planned.number} if self._sends_seed else None
        system: list[Message] = [{"role": "system", "content": self._prompt}] * bool(self._prompt)

        def respond(messages: list[Message]) -> Message:
            completion = self._client.complete(
                system + messages,
                schema,
                rng=rng,
                trial=planned.trial,
                deadline=deadline,
                more=more,
                texts=texts,
            )
            message = {**completion.message, "usage": dict(completion.usage)}
            if completion.finish_reason == CUT_OFF:
                message["finish_reason"] = CUT_OFF
            return message

        return ToolSession(respond, tools, record.message, tool_rounds=self._tool_rounds)
