"""External knowledge (subtask 5) as files: Ubuntu's man pages and Advising's courses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.reading.kinds import note
from mwzeval.errors import DataError, InputError, Problem
from mwzeval.files.reading import parse_json, parse_json_lines, read_text
from mwzeval.scores.findings import Findings, found


@dataclass(frozen=True, slots=True)
class ManPage:
    """A page: the name of a command or file, its section (`1`, `5`, …) if known, and its text."""

    name: str
    section: str | None
    text: str


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
        if file.is_file() and not file.name.startswith("."):
            name, section = _title(file.name)
            if file.stat().st_size:
                text = read_text(file)
                pages.append(ManPage(name, section, text))
    if not pages:
        raise DataError(f"{folder}: no man page in this folder")
    return pages


def _title(file_name: str) -> tuple[str, str | None]:
    stem = file_name.removesuffix(".gz").removesuffix(".txt")
    name, dot, section = stem.rpartition(".")
    if dot and name and section[:1].isdigit():
        return name, section
    return stem, None


def _of_lines(path: Path) -> list[ManPage]:
    findings = Findings(file=str(path))
    pages = []
    text = read_text(path)
    for number, line in parse_json_lines(text, str(path)):
        page = _page(line, number, findings)
        if page is not None:
            pages.append(page)
    findings.check()
    return pages


def _page(line: Any, number: int, findings: Findings) -> ManPage | None:
    if not isinstance(line, dict):
        note(findings, "bad-type", f"line {number}: expected an object, {found(line)}")
        return None
    for key in ("name", "text"):
        if key not in line:
            note(findings, "missing-field", f"line {number} has no {key}", key=key)
            return None
        if not isinstance(line[key], str):
            note(findings, "bad-type", f"line {number}: {key} is text, {found(line[key])}", key=key)
            return None
    section = line.get("section")
    return ManPage(line["name"], None if section is None else str(section), line["text"])


def relevant(pages: Mapping[str, Sequence[ManPage]], tokens: Iterable[str]) -> list[ManPage]:
    """Return the pages whose name is among the tokens, in the order of the tokens, each once.

    `pages` comes from `by_name`. The rule is ours; names are compared in lower case.
    """
    names = dict.fromkeys(token.lower() for token in tokens)
    return [page for name in names for page in pages.get(name, ())]


def by_name(pages: Iterable[ManPage]) -> dict[str, list[ManPage]]:
    """Return pages by their name in lower case."""
    named: dict[str, list[ManPage]] = {}
    for page in pages:
        named.setdefault(page.name.lower(), []).append(page)
    return named


MISSING = frozenset({"", "NA"})
UNKNOWN_TIMES = MISSING | {"0:00:00"}
_CREDITS = re.compile(r"\s*([0-9.]+)\s*(?:-\s*([0-9.]+)\s*)?")


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
    sections = _object(raw.get("Section", raw.get("section", raw.get("Sections"))))
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
        year=_whole(raw.get("Year")),
        time_of_day=_text(raw.get("TimeOfDay")),
        sections=tuple(_section(name, _object(of)) for name, of in sections.items()),
    )


def _section(instructor: str, raw: Mapping[str, Any]) -> Section:
    days = raw.get("DaysOfClass")
    start, end = (_text(raw.get(key)) for key in ("StartTime", "EndTime"))
    return Section(
        instructor=None if instructor in MISSING else instructor,
        days=tuple(day for day in days if isinstance(day, str)) if isinstance(days, list) else (),
        start=None if start in UNKNOWN_TIMES else start,
        end=None if end in UNKNOWN_TIMES else end,
    )


def _object(raw: Any) -> Mapping[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _text(raw: Any) -> str | None:
    if isinstance(raw, str):
        return None if raw.strip() in MISSING else raw
    return str(raw) if type(raw) in (int, float) else None


def _number(raw: Any) -> float | None:
    if type(raw) not in (int, float, str):
        return None
    try:
        number = float(raw)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(raw: Any) -> int | None:
    number = _number(raw)
    return None if number is None else int(number)


def _range(raw: Any) -> tuple[float, float] | None:
    """Return both ends of a number, or of a range written as text."""
    if isinstance(raw, str):
        match = _CREDITS.fullmatch(raw)
        low, high = (match[1], match[2] or match[1]) if match else (None, None)
    else:
        low = high = raw
    ends = _number(low), _number(high)
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _yes(raw: Any) -> bool | None:
    return {"Y": True, "N": False}.get(raw) if isinstance(raw, str) else None
