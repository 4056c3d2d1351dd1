"""List every problem of a file as JSON, without scoring it.

Exit code 0 when it can be scored (warnings may be listed), 2 when it cannot.
"""

from __future__ import annotations

import argparse

from mwzeval.benchmark import Benchmark
from mwzeval.commands.arguments import add_input, input_of


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_input(parser)
    benchmark.add_arguments(parser, "validate")
    parser.add_argument("--strict", action="store_true", help="errors where scoring has a way out")


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the problems; return 2 when there is an error among them."""
    from mwzeval.errors import InputError
    from mwzeval.report.json import plain_problem, to_json

    file = input_of(arguments)
    try:
        problems = benchmark.validate(arguments.benchmark, file, arguments)
    except InputError as error:
        problems = list(error.problems)
    failed = any(problem.severity == "error" for problem in problems)
    result = {"valid": not failed, "problems": [plain_problem(problem) for problem in problems]}
    print(to_json(result), end="")
    return 2 if failed else 0
