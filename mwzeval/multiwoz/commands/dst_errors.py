"""Count how often each slot is correct, missing, spurious or wrong, with frequent confusions.

A slot is missing when only the annotation has it, spurious when only the prediction has it, and
wrong when the values differ.
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import add_files, add_format, file_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import add_dst_rules, add_reading, scorer_of
from mwzeval.output import warnings_behind, write_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.set_defaults(benchmark=NAME)
    add_files(parser, "the file of a system", several=False)
    add_dst_rules(parser, "exact")
    add_reading(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a table for each rule; return 0. Raises `UsageError` for a file without states."""
    from mwzeval.multiwoz.tracking.joint_goals import state_errors
    from mwzeval.scores.sheets import printed

    arguments.dst_rule = arguments.dst_rule or ["exact"]
    file = file_of(arguments)
    report = scorer_of(arguments).score(file).report()
    document = state_errors(report)
    if not document.sheets:
        raise UsageError(f"{file} has turns without a state: there are no errors to count")
    with warnings_behind(report.warnings):
        write_result(printed(document, arguments.format), arguments.format)
    return 0
