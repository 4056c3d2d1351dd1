"""The settings of live MultiWOZ dialogues, and `Episodes` for custom harnesses.

A setting contains the functions that run the dialogues at text level or act level. With `Episodes`,
a harness calls the agent itself and gets users, functions and judgments from this module. The
modules in `mwzeval.multiwoz.frameworks` are examples of harnesses.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from weakref import proxy

from mwzeval.conversation.agents import (
    HumanUser,
    MakeAgent,
    MakeUser,
    Terminal,
    check_call,
    given,
    human_agent,
    imported,
    is_own_code,
    own_agent,
    own_user,
)
from mwzeval.conversation.loop import Episode, Respond, ToolSession, converse
from mwzeval.conversation.mcp import AgentServer, check_installed
from mwzeval.conversation.messages import Message, read_messages
from mwzeval.conversation.models import GOAL, ModelUser, endpoint_agent, is_endpoint, read_prompt
from mwzeval.conversation.pool import RunSetting
from mwzeval.conversation.protocols import AGENT_ERROR, USER_ERROR, USER_STOP, End, Ending, Tools
from mwzeval.conversation.trajectory import Planned, Record, Trajectory, header, json_line
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.writing import write_atomically
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.acts import Draws
from mwzeval.multiwoz.convlab.evaluator import CorrectedEvaluator, PublicEvaluator, judged
from mwzeval.multiwoz.convlab.resources import Spelling, load_resources
from mwzeval.multiwoz.convlab.system import ActSystem, RefusedBookings, RuleSystem, hold_in_acts
from mwzeval.multiwoz.convlab.user import AgendaUser
from mwzeval.multiwoz.corpus import read_tables
from mwzeval.multiwoz.database import Row
from mwzeval.multiwoz.goals import Goal, Records, RunGoals
from mwzeval.multiwoz.live.convlab_agent import ConvlabPolicy
from mwzeval.multiwoz.live.goal_changes import user_of
from mwzeval.multiwoz.live.judge import Judge, Judgement, end_reasons
from mwzeval.multiwoz.live.modalities import reported_faults
from mwzeval.multiwoz.live.noise import Noise, noisy_users
from mwzeval.multiwoz.live.options import (
    ACTS,
    AGENDA,
    AGENT_PROMPT,
    GOALS,
    HUMAN,
    ORACLE,
    RULE,
    RULE_CONVLAB,
    LiveOptions,
)
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.rule_agent import CallingAgent, OraclePolicy, RuleAgent
from mwzeval.multiwoz.live.stress import NOISE, Conditions, Stress
from mwzeval.multiwoz.live.text_user import UserInWords, faults_of
from mwzeval.multiwoz.live.tools import DatabaseTools, schema_of, tools_of
from mwzeval.multiwoz.live.understanding import Vocabulary
from mwzeval.multiwoz.live.user import LiveUser
from mwzeval.multiwoz.live.wordings import sentences_for
from mwzeval.statistics.trials import trial_name
from mwzeval.version import __version__

Tables = Mapping[str, Sequence[Row]]
A_SYSTEM = "a system that uses acts must be a class whose objects have answer(acts)"


def setting_of(arguments: Namespace) -> RunSetting:
    """Return the setting of a live run from the command-line arguments.

    Raises `UsageError` if an option is invalid, and `DataError` if data are missing.
    """
    options = LiveOptions.of(arguments)
    return ActSetting(options) if options.level == ACTS else WordSetting(options)


def load_agent(options: LiveOptions, tables: Tables) -> Callable[[ExitStack], MakeAgent]:
    """Return a function that starts the agent in a process and registers all resources for cleanup.

    The agent's name must have been accepted by `LiveOptions.check_names`. Raises `DataError` if
    files are missing, and `DependencyError` if tools cannot be served. The returned function raises
    `MwzevalError` if the agent cannot be started.
    """
    name, rounds = options.agent, options.most_tool_rounds
    if name == HUMAN:
        return lambda _: human_agent
    if options.serve_tools is not None:
        check_installed()

    def begin_other(stack: ExitStack) -> MakeAgent:
        if is_endpoint(name):
            client = options.model.client(name)
            stack.callback(client.close)
            return endpoint_agent(client, options.agent_prompt.text, rounds)
        server = None
        if options.serve_tools is not None:
            server = AgentServer(NAME, schema_of(options.conditions), options.serve_tools)
            stack.callback(server.close)
        return own_agent(name, imported(name), rounds, server)

    if is_endpoint(name) or is_own_code(name):
        return begin_other

    vocabulary = Vocabulary(tables) if name in (RULE, RULE_CONVLAB) else None
    resources = None
    if name == RULE_CONVLAB:
        resources = load_resources(options.corpus_name, options.root)

    def partner(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
        key = trial_name(planned.item, planned.trial)
        agent: Respond
        if name == ORACLE:
            agent = CallingAgent(OraclePolicy(lambda: record.user.meant).answer, planned.seed, key)
        elif vocabulary is None:
            agent = say_nothing
        elif resources is None:
            agent = RuleAgent(vocabulary, planned.seed, key)
        else:
            drawn = planned.seed, planned.item, planned.trial
            policy = ConvlabPolicy(vocabulary, resources, *drawn)
            agent = CallingAgent(policy.answer, planned.seed, key)
        return ToolSession(agent, tools, record.message, tool_rounds=rounds)

    return lambda _: partner


def say_nothing(messages: Sequence[Message]) -> Message:
    """Return a meaningless message, as the agent `silent`, which has the lowest possible scores."""
    return {"role": "assistant", "content": "Hm.", "acts": []}


def load_user(
    options: LiveOptions, tables: Tables, goals: RunGoals, database: Records
) -> Callable[[ExitStack], MakeUser]:
    """Return a function that starts the user in a process, like `load_agent` for the agent."""
    name = options.user
    if name == HUMAN:
        terminal = Terminal(sys.stdin, sys.stderr)
        return lambda _: lambda planned, _: HumanUser(sentences_for(goals, planned.item), terminal)
    if name == AGENDA:
        values = None
        if options.strict_user:
            values = load_resources(options.corpus_name, options.root).system_values
        reader, conditions = AgentReader(tables, options.rules), options.conditions

        def begin_agenda(planned: Planned, record: Record) -> UserInWords:
            own = agenda_user(planned, values, database, conditions, record)
            user = UserInWords(own, reader, Random(planned.key))
            # A reference cycle would keep each dialogue in memory until garbage collection.
            record.user = proxy(user)
            return user

        return lambda _: begin_agenda
    if not is_endpoint(name):
        return lambda _: own_user(name, imported(name))

    def begin_model(stack: ExitStack) -> MakeUser:
        reader = AgentReader(tables)
        client, prompt = options.user_model.client(name), options.user_prompt
        stack.callback(client.close)

        def user(planned: Planned, record: Record) -> ModelUser:
            def faults(messages: Sequence[Message], token: str | None) -> list[Any]:
                return faults_of(planned.goal, read_messages(messages), {"token": token}, reader)

            sentences = sentences_for(goals, planned.item)
            wishes = "\n".join(f"- {sentence}" for sentence in sentences)
            system = prompt.filled(**{GOAL: wishes})
            complete = client.of_dialogue(planned, "user")
            return ModelUser(complete, system, faults, record.message)

        return user

    return begin_model


def agenda_user(
    planned: Planned,
    values: Spelling | None,
    database: Records,
    conditions: Conditions,
    record: Record,
) -> AgendaUser | LiveUser:
    """Return the agenda user of a dialogue or, with `values`, the public user with its errors."""
    draws = Draws(planned.seed, planned.item, planned.trial, "user")
    if values is not None:
        return AgendaUser(planned.goal, values, draws)
    return user_of(planned, draws, database, conditions, record)


class LiveSetting:
    """The goals and the options of a live run.

    Raises `UsageError` if a name is unknown, and `DataError` if a file is missing.
    """

    benchmark = NAME
    items: Sequence[tuple[str, Any]]
    about: Mapping[str, Any]

    def __init__(self, options: LiveOptions) -> None:
        options.check_names()
        self._options = options
        self._conditions = options.conditions

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the options. A process that is not a fork reads the database itself."""
        return type(self), (self._options,)


class TextSetting(LiveSetting):
    """A text-level agent that may call database functions. Subclasses define the user."""

    def __init__(self, options: LiveOptions, *users: str) -> None:
        super().__init__(options)
        self._tables = read_tables(options.root)
        self._begin_agent = load_agent(options, self._tables)
        self._database = DatabaseTools(self._tables, options.rules)
        self._stack = ExitStack()
        sides = options.agent, *users
        # People have no time limits, and their dialogues must run in the process of the terminal.
        has_person = HUMAN in sides
        self.waits = any(map(is_endpoint, sides)) and not has_person
        self.trusts = has_person or not any(
            is_own_code(side) and not is_endpoint(side) for side in sides
        )

    def begin(self) -> None:
        """Import the agent or prepare the client of its model. Raises `MwzevalError`."""
        self._agent = self._begin_agent(self._stack)

    def stop(self) -> None:
        """End all requests, and stop the tool server."""
        self._stack.close()

    def _tools(self, planned: Planned, record: Record) -> Tools:
        return tools_of(self._database, planned, self._conditions, record)


class WordSetting(TextSetting):
    """The setting of text-level dialogues. Without an agent, a harness runs the `episode`s."""

    def __init__(self, options: LiveOptions) -> None:
        super().__init__(options, options.user)
        self._judge = Judge(self._tables, options.rules)
        goals = options.select_goals(self._database)
        self._begin_user = load_user(options, self._tables, goals, self._database)
        has_noise = self._conditions.of(NOISE)
        self._noise = Noise(self._tables, self._database) if has_noise else None
        # The requests of models have their own limits.
        of_user = (USER_ERROR,) if is_endpoint(options.user) else ()
        of_agent = (AGENT_ERROR, USER_STOP) if is_endpoint(options.agent) else ()
        self.unhurried: frozenset[End] = frozenset((*of_user, *of_agent))
        self.items = tuple(goals.goals.items())
        self.about = options.about(goals)

    def begin(self) -> None:
        """Import agent and user or prepare the clients of their models. Raises `MwzevalError`."""
        super().begin()
        self._user = self._begin_user(self._stack)
        if self._noise is not None:
            self._user = noisy_users(self._user, self._noise, self._conditions)

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Run a text-level dialogue."""
        self._log_events(planned, record)
        return converse(
            lambda: self._user(planned, record),
            lambda: self._agent(planned, self._tools(planned, record), record),
            user_turns=self._options.user_turns,
            record=record,
        )

    def _log_events(self, planned: Planned, record: Record) -> None:
        """Begin the log of events first, so that the keys of all lines have the same order."""
        if self._conditions:
            Stress(self._conditions, planned, record)

    def episode(self, planned: Planned) -> Episode:
        """Return a dialogue for an agent that an external harness calls."""
        record = Record()
        self._log_events(planned, record)
        return Episode(
            planned,
            lambda: self._user(planned, record),
            self._tools(planned, record),
            user_turns=self._options.user_turns,
            tool_rounds=self._options.most_tool_rounds,
            record=record,
        )

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether every domain of the goal succeeded."""
        return self.judgement(trajectory).success

    def judgement(self, trajectory: Trajectory) -> Judgement:
        """Return the judgment of a dialogue, by domain."""
        bookings = trajectory.more.get("bookings")
        return self._judge.judge(trajectory.goal, trajectory.talk, bookings)


class ActSetting(LiveSetting):
    """The act-level agenda user, with ConvLab-2's rule system or a custom system."""

    def __init__(self, options: LiveOptions) -> None:
        super().__init__(options)
        self.trusts = options.agent == RULE_CONVLAB
        self._resources = load_resources(options.corpus_name, options.root)
        goals = options.select_goals(self._resources.database)
        self.items = tuple(goals.goals.items())
        self.about = options.about(goals)
        self._own: Callable[..., ActSystem] | None = None

    def begin(self) -> None:
        """Import the user's system. Raises `UsageError` if the system cannot be imported."""
        if not self.trusts:
            name = self._options.agent
            own = imported(name)
            check_call(name, own, 0, ("seed", "dialogue"), A_SYSTEM)
            if isinstance(own, type) and not hasattr(own, "answer"):
                raise UsageError(f'"{name}" has no answer(acts): {A_SYSTEM}')
            self._own = own

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Run an act-level dialogue."""
        values = self._resources.system_values if self._options.strict_user else None

        def make_system() -> ActSystem:
            system: ActSystem
            if self._own is None:
                draws = Draws(planned.seed, planned.item, planned.trial, "system")
                system = RuleSystem(self._resources, draws)
            else:
                offered = {"seed": planned.number, "dialogue": planned.name}
                system = self._own(**given(self._own, offered))
            return RefusedBookings(system, planned.goal) if self._options.fail_book else system

        return hold_in_acts(
            lambda: agenda_user(
                planned, values, self._resources.database, self._conditions, record
            ),
            make_system,
            record,
            user_turns=self._options.user_turns,
        )

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether the dialogue succeeded under the selected rules, corrected or public."""
        judge = CorrectedEvaluator if self._options.compat is None else PublicEvaluator
        return bool(judged(trajectory, self._resources.database, judge).success)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a dialogue: task success, and whether all venues and all bookings are right.

    `booking` is None if the goal has no booking. `complete` is whether the user believes that the
    goal is met, or None if the user does not report it. `domains` has the success of each domain,
    `user_faults` is the number of user mistakes, and `losses` are the failure reasons as sentences.
    """

    success: bool
    inform: bool
    booking: bool | None
    end: End
    turns: int
    complete: bool | None
    user_faults: int
    domains: dict[str, bool]
    losses: tuple[str, ...]


class Episodes:
    """Live dialogues for external frameworks, with goals and users from the benchmark. An `episode`
    is a dialogue about one goal.

    The arguments are options of `mwzeval live`, with the names of `LiveOptions`. `goals` and
    `corpus` select the goals, and `data` is the folder with the corpus files (not needed for the
    corpus `sample`). `user_turns` and `tool_rounds` are limits, and `seed` determines all random
    choices. The options `user`, `fail_book` and `stress` describe the user and the conditions.
    Loading the data takes about one second. Raises `UsageError` if a name is unknown, and
    `DataError` if files are missing.

    >>> episodes = Episodes(goals="corpus:test:3", corpus="sample")
    >>> episode = episodes.episode("smp0021")
    >>> messages = [{"role": "system", "content": episodes.prompt}, *episode.begin()]
    >>> while not episode.is_over:  # ask a model for `answer`, with `messages` and `episode.tools`
    ...     answer = {"role": "assistant", "content": "I am sorry, I cannot help you."}
    ...     messages += [answer, *episode.answer(answer)]
    >>> episodes.outcome(episode.trajectory()).success
    False
    """

    tools: Sequence[Mapping[str, Any]] = DatabaseTools.schema
    """The functions that agents may call, in the form of OpenAI's chat completions."""

    def __init__(self, goals: str = GOALS, **options: Any) -> None:
        self._options = LiveOptions(goals=goals, **options)
        self._setting = WordSetting(self._options)
        self._setting.begin()
        self.goals: Mapping[str, Goal] = dict(self._setting.items)
        """The goals by id, in the order of the corpus."""
        self.prompt: str = read_prompt(AGENT_PROMPT).text
        """The default system message for models. A harness may use another system message."""
        self.tools = schema_of(self._options.conditions)

    def episode(self, goal: str, trial: int = 1, *, trials: int = 1) -> Episode:
        """Return a live dialogue about a goal. If `trials` > 1, the name of the dialogue includes
        the number `trial`.

        Raises `UsageError` for an unknown goal.
        """
        if goal not in self.goals:
            hint = did_you_mean(goal, self.goals)
            raise UsageError(f'there is no goal "{shorten(goal)}"{hint}')
        numbered = trials > 1 or trial > 1
        planned = Planned(goal, self.goals[goal], trial, numbered, self._options.seed)
        return self._setting.episode(planned)

    def outcome(self, dialogue: Trajectory) -> Outcome:
        """Return the outcome of a dialogue, with the reasons why it failed."""
        judgement = self._setting.judgement(dialogue)
        bookings = [d.booking for d in judgement.domains.values() if d.booking is not None]
        complete = dialogue.report.get("complete")
        reasons = (*end_reasons(dialogue, dialogue.turns), *judgement.reasons)
        return Outcome(
            judgement.success,
            judgement.inform,
            all(bookings) if bookings else None,
            dialogue.end,
            dialogue.turns,
            complete if isinstance(complete, bool) else None,
            len(reported_faults(dialogue)),
            {name: domain.done for name, domain in judgement.domains.items()},
            () if judgement.success else tuple(dict.fromkeys(reason.text for reason in reasons)),
        )

    def write(
        self, path: str | Path, dialogues: Iterable[Trajectory], *, agent: str, trials: int = 1
    ) -> None:
        """Write dialogues to a trajectory file, in the order of the goals.

        All commands of mwzeval read trajectory files. `agent` is the agent's name in the header.
        Raises `MwzevalError` if the file cannot be written.
        """
        places = {item: place for place, item in enumerate(self.goals)}
        found = sorted(dialogues, key=lambda dialogue: (places[dialogue.item], dialogue.trial))
        trials = max([trials, *(dialogue.trial for dialogue in found)])
        own = {"agent": {"spec": agent}, "seed": self._options.seed, "trials": trials}
        about = {**self._setting.about, **own}
        lines = (replace(dialogue, is_numbered=trials > 1).line() for dialogue in found)
        write_atomically(path, "".join([json_line(header(NAME, __version__, about)), *lines]))
