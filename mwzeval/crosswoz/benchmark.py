"""CrossWOZ on the command line: its options, and how its files are found and scored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from mwzeval.benchmark import ScoredFile
from mwzeval.crosswoz.checking import Options
from mwzeval.crosswoz.corpus import FOLDS, RELEASE, REVISIONS, SAMPLE
from mwzeval.crosswoz.evaluation import evaluate, validate
from mwzeval.crosswoz.gold import Gold
from mwzeval.crosswoz.places import load_gold
from mwzeval.crosswoz.predictions import said_revision
from mwzeval.crosswoz.reason_codes import REASON_CODES
from mwzeval.crosswoz.simulated_evaluation import evaluate_simulation, validate_simulation
from mwzeval.crosswoz.simulated_input import is_simulation, revision_of
from mwzeval.crosswoz.tracks import JOINT_NAMES, TRACKS
from mwzeval.errors import Problem, UsageError
from mwzeval.report.model import Report
from mwzeval.report.page_model import Words
from mwzeval.report.sheet import Document

NAME = "crosswoz"
WORDS = Words("dialogue", "dialogues", "domain")
ALIASES = {"nlu": "nlu.f1", "policy": "policy.f1", "dst": "dst.joint_single_turn"}
"""Short names of scores for gates."""


class CrossWoz:
    """All tracks of CrossWOZ; a log of simulated dialogues is scored as such."""

    names: Sequence[str] = (NAME, *(f"{NAME}-{track}" for track in TRACKS))
    words = WORDS
    reasons = REASON_CODES
    aliases: Mapping[str, str] = ALIASES

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

    def score(self, name: str, file: str, arguments: Namespace) -> ScoredFile:
        """Return a file scored. Raises `InputError`, `DataError`, `UsageError`."""
        options = _options(name, arguments)
        gold = _gold(file, arguments)
        if is_simulation(file):
            return evaluate_simulation(file, gold, options)
        return evaluate(file, gold, options)

    def validate(self, name: str, file: str, arguments: Namespace) -> list[Problem]:
        """Return every problem of a file."""
        options = _options(name, arguments)
        if is_simulation(file):
            return validate_simulation(file, options)
        return validate(file, _gold(file, arguments), options)

    def published(self, name: str, report: Report | None, system: str) -> Document:
        """Refuse: what the paper published stands in docs/crosswoz.md, beside what is had here."""
        raise UsageError(
            "CrossWOZ has no leaderboard; docs/crosswoz.md has the paper's tables beside ours"
        )


def _gold(file: str, arguments: Namespace) -> Gold:
    said = revision_of(file) if is_simulation(file) else said_revision(file)
    revision = arguments.revision or (said if said in REVISIONS else RELEASE)
    fold = FOLDS[0] if revision == SAMPLE else arguments.fold
    return load_gold(revision, fold, arguments.data, offline=arguments.offline)


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
