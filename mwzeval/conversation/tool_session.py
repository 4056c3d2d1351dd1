"""An agent in words that may call tools, as the partner of a user: one dialogue long."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import Any

from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    ERROR,
    TOOL_ROLE,
    AgentTurn,
    Message,
    ToolCall,
    Utterance,
    answer_messages,
    calls_in,
    is_error,
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


def result_of(tools: Tools, name: str, arguments: str) -> Any:
    """Return what a call gives, of which the arguments are JSON text; an error is a result too."""
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        return {ERROR: f"the arguments are not JSON: {error}"}
    if not isinstance(parsed, dict):
        return {ERROR: f"the arguments are an object, not {shorten(repr(parsed))}"}
    return tools.call(name, parsed)


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
        self._executed: set[str] = set()
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
        self._executed.clear()
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
                own = waiting.pop(message["tool_call_id"], None)
                if own is not None and own.name in self._executed:
                    raise AnswerError(
                        f"the answer has a call of {shorten(own.name)} and its result, which are "
                        "recorded already: leave out what the server was called for"
                    )
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
        if is_error(result):
            self.errors += 1
            if self.errors > self._tool_errors:
                raise AnswerError(
                    f"more than {self._tool_errors} calls were wrong, the last one: "
                    f"{shorten(str(result[ERROR]))}"
                )

    def _execute(self, call: ToolCall) -> Any:
        result: Any = {ERROR: "there are no tools in this conversation"}
        if self._tools is not None:
            result = result_of(self._tools, call.name, call.arguments)
        self._add(tool_message(call, result))
        self.count(result)
        return result

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self._record(message)


class ToolSession(ToolTurns):
    """Asks an agent until it has an answer for the user, and calls tools for it meanwhile.

    `answer` raises whatever the agent raises, and `AnswerError` as `take` does. While it is asked,
    an agent may also call tools by itself, by `execute`, from any thread.
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
        self._lock = Lock()
        self._is_asked = False
        self._failure: AnswerError | None = None

    def answer(self, said: Utterance, /) -> AgentTurn:
        """Return what the agent does after a message of the user. Raises `AnswerError`."""
        self.hear(said)
        turn = None
        while turn is None:
            turn = self.take(self._asked())
        return turn

    def execute(self, name: str, arguments: str) -> Any:
        """Return the result of a call that the agent makes while it is asked for its turn.

        `arguments` are JSON text. Call and result are recorded, as messages of the turn. Where the
        dialogue cannot go on, or nothing is asked of the agent, the result is an error.
        """
        with self._lock:
            if not self._is_asked:
                return {ERROR: "functions are called while the agent is asked for its turn"}
            try:
                if self._failure is not None:
                    raise self._failure
                function = {"name": name, "arguments": arguments}
                (message,) = answer_messages({"tool_calls": [{"function": function}]}, self._calls)
                (call,) = calls_in(message)
                self._calls += 1
                self._executed.add(call.name)
                self._add(message)
                return self._execute(call)
            except AnswerError as error:
                self._failure = error
                return {ERROR: str(error)}

    def _asked(self) -> Any:
        """Return what the agent answers. Raises `AnswerError` if its own calls were too much."""
        with self._lock:
            self._is_asked = True
        try:
            answer = self._respond(list(self.messages))
        finally:
            with self._lock:
                self._is_asked = False
        if self._failure is not None:
            raise self._failure
        return answer
