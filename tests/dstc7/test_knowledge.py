"""Courses and man pages: files, and the texts added to contexts and candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.dstc7.baselines.knowledge import (
    MOST_NAMED,
    MOST_WORDS,
    ManPages,
    read_courses,
    read_knowledge,
    read_man_pages,
)
from mwzeval.dstc7.baselines.query import query_of
from mwzeval.dstc7.baselines.ranker import Baseline, predict
from mwzeval.dstc7.dialogues import Candidate, Example, Message
from mwzeval.dstc7.evaluation import evaluate
from mwzeval.dstc7.loading import Gold
from mwzeval.dstc7.tracks import Track
from mwzeval.errors import DataError, InputError, UsageError
from tests.dstc7.cases import Folder
from tests.dstc7.conversations import conversations, write_dialogues


def test_missing_course_fields_are_empty(tmp_path: Path) -> None:
    raw = {"Course": "EECS280", "CourseTitle": 3, "Area": None, "Description": " NA "}
    courses = read_courses(Folder(tmp_path).write("course-info.json", {"EECS280-FA16": raw}))
    assert courses.about("EECS280") == "3"


def test_malformed_course_files_are_errors(tmp_path: Path) -> None:
    for content, names in (([], r"c\.json"), ({"EECS1": 5, "EECS2": {}}, "EECS1"), ("{", "line 1")):
        with pytest.raises(InputError, match=names):
            read_courses(Folder(tmp_path).write("c.json", content))


def test_man_pages_are_read_from_a_folder(tmp_path: Path) -> None:
    for name, text in {"ls.1.txt": "list", "ls.txt": "l", "ntp.conf.5": "time"}.items():
        Folder(tmp_path).write(name, text)
    Folder(tmp_path).write("empty.1", "")
    pages = read_man_pages(tmp_path)
    found = [pages.about(name) for name in ("ls", "ntp.conf", "ntp", "empty")]
    assert found == ["l list", "time", "", ""]


def test_folders_without_man_pages_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read_man_pages(tmp_path)


def test_man_pages_are_read_from_json_lines(tmp_path: Path) -> None:
    lines = '{"name": "ls", "section": 1, "text": "list"}\n\n{"name": "ls", "text": "files"}\n'
    pages = read_man_pages(Folder(tmp_path).write("m.jsonl", lines))
    assert pages.about("ls") == "files list"


def test_all_malformed_man_pages_are_reported(tmp_path: Path) -> None:
    lines = '{"name": "ls"}\n[]\n{"name": 1, "text": ""}\n'
    with pytest.raises(InputError) as caught:
        read_man_pages(Folder(tmp_path).write("m.jsonl", lines))
    messages = [problem.message for problem in caught.value.problems]
    assert [message[:6] for message in messages] == ["line 1", "line 2", "line 3"]


PAGES = ManPages(
    [
        ("apt-get", "installs packages"),
        ("g++", "the compiler"),
        ("sources.list", "where packages come from"),
        ("Man", "shows pages"),
        ("long", "word " * 100),
    ]
)

TREES = {
    "Course": "EECS281",
    "CourseTitle": "Data Structures",
    "Area": "Theory",
    "Description": "Trees and heaps.",
}
COURSES = {
    "EECS281-FA16": TREES,
    "EECS281-WN17": TREES,
    "EECS370-FA16": {"CourseTitle": "Computers", "Area": "NA"},
    "MATH370-FA16": {"Course": "MATH370", "CourseTitle": "Numbers"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run sudo APT-GET install", "installs packages"),
        ("try apt-get.", "installs packages"),
        ("use g++, or `man g++`", "the compiler shows pages"),
        ("edit /etc/apt/sources.list", "where packages come from"),
        ("the manual of apt", ""),
        ("", ""),
        ("long", " ".join(["word"] * MOST_WORDS)),
    ],
)
def test_man_pages_are_found_by_name_tokens(text: str, expected: str) -> None:
    assert PAGES.about(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How about EECS281?", "data structures theory trees and heaps"),
        ("eecs 281", "data structures theory trees and heaps"),
        ("take 281 or EECS-281", "data structures theory trees and heaps"),
        ("EECS370, MATH370", "computers numbers"),
        ("370", ""),  # two courses have this number
        ("room 28100", ""),
        ("", ""),
    ],
)
def test_courses_are_found_by_code_or_unambiguous_number(
    text: str, expected: str, tmp_path: Path
) -> None:
    file = Folder(tmp_path).write("course-info.json", COURSES)
    assert read_courses(file).about(text) == expected


def test_number_of_added_man_pages_is_limited() -> None:
    pages = ManPages((f"p{place}", f"text{place}") for place in range(9))
    expected = [f"text{place}" for place in range(8, 8 - MOST_NAMED, -1)]
    assert pages.about(" ".join(f"p{place}" for place in range(8, -1, -1))).split() == expected


def test_knowledge_is_added_to_contexts_and_candidates() -> None:
    example = Example(
        "1",
        (Message("a", "hi"), Message("b", "which apt-get ?")),
        (Candidate("X", "man it"), Candidate("Y", "no")),
        (Candidate("X", "man it"),),
    )
    query = query_of(example, knowledge=PAGES)
    assert query.messages == ("installs packages", "hi", "which apt-get ?")
    assert query.candidates == ("man it shows pages", "no")
    assert query.answers == ("man it shows pages",)
    last = query_of(example, last_message=True)
    assert (last.messages, last.candidates) == (("which apt-get ?",), ("man it", "no"))


@pytest.mark.parametrize("name", ["tfidf", "bm25"])
def test_knowledge_improves_recall_without_shared_words(name: str, tmp_path: Path) -> None:
    """Contexts contain words such as ask7, and the man page of ask7 contains reply7."""
    track, output = Track("ubuntu", 5), tmp_path / "Ubuntu_subtask_5.json"
    dialogues = write_dialogues(tmp_path / "dialogues.json", conversations(40, seed=3))
    pages = ManPages((f"ask{topic}", f"reply{topic}") for topic in range(40))
    found = []
    for knowledge in (None, pages):
        predict(Baseline(name, knowledge=knowledge), track, dialogues, output)
        report = evaluate(output, Gold(dialogues=dialogues), track).report()
        found.append(report.metrics["ranking"]["recall"]["1"])
    assert found[1] > found[0] + 0.25


def test_external_knowledge_is_an_error_outside_subtask_5(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="subtask 5"):
        read_knowledge(tmp_path / "pages.jsonl", Track("ubuntu", 1))
