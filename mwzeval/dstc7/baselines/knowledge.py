"""External knowledge (subtask 5): the man pages (Ubuntu) or courses (Advising) named in a text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    if track.dataset == "ubuntu":
        return ManPages.of(read_man_pages(path))
    return Courses.of(read_courses(path).values())


def _beginning(text: str) -> str:
    return " ".join(words_of(text)[:MOST_WORDS])


@dataclass(frozen=True, slots=True)
class ManPage:
    """A man page: its command or file name, its section (`1`, `5`, …) if known, and the text."""

    name: str
    section: str | None
    text: str


# Names of commands may contain dots, dashes and plus signs: apt-get, sources.list, g++.
_COMMAND = re.compile(r"\w(?:[\w.+-]*[\w+])?")


@dataclass(frozen=True, slots=True, eq=False)
class ManPages:
    """The beginnings of man pages; the keys are the names of the pages in lower case."""

    beginnings: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, pages: Iterable[ManPage]) -> ManPages:
        """Return the man pages, each shortened to the part that is used."""
        beginnings: dict[str, list[str]] = defaultdict(list)
        for page in pages:
            beginnings[page.name.lower()].append(_beginning(page.text))
        return cls(dict(beginnings))

    def about(self, text: str) -> str:
        """Return the beginning of each page whose name is a token of the text, in text order."""
        names = dict.fromkeys(match[0].lower() for match in _COMMAND.finditer(text))
        found = [page for name in names for page in self.beginnings.get(name, ())]
        return " ".join(found[:MOST_NAMED])


def read_man_pages(path: str | Path) -> tuple[ManPage, ...]:
    """Return the pages in a folder of text files, or in a JSON Lines file.

    In a folder, `ls.1.txt`, `ls.1` and `ls.txt` are pages of `ls`. A line of a JSON Lines file is
    an object with `name`, `text` and optionally `section`. Pages are sorted by name and section.
    The format of the organizers' own files is unknown. Raises `InputError` with all problems of the
    pages, and `DataError` if a folder contains no pages.
    """
    place = Path(path)
    pages = _of_folder(place) if place.is_dir() else _of_lines(place)
    return tuple(sorted(pages, key=lambda page: (page.name, page.section or "")))


def _of_folder(folder: Path) -> list[ManPage]:
    pages = []
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith(".") and file.stat().st_size:
            stem = file.name.removesuffix(".gz").removesuffix(".txt")
            name, _, section = stem.rpartition(".")
            if not name or not section[:1].isdigit():
                name, section = stem, ""
            pages.append(ManPage(name, section or None, read_text(file)))
    if not pages:
        raise DataError(f"{folder}: the folder contains no man page")
    return pages


def _of_lines(path: Path) -> list[ManPage]:
    findings = Findings(file=str(path))
    pages = []
    for number, line in parse_json_lines(read_text(path), str(path)):
        if not isinstance(line, dict):
            findings.error("bad-type", f"line {number}: expected an object, {found(line)}")
            continue
        wrong = next((key for key in ("name", "text") if not isinstance(line.get(key), str)), None)
        if wrong is None:
            section = line.get("section")
            name, text = line["name"], line["text"]
            pages.append(ManPage(name, None if section is None else str(section), text))
        elif wrong in line:
            message = f"line {number}: {wrong} must be a string, {found(line[wrong])}"
            findings.error("bad-type", message, key=wrong)
        else:
            findings.error("missing-field", f"line {number} has no {wrong}", key=wrong)
    findings.check()
    return pages


@dataclass(frozen=True, slots=True)
class Course:
    """A course offering in the file; a field is empty if it is missing or "NA"."""

    offering: str
    course: str
    title: str
    area: str
    description: str


_COURSE = re.compile(r"\b([a-z]{2,8})[ -]?([0-9]{3})\b|\b([0-9]{3})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Courses:
    """Looks up descriptions of the courses that a text names.

    `descriptions` maps lower-case course codes (eecs281) to texts. `codes` maps a course number
    (281) to a course code if only one course has this number.
    """

    descriptions: Mapping[str, str]
    codes: Mapping[str, str]

    @classmethod
    def of(cls, courses: Iterable[Course]) -> Courses:
        """Return the courses by code; text that several offerings share is used once."""
        texts: dict[str, dict[str, None]] = defaultdict(dict)
        for course in courses:
            code = course.course or course.offering.partition("-")[0]
            text = " ".join(filter(None, (course.title, course.area, course.description)))
            texts[code.lower().replace(" ", "")].setdefault(text)
        by_number: dict[str, set[str]] = defaultdict(set)
        for code in texts:
            by_number[code[-3:]].add(code)
        return cls(
            {code: _beginning(" ".join(of_code)) for code, of_code in texts.items()},
            {number: min(codes) for number, codes in by_number.items() if len(codes) == 1},
        )

    def about(self, text: str) -> str:
        """Return the descriptions of the courses that a text names: EECS281, EECS 281 or 281."""
        named: dict[str, str] = {}
        for match in _COURSE.finditer(text.lower()):
            code = f"{match[1]}{match[2]}"
            if code not in self.descriptions:  # "take 281" names the course by its number only
                code = self.codes.get(match[2] or match[3], "")
            if code in self.descriptions:
                named[code] = self.descriptions[code]
        return " ".join(list(named.values())[:MOST_NAMED])


def read_courses(path: str | Path) -> Mapping[str, Course]:
    """Return a mapping from course offering to course, in the order of the course file.

    Raises `InputError` if the file is not a JSON object of objects.
    """
    name = str(path)
    raw = parse_json(read_text(path), name)
    if not isinstance(raw, dict):
        message = f"expected an object of courses, {found(raw)}"
        raise InputError([Problem("bad-type", message, file=name)])
    findings = Findings(file=name)
    courses = {}
    for offering, record in raw.items():
        if isinstance(record, dict):
            keys = ("Course", "CourseTitle", "Area", "Description")
            courses[offering] = Course(offering, *(_text(record.get(key)) for key in keys))
        else:
            findings.error("bad-type", f"a course must be an object, {found(record)}", key=offering)
    findings.check()
    return courses


def _text(raw: Any) -> str:
    text = str(raw) if type(raw) in (str, int, float) else ""
    return "" if text.strip() in ("", "NA") else text
