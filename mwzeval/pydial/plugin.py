"""The benchmark class of PyDial, registered by the entry point."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import Benchmark, BenchmarkInfo, OwnVerb, Shelf
from mwzeval.errors import UsageError
from mwzeval.pydial import NAME, TITLE
from mwzeval.scores.score import Words

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.pydial.benchmark import EpisodesScorer
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

_HEADER = frozenset({"task", "policy", "legacy", "episodes"})
_EPISODE = frozenset({"success", "exchanges"})


class PyDial(Benchmark):
    """The tasks of the PyDial benchmark, including the tasks in the embedded domains."""

    api = 1
    info = BenchmarkInfo(
        NAME,
        TITLE,
        input_help='A correct line: {"task": "CR-1", "seed": 0, "dialogue": 0, "success": true, '
        '"exchanges": 6, "reward": 14}\n'
        "docs/pydial.md describes episode files.",
        words=Words("dialogue", "dialogues", "task"),
        headline=("success", "reward"),
        gates="success=90,reward=10",
        no_runs="name the folder of each policy, such as runs/CR-3/dqn, instead of single runs: "
        "`compare` finds all seeds in the folder and resamples both seeds and dialogues",
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
        from mwzeval.pydial.benchmark import add_arguments

        add_arguments(parser, verb)

    def scorer(self, arguments: Namespace) -> EpisodesScorer:
        """Return the scorer of episode files."""
        from mwzeval.pydial.benchmark import EpisodesScorer

        return EpisodesScorer.of(arguments)

    def live(self, arguments: Namespace) -> RunSetting:
        """Return the settings of act-level runs.

        Raises `UsageError` if an option is invalid, and `DataError` or `InputError` if a file is
        missing or damaged.
        """
        from mwzeval.pydial.benchmark import live_setting

        if arguments.verb == "play":
            raise UsageError("use `mwzeval pydial play TASK` to be the user in PyDial")
        return live_setting(arguments)

    def leaderboard(self, entry: Report | None, arguments: Namespace) -> Document:
        """Return the paper's tables, to which the system in `entry` is added.

        Raises `UsageError` for embedded domains, which have no published results.
        """
        from mwzeval.pydial.benchmark import task_of
        from mwzeval.pydial.leaderboard import published_document

        return published_document(task_of(arguments.benchmark), entry)

    def shelf(self, data: str | None) -> Shelf:
        """Return PyDial's public data files.

        Raises `DataError` for a folder that does not exist.
        """
        from mwzeval.pydial.domain import DOWNLOADED, FOLDER, data_root

        return Shelf(TITLE, NAME, data_root(data), {FOLDER: DOWNLOADED})
