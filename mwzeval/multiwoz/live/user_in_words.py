"""The rule user in words: it reads what the agent says, thinks in acts, and words what it says."""

from __future__ import annotations

import random
from typing import Any, Protocol

from mwzeval.conversation.messages import USER_ROLE, AgentTurn, ChatMessage, read_messages
from mwzeval.conversation.models import DONE, GIVES_UP
from mwzeval.conversation.protocols import User
from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.goals.goal import begun
from mwzeval.multiwoz.live.reading import AgentReader, call_outcomes
from mwzeval.multiwoz.live.user_faults import faults_of
from mwzeval.multiwoz.live.wordings import user_text


class ActUser(User, Protocol):
    """A user that talks in acts; it reports its `goal` with the answers."""

    def report(self) -> dict[str, Any]:
        """Return what the user believes."""


class UserInWords:
    """A user of the conversation loop, one dialogue long, on MultiWOZ and in words.

    `reader` serves many users; `rng` is this user's own and decides between wordings.
    """

    def __init__(
        self,
        user: ActUser,
        reader: AgentReader,
        rng: random.Random,
    ) -> None:
        self._user = user
        self._reader = reader
        self._rng = rng
        goal = user.report()["goal"]
        self._goal = begun(goal)
        self._context = reader.context(goal)
        self._understood: list[list[Act]] = []
        self._said: list[list[Act]] = []
        self._messages: list[ChatMessage] = []

    @property
    def is_done(self) -> bool:
        """Whether the user has said goodbye."""
        return self._user.is_done

    def begin(self) -> str:
        """Return what the user says first."""
        return self._say(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the user says to a turn of the agent."""
        messages = read_messages(heard.messages)
        understood = self._reader.acts_of(heard.text, self._context, call_outcomes(messages))
        self._understood.append(understood)
        self._messages += messages
        return self._say(self._user.answer(understood))

    def _say(self, acts: list[Act]) -> str:
        text = user_text(acts, self._rng)
        self._context.add_user_acts(acts)
        self._said.append(acts)
        self._messages.append(ChatMessage(USER_ROLE, text))
        return text

    def report(self) -> dict[str, Any]:
        """Return what the user holds in the end, as JSON.

        That is its report in acts, with `complete` and `goal`; `token`, whether it has everything
        or gave up; what it `said` and `understood` as acts, by turn; and its `faults`.
        """
        own = self._user.report()
        report = {
            **own,
            "token": DONE if own["complete"] else GIVES_UP,
            "said": [[list(act) for act in acts] for acts in self._said],
            "understood": [[list(act) for act in acts] for acts in self._understood],
        }
        faults = faults_of(self._goal, self._messages, report, self._reader)
        return {**report, "faults": faults}
