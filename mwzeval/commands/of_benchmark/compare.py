"""Compare systems with the first one: differences, intervals, p values and ranks.

Only units that all systems have are compared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mwzeval.benchmark import Benchmark, ScoredFile
from mwzeval.commands.arguments import add_format, add_resampling
from mwzeval.commands.compare import add_level
from mwzeval.commands.report import names_of
from mwzeval.errors import InputError, Problem
from mwzeval.output import write_result


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "systems", nargs="+", metavar="INPUT", help="two or more files, the baseline first"
    )
    parser.add_argument(
        "--scopes",
        action="store_true",
        help=f"also compare the scores of each {benchmark.words.scope}",
    )
    add_level(parser)
    add_resampling(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the result goes (default: standard output)"
    )
    benchmark.add_arguments(parser, "compare")
    add_format(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score all systems, compare, and print or write the result."""
    if len(arguments.systems) < 2:
        arguments.parser.error("give at least two files, the baseline first")
    from mwzeval.comparison import compare
    from mwzeval.files import write_atomically
    from mwzeval.measure import Resampling
    from mwzeval.report.comparison import comparison_document
    from mwzeval.report.formats import render

    systems = score_all(benchmark, arguments.systems, arguments)
    names = names_of(arguments.systems)
    comparison = compare(
        {name: of.scored for name, of in zip(names, systems.values(), strict=True)},
        resampling=Resampling(round(1 - arguments.alpha, 9), arguments.samples, arguments.seed),
        level=arguments.alpha,
        scopes=arguments.scopes,
        unit=benchmark.words.unit,
    )
    text = render(comparison_document(comparison, places=arguments.places), arguments.format)
    if arguments.output in (None, "-"):
        write_result(text, arguments.format)
    else:
        write_atomically(arguments.output, text)
    return 0


def score_all(
    benchmark: Benchmark, files: Sequence[str], arguments: argparse.Namespace
) -> dict[str, ScoredFile]:
    """Return all files scored; warnings go to standard error, what all have said once.

    Raises `InputError` with the problems of all files.
    """
    from mwzeval.report.text import warnings_text

    if len(set(files)) < len(files):
        arguments.parser.error("a file is given twice")
    systems: dict[str, ScoredFile] = {}
    problems: list[Problem] = []
    for file in files:
        found = _scored(benchmark, file, arguments)
        if isinstance(found, InputError):
            problems += found.problems
        else:
            systems[file] = found
    if problems:
        raise InputError(problems)
    texts = [warnings_text(system.warnings) for system in systems.values()]
    lines = dict.fromkeys(line for text in texts for line in text.splitlines(keepends=True))
    sys.stderr.write("".join(lines))
    return systems


def _scored(
    benchmark: Benchmark, file: str, arguments: argparse.Namespace
) -> ScoredFile | InputError:
    try:
        return benchmark.score(arguments.benchmark, file, arguments)
    except InputError as error:
        return error
