"""Test the policies of a run in other environments (by default 1, 3 and 6: Table 8 of the paper),
at other error rates, and with other users. Tests are saved in the run's folder and not repeated. If
you change the code of a user, remove the tests of this user in DIR/users.
"""

from __future__ import annotations

import argparse
from pathlib import PurePath
from typing import Any

from mwzeval.arguments import InputFile, add_files, add_format, file_of
from mwzeval.output import write_output, write_result
from mwzeval.pydial.arguments import add_domain, names, numbers, plan_of, seeds_named
from mwzeval.pydial.tasks import USERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from mwzeval.conversation.models import add_model_options, add_request_options
    from mwzeval.conversation.pool import add_pool_options

    parser.set_defaults(
        interrupted="repeat the same command to resume after the last finished test"
    )
    add_files(parser, "the folder of a run", "DIR", several=False)
    for option in ("--tasks", "--policies"):
        parser.add_argument(option, type=names, metavar="NAMES", help="default: as in the run")
    parser.add_argument(
        "--dialogues",
        type=numbers,
        metavar="N,…",
        help="numbers of training dialogues; the policies after the largest number are tested "
        "(default: as in the run)",
    )
    parser.add_argument(
        "--seeds", type=seeds_named, metavar="SEEDS", help="as for `run` (default: as in the run)"
    )
    parser.add_argument("--tests", type=int, metavar="N", help="default: as in the run")
    add_domain(parser)
    conditions = parser.add_argument_group("conditions")
    conditions.add_argument(
        "--in",
        dest="tested_in",
        type=names,
        metavar="NAMES",
        help="tasks of the domain in which policies are tested (default without other "
        "conditions: environments 1, 3 and 6)",
    )
    conditions.add_argument(
        "--errors",
        type=_rates,
        default=(),
        metavar="PERCENT,…",
        help="semantic error rates in %%, such as 0,15,30 (default: as in training)",
    )
    conditions.add_argument(
        "--users",
        type=names,
        default=[],
        metavar="NAMES",
        help=f"some of {', '.join(USERS)}, or all; agenda, openai:MODEL, package.module:Name "
        "or file.py:Name (default: as in training)",
    )
    conditions.add_argument(
        "--user-parameters",
        type=InputFile,
        action="append",
        default=[],
        metavar="FILE",
        help="JSON file with your own parameters of the simulated user (ranges and patience), to "
        "test with as well",
    )
    parser.add_argument("--figure", choices=("success", "reward"), default="success")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="output file for the plot of the scores by error rate: .png, .svg or .pdf",
    )
    add_pool_options(parser)
    add_model_options(parser, "user", named_by="--users")
    add_request_options(parser)
    add_format(parser)


def _rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected percentages separated by commas, such as 0,15,30, not "{text}"'
        ) from None


def run(arguments: argparse.Namespace) -> int:
    from mwzeval.conversation.models import model_options
    from mwzeval.conversation.pool import TimeLimits
    from mwzeval.conversation.runs import run as hold
    from mwzeval.pydial.curves import plot_retests
    from mwzeval.pydial.retest import LiveUsers, plan_of_run, retest
    from mwzeval.pydial.run import TESTS, planned
    from mwzeval.pydial.tables import retest_document
    from mwzeval.pydial.user_parameters import read_user
    from mwzeval.report.figures import check_format
    from mwzeval.scores.sheets import printed

    picture = arguments.output
    kind = PurePath(picture or "a.png").suffix.removeprefix(".") or "png"
    if picture is not None:
        check_format(kind)
    plan = plan_of_run(file_of(arguments)) | plan_of(arguments)
    limits = TimeLimits(arguments.turn_seconds, arguments.dialogue_seconds)
    holding: dict[str, Any] = {"jobs": arguments.jobs, "concurrency": arguments.concurrency}
    live = LiveUsers(
        lambda setting, file, seed: hold(
            setting, file, seed=seed, limits=limits, progress=False, **holding
        ),
        model_options(arguments, "user"),
    )
    retests = retest(
        file_of(arguments),
        planned(**plan),
        tested_in=arguments.tested_in,
        errors=arguments.errors,
        users=[user for name in arguments.users for user in (USERS if name == "all" else (name,))],
        own=dict(map(read_user, arguments.user_parameters)),
        tests=plan.get("tests", TESTS),
        live=live,
    )
    document = retest_document(retests)
    write_result(printed(document, arguments.format), arguments.format)
    if picture is not None:
        content = plot_retests(document.records, figure=arguments.figure, format_name=kind)
        write_output(picture, content)
    return 0
