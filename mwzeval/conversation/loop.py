"""The turn loop: user and agent alternate until the user stops, a limit is reached or a side fails.

The loop does not inspect the content of turns. `converse` calls both sides. In an `Episode`, an
external harness calls the agent. `converse` and `Episode` have the same limits, endings and record.
A `ToolSession` is an agent that exchanges messages and may call tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
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
from mwzeval.conversation.protocols import (
    AGENT_ERROR,
    FAILURES,
    LIMIT,
    USER_ERROR,
    USER_STOP,
    AnswerError,
    End,
    Ending,
    Partner,
    Tools,
    User,
    failed,
)
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import UsageError, shorten

USER_TURNS = 21
"""The default limit on user turns, including the goodbye. Source: ConvLab-2's agenda user says
goodbye after this number of calls."""
TOOL_ROUNDS = 8
"""The number of tool rounds that an agent may use before it answers the user."""
TOOL_ERRORS = 10
"""The maximum number of calls in a dialogue whose result is an error."""
USER = "user"
"""The key of a trajectory line that contains the user's report."""

Note = Callable[[Ending], object]
"""Called before each call of the user or the agent, with the ending that applies if the call never
returns."""
Respond = Callable[[list[Message]], Any]
"""A function that returns an agent's answer to all messages so far, including those of tools."""


class _StoppedError(Exception):
    """Raised to end a dialogue from outside; the arguments are an end and a problem."""


def user_turns_of(
    make_user: Callable[[], User],
    *,
    user_turns: int = USER_TURNS,
    record: Record | None = None,
    note: Note | None = None,
    failures: tuple[type[BaseException], ...] = FAILURES,
) -> Generator[Any, Any, Ending]:
    """Yield None after the user is created, then each user turn; return how the dialogue ended.

    The caller passes the agent's turns with `send` and the agent's errors with `throw`. For
    parameters, see `converse`.
    """
    note = note if record is None else record.note
    user: User | None = None
    turns = 0
    is_done = False

    def keep_report() -> None:
        report = getattr(user, "report", None)
        if report is not None and record is not None:
            record.keep({USER: report()})

    def before_call(end: End) -> None:
        if record is not None and record.is_watched and end != USER_ERROR:
            with suppress(*failures):  # such an error is reported at the end
                keep_report()
        if note is not None:
            note(Ending(end, turns))

    def ended(ending: Ending) -> Ending:
        """Record the user's report; if the report fails, the dialogue ends with a user error."""
        try:
            keep_report()
        except failures as error:
            return failed(USER_ERROR, turns, error)
        return ending

    before_call(USER_ERROR)
    try:
        user = make_user()
    except failures as error:
        return ended(failed(USER_ERROR, 0, error))
    before_call(AGENT_ERROR)
    said = heard = None
    while True:
        try:
            heard = yield said
        except _StoppedError as stopped:
            end, problem = stopped.args
            return ended(Ending(end, turns, problem))
        except failures as error:
            # An error of the agent is ignored after the user has finished.
            if not is_done:
                return ended(failed(AGENT_ERROR, turns, error))
        if is_done:
            return ended(Ending(USER_STOP, turns))
        if turns >= user_turns:
            return ended(Ending(LIMIT, turns, f"{user_turns} user turns"))
        before_call(USER_ERROR)
        try:
            said = user.begin() if heard is None else user.answer(heard)
            is_done = user.is_done
        except failures as error:
            return ended(failed(USER_ERROR, turns, error))
        if said is None:
            return ended(Ending(USER_STOP, turns))
        turns += 1
        before_call(USER_STOP if is_done else AGENT_ERROR)


def converse(
    make_user: Callable[[], User],
    make_partner: Callable[[], Partner],
    *,
    user_turns: int = USER_TURNS,
    record: Record | None = None,
    note: Note | None = None,
    failures: tuple[type[BaseException], ...] = FAILURES,
) -> Ending:
    """Run a dialogue between a user and an agent; return how it has ended.

    If a side raises one of the `failures`, the dialogue ends, and the ending reports the error. The
    agent also receives the user's last message, because the agent may act on this message. Errors
    of the agent after this message are ignored. If the user leaves without a message, no turn is
    counted. The user's report is written to the `record` at the end, and before each agent turn if
    another process may kill this process. `note` is called before each call of the user or the
    agent.
    """
    user = user_turns_of(
        make_user, user_turns=user_turns, record=record, note=note, failures=failures
    )
    partner: Partner | None = None

    def answer(said: Any) -> Any:
        nonlocal partner
        heard = None
        try:
            if partner is None:
                partner = make_partner()
            else:
                heard = partner.answer(said)
        except failures as error:
            return user.throw(error)
        return user.send(heard)

    try:
        said = next(user)
        while True:
            said = answer(said)
    except StopIteration as stop:
        ending: Ending = stop.value
        return ending


def result_of(tools: Tools, name: str, arguments: str) -> Any:
    """Return the result of a call with arguments as JSON text; errors are returned as results."""
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        return {ERROR: f"the arguments are not JSON: {error}"}
    if not isinstance(parsed, dict):
        return {ERROR: f"the arguments must be an object, not {shorten(repr(parsed))}"}
    return tools.call(name, parsed)


class ToolSession:
    """An agent that exchanges messages and may call tools, as a `Partner` for a single dialogue.

    The session calls `respond` and executes the requested function calls until `respond` returns an
    answer for the user. `respond` is None if an external harness calls the agent (see `hear` and
    `take`). Each message is passed to `record` immediately, even if its turn fails later. During
    its turn, an agent may also call tools directly with `execute`, from any thread.
    """

    def __init__(
        self,
        respond: Respond | None,
        tools: Tools | None,
        record: Callable[[Message], object],
        *,
        tool_rounds: int = TOOL_ROUNDS,
        tool_errors: int = TOOL_ERRORS,
    ) -> None:
        self._respond = respond
        self._tools = tools
        self._record = record
        self._tool_rounds = tool_rounds
        self._tool_errors = tool_errors
        self._begin = self._rounds = self._calls = self._errors = 0
        self._executed: set[str] = set()
        self._lock = Lock()
        self._is_asked = False
        self._failure: AnswerError | None = None
        self.messages: list[Message] = []
        """All messages so far, in the form that the agent sees."""

    def answer(self, said: Utterance, /) -> AgentTurn:
        """Return the agent's turn after a message of the user.

        Raises `AnswerError` if an answer is invalid. Exceptions of the agent are passed on.
        """
        assert self._respond is not None
        self.hear(said)
        turn = None
        while turn is None:
            with self._lock:
                self._is_asked = True
            try:
                answer = self._respond(list(self.messages))
            finally:
                with self._lock:
                    self._is_asked = False
            if self._failure is not None:  # the agent's direct calls exceeded a limit
                raise self._failure
            turn = self.take(answer)
        return turn

    def hear(self, said: Utterance) -> None:
        """Begin an agent turn with the user's message."""
        message = user_message(said) if isinstance(said, str) else said
        # The agent must not see the token usage of the user.
        self.messages.append(user_message(message["content"]))
        self._begin, self._rounds = len(self.messages), 0
        self._executed.clear()
        self._record(message)

    def take(self, answer: Any) -> AgentTurn | None:
        """Return the agent's turn; None if the agent called tools and now receives their results.

        `answer` is text, a message, or a list of messages; calls without a result are executed.
        Raises `AnswerError` for an invalid answer, too many tool rounds, or too many wrong calls.
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
                        f"the answer contains a call of {shorten(own.name)} that the server has "
                        "already recorded: leave out calls to the server and their results"
                    )
        last = messages[-1]
        if not waiting and last["role"] == ASSISTANT_ROLE and not last.get("tool_calls"):
            text: str = last["content"]
            if not text.strip():
                raise AnswerError(
                    "the agent's message is empty: it must have content or tool_calls"
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
        """In the agent's history, replace all messages of the agent's last turn by one text."""
        self.messages[self._begin :] = [{"role": ASSISTANT_ROLE, "content": text}]

    def count(self, result: Any) -> None:
        """Count a function call as an error if its result is an error.

        Raises `AnswerError` after too many errors.
        """
        self._errors += is_error(result)
        if is_error(result) and self._errors > self._tool_errors:
            raise AnswerError(
                f"more than {self._tool_errors} tool calls were invalid; the last one: "
                f"{shorten(str(result[ERROR]))}"
            )

    def execute(self, name: str, arguments: str) -> Any:
        """Execute a call that the agent makes directly during its turn, and return the result.

        `arguments` is JSON text. The call and its result are recorded as messages of the turn. The
        result is an error if the dialogue cannot continue, or if it is not the agent's turn.
        """
        with self._lock:
            if not self._is_asked:
                return {ERROR: "functions can only be called during the agent's turn"}
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


class Episode:
    """A user and database functions for an agent that an external harness calls.

    `begin()` returns the user's first message. `answer(…)` takes an answer or tool calls of the
    agent, and returns the messages that the agent receives next: the results of its calls, or the
    user's next message. The returned list is empty if `is_over` is true. A harness that executes
    calls itself gets each result from `call(…)`, and passes the agent's message and the results to
    `answer`. Messages have the form of OpenAI chat completions; only the harness can add a system
    message.

    `make_user` and `tools` are for this dialogue only; the limits are the same as for `mwzeval
    live`. The dialogue is written to `record`; some users also write to `record`.
    """

    def __init__(
        self,
        planned: Planned,
        make_user: Callable[[], User],
        tools: Tools,
        *,
        user_turns: int = USER_TURNS,
        tool_rounds: int = TOOL_ROUNDS,
        tool_errors: int = TOOL_ERRORS,
        record: Record | None = None,
    ) -> None:
        self.planned = planned
        """The name, goal and trial of this dialogue."""
        self.ending: Ending | None = None
        """How the dialogue has ended, None while it continues."""
        self._tools = tools
        self._record = Record() if record is None else record
        self._user = user_turns_of(make_user, user_turns=user_turns, record=self._record)
        self._has_begun = False
        self._agent = ToolSession(
            None, tools, self._record.message, tool_rounds=tool_rounds, tool_errors=tool_errors
        )

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The functions that the agent may call, in the format of `mwzeval tools-schema`."""
        return self._tools.schema

    @property
    def is_over(self) -> bool:
        """Whether the dialogue has ended."""
        return self.ending is not None

    @property
    def messages(self) -> list[Message]:
        """All messages so far, in the form that the agent sees."""
        return deepcopy(self._agent.messages)

    def begin(self) -> list[Message]:
        """Return a list with the user's first message; the list is empty if the user fails.

        Raises `UsageError` if the dialogue has already begun.
        """
        if self._has_begun:
            raise UsageError("a dialogue can begin only once: create a new episode")
        self._has_begun = True
        self._go_on(next, self._user)
        return self._heard(None)

    def answer(self, answer: Any) -> list[Message]:
        """Process an agent's answer; return the results of its calls or the user's next message.

        `answer` is text, a message, or a list of messages. In a list, the results of function calls
        follow the message with the calls. Calls without a result are executed, and their results
        have the agent's call ids. An answer that is invalid or exceeds a limit ends the dialogue.
        The returned list is empty if the dialogue is over, or if the agent has to continue its
        turn.
        """
        self._check_begun()
        if self.is_over:
            return []
        before = len(self._record.messages)
        is_list = isinstance(answer, Sequence) and not isinstance(answer, str)
        messages = answer if is_list else [answer]
        try:
            turn = self._agent.take(answer)
        except AnswerError as error:
            self._go_on(self._user.throw, error)
            return []
        if turn is not None:
            return self._heard(turn)
        new = self._record.messages[before:]
        own = [call["id"] for message in new for call in message.get("tool_calls", ())]
        calls = [call for raw in messages for call in raw.get("tool_calls") or ()]
        ids = {id_: call.get("id") or id_ for id_, call in zip(own, calls, strict=True)}
        results = deepcopy(new[len(messages) :])
        return [{**result, "tool_call_id": ids[result["tool_call_id"]]} for result in results]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a function and return the result, a JSON value; errors are `{"error": …}`.

        This method is for harnesses that execute function calls themselves. Too many errors end the
        dialogue.
        """
        self._check_begun()
        result = self._tools.call(name, arguments)
        try:
            self._agent.count(result)
        except AnswerError as error:
            if not self.is_over:
                self._go_on(self._user.throw, error)
        return result

    def stop(self, problem: str, end: End = LIMIT) -> None:
        """End a running dialogue because the harness has reached a limit or failed."""
        if not self.is_over:
            self._check_begun()
            self._go_on(self._user.throw, _StoppedError(end, problem))

    def trajectory(self) -> Trajectory:
        """Return the dialogue as a line for the output file of a run.

        Raises `UsageError` if the dialogue is not over.
        """
        if self.ending is None:
            raise UsageError(
                "the dialogue has not ended: call answer until it has ended, or stop the dialogue"
            )
        return self._record.trajectory(self.planned, self.ending)

    def _check_begun(self) -> None:
        if not self._has_begun:
            raise UsageError("the user takes the first turn: call begin() first")

    def _go_on(self, send: Callable[[Any], Any], value: Any) -> Any:
        """Resume the user generator and return its next turn; None if the dialogue is over."""
        try:
            return send(value)
        except StopIteration as stop:
            self.ending = stop.value
            return None

    def _heard(self, turn: AgentTurn | None) -> list[Message]:
        said = None if self.is_over else self._go_on(self._user.send, turn)
        if said is None:
            return []
        self._agent.hear(said)
        return deepcopy(self._agent.messages[-1:])
