from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.dstc7.baselines.external_knowledge import (
    MOST_NAMED,
    MOST_WORDS,
    Courses,
    ManPages,
    read_knowledge,
)
from mwzeval.dstc7.baselines.knowledge_files import ManPage, read_courses
from mwzeval.dstc7.baselines.query import query_of
from mwzeval.dstc7.baselines.ranker import Baseline
from mwzeval.dstc7.baselines.run import predict
from mwzeval.dstc7.reading.dialogues import Candidate, Example, Message
from mwzeval.dstc7.reading.loading import Gold
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.dstc7.scoring.evaluation import evaluate
from mwzeval.dstc7.synthetic import Recipe, Sizes, write_track
from mwzeval.errors import UsageError

PAGES = ManPages.of(
    ManPage(name, "1", text)
    for name, text in [
        ("apt-get", "installs packages"),
        ("g++", "the compiler"),
        ("sources.list", "where packages come from"),
        ("man", "shows pages"),
        ("long", "word " * 100),
    ]
)

COURSE_FILE = """{
 "EECS281-FA16": {"Course": "EECS281", "CourseTitle": "Data Structures", "Area": "Theory",
                  "Description": "Trees and heaps."},
 "EECS281-WN17": {"Course": "EECS281", "CourseTitle": "Data Structures", "Area": "Theory",
                  "Description": "Trees and heaps."},
 "EECS370-FA16": {"CourseTitle": "Computers", "Area": "NA"},
 "MATH370-FA16": {"Course": "MATH370", "CourseTitle": "Numbers"}
}"""


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
def test_a_man_page_is_found_by_its_name_as_a_token(text: str, expected: str) -> None:
    assert PAGES.about(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How about EECS281?", "data structures theory trees and heaps"),
        ("eecs 281", "data structures theory trees and heaps"),
        ("take 281 or EECS-281", "data structures theory trees and heaps"),
        ("EECS370, MATH370", "computers numbers"),
        ("370", ""),  # which one?
        ("room 28100", ""),
        ("", ""),
    ],
)
def test_a_course_is_found_by_code_or_number(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "course-info.json"
    file.write_text(COURSE_FILE, encoding="utf-8")
    assert Courses.of(read_courses(file).values()).about(text) == expected


def test_no_more_than_a_few_pages_are_added() -> None:
    pages = ManPages.of(ManPage(f"p{place}", None, f"text{place}") for place in range(9))
    expected = [f"text{place}" for place in range(8, 8 - MOST_NAMED, -1)]
    assert pages.about(" ".join(f"p{place}" for place in range(8, -1, -1))).split() == expected


def test_knowledge_joins_the_context_as_its_oldest_message_and_each_candidate() -> None:
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


@pytest.mark.parametrize(("dataset", "key"), [("ubuntu", "man_pages"), ("advising", "courses")])
@pytest.mark.parametrize("name", ["tfidf", "bm25"])
@pytest.mark.exhaustive(but=1)
def test_knowledge_finds_what_shared_words_do_not(
    dataset: str, key: str, name: str, tmp_path: Path
) -> None:
    """In the synthetic world pages and courses have the words that replies of the topic use."""
    track = Track(dataset, 5)  # type: ignore[arg-type]
    recipe = Recipe(pool=2000, vocabulary=4000, topics=60)
    data = write_track(tmp_path, track, Sizes(0, 0, 80), recipe)
    found = []
    for knowledge in (None, read_knowledge(data[key], track)):
        output = tmp_path / track.file_name
        predict(Baseline(name, knowledge=knowledge), track, data["test"], output)
        report = evaluate(output, Gold(data["targets"]), track).report()
        found.append(report.metrics["ranking"]["recall"]["10"])
    assert found[1] > found[0] + 0.1


def test_only_subtask_5_has_external_knowledge(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="subtask 5"):
        read_knowledge(tmp_path / "pages.jsonl", Track("ubuntu", 1))
