"""Arguments that several PyDial commands share."""

from __future__ import annotations

import argparse
from typing import Any

from mwzeval.arguments import InputFile, add_data
from mwzeval.errors import shorten
from mwzeval.pydial.tasks import GOODBYES

MOST_SEEDS = 10_000
"""Maximum number of seeds in a run or a range. A larger number is probably a mistake."""
LONGEST_NUMBER = 100
"""Maximum number of digits in a number. Python cannot convert numbers with many more digits."""
POLICIES = "handcrafted, random, gp-sarsa, dqn, a2c, enac, dqn-modern, a2c-modern, ppo"


PLAN = (
    *("tasks", "policies", "dialogues", "seeds", "tests", "legacy", "goodbye"),
    *("data", "ontology", "entities", "compiled"),
)
"""The names of the arguments of `run.planned`."""


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the training and tests of a run."""
    parser.add_argument(
        "--tasks",
        type=names,
        default="all",
        metavar="NAMES",
        help="tasks: CR-1,SFR-3,…, Demo-CR-1,… (these need no data), or all (default): the "
        "18 tasks of the paper, or with --ontology the 6 tasks of that domain",
    )
    parser.add_argument(
        "--policies",
        type=names,
        default="all",
        metavar="NAMES",
        help=f"policies: some of {POLICIES}, separated by commas, or all (default)",
    )
    parser.add_argument(
        "--dialogues",
        type=numbers,
        default=(1000, 4000, 10_000),
        metavar="N,…",
        help="test policies after these numbers of training dialogues (default: 1000,4000,10000)",
    )
    parser.add_argument(
        "--seeds",
        type=seeds_named,
        default=10,
        metavar="SEEDS",
        help="number of seeds (counted from 0), or a list of seeds: 101-110 or 3,7,101-110 "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--tests",
        type=int,
        default=500,
        metavar="N",
        help="number of dialogues in each test (default: %(default)s)",
    )
    parser.add_argument(
        "--legacy", action="store_true", help="reproduce the errors of the original code"
    )
    parser.add_argument(
        "--goodbye",
        choices=GOODBYES,
        help="who may end dialogues in environments 2 and 4, which have no action masks "
        "(default: policy with --legacy, else user)",
    )
    add_domain(parser)


def add_domain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the files of published and custom domains."""
    add_data(parser)
    own = "ontology of your own domain; its tasks are Own-NAME-1 to Own-NAME-6"
    parser.add_argument(
        "--ontology", type=InputFile, metavar="FILE", help=f"NAME.json or NAME-rules.json, {own}"
    )
    parser.add_argument(
        "--entities",
        type=InputFile,
        metavar="FILE",
        help="entities of your own domain, as JSON or SQLite",
    )


def names(text: str) -> list[str]:
    """Split a comma-separated list of names."""
    return text.split(",")


def numbers(text: str) -> tuple[int, ...]:
    """Parse a comma-separated list of numbers. Raises `ArgumentTypeError` for other texts."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected numbers separated by commas, such as 1000,4000, not "{text}"'
        ) from None


def seeds_named(text: str) -> int | tuple[int, ...]:
    """Parse a number of seeds (10), or ranges and single seeds separated by commas (101-110,7).

    Raises `ArgumentTypeError` if the text has another form.
    """
    if text.isdecimal() and len(text) <= LONGEST_NUMBER:
        return int(text)
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        numbered = first.isdecimal() and (last.isdecimal() or not dash)
        if not numbered or max(len(first), len(last)) > LONGEST_NUMBER:
            raise argparse.ArgumentTypeError(
                "expected a number of seeds or a list of seeds, such as 10, 101-110 or 3,7, not "
                f"{shorten(repr(text))}"
            )
        start, stop = int(first), int(last or first)
        if not start <= stop < start + MOST_SEEDS:
            raise argparse.ArgumentTypeError(f"{part} is not a range of 1 to {MOST_SEEDS} seeds")
        seeds += range(start, stop + 1)
    return tuple(dict.fromkeys(seeds))


def plan_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a command that are given, as arguments of `run.planned`."""
    given = {key: getattr(arguments, key, None) for key in PLAN}
    return {key: value for key, value in given.items() if value is not None}
