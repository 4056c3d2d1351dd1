"""Live runs in words: a user, an agent, and the functions that the agent may call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.conversation.agents import OwnAgent, OwnUser
from mwzeval.conversation.endpoint.agent import EndpointAgent
from mwzeval.conversation.endpoint.client import Client
from mwzeval.conversation.endpoint.options import is_endpoint
from mwzeval.conversation.loop import Ending
from mwzeval.conversation.messages import AgentTurn
from mwzeval.conversation.own_code import is_own_code
from mwzeval.conversation.protocols import Partner, User
from mwzeval.conversation.record import Planned, Record, hold
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.corpus.corpora import read_tables
from mwzeval.multiwoz.live.judgement import Judge
from mwzeval.multiwoz.live.settings import people
from mwzeval.multiwoz.live.settings.built_in import BuiltInAgent, BuiltInUser
from mwzeval.multiwoz.live.settings.options import (
    AGENDA,
    AGENT_PROMPT,
    AGENTS,
    HUMAN,
    RULE_CONVLAB,
    WORDS,
    LiveOptions,
    unknown_agent,
    unknown_user,
)
from mwzeval.multiwoz.live.tools import DatabaseTools


class WordSetting:
    """A user and an agent talk in words; the agent may call functions on the database.

    Raises `UsageError` for unknown names, `DataError` for missing files.
    """

    benchmark = NAME

    def __init__(self, options: LiveOptions) -> None:
        has_model = is_endpoint(options.agent)
        has_own_agent = is_own_code(options.agent) and not has_model
        has_own_user = is_own_code(options.user)
        if not (has_own_agent or has_model or WORDS in AGENTS.get(options.agent, ())):
            raise unknown_agent(options.agent, WORDS)
        if not (has_own_user or options.user in (AGENDA, HUMAN)):
            raise unknown_user(options.user, WORDS)
        has_person = HUMAN in (options.agent, options.user)
        # People take any time, and have to be where the terminal is.
        self.trusts = has_person or not (has_own_agent or has_own_user)
        self._options = options
        tables = read_tables(options.root)
        self._tools = DatabaseTools(tables, options.rules)
        self._judge = Judge(tables, options.rules)
        goals = options.select_goals(self._tools)
        self.items: Sequence[tuple[str, Any]] = tuple(goals.goals.items())
        limits = {"user_turns": options.user_turns, "tool_rounds": options.tool_rounds}
        self.about: Mapping[str, Any] = options.about(WORDS, goals, **limits)
        self._client: Client | None = None
        self._agents: OwnAgent | EndpointAgent | BuiltInAgent | people.Agents | None = None
        self._users: OwnUser | BuiltInUser | people.Users | None = None
        resources = None
        if options.strict_user or options.agent == RULE_CONVLAB:
            resources = load_resources(options.corpus_name, options.root)
        if options.agent == HUMAN:
            self._agents = people.Agents()
        elif not (has_own_agent or has_model):
            self._agents = BuiltInAgent(options.agent, tables, resources, options.tool_rounds)
        if options.user == HUMAN:
            self._users = people.Users(goals.sentences)
        elif not has_own_user:
            values = resources.said_values if resources and options.strict_user else None
            self._users = BuiltInUser(tables, options.rules, values)

    def __reduce__(self) -> tuple[type[WordSetting], tuple[LiveOptions]]:
        """Let each process that is no copy load the database for itself."""
        return WordSetting, (self._options,)

    def begin(self) -> None:
        """Import agent and user, or be ready to ask a model. Raises `MwzevalError`."""
        options = self._options
        if is_endpoint(options.agent):
            self._client = options.model.client(options.agent)
            self._agents = EndpointAgent(
                self._client,
                options.model.prompt_or(AGENT_PROMPT).text,
                tool_rounds=options.tool_rounds,
                dialogue_seconds=options.model.dialogue_seconds,
                sends_seed=options.model.sends_seed,
            )
        elif is_own_code(options.agent):
            self._agents = OwnAgent.named(options.agent, options.tool_rounds)
        if is_own_code(options.user):
            self._users = OwnUser.named(options.user)

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue in words."""
        return hold(
            lambda: self._user(planned),
            lambda: self._agent(planned, record),
            record,
            user_turns=self._options.user_turns,
        )

    def stop(self) -> None:
        """End all requests."""
        if self._client is not None:
            self._client.close()

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether every domain of the goal was a success."""
        bookings = trajectory.more.get("bookings")
        return self._judge.judge(trajectory.goal, trajectory.messages, bookings).success

    def _user(self, planned: Planned) -> User[str, AgentTurn]:
        assert self._users is not None
        return self._users.user(planned)

    def _agent(self, planned: Planned, record: Record) -> Partner[str, AgentTurn]:
        key = f"{planned.item}#{planned.trial}"
        tools = self._tools.of_dialogue(planned.seed, key, planned.goal)
        assert self._agents is not None
        return self._agents.partner(planned, tools, record)
