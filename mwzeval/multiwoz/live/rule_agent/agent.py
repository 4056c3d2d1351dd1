"""The built-in agent `rule`: asks for what it needs, books what it recommended, says what it found.

It talks as any agent does: messages in, a message with calls of tools or with words out. Nothing
but the vocabulary (which values there are) comes from the database directly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mwzeval.multiwoz.live.rule_agent.language import Speech
from mwzeval.multiwoz.live.rule_agent.policy import Calling, Policy
from mwzeval.multiwoz.live.rule_agent.spoken_values import Vocabulary


class TurnPolicy(Protocol):
    """What decides on the turns of one dialogue."""

    def answer(self, utterance: str, speech: Speech) -> Calling:
        """Yield the calls of a turn, and say in `speech` what the user is to hear."""


class CallingAgent:
    """One dialogue of an agent with a policy: call it with all messages so far.

    A message in words has the `acts` that its words stand for, too, as lists: what a user makes of
    the words can be held against them.
    """

    def __init__(self, policy: TurnPolicy, seed: int, dialogue: str) -> None:
        self._policy = policy
        self._seed = f"{seed} {dialogue}"
        self._turns = 0
        self._calls = 0
        self._speech = Speech(self._seed)
        self._running: Calling | None = None

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the next message: a call, or what the user hears."""
        last = messages[-1] if messages else {}
        content = last.get("content")
        if last.get("role") == "tool" and self._running is not None:
            return self._go_on(self._running, _parsed(content))
        self._speech = Speech(f"{self._seed} {self._turns}")
        self._turns += 1
        text = content if isinstance(content, str) else ""
        self._running = self._policy.answer(text, self._speech)
        return self._go_on(self._running, None)

    def _go_on(self, running: Calling, result: Any) -> dict[str, Any]:
        try:
            name, arguments = running.send(result)
        except StopIteration:
            self._running = None
            acts = [list(act) for act in self._speech.acts]
            return {"role": "assistant", "content": self._speech.text, "acts": acts}
        self._calls += 1
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{self._calls}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


class RuleAgent(CallingAgent):
    """One dialogue of the agent `rule`; `vocabulary` may serve many."""

    def __init__(self, vocabulary: Vocabulary, seed: int = 0, dialogue: str = "") -> None:
        super().__init__(Policy(vocabulary), seed, dialogue)


def _parsed(content: Any) -> Any:
    try:
        return json.loads(content)
    except (TypeError, ValueError, RecursionError):
        return None
