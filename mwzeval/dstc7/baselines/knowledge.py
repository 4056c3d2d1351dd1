"""External knowledge (subtask 5): the man pages (Ubuntu) or courses (Advising) named in a text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mwzeval.dstc7.baselines.query import Knowledge, words_of
from mwzeval.dstc7.tracks import Track
from mwzeval.errors import DataError, InputError, Problem, UsageError
from mwzeval.files.reading import parse_json, parse_json_lines, read_text
from mwzeval.scores.findings import Findings, found

MOST_NAMED = 4
"""The maximum number of descriptions that are added to one text, in the order of the text."""
MOST_WORDS = 40
"""The number of words of each description that are used, from its beginning."""


def read_knowledge(path: str | Path, track: Track) -> Knowledge:
    """Return the knowledge for subtask 5: man pages for Ubuntu, or courses for Advising.

    Raises `UsageError` if the track is not subtask 5, and `InputError` or `DataError` if the files
    cannot be read.
    """
    if track.subtask != 5:
        raise UsageError(f"{track.name} has no external knowledge: only subtask 5 has it")
    return read_man_pages(path) if track.dataset == "ubuntu" else read_courses(path)


def _beginning(text: str) -> str:
    return " ".join(words_of(text)[:MOST_WORDS])


# Names of commands may contain dots, dashes and plus signs: apt-get, sources.list, g++.
_COMMAND = re.compile(r"\w(?:[\w.+-]*[\w+])?")


class ManPages:
    """Looks up man pages, given as pairs of a command or file name and a text."""

    def __init__(self, pages: Iterable[tuple[str, str]]) -> None:
        self._beginnings: dict[str, list[str]] = defaultdict(list)
        for name, text in pages:
            self._beginnings[name.lower()].append(_beginning(text))

    def about(self, text: str) -> str:
        """Return the beginning of each page whose name is a token of the text, in text order."""
        names = dict.fromkeys(match[0].lower() for match in _COMMAND.finditer(text))
        found = [page for name in names for page in self._beginnings.get(name, ())]
        return " ".join(found[:MOST_NAMED])


def read_man_pages(path: str | Path) -> ManPages:
    """Return the pages in a folder of text files, or in a JSON Lines file.

    In a folder, `ls.1.txt`, `ls.1` and `ls.txt` are pages of `ls`. A line of a JSON Lines file is
    an object with `name`, `text` and optionally `section`. Pages are sorted by name and section.
    The format of the organizers' own files is unknown. Raises `InputError` with all problems of the
    pages, and `DataError` if a folder contains no pages.
    """
    place = Path(path)
    pages = _of_folder(place) if place.is_dir() else _of_lines(place)
    return ManPages((name, text) for name, _, text in sorted(pages, key=lambda page: page[:2]))


Page = tuple[str, str, str]
"""The name of a man page, its section (`1`, `5`, …, or "" if it is unknown), and its text."""


def _of_folder(folder: Path) -> list[Page]:
    pages = []
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith(".") and file.stat().st_size:
            stem = file.name.removesuffix(".gz").removesuffix(".txt")
            name, _, section = stem.rpartition(".")
            if not name or not section[:1].isdigit():
                name, section = stem, ""
            pages.append((name, section, read_text(file)))
    if not pages:
        raise DataError(f"{folder}: the folder contains no man page")
    return pages


def _of_lines(path: Path) -> list[Page]:
    findings = Findings(file=str(path))
    pages = []
    for number, line in parse_json_lines(read_text(path), str(path)):
        if not isinstance(line, dict):
            findings.error("bad-type", f"line {number}: expected an object, {found(line)}")
            continue
        wrong = next((key for key in ("name", "text") if not isinstance(line.get(key), str)), None)
        if wrong is None:
            section = "" if line.get("section") is None else str(line["section"])
            pages.append((line["name"], section, line["text"]))
        elif wrong in line:
            message = f"line {number}: {wrong} must be a string, {found(line[wrong])}"
            findings.error("bad-type", message, key=wrong)
        else:
            findings.error("missing-field", f"line {number} has no {wrong}", key=wrong)
    findings.check()
    return pages


_COURSE = re.compile(r"\b([a-z]{2,8})[ -]?([0-9]{3})\b|\b([0-9]{3})\b", re.IGNORECASE)


class Courses:
    """Looks up courses, given as pairs of a course code (EECS281) and a description.

    Descriptions that several offerings of a course share are used once.
    """

    def __init__(self, courses: Iterable[tuple[str, str]]) -> None:
        texts: dict[str, dict[str, None]] = defaultdict(dict)
        for code, text in courses:
            texts[code.lower().replace(" ", "")].setdefault(text)
        self._descriptions = {code: _beginning(" ".join(found)) for code, found in texts.items()}
        by_number: dict[str, set[str]] = defaultdict(set)
        for code in texts:
            by_number[code[-3:]].add(code)
        # A number names a course only if no other course has this number.
        self._codes = {n: min(codes) for n, codes in by_number.items() if len(codes) == 1}

    def about(self, text: str) -> str:
        """Return the descriptions of the courses that a text names: EECS281, EECS 281 or 281."""
        named: dict[str, str] = {}
        for match in _COURSE.finditer(text.lower()):
            code = f"{match[1]}{match[2]}"
            if code not in self._descriptions:  # "take 281" names the course by its number only
                code = self._codes.get(match[2] or match[3], "")
            if code in self._descriptions:
                named[code] = self._descriptions[code]
        return " ".join(list(named.values())[:MOST_NAMED])


def read_courses(path: str | Path) -> Courses:
    """Return the courses of a course file: a JSON object from course offering to record.

    A field is empty if it is missing or "NA"; without a course code, the code is the first part of
    the offering. Raises `InputError` if the file is not a JSON object of objects.
    """
    name = str(path)
    raw = parse_json(read_text(path), name)
    if not isinstance(raw, dict):
        message = f"expected an object of courses, {found(raw)}"
        raise InputError([Problem("bad-type", message, file=name)])
    findings = Findings(file=name)
    courses = []
    for offering, record in raw.items():
        if isinstance(record, dict):
            code = _text(record.get("Course")) or offering.partition("-")[0]
            texts = (_text(record.get(key)) for key in ("CourseTitle", "Area", "Description"))
            courses.append((code, " ".join(filter(None, texts))))
        else:
            findings.error("bad-type", f"a course must be an object, {found(record)}", key=offering)
    findings.check()
    return Courses(courses)


def _text(raw: Any) -> str:
    text = str(raw) if type(raw) in (str, int, float) else ""
    return "" if text.strip() in ("", "NA") else text
