"""PyDial as a benchmark: its options, its scorer, its data and its published results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.arguments import add_data
from mwzeval.benchmark import Benchmark, Shelf
from mwzeval.conversation.endpoint.options import (
    add_model_options,
    add_request_options,
    model_options,
    refuse_without_model,
)
from mwzeval.conversation.runs import RunSetting
from mwzeval.errors import Problem
from mwzeval.pydial import NAME, SCORING_REVISION, TITLE
from mwzeval.pydial.arguments import add_own
from mwzeval.pydial.board import published_document
from mwzeval.pydial.dialogue.domain_files import DOWNLOADED, FOLDER, OwnFiles, data_root
from mwzeval.pydial.runs.run_folder import Selection
from mwzeval.pydial.runs.scoring import (
    MEANINGS,
    ScoredEpisodes,
    evaluate,
    validate,
)
from mwzeval.pydial.tasks import TASKS
from mwzeval.report.leaderboard import Entry
from mwzeval.scores.explanation import Words
from mwzeval.scores.sheets import Document

ALIASES = {"success": "success", "reward": "reward"}
"""Short names of scores for gates."""


class PyDial(Benchmark):
    """The tasks of the PyDial benchmark, those of the embedded domains among them."""

    names: Sequence[str] = (NAME, *(f"{NAME}-{task}" for task in TASKS))
    words = Words("dialogue", "dialogues", "task")
    revision = SCORING_REVISION
    reasons: Mapping[str, str] = MEANINGS
    input_help = (
        'A correct line: {"task": "CR-1", "seed": 0, "dialogue": 0, "success": true, '
        '"exchanges": 6, "reward": 14}\n'
        "docs/pydial.md describes episode files."
    )
    headline: Sequence[str] = ("success", "reward")
    gates = "success=90,reward=10"
    lacks: Mapping[str, str] = {
        "play": "in PyDial you are the user with `mwzeval pydial play TASK`",
        "runs": "the runs of a policy are its seeds, which compare finds in a folder and resamples "
        "together with their dialogues: give the folder of each policy, such as runs/CR-3/dqn",
    }

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add which tests of a run are meant, and how they are resampled; or the users to meet."""
        if verb == "live":
            parser.add_argument(
                "--goals",
                metavar="TASK[:N]",
                help="whose users, and how many (default: 500), those that a run tests with: "
                "CR-1 to LAP-6, Demo-CR-1 to Demo-LAP-6, which need no data, or Own-NAME-1 to -6",
            )
            parser.add_argument(
                "--user",
                default="agenda",
                metavar="NAME",
                help="agenda (default), the simulated user of the task, or another one with its "
                "goals: openai:MODEL (behind an endpoint), package.module:Name, file.py:Name",
            )
            add_model_options(parser, "user")
            add_request_options(parser)
            add_own(parser)
            add_data(parser)
            return
        group = parser.add_argument_group(
            "episodes",
            "a file of episodes (JSON Lines), or a folder of a run: runs, runs/CR-1/dqn, …",
        )
        group.add_argument("--policy", metavar="NAME", help="which, where a folder has several")
        group.add_argument(
            "--dialogues",
            type=int,
            metavar="N",
            help="tests after N training dialogues (default: the last of a folder)",
        )
        group.add_argument(
            "--independent",
            action="store_true",
            help="resample dialogues, not seeds, even if there are several seeds",
        )

    def scorer(self, arguments: Namespace) -> EpisodesScorer:
        """Return what scores episodes."""
        return EpisodesScorer(
            _selection(arguments.benchmark, arguments),
            getattr(arguments, "strict", False),
            getattr(arguments, "independent", False),
        )

    def live(self, arguments: Namespace) -> RunSetting:
        """Return a setting in acts. Raises `UsageError`, `DataError`, `InputError`."""
        from mwzeval.pydial.runs.live import LiveOptions, LiveSetting, goals_named

        refuse_without_model(arguments, "user")
        task, dialogues = goals_named(arguments.goals, _task(arguments.benchmark))
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

    def aliases(self, meta: Mapping[str, Any]) -> Mapping[str, str]:
        """Return short names of scores for gates."""
        return ALIASES

    def published(self, entry: Entry | None, arguments: Namespace) -> Document:
        """Return the paper's tables, with a system among them.

        Raises `UsageError` for embedded domains, of which nothing is published.
        """
        return published_document(_task(arguments.benchmark), entry)

    def shelf(self, data: str | None, *, offline: bool | None) -> Shelf:
        """Return where the public files are. Raises `DataError` for a folder that is not there."""
        return Shelf(TITLE, NAME, data_root(data, offline=offline), {FOLDER: DOWNLOADED})


@dataclass(frozen=True, slots=True)
class EpisodesScorer:
    """Scores files of episodes, and folders of runs."""

    chosen: Selection
    strict: bool
    independent: bool

    def score(self, file: str, *, progress: bool = False) -> ScoredEpisodes:
        """Return episodes scored. Raises `InputError`, `UsageError`."""
        return evaluate(file, self.chosen, strict=self.strict, independent=self.independent)

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of episodes. Raises `InputError`, `UsageError`."""
        return validate(file, self.chosen, strict=self.strict)


def _task(name: str) -> str | None:
    return name.removeprefix(NAME).removeprefix("-") or None


def _selection(name: str, arguments: Namespace) -> Selection:
    policy = getattr(arguments, "policy", None)  # `live` has neither
    return Selection(policy, getattr(arguments, "dialogues", None), _task(name))


BENCHMARK = PyDial()
