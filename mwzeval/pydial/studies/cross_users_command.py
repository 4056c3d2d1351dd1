"""The verb `mwzeval pydial cross-users`."""

from __future__ import annotations

import argparse
from functools import partial

from mwzeval.arguments import add_files, add_format, file_of
from mwzeval.output import write_result

DESCRIPTION = (
    "Let what a run has learned, and the handcrafted policy, talk to several users about the same "
    "goals. Dialogues are kept in the run's folder, and not held again: after a change of a user's "
    "code remove those in DIR/users."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `cross-users`."""
    from mwzeval.conversation.models import add_model_options, add_request_options
    from mwzeval.conversation.pool import add_pool_options

    parser.set_defaults(interrupted="the same call goes on after the last dialogue")
    add_files(parser, "the folder of a run", "DIR", several=False)
    parser.add_argument(
        "--users",
        required=True,
        metavar="NAMES",
        help="agenda, openai:MODEL, package.module:Name, file.py:Name, with commas between",
    )
    for option in ("tasks", "policies"):
        parser.add_argument(f"--{option}", metavar="NAMES", help="default: those of the run")
    parser.add_argument("--tests", type=int, metavar="N", help="default: as in the run")
    parser.add_argument("--data", metavar="DIR", help="PyDial's files (default: MWZEVAL_DATA)")
    add_pool_options(parser)
    add_model_options(parser, "user", named_by="--users")
    add_request_options(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Hold the dialogues, and print the table."""
    from mwzeval.conversation.models import model_options
    from mwzeval.conversation.pool import TimeLimits
    from mwzeval.conversation.runs import run as hold_run
    from mwzeval.pydial.runs.run import TESTS, planned
    from mwzeval.pydial.studies.cross_users import cross_users, users_document
    from mwzeval.pydial.studies.transfer import learned_in
    from mwzeval.scores.sheets import printed

    plan = learned_in(file_of(arguments))
    for name in ("tasks", "policies"):
        if said := getattr(arguments, name):
            plan[name] = said.split(",")
    plan |= {key: said for key in ("tests", "data") if (said := getattr(arguments, key))}
    limits = TimeLimits(arguments.turn_seconds, arguments.dialogue_seconds)
    jobs, concurrency = arguments.jobs, arguments.concurrency
    hold = partial(hold_run, jobs=jobs, concurrency=concurrency, limits=limits, progress=False)
    results = cross_users(
        file_of(arguments),
        planned(**plan),
        tuple(dict.fromkeys(arguments.users.split(","))),
        plan.get("tests", TESTS),
        lambda setting, file, seed: hold(setting, file, seed=seed),
        model_options(arguments, "user"),
    )
    write_result(printed(users_document(results), arguments.format), arguments.format)
    return 0
