"""Live runs in words: a user, an agent, and the functions that the agent may call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.conversation.endpoint.options import is_endpoint
from mwzeval.conversation.episode import Episode
from mwzeval.conversation.loop import Ending
from mwzeval.conversation.messages import AgentTurn, Utterance
from mwzeval.conversation.protocols import (
    AGENT_ERROR,
    USER_ERROR,
    USER_STOP,
    End,
    Partner,
    Tools,
)
from mwzeval.conversation.record import Planned, Record, hold
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.corpus import read_tables
from mwzeval.multiwoz.live.judge import Judge, Judgement
from mwzeval.multiwoz.live.settings.agents import AgentSide, check_agent
from mwzeval.multiwoz.live.settings.options import HUMAN, WORDS, LiveOptions
from mwzeval.multiwoz.live.settings.users import RunUsers, check_user
from mwzeval.multiwoz.live.tools import DatabaseTools


class WordSetting:
    """A user and an agent talk in words; the agent may call functions on the database.

    With `is_driven` there is no agent: dialogues are `episode`s that somebody else drives. Raises
    `UsageError` for unknown names, `DataError` for missing files.
    """

    benchmark = NAME

    def __init__(self, options: LiveOptions, *, is_driven: bool = False) -> None:
        if not is_driven:
            check_agent(options.agent)
        check_user(options.user)
        self._options = options
        tables = read_tables(options.root)
        self._agents = None if is_driven else AgentSide(options, tables)
        self._tools = DatabaseTools(tables, options.rules)
        self._judge = Judge(tables, options.rules)
        goals = options.select_goals(self._tools)
        self._users = RunUsers(options, tables, goals)
        # People take any time, and have to be where the terminal is.
        has_person = HUMAN in (options.agent, options.user)
        trusts_agent = self._agents is None or self._agents.trusts
        self.trusts = has_person or (trusts_agent and self._users.trusts)
        self.unhurried = _unhurried(options)
        has_model = is_endpoint(options.agent) or is_endpoint(options.user)
        self.waits = has_model and not has_person
        self.items: Sequence[tuple[str, Any]] = tuple(goals.goals.items())
        limits = {"user_turns": options.user_turns, "tool_rounds": options.tool_rounds}
        self.about: Mapping[str, Any] = options.about(WORDS, goals, **limits)

    def __reduce__(self) -> tuple[type[WordSetting], tuple[LiveOptions]]:
        """Let each process that is no copy load the database for itself."""
        return WordSetting, (self._options,)

    def begin(self) -> None:
        """Import agent and user, or be ready to ask a model. Raises `MwzevalError`."""
        if self._agents is not None:
            self._agents.begin()
        self._users.begin()

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue in words."""
        return hold(
            lambda: self._users.user(planned, record),
            lambda: self._agent(planned, record),
            record,
            user_turns=self._options.user_turns,
        )

    def episode(self, planned: Planned) -> Episode:
        """Return a dialogue with an agent that somebody else asks."""
        record = Record()
        return Episode(
            planned,
            lambda: self._users.user(planned, record),
            self._tools_of(planned),
            user_turns=self._options.user_turns,
            tool_rounds=self._options.tool_rounds,
            record=record,
        )

    def stop(self) -> None:
        """End all requests."""
        if self._agents is not None:
            self._agents.stop()
        self._users.stop()

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether every domain of the goal was a success."""
        return self.judgement(trajectory).success

    def judgement(self, trajectory: Trajectory) -> Judgement:
        """Return what became of a dialogue, domain by domain."""
        bookings = trajectory.more.get("bookings")
        return self._judge.judge(trajectory.goal, trajectory.messages, bookings)

    def _agent(self, planned: Planned, record: Record) -> Partner[Utterance, AgentTurn]:
        assert self._agents is not None
        return self._agents.partner(planned, self._tools_of(planned), record)

    def _tools_of(self, planned: Planned) -> Tools:
        key = f"{planned.item}#{planned.trial}"
        return self._tools.of_dialogue(planned.seed, key, planned.goal)


def _unhurried(options: LiveOptions) -> frozenset[End]:
    """Return what is noted before models are asked: their requests have limits of their own."""
    of_user = (USER_ERROR,) if is_endpoint(options.user) else ()
    of_agent = (AGENT_ERROR, USER_STOP) if is_endpoint(options.agent) else ()
    return frozenset((*of_user, *of_agent))
