"""Our own rule agent, behind a server or in this process; servers put their answers oddly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from mwzeval.conversation.messages import Message
from mwzeval.conversation.trajectory import Planned
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.understanding import Vocabulary
from tests.conversation.endpoint.server import completion

ODD = (("find_hotel", '{"area": '), ("no_such_function", "{}"), ("find_hotel", ""))
"""Calls of one message: arguments that are no JSON, a function that is not there, no arguments."""


class OddAgent:
    """The rule agent, which once makes wrong calls, several at a time, before it answers."""

    def __init__(self, vocabulary: Vocabulary, planned: Planned) -> None:
        self._agent = RuleAgent(vocabulary, planned.seed, f"{planned.item}#{planned.trial}")
        self._turns = 0
        self._before: list[Message] | None = None

    def __call__(self, messages: Sequence[Message]) -> dict[str, Any]:
        if messages[-1]["role"] == "user":
            self._turns += 1
            if self._turns == 2:
                self._before = list(messages)
                calls = [{"function": {"name": name, "arguments": text}} for name, text in ODD]
                return {"role": "assistant", "content": None, "tool_calls": calls or None}
        if self._before is not None:
            messages, self._before = self._before, None
        answer = self._agent(messages)
        answer.pop("acts", None)
        return answer


def number_of(*parts: Any) -> int:
    """Return a number that looks random, and is the same for the same parts."""
    return int.from_bytes(sha256(json.dumps(parts).encode()).digest()[:4], "big")


class RuleServer:
    """Answers requests as the rule agent would, whose dialogue it knows by the seed.

    With `oddly` it puts the same in all the forms that servers have.
    """

    def __init__(self, vocabulary: Vocabulary, plan: Sequence[Planned], oddly: bool) -> None:
        self._vocabulary = vocabulary
        self._planned = {planned.number: planned for planned in plan}
        self._agents: dict[int, OddAgent] = {}
        self._answers: dict[tuple[int, int], Mapping[str, Any]] = {}
        self._oddly = oddly
        self.cut = 0
        """How many messages are said to be longer than they may be."""

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        messages = [each for each in body["messages"] if each["role"] != "system"]
        planned = self._planned[body["seed"]]
        place = planned.number, len(messages)
        if place not in self._answers:  # a request may come again
            if planned.number not in self._agents:
                self._agents[planned.number] = OddAgent(self._vocabulary, planned)
            answer = self._agents[planned.number](messages)
            self._answers[place] = self._put(answer, number_of(place))
        return self._answers[place]

    def _put(self, answer: dict[str, Any], number: int) -> Mapping[str, Any]:
        if not self._oddly:
            return completion(answer)
        text, calls = answer.get("content"), answer.get("tool_calls", [])
        if text:
            parts = [{"type": "text", "text": text}]
            message = {"content": parts if number % 3 == 0 else text, "reasoning": "none"}
        else:
            message = {"content": ("", None)[number % 2], "tool_calls": calls or None}
            for place, call in enumerate(calls):
                id_of = ({}, {"id": None}, {"id": "call"}, {"id": f"{number}-{place}"})[number % 4]
                calls[place] = {**id_of, "function": dict(call["function"])}
                if number % 3 == 0:
                    calls[place]["function"]["arguments"] = _as_value(call)
        whole = completion({"role": "assistant", **message})
        if number % 5 == 0:
            del whole["usage"]
        if text and number % 7 == 0:
            whole["choices"][0]["finish_reason"] = "length"
            self.cut += 1
        return whole


def _as_value(call: Mapping[str, Any]) -> Any:
    """Return the arguments of a call as an object, where they are one."""
    text = call["function"]["arguments"]
    try:
        return json.loads(text)
    except ValueError:
        return text
