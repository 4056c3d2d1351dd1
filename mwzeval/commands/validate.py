"""List every problem of a file as JSON, without scoring it.

Exit code 0 when it can be scored (warnings may be listed), 2 when it cannot.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, file_of
from mwzeval.commands.systems.scoring import scorer_of
from mwzeval.output import write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    parser.set_defaults(status="checking")
    add_files(parser, "what is checked", several=False)
    benchmark.add_arguments(parser, "validate")
    parser.add_argument("--strict", action="store_true", help="let warnings fail as well")


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the problems; return 2 when the file cannot be scored."""
    from mwzeval.errors import InputError
    from mwzeval.report.json import to_json
    from mwzeval.scores.report import plain_problem

    file = file_of(arguments)
    try:
        problems = scorer_of(benchmark, arguments).validate(file)
    except InputError as error:
        problems = list(error.problems)
    failed = any(problem.severity == "error" or arguments.strict for problem in problems)
    result = {"valid": not failed, "problems": [plain_problem(problem) for problem in problems]}
    write_result(to_json(result), "json")
    return 2 if failed else 0
