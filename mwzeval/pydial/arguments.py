"""Arguments that several verbs of PyDial have."""

from __future__ import annotations

import argparse
from typing import Any

from mwzeval.arguments import InputFile
from mwzeval.errors import shorten
from mwzeval.pydial.tasks import GOODBYES

MOST_SEEDS = 10_000
"""In a run or a range, which is mistyped otherwise."""
LONGEST_NUMBER = 100
"""In digits; of much longer ones Python makes no number."""
POLICIES = "handcrafted, random, gp-sarsa, dqn, a2c, enac, dqn-modern, a2c-modern, ppo"


PLAN = (
    *("tasks", "policies", "dialogues", "seeds", "tests", "legacy", "goodbye"),
    *("data", "ontology", "entities", "compiled"),
)
"""Arguments of `run.planned`."""


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add what a run trains and tests."""
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
        help="numbers of training dialogues after which policies are tested (default: "
        "1000,4000,10000)",
    )
    parser.add_argument(
        "--seeds",
        type=seeds_named,
        default=10,
        metavar="SEEDS",
        help="number of seeds, from 0 on, or the seeds themselves: 101-110 or 3,7,101-110 "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--tests",
        type=int,
        default=500,
        metavar="N",
        help="number of dialogues of a test (default: %(default)s)",
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
    """Add where the files of domains are, and those of a domain of one's own."""
    parser.add_argument(
        "--data", metavar="DIR", help="folder with PyDial's files (default: MWZEVAL_DATA)"
    )
    add_own(parser)


def add_own(parser: argparse.ArgumentParser) -> None:
    """Add the files of a domain of one's own."""
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
    """Return names with commas between."""
    return text.split(",")


def numbers(text: str) -> tuple[int, ...]:
    """Return numbers with commas between. Raises `ArgumentTypeError` for anything else."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected numbers separated by commas, such as 1000,4000, not "{text}"'
        ) from None


def seeds_named(text: str) -> int | tuple[int, ...]:
    """Return how many seeds, or which: 10, 101-110, or both and single ones with commas between.

    Raises `ArgumentTypeError` for anything else.
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
    """Return what a run trains and tests, as arguments of `run.planned`, where it is given."""
    given = {key: getattr(arguments, key, None) for key in PLAN}
    return {key: value for key, value in given.items() if value is not None}
