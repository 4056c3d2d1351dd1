"""CrossWOZ on the command line: options and scorer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping
from typing import Any

from mwzeval.benchmark import FileScorer, ScoredFile
from mwzeval.crosswoz import META, NAME
from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.folds import (
    FOLDS,
    RELEASE,
    REVISIONS,
    Gold,
    add_corpus,
    corpus_root,
    fold_with,
    load_gold,
)
from mwzeval.crosswoz.protocols import SYSTEM, USER
from mwzeval.crosswoz.reading import (
    header_value,
    read_predictions,
)
from mwzeval.crosswoz.scoring.evaluation import evaluate, validate
from mwzeval.crosswoz.scoring.simulation import (
    evaluate_simulation,
    is_simulation,
    log_lines,
    revision_of,
    validate_simulation,
)
from mwzeval.crosswoz.scoring.success import MEANINGS
from mwzeval.crosswoz.speakers import add_live
from mwzeval.crosswoz.tracks import JOINT_NAMES
from mwzeval.errors import DataError, Problem, shorten


def add_arguments(parser: ArgumentParser, verb: str) -> None:
    """Add the options for corpus and scoring or, if the verb is `live`, for simulations."""
    if verb == "live":
        add_live(parser)
        return
    corpus = parser.add_argument_group("corpus")
    add_corpus(corpus, default=None)
    corpus.add_argument(
        "--fold",
        choices=FOLDS,
        help="default: the fold that the file states, else the fold that contains its dialogues",
    )
    scoring = parser.add_argument_group("scoring")
    scoring.add_argument(
        "--conditioning",
        choices=tuple(JOINT_NAMES),
        help="input from which the states were predicted (default: as stated in the file)",
    )
    scoring.add_argument(
        "--allow-partial",
        action="store_true",
        help="also score files in which dialogues of the fold or simulation are missing",
    )
    scoring.add_argument(
        "--lenient",
        action="store_true",
        help="count unknown intents, domains and slots as wrong instead of reporting an error",
    )


class CrossWozScorer(FileScorer):
    """Scores files of the given revision and fold, or of those that each file's header states."""

    def __init__(self, arguments: Namespace) -> None:
        track = arguments.benchmark.removeprefix(NAME).removeprefix("-")
        self._options = Options(
            tracks=(track,) if track else (),
            # `live` has none of these options.
            conditioning=getattr(arguments, "conditioning", None),
            lenient=getattr(arguments, "lenient", False),
            allow_partial=getattr(arguments, "allow_partial", False),
            strict=getattr(arguments, "strict", False),
        )
        self._revision, self._data = arguments.revision, arguments.data
        self._fold = getattr(arguments, "fold", None)

    @property
    def compared(self) -> tuple[Collection[str], None]:
        """Return the scopes `user` and `system`, which separate the scores of the two sides."""
        return (USER, SYSTEM), None

    @property
    def reasons(self) -> Mapping[str, str]:
        """The failure reasons of explanations and their meanings."""
        return MEANINGS

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return a scored file. Raises `InputError`, `DataError`, `UsageError`."""
        if is_simulation(file):
            lines = log_lines(file)
            gold = self._gold(file, revision_of(lines))
            return evaluate_simulation(lines, gold, self._options, file=file)
        raw = read_predictions(file)
        return evaluate(raw, self._gold_of(raw, file), self._options, file=file)

    def validate(self, file: str) -> list[Problem]:
        """Return all problems of a file. Raises `InputError` if the file cannot be read."""
        if is_simulation(file):
            return validate_simulation(file, self._options)
        raw = read_predictions(file)
        return validate(raw, self._gold_of(raw, file), self._options, file=file)

    def _gold_of(self, raw: Any, file: str) -> Gold:
        """Return the gold data for raw predictions, as named in their header or by the options."""
        ids = raw.keys() - {META} if isinstance(raw, Mapping) else ()
        revision, fold = (header_value(raw, key) for key in ("revision", "split"))
        return self._gold(file, revision, fold, ids)

    def _gold(
        self, file: str, revision: str | None, fold: str | None = None, ids: Collection[str] = ()
    ) -> Gold:
        """Return the gold data for a file whose header names this revision and fold.

        If the header names no fold, the available fold that has dialogues with these `ids` is used.
        """
        is_known = revision in REVISIONS
        chosen = self._revision or (revision if revision is not None and is_known else RELEASE)
        try:
            named = self._fold or (fold if fold in FOLDS else None)
            if named is None:
                named = fold_with(corpus_root(chosen, self._data), chosen, ids)
            return load_gold(chosen, named, self._data)
        except DataError as error:
            if self._revision is not None or is_known:
                raise
            says = (
                "no revision" if revision is None else f'the unknown revision "{shorten(revision)}"'
            )
            message = f"{META} says {says}, so {RELEASE} is used (--revision selects another)"
            first, *more = error.args
            raise DataError(f"{file}: {message}: {first}", *more) from None
