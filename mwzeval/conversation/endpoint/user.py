"""A model behind an endpoint as the user of dialogues in words.

Its system message says what it wants. Then it sees what is said and nothing else, with the roles
changed: its own messages are those of an assistant, the agent's those of a user. What the agent
calls, and what tools return, it does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from mwzeval.conversation.agents import NotAUserError
from mwzeval.conversation.endpoint.agent import CUT_OFF
from mwzeval.conversation.endpoint.client import Client, Completion
from mwzeval.conversation.endpoint.prompts import Prompt
from mwzeval.conversation.endpoint.written_turns import DONE, written_turn
from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    USER_ROLE,
    AgentTurn,
    Message,
    answer_messages,
    user_message,
)
from mwzeval.conversation.protocols import ConversationError
from mwzeval.conversation.record import Planned, Record

GOAL = "goal"
"""What is filled into the prompt: a goal in words."""
OPENING = "The assistant is listening. Write your first message."
"""Takes the place of a message of the agent before there is one: templates of many models insist
that a user speaks first, and then in turn."""
SIDE = "user"

FaultsOf = Callable[[Planned, Sequence[Message], str | None], Sequence[Any]]
"""Returns the faults, as JSON, of a user that has said these things and ended with that token."""


class EndpointUser:
    """A model that plays the users of many dialogues, whatever thread they are held in.

    `prompt` is the system message, into which `words` of a goal are filled. `faults` looks for
    what a user has done wrong. `dialogue_seconds` is how long a dialogue may take (None: any time),
    `sends_seed` whether requests have a seed that follows from that of the run.
    """

    def __init__(
        self,
        client: Client,
        prompt: Prompt,
        words: Callable[[Planned], str],
        faults: FaultsOf,
        *,
        dialogue_seconds: float | None = None,
        sends_seed: bool = False,
    ) -> None:
        self._client = client
        self._prompt = prompt
        self._words = words
        self._faults = faults
        self._dialogue_seconds = dialogue_seconds
        self._sends_seed = sends_seed

    def user(self, planned: Planned, record: Record) -> ModelUser:
        """Return the user of a dialogue; what nobody hears of it goes to the `record`."""
        clock = self._client.clock
        deadline = None
        if self._dialogue_seconds is not None:
            deadline = clock.now() + self._dialogue_seconds
        rng = Random(f"{planned.key}/{SIDE}")
        more = {"seed": planned.number_of(SIDE)} if self._sends_seed else None

        def complete(messages: Sequence[Message]) -> Completion:
            return self._client.complete(
                messages, rng=rng, trial=planned.trial, deadline=deadline, more=more
            )

        def faults(messages: Sequence[Message], token: str | None) -> Sequence[Any]:
            return self._faults(planned, messages, token)

        system = self._prompt.filled(**{GOAL: self._words(planned)})
        return ModelUser(complete, system, faults, record.message)


class ModelUser:
    """A user of the conversation loop, one dialogue long, whose turns `complete` writes.

    It raises what `complete` raises, and `NotAUserError` for a turn in which nothing is said.
    Messages that no agent hears go to `unheard`: they were paid for, too.
    """

    def __init__(
        self,
        complete: Callable[[Sequence[Message]], Completion],
        system: str,
        faults: Callable[[Sequence[Message], str | None], Sequence[Any]],
        unheard: Callable[[Message], object],
    ) -> None:
        self._complete = complete
        self._faults = faults
        self._unheard = unheard
        self._request = [{"role": "system", "content": system}, user_message(OPENING)]
        self._messages: list[Message] = []
        self._token: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the user has said its last."""
        return self._token is not None

    def begin(self) -> Message:
        """Return what the user says first. Raises `NotAUserError` when that is nothing."""
        message = self._turn()
        if message is None:
            raise NotAUserError(f"the user says nothing but {self._token}")
        return message

    def answer(self, heard: AgentTurn, /) -> Message | None:
        """Return what the user says to a turn of the agent; None where it leaves without a word."""
        self._messages += heard.messages
        self._request.append(user_message(heard.text))
        return self._turn()

    def report(self) -> dict[str, Any]:
        """Return the `token` with which the user has ended, None as long as it has not.

        It is `complete` when it says so, which decides nothing. `faults` are told by code.
        """
        return {
            "complete": self._token == DONE,
            "token": self._token,
            "faults": list(self._faults(self._messages, self._token)),
        }

    def _turn(self) -> Message | None:
        completion = self._complete(self._request)
        message: Message = {"role": USER_ROLE, "content": "", "usage": dict(completion.usage)}
        if completion.finish_reason == CUT_OFF:
            message["finish_reason"] = CUT_OFF
        try:
            said = written_turn(_content(completion))
            if not (said.text or said.token):
                raise NotAUserError(_why_nothing(completion))
        except ConversationError:
            self._unheard(message)
            raise
        self._token = said.token
        if not said.text:
            self._unheard(message)
            return None
        message["content"] = said.text
        self._messages.append(message)
        self._request.append({"role": ASSISTANT_ROLE, "content": said.text})
        return message


def _content(completion: Completion) -> str:
    """Return the content of a message as text. Raises `ConversationError`."""
    (message,) = answer_messages(completion.message, 0)
    if "tool_calls" in message:
        called = message["tool_calls"][0]["function"]["name"]
        raise NotAUserError(f"the user calls a function ({called}), and has none")
    content: str = message["content"]
    return content


def _why_nothing(completion: Completion) -> str:
    if completion.finish_reason == CUT_OFF:
        return "the user's message was cut off for its length before anything was said"
    if completion.message.get("content"):
        return "the user says nothing of its own: it only thinks, or speaks as the agent"
    return "the user says nothing: its message is empty"
