"""Score predictions in many files as one input, in this process or on a Dask cluster.

Files are given as names, patterns ('predictions/*.jsonl.zst') or URLs (s3://…); the files of a
pattern are sorted by name. The report has no confidence intervals, because a benchmark may store
only the sums of each file; memory then does not grow with the number of dialogues
(docs/training.md).
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path, PurePath

from mwzeval.arguments import add_files, add_format, files_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import recognising
from mwzeval.errors import UsageError, some_of
from mwzeval.files.reading import STANDARD_INPUT, expand
from mwzeval.outcome import add_outcome, finish_report

SHOWN_FILES = 3
"""The number of files that messages about the whole input name."""


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "the files, in order")
    benchmark.add_arguments(parser, "shards")
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
    add_format(parser)
    add_outcome(parser, benchmark)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.cluster import cluster

    if arguments.workers is not None and (arguments.workers < 1 or arguments.dask != "local"):
        arguments.parser.error("--workers needs --dask local, and must be 1 or more")
    files = files_of(arguments)
    if STANDARD_INPUT in files:
        arguments.parser.error("shards cannot be read from standard input: use `mwzeval evaluate`")
    scorer, shards, dask = benchmark.scorer(arguments), expand(files), arguments.dask
    for shard in shards:
        if Path(shard).is_dir():
            raise UsageError(f"{shard or '.'} is a folder: name its files ('part-*.json')")
    with (
        recognising(benchmark, *shards),
        nullcontext() if dask is None else cluster(dask, arguments.workers) as client,
    ):
        report = scorer.score_shards(
            shards,
            name=some_of([PurePath(file).name for file in files], SHOWN_FILES),
            client=client,
            skip_bad=arguments.skip_bad,
            progress=not arguments.quiet,
        )
    return finish_report(arguments, scorer, report)
