"""CrossWOZ on the command line: its options, and how its files are found and scored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.benchmark import ScoredFile, Shelf
from mwzeval.crosswoz import NAME, SCORING_REVISION, TITLE
from mwzeval.crosswoz.corpus.folds import (
    FOLDS,
    RELEASE,
    REVISIONS,
    SAMPLE,
    Gold,
    corpus_places,
    corpus_root,
    load_gold,
)
from mwzeval.crosswoz.predictions.checking import Options
from mwzeval.crosswoz.predictions.reading import said_revision
from mwzeval.crosswoz.predictions.tracks import JOINT_NAMES, TRACKS
from mwzeval.crosswoz.scoring.evaluation import evaluate, validate
from mwzeval.crosswoz.scoring.success import REASON_CODES
from mwzeval.crosswoz.simulation.evaluation import evaluate_simulation, validate_simulation
from mwzeval.crosswoz.simulation.log import is_simulation, revision_of
from mwzeval.errors import Problem, UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.report.boards import Entry
from mwzeval.report.sheet import Document
from mwzeval.scores.explanation import Words
from mwzeval.scores.score import Report

WORDS = Words("dialogue", "dialogues", "domain")
ALIASES = {"nlu": "nlu.f1", "policy": "policy.f1", "dst": "dst.joint_single_turn"}
"""Short names of scores for gates."""


class CrossWoz:
    """All tracks of CrossWOZ; a log of simulated dialogues is scored as such."""

    names: Sequence[str] = (NAME, *(f"{NAME}-{track}" for track in TRACKS))
    words = WORDS
    revision = SCORING_REVISION
    reasons: Collection[str] = REASON_CODES
    headline: Sequence[str] = ("nlu.f1", "dst.joint_single_turn", "policy.f1", "nlg", "finish")
    gates = "nlu=90,policy=50"
    lacks: Mapping[str, str] = {
        "leaderboard": "CrossWOZ has no leaderboard; docs/crosswoz.md has the paper's tables "
        "beside ours",
        "ceiling": "gold and copy-previous stand beside every score of CrossWOZ already",
        "shards": "predictions of CrossWOZ are scored as one file: a fold has 500 dialogues",
    }

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add which corpus it is, and what is free in scoring."""
        corpus = parser.add_argument_group("corpus")
        corpus.add_argument(
            "--revision",
            choices=tuple(REVISIONS),
            help="release (the paper's), convlab2 (corrected), or the embedded sample (default: "
            f"what the file says, else {RELEASE})",
        )
        corpus.add_argument("--fold", choices=FOLDS, default=FOLDS[0], help="default: %(default)s")
        corpus.add_argument(
            "--data", metavar="DIR", help="folder with the public files (default: MWZEVAL_DATA)"
        )
        corpus.add_argument("--offline", action="store_true", default=None, help="no network")
        scoring = parser.add_argument_group("scoring")
        scoring.add_argument(
            "--conditioning",
            choices=tuple(JOINT_NAMES),
            help="what states were predicted from (default: what the file says)",
        )
        scoring.add_argument(
            "--allow-partial",
            action="store_true",
            help="dialogues of the fold, or of a simulation, may be missing",
        )
        scoring.add_argument(
            "--lenient",
            action="store_true",
            help="intents, domains and slots that do not exist count as wrong instead of failing",
        )

    def scorer(self, arguments: Namespace) -> CrossWozScorer:
        """Return what scores predictions and simulations."""
        return CrossWozScorer(
            _options(arguments.benchmark, arguments),
            arguments.revision,
            arguments.fold,
            arguments.data,
            arguments.offline,
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
        """Refuse, as `lacks` says."""
        raise UsageError(self.lacks["leaderboard"])

    def shelf(self, data: str | None, *, offline: bool | None) -> Shelf:
        """Return where the public files are."""
        return Shelf(TITLE, NAME, corpus_root(data=data, offline=offline), corpus_places())


@dataclass(frozen=True, slots=True)
class CrossWozScorer:
    """Scores files of one revision and fold, or of the revision that each file says."""

    options: Options
    revision: str | None
    fold: str
    data: str | None
    offline: bool | None

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return a file scored. Raises `InputError`, `DataError`, `UsageError`."""
        gold = self._gold(file)
        if is_simulation(file):
            return evaluate_simulation(file, gold, self.options)
        return evaluate(file, gold, self.options)

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of a file."""
        if is_simulation(file):
            return validate_simulation(file, self.options)
        return validate(file, self._gold(file), self.options)

    def _gold(self, file: str) -> Gold:
        said = revision_of(file) if is_simulation(file) else said_revision(file)
        revision = self.revision or (said if said in REVISIONS else RELEASE)
        fold = FOLDS[0] if revision == SAMPLE else self.fold
        return load_gold(revision, fold, self.data, offline=self.offline)


def _options(name: str, arguments: Namespace) -> Options:
    track = name.removeprefix(NAME).removeprefix("-")
    return Options(
        tracks=(track,) if track else (),
        conditioning=arguments.conditioning,
        lenient=arguments.lenient,
        allow_partial=arguments.allow_partial,
        strict=getattr(arguments, "strict", False),
    )


BENCHMARK = CrossWoz()
