"""Users by the names that options give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mwzeval.conversation.agents import failing_as_usage, is_own_code
from mwzeval.conversation.models import ModelOptions, is_endpoint
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.pydial.tasks import Task
from mwzeval.pydial.users.model import ModelUsers
from mwzeval.pydial.users.own_code import OwnUsers
from mwzeval.pydial.users.stand_in import User, UserState

AGENDA = "agenda"
KNOWN = f"{AGENDA}, openai:MODEL, or package.module:Name, file.py:Name"
Make = Callable[[UserState, Task, Planned, Record], User]


class RunUsers:
    """The users of all dialogues of a run, by their name.

    `options` are those of a model. `trusts` tells whether they are nobody's own code, `waits`
    whether a server is asked. Raises `UsageError` for an unknown name, `MwzevalError` for a prompt.
    """

    def __init__(self, name: str, options: ModelOptions) -> None:
        self._name = name
        self._make: Make | None = None
        self._model = ModelUsers(name, options) if is_endpoint(name) else None
        self.waits = self._model is not None
        self.trusts = self.waits or not is_own_code(name)
        if self.trusts and not self.waits and name != AGENDA:
            hint = did_you_mean(name, (AGENDA,))
            raise UsageError(f'unknown user "{shorten(name)}"{hint} ({KNOWN})')

    def about(self, task: Task) -> Mapping[str, Any]:
        """Return what the header of a run says of them."""
        if self._model is not None:
            return self._model.about
        return {"spec": task.user_model if self._name == AGENDA else self._name}

    def begin(self) -> None:
        """Import them, or be ready to ask the model. Raises `MwzevalError` when that fails."""
        if self._model is not None:
            self._model.begin()
            self._make = self._model.user
        elif not self.trusts:
            self._make = OwnUsers.named(self._name).user

    def check(self, state: UserState, task: Task, planned: Planned) -> None:
        """Make the own user of a dialogue that is not held. Raises `UsageError` if that fails.

        What is missing for one is missing for all: a file of what was learned, say.
        """
        make = None if self.trusts else self.maker(task, planned, Record())
        if make is not None:
            with failing_as_usage(self._name, "made"):
                make(state)

    def stop(self) -> None:
        """End all requests."""
        if self._model is not None:
            self._model.stop()

    def maker(
        self, task: Task, planned: Planned, record: Record
    ) -> Callable[[UserState], User] | None:
        """Return what makes the user of a dialogue, None for the simulated one."""
        make = self._make
        if make is None:
            return None
        return lambda state: make(state, task, planned, record)
