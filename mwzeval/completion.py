"""Print a script for shell completion of commands, options and files (requires shtab).

bash:  mwzeval completion bash > ~/.local/share/bash-completion/completions/mwzeval
zsh:   mwzeval completion zsh > DIR/_mwzeval      (DIR of $fpath)
"""

from __future__ import annotations

import argparse

from mwzeval.cli import command_parser
from mwzeval.libraries import required
from mwzeval.output import write_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), metavar="SHELL")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return 0. Raises `DependencyError` without shtab."""
    from mwzeval.arguments import InputFile  # imports NumPy, which `--help` does not need

    shtab = required("shtab", "completion")
    parsers: list[argparse.ArgumentParser] = [command_parser()]
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                action.help = None  # otherwise shtab completes only what `--help` lists
                parsers += action.choices.values()
            elif action.type is InputFile or action.dest == "output":
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    write_result(f"{shtab.complete(parsers[0], shell=arguments.shell).rstrip()}\n", "text")
    return 0
