"""Parse the commands that documents show as a shell does."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from mwzeval.cli import command_parser


class Ran(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
"""The fixture `run`, which runs `mwzeval` with the given arguments."""

VERBS = {"evaluate.py": "evaluate", "add_slot_domains.py": "add-slot-domains"}


def unfolded(word: str) -> list[str]:
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", word)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(choice) for choice in product(*choices)]


def words(command: str) -> list[str]:
    """Return the arguments for `mwzeval`, with `{a,b}` expanded as in a shell."""
    split = shlex.split(command, comments=True)
    program, *arguments = [argument for word in split for argument in unfolded(word)]
    if program == "python":
        return [VERBS[arguments[0]], *arguments[1:]]
    assert program == "mwzeval"
    return arguments


def parser_of(verb: str, arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of a verb for a command with these arguments."""
    for action in command_parser([verb, *arguments])._actions:
        if isinstance(action, argparse._SubParsersAction):
            parser: argparse.ArgumentParser = action.choices[verb]
    return parser
