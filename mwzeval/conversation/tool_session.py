"""An agent in words that may call tools, as the partner of a user: one dialogue long."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    TOOL_ROLE,
    AgentTurn,
    Message,
    ToolCall,
    Utterance,
    answer_messages,
    calls_in,
    tool_message,
    user_message,
)
from mwzeval.conversation.protocols import AnswerError, Tools
from mwzeval.errors import shorten

Respond = Callable[[list[Message]], Any]
"""Returns an agent's answer to the messages so far, its own and those of tools among them."""
TOOL_ROUNDS = 8
"""How often an agent may call tools before it answers the user."""
TOOL_ERRORS = 10
"""How many calls of a dialogue may end in an error."""
ERROR = "error"
"""The key of a result that says what is wrong with a call."""


class ToolTurns:
    """The agent's side of a dialogue, message by message, whoever drives it.

    `hear` takes a message of the user, `take` what the agent answers, until that is a whole turn.
    `record` gets each message as soon as there is one, those of a turn that fails among them.
    """

    def __init__(
        self,
        tools: Tools | None,
        record: Callable[[Message], object],
        *,
        tool_rounds: int = TOOL_ROUNDS,
        tool_errors: int = TOOL_ERRORS,
    ) -> None:
        self._tools = tools
        self._record = record
        self._tool_rounds = tool_rounds
        self._tool_errors = tool_errors
        self._begin = self._rounds = 0
        self._calls = 0
        self.messages: list[Message] = []
        """All messages so far, as the agent sees them."""
        self.errors = 0
        """How many calls have ended in an error."""

    def hear(self, said: Utterance) -> None:
        """Begin a turn of the agent, with the message of the user that it answers."""
        message = user_message(said) if isinstance(said, str) else said
        # What a message has cost the user is nothing for the agent.
        self.messages.append(user_message(message["content"]))
        self._begin, self._rounds = len(self.messages), 0
        self._record(message)

    def take(self, answer: Any) -> AgentTurn | None:
        """Return the turn of the agent, None when it has called tools and gets their results.

        `answer` is text, a message, or a list of messages; calls without a result are executed.
        Raises `AnswerError` for what is no answer, when the agent goes on calling tools, and when
        it calls them wrongly too often.
        """
        messages = answer_messages(answer, self._calls)
        waiting: dict[str, ToolCall] = {}
        for message in messages:
            self._add(message)
            calls = calls_in(message)
            self._calls += len(calls)
            waiting |= {call.id: call for call in calls}
            if message["role"] == TOOL_ROLE:
                waiting.pop(message["tool_call_id"], None)
        last = messages[-1]
        if not waiting and last["role"] == ASSISTANT_ROLE and not last.get("tool_calls"):
            text: str = last["content"]
            if not text.strip():
                raise AnswerError(
                    "the agent neither says anything nor calls a tool: a message has content "
                    "or tool_calls"
                )
            return AgentTurn(tuple(self.messages[self._begin :]), text)
        for call in waiting.values():
            self._execute(call)
        self._rounds += 1
        if self._rounds > self._tool_rounds:
            raise AnswerError(
                f"the agent called tools more than {self._tool_rounds} times in one turn"
            )
        return None

    def remember(self, text: str) -> None:
        """Let the agent see this in place of all that it did in its last turn.

        What was recorded stays.
        """
        self.messages[self._begin :] = [{"role": ASSISTANT_ROLE, "content": text}]

    def count(self, result: Any) -> None:
        """Count the result of a call. Raises `AnswerError` after too many errors."""
        if isinstance(result, Mapping) and ERROR in result:
            self.errors += 1
            if self.errors > self._tool_errors:
                raise AnswerError(
                    f"more than {self._tool_errors} calls were wrong, the last one: "
                    f"{shorten(str(result[ERROR]))}"
                )

    def _execute(self, call: ToolCall) -> None:
        result = self._result(call)
        self._add(tool_message(call, result))
        self.count(result)

    def _result(self, call: ToolCall) -> Any:
        if self._tools is None:
            return {ERROR: "there are no tools in this conversation"}
        try:
            arguments = json.loads(call.arguments) if call.arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            return {ERROR: f"the arguments are not JSON: {error}"}
        if not isinstance(arguments, dict):
            return {ERROR: f"the arguments are an object, not {shorten(repr(arguments))}"}
        return self._tools.call(call.name, arguments)

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self._record(message)


class ToolSession(ToolTurns):
    """Asks an agent until it has an answer for the user, and calls tools for it meanwhile.

    `answer` raises whatever the agent raises, and `AnswerError` as `take` does.
    """

    def __init__(
        self,
        respond: Respond,
        tools: Tools | None,
        record: Callable[[Message], object],
        *,
        tool_rounds: int = TOOL_ROUNDS,
        tool_errors: int = TOOL_ERRORS,
    ) -> None:
        super().__init__(tools, record, tool_rounds=tool_rounds, tool_errors=tool_errors)
        self._respond = respond

    def answer(self, said: Utterance, /) -> AgentTurn:
        """Return what the agent does after a message of the user. Raises `AnswerError`."""
        self.hear(said)
        turn = None
        while turn is None:
            turn = self.take(self._respond(list(self.messages)))
        return turn
