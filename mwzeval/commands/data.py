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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mwzeval.arguments import add_data
from mwzeval.benchmark import BUILT_IN, Shelf, benchmarks, optional, plugin_errors
from mwzeval.errors import DataError, MwzevalError, UsageError, did_you_mean, printable, shorten
from mwzeval.files.cache import checksums_of, remembered_checksums
from mwzeval.files.downloads import (
    DataRoot,
    PublicFile,
    State,
    embedded,
    matches,
    state_of,
)
from mwzeval.output import tell

Corpora = Mapping[str, tuple[str, ...]]
"""Of each corpus, by its name, the patterns of the places in a data root that it reads."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file in a data root: is it the published one?

    "different" is a published file with other content, "unverified" a published one whose checksums
    are not listed, "unlisted" a file that a corpus would read but that nobody published. `found` is
    the git blob id of what is there, None when missing.
    """

    local: str
    state: State | Literal["unlisted"]
    corpora: tuple[str, ...]
    file: PublicFile | None
    found: str | None

    @property
    def is_foreign(self) -> bool:
        """Whether scores that use this file are not those of the published data."""
        return self.state in ("different", "unlisted")


def status(root: DataRoot, corpora: Corpora) -> list[FileState]:
    """Return the state of every file of these corpora; unchanged files are not read again."""
    return _states(root, corpora, reread=False)


def verify(root: DataRoot, corpora: Corpora) -> list[FileState]:
    """Return the state of every file of these corpora after reading all of them."""
    return _states(root, corpora, reread=True)


def exit_code(states: Iterable[FileState]) -> int:
    """Return 1 when a file that is there is not the published one, else 0; missing is fine."""
    return int(any(state.is_foreign for state in states))


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
    titles = {known.name: known.title for known in benchmarks()}
    if name in titles:
        raise UsageError(
            f"the data of {titles[name]} are no public files that could be fetched: name a folder "
            "with --data (docs/data.md)"
        )
    known = list(dict.fromkeys(n for shelf in everything for n in (shelf.name, *shelf.corpora)))
    raise UsageError(
        f'unknown benchmark or corpus "{shorten(name)}"{did_you_mean(name, known)} '
        f"(known: {', '.join(known)})"
    )


def download(root: DataRoot, corpora: Corpora) -> list[Path]:
    """Return the places of all public files of these corpora, after downloading them.

    Raises `UsageError` for a root that is not the cache, `DataError` when a file cannot be
    downloaded.
    """
    return root.fetch(root.published_matching(p for patterns in corpora.values() for p in patterns))


def examples(destination: Path, source: Path | None = None) -> list[Path]:
    """Copy the embedded example predictions into a folder and return the copies.

    Raises `UsageError` when one of them is there already (then nothing is copied), `DataError` when
    the folder cannot be written.
    """
    origin = embedded("predictions") if source is None else source
    copies = {
        path: destination / path.relative_to(origin)
        for path in sorted(origin.rglob("*"))
        if path.is_file()
    }
    if not copies:
        raise DataError(f"no examples in {origin}; this installation is incomplete")
    taken = [str(copy) for copy in copies.values() if os.path.lexists(copy)]
    if taken:
        raise UsageError(
            f"nothing was copied, for these exist: {', '.join(taken)} — "
            "name another folder, or remove them"
        )
    try:
        for path, copy in copies.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("xb") as stream:
                stream.write(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot copy the examples to {destination}: {error}") from None
    return list(copies.values())


def format_states(root: DataRoot, states: Iterable[FileState]) -> str:
    """Return the states as a table to read, with both checksums where a file is not the published.

    Ends with one line per corpus, and what to do.
    """
    rows = list(states)
    lines = [f"{root.path} ({_explained(root)})", ""]
    cells = [("state", "file", "corpora")]
    cells += [(row.state, row.local, ", ".join(row.corpora)) for row in rows]
    widths = [max(len(cell[column]) for cell in cells) for column in range(2)]
    for number, cell in enumerate(cells):
        lines.append(f"{cell[0]:<{widths[0]}}  {cell[1]:<{widths[1]}}  {cell[2]}".rstrip())
        row = rows[number - 1] if number else None
        if row is not None and row.is_foreign:
            expected = row.file.git_blob if row.file else "(not among the published files)"
            indent = " " * (widths[0] + 4)
            lines += [
                f"{indent}expected git blob {expected}",
                f"{indent}found    git blob {row.found}",
            ]
    names = dict.fromkeys(name for row in rows for name in row.corpora)
    summary = [(name, _summary([row for row in rows if name in row.corpora])) for name in names]
    width = max((len(name) for name, _ in summary), default=0)
    lines += ["", *(f"{name:<{width}}  {text}" for name, text in summary)]
    if any(row.is_foreign for row in rows):
        lines += ["", SCORES_DIFFER]
    if root.origin == "cache" and any(row.state == "different" for row in rows):
        lines.append("What differs in the cache is not used, but downloaded again when needed.")
    return "\n".join(map(printable, lines))


SCORES_DIFFER = (
    "Scores computed with files that are not the published ones are not scores on the published "
    "data; the checksum in their signature shows it."
)


def _states(root: DataRoot, corpora: Corpora, *, reread: bool) -> list[FileState]:
    published = {file.local: file for file in root.published}
    places = set(published)
    for patterns in corpora.values():
        for pattern in patterns:
            places.update(
                path.relative_to(root.path).as_posix()
                for path in root.path.glob(pattern)
                if path.is_file() and not path.name.startswith(".")
            )
    states = []
    for local in sorted(places):
        users = tuple(
            name
            for name, patterns in corpora.items()
            if any(matches(local, pattern) for pattern in patterns)
        )
        if users:
            states.append(_state(root, local, published.get(local), users, reread=reread))
    return states


def _state(
    root: DataRoot, local: str, file: PublicFile | None, users: tuple[str, ...], *, reread: bool
) -> FileState:
    state: State | Literal["unlisted"] = "unlisted"
    if file is not None:
        state = state_of(root, file, reread=reread)
    found = None
    if file is not None and state == "published":
        found = file.git_blob
    elif state != "missing":
        place = root.path / local
        found = (checksums_of(place) if reread else remembered_checksums(place)).git_blob
    return FileState(local, state, users, file, found)


def _summary(rows: list[FileState]) -> str:
    counts = {state: sum(row.state == state for row in rows) for state in _ORDER}
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)


_ORDER = ("published", "different", "unverified", "unlisted", "missing")


def _explained(root: DataRoot) -> str:
    if root.origin == "cache":
        return "the user's cache; missing files are downloaded on first use"
    return f"given by {root.origin}; used as it is"


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

    if arguments.action == "examples":
        for path in examples(Path(arguments.folder)):
            print(printable(str(path)))
        return 0
    found = chosen(shelves(arguments.data), arguments.corpus)
    if arguments.action == "download":
        for shelf in found:
            for path in download(shelf.root, shelf.corpora):
                print(printable(str(path)))
        return 0
    rereads = arguments.action == "verify"
    look = verify if rereads else status
    states = [look(shelf.root, shelf.corpora) for shelf in found]
    shown = (
        f"{shelf.title}: {format_states(shelf.root, of_shelf)}\n"
        for shelf, of_shelf in zip(found, states, strict=True)
    )
    print("\n".join(shown), end="")
    return max(map(exit_code, states)) if rereads else 0


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
