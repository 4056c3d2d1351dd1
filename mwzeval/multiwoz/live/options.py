"""The options of a live run on MultiWOZ: agent, user, goals and data."""

from __future__ import annotations

from argparse import Namespace, _ActionsContainer
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Literal

from mwzeval.arguments import InputFile
from mwzeval.conversation.agents import SUFFIX, is_own_code
from mwzeval.conversation.loop import TOOL_ROUNDS, USER_TURNS
from mwzeval.conversation.mcp import Address
from mwzeval.conversation.models import (
    GOAL,
    ModelOptions,
    Prompt,
    add_model_options,
    add_request_options,
    is_endpoint,
    model_options,
    refuse_without_model,
)
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.cache import combined_fingerprint
from mwzeval.files.downloads import DataRoot, embedded
from mwzeval.multiwoz import AUTO, CORPUS_NAMES, RULES, Rules, corpus_named
from mwzeval.multiwoz.corpus import corpus_root, database_files
from mwzeval.multiwoz.goals import Records, RunGoals, parse_goal_source, select_goals
from mwzeval.multiwoz.live.stress import (
    ATTITUDE,
    CHANGES,
    LAYERS,
    NOISE,
    PRESETS,
    TOOL_FAULTS,
    Conditions,
    parse_conditions,
)

Level = Literal["words", "acts"]
WORDS: Level = "words"
ACTS: Level = "acts"
LEVELS: tuple[Level, ...] = (WORDS, ACTS)
AGENDA, STRICT_AGENDA = "agenda", "agenda-strict"
RULE, SILENT, RULE_CONVLAB, ORACLE = "rule", "silent", "rule-convlab", "oracle"
HUMAN = "human"
"""The name of a person at the terminal, as user or agent."""
AGENTS: Mapping[str, tuple[Level, ...]] = {
    RULE: (WORDS,),
    SILENT: (WORDS,),
    RULE_CONVLAB: (WORDS, ACTS),
    ORACLE: (WORDS,),
    HUMAN: (WORDS,),
}
"""The built-in agents, with their modality."""
GOALS = "corpus"
FAIL_GOAL = "goal"
"""The system that refuses the bookings that should fail according to the goal."""
OWN = "package.module:Name, file.py:Name"
MODEL = "openai:MODEL"
AGENT_PROMPT = embedded("live", "prompts", "agent-1.txt")
USER_PROMPT = embedded("live", "prompts", "user-1.txt")
"""The system messages of models as agents and users. A changed text gets a new number."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The options of `mwzeval live`, with the same names.

    `strict_user` selects the public simulator with its errors. If `fail_book` is true, a booking
    fails when the goal requires a failed booking. `model` and `user_model` are the settings for
    models behind an endpoint. `goal_model` is the file of the model from which goals are sampled.
    If `compat` is true, act-level dialogues are judged as in the public evaluator. `serve_tools` is
    the address at which tools are served to agents with their own client. If the agent has no name,
    it is called by an external harness. `stress` selects the stress conditions.

    Raises `UsageError` for numbers that are too low, and for conditions that do not apply.
    """

    agent: str = ""
    user: str = AGENDA
    level: Level = WORDS
    goals: str = GOALS
    corpus: str = AUTO
    rules: Rules = RULES[0]
    data: str | None = None
    offline: bool | None = None
    seed: int = 0
    strict_user: bool = False
    fail_book: bool = False
    goal_model: str | None = None
    compat: str | None = None
    user_turns: int = USER_TURNS
    tool_rounds: int | None = None
    stress: str | None = ""
    serve_tools: Address | None = None
    model: ModelOptions = field(default_factory=ModelOptions)
    user_model: ModelOptions = field(default_factory=partial(ModelOptions, "user"))

    def __post_init__(self) -> None:
        for name, lowest in (("user_turns", 1), ("tool_rounds", 0)):
            number = getattr(self, name)
            if number is not None and number < lowest:
                option = name.replace("_", "-")
                raise UsageError(f"--{option} must be at least {lowest}, not {number}")
        self._check_conditions()

    def _check_conditions(self) -> None:
        """Raise `UsageError` for unknown conditions, and for conditions that do not apply."""
        user = "--strict-user" if self.strict_user else f"--user {shorten(self.user)}"
        for applies, where, layers in (
            (self.level != ACTS, f"at --level {ACTS}", (TOOL_FAULTS, NOISE)),
            (self.user == AGENDA and not self.strict_user, f"with {user}", (CHANGES, ATTITUDE)),
        ):
            if not applies and (wrong := ", ".join(self.conditions.of(*layers))):
                raise UsageError(f"--stress: these conditions do not apply {where}: {wrong}")

    @property
    def conditions(self) -> Conditions:
        """The stress conditions that the option `stress` selects."""
        return parse_conditions(self.stress)

    @property
    def most_tool_rounds(self) -> int:
        """The maximum number of rounds of tool calls in a turn.

        If there are tool faults, the default is higher, because the agent has to repeat calls.
        """
        if self.tool_rounds is not None:
            return self.tool_rounds
        return 2 * TOOL_ROUNDS if self.conditions.of(TOOL_FAULTS) else TOOL_ROUNDS

    @classmethod
    def of(cls, arguments: Namespace, **others: Any) -> LiveOptions:
        """Create the options from the arguments of a command, which have the same names. The values
        in `others` replace the values of arguments.

        Raises `UsageError` if the combination of options is invalid.
        """
        values = {f.name: getattr(arguments, f.name) for f in fields(cls) if f.name in arguments}
        if values.get("serve_tools") is not None:
            values["serve_tools"] = Address.of(values["serve_tools"])
        values["fail_book"] = values.get("fail_book") == FAIL_GOAL
        for side, model in (("agent", "model"), ("user", "user_model")):
            if hasattr(arguments, f"{side}_prompt"):
                refuse_without_model(arguments, side)
                values[model] = model_options(arguments, side)
        options = cls(**{**values, **others})
        for is_wrong, problem in options._problems(arguments):
            if is_wrong:
                raise UsageError(problem)
        return options

    def _problems(self, arguments: Namespace) -> Iterator[tuple[object, str]]:
        """Yield pairs (whether a combination of options is invalid, error message)."""
        sides = self.agent, self.user
        in_acts, has_person = self.level == ACTS, HUMAN in sides
        serves, jobs = self.serve_tools is not None, arguments.jobs > 1
        together = jobs or (arguments.concurrency or 1) > 1
        is_own = is_own_code(self.agent) and not is_endpoint(self.agent) and not in_acts
        yield (
            self.strict_user and self.user != AGENDA,
            f"--strict-user only applies to the user {AGENDA}: leave it out",
        )
        yield (
            has_person and self.agent == self.user,
            "a person can be only one side of a dialogue: choose another agent or user",
        )
        yield (
            has_person and together,
            "a person talks in one dialogue at a time: leave out the number",
        )
        yield (
            serves and not is_own,
            f"--serve-tools only applies to your own agents at level {WORDS}, not to "
            f"{shorten(self.agent)}",
        )
        yield (
            self.serve_tools and self.serve_tools.port and jobs,
            "each of the --jobs needs its own port: leave out the port of --serve-tools",
        )
        yield (
            self.compat is not None and not in_acts,
            f"--compat judges acts, but the level is {WORDS}: use --level {ACTS}",
        )
        yield in_acts and any(map(is_endpoint, sides)), f"models talk in {WORDS}: leave out --level"

    def check_names(self) -> None:
        """Raise `UsageError` if agent, user or goals are unknown, before any file is read."""
        parse_goal_source(self.goals)
        if self.agent == ORACLE and self.user != AGENDA:
            raise UsageError(
                f"the agent {ORACLE} only talks to the user {AGENDA}: leave out --user"
            )
        in_words = self.level == WORDS
        agents = [agent for agent, levels in AGENTS.items() if self.level in levels]
        users = [AGENDA, HUMAN] if in_words else [AGENDA]
        for side, name, known, is_own in (
            ("agent", self.agent or RULE_CONVLAB, agents, True),
            ("user", self.user, users, in_words),
        ):
            if name in known or (is_own and is_own_code(name)) or (in_words and is_endpoint(name)):
                continue
            if side == "agent" and name in AGENTS:
                other = AGENTS[name][0]
                raise UsageError(f"the agent {name} talks in {other}: use --level {other}")
            hint = did_you_mean(name, known)
            if name.endswith(SUFFIX):
                hint = f" — name a function or class: {shorten(name)}:NAME"
            more = [MODEL] * in_words + [OWN] * is_own
            raise UsageError(
                f'unknown {side} "{shorten(name)}"{hint} (known: {", ".join([*known, *more])})'
            )

    @property
    def corpus_name(self) -> str:
        """The name of the corpus that provides the database and the goals.

        Raises `UsageError` if the corpus is unknown.
        """
        return corpus_named(self.corpus)

    @property
    def root(self) -> DataRoot:
        """The folder with the files of the corpus."""
        return corpus_root(self.corpus_name, self.data, offline=self.offline)

    def select_goals(self, database: Records) -> RunGoals:
        """Return the selected goals. Raises `UsageError` for unknown goals, or `DataError`."""
        return select_goals(
            self.goals,
            corpus=self.corpus_name,
            root=self.root,
            database=database,
            seed=self.seed,
            refused_bookings=self.fail_book,
            goal_model=self.goal_model,
        )

    def about(self, goals: RunGoals) -> dict[str, Any]:
        """Return the settings for the header of the run."""
        rounds = {"tool_rounds": self.most_tool_rounds} if self.level == WORDS else {}
        conditions = self.conditions
        user = {"spec": STRICT_AGENDA if self.strict_user else self.user}
        if is_endpoint(self.user):
            user = self.user_model.about(self.user, self.user_prompt)
        return {
            "corpus": self.corpus_name,
            "agent": self.about_agent(),
            "user": user,
            "goals": {"source": goals.source, "sha": goals.sha},
            "fail_book": self.fail_book,
            "level": self.level,
            **({"stress": conditions.about()} if conditions else {}),
            "limits": {"user_turns": self.user_turns, **rounds},
            "database": self.database_checksum,
        }

    @property
    def agent_prompt(self) -> Prompt:
        """The system message of a model as agent. Raises `MwzevalError` if the file is invalid."""
        return self.model.prompt_or(AGENT_PROMPT)

    @property
    def user_prompt(self) -> Prompt:
        """The system message of a model as user. Raises `MwzevalError` if the prompt is invalid."""
        return self.user_model.prompt_or(USER_PROMPT, GOAL)

    @property
    def database_checksum(self) -> str:
        """A checksum of the database, 8 hexadecimal digits.

        Raises `DataError` if files are missing.
        """
        paths = database_files(self.root)
        return combined_fingerprint(paths)[:8]

    def about_agent(self) -> dict[str, Any]:
        """Return the settings of the agent for the header of a run."""
        if is_endpoint(self.agent):
            return self.model.about(self.agent, self.agent_prompt)
        return {"spec": self.agent, **({"tools": "mcp"} if self.serve_tools else {})}


def add_live(parser: _ActionsContainer) -> None:
    """Add the options for agent, user and goals of a live run."""
    agents = ", ".join(f"{name} ({' or '.join(levels)})" for name, levels in AGENTS.items())
    add_model_options(parser)
    add_model_options(parser, "user")
    add_request_options(parser)
    parser = parser.add_argument_group("MultiWOZ", f"built-in agents: {agents}")
    parser.add_argument(
        "--user",
        default=AGENDA,
        metavar="NAME",
        help="simulated user: %(default)s (default), human (you, at the terminal), "
        "openai:MODEL, package.module:Name or file.py:Name",
    )
    parser.add_argument(
        "--strict-user",
        action="store_true",
        help="use the agenda user of ConvLab-2 as published, including its errors",
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default=WORDS,
        help="level of the dialogue: text or dialogue acts (default: %(default)s)",
    )
    parser.add_argument(
        "--goals",
        default=GOALS,
        metavar="GOALS",
        help="corpus[:FOLD][:NUMBER or IDS] (default: corpus, the goals of the test fold), "
        "corpus-raw (goals exactly as annotated: if the annotation says that the first "
        "constraints cannot be satisfied, this is not checked), sampled:NUMBER",
    )
    parser.add_argument(
        "--goal-model",
        type=InputFile,
        metavar="FILE",
        help="goal model for sampled goals, in ConvLab-2's format: .pkl or JSON (default: "
        "the published model; the sample has its own)",
    )
    parser.add_argument(
        "--fail-book",
        choices=(FAIL_GOAL,),
        help="let the first attempt at a booking fail if the goal specifies this (default: "
        "every possible booking succeeds)",
    )
    parser.add_argument(
        "--user-turns",
        type=int,
        metavar="N",
        default=USER_TURNS,
        help="maximum number of user turns, including the farewell (default: %(default)s)",
    )
    parser.add_argument(
        "--stress",
        default="",
        metavar="CONDITIONS",
        help=f"stress conditions: {', '.join(PRESETS)}, or rates such as realistic,typos=0 "
        f"(conditions: {', '.join(LAYERS)}; see docs/stress.md)",
    )
    parser.add_argument(
        "--serve-tools",
        nargs="?",
        const="",
        metavar="HOST:PORT",
        help="serve the functions over MCP to your own agent, which receives their URL as "
        "tools_url, and record its calls (default: a free port of 127.0.0.1; a given port "
        "requires a single job)",
    )
    add_agent_options(parser)


def add_agent_options(parser: _ActionsContainer) -> None:
    """Add the options for the agent's limit on tool calls, and for its database."""
    parser.add_argument(
        "--tool-rounds",
        type=int,
        metavar="N",
        help="maximum number of rounds of tool calls in a turn (default: "
        f"{TOOL_ROUNDS}, with tool faults {2 * TOOL_ROUNDS})",
    )
    parser.add_argument(
        "--corpus",
        default=AUTO,
        metavar="NAME",
        help=f"{', '.join(CORPUS_NAMES)} (default: multiwoz-2.2; sample needs no data)",
    )
