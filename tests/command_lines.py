"""Commands as documents show them, taken apart as a shell does."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from mwzeval.cli import command_parser


class Ran(NamedTuple):
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
"""The fixture `run`: `mwzeval` with these words."""

VERBS = {"evaluate.py": "evaluate", "add_slot_domains.py": "add-slot-domains"}


def unfolded(word: str) -> list[str]:
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", word)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(choice) for choice in product(*choices)]


def words(command: str) -> list[str]:
    """Return the arguments for `mwzeval`, `{a,b}` unfolded as a shell does."""
    split = shlex.split(command, comments=True)
    program, *arguments = [each for word in split for each in unfolded(word)]
    if program == "python":
        return [VERBS[arguments[0]], *arguments[1:]]
    assert program == "mwzeval"
    return arguments


def parser_of(verb: str, arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of a verb, as for a command with these arguments."""
    for action in command_parser([verb, *arguments])._actions:
        if isinstance(action, argparse._SubParsersAction):
            parser: argparse.ArgumentParser = action.choices[verb]
    return parser
