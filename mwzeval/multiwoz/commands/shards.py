"""Score predictions in many files as one input, in this process or on a Dask cluster.

Files are given as names, patterns ('predictions/*.jsonl.zst') or URLs (s3://…); the files of a
pattern are sorted by name. Only the sums of each file are stored, so there are no intervals, and
memory does not grow with the number of dialogues (docs/training.md).
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import add_files, add_format, files_of
from mwzeval.files.reading import STANDARD_INPUT
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import (
    add_dst_rules,
    add_metrics,
    add_options,
    add_reading,
    scorer_of,
)
from mwzeval.multiwoz.plugin import MultiWoz
from mwzeval.outcome import add_outcome, finish_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(benchmark=NAME)
    add_files(parser, "the files, in order")
    add_dst_rules(add_metrics(parser, "-bsrd"))
    add_options(parser, "--references")
    add_reading(parser)
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="score on the Dask cluster at tcp://HOST:PORT, or on the cores of this machine "
        "(local)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="number of processes of --dask local (default: number of cores)",
    )
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="skip files that cannot be read or scored, and list them in the report",
    )
    parser.add_argument(
        "--rollouts",
        action="store_true",
        help="accept several predictions of a dialogue, with numbered ids such as sng0073#12",
    )
    add_format(parser)
    add_outcome(parser, MultiWoz())


def run(arguments: argparse.Namespace) -> int:
    """Print the scores and write a report if requested; return the exit code."""
    if arguments.workers is not None and (arguments.workers < 1 or arguments.dask != "local"):
        arguments.parser.error("--workers needs --dask local, and must be 1 or more")
    files = files_of(arguments)
    if STANDARD_INPUT in files:
        arguments.parser.error("shards cannot be read from standard input: use `mwzeval evaluate`")
    scorer = scorer_of(arguments)
    report = scorer.score_shards(
        files,
        dask=arguments.dask,
        workers=arguments.workers,
        skip_bad=arguments.skip_bad,
        progress=not arguments.quiet,
    )
    return finish_report(arguments, scorer, report)
