"""Profiles, courses, man pages, paraphrases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.baselines.knowledge_files import (
    Offering,
    Profile,
    Section,
    by_name,
    profile_of,
    read_courses,
    read_man_pages,
    relevant,
)
from mwzeval.dstc7.reading.dialogues import read_examples, read_paraphrases
from mwzeval.errors import DataError, InputError
from tests.dstc7.cases import Folder
from tests.places import shared


def course(tmp_path: Path, **raw: Any) -> Any:
    path = Folder(tmp_path).write("course-info.json", {"EECS280-FA16": raw})
    return read_courses(path)["EECS280-FA16"]


def test_a_profile_has_courses_term_and_preferences() -> None:
    raw = {
        "Courses": {
            "Prior": [{"offering": "EECS280-WN16", "instructor": "Ada Example"}],
            "Suggested": [{"offering": "EECS281-FA16"}, {"instructor": "nobody"}, None],
        },
        "Term": {"Semester": "Fall", "Year": "2016"},
        "Standing": "Senior",
        "Aggregated": {"Workload": {"1-2": 0.25, "3-4": "NA"}, "Area": None},
    }
    assert profile_of(raw) == Profile(
        prior=(Offering("EECS280-WN16", "Ada Example"),),
        suggested=(Offering("EECS281-FA16", None),),
        semester="Fall",
        year=2016,
        standing="Senior",
        preferences={"Workload": {"1-2": 0.25}, "Area": {}},
    )
    assert Offering("EECS280-WN16-x", None).course == "EECS280"


@pytest.mark.parametrize("raw", [None, {}, {"Courses": None, "Term": "Fall", "Aggregated": []}])
def test_everything_in_a_profile_is_optional(raw: Any) -> None:
    assert profile_of(raw) == Profile()


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


def test_course_files_and_profiles_of_the_shared_fixtures() -> None:
    courses = read_courses(shared("data", "dstc7", "synthetic", "course-info.json"))
    assert courses
    assert any(each.sections for each in courses.values())
    assert any(each.credits and each.credits[0] < each.credits[1] for each in courses.values())
    examples = read_examples(shared("data", "dstc7", "synthetic", "advising_dev_subtask_1.json"))
    profile = profile_of(examples[0].profile)
    assert profile.prior
    assert profile.preferences
    assert profile.year == 2016


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


def test_paraphrases_are_groups_of_texts(tmp_path: Path) -> None:
    path = Folder(tmp_path).write("p.json", [["a", "b"], ["c"]])
    assert read_paraphrases(path) == (("a", "b"), ("c",))
    wrong = Folder(tmp_path).write("q.json", json.dumps([["a"], "b", [], [1, "x"]]))
    with pytest.raises(InputError) as caught:
        read_paraphrases(wrong)
    assert [p.message[:7] for p in caught.value.problems] == ["group 2", "group 3", "group 4"]
