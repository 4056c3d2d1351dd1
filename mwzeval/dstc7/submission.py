"""Reads submissions in all accepted forms, and writes submissions in the official form.

A zip archive with submissions to several subtasks, as the track collected them, can also be read.
`loading.py` checks whether a submission agrees with targets and candidates.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.dstc7.tracks import Track, candidate_id, example_id, plain_id, track_of_file
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.reading import check_values, decoded, is_zip, read_text, read_zip, zip_names
from mwzeval.files.writing import write_atomically
from mwzeval.scores.findings import Findings, found

LONGEST_RANKING = 200_000
"""The maximum length of a ranking, above the size of the largest pool; the first 100 ids count."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of one example in its original form: in file order, with repeated ids.

    `ids` are canonical. A missing confidence is None, and a confidence that is not a number is NaN.
    `has_repeats` is true if the ranking contains an id twice. `is_malformed` is true if the ranking
    was not a list of allowed length; an error is reported for such a ranking.
    """

    ids: tuple[str, ...]
    confidences: tuple[float | None, ...]
    has_repeats: bool = False
    is_malformed: bool = False


UNREADABLE = "\0"
"""The first character of placeholders for unreadable ids; placeholders keep the positions of other
ids."""

Submission = Mapping[str, Ranking]
"""Canonical example id → ranking, in file order."""

Scored = Sequence[tuple[int | str, float]]
"""Pairs of candidate id and confidence, best candidate first."""


class Ranked(NamedTuple):
    """The id of an example, and its ranked candidates."""

    example: str
    entries: Sequence[tuple[str, float]]


def write_submission(path: str | Path, rankings: Iterable[tuple[str, Scored]]) -> None:
    """Write a submission from pairs (example id, [(candidate id, confidence), …]) as lines.

    Candidates are written in the given order. Numeric ids are written as numbers, as in the files
    of the track. Raises `ValueError` if a confidence is not finite.
    """
    write_atomically(path, submission_text(rankings))


def submission_text(rankings: Iterable[tuple[str, Scored]]) -> str:
    """Return the text of a submission; equal rankings give equal text.

    Raises `ValueError` for a confidence that is not finite.
    """
    return "[\n" + ",\n".join(_lines(rankings)) + "\n]\n"


def _lines(rankings: Iterable[tuple[str, Scored]]) -> Iterator[str]:
    for example, ranking in rankings:
        entries = []
        for candidate, confidence in ranking:
            number = float(confidence)
            if not math.isfinite(number):
                raise ValueError(f"example {example}: the confidence of {candidate} is {number}")
            identity = plain_id(candidate) if isinstance(candidate, str) else candidate
            entries.append({"candidate-id": identity, "confidence": number})
        value = {"example-id": plain_id(str(example)), "candidate-ranking": entries}
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_submission(
    path: str | Path, findings: Findings | None = None, track: Track | None = None
) -> Submission:
    """Return the submission in a file: a JSON file (possibly compressed), a zip archive, or `-`.

    In an archive, all files have official names, and `track` selects a file. Problems of examples
    and entries are added to `findings`; without `findings`, errors raise `InputError`. Raises
    `InputError` if the file cannot be read, is not a JSON array or is too large.
    """
    name = str(path)
    notes = Findings(file=name) if findings is None else findings.of_file(name)
    text = _read_member(path, track) if is_zip(path) else read_text(path)
    submission = check_submission(_parsed(text, name), notes)
    if findings is None:
        notes.check()
    return submission


def tracks_in(path: str | Path) -> Mapping[Track, list[str]]:
    """Return the tracks of an archive, each with its files (by their official names).

    Raises `InputError` if the archive is damaged.
    """
    tracks: dict[Track, list[str]] = {}
    for name in zip_names(path):
        # Some programs write backslashes between folders.
        track = track_of_file(name.replace("\\", "/"))
        if track is not None and "__MACOSX" not in name:
            tracks.setdefault(track, []).append(name)
    return tracks


def _read_member(path: str | Path, track: Track | None) -> str:
    """Return the text of a track's file; if `track` is None, there must be only one file."""
    known = tracks_in(path)
    fitting = [
        name
        for named, names in known.items()
        for name in names
        if track is None or named == track or (track.case is None and named.name == track.name)
    ]
    if len(fitting) != 1:
        there = ", ".join(shorten(name) for names in known.values() for name in names) or "none"
        what = "no track is given" if track is None else f"expected {track.file_name}"
        raise UsageError(f"{shorten(str(path))}: {what}; files with official names in it: {there}")
    return decoded(read_zip(path, fitting)[fitting[0]], f"{path}/{fitting[0]}")


def _parsed(text: str, name: str) -> Any:
    check_values(text, name)
    try:
        # NaN and Infinity, Python's extensions of JSON, become floats, so that they are reported
        # with their location.
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        if text.startswith("NONE", error.pos):
            message += ' — write "NONE" with quotes'
    except RecursionError:
        message = "nested too deeply to be a submission"
    except ValueError:  # an integer of more digits than Python converts
        match = re.search(rf"-?[0-9]{{{sys.get_int_max_str_digits() + 1},}}", text)
        start = match.start() if match else 0
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        message = f"line {line}, column {column}: a number of too many digits"
    raise InputError([Problem("not-json", f"not valid JSON: {message}", file=name)])


def check_submission(raw: Any, findings: Findings) -> Submission:
    """Return the typed rankings of a parsed submission, and add problems to `findings`.

    If an example occurs twice, the last occurrence counts. Malformed parts of the submission are
    errors. They are replaced by empty rankings or `UNREADABLE` ids, which are never scored.
    """
    if type(raw) is not list:
        shape = '[{"example-id": …, "candidate-ranking": […]}, …]'
        findings.error("not-an-array", f"expected an array, {shape}, {found(raw)}")
        return {}
    submission: dict[str, Ranking] = {}
    for number, item in enumerate(raw, start=1):
        identity = _identity(item, number, findings)
        if identity is None:
            continue
        if identity in submission:
            message = f"item {number} of the array: the example occurs twice; the last entry counts"
            findings.doubt("duplicate-example", message, example=identity)
            del submission[identity]
        submission[identity] = _ranking(item, identity, findings)
    return submission


def _identity(item: Any, number: int, findings: Findings) -> str | None:
    where, key = f"item {number} of the array", "example-id"
    if type(item) is not dict:
        findings.error("bad-type", f"{where}: expected an object, {found(item)}")
    elif key not in item:
        old = "dialog-id"
        hint = f' — did you mean "{old}"?' if old in item else _near(key, item)
        findings.error("missing-field", f"{where} has no {key}{hint}", key=key)
    elif (identity := example_id(item[key])) is None:
        what = "empty text" if type(item[key]) is str else found(item[key])
        findings.error("bad-type", f"{where}: an {key} must be a whole number, {what}", key=key)
    else:
        return identity
    return None


def _near(name: str, item: Mapping[str, Any]) -> str:
    return did_you_mean(name, list(item)[:20]).replace("did you mean", "was this meant:")


def _ranking(item: Mapping[str, Any], example: str, findings: Findings) -> Ranking:
    key = "candidate-ranking"
    entries = item.get(key)
    if key not in item:
        findings.error("missing-field", f"no {key}{_near(key, item)}", example=example, key=key)
    elif type(entries) is not list:
        message = f"expected a list of entries, {found(entries)}"
        findings.error("bad-type", message, example=example, key=key)
    elif len(entries) > LONGEST_RANKING:
        message = f"{len(entries):,} candidates, but no pool has more than {LONGEST_RANKING:,}"
        place: dict[str, Any] = {"example": example, "position": LONGEST_RANKING + 1}
        findings.error("too-many-candidates", message, **place)
    else:
        ids, confidences = _well_formed(entries) or _checked(entries, example, findings)
        return Ranking(tuple(ids), tuple(confidences), len(set(ids)) < len(ids))
    return Ranking((), (), is_malformed=True)


Entries = tuple[Sequence[str], Sequence[float | None]]
"""The canonical ids and the confidences of a ranking."""


def _well_formed(entries: list[Any]) -> Entries | None:
    """Return the entries of a list if all entries are valid; None if any entry has a problem."""
    try:
        raw_ids = [entry["candidate-id"] for entry in entries]
        raw_confidences = [entry["confidence"] for entry in entries]
        types = set(map(type, raw_ids))
        ids = [str(raw).strip().upper() for raw in raw_ids]
        confidences = list(map(float, raw_confidences))
    except (KeyError, TypeError, IndexError, OverflowError, ValueError):
        return None
    are_numbers = {float, int}.issuperset(map(type, raw_confidences))
    if types not in ({str}, {int}) or "" in ids or not are_numbers:
        return None
    return (ids, confidences) if all(map(math.isfinite, confidences)) else None


def _checked(entries: list[Any], example: str, findings: Findings) -> Entries:
    ids: list[str] = []
    confidences: list[float | None] = []
    for position, entry in enumerate(entries, start=1):
        place: dict[str, Any] = {"example": example, "position": position}
        identity = f"{UNREADABLE}{position}"
        confidence: float | None = math.nan
        if type(entry) is not dict:
            message = f'expected an object, {{"candidate-id": …, "confidence": …}}, {found(entry)}'
            findings.error("bad-type", message, **place)
        elif (key := "candidate-id") not in entry:
            findings.error("missing-field", f"no {key}{_near(key, entry)}", **place, key=key)
        elif (known := candidate_id(entry[key])) is None:
            what = "empty text" if type(entry[key]) is str else found(entry[key])
            message = f"a {key} must be a string or a whole number, {what}"
            findings.error("bad-type", message, **place, key=key)
        else:
            identity = known
            confidence = _confidence(entry, findings, place)
        ids.append(identity)
        confidences.append(confidence)
    return ids, confidences


def _confidence(
    entry: Mapping[str, Any], findings: Findings, place: Mapping[str, Any]
) -> float | None:
    """Return a confidence: None if it is missing, NaN (and a problem) if it is not a number."""
    if "confidence" not in entry:
        return None
    raw = entry["confidence"]
    if type(raw) in (float, int):
        try:
            number = float(raw)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        what = f"found {number}"
    else:
        what = f'found "{shorten(raw)}"' if type(raw) is str else found(raw)
    message = f"a confidence must be a finite number, {what}"
    findings.error("bad-confidence", message, **place, key="confidence")
    return math.nan
