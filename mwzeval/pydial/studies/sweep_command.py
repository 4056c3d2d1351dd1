"""`mwzeval pydial sweep`: its arguments, and what it prints and draws."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from mwzeval.arguments import InputFile, file_of
from mwzeval.output import tell, write_result
from mwzeval.pydial.tasks import USERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is swept over, beside which policies of a run are meant."""
    parser.add_argument(
        "--errors",
        type=_rates,
        metavar="PERCENT,…",
        help="how often the best hypothesis is wrong (default: 0,10,20,30,40,50)",
    )
    parser.add_argument(
        "--users",
        metavar="NAMES",
        help=f"some of {', '.join(USERS)}, or all (default: those of training)",
    )
    parser.add_argument(
        "--user-parameters",
        type=InputFile,
        action="append",
        default=[],
        metavar="FILE",
        help="also users of your own: ranges of their parameters, and their patience (JSON)",
    )
    parser.add_argument("--figure", choices=("success", "reward"), default="success")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="draw it, too: .png, .svg or .pdf, of --figure"
    )


def _rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected percentages with commas between, such as 0,15,30, not "{text}"'
        ) from None


def run(arguments: argparse.Namespace, plan: Mapping[str, Any]) -> int:
    """Sweep, with the policies of a `plan` (arguments of `run.planned`); return the exit code."""
    from mwzeval.files.writing import write_atomically
    from mwzeval.pydial.runs.run import TESTS, planned
    from mwzeval.pydial.studies.sweep import ERRORS, sweep, sweep_document
    from mwzeval.pydial.studies.sweep_figure import plot_sweep
    from mwzeval.pydial.studies.user_files import read_user
    from mwzeval.scores.sheets import printed

    picture = arguments.output
    kind = format_of(picture)
    own = dict(map(read_user, arguments.user_parameters))
    said = () if arguments.users is None else tuple(arguments.users.split(","))
    users = [name for each in said for name in (USERS if each == "all" else (each,))]
    swept = sweep(
        file_of(arguments),
        planned(**plan),
        errors=arguments.errors or ERRORS,
        users=users,
        own=own,
        tests=plan.get("tests", TESTS),
    )
    write_result(printed(sweep_document(swept), arguments.format), arguments.format)
    if picture is not None:
        write_atomically(picture, plot_sweep(swept, figure=arguments.figure, format_name=kind))
        tell(f"wrote {picture}")
    return 0


def format_of(picture: str | None) -> str:
    """Return the format of a picture that is to be written; png for none.

    Raises `UsageError` for an unknown one, `DependencyError` without matplotlib.
    """
    from mwzeval.report.figures import check_format

    if picture is None:
        return "png"
    kind = PurePath(picture).suffix.removeprefix(".") or "png"
    check_format(kind)
    return kind
