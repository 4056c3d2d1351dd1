"""The benchmark class of DSTC7, registered by the entry point."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from mwzeval.benchmark import Benchmark, OwnVerb
from mwzeval.dstc7 import NAME, TITLE
from mwzeval.errors import UsageError
from mwzeval.scores.score import Words

if TYPE_CHECKING:
    from mwzeval.dstc7.benchmark import SubmissionScorer
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

_FIELDS = frozenset({"example-id", "candidate-ranking"})


class SentenceSelection(Benchmark):
    """All tracks of DSTC7 sentence selection."""

    api = 1
    name, title = NAME, TITLE
    input_help = (
        'A correct file: [{"example-id": 100000, "candidate-ranking": '
        '[{"candidate-id": "A1", "confidence": 0.9}, …]}, …]\n'
        "docs/dstc7.md describes submissions."
    )
    words = Words("example", "examples", "part", goal="right answer")
    headline = ("recall@1", "recall@10", "mrr", "final")
    gates = "final=0.5,recall10=0.6"
    verbs: Mapping[str, OwnVerb] = {
        "dstc7": OwnVerb(
            "baselines and file conversion for DSTC7 sentence selection",
            "mwzeval.dstc7.command",
            "benchmarks",
        ),
    }

    @property
    def names(self) -> Sequence[str]:
        """The names of the tracks, including names with a test set of Advising."""
        from mwzeval.dstc7.tracks import CASES, TRACK_NAMES

        advising = [name for name in TRACK_NAMES if "advising" in name]
        return NAME, *TRACK_NAMES, *(f"{name}-{case}" for name in advising for case in CASES)

    def recognises(self, raw: Any) -> bool:
        """Return whether a JSON value is a submission, judged by its first example."""
        first = raw[0] if isinstance(raw, list) and raw else None
        return isinstance(first, dict) and not _FIELDS.isdisjoint(first)

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the options for gold data and for scoring."""
        from mwzeval.dstc7.benchmark import add_arguments

        add_arguments(parser)

    def scorer(self, arguments: Namespace) -> SubmissionScorer:
        """Return the scorer of submissions."""
        from mwzeval.dstc7.benchmark import SubmissionScorer

        return SubmissionScorer(arguments)

    def live(self, arguments: Namespace) -> NoReturn:
        """Raise `UsageError`: this benchmark has no live dialogues."""
        raise UsageError(
            "DSTC7 has no live dialogues: its systems select a response to a given dialogue"
        )

    def leaderboard(self, entry: Report | None, arguments: Namespace) -> Document:
        """Return the published results. Raises `UsageError` for other data."""
        from mwzeval.dstc7.benchmark import published

        return published(entry, arguments)
