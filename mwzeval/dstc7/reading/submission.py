"""Submissions, read as people write them and written in the official form.

The track collected those of several subtasks in one zip; such a zip is read, too. Whether a
submission fits targets and candidates is the business of `checks.py`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.reading.kinds import note
from mwzeval.dstc7.reading.tracks import Track, candidate_id, example_id, plain_id, track_of_file
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.reading import check_values, decoded, is_zip, read_text, read_zip, zip_names
from mwzeval.files.writing import write_atomically
from mwzeval.scores.findings import Findings, found


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


Ranked = tuple[str, Sequence[tuple[int | str, float]]]
"""An example's id, and its candidates with their confidences, the most confident first."""


def write_submission(path: str | Path, rankings: Iterable[Ranked]) -> None:
    """Write a submission, one example a line: (example id, [(candidate id, confidence), …]), ….

    Candidates are written in the order given; ids that are numbers are written as numbers, like
    the files of the track have them. Raises `ValueError` for a confidence that is not finite.
    """
    write_atomically(path, submission_text(rankings))


def submission_text(rankings: Iterable[Ranked]) -> str:
    """Return the text of a submission, the same for the same rankings.

    Raises `ValueError` for a confidence that is not finite.
    """
    return "[\n" + ",\n".join(_lines(rankings)) + "\n]\n"


def _lines(rankings: Iterable[Ranked]) -> Iterator[str]:
    for example, ranking in rankings:
        entries = []
        for candidate, confidence in ranking:
            number = float(confidence)
            if not math.isfinite(number):
                raise ValueError(f"example {example}: the confidence of {candidate} is {number}")
            identity = plain_id(candidate) if isinstance(candidate, str) else candidate
            entries.append({"candidate-id": identity, "confidence": number})
        identity = plain_id(str(example))
        yield json.dumps(
            {"example-id": identity, "candidate-ranking": entries},
            ensure_ascii=False,
            separators=(",", ":"),
        )


LONGEST_RANKING = 200_000
"""More than the largest pool has candidates; of these the first hundred count."""

_NUMBERS = frozenset({float, int})


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of one example, in the order of the file and with its repeats.

    `ids` are canonical; a confidence that is missing is None, one that is no number NaN.
    `has_repeats` tells whether an id comes again.
    """

    ids: tuple[str, ...]
    confidences: tuple[float | None, ...]
    has_repeats: bool = False

    @classmethod
    def of(cls, ids: Sequence[str], confidences: Sequence[float | None]) -> Ranking:
        """Return the ranking of these ids, one confidence (or None) for each."""
        return cls(tuple(ids), tuple(confidences), len(set(ids)) < len(ids))


MALFORMED = Ranking((), ())
"""Stands for a ranking that is no list; whoever reads it has found an error."""

UNREADABLE = "\0"
"""Begins what stands for an id that cannot be read, so that the places of the others are right."""

Submission = Mapping[str, Ranking]
"""Canonical example id → ranking, in the order of the file."""


def read_submission(
    path: str | Path, findings: Findings | None = None, track: Track | None = None
) -> Submission:
    """Return the submission in a file, also compressed or `-`, or a zip with an official name.

    `track` chooses among several files of a zip. Problems of examples and entries go to
    `findings`; without these, errors raise `InputError`, as do a file that cannot be read, is no
    JSON array or is too large.
    """
    name = str(path)
    notes = Findings(file=name) if findings is None else findings.of_file(name)
    submission = check_submission(_parsed(path, track), notes)
    if findings is None:
        notes.check()
    return submission


def _parsed(path: str | Path, track: Track | None) -> Any:
    name = str(path)
    text = read_member(path, track) if is_zip(path) else read_text(path)
    check_values(text, name)
    try:
        # Python's extensions NaN and Infinity come as floats, so that they can be reported with
        # their place.
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        if text.startswith("NONE", error.pos):
            message += ' — write "NONE" with quotes'
    except RecursionError:
        message = "nested too deeply to be a submission"
    except ValueError:  # an integer of more digits than Python converts
        message = f"{_place_of_long_number(text)}: a number of too many digits"
    raise InputError([Problem("not-json", f"not valid JSON: {message}", file=name)])


def _place_of_long_number(text: str) -> str:
    limit = sys.get_int_max_str_digits()  # 3.10.0 to 3.10.6 have no limit, and never come here
    match = re.search(rf"-?[0-9]{{{limit + 1},}}", text)
    start = match.start() if match else 0
    line = text.count("\n", 0, start) + 1
    return f"line {line}, column {start - text.rfind(chr(10), 0, start)}"


def check_submission(raw: Any, findings: Findings) -> Submission:
    """Return the typed rankings of a parsed submission; problems go to `findings`.

    Of an example that comes twice the last one is kept. What is malformed has a stand-in
    (`MALFORMED`, `UNREADABLE`): it is an error, so that nothing of it is scored.
    """
    if type(raw) is not list:
        shape = '[{"example-id": …, "candidate-ranking": […]}, …]'
        note(findings, "not-an-array", f"expected an array, {shape}, {found(raw)}")
        return {}
    submission: dict[str, Ranking] = {}
    for index, item in enumerate(raw, start=1):
        identity = _identity(item, index, findings)
        if identity is None:
            continue
        if identity in submission:
            message = f"item {index} of the array: given before; the last one counts"
            note(findings, "duplicate-example", message, example=identity)
            del submission[identity]
        submission[identity] = _ranking(item, identity, findings)
    return submission


def _identity(item: Any, index: int, findings: Findings) -> str | None:
    where = f"item {index} of the array"
    if type(item) is not dict:
        note(findings, "bad-type", f"{where}: expected an object, {found(item)}")
        return None
    if "example-id" not in item:
        old = "dialog-id"
        hint = f' — was "{old}" meant to be it?' if old in item else _near("example-id", item)
        note(findings, "missing-field", f"{where} has no example-id{hint}", key="example-id")
        return None
    identity = example_id(item["example-id"])
    if identity is None:
        what = "empty text" if type(item["example-id"]) is str else found(item["example-id"])
        message = f"{where}: an example-id is a whole number, {what}"
        note(findings, "bad-type", message, key="example-id")
    return identity


def _near(name: str, item: Mapping[str, Any]) -> str:
    return did_you_mean(name, list(item)[:20]).replace("did you mean", "was this meant:")


def _ranking(item: Mapping[str, Any], example: str, findings: Findings) -> Ranking:
    if "candidate-ranking" not in item:
        message = f"no candidate-ranking{_near('candidate-ranking', item)}"
        note(findings, "missing-field", message, example=example, key="candidate-ranking")
        return MALFORMED
    entries = item["candidate-ranking"]
    if type(entries) is not list:
        message = f"expected a list of entries, {found(entries)}"
        note(findings, "bad-type", message, example=example, key="candidate-ranking")
        return MALFORMED
    if len(entries) > LONGEST_RANKING:
        message = f"{len(entries):,} candidates, where no pool has more than {LONGEST_RANKING:,}"
        place: dict[str, Any] = {"example": example, "position": LONGEST_RANKING + 1}
        note(findings, "too-many-candidates", message, fatal=True, **place)
        return MALFORMED
    return _plain_ranking(entries) or _careful_ranking(entries, example, findings)


def _plain_ranking(entries: list[Any]) -> Ranking | None:
    """Return a ranking that is exactly as it should be, as nearly all are, without further ado."""
    try:
        raw_ids = [entry["candidate-id"] for entry in entries]
        confidences = [entry["confidence"] for entry in entries]
    except (KeyError, TypeError, IndexError):
        return None
    types = set(map(type, raw_ids))
    if types == {str}:
        ids = [raw.strip().upper() for raw in raw_ids]
    elif types == {int}:
        ids = list(map(str, raw_ids))
    else:
        return None
    if not _NUMBERS.issuperset(map(type, confidences)) or "" in ids:
        return None
    try:
        if not all(map(math.isfinite, confidences)):
            return None
        return Ranking.of(ids, list(map(float, confidences)))
    except OverflowError:
        return None


def _careful_ranking(entries: list[Any], example: str, findings: Findings) -> Ranking:
    ids: list[str] = []
    confidences: list[float | None] = []
    for position, entry in enumerate(entries, start=1):
        place: dict[str, Any] = {"example": example, "position": position}
        ids.append(f"{UNREADABLE}{position}")
        confidences.append(math.nan)
        if type(entry) is not dict:
            message = f'expected an object, {{"candidate-id": …, "confidence": …}}, {found(entry)}'
            note(findings, "bad-type", message, **place)
            continue
        if "candidate-id" not in entry:
            message = f"no candidate-id{_near('candidate-id', entry)}"
            note(findings, "missing-field", message, **place, key="candidate-id")
            continue
        raw = entry["candidate-id"]
        identity = candidate_id(raw)
        if identity is None:
            what = "empty text" if type(raw) is str else found(raw)
            message = f"a candidate-id is text or a whole number, {what}"
            note(findings, "bad-type", message, **place, key="candidate-id")
            continue
        ids[-1] = identity
        confidences[-1] = (
            _confidence(entry["confidence"], findings, place) if "confidence" in entry else None
        )
    return Ranking.of(ids, confidences)


def _confidence(raw: Any, findings: Findings, place: Mapping[str, Any]) -> float:
    """Return a confidence; NaN with a finding where it is no finite number."""
    if type(raw) in _NUMBERS:
        try:
            number = float(raw)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        what = f"found {number}"
    else:
        what = f'found "{shorten(raw)}"' if type(raw) is str else found(raw)
    message = f"a confidence is a finite number, {what}"
    note(findings, "bad-confidence", message, **place, key="confidence")
    return math.nan
