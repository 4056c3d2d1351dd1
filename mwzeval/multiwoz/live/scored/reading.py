"""What a file of live dialogues is held against: its goals, and the database of its corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.conversation.trajectory import GOAL, LiveFile, Trajectory, check_live
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.cache import combined_fingerprint
from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.choices import (
    AUTO,
    CORPUS_NAMES,
    CORPUS_USER,
    DEFAULT_CORPUS,
    FOLDS,
    RULES,
    SAMPLE,
    Fold,
    Rules,
    known_name,
)
from mwzeval.multiwoz.corpus.corpora import SAMPLE_PREFIX, corpus_root, database_files, read_tables
from mwzeval.multiwoz.corpus.gold import dialogue_id
from mwzeval.multiwoz.database.venues import Row
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.goals.goal import Goal, annotated_goals, given_goal
from mwzeval.scores.findings import Findings

_OF_SERVER = ("model", "host", "dialogue_seconds")
"""What a header tells of a model behind an endpoint that is not what the model is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What live dialogues are scored against, as the options of verbs say."""

    corpus: str = AUTO
    fold: Fold = "test"
    rules: Rules = "2021"
    data: str | Path | None = None
    offline: bool | None = None
    tools: Tools = OUR_TOOLS

    @classmethod
    def of(
        cls,
        corpus: str = AUTO,
        fold: str = FOLDS[0],
        rules: str | int = RULES[0],
        data: str | Path | None = None,
        offline: bool | None = None,
        tools: Tools = OUR_TOOLS,
    ) -> Settings:
        """Return settings of these names. Raises `UsageError` for an unknown one."""
        return cls(
            known_name("corpus", corpus, (AUTO, *CORPUS_NAMES)),
            known_name("fold", "dev" if fold == "val" else fold, FOLDS),
            known_name("rules", str(rules), RULES),
            data,
            offline,
            tools,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Town:
    """A corpus: the tables of its database, their checksum, and where its files are."""

    corpus: str
    root: DataRoot
    tables: Mapping[str, Sequence[Row]]
    checksum: str

    @classmethod
    def of(cls, corpus: str, settings: Settings) -> Town:
        """Return the town of a corpus. Raises `DataError` when its database is missing."""
        root = corpus_root(corpus, settings.data, offline=settings.offline)
        paths = database_files(root)
        return cls(corpus, root, read_tables(root), combined_fingerprint(paths)[:8])


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The dialogues of a file that can be scored, and what each of them is about.

    `goals` are by the name of the dialogue; `warnings` are in `findings`.
    """

    file: LiveFile
    corpus: str
    goals: Mapping[str, Goal] = field(default_factory=dict)

    @property
    def dialogues(self) -> Mapping[str, Trajectory]:
        """The dialogues by name, in the order of the file."""
        return self.file.dialogues


def check_run(text: str, settings: Settings, findings: Findings) -> LiveRun:
    """Return the dialogues of a file with their goals; problems go to `findings`.

    Raises `InputError` when they are of another benchmark, and `DataError` when the goals of a
    corpus are needed and missing.
    """
    file = check_live(text, findings)
    said = file.header.get("benchmark", NAME)
    if said != NAME:
        message = f'the header says that the benchmark is "{shorten(str(said))}", not {TITLE}'
        findings.error("other-benchmark", f"{message}: leave out --benchmark", key="benchmark")
        findings.check()
    user = file.header.get("user")
    if isinstance(user, Mapping) and user.get("spec") == CORPUS_USER:
        findings.error(
            "corpus-turns",
            "the user of these dialogues is the corpus, which does not hear the agent: score the "
            "predictions that mwzeval predict wrote beside this file",
            key="user",
        )
        findings.check()
    corpus = _corpus_of(file, settings.corpus)
    goals = _Goals(corpus, settings, findings)
    found = {name: goals.of(dialogue) for name, dialogue in file.dialogues.items()}
    return LiveRun(file, corpus, {name: goal for name, goal in found.items() if goal is not None})


def _corpus_of(file: LiveFile, asked: str) -> str:
    """Return the corpus that is asked for, or that the file says, or that its ids tell."""
    if asked != AUTO:
        return asked
    said = file.header.get("corpus")
    if said in CORPUS_NAMES:
        return str(said)
    items = [dialogue.item for dialogue in file.dialogues.values()]
    is_sample = bool(items) and all(item.lower().startswith(SAMPLE_PREFIX) for item in items)
    return SAMPLE if is_sample else DEFAULT_CORPUS


class _Goals:
    """Finds the goals of dialogues, those of a corpus where they have none of their own."""

    def __init__(self, corpus: str, settings: Settings, findings: Findings) -> None:
        self._corpus = corpus
        self._settings = settings
        self._findings = findings
        self._of_corpus: Mapping[str, Goal] | None = None

    def of(self, dialogue: Trajectory) -> Goal | None:
        """Return the goal of a dialogue; None where that is a problem."""
        if dialogue.goal is None or isinstance(dialogue.goal, str):
            return self._known(dialogue)
        try:
            return given_goal(dialogue.goal)
        except ValueError as error:
            self._findings.error("goal", str(error), dialogue=dialogue.name, key=GOAL)
            return None

    def _known(self, dialogue: Trajectory) -> Goal | None:
        """Return the goal of the corpus that the line names, or the name of the dialogue."""
        known = self._annotated()
        name = dialogue_id(dialogue.goal or dialogue.item)
        if name in known:
            return known[name]
        where = f"the {self._settings.fold} fold of {self._corpus}"
        hint = did_you_mean(name, known)
        message = f'no goal is given, and "{shorten(name)}" is no dialogue of {where}{hint}'
        self._findings.error("no-goal", message, dialogue=dialogue.name, key=GOAL)
        return None

    def _annotated(self) -> Mapping[str, Goal]:
        if self._of_corpus is None:
            settings = self._settings
            root = corpus_root(self._corpus, settings.data, offline=settings.offline)
            annotated = annotated_goals(self._corpus, settings.fold, root)
            self._of_corpus = {name: each.goal for name, each in annotated.items()}
        return self._of_corpus


def described(about: Any) -> str:
    """Return how a header calls an agent, a user or goals, with all that is told of it.

    `{"spec": "agenda", "strict": true}` is `agenda,strict`; what is false or empty is left out. Of
    a model behind an endpoint it is the arguments and the prompt (`prompt=user-1@1f2e3d4c`): where
    the server is, and how long is waited for it, is not what it is.
    """
    if not isinstance(about, Mapping):
        return str(about)
    called = str(about.get("spec", about.get("source", "unnamed")))
    if "sha" in about:
        called += f"@{about['sha']}"
    left_out = ("spec", "source", "sha", *(_OF_SERVER if "host" in about else ()))
    more = {key: value for key, value in about.items() if key not in left_out}
    return ",".join([called, *_told(more)])


def _told(about: Mapping[str, Any]) -> Iterator[str]:
    for key, value in about.items():
        if isinstance(value, Mapping) and {"name", "sha"} == value.keys():
            yield f"{key}={value['name']}@{value['sha']}"
        elif isinstance(value, Mapping):
            # Arguments of a model, of which 0 says something.
            yield from (f"{name}={_plain(each)}" for name, each in value.items())
        elif value:
            yield key if value is True else f"{key}={value}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
