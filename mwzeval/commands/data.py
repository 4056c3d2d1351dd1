"""Show, download or verify the corpus files; copy the example predictions.

status    which files are there
download  fetch the files of a corpus (default: of all) into the user's cache
verify    read all files and compare their checksums with the published ones
examples  copy the example predictions into a folder
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mwzeval.commands.arguments import add_data
from mwzeval.multiwoz.choices import SAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_data(actions.add_parser("status", help="which files are there"))
    download = actions.add_parser("download", help="fetch files into the user's cache")
    download.add_argument("corpus", nargs="?", metavar="CORPUS", help="default: all corpora")
    add_data(download)
    add_data(actions.add_parser("verify", help="compare checksums with the published ones"))
    examples = actions.add_parser("examples", help="copy the example predictions into a folder")
    examples.add_argument("folder", nargs="?", default="predictions", metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return 1 when `verify` finds a file that is not the published one, else 0."""
    from mwzeval import data_command
    from mwzeval.multiwoz.corpus import CORPORA, corpus_root, places

    if arguments.action == "examples":
        for path in data_command.examples(Path(arguments.folder)):
            print(path)
        return 0
    corpora = {name: places(layout) for name, layout in CORPORA.items() if name != SAMPLE}
    root = corpus_root("multiwoz-2.2", arguments.data, offline=arguments.offline)
    if arguments.action == "download":
        for path in data_command.download(root, corpora, arguments.corpus):
            print(path)
        return 0
    look = data_command.verify if arguments.action == "verify" else data_command.status
    states = look(root, corpora)
    print(data_command.format_states(root, states))
    return data_command.exit_code(states) if arguments.action == "verify" else 0
