"""List every problem of a file, without scoring it.

On a terminal the output is text; problems that differ only in their location share a line. In a
pipe or file the output is JSON with every location. The exit code is 0 if the file can be scored
(possibly with warnings), and 2 if it cannot.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from mwzeval.arguments import add_files, file_of
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import recognising
from mwzeval.errors import InputError, Problem
from mwzeval.output import warning_lines, write_result

TEXT, JSON = "text", "json"


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    add_files(parser, "the file to check", several=False)
    benchmark.add_arguments(parser, "validate")
    parser.add_argument("--strict", action="store_true", help="also fail if there are warnings")
    parser.add_argument(
        "-f",
        "--format",
        choices=(TEXT, JSON),
        help="output format (default: text on a terminal, otherwise json)",
    )


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.scores.report import plain_problem
    from mwzeval.text import to_json

    file = file_of(arguments)
    try:
        with recognising(benchmark, file):
            problems = benchmark.scorer(arguments).validate(file)
            if any(problem.severity == "error" for problem in problems):
                raise InputError(problems)
    except InputError as error:
        problems = list(error.problems)
    failed = any(problem.severity == "error" or arguments.strict for problem in problems)
    chosen = arguments.format or (TEXT if sys.stdout.isatty() else JSON)
    if chosen == TEXT:
        lines = [*_lines(file, problems, failed)]
        lines += [f"\n{benchmark.input_help}"] if failed else []
        lines += ["\n`-f json` lists each problem with its location."] if problems else []
        write_result("".join(f"{line}\n" for line in lines), TEXT)
    else:
        result = {"valid": not failed, "problems": [plain_problem(problem) for problem in problems]}
        write_result(to_json(result), JSON)
    return 2 if failed else 0


def _lines(file: str, problems: Sequence[Problem], failed: bool) -> Iterator[str]:
    found = {what: [p for p in problems if p.severity == what] for what in ("error", "warning")}
    errors, warnings = found.values()
    counts = [
        f"{count:,} {what}{'s' * (count > 1)}"
        for what, problems in found.items()
        if (count := sum(problem.count for problem in problems))
    ]
    can = "cannot" if failed else "can"
    yield f"{file} {can} be scored: {' and '.join(counts) or 'no problems'}"
    if errors:
        lines = str(InputError(errors, can_be_validated=False)).splitlines()
        yield from (f"error: {line}" for line in lines)
    yield from warning_lines([warnings], can_be_validated=False)
