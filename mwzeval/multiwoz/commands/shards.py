"""Score predictions in many files as one input, in this process or on a Dask cluster.

Files are given as names, patterns ('predictions/*.jsonl.zst') or URLs (s3://…); the files of a
pattern are sorted by name. Only the sums of each file are stored, so there are no intervals, and
memory does not grow with the number of dialogues (docs/training.md).
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, add_format, files_of
from mwzeval.benchmark import recognised
from mwzeval.errors import InputError, UsageError
from mwzeval.files.reading import STANDARD_INPUT, beginning_value, expand, first_line
from mwzeval.multiwoz import NAME, TITLE
from mwzeval.multiwoz.benchmark import (
    add_dst_rules,
    add_metrics,
    add_options,
    add_reading,
    scorer_of,
)
from mwzeval.multiwoz.plugin import MultiWoz
from mwzeval.outcome import add_outcome, finish_report

if TYPE_CHECKING:
    from mwzeval.multiwoz.file_scorer import MultiWozScorer


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
    """Print the scores and write a report if requested; return the exit code.

    Raises the errors of `evaluate_shards` and `cluster`, and `UsageError` for live dialogues and
    files of other benchmarks.
    """
    from mwzeval.cluster import cluster
    from mwzeval.multiwoz.shards import evaluate_shards

    if arguments.workers is not None and (arguments.workers < 1 or arguments.dask != "local"):
        arguments.parser.error("--workers needs --dask local, and must be 1 or more")
    files = files_of(arguments)
    if STANDARD_INPUT in files:
        arguments.parser.error("shards cannot be read from standard input: use `mwzeval evaluate`")
    scorer, shards = scorer_of(arguments), expand(files)
    _check_kind(scorer, shards[0])
    metrics = scorer.metrics
    if not (metrics or arguments.dst_rule):
        # Only the last shard shows whether all turns have the data that a metric needs.
        metrics = tuple(metric for metric in scorer.allowed if metric != "grounded")
    dask = arguments.dask
    with nullcontext() if dask is None else cluster(dask, arguments.workers) as client:
        report = evaluate_shards(
            scorer.evaluator(*metrics),
            shards,
            client=client,
            skip_bad=arguments.skip_bad,
            file=" ".join(PurePath(file).name for file in files),
            progress=not arguments.quiet,
        )
    return finish_report(arguments, scorer, report)


def _check_kind(scorer: MultiWozScorer, shard: str) -> None:
    """Raise `UsageError` if a shard does not contain predictions of MultiWOZ."""
    with suppress(InputError):  # the errors of a bad shard are listed later
        if scorer.is_live(first_line(shard)):
            raise UsageError(
                f"{shard} contains live dialogues, but shards must contain predictions: "
                "join the files of a run (`cat part-*.jsonl > run.jsonl`), and evaluate "
                "that file"
            )
        if other := recognised(beginning_value(shard), but=NAME, external=True):
            raise UsageError(
                f"{shard} is a file of {other.info.title}, but shards must contain "
                f"predictions of {TITLE}: put the dialogues or examples into one file, and "
                "evaluate that file"
            )
