"""PyDial on the command line: how episode files are found, scored and explained.

Source: Casanueva et al. (2017), section 4: success rate and mean reward over test dialogues.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.dialogue_management import SCORING_REVISION
from mwzeval.dialogue_management.episode_explanation import REASON_CODES, explain
from mwzeval.dialogue_management.episode_files import (
    ENVIRONMENTS,
    Findings,
    Record,
    read_records,
)
from mwzeval.dialogue_management.episodes import measures, table_of
from mwzeval.dialogue_management.published_boards import published_document
from mwzeval.dialogue_management.run_folder import Chosen
from mwzeval.dialogue_management.tasks import TASKS
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.explanation import Explanation
from mwzeval.measure import Measure, Resampling, Scored
from mwzeval.report.model import Report
from mwzeval.report.page_model import Words
from mwzeval.report.sheet import Document
from mwzeval.score import Score, Signature
from mwzeval.version import __version__, library_version

NAME = "pydial"
ALIASES = {"success": "success", "reward": "reward"}
"""Short names of scores for gates."""
FEW_SEEDS = 20
"""Intervals of fewer resampled seeds are too narrow to go without saying."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredEpisodes:
    """Episodes that have been scored."""

    records: Mapping[str, Record]
    scored: Scored
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the scores with their signatures and rows, and intervals when it is said how."""
        scores = self.scored.scores(resampling)
        return Report({NAME: _plain(scores)}, scores, self.scored.table, self.warnings, self.meta)

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
    scored = Scored(table_of(episodes, scopes), of_all)
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
    reasons: Collection[str] = REASON_CODES
    aliases: Mapping[str, str] = ALIASES

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

    def score(self, name: str, file: str, arguments: Namespace) -> ScoredEpisodes:
        """Return episodes scored. Raises `InputError`, `UsageError`."""
        strict = getattr(arguments, "strict", False)
        independent = arguments.independent
        return evaluate(file, _chosen(name, arguments), strict=strict, independent=independent)

    def validate(self, name: str, file: str, arguments: Namespace) -> list[Problem]:
        """Return every problem of episodes."""
        return validate(file, _chosen(name, arguments), strict=getattr(arguments, "strict", False))

    def published(self, name: str, report: Report | None, system: str) -> Document:
        """Return the paper's tables, with a system among them."""
        return published_document(_task(name), report, system)


def _task(name: str) -> str | None:
    return name.removeprefix(NAME).removeprefix("-") or None


def _chosen(name: str, arguments: Namespace) -> Chosen:
    return Chosen(arguments.policy, arguments.dialogues, _task(name))


BENCHMARK = PyDial()
