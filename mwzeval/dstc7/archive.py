"""Submissions of several subtasks in one zip, as the track collected them."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from mwzeval.dstc7.streams import MEGABYTE, bounded, not_utf8
from mwzeval.dstc7.tracks import Track, track_of_file
from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.files import STANDARD_INPUT
from mwzeval.streams import decompressed

MAGIC = b"PK\x03\x04"

DAMAGE = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    # A version or method that Python lacks, a password, names or lengths that make no sense.
    *(NotImplementedError, RuntimeError, ValueError),
)
"""What `zipfile` raises for archives that cannot be read."""


def is_archive(path: str | Path) -> bool:
    """Tell whether a file begins like a zip; standard input is never looked into."""
    if str(path) == STANDARD_INPUT:
        return False
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def tracks_in(path: str | Path) -> Mapping[Track, list[str]]:
    """Return the tracks of a zip's files with official names, and these files.

    Raises `InputError` when it is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except DAMAGE as error:
        raise InputError([_damaged(path, str(error))]) from None
    found: dict[Track, list[str]] = {}
    for name in names:
        # Some programs write folders with backslashes.
        track = track_of_file(name.replace("\\", "/"))
        if track is not None and "__MACOSX" not in name:
            found.setdefault(track, []).append(name)
    return found


def read_member(path: str | Path, track: Track | None, *, at_most: int) -> str:
    """Return the text of the file of a track; without a track there must be one only.

    Raises `UsageError` when it cannot be told which one is meant, `InputError` when it cannot be
    read, is too large or not UTF-8.
    """
    known = tracks_in(path)
    fitting = [
        name
        for said, names in known.items()
        for name in names
        if track is None
        or (said == track)
        or (track.case is None and (said.dataset, said.subtask) == (track.dataset, track.subtask))
    ]
    if len(fitting) != 1:
        there = ", ".join(shorten(name) for names in known.values() for name in names) or "none"
        what = "no track was named" if track is None else f"{track.file_name} is wanted"
        raise UsageError(f"{shorten(str(path))}: {what}; files with official names in it: {there}")
    name = f"{path}/{fitting[0]}"
    try:
        with zipfile.ZipFile(path) as archive, archive.open(fitting[0]) as stream:
            raw = bounded(decompressed(stream, name), at_most)
    except DAMAGE as error:
        raise InputError([_damaged(name, str(error))]) from None
    if raw is None:
        message = f"larger than {at_most / MEGABYTE:.0f} MB, the most that a submission may have"
        raise InputError([Problem("too-large", message, file=name)])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([not_utf8(name, raw, error.start)]) from None
    if not text.strip():
        raise InputError([Problem("empty-file", "the file is empty", file=name)])
    return text


def _damaged(path: str | Path, reason: str) -> Problem:
    return Problem("unreadable", f"cannot be read as a zip: {reason}", file=str(path))
