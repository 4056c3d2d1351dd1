"""One dialogue that somebody else drives: a harness that asks an agent in a way of its own.

The harness says what the agent answers and gets what the agent is to hear. Limits, ends and the
record are those of runs: the same agent has the same dialogue, whoever drives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from mwzeval.conversation.loop import USER_TURNS, Ending, UserSide
from mwzeval.conversation.messages import AgentTurn, Message, Utterance
from mwzeval.conversation.protocols import LIMIT, AnswerError, End, Tools, User
from mwzeval.conversation.record import Planned, Record, reported
from mwzeval.conversation.tool_session import TOOL_ERRORS, TOOL_ROUNDS, ToolTurns
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import UsageError


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
        make_user: Callable[[], User[Utterance, AgentTurn]],
        tools: Tools,
        *,
        user_turns: int = USER_TURNS,
        tool_rounds: int = TOOL_ROUNDS,
        tool_errors: int = TOOL_ERRORS,
        record: Record | None = None,
    ) -> None:
        self.planned = planned
        """Which dialogue it is."""
        self._tools = tools
        self._make_user = make_user
        self._user_turns = user_turns
        self._record = Record() if record is None else record
        self._side: UserSide[Utterance, AgentTurn] | None = None
        self._agent = ToolTurns(
            tools, self._record.message, tool_rounds=tool_rounds, tool_errors=tool_errors
        )
        self.ending: Ending | None = None
        """How the dialogue has ended, None as long as it goes on."""

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
        if self._side is not None:
            raise UsageError("a dialogue begins once: make another episode")
        self._side = UserSide(self._make_user, user_turns=self._user_turns)
        return self._heard(None)

    def answer(self, answer: Any) -> list[Message]:
        """Return what the agent gets for an answer: results of its calls, or the user's message.

        `answer` is text, a message, or a list of messages, in which results of calls follow the
        message that has them; calls without a result are executed. What is no answer, or breaks a
        limit, ends the dialogue. The list is empty when the dialogue is over, or when all results
        were in the answer and the agent is to go on.
        """
        side = self._begun()
        if self.is_over:
            return []
        before = len(self._record.messages)
        given = len(answer) if isinstance(answer, Sequence) and not isinstance(answer, str) else 1
        try:
            turn = self._agent.take(answer)
        except AnswerError as error:
            self._end(side.agent_failed(error))
            return []
        if turn is None:
            return deepcopy(self._record.messages[before + given :])
        return self._heard(turn)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a function gives, a JSON value; an error is `{"error": …}`.

        For harnesses that execute calls themselves. Too many errors end the dialogue.
        """
        side = self._begun()
        result = self._tools.call(name, arguments)
        try:
            self._agent.count(result)
        except AnswerError as error:
            if not self.is_over:
                self._end(side.agent_failed(error))
        return result

    def stop(self, problem: str, end: End = LIMIT) -> None:
        """End a dialogue that goes on: a limit of the harness is met, or it cannot go on."""
        if not self.is_over:
            self._end(Ending(end, self._begun().turns, problem))

    def trajectory(self) -> Trajectory:
        """Return the dialogue, as a line of the file of a run.

        Raises `UsageError` when it goes on.
        """
        if self.ending is None:
            raise UsageError("the dialogue goes on: answer until it is over, or stop it")
        return self._record.trajectory(self.planned, self.ending)

    def _begun(self) -> UserSide[Utterance, AgentTurn]:
        if self._side is None:
            raise UsageError("the user begins: call begin() first")
        return self._side

    def _heard(self, turn: AgentTurn | None) -> list[Message]:
        """Return what the user says to a turn of the agent; nothing when the dialogue is over."""
        side = self._begun()
        said = side.next(turn)
        if said is None:
            assert side.ending is not None
            self._end(side.ending)
            return []
        self._agent.hear(said)
        return deepcopy(self._agent.messages[-1:])

    def _end(self, ending: Ending) -> None:
        user = self._begun().user
        self.ending = ending if user is None else reported(user, self._record, ending)
