"""Compare runs under stress conditions with a run of the same agent without conditions.

The runs must have the same goals, user and seed. The table shows for each run its success, the drop
of success (paired by goal), robustness, recovery, false bookings, turns, calls and cost, and for
all runs together pass^k. docs/stress.md describes the conditions. Example:
  mwzeval stress clean.jsonl realistic.jsonl hard.jsonl --fail-under drop=10,robustness=80
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import (
    add_files,
    add_format,
    add_resampling,
    files_of,
    resampling_of,
)
from mwzeval.errors import UsageError
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import add_corpus, add_options, scorer_of
from mwzeval.multiwoz.choices import LIVE
from mwzeval.multiwoz.plugin import MultiWoz
from mwzeval.outcome import add_outcome, finish


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(benchmark=NAME, input_format=LIVE)
    add_files(
        parser,
        "a run without stress conditions, then runs of the same agent with stress conditions",
    )
    add_options(parser, "--prices", "--tools")
    add_corpus(parser)
    add_resampling(parser)
    add_format(parser)
    add_outcome(parser, MultiWoz())


def run(arguments: argparse.Namespace) -> int:
    """Print the drops of scores; return the exit code.

    Raises `UsageError` if the runs do not match.
    """
    from mwzeval.comparison.gates import failures
    from mwzeval.files.reading import shortest_ends
    from mwzeval.multiwoz.live.report import ScoredRun
    from mwzeval.multiwoz.live.stress import drops

    files = files_of(arguments)
    if len(set(files)) < max(len(files), 2):
        arguments.parser.error(
            "name a run without stress conditions, then one or more runs with stress conditions, "
            "each once"
        )
    scorer, runs = scorer_of(arguments), {}
    names = shortest_ends([file.removesuffix(".jsonl") for file in files])
    for name, file in zip(names, files, strict=True):
        scored = scorer.score(file, progress=not arguments.quiet)
        if not isinstance(scored, ScoredRun):
            raise UsageError(f"{file} has no live dialogues")
        runs[name] = scored
    drops.check_runs(runs)
    how = resampling_of(arguments)
    scores = drops.scores_of(runs, how)
    failed = failures(arguments.fail_under, scores, {})
    warnings = [warning for run in runs.values() for warning in run.warnings]
    return finish(arguments, drops.stress_document(runs, scores, how), warnings, failed)
