"""One dialogue: a user and an agent take turns until the user stops, a limit is met, or one fails.

The loop does not look into turns. `converse` drives both sides; in an `Episode` a harness asks the
agent in a way of its own. Limits, ends and the record are the same in both. `ToolSession`
is an agent that talks in words and may call tools.
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
"""Turns of the user, the farewell among them, by default. Source: the calls after which ConvLab-2's
agenda user has said goodbye."""
TOOL_ROUNDS = 8
"""How often an agent may call tools before it answers the user."""
TOOL_ERRORS = 10
"""How many calls of a dialogue may end in an error."""
USER = "user"
"""The key of a line under which a user's report is kept."""

Note = Callable[[Ending], object]
"""Is called before each call of a side with the ending if that call never returns."""
Respond = Callable[[list[Message]], Any]
"""Returns an agent's answer to the messages so far, its own and those of tools among them."""


class _StoppedError(Exception):
    """Ends a dialogue from outside: its arguments are an end and a problem."""


def user_turns_of(
    make_user: Callable[[], User],
    *,
    user_turns: int = USER_TURNS,
    record: Record | None = None,
    note: Note | None = None,
    failures: tuple[type[BaseException], ...] = FAILURES,
) -> Generator[Any, Any, Ending]:
    """Yield None when the user is made, and then what it says; return how the dialogue has ended.

    What the agent answers is sent, and what it raises is thrown. Parameters are as in `converse`.
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
            with suppress(*failures):  # this is noticed at the end
                keep_report()
        if note is not None:
            note(Ending(end, turns))

    def ended(ending: Ending) -> Ending:
        """Keep the user's report; one that fails is an error of the user."""
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
            # Whether an agent fails after the user's end does not matter.
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
    """Hold a dialogue of a user with an agent; return how it has ended.

    A dialogue in which one of them raises one of the `failures` ends with that and says so. The
    last message of a user is answered, too, because an agent may still do something then; but
    whether that fails does not matter any more. To leave without a word is no turn. The `record`
    gets what the user reports at the end, and before each turn of an agent that may not return;
    `note` is called before each call of a side.
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
    """Return the result of a call, whose arguments are JSON text; an error is a result too."""
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        return {ERROR: f"the arguments are not JSON: {error}"}
    if not isinstance(parsed, dict):
        return {ERROR: f"the arguments must be an object, not {shorten(repr(parsed))}"}
    return tools.call(name, parsed)


class ToolSession:
    """An agent in words that may call tools, as the partner of a user: one dialogue long.

    `respond` is asked until it has an answer for the user, and tools are called for it meanwhile;
    it is None where somebody else asks the agent (`hear`, `take`). `record` gets each message at
    once, those of a turn that fails among them. While it is asked, an agent may also call tools by
    itself, by `execute`, from any thread.
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
        """All messages so far, as the agent sees them."""

    def answer(self, said: Utterance, /) -> AgentTurn:
        """Return the agent's turn after a message of the user.

        Raises whatever the agent raises, and `AnswerError` as `take` does.
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
            if self._failure is not None:  # its own calls were too much
                raise self._failure
            turn = self.take(answer)
        return turn

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
                        f"the answer repeats a call of {shorten(own.name)} and its result, which "
                        "the server has already recorded: leave out calls to the server"
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
        """Let the agent see this in place of all that it did in its last turn."""
        self.messages[self._begin :] = [{"role": ASSISTANT_ROLE, "content": text}]

    def count(self, result: Any) -> None:
        """Count the result of a call. Raises `AnswerError` after too many errors."""
        self._errors += is_error(result)
        if is_error(result) and self._errors > self._tool_errors:
            raise AnswerError(
                f"more than {self._tool_errors} tool calls were invalid; the last one: "
                f"{shorten(str(result[ERROR]))}"
            )

    def execute(self, name: str, arguments: str) -> Any:
        """Return the result of a call that the agent makes while it is asked for its turn.

        `arguments` are JSON text. Call and result are recorded, as messages of the turn. Where the
        dialogue cannot go on, or nothing is asked of the agent, the result is an error.
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
    """A user, and functions on a database, for an agent that is asked by somebody else.

    `begin()` returns the first message of the user. `answer(…)` takes what the agent says or calls,
    and returns the messages that it gets then: the results of its calls, or the next message of the
    user; nothing when the dialogue `is_over`. A harness that executes calls itself asks `call(…)`
    for each result, and gives the results to `answer` with the message that has the calls.
    Messages have the form of OpenAI's chat completions; a system message is up to the harness.

    `make_user` and `tools` are those of this dialogue; the limits are as in `mwzeval live`. What
    happens is kept in the `record`, for users that keep something there, too.
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
        """Which dialogue it is."""
        self.ending: Ending | None = None
        """How the dialogue has ended, None as long as it goes on."""
        self._tools = tools
        self._record = Record() if record is None else record
        self._user = user_turns_of(make_user, user_turns=user_turns, record=self._record)
        self._has_begun = False
        self._agent = ToolSession(
            None, tools, self._record.message, tool_rounds=tool_rounds, tool_errors=tool_errors
        )

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The functions that the agent may call, as `mwzeval tools-schema` prints them."""
        return self._tools.schema

    @property
    def is_over(self) -> bool:
        """Whether the dialogue has ended."""
        return self.ending is not None

    @property
    def messages(self) -> list[Message]:
        """All messages so far, as they are kept."""
        return deepcopy(self._record.messages)

    def begin(self) -> list[Message]:
        """Return the first message of the user, in a list that is empty if the user fails.

        Raises `UsageError` when the dialogue has begun.
        """
        if self._has_begun:
            raise UsageError("a dialogue can begin only once: create a new episode")
        self._has_begun = True
        self._go_on(next, self._user)
        return self._heard(None)

    def answer(self, answer: Any) -> list[Message]:
        """Return what the agent gets for an answer: results of its calls, or the user's message.

        `answer` is text, a message, or a list of messages, in which results of calls follow the
        message that has them; calls without a result are executed, and their results have the ids
        that the agent has given to its calls. What is no answer, or breaks a limit, ends the
        dialogue. The list is empty when the dialogue is over, or when all results were in the
        answer and the agent is to go on.
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
        """Return the result of a function, a JSON value; an error is `{"error": …}`.

        For harnesses that execute calls themselves. Too many errors end the dialogue.
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
        """End a dialogue that goes on: a limit of the harness is met, or it cannot go on."""
        if not self.is_over:
            self._check_begun()
            self._go_on(self._user.throw, _StoppedError(end, problem))

    def trajectory(self) -> Trajectory:
        """Return the dialogue, as a line of the file of a run.

        Raises `UsageError` when it goes on.
        """
        if self.ending is None:
            raise UsageError("the dialogue is not over: answer until it is over, or stop it")
        return self._record.trajectory(self.planned, self.ending)

    def _check_begun(self) -> None:
        if not self._has_begun:
            raise UsageError("the user takes the first turn: call begin() first")

    def _go_on(self, send: Callable[[Any], Any], value: Any) -> Any:
        """Return what the user says then; None when the dialogue is over."""
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
