"""Show, download or verify the public files of all benchmarks; copy the example predictions.

status    which files are there
download  fetch files into the user's cache
verify    read all files and compare their checksums with the published ones
examples  copy the example predictions into a folder

The first three are about all benchmarks with public files, or about one benchmark or corpus:
  mwzeval data download NAME
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mwzeval.arguments import add_data
from mwzeval.errors import printable

if TYPE_CHECKING:
    from mwzeval.benchmark import Shelf

ACTIONS = {
    "status": "which files are there",
    "download": "fetch files into the user's cache",
    "verify": "compare checksums with the published ones",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, what in ACTIONS.items():
        action = actions.add_parser(name, help=what)
        action.add_argument(
            "corpus", nargs="?", metavar="NAME", help="a benchmark or corpus (default: all)"
        )
        add_data(action)
    examples = actions.add_parser("examples", help="copy the example predictions into a folder")
    examples.add_argument("folder", nargs="?", default="predictions", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return 1 when `verify` finds a file that is not the published one, else 0."""
    from mwzeval import data_command

    if arguments.action == "examples":
        for path in data_command.examples(Path(arguments.folder)):
            print(printable(str(path)))
        return 0
    shelves = data_command.chosen(_shelves(arguments), arguments.corpus)
    if arguments.action == "download":
        for shelf in shelves:
            for path in data_command.download(shelf.root, shelf.corpora):
                print(printable(str(path)))
        return 0
    verify = arguments.action == "verify"
    look = data_command.verify if verify else data_command.status
    states = [look(shelf.root, shelf.corpora) for shelf in shelves]
    shown = (
        f"{shelf.title}: {data_command.format_states(shelf.root, of_shelf)}\n"
        for shelf, of_shelf in zip(shelves, states, strict=True)
    )
    print("\n".join(shown), end="")
    return max(map(data_command.exit_code, states)) if verify else 0


def _shelves(arguments: argparse.Namespace) -> list[Shelf]:
    """Return the files of every benchmark that has a table of public files."""
    from mwzeval.benchmark import benchmark_named, known_benchmarks

    shelves = (
        benchmark_named(known.name).shelf(arguments.data, offline=arguments.offline)
        for known in known_benchmarks()
    )
    return [shelf for shelf in shelves if shelf is not None]
