"""Users in words, by the names that options give them, whoever they talk to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mwzeval.conversation.agents import OwnUser
from mwzeval.conversation.endpoint.client import Client
from mwzeval.conversation.endpoint.options import is_endpoint
from mwzeval.conversation.endpoint.user import EndpointUser
from mwzeval.conversation.messages import AgentTurn, Message, Utterance
from mwzeval.conversation.own_code import is_own_code
from mwzeval.conversation.protocols import User
from mwzeval.conversation.record import Planned, Record
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.goals.selection import RunGoals
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.settings import people
from mwzeval.multiwoz.live.settings.built_in import BuiltInUser, Tables
from mwzeval.multiwoz.live.settings.options import AGENDA, HUMAN, WORDS, LiveOptions, unknown_user
from mwzeval.multiwoz.live.user_faults import faults_of


def check_user(name: str) -> None:
    """Raise `UsageError` for a name of no user in words, before any file is read."""
    if not (is_endpoint(name) or is_own_code(name) or name in (AGENDA, HUMAN)):
        raise unknown_user(name, WORDS)


class RunUsers:
    """The users of all dialogues: those that come along, a model behind an endpoint, own code.

    Their name is one that `check_user` lets pass, `goals` are those of the run. `trusts` tells
    whether it is nobody's own code. Raises `DataError` for missing files.
    """

    def __init__(self, options: LiveOptions, tables: Tables, goals: RunGoals) -> None:
        self._options = options
        self._tables = tables
        self._goals = goals
        self._client: Client | None = None
        self._reader: AgentReader | None = None
        self._users: OwnUser | BuiltInUser | EndpointUser | people.Users | None = None
        self.trusts = is_endpoint(options.user) or not is_own_code(options.user)
        if options.user == HUMAN:
            self._users = people.Users(goals.sentences)
        elif options.user == AGENDA:
            values = None
            if options.strict_user:
                values = load_resources(options.corpus_name, options.root).system_values
            self._users = BuiltInUser(tables, options.rules, values)

    def begin(self) -> None:
        """Import the user, or be ready to ask a model. Raises `MwzevalError`."""
        options = self._options
        if is_endpoint(options.user):
            self._reader = AgentReader(self._tables)
            self._client = options.user_model.client(options.user)
            self._users = EndpointUser(
                self._client,
                options.user_prompt,
                self._words,
                self._faults,
                dialogue_seconds=options.user_model.dialogue_seconds,
                sends_seed=options.user_model.sends_seed,
            )
        elif not self.trusts:
            self._users = OwnUser.named(options.user)

    def user(self, planned: Planned, record: Record) -> User[Utterance, AgentTurn]:
        """Return the user of a dialogue; what nobody hears of a model goes to the `record`."""
        assert self._users is not None, "begin() makes it"
        if isinstance(self._users, EndpointUser):
            return self._users.user(planned, record)
        return self._users.user(planned)

    def stop(self) -> None:
        """End all requests."""
        if self._client is not None:
            self._client.close()

    def _words(self, planned: Planned) -> str:
        return "\n".join(f"- {sentence}" for sentence in self._goals.sentences(planned.item))

    def _faults(
        self, planned: Planned, messages: Sequence[Message], token: str | None
    ) -> list[Any]:
        """Return the faults of a model in the role of the user, told from what it has said."""
        assert self._reader is not None
        dialogue = {"goal": planned.goal, "messages": messages, "user": {"token": token}}
        return [fault.to_json() for fault in faults_of(dialogue, self._reader)]
