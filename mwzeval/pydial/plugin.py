"""The benchmark class of PyDial, registered by the entry point."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import Benchmark, OwnVerb
from mwzeval.errors import UsageError
from mwzeval.pydial import NAME, TITLE
from mwzeval.scores.score import Words

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.files.downloads import DataRoot
    from mwzeval.pydial.scoring import EpisodesScorer
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

_HEADER = frozenset({"task", "policy", "legacy", "episodes"})
_EPISODE = frozenset({"success", "exchanges"})


class PyDial(Benchmark):
    """The tasks of the PyDial benchmark, including the tasks in the embedded domains."""

    api = 1
    name, title = NAME, TITLE
    input_help = (
        'A correct line: {"task": "CR-1", "seed": 0, "dialogue": 0, "success": true, '
        '"exchanges": 6, "reward": 14}\n'
        "docs/pydial.md describes episode files."
    )
    words = Words("dialogue", "dialogues", "task")
    headline = ("success", "reward")
    gates = "success=90,reward=10"
    no_runs = (
        "name the folder of each policy, such as runs/CR-3/dqn, instead of single runs: "
        "`compare` finds all seeds in the folder and resamples both seeds and dialogues"
    )
    verbs: Mapping[str, OwnVerb] = {
        "pydial": OwnVerb(
            "reinforcement learning on PyDial's tasks: run, tables, plots, play",
            "mwzeval.pydial.command",
            "benchmarks",
        ),
    }

    @property
    def names(self) -> Sequence[str]:
        """The names of all tasks of the benchmark."""
        from mwzeval.pydial.tasks import TASKS

        return NAME, *(f"{NAME}-{task}" for task in TASKS)

    def recognises(self, raw: Any) -> bool:
        """Return whether a line of JSON Lines is an episode or the header of an episode file."""
        if not isinstance(raw, dict):
            return False
        header = raw.get("_meta")
        of_run = isinstance(header, dict) and not _HEADER.isdisjoint(header)
        return of_run or raw.keys() >= _EPISODE

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the options that select and resample the tests of a run, or the users of `live`."""
        if verb == "live":
            self._add_live(parser)
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

    def _add_live(self, parser: ArgumentParser) -> None:
        from mwzeval.conversation.models import add_model_options, add_request_options
        from mwzeval.pydial.command import add_domain

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

    def scorer(self, arguments: Namespace) -> EpisodesScorer:
        """Return the scorer of episode files."""
        from mwzeval.pydial.episode_files import Selection
        from mwzeval.pydial.scoring import EpisodesScorer

        def option(name: str, default: Any = None) -> Any:
            return getattr(arguments, name, default)  # `live` does not have these options

        return EpisodesScorer(
            Selection(option("policy"), option("dialogues"), _task_of(arguments)),
            strict=option("strict", False),
            independent=option("independent", False),
        )

    def live(self, arguments: Namespace) -> RunSetting:
        """Return the settings of act-level runs.

        Raises `UsageError` if an option is invalid, and `DataError` or `InputError` if a file is
        missing or damaged.
        """
        from mwzeval.conversation.models import model_options, refuse_without_model
        from mwzeval.pydial.domain import OwnFiles
        from mwzeval.pydial.live import LiveOptions, LiveSetting, goals_named

        if arguments.verb == "play":
            raise UsageError("use `mwzeval pydial play TASK` to be the user in PyDial")
        refuse_without_model(arguments, "user")
        task, dialogues = goals_named(arguments.goals, _task_of(arguments))
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

    def leaderboard(self, entry: Report | None, arguments: Namespace) -> Document:
        """Return the paper's tables, to which the system in `entry` is added.

        Raises `UsageError` for embedded domains, which have no published results.
        """
        from mwzeval.pydial.leaderboard import published_document

        return published_document(_task_of(arguments), entry)

    def shelf(self, data: str | None) -> DataRoot:
        """Return PyDial's public data files.

        Raises `DataError` for a folder that does not exist.
        """
        from mwzeval.pydial.domain import data_root

        return data_root(data)


def _task_of(arguments: Namespace) -> str | None:
    """Return the task at the end of a `--benchmark` name, or None if the name covers all tasks."""
    name: str = arguments.benchmark
    return name.removeprefix(NAME).removeprefix("-") or None
