"""Score the file of a system: print a table, and write a JSON report.

One input may also be in many files (--shards), scored here or on a cluster (--dask).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import FORMATS as TABLE_FORMATS
from mwzeval.arguments import add_files, add_format, add_intervals, add_signatures, files_of
from mwzeval.commands.outcome import (
    add_claims,
    add_gates,
    add_output,
    add_strictness,
    failed_gates,
    finish,
    page,
    warned,
    write_claims,
)
from mwzeval.commands.systems.scoring import names_of, refuse, score_all, scorer_of
from mwzeval.errors import UsageError
from mwzeval.files.reading import STANDARD_INPUT, is_url
from mwzeval.files.streams import is_pattern
from mwzeval.output_checks import STANDARD_OUTPUT

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark
    from mwzeval.comparison.gates import Gate
    from mwzeval.metrics.measure import Resampling
    from mwzeval.scores.explanation import Words


OF_ROWS = ("ci", "per_unit", "ceiling", "claims", "fail_below")
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


PAGE = "html"
OF_ONE_FILE = ("ceiling", "claims", "per_unit", "fail_below", "ci")
"""Options that say nothing about several runs."""


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    unit = benchmark.words.unit
    add_files(parser, "what is scored")
    add_output(parser)
    benchmark.add_arguments(parser, "evaluate")
    add_intervals(parser)
    add_format(parser, (*TABLE_FORMATS, PAGE))
    add_signatures(parser)
    parser.add_argument(
        f"--per-{unit}",
        dest="per_unit",
        action="store_true",
        help=f"print the counts of each {unit} instead",
    )
    parser.add_argument(
        "--ceiling", action="store_true", help="print what gold data get beside each score"
    )
    parser.add_argument(
        "--runs",
        action="store_true",
        help="the inputs are runs of one system: print mean ± standard deviation of each score, "
        f"and how much of the variance is between runs and between {benchmark.words.units}",
    )
    add_claims(parser, benchmark.words)
    add_gates(parser, benchmark.gates)
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
    if arguments.runs:
        return _score_runs(arguments, benchmark, files, gates)
    return _score_one(arguments, benchmark, files[0], gates, resampling)


def _files(arguments: argparse.Namespace, benchmark: Benchmark) -> list[str]:
    files = files_of(arguments)
    if arguments.output.endswith(".html"):
        arguments.parser.error(
            "-o is where the JSON report goes: `mwzeval report -o PAGE.html` writes the page"
        )
    if {arguments.output, arguments.claims} <= {*STANDARD_OUTPUT}:
        arguments.parser.error("-o and --claims are both standard output: name a file for one")
    unit = benchmark.words.unit
    sharded = is_sharded(arguments, files, benchmark.words)
    if len(files) > 1 and not (arguments.runs or sharded):
        arguments.parser.error(
            f"{len(files)} inputs: say --runs when they are runs of one system, --shards when they "
            "are parts of one input; `mwzeval compare` compares several systems"
        )
    if len(set(files)) < len(files):
        arguments.parser.error("an input is given twice")
    if arguments.runs:
        if len(files) < 2:
            arguments.parser.error("--runs takes the files of two or more runs of one system")
        for option in OF_ONE_FILE:
            if getattr(arguments, option):
                name = option.replace("_unit", f"-{unit}").replace("_", "-")
                arguments.parser.error(f"--{name} is about one input: leave it out, or --runs")
        if arguments.format == PAGE:
            arguments.parser.error("the page shows single systems: `mwzeval report` of all runs")
    return files


def _score_one(
    arguments: argparse.Namespace,
    benchmark: Benchmark,
    file: str,
    gates: Sequence[Gate],
    resampling: Resampling,
) -> int:
    from mwzeval.comparison.gates import worse_than
    from mwzeval.report.summary import beside_ceiling, per_dialogue, summary, with_ceiling
    from mwzeval.report.terminal import printed

    for option in ("ceiling", "claims"):
        if getattr(arguments, option):
            refuse(benchmark, option)
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
        if arguments.ceiling:
            ceiling = benchmark.ceiling(arguments, system, None)
            report = with_ceiling(report, ceiling)
            document = beside_ceiling(report, ceiling, places=arguments.places)
        if arguments.claims:
            write_claims(arguments, benchmark.claims(system, None))
        if arguments.format == PAGE:
            (name,) = names_of([file])
            show = partial(page, {name: (report, system)}, benchmark)
        else:
            own = benchmark.document(report, arguments)
            shown = per_dialogue(report) if arguments.per_unit else own or document
            show = partial(printed, shown, arguments.format, signatures=arguments.signatures)
        return finish(arguments, report, document, show, failed)


def _score_shards(
    arguments: argparse.Namespace, benchmark: Benchmark, files: Sequence[str], gates: Sequence[Gate]
) -> int:
    from mwzeval.report.summary import summary
    from mwzeval.report.terminal import printed

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
        show = partial(printed, shown, arguments.format, signatures=arguments.signatures)
        return finish(arguments, report, document, show, failed)


def _score_runs(
    arguments: argparse.Namespace, benchmark: Benchmark, files: Sequence[str], gates: Sequence[Gate]
) -> int:
    from mwzeval.comparison.runs import across
    from mwzeval.files.streams import shortest_ends
    from mwzeval.report.runs import runs_document
    from mwzeval.report.terminal import printed
    from mwzeval.scores.report import plain_problem

    scorer = scorer_of(benchmark, arguments)
    runs = score_all(scorer, files, progress=not arguments.quiet)
    reports = {name: run.report() for name, run in runs.items()}
    scores = across({name: run.scored_table for name, run in runs.items()})
    meta = next(iter(reports.values())).meta
    failed = failed_gates(gates, scores, benchmark.aliases(meta))
    warnings = [warning for report in reports.values() for warning in report.warnings]
    with warned(arguments, warnings):
        document = runs_document(
            scores,
            runs={
                name: report.metrics
                for name, report in zip(shortest_ends(files), reports.values(), strict=True)
            },
            meta={
                **meta,
                "warnings": [plain_problem(warning.shared()) for warning in warnings],
            },
            places=arguments.places,
        )
        show = partial(printed, document, arguments.format, signatures=arguments.signatures)
        return finish(arguments, document.plain, document, show, failed)
