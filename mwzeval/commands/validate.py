"""List every problem of a file, without scoring it.

A terminal gets text, in which problems that differ only in their place are one line; a pipe or a
file gets JSON with the place of each. The exit code is 0 when the file can be scored (warnings may
be listed), 2 when it cannot.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, file_of
from mwzeval.commands.systems import scorer_of
from mwzeval.errors import InputError, Problem
from mwzeval.output import warning_lines, write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark

TEXT, JSON = "text", "json"
UNKNOWN_KEY = "unknown-key"
"""The kind of warnings of which the text lists every key: what is misspelled is not used."""


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_files(parser, "what is checked", several=False)
    benchmark.add_arguments(parser, "validate")
    parser.add_argument("--strict", action="store_true", help="let warnings fail as well")
    parser.add_argument(
        "-f",
        "--format",
        choices=(TEXT, JSON),
        help="what is printed (default: text on a terminal, otherwise json)",
    )


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the problems; return 2 when the file cannot be scored."""
    from mwzeval.scores.report import plain_problem
    from mwzeval.text import to_json

    file = file_of(arguments)
    try:
        problems = scorer_of(benchmark, arguments).validate(file)
    except InputError as error:
        problems = list(error.problems)
    failed = any(problem.severity == "error" or arguments.strict for problem in problems)
    chosen = arguments.format or (TEXT if sys.stdout.isatty() else JSON)
    if chosen == TEXT:
        text = "".join(f"{line}\n" for line in _lines(file, problems, failed, benchmark))
        write_result(text, TEXT)
    else:
        result = {"valid": not failed, "problems": [plain_problem(problem) for problem in problems]}
        write_result(to_json(result), JSON)
    return 2 if failed else 0


def _lines(
    file: str, problems: Sequence[Problem], failed: bool, benchmark: Benchmark
) -> Iterator[str]:
    """Yield the verdict, a line for each group of problems, and what a correct file looks like."""
    found: Counter[str] = Counter()
    for problem in problems:
        found[problem.severity] += problem.count
    counts = [
        f"{found[severity]:,} {severity}{'s' * (found[severity] > 1)}"
        for severity in ("error", "warning")
        if found[severity]
    ]
    can = "cannot" if failed else "can"
    yield f"{file} {can} be scored: {' and '.join(counts) or 'no problems'}"
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        lines = str(InputError(errors, can_be_validated=False)).splitlines()
        yield from (f"error: {line}" for line in lines)
    warnings = [problem for problem in problems if problem.severity == "warning"]
    keys = [problem for problem in warnings if problem.kind == UNKNOWN_KEY]
    others = [problem for problem in warnings if problem.kind != UNKNOWN_KEY]
    yield from warning_lines([keys], can_be_validated=False)
    yield from (line for line in warning_lines([others]) if not line.startswith("`"))
    if failed:
        yield f"\n{benchmark.input_help}"
    if problems:
        yield "\n`-f json` lists each problem with its place."
