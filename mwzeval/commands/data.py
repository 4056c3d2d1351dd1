"""Show, download or verify the public files of all benchmarks; copy the example predictions.

`mwzeval data download NAME` downloads one benchmark or corpus; without NAME, all of them.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from mwzeval.arguments import add_data
from mwzeval.benchmark import BUILT_IN, Benchmark, benchmarks, plugin_errors
from mwzeval.errors import MwzevalError, UsageError, printable, unknown
from mwzeval.files.downloads import STATES, DataRoot, FileState, embedded, file_states
from mwzeval.files.writing import named_where_unwritable
from mwzeval.output import notify

ACTIONS = {
    "status": "list the files and whether they are present",
    "download": "download files into the user's cache",
    "verify": "read all files and compare their checksums with the published ones",
}
FOREIGN = (
    "Scores computed with files that differ are not comparable with scores on the published data; "
    "the checksum in the signature distinguishes them."
)


Shelf: TypeAlias = tuple[Benchmark, DataRoot]
"""A benchmark and its public files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    """Run the chosen action; return 1 if `verify` finds a file that was changed, else 0."""
    if arguments.action == "examples":
        for path in examples(Path(arguments.folder)):
            print(printable(str(path)))
        return 0
    found = chosen(shelves(arguments.data), arguments.corpus)
    if arguments.action == "download":
        for _, root in found:
            patterns = [pattern for group in root.corpora.values() for pattern in group]
            for path in root.fetch(root.published_matching(patterns)):
                print(printable(str(path)))
        return 0
    rereads, has_foreign = arguments.action == "verify", False
    shown = []
    for benchmark, root in found:
        states = file_states(root, reread=rereads)
        shown.append(f"{benchmark.title}: {format_states(root, states)}\n")
        has_foreign |= any(file.is_foreign for file in states)
    print("\n".join(shown), end="")
    return int(rereads and has_foreign)


def shelves(data: str | None) -> Iterator[Shelf]:
    """Yield the public files of every benchmark that has any."""
    for benchmark in benchmarks():
        try:
            with plugin_errors(benchmark):
                root: Any = benchmark.shelf(data)
            if root is not None and not _is_data_root(root):
                raise MwzevalError(
                    f"the plug-in {benchmark.title} is wrong: `shelf` must return a DataRoot "
                    "or None"
                )
        except MwzevalError as error:
            if benchmark.name in BUILT_IN:
                raise
            notify(f"warning: {error}")
            continue
        if root is not None:
            yield benchmark, root


def _is_data_root(root: Any) -> bool:
    return (
        isinstance(root, DataRoot)
        and isinstance(root.corpora, Mapping)
        and all(isinstance(patterns, tuple) for patterns in root.corpora.values())
    )


def chosen(shelves: Iterable[Shelf], name: str | None) -> list[Shelf]:
    """Return the files of a benchmark or corpus; without a name, the files of all benchmarks.

    Raises:
        UsageError: For an unknown name.
    """
    everything = list(shelves)
    if name is None:
        return everything
    for benchmark, root in everything:
        if name == benchmark.name:
            return [(benchmark, root)]
        if name in root.corpora:
            return [(benchmark, replace(root, corpora={name: root.corpora[name]}))]
    for benchmark in benchmarks():
        if name == benchmark.name:
            raise UsageError(
                f"mwzeval does not list or download public files of {benchmark.title} "
                "(docs/installing.md#data)"
            )
    known = (n for benchmark, root in everything for n in (benchmark.name, *root.corpora))
    raise UsageError(unknown("benchmark or corpus", name, known))


def examples(destination: Path) -> list[Path]:
    """Copy the example predictions of all benchmarks into a folder and return the copies.

    Raises `UsageError` if a copy already exists; then no file is copied. Raises `MwzevalError` if
    the folder cannot be written.
    """
    origins = [
        embedded("predictions"),
        *filter(None, (benchmark.examples for benchmark in benchmarks())),
    ]
    copies = {
        destination / path.relative_to(origin): path
        for origin in origins
        for path in sorted(origin.rglob("*"))
        if path.is_file()
    }
    if existing := [str(copy) for copy in copies if os.path.lexists(copy)]:
        raise UsageError(
            f"nothing was copied: {len(existing)} of the files already exist, such as "
            f"{existing[0]}; name another folder"
        )
    with named_where_unwritable(destination):
        for copy, path in copies.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return [*copies]


def format_states(root: DataRoot, rows: Sequence[FileState]) -> str:
    """Return a table with the state of each file, and advice about files that differ."""
    explained = (
        "the user's cache; missing files are downloaded on first use"
        if root.origin == "cache"
        else f"given by {root.origin}; nothing is downloaded into it"
    )
    width = max(map(len, ("state", *(row.state for row in rows))))
    wide = max(map(len, ("file", *(row.local for row in rows))))
    table = f"{{:<{width}}}  {{:<{wide}}}  {{}}".format
    lines = [f"{root.path} ({explained})", "", table("state", "file", "corpora")]
    for row in rows:
        lines.append(table(row.state, row.local, ", ".join(row.corpora)))
        if row.is_foreign:
            expected = row.expected or "(not among the published files)"
            lines.append(f"{'':{width + 4}}expected git blob {expected}")
            lines.append(f"{'':{width + 4}}found    git blob {row.found}")
    lines.append("")
    names = dict.fromkeys(name for row in rows for name in row.corpora)
    for name in names:
        counts = Counter(row.state for row in rows if name in row.corpora)
        summary = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
        lines.append(f"{name:<{max(map(len, names))}}  {summary}")
    if any(row.is_foreign for row in rows):
        lines += ["", FOREIGN]
    if root.origin == "cache" and any(row.state == "different" for row in rows):
        lines.append(
            "Files in the cache that differ are not used; they are downloaded again when needed."
        )
    return "\n".join(map(printable, lines))
