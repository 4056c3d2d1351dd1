"""PyDial on the command line: how episode files are found, scored and explained.

Source: Casanueva et al. (2017), section 4: success rate and mean reward over test dialogues.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.benchmark import ScoredFile, Shelf
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable
from mwzeval.pydial import NAME, SCORING_REVISION, TITLE
from mwzeval.pydial.board import published_document
from mwzeval.pydial.dialogue.domain_files import DOWNLOADED, FOLDER, data_root
from mwzeval.pydial.runs.episode_explanation import REASON_CODES, explain
from mwzeval.pydial.runs.episode_files import (
    ENVIRONMENTS,
    Findings,
    Record,
    read_records,
)
from mwzeval.pydial.runs.episodes import measures, table_of
from mwzeval.pydial.runs.run_folder import Chosen
from mwzeval.pydial.tasks import TASKS
from mwzeval.report.boards import Entry
from mwzeval.report.sheet import Document
from mwzeval.scores.explanation import Explanation, Words
from mwzeval.scores.score import Report, Score, Signature
from mwzeval.version import __version__, library_version

ALIASES = {"success": "success", "reward": "reward"}
"""Short names of scores for gates."""
FEW_SEEDS = 20
"""Intervals of fewer resampled seeds are too narrow to go without saying."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredEpisodes:
    """Episodes that have been scored."""

    records: Mapping[str, Record]
    scored_table: ScoredTable
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals when it is said how."""
        scores = self.scored_table.scores(resampling)
        return Report(
            {NAME: _plain(scores)}, scores, self.scored_table.table, self.warnings, self.meta
        )

    def units(self) -> Sequence[str]:
        """Return the names of the episodes, in order."""
        return tuple(self.records)

    def explain(self, unit: str) -> Explanation:
        """Return what became of an episode. Raises `UsageError` for an unknown one."""
        if unit not in self.records:
            hint = did_you_mean(unit, self.records)
            raise UsageError(f'no dialogue "{shorten(unit)}"{hint} (TASK/SEED/NUMBER)')
        return explain(self.records[unit])

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every episode."""
        return map(explain, self.records.values())


def evaluate(
    path: str, chosen: Chosen | None = None, *, strict: bool = False, independent: bool = False
) -> ScoredEpisodes:
    """Return the scores of an episode file, or of a folder of a run with one policy's tests.

    Episodes of one seed share what sounds alike and what was learned: with several seeds of equal
    size, intervals and tests resample seeds, unless dialogues are said to be `independent`. Raises
    `InputError` with every problem, `UsageError`.
    """
    findings = Findings(strict)
    records, checksum = read_records(path, chosen or Chosen(), findings)
    if findings.errors:
        raise InputError([*findings.errors, *findings.warnings])
    block = 1 if independent else _block(records, findings)
    tasks = tuple(dict.fromkeys(record.episode.task for record in records))
    tasks = tuple(task for task in TASKS if task in tasks)
    scopes = tasks if len(tasks) > 1 else ()
    environment = "+".join(sorted({ENVIRONMENTS[record.legacy] for record in records}))
    policies = sorted({record.policy for record in records if record.policy is not None})
    if len(policies) > 1:
        findings.warning("several-policies", f"scored together: {', '.join(policies)}")
    signature = Signature.of(
        NAME,
        {
            "tasks": "+".join(tasks),
            "environment": environment,
            "resampled": "dialogues" if block == 1 else f"seeds of {block}",
            "n": len(records),
            "rev": SCORING_REVISION,
            "version": __version__,
        },
    )
    episodes = [record.episode for record in records]
    of_all: tuple[Measure, ...] = measures(signature, block=block)
    for scope in scopes:
        of_all += measures(signature, block=block, scope=scope)
    meta = {
        "corpus": f"{NAME}-{tasks[0]}" if len(tasks) == 1 else f"{NAME} ({len(tasks)} tasks)",
        "unit": "dialogue",
        "fold": "test",
        "tasks": "+".join(tasks),
        "policy": "+".join(policies) or None,
        "environment": environment,
        "seeds": len({episode.seed for episode in episodes}),
        "sources": checksum,
        "coverage": {"dialogues": {"scored": len(records), "of": len(records)}},
        "versions": {"numpy": library_version("numpy")}
        | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
    }
    scored = ScoredTable(table_of(episodes, scopes), of_all)
    return ScoredEpisodes({r.episode.unit: r for r in records}, scored, findings.warnings, meta)


def validate(path: str, chosen: Chosen | None = None, *, strict: bool = False) -> list[Problem]:
    """Return every problem of episodes, errors first."""
    findings = Findings(strict)
    read_records(path, chosen or Chosen(), findings)
    return [*findings.errors, *findings.warnings]


def _block(records: Sequence[Record], findings: Findings) -> int:
    """Return how many neighbouring records are one seed's; 1 where dialogues are resampled."""
    sizes: dict[int, Counter[str]] = {}
    for record in records:
        sizes.setdefault(record.episode.seed, Counter())[record.episode.task] += 1
    first, *others = sizes.values()
    if not others:
        return 1
    if any(other != first for other in others):
        message = "seeds differ in tasks or dialogues: intervals take dialogues as independent"
        findings.warning("unequal-seeds", message)
        return 1
    block = sum(first.values())
    if block > 1 and len(sizes) < FEW_SEEDS:
        message = (
            f"intervals and tests resample {len(sizes)} seeds, which is few: intervals are "
            "somewhat too narrow, and small p values out of reach (`mwzeval pydial table` has t "
            "intervals)"
        )
        findings.warning("few-seeds", message)
    return block


def _plain(scores: Sequence[Score]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for score in scores:
        plain.setdefault(score.name, {})[score.scope] = score.value
    return plain


class PyDial:
    """The tasks of the PyDial benchmark, those of the embedded domains among them."""

    names: Sequence[str] = (NAME, *(f"{NAME}-{task}" for task in TASKS))
    words = Words("dialogue", "dialogues", "task")
    revision = SCORING_REVISION
    reasons: Collection[str] = REASON_CODES
    headline: Sequence[str] = ("success", "reward")
    gates = "success=90,reward=10"
    lacks: Mapping[str, str] = {
        "ceiling": "dialogue management has no gold data: there is a user, and nobody who answered",
        "shards": "the episodes of a run are scored together already: name its folder",
    }

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add which tests of a run are meant, and how they are resampled."""
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
            _chosen(arguments.benchmark, arguments),
            getattr(arguments, "strict", False),
            arguments.independent,
        )

    def aliases(self, meta: Mapping[str, Any]) -> Mapping[str, str]:
        """Return short names of scores for gates."""
        return ALIASES

    def ceiling(
        self, arguments: Namespace, of: ScoredFile | None, resampling: Resampling | None
    ) -> Report:
        """Refuse, as `lacks` says."""
        raise UsageError(self.lacks["ceiling"])

    def document(self, report: Report, arguments: Namespace) -> Document | None:
        """Return None: there is no other view of a report."""
        return None

    def published(self, entry: Entry | None, arguments: Namespace) -> Document:
        """Return the paper's tables, with a system among them."""
        return published_document(_task(arguments.benchmark), entry)

    def shelf(self, data: str | None, *, offline: bool | None) -> Shelf:
        """Return where the public files are."""
        return Shelf(TITLE, NAME, data_root(data, offline=offline), {FOLDER: DOWNLOADED})


@dataclass(frozen=True, slots=True)
class EpisodesScorer:
    """Scores files of episodes, and folders of runs."""

    chosen: Chosen
    strict: bool
    independent: bool

    def score(self, file: str, *, progress: bool = False) -> ScoredEpisodes:
        """Return episodes scored. Raises `InputError`, `UsageError`."""
        return evaluate(file, self.chosen, strict=self.strict, independent=self.independent)

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of episodes."""
        return validate(file, self.chosen, strict=self.strict)


def _task(name: str) -> str | None:
    return name.removeprefix(NAME).removeprefix("-") or None


def _chosen(name: str, arguments: Namespace) -> Chosen:
    return Chosen(arguments.policy, arguments.dialogues, _task(name))


BENCHMARK = PyDial()
