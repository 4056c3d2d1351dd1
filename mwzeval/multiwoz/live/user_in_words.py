"""The text-level rule user, which parses the agent's messages, chooses acts and verbalizes them."""

from __future__ import annotations

import random
from typing import Any, Protocol

from mwzeval.conversation.messages import USER_ROLE, AgentTurn, ChatMessage, read_messages
from mwzeval.conversation.models import DONE, GIVES_UP
from mwzeval.conversation.protocols import User
from mwzeval.multiwoz.acts import Act, goal_slot
from mwzeval.multiwoz.goals.goal import begun, wish_for
from mwzeval.multiwoz.live.reading import AgentReader, tool_results
from mwzeval.multiwoz.live.user_faults import faults_of
from mwzeval.multiwoz.live.wordings import is_same, user_text


class ActUser(User, Protocol):
    """The interface of an act-level user that reports its `goal` with the answers."""

    def report(self) -> dict[str, Any]:
        """Return the user's final state, such as its goal and its mistakes."""


class UserInWords:
    """A text-level user for a single MultiWOZ dialogue.

    `reader` can be shared by users; the generator `rng` belongs to this user and chooses between
    wordings.
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
        """Return the user's first utterance."""
        return self._say(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return the user's reply to a turn of the agent."""
        messages = read_messages(heard.messages)
        understood = self._reader.acts_of(heard.text, self._context, tool_results(messages))
        self._understood.append(understood)
        self._messages += messages
        return self._say(self._user.answer(understood))

    def _say(self, acts: list[Act]) -> str:
        text = user_text(acts, self._rng)
        self._context.add_user_acts(acts)
        self._said.append(acts)
        self._messages.append(ChatMessage(USER_ROLE, text))
        return text

    @property
    def meant(self) -> list[Act]:
        """The acts of the user's last message, with values instead of references ("the same")."""
        acts = self._said[-1]
        if not any(is_same(act.value) for act in acts):
            return acts
        goal = self._user.report()["goal"]
        return [
            act._replace(value=wish)
            if is_same(act.value)
            and (slot := goal_slot(act.domain, act.slot) or act.slot.lower())
            and (wish := wish_for(goal[act.domain.lower()], slot))
            else act
            for act in acts
        ]

    def report(self) -> dict[str, Any]:
        """Return the user's final state as JSON.

        The keys are those of the act-level report with `complete` and `goal`, `token` (whether the
        user succeeded or gave up), the acts that the user `said` and `understood` by turn, and the
        user's `faults`.
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
