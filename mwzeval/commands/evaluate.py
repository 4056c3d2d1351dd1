"""Score the file of a system: print a table, and write a JSON report.

One input may also be in many files (--shards), scored here or on a cluster (--dask).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import FORMATS as TABLE_FORMATS
from mwzeval.arguments import add_files, add_format, add_intervals, files_of
from mwzeval.commands.outcome import (
    add_gates,
    add_output,
    add_strictness,
    failed_gates,
    finish,
    page,
    warned,
)
from mwzeval.commands.systems.scoring import names_of, scorer_of
from mwzeval.errors import UsageError
from mwzeval.files.reading import STANDARD_INPUT, is_pattern, is_url

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark
    from mwzeval.comparison.gates import Gate
    from mwzeval.metrics.measure import Resampling
    from mwzeval.scores.explanation import Words


OF_ROWS = ("ci", "fail_below")
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
    for option in OF_ROWS:
        if getattr(arguments, option):
            parser.error(
                f"--{option.replace('_', '-')} needs the numbers of each {words.unit}, and of "
                "shards only sums are kept: leave it out, or evaluate one file"
            )
    if STANDARD_INPUT in files:
        parser.error("standard input is no shard: evaluate it alone")
    return True


PAGE = "html"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_files(parser, "what is scored")
    add_output(parser)
    benchmark.add_arguments(parser, "evaluate")
    add_intervals(parser)
    add_format(parser, (*TABLE_FORMATS, PAGE))
    add_gates(parser, benchmark.gates, baseline=True)
    add_sharding(parser)
    add_strictness(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score, print and write; return the exit code."""
    from mwzeval.comparison.gates import parse_gates
    from mwzeval.metrics.measure import Resampling

    files = _files(arguments, benchmark)
    gates = parse_gates(arguments.fail_under, arguments.fail_over)
    resampling = Resampling(arguments.ci or 0.95, arguments.samples, arguments.seed)
    if is_sharded(arguments, files, benchmark.words):
        return _score_shards(arguments, benchmark, files, gates)
    return _score_one(arguments, benchmark, files[0], gates, resampling)


def _files(arguments: argparse.Namespace, benchmark: Benchmark) -> list[str]:
    files = files_of(arguments)
    if arguments.output.endswith(".html"):
        arguments.parser.error(
            "-o is where the JSON report goes: `mwzeval report -o PAGE.html` writes the page"
        )
    sharded = is_sharded(arguments, files, benchmark.words)
    if len(files) > 1 and not sharded:
        arguments.parser.error(
            f"{len(files)} inputs: `mwzeval compare` compares several systems, `mwzeval runs` "
            "scores several runs of one system, --shards says that they are parts of one input"
        )
    if len(set(files)) < len(files):
        arguments.parser.error("an input is given twice")
    return files


def _score_one(
    arguments: argparse.Namespace,
    benchmark: Benchmark,
    file: str,
    gates: Sequence[Gate],
    resampling: Resampling,
) -> int:
    from mwzeval.comparison.gates import worse_than
    from mwzeval.report.terminal import printed
    from mwzeval.scores.report import summary

    scorer = scorer_of(benchmark, arguments)
    system = scorer.score(file, progress=not arguments.quiet)
    baseline = None if arguments.fail_below is None else scorer.score(arguments.fail_below)
    report = system.report(resampling if arguments.ci else None)
    failed = failed_gates(gates, report.scores, benchmark.aliases(report.meta))
    with warned(arguments, report.warnings):
        if baseline is not None:
            failed += [
                str(worse)
                for worse in worse_than(system.scored_table, baseline.scored_table, resampling)
            ]
        document = summary(report, places=arguments.places)
        if arguments.format == PAGE:
            (name,) = names_of([file])
            show = partial(page, {name: (report, system)}, benchmark)
        else:
            shown = benchmark.document(report, arguments) or document
            show = partial(printed, shown, arguments.format)
        return finish(arguments, report.to_dict(), document, show, failed)


def _score_shards(
    arguments: argparse.Namespace, benchmark: Benchmark, files: Sequence[str], gates: Sequence[Gate]
) -> int:
    from mwzeval.report.terminal import printed
    from mwzeval.scores.report import summary

    if arguments.format == PAGE:
        arguments.parser.error(
            f"the page shows single {benchmark.words.units}, and of shards there are sums"
        )
    scorer: Any = benchmark.scorer(arguments)
    if not hasattr(scorer, "score_shards"):
        raise UsageError(
            "shards are for predictions of MultiWOZ: put these into one file, or score them alone"
        )
    report = scorer.score_shards(
        files,
        dask=arguments.dask,
        workers=arguments.workers,
        skip_bad=arguments.skip_bad_shards,
        progress=not arguments.quiet,
    )
    failed = failed_gates(gates, report.scores, benchmark.aliases(report.meta))
    with warned(arguments, report.warnings):
        document = summary(report, places=arguments.places)
        shown = benchmark.document(report, arguments) or document
        show = partial(printed, shown, arguments.format)
        return finish(arguments, report.to_dict(), document, show, failed)
