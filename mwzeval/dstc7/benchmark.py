"""DSTC7 track 1 on the command line: options, scorer and published results."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from mwzeval.arguments import InputFile
from mwzeval.benchmark import FileScorer
from mwzeval.dstc7.evaluation import MEANINGS, ScoredSubmission, evaluate, validate
from mwzeval.dstc7.leaderboard import published_document, read_results, tables_of
from mwzeval.dstc7.loading import FOLDER, SPLITS, Gold, gold_in, sample_gold
from mwzeval.dstc7.tracks import (
    COMPATIBLE,
    COVERAGE,
    METRICS,
    ORDERS,
    PREFIX,
    Options,
    Track,
    track_from,
    track_of,
)
from mwzeval.errors import Problem, UsageError
from mwzeval.files.downloads import DATA_VARIABLE
from mwzeval.scores.report import Report
from mwzeval.scores.sheets import Document


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options for gold data and for scoring."""
    gold = parser.add_argument_group(
        "right answers",
        f"default: the official names in --data or {DATA_VARIABLE}, else the embedded sample",
    )
    gold.add_argument(
        "--targets", type=InputFile, metavar="TSV", help="file with example ids and right answers"
    )
    gold.add_argument(
        "--dialogues",
        type=InputFile,
        metavar="JSON",
        help="the dialogue file, to check candidates and show texts; dialogue files of train "
        "and dev also contain the right answers",
    )
    gold.add_argument(
        "--pool", type=InputFile, metavar="TSV", help="file with the candidates of subtask 2"
    )
    gold.add_argument(
        "--data", metavar="DIR", help="folder with these files under their official names"
    )
    gold.add_argument(
        "--split", choices=SPLITS, default=SPLITS[0], help="split of --data (default: %(default)s)"
    )
    scoring = parser.add_argument_group("scoring")
    scoring.add_argument(
        "--metric",
        choices=METRICS,
        default=METRICS[0],
        help="ranking: the official scores (default); fscore: the F-score of the task "
        "description, over the most probable choices that together reach the probability "
        "--coverage",
    )
    scoring.add_argument(
        "--coverage",
        type=float,
        default=COVERAGE,
        metavar="P",
        help="total probability of the choices that --metric fscore selects (default: %(default)s)",
    )
    scoring.add_argument(
        "--order",
        choices=ORDERS,
        default=ORDERS[0],
        help="order of the candidates: the order in the file, as in the official scorer "
        "(default), or by confidence",
    )
    scoring.add_argument(
        "--compat",
        choices=(COMPATIBLE,),
        help="reproduce three errors of the organizers' scoring script of 2018",
    )


class SubmissionScorer(FileScorer):
    """Scores submissions to the given track, or to the track that the file name states."""

    def __init__(self, arguments: Namespace) -> None:
        self._arguments = arguments
        self._track = None if arguments.benchmark == PREFIX else arguments.benchmark
        self._options = Options(
            metric=arguments.metric,
            strict=getattr(arguments, "strict", False),
            order=arguments.order,
            compat=arguments.compat,
            coverage=arguments.coverage,
        )

    @property
    def reasons(self) -> Mapping[str, str]:
        """The failure reasons of explanations and their meanings."""
        return MEANINGS

    def score(self, file: str, *, progress: bool = False) -> ScoredSubmission:
        """Return a scored submission. Raises `InputError`, `DataError`, `UsageError`."""
        track = track_from(self._track, file)
        return evaluate(file, self._gold(track), track, self._options)

    def validate(self, file: str) -> list[Problem]:
        """Return all problems of a submission and its gold data.

        Raises `UsageError` if a candidate pool is given without targets.
        """
        track = track_from(self._track, file)
        return validate(file, self._gold(track), track, self._options)

    def _gold(self, track: Track) -> Gold:
        given = self._arguments
        if given.targets or given.dialogues:
            return Gold(given.targets, given.dialogues, given.pool)
        if given.pool:
            raise UsageError("--pool contains candidates, not answers: add --targets")
        if given.data:
            return gold_in(given.data, track, given.split)
        root = os.environ.get(DATA_VARIABLE)
        if root and (folder := Path(root) / FOLDER).is_dir():
            return gold_in(folder, track, given.split)
        return sample_gold(track)


def published(entry: Report | None, arguments: Namespace) -> Document:
    """Return the published results of a track, or of all tracks.

    Raises `UsageError` if the system was scored on other data.
    """
    if entry is not None and entry.meta.get("note"):
        raise UsageError(f"published results are on other data. {entry.meta['note']}")
    results = read_results()
    tables = results.tables
    if arguments.benchmark != PREFIX:
        tables = tables_of(results, track_of(arguments.benchmark))
    elif entry is not None:
        tables = tables_of(results, track_of(entry.meta["corpus"], entry.meta["case"]))
    return published_document(results, tables, entry)
