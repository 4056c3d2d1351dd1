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
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from mwzeval.arguments import add_data
from mwzeval.benchmark import BUILT_IN, Shelf, benchmarks, optional, plugin_errors
from mwzeval.errors import MwzevalError, UsageError, did_you_mean, printable, shorten
from mwzeval.files.cache import checksums_of, remembered_checksums
from mwzeval.files.downloads import DataRoot, embedded, matches
from mwzeval.files.writing import named_where_unwritable
from mwzeval.output import tell

ACTIONS = {
    "status": "which files are there",
    "download": "fetch files into the user's cache",
    "verify": "compare checksums with the published ones",
}
State = Literal["published", "different", "unverified", "unlisted", "missing"]
STATES = get_args(State)


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
    """Do it; return 1 when `verify` finds a file that is not the published one, else 0."""
    if arguments.action == "examples":
        for path in examples(Path(arguments.folder)):
            print(printable(str(path)))
        return 0
    found = chosen(shelves(arguments.data), arguments.corpus)
    if arguments.action == "download":
        for shelf in found:
            patterns = [pattern for of in shelf.corpora.values() for pattern in of]
            for path in shelf.root.fetch(shelf.root.published_matching(patterns)):
                print(printable(str(path)))
        return 0
    rereads = arguments.action == "verify"
    states = [file_states(shelf.root, shelf.corpora, reread=rereads) for shelf in found]
    shown = (
        f"{shelf.title}: {format_states(shelf.root, files)}\n"
        for shelf, files in zip(found, states, strict=True)
    )
    print("\n".join(shown), end="")
    return int(rereads and any(file.is_foreign for files in states for file in files))


def shelves(data: str | None) -> Iterator[Shelf]:
    """Yield the public files of every benchmark that has any."""
    for benchmark in benchmarks():
        if hasattr(benchmark, "shelf"):
            try:
                with plugin_errors(benchmark):
                    shelf: Shelf = optional(benchmark, "shelf")(data)
            except MwzevalError as error:
                if benchmark.name in BUILT_IN:
                    raise
                tell(f"warning: {error}")
            else:
                yield shelf


def chosen(shelves: Iterable[Shelf], name: str | None) -> list[Shelf]:
    """Return the shelf of a benchmark, or its part that is one corpus; all when `name` is None.

    Raises `UsageError` for an unknown name.
    """
    everything = list(shelves)
    if name is None:
        return everything
    for shelf in everything:
        if name == shelf.name:
            return [shelf]
        if name in shelf.corpora:
            return [shelf._replace(corpora={name: shelf.corpora[name]})]
    for benchmark in benchmarks():
        if name == benchmark.name:
            raise UsageError(
                f"the data of {benchmark.title} are no public files that could be fetched: name a "
                "folder with --data (docs/data.md)"
            )
    known = list(dict.fromkeys(n for shelf in everything for n in (shelf.name, *shelf.corpora)))
    raise UsageError(
        f'unknown benchmark or corpus "{shorten(name)}"{did_you_mean(name, known)} '
        f"(known: {', '.join(known)})"
    )


def examples(destination: Path) -> list[Path]:
    """Copy the embedded example predictions into a folder and return the copies.

    Raises `UsageError` when a copy exists already (nothing is copied then), `MwzevalError` when the
    folder cannot be written.
    """
    origin = embedded("predictions")
    files = sorted(path for path in origin.rglob("*") if path.is_file())
    copies = [destination / path.relative_to(origin) for path in files]
    if taken := [str(copy) for copy in copies if os.path.lexists(copy)]:
        raise UsageError(
            f"nothing was copied, because these exist: {', '.join(taken)}; name another folder, or "
            "remove them"
        )
    with named_where_unwritable(destination):
        for path, copy in zip(files, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return copies


class FileState(NamedTuple):
    """A file in a data root, and whether it is the published one.

    "different" is a published file with other content, "unverified" a published one whose checksums
    are not listed, "unlisted" a file that a corpus would read but that nobody published. `expected`
    is the git blob id of the published file, `found` that of the file in the root (None: not
    known).
    """

    local: str
    state: State
    corpora: tuple[str, ...]
    expected: str | None
    found: str | None

    @property
    def is_foreign(self) -> bool:
        """Whether scores that use this file are not those of the published data."""
        return self.state in ("different", "unlisted")


def file_states(
    root: DataRoot, corpora: Mapping[str, tuple[str, ...]], *, reread: bool = False
) -> list[FileState]:
    """Return the state of each file of these corpora; without `reread`, checksums are cached.

    `corpora` are the names of corpora → patterns of the places that they read.
    """
    published = {file.local: file for file in root.published}
    found = (path for of in corpora.values() for pattern in of for path in root.files_at(pattern))
    checksums_in = checksums_of if reread else remembered_checksums
    states = []
    for local in sorted({*published, *(path.relative_to(root.path).as_posix() for path in found)}):
        users = tuple(name for name, patterns in corpora.items() if matches(local, patterns))
        if not users:
            continue
        file, place = published.get(local), root.path / local
        checksums = checksums_in(place) if place.is_file() else None
        state: State
        if checksums is None:
            state = "missing"
        elif file is None:
            state = "unlisted"
        elif not file.is_verifiable:
            state = "unverified"
        else:
            state = "published" if file.has(checksums) else "different"
        expected = file.git_blob if file else None
        states.append(
            FileState(local, state, users, expected, checksums.git_blob if checksums else None)
        )
    return states


def format_states(root: DataRoot, states: Iterable[FileState]) -> str:
    """Return the states as a table, with both checksums of a file that is not the published one.

    It ends with one line per corpus, and what to do.
    """
    rows = list(states)
    explained = (
        "the user's cache; missing files are downloaded on first use"
        if root.origin == "cache"
        else f"given by {root.origin}; used as it is"
    )
    header = "state", "file", "corpora"
    table = [header, *((row.state, row.local, ", ".join(row.corpora)) for row in rows)]
    width, wide, _ = (max(map(len, column)) for column in zip(*table, strict=True))
    first, *shown = [f"{state:<{width}}  {file:<{wide}}  {of}" for state, file, of in table]
    lines = [f"{root.path} ({explained})", "", first]
    for row, line in zip(rows, shown, strict=True):
        lines.append(line)
        if row.is_foreign:
            indent = " " * (width + 4)
            expected = row.expected or "(not among the published files)"
            lines.append(f"{indent}expected git blob {expected}")
            lines.append(f"{indent}found    git blob {row.found}")
    lines.append("")
    names = dict.fromkeys(name for row in rows for name in row.corpora)
    for name in names:
        counts = Counter(row.state for row in rows if name in row.corpora)
        summary = ", ".join(
            f"{counts[state]} {state}" for state in get_args(State) if counts[state]
        )
        lines.append(f"{name:<{max(map(len, names))}}  {summary}")
    if any(row.is_foreign for row in rows):
        lines += [
            "",
            "Scores computed with files that are not the published ones are not scores on the "
            "published data; the checksum in their signature shows it.",
        ]
    if root.origin == "cache" and any(row.state == "different" for row in rows):
        lines.append("What differs in the cache is not used, but downloaded again when needed.")
    return "\n".join(map(printable, lines))
