"""`mwzeval pydial estimate`: its arguments, and what it prints and draws."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from mwzeval.arguments import file_of
from mwzeval.errors import UsageError
from mwzeval.output import tell, write_result
from mwzeval.pydial.studies.sweep_command import format_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how success is estimated, beside which policies of a run are meant."""
    parser.set_defaults(interrupted=None)
    parser.add_argument(
        "--estimator",
        choices=("logistic", "boosting"),
        default="logistic",
        help="logistic regression (default) or gradient boosting on the belief",
    )
    parser.add_argument(
        "--calibration",
        choices=("platt", "isotonic"),
        default="platt",
        help="a logistic curve through the estimates (default), or any rising one",
    )
    parser.add_argument(
        "--learn-from",
        type=int,
        default=750,
        metavar="N",
        help="dialogues that the estimate is learned from and calibrated on (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="draw reliability, too: .png, .svg or .pdf"
    )


def run(arguments: argparse.Namespace, plan: Mapping[str, Any]) -> int:
    """Judge estimates of a `plan` (arguments of `run.planned`); return the exit code.

    Raises `UsageError` for senseless numbers, and what `estimated` raises.
    """
    from mwzeval.files.writing import write_atomically
    from mwzeval.pydial.runs.run import TESTS, planned
    from mwzeval.pydial.studies.reliability_figure import plot_reliability
    from mwzeval.pydial.studies.success_estimates import estimated, estimates_document
    from mwzeval.scores.sheets import printed

    picture = arguments.output
    kind = format_of(picture)
    if arguments.learn_from < 1:
        raise UsageError(f"the dialogues to learn from are 1 or more, not {arguments.learn_from}")
    judged = estimated(
        file_of(arguments),
        planned(**plan),
        estimator=arguments.estimator,
        calibration=arguments.calibration,
        learned_from=arguments.learn_from,
        tests=plan.get("tests", TESTS),
    )
    write_result(printed(estimates_document(judged), arguments.format), arguments.format)
    if picture is not None:
        write_atomically(picture, plot_reliability(judged, format_name=kind))
        tell(f"wrote {picture}")
    return 0
