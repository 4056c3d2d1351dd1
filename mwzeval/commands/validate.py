"""List every problem of a predictions file as JSON, without scoring it.

Exit code 0 when it can be scored (warnings may be listed), 2 when it cannot.
"""

from __future__ import annotations

import argparse

from mwzeval.commands.arguments import add_input, add_reading, input_of, reading


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_input(parser)
    add_reading(parser)
    parser.add_argument(
        "-d", "--dst", action="store_true", help="check for state tracking alone: without responses"
    )
    parser.add_argument("--strict", action="store_true", help="let warnings fail as well")


def run(arguments: argparse.Namespace) -> int:
    """Print the problems; return 2 when there is an error among them."""
    from mwzeval.errors import InputError
    from mwzeval.evaluator import Evaluator
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.json import plain_problem, to_json

    file = input_of(arguments)
    evaluator = Evaluator(
        dst=arguments.dst,
        **reading(arguments),
    )
    try:
        predictions = read_predictions(file)
        problems = evaluator.validate(predictions, file=file)
    except InputError as error:
        problems = list(error.problems)
    failed = any(problem.severity == "error" or arguments.strict for problem in problems)
    result = {"valid": not failed, "problems": [plain_problem(problem) for problem in problems]}
    print(to_json(result), end="")
    return 2 if failed else 0
