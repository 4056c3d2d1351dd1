"""External knowledge (subtask 5): Ubuntu's man pages and Advising's courses that a text names."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.baselines.query import Knowledge, words_of
from mwzeval.dstc7.problems import note
from mwzeval.dstc7.tracks import Track
from mwzeval.errors import DataError, InputError, Problem, UsageError
from mwzeval.files.reading import parse_json, parse_json_lines, read_text
from mwzeval.scores.findings import Findings, found

MOST_NAMED = 4
"""Things that are looked up for one text, the first that it names."""
MOST_WORDS = 40
"""Words that are taken of each description, from its beginning."""


def read_knowledge(path: str | Path, track: Track) -> Knowledge:
    """Return what subtask 5 may use: Ubuntu's man pages (a folder or JSON Lines), or the courses.

    Raises `UsageError` for any other subtask, `InputError` or `DataError` for what cannot be read.
    """
    if track.subtask != 5:
        raise UsageError(f"{track.name} is without external knowledge: it is for subtask 5")
    if track.dataset == "ubuntu":
        return ManPages.of(read_man_pages(path))
    return Courses.of(read_courses(path).values())


def _beginning(text: str) -> str:
    return " ".join(words_of(text)[:MOST_WORDS])


@dataclass(frozen=True, slots=True)
class ManPage:
    """A page: the name of a command or file, its section (`1`, `5`, …) if known, and its text."""

    name: str
    section: str | None
    text: str


# Names of commands have dots, dashes and plus signs inside: apt-get, sources.list, g++.
_COMMAND = re.compile(r"\w(?:[\w.+-]*[\w+])?")


@dataclass(frozen=True, slots=True, eq=False)
class ManPages:
    """The beginnings of man pages by the name of their command in lower case."""

    beginnings: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, pages: Iterable[ManPage]) -> ManPages:
        """Return the pages, of each as much as is ever used."""
        beginnings: dict[str, list[str]] = defaultdict(list)
        for page in pages:
            beginnings[page.name.lower()].append(_beginning(page.text))
        return cls(dict(beginnings))

    def about(self, text: str) -> str:
        """Return the beginnings of the pages whose name is a token of the text, in its order."""
        names = dict.fromkeys(match[0].lower() for match in _COMMAND.finditer(text))
        found = [page for name in names for page in self.beginnings.get(name, ())]
        return " ".join(found[:MOST_NAMED])


def read_man_pages(path: str | Path) -> tuple[ManPage, ...]:
    """Return the pages of a folder with a text file each, or of a JSON Lines file.

    In a folder `ls.1.txt`, `ls.1` and `ls.txt` are pages of `ls`; a line of a file is an object
    with `name`, `text` and perhaps `section`. Pages come sorted by name and section. The layout of
    the organisers' own files is not known. Raises `InputError` with every problem, `DataError` for
    a folder without pages.
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
        raise DataError(f"{folder}: no man page in this folder")
    return pages


def _of_lines(path: Path) -> list[ManPage]:
    findings = Findings(file=str(path))
    pages = []
    for number, line in parse_json_lines(read_text(path), str(path)):
        if not isinstance(line, dict):
            note(findings, "bad-type", f"line {number}: expected an object, {found(line)}")
            continue
        wrong = next((key for key in ("name", "text") if not isinstance(line.get(key), str)), None)
        if wrong is None:
            section = line.get("section")
            name, text = line["name"], line["text"]
            pages.append(ManPage(name, None if section is None else str(section), text))
        elif wrong in line:
            message = f"line {number}: {wrong} is text, {found(line[wrong])}"
            note(findings, "bad-type", message, key=wrong)
        else:
            note(findings, "missing-field", f"line {number} has no {wrong}", key=wrong)
    findings.check()
    return pages


@dataclass(frozen=True, slots=True)
class Section:
    """When an instructor gives a course; what is not known is None or empty."""

    instructor: str | None
    days: tuple[str, ...]
    start: str | None
    end: str | None


@dataclass(frozen=True, slots=True)
class Course:
    """What is known about an offered course; None or empty where it is missing ("NA").

    `credits` is a range, mostly with both ends the same. `has_lab` and `has_discussion` are None
    where the file says neither yes nor no. Most ratings and sizes are missing.
    """

    offering: str
    course: str | None
    title: str | None
    description: str | None
    area: str | None
    category: str | None
    credits: tuple[float, float] | None
    class_size: float | None
    clarity: float | None
    easiness: float | None
    helpfulness: float | None
    workload: float | None
    has_discussion: bool | None
    has_lab: bool | None
    semester: str | None
    year: int | None
    time_of_day: str | None
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """Code, title and description: what a search may look at."""
        return " ".join(part for part in (self.course, self.title, self.description) if part)


_COURSE = re.compile(r"\b([a-z]{2,8})[ -]?([0-9]{3})\b|\b([0-9]{3})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Courses:
    """What the course file says about the courses that a text names.

    `descriptions` is by code in lower case (eecs281); `codes` gives the code of a number (281)
    that only one course has.
    """

    descriptions: Mapping[str, str]
    codes: Mapping[str, str]

    @classmethod
    def of(cls, courses: Iterable[Course]) -> Courses:
        """Return the courses by code; what several offerings of one say alike is taken once."""
        texts: dict[str, dict[str, None]] = defaultdict(dict)
        for course in courses:
            code = course.course or course.offering.partition("-")[0]
            parts = (course.title, course.area, course.description)
            text = " ".join(part for part in parts if part)
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
            if code not in self.descriptions:  # in "take 281" the number alone is meant
                code = self.codes.get(match[2] or match[3], "")
            if code in self.descriptions:
                named[code] = self.descriptions[code]
        return " ".join(list(named.values())[:MOST_NAMED])


def read_courses(path: str | Path) -> Mapping[str, Course]:
    """Return offering → course of a course file, in its order.

    Raises `InputError` when it is not a JSON object of objects.
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
            courses[offering] = _course(offering, record)
        else:
            note(findings, "bad-type", f"a course is an object, {found(record)}", key=offering)
    findings.check()
    return courses


def _course(offering: str, raw: Mapping[str, Any]) -> Course:
    sections = raw.get("Section", raw.get("section", raw.get("Sections")))
    year = _number(raw.get("Year"))
    return Course(
        offering=offering,
        course=_text(raw.get("Course")),
        title=_text(raw.get("CourseTitle")),
        description=_text(raw.get("Description")),
        area=_text(raw.get("Area")),
        category=_text(raw.get("Category")),
        credits=_range(raw.get("Credits")),
        class_size=_number(raw.get("ClassSize")),
        clarity=_number(raw.get("ClarityRating")),
        easiness=_number(raw.get("EasinessRating")),
        helpfulness=_number(raw.get("HelpfulnessRating")),
        workload=_number(raw.get("Workload")),
        has_discussion=_yes(raw.get("HasDiscussion")),
        has_lab=_yes(raw.get("HasLab")),
        semester=_text(raw.get("Semester")),
        year=None if year is None else int(year),
        time_of_day=_text(raw.get("TimeOfDay")),
        sections=tuple(_section(*item) for item in _object(sections).items()),
    )


def _section(instructor: str, raw: Any) -> Section:
    section = _object(raw)
    days = section.get("DaysOfClass")
    times = (_text(section.get(key)) for key in ("StartTime", "EndTime"))
    start, end = (None if time == "0:00:00" else time for time in times)
    days = tuple(day for day in days if isinstance(day, str)) if isinstance(days, list) else ()
    return Section(_text(instructor), days, start, end)


def _object(raw: Any) -> Mapping[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _text(raw: Any) -> str | None:
    if isinstance(raw, str):
        return None if raw.strip() in ("", "NA") else raw
    return str(raw) if type(raw) in (int, float) else None


def _number(raw: Any) -> float | None:
    try:
        number = float(raw) if type(raw) in (int, float, str) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _range(raw: Any) -> tuple[float, float] | None:
    """Return both ends of a number, or of a range written as text."""
    low = high = raw
    if isinstance(raw, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*(?:-\s*([0-9.]+)\s*)?", raw)
        low, high = (match[1], match[2] or match[1]) if match else (None, None)
    ends = _number(low), _number(high)
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _yes(raw: Any) -> bool | None:
    return {"Y": True, "N": False}.get(raw) if isinstance(raw, str) else None
