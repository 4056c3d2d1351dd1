"""Courses and man pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.baselines.knowledge_files import (
    Section,
    by_name,
    read_courses,
    read_man_pages,
    relevant,
)
from mwzeval.errors import DataError, InputError
from tests.dstc7.cases import Folder
from tests.places import shared


def course(tmp_path: Path, **raw: Any) -> Any:
    path = Folder(tmp_path).write("course-info.json", {"EECS280-FA16": raw})
    return read_courses(path)["EECS280-FA16"]


@pytest.mark.parametrize(
    ("raw", "credits"),
    [(4, (4, 4)), ("4", (4, 4)), ("1 - 3", (1, 3)), ("1-3", (1, 3)), ("NA", None), (None, None)],
)
def test_credits_may_be_a_range(raw: Any, credits: Any, tmp_path: Path) -> None:
    assert course(tmp_path, Credits=raw).credits == credits


@pytest.mark.parametrize(
    ("raw", "number"), [(3.5, 3.5), ("3.5", 3.5), ("NA", None), (None, None), (True, None)]
)
def test_what_is_missing_is_none(raw: Any, number: float | None, tmp_path: Path) -> None:
    assert course(tmp_path, ClarityRating=raw).clarity == number
    assert course(tmp_path, Workload=raw).workload == number


@pytest.mark.parametrize(("raw", "has"), [("Y", True), ("N", False), (None, None), ("NA", None)])
def test_a_lab_is_there_or_not_or_nobody_knows(raw: Any, has: Any, tmp_path: Path) -> None:
    assert course(tmp_path, HasLab=raw).has_lab is has


@pytest.mark.parametrize("key", ["Section", "section"])
@pytest.mark.parametrize(
    ("days", "start", "expected"),
    [
        (["Mon", "Wed"], "10:30:00", (("Mon", "Wed"), "10:30:00")),
        ("", "NA", ((), None)),
        ([], "0:00:00", ((), None)),
        (None, None, ((), None)),
    ],
)
def test_sections_are_spelled_in_two_ways(
    key: str, days: Any, start: Any, expected: Any, tmp_path: Path
) -> None:
    section = {"DaysOfClass": days, "StartTime": start, "EndTime": start}
    found = course(tmp_path, **{key: {"NA": section, "Ada": section}}).sections
    assert [each.instructor for each in found] == [None, "Ada"]
    assert found[0] == Section(None, expected[0], expected[1], expected[1])


def test_a_course_has_a_text_to_search(tmp_path: Path) -> None:
    found = course(tmp_path, Course="EECS280", CourseTitle="T", Description="NA", TimeOfDay="x")
    assert (found.text, found.time_of_day) == ("EECS280 T", "x")


def test_a_course_file_is_an_object_of_objects(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found a list"):
        read_courses(Folder(tmp_path).write("c.json", []))
    with pytest.raises(InputError, match="EECS1"):
        read_courses(Folder(tmp_path).write("c.json", {"EECS1": 5, "EECS2": {}}))
    with pytest.raises(InputError, match="line 1"):
        read_courses(Folder(tmp_path).write("c.json", "{"))


def test_course_files_of_the_shared_fixtures() -> None:
    courses = read_courses(shared("data", "dstc7", "synthetic", "course-info.json"))
    assert courses
    assert any(each.sections for each in courses.values())
    assert any(each.credits and each.credits[0] < each.credits[1] for each in courses.values())


def test_man_pages_of_a_folder(tmp_path: Path) -> None:
    for name, text in {"ls.1.txt": "list", "ls.txt": "l", "ntp.conf.5": "time"}.items():
        Folder(tmp_path).write(name, text)
    Folder(tmp_path).write("empty.1", "")
    found = [(page.name, page.section, page.text) for page in read_man_pages(tmp_path)]
    assert found == [("ls", None, "l"), ("ls", "1", "list"), ("ntp.conf", "5", "time")]


def test_a_folder_without_man_pages(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no man page"):
        read_man_pages(tmp_path)


def test_man_pages_of_lines(tmp_path: Path) -> None:
    lines = '{"name": "ls", "section": 1, "text": "list"}\n\n{"name": "cp", "text": "copy"}\n'
    pages = read_man_pages(Folder(tmp_path).write("m.jsonl", lines))
    assert [(page.name, page.section) for page in pages] == [("cp", None), ("ls", "1")]


def test_malformed_man_pages_are_all_reported(tmp_path: Path) -> None:
    lines = '{"name": "ls"}\n[]\n{"name": 1, "text": ""}\n'
    with pytest.raises(InputError) as caught:
        read_man_pages(Folder(tmp_path).write("m.jsonl", lines))
    messages = [problem.message for problem in caught.value.problems]
    assert [message[:6] for message in messages] == ["line 1", "line 2", "line 3"]


def test_a_page_is_relevant_when_its_name_is_a_token(tmp_path: Path) -> None:
    for name in ("ls.1", "LS.2", "cp.1", "l.1"):
        Folder(tmp_path).write(name, "x")
    pages = by_name(read_man_pages(tmp_path))
    found = relevant(pages, ["then", "Ls", "and", "cp", "or", "ls", "please"])
    assert [(page.name, page.section) for page in found] == [("LS", "2"), ("ls", "1"), ("cp", "1")]
