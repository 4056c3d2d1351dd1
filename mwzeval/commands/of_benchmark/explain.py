"""Tell why units lost: one in full, the worst, those with a reason, or how often each occurs."""

from __future__ import annotations

import argparse
import sys

from mwzeval.benchmark import Benchmark
from mwzeval.commands.explain import add_choice, listed


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    unit = benchmark.words.unit
    parser.add_argument("file", metavar="INPUT", help="the file of a system")
    parser.add_argument(
        "unit", nargs="?", metavar=unit.upper(), help=f"id of the {unit} to explain"
    )
    add_choice(parser, benchmark.words.units)
    benchmark.add_arguments(parser, "explain")


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the explanation, the list or the histogram."""
    from dataclasses import asdict

    from mwzeval.report.explanation_text import explanation_text
    from mwzeval.report.json import to_json
    from mwzeval.report.text import warnings_text

    if arguments.unit is not None and (arguments.worst or arguments.reason):
        arguments.parser.error(
            f"--worst and --reason choose {benchmark.words.units}: leave out "
            f"{benchmark.words.unit.upper()}"
        )
    system = benchmark.score(arguments.benchmark, arguments.file, arguments)
    sys.stderr.write(warnings_text(system.warnings))
    if arguments.unit is None:
        explanations = list(system.explain_all())
        units = benchmark.words.units
        print(listed(explanations, arguments, benchmark.reasons, units), end="")
        return 0
    explanation = system.explain(arguments.unit)
    if arguments.format == "json":
        print(to_json(asdict(explanation)), end="")
    else:
        heading = benchmark.words.goal.capitalize()
        print(explanation_text(explanation, goal=heading), end="")
    return 0
