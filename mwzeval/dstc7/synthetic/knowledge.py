"""Synthetic external knowledge: profiles, courses and man pages that say something of a topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mwzeval.dstc7.reading.tracks import Dataset
from mwzeval.dstc7.synthetic.words import Generator
from mwzeval.dstc7.synthetic.world import World

INSTRUCTORS = ("Ada Example", "Ben Sample", "Cleo Testperson")
STANDINGS = ("Freshman", "Sophomore", "Junior", "Senior")
AREAS = ("Intelligent Systems", "Software Development", "Hardware", "Theory")
DAYS: tuple[list[str] | str, ...] = (["Mon", "Wed"], ["Tue", "Thu"], [], "")
FIRST_COURSE = 100


def course_of(world: World, dataset: Dataset, topic: int) -> str:
    """Return what in a context leads to knowledge about a topic: a course, or a command."""
    if dataset == "advising":
        return _course(topic)
    return f"cmd{world.words[world.context_words[topic, 0]]}"


def _course(topic: int) -> str:
    return f"EECS{FIRST_COURSE + topic}"


def profile(generator: Generator, *, with_preferences: bool) -> dict[str, Any]:
    """Return a student's profile; preferences are withheld at test time."""

    def offerings(term: str) -> list[dict[str, str]]:
        numbers = generator.choice(300, size=3, replace=False).tolist()
        return [
            {
                "offering": f"{_course(number)}-{term}",
                "instructor": INSTRUCTORS[number % len(INSTRUCTORS)],
            }
            for number in numbers
        ]

    made: dict[str, Any] = {
        "Courses": {"Prior": offerings("WN16"), "Suggested": offerings("FA16")},
        "Term": {"Semester": "Fall", "Year": 2016},
        "Standing": STANDINGS[int(generator.integers(len(STANDINGS)))],
    }
    if with_preferences:
        first = round(float(generator.random()), 2)
        made["Aggregated"] = {
            "Area": {AREAS[0]: first, AREAS[1]: round(1 - first, 2)},
            "Workload": {"1-2": 1.0},
        }
    return made


def course_info(world: World) -> dict[str, dict[str, Any]]:
    """Return a course for each topic, described in the words that replies of the topic use."""
    info: dict[str, dict[str, Any]] = {}
    for topic, words in enumerate(world.reply_words):
        course = _course(topic)
        instructor = INSTRUCTORS[topic % len(INSTRUCTORS)]
        info[f"{course}-FA16"] = {
            "Area": AREAS[topic % len(AREAS)],
            "Category": "Elective",
            # Most ratings and sizes are missing in the real file.
            "ClarityRating": 4.1 if topic % 4 == 0 else "NA",
            "ClassSize": 80 if topic % 4 == 1 else "NA",
            "Course": course,
            "CourseTitle": world.text(words[:3]).title(),
            "Credits": "1 - 3" if topic % 5 == 0 else 4,
            "Description": world.text(words),
            "EasinessRating": "NA",
            "HasDiscussion": "Y" if topic % 2 else "N",
            "HasLab": None,
            "HelpfulnessRating": "NA",
            "Semester": "Fall",
            "Workload": 1 + topic % 4 if topic % 3 else None,
            "Year": 2016,
            "Section" if topic % 2 else "section": {
                instructor: {
                    "DaysOfClass": DAYS[topic % len(DAYS)],
                    "StartTime": "10:30:00" if topic % 2 else "NA",
                    "EndTime": "12:00:00" if topic % 2 else "0:00:00",
                }
            },
        }
    return info


def man_pages(world: World) -> Iterator[dict[str, str]]:
    """Yield a man page for each topic, in the words that replies of the topic use."""
    for topic, words in enumerate(world.reply_words):
        name = course_of(world, "ubuntu", topic)
        yield {"name": name, "section": "1", "text": f"{name} - {world.text(words)}"}
