"""The command-line options, the scorer and the live settings of the PyDial benchmark."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass

from mwzeval.benchmark import FileScorer
from mwzeval.conversation.models import (
    add_model_options,
    add_request_options,
    model_options,
    refuse_without_model,
)
from mwzeval.conversation.pool import RunSetting
from mwzeval.errors import Problem
from mwzeval.pydial import NAME
from mwzeval.pydial.arguments import add_domain
from mwzeval.pydial.domain import OwnFiles
from mwzeval.pydial.episode_files import Selection
from mwzeval.pydial.scoring import (
    MEANINGS,
    ScoredEpisodes,
    evaluate,
    validate,
)


def add_arguments(parser: ArgumentParser, verb: str) -> None:
    """Add the options that select and resample the tests of a run, or the users of `live`."""
    if verb == "live":
        parser.add_argument(
            "--goals",
            metavar="TASK[:N]",
            help="task and number of dialogues (default: 500); the simulated users are those of "
            "the tests of a run: CR-1 to LAP-6, Demo-CR-1 to Demo-LAP-6 (these need no data), "
            "or Own-NAME-1 to Own-NAME-6",
        )
        parser.add_argument(
            "--user",
            default="agenda",
            metavar="NAME",
            help="user: agenda (the task's simulated user; default), or another user that gets "
            "the same goals: openai:MODEL (a model behind an endpoint), "
            "package.module:Name or file.py:Name",
        )
        add_model_options(parser, "user")
        add_request_options(parser)
        add_domain(parser)
        return
    group = parser.add_argument_group(
        "episodes",
        "a file of episodes (JSON Lines), or a folder of a run, such as runs or runs/CR-1/dqn",
    )
    group.add_argument(
        "--policy", metavar="NAME", help="policy to score, if the folder has several"
    )
    group.add_argument(
        "--dialogues",
        type=int,
        metavar="N",
        help="score the tests after N training dialogues (default: the last tests of a folder)",
    )
    group.add_argument(
        "--independent",
        action="store_true",
        help="resample dialogues instead of seeds, even if there are several seeds",
    )


def live_setting(arguments: Namespace) -> RunSetting:
    """Return the settings of act-level runs. Raises `UsageError`, `DataError` or `InputError`."""
    from mwzeval.pydial.live import LiveOptions, LiveSetting, goals_named

    refuse_without_model(arguments, "user")
    task, dialogues = goals_named(arguments.goals, task_of(arguments.benchmark))
    return LiveSetting(
        LiveOptions(
            arguments.agent,
            task,
            dialogues,
            arguments.seed,
            arguments.data,
            own=OwnFiles.given(arguments.ontology, arguments.entities),
            user=arguments.user,
            user_model=model_options(arguments, "user"),
        )
    )


@dataclass(frozen=True, slots=True)
class EpisodesScorer(FileScorer):
    """Scores episode files and run folders."""

    chosen: Selection
    strict: bool
    independent: bool

    @classmethod
    def of(cls, arguments: Namespace) -> EpisodesScorer:
        """Return a scorer for the arguments of a command."""
        policy = getattr(arguments, "policy", None)  # `live` does not have these options
        dialogues = getattr(arguments, "dialogues", None)
        return cls(
            Selection(policy, dialogues, task_of(arguments.benchmark)),
            getattr(arguments, "strict", False),
            getattr(arguments, "independent", False),
        )

    @property
    def reasons(self) -> Mapping[str, str]:
        """The failure reasons that explanations use, with their descriptions."""
        return MEANINGS

    def score(self, file: str, *, progress: bool = False) -> ScoredEpisodes:
        """Score the episodes in a file or folder.

        Raises `InputError` if a file is invalid, and `UsageError` if the folder has no such tests.
        """
        return evaluate(file, self.chosen, strict=self.strict, independent=self.independent)

    def validate(self, file: str) -> list[Problem]:
        """Return all problems of an episode file or folder.

        Raises `InputError` if a file cannot be read, and `UsageError` if the folder has no such
        tests.
        """
        return validate(file, self.chosen, strict=self.strict)


def task_of(name: str) -> str | None:
    """Return the task at the end of a `--benchmark` name, or None if the name covers all tasks."""
    return name.removeprefix(NAME).removeprefix("-") or None
