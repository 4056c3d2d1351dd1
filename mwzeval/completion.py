"""Print what lets a shell complete verbs, options, benchmarks and files (needs shtab).

bash:  mwzeval completion bash > ~/.local/share/bash-completion/completions/mwzeval
zsh:   mwzeval completion zsh > DIR/_mwzeval      (DIR of $fpath)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from mwzeval.benchmark import benchmarks, names_of
from mwzeval.cli import whole_parser
from mwzeval.libraries import required
from mwzeval.output import write_result
from mwzeval.output_checks import READ, WRITTEN

SHELLS = ("bash", "zsh", "tcsh")
EXTRA = "completion"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return 0."""
    write_result(completion_script(arguments.shell), "text")
    return 0


def completion_script(shell: str) -> str:
    """Return the script of a shell. Raises `DependencyError` without shtab."""
    shtab = required("shtab", EXTRA)
    parser = whole_parser()
    names = [name for benchmark in benchmarks() for name in names_of(benchmark)]
    for action in _actions(parser):
        if action.dest == "benchmark":
            action.choices = names
        elif action.dest in READ or action.dest in WRITTEN:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script.rstrip() + "\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            action.help = None  # what help does not list is not completed
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action
