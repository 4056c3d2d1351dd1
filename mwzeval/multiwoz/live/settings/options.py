"""What a live run on MultiWOZ is asked to be, and the goals and data that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from mwzeval.conversation.endpoint.options import ModelOptions, is_endpoint
from mwzeval.conversation.endpoint.prompts import Prompt
from mwzeval.conversation.endpoint.user import GOAL
from mwzeval.conversation.loop import USER_TURNS
from mwzeval.conversation.mcp import Address
from mwzeval.conversation.own_code import SUFFIX
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.cache import combined_fingerprint
from mwzeval.files.downloads import DataRoot, embedded
from mwzeval.multiwoz.choices import AUTO, CORPUS_NAMES, DEFAULT_CORPUS, RULES, Rules, known_name
from mwzeval.multiwoz.corpus import corpus_root, database_files
from mwzeval.multiwoz.goals.goal import Records
from mwzeval.multiwoz.goals.selection import RunGoals, select_goals

Level = Literal["words", "acts"]
WORDS: Level = "words"
ACTS: Level = "acts"
LEVELS: tuple[Level, ...] = (WORDS, ACTS)
AGENDA, STRICT_AGENDA = "agenda", "agenda-strict"
RULE, SILENT, RULE_CONVLAB = "rule", "silent", "rule-convlab"
HUMAN = "human"
"""A person at the terminal, as user or agent."""
AGENTS: Mapping[str, tuple[Level, ...]] = {
    RULE: (WORDS,),
    SILENT: (WORDS,),
    RULE_CONVLAB: (WORDS, ACTS),
    HUMAN: (WORDS,),
}
"""The agents that come along, and how they talk."""
GOALS = "corpus"
FAIL_GOAL = "goal"
"""Refuses the bookings that goals say fail first."""
OWN = "package.module:Name, file.py:Name"
MODEL = "openai:MODEL"
AGENT_PROMPT = embedded("live", "prompts", "agent-1.txt")
USER_PROMPT = embedded("live", "prompts", "user-1.txt")
"""What models are told as agents, and as users; another text has another number."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What the options of `mwzeval live` say; names as they are given.

    `strict_user` is the public simulator with its faults, `fail_book` lets bookings fail that the
    goal says fail first. `model` and `user_model` are how an agent and a user behind an endpoint
    are asked. `goal_model` is the file that sampled goals are drawn from; `as_published` judges
    acts as the public evaluator does. `serve_tools` is where tools are served to an agent that has
    a client of its own.
    """

    agent: str
    user: str = AGENDA
    goals: str = GOALS
    corpus: str = AUTO
    rules: Rules = RULES[0]
    data: str | None = None
    offline: bool | None = None
    seed: int = 0
    strict_user: bool = False
    fail_book: bool = False
    goal_model: str | None = None
    as_published: bool = False
    user_turns: int = USER_TURNS
    tool_rounds: int = 8
    serve_tools: Address | None = None
    model: ModelOptions = field(default_factory=ModelOptions)
    user_model: ModelOptions = field(default_factory=partial(ModelOptions, "user"))

    @property
    def corpus_name(self) -> str:
        """The corpus whose database and goals are meant. Raises `UsageError` for an unknown one."""
        if self.corpus == AUTO:
            return DEFAULT_CORPUS
        return known_name("corpus", self.corpus, CORPUS_NAMES)

    @property
    def root(self) -> DataRoot:
        """Where the files of the corpus are."""
        return corpus_root(self.corpus_name, self.data, offline=self.offline)

    def select_goals(self, database: Records) -> RunGoals:
        """Return the goals. Raises `UsageError` for unknown ones, `DataError`."""
        return select_goals(
            self.goals,
            corpus=self.corpus_name,
            root=self.root,
            database=database,
            seed=self.seed,
            refused_bookings=self.fail_book,
            goal_model=self.goal_model,
        )

    def about(self, level: Level, goals: RunGoals, **limits: int) -> dict[str, Any]:
        """Return what the header of the run says."""
        return {
            "corpus": self.corpus_name,
            "agent": self.about_agent(),
            "user": self._about_user(),
            "goals": {"source": goals.source, "sha": goals.sha},
            "fail_book": self.fail_book,
            "level": level,
            "limits": limits,
            "database": self.database_checksum,
        }

    @property
    def agent_prompt(self) -> Prompt:
        """What a model is told as the agent. Raises `MwzevalError`."""
        return self.model.prompt_or(AGENT_PROMPT)

    @property
    def user_prompt(self) -> Prompt:
        """What a model is told as the user. Raises `MwzevalError`."""
        return self.user_model.prompt_or(USER_PROMPT, GOAL)

    @property
    def database_checksum(self) -> str:
        """8 hexadecimal digits over the database. Raises `DataError` when it is missing."""
        paths = database_files(self.root)
        return combined_fingerprint(paths)[:8]

    def about_agent(self) -> dict[str, Any]:
        """Return what the header of a run says of the agent."""
        if is_endpoint(self.agent):
            return self.model.about(self.agent, self.agent_prompt)
        return {"spec": self.agent, **({"tools": "mcp"} if self.serve_tools else {})}

    def _about_user(self) -> dict[str, Any]:
        if is_endpoint(self.user):
            return self.user_model.about(self.user, self.user_prompt)
        return {"spec": STRICT_AGENDA if self.strict_user else self.user}


def unknown_agent(name: str, level: Level) -> UsageError:
    """Return the error of an agent that does not talk so, or that there is not."""
    if name in AGENTS:
        other = AGENTS[name][0]
        return UsageError(f"the agent {name} talks in {other}: say --level {other}")
    known = [agent for agent, levels in AGENTS.items() if level in levels]
    hint = did_you_mean(name, known)
    if name.endswith(SUFFIX):
        hint = f" — which function or class of it? Say {shorten(name)}:NAME"
    return UsageError(
        f'unknown agent "{shorten(name)}"{hint} (known: {", ".join([*known, MODEL, OWN])})'
    )


def unknown_user(name: str, level: Level) -> UsageError:
    """Return the error of a user that there is not."""
    known = [AGENDA, HUMAN, MODEL] if level == WORDS else [AGENDA]
    own = f", {OWN}" if level == WORDS else f"; users of your own talk in {WORDS}"
    hint = did_you_mean(name, known)
    return UsageError(f'unknown user "{shorten(name)}"{hint} (known: {", ".join(known)}{own})')
