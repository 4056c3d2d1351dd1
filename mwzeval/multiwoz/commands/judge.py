"""Score files of live dialogues with settings that `mwzeval evaluate` does not have.

Use the rules of ConvLab-2's public evaluator (--compat), add the cost of models (--prices), leave
out dialogues in which the user makes a mistake, or read calls of your own tools (--tools).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mwzeval.arguments import add_files, add_format, add_intervals, file_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import ACCOUNTING, add_corpus, add_options, scorer_of
from mwzeval.multiwoz.choices import LIVE
from mwzeval.multiwoz.plugin import MultiWoz
from mwzeval.outcome import add_outcome, finish_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(benchmark=NAME, input_format=LIVE)
    add_files(parser, "a file of live dialogues", several=False)
    add_options(parser, "--compat", *ACCOUNTING)
    parser.add_argument(
        "-g", "--grounded", action="store_true", help="print all scores of factual correctness"
    )
    add_options(parser, "--tools")
    add_corpus(parser)
    add_intervals(parser)
    add_format(parser)
    add_outcome(parser, MultiWoz())


def run(arguments: argparse.Namespace) -> int:
    """Print the scores of live dialogues and return the exit code.

    Raises `UsageError` without live dialogues.
    """
    from mwzeval.conversation.trajectory import is_header
    from mwzeval.files.reading import beginning_value
    from mwzeval.metrics.measure import Resampling

    file = file_of(arguments)
    if Path(file).is_file() and not is_header(beginning_value(file)):
        raise UsageError(f"{file} has no live dialogues: `mwzeval evaluate` scores predictions")
    scorer = scorer_of(arguments)
    system = scorer.score(file, progress=not arguments.quiet)
    report = system.report(Resampling(arguments.ci) if arguments.ci else None)
    return finish_report(arguments, scorer, report)
