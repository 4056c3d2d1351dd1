"""Submissions of several subtasks in one zip, as the track collected them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mwzeval.dstc7.reading.tracks import Track, track_of_file
from mwzeval.errors import UsageError, shorten
from mwzeval.files.json_files import decoded
from mwzeval.files.reading import read_zip, zip_names


def tracks_in(path: str | Path) -> Mapping[Track, list[str]]:
    """Return the tracks of a zip's files with official names, and these files.

    Raises `InputError` when it is damaged.
    """
    found: dict[Track, list[str]] = {}
    for name in zip_names(path):
        # Some programs write folders with backslashes.
        track = track_of_file(name.replace("\\", "/"))
        if track is not None and "__MACOSX" not in name:
            found.setdefault(track, []).append(name)
    return found


def read_member(path: str | Path, track: Track | None) -> str:
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
    (name,) = fitting
    return decoded(read_zip(path, [name])[name], f"{path}/{name}")
