"""Inputs in many files, here or on a cluster: the arguments of it, and what they lead to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mwzeval.files.reading import STANDARD_INPUT, is_url
from mwzeval.files.streams import is_pattern

if TYPE_CHECKING:
    from mwzeval.benchmark import FileScorer
    from mwzeval.scores.explanation import Words
    from mwzeval.scores.score import Report

OF_ROWS = ("ci", "per_unit", "ceiling", "fail_below")
"""Options that need the numbers of each unit; a report of shards is of their sums."""


def add_sharding(parser: argparse.ArgumentParser) -> None:
    """Add how an input in many files is read, and where it is scored."""
    shards = parser.add_argument_group(
        "many files (docs/distributed.md)",
        "Patterns and URLs ('predictions/*.jsonl.zst', s3://…) are files that belong together.",
    )
    shards.add_argument(
        "--shards",
        action="store_true",
        help="the inputs are parts of one, in this order (patterns sorted by name)",
    )
    shards.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="score shards on the Dask cluster at tcp://HOST:PORT, or one of this machine's cores: "
        "local",
    )
    shards.add_argument(
        "--workers", type=_workers, metavar="N", help="processes of --dask local (default: cores)"
    )
    shards.add_argument(
        "--skip-bad-shards",
        action="store_true",
        help="leave out shards that cannot be read or scored, and list them in the report",
    )


def _workers(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def is_sharded(arguments: argparse.Namespace, files: Sequence[str], words: Words) -> bool:
    """Tell whether the inputs are parts of one; refuse what cannot be asked of them then.

    `words` are what the benchmark calls its units.
    """
    parser = arguments.parser
    several = arguments.shards or any(is_url(file) or is_pattern(file) for file in files)
    if not (several or arguments.dask):
        for option in ("workers", "skip_bad_shards"):
            if getattr(arguments, option):
                parser.error(f"--{option.replace('_', '-')} is about --shards and --dask")
        return False
    if arguments.workers and arguments.dask != "local":
        parser.error("--workers is the number of processes of --dask local")
    if arguments.runs:
        parser.error("--runs are inputs of their own, and shards are parts of one: choose")
    for option in OF_ROWS:
        if getattr(arguments, option):
            name = option.replace("_unit", f"-{words.unit}").replace("_", "-")
            parser.error(
                f"--{name} needs the numbers of each {words.unit}, and of shards only sums are "
                "kept: leave it out, or evaluate one file"
            )
    if STANDARD_INPUT in files:
        parser.error("standard input is no shard: evaluate it alone")
    return True


def report_of_shards(
    arguments: argparse.Namespace, scorer: FileScorer, files: Sequence[str]
) -> Report:
    """Return the report of all files together, patterns among them.

    Raises `InputError` with the problems of all bad shards, `UsageError`, `DataError`.
    """
    from mwzeval.cluster.shards import evaluate_shards, one_after_the_other
    from mwzeval.files.streams import expand

    shards = expand(files)
    shown = not arguments.quiet
    evaluate = partial(
        evaluate_shards,
        scorer.of_shards(shards),
        shards,
        skip_bad=arguments.skip_bad_shards,
        file=" ".join(files),
    )
    if not arguments.dask:
        return evaluate(partial(one_after_the_other, progress=shown))
    from mwzeval.cluster.dask import cluster, on_cluster

    with cluster(arguments.dask, arguments.workers) as client:
        return evaluate(partial(on_cluster, client, progress=shown))
