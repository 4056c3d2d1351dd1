"""Files that are not there: all of them in one message, with where to get them and put them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.errors import DataError

if TYPE_CHECKING:
    from mwzeval.files.downloads import DataRoot, PublicFile

DATA_VARIABLE = "MWZEVAL_DATA"
OFFLINE_VARIABLE = "MWZEVAL_OFFLINE"
FORBIDDEN = f"the network is forbidden (--offline or {OFFLINE_VARIABLE})"


@dataclass(frozen=True, slots=True)
class Absent:
    """What a folder lacks.

    `wanted` are places in it, each perhaps with others that would do; `files` those of them that
    are published, `about` what else is to be said first.
    """

    root: DataRoot
    wanted: tuple[str, ...]
    files: tuple[PublicFile, ...]
    about: tuple[str, ...] = ()

    def __add__(self, other: Absent) -> Absent:
        return replace(
            self,
            wanted=tuple(dict.fromkeys((*self.wanted, *other.wanted))),
            files=tuple(dict.fromkeys((*self.files, *other.files))),
            about=tuple(dict.fromkeys((*self.about, *other.about))),
        )

    @property
    def lines(self) -> list[str]:
        """The lines of a message."""
        root = self.root
        if root.origin == "cache" and root.offline and self.files:
            first, *more = not_fetched(root.path, self.files, FORBIDDEN, root.sample)
            more.append(f"With a network, `mwzeval data download {root.path.name}` fetches all.")
        else:
            first = f"not found in {root.path} ({root.origin}): {', '.join(self.wanted)}"
            more = [f"  {file.local} is published at {file.url}" for file in self.files]
            what = "the file" if len(self.wanted) == 1 else "the files"
            where = "at the place" if len(self.wanted) == 1 else "at the places"
            advice = f"Put {what} into {root.path}, {where} named above"
            if root.origin != "cache":
                advice += f", or leave out --data and unset {DATA_VARIABLE} to have public files "
                advice += "downloaded"
            more += [f"{advice}.", *sample_advice(root.sample)]
        return [": ".join((*self.about, first)), *more]


class MissingError(DataError):
    """Files of a folder are not there."""

    def __init__(self, absent: Absent) -> None:
        super().__init__(*absent.lines)
        self.absent = absent

    def __reduce__(self) -> tuple[Any, ...]:
        return DataError, self.args  # to other processes

    def about(self, what: str) -> MissingError:
        """Return the error with what it is about before it."""
        return MissingError(replace(self.absent, about=(what, *self.absent.about)))


def all_there(*calls: Callable[[], Any]) -> list[Any]:
    """Return what all calls return. Raises `MissingError` that names what all of them miss.

    What another folder lacks is told when the first one is complete.
    """
    found = []
    missing: list[Absent] = []
    for call in calls:
        with _collecting(missing):
            found.append(call())
    if missing:
        first, *others = missing
        raise MissingError(sum((each for each in others if each.root == first.root), first))
    return found


@contextmanager
def _collecting(missing: list[Absent]) -> Iterator[None]:
    try:
        yield
    except MissingError as error:
        missing.append(error.absent)


def not_fetched(
    folder: Path, files: Sequence[PublicFile], reason: str, sample: str = ""
) -> list[str]:
    """Return the lines of a message about files that cannot be downloaded to a folder."""
    lines = [f"cannot download {', '.join(file.local for file in files)}: {reason}"]
    for file in files:
        lines += [f"  address: {file.url}", f"  put it at: {folder / file.local}"]
    what = "it" if len(files) == 1 else "them"
    return [
        *lines,
        f"Download by other means and put {what} there, or name a folder that has the data: "
        f"--data or {DATA_VARIABLE}.",
        *sample_advice(sample),
    ]


def sample_advice(sample: str) -> list[str]:
    """Return the line of a message that says how to do without files; none without a sample."""
    return [f"To just try the tool, use what is embedded: {sample}"] if sample else []
