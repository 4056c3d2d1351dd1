"""List every problem of a file as JSON, without scoring it.

Exit code 0 when it can be scored (warnings may be listed).
"""

from __future__ import annotations

import argparse
import json

from mwzeval.benchmark import Benchmark


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("file", nargs="?", metavar="INPUT", help="the same as -i")
    parser.add_argument("-i", "--input", metavar="INPUT", help="what is checked")
    benchmark.add_arguments(parser, "validate")
    parser.add_argument("--strict", action="store_true", help="errors where scoring has a way out")


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the problems; return the benchmark's code when there is an error among them."""
    from mwzeval.errors import InputError
    from mwzeval.report.json import plain_problem

    file = arguments.input or arguments.file
    if file is None or (arguments.input and arguments.file):
        arguments.parser.error("name one file to check: -i INPUT")
    try:
        problems = benchmark.validate(arguments.benchmark, file, arguments)
    except InputError as error:
        problems = list(error.problems)
    failed = any(problem.severity == "error" for problem in problems)
    result = {"valid": not failed, "problems": [plain_problem(problem) for problem in problems]}
    print(json.dumps(result, indent=2, ensure_ascii=False))
    return benchmark.bad_input if failed else 0
