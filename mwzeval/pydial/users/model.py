"""A model behind an endpoint as the user: it is told its goal in words, and says acts as text.

The first act in what it writes is what it says, if users of the domain say that; anything else is
`null()`, as if nothing was said. The channel of the task, with its errors, follows as always.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mwzeval.conversation.completions import Client
from mwzeval.conversation.messages import ASSISTANT_ROLE, USER_ROLE, Message, answer_messages
from mwzeval.conversation.messages import user_message as heard_message
from mwzeval.conversation.models import Complete, ModelOptions, Prompt, written_turn
from mwzeval.conversation.protocols import ConversationError
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError
from mwzeval.files.downloads import embedded
from mwzeval.pydial.dialogue.acts import DONTCARE, NULL, Act, parse_act
from mwzeval.pydial.dialogue.domain import Ontology
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.tasks import Task
from mwzeval.pydial.users.human import spoken_act
from mwzeval.pydial.users.stand_in import User, UserState, update_goal

PROMPT = embedded("pydial", "prompts", "pydial-user-1.txt")
GOAL = "goal"
"""Is filled into the prompt, and has to have a place there; others may have one."""
_AN_ACT = re.compile(r"[A-Za-z]+ ?\((?:[^()\"]|\"[^\"]*\")*\)")


class ModelUsers:
    """The users of all dialogues, played by a model. Raises `UsageError`, `MwzevalError`."""

    def __init__(self, name: str, options: ModelOptions) -> None:
        self._name = name
        self._options = options
        self._prompt: Prompt = options.prompt_or(PROMPT, GOAL)
        self._client: Client | None = None

    @property
    def about(self) -> Mapping[str, Any]:
        """What the header of a run says of them."""
        return self._options.about(self._name, self._prompt)

    def begin(self) -> None:
        """Be ready to ask the model. Raises `MwzevalError`."""
        self._client = self._options.client(self._name)

    def stop(self) -> None:
        """End all requests."""
        if self._client is not None:
            self._client.close()

    def user(self, state: UserState, task: Task, planned: Planned, record: Record) -> ModelUser:
        """Return the user of a dialogue; what it writes goes to the `record`."""
        assert self._client is not None, "begin() makes it"
        ontology = state.domain.ontology
        system = self._prompt.filled(
            kind=ontology.entity_type,
            wishes=", ".join(ontology.constraint_slots),
            facts=", ".join(ontology.requestable),
            goal=goal_in_words(state.goal),
        )
        complete = self._client.of_dialogue(planned, "user")
        return ModelUser(state, complete, system, task.max_exchanges, record.message)


class ModelUser(User):
    """A model as the user in one dialogue; what comes after `limit` acts is not asked for.

    `complete` writes messages, which go to `written`. Raises what it raises.
    """

    __slots__ = ("_complete", "_left", "_request", "_written")

    def __init__(
        self,
        state: UserState,
        complete: Complete,
        system: str,
        limit: int,
        written: Callable[[Message], object],
    ) -> None:
        super().__init__(state)
        self._complete = complete
        self._left = limit
        self._written = written
        self._request: list[Message] = [{"role": "system", "content": system}]

    def answer(self, system: Act) -> Act:
        """Return what the model says to an act."""
        update_goal(self.goal, system)
        if not self._left:
            return NULL
        self._left -= 1
        self._request.append(heard_message(str(system)))
        completion = self._complete(self._request)
        message: Message = {"role": USER_ROLE, "content": "", "usage": dict(completion.usage)}
        try:
            content = str(answer_messages(completion.message, 0)[0]["content"])
            message["content"] = content
        except ConversationError:
            content = ""
        self._written(message)
        text = written_turn(content).text
        act = act_in(text, self.state.domain.ontology)
        self._request.append({"role": ASSISTANT_ROLE, "content": text or str(act)})
        return act


def act_in(text: str, ontology: Ontology) -> Act:
    """Return the first act in a text; `null()` where none is, or one that no user says."""
    found = _AN_ACT.search(text)
    if found is None:
        return NULL
    try:
        return spoken_act(parse_act(found[0]), ontology)
    except UsageError:
        return NULL


def goal_in_words(goal: Goal) -> str:
    """Return what a user wants, a line for each wish and each fact that it asks for."""
    wishes = [
        f"- {slot}: you do not mind" if value == DONTCARE else f"- {slot}: {value}"
        for slot, value, _ in goal.constraints
    ]
    facts = ", ".join(goal.requests)
    return "\n".join([*wishes, f"- Of what is offered, find out: {facts}"])
