"""Text from outside the dialogue (subtask 5): man pages and courses that a text names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mwzeval.dstc7.baselines.knowledge_files import (
    Course,
    ManPage,
    by_name,
    read_courses,
    read_man_pages,
    relevant,
)
from mwzeval.dstc7.baselines.query import Knowledge
from mwzeval.dstc7.baselines.vectors import words_of
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.errors import UsageError

MOST_NAMED = 4
"""Things that are looked up for one text, the first that it names."""
MOST_WORDS = 40
"""Words that are taken of each description, from its beginning."""

# Names of commands have dots, dashes and plus signs inside: apt-get, sources.list, g++.
_COMMAND = re.compile(r"\w(?:[\w.+-]*[\w+])?")
_COURSE = re.compile(r"\b([a-z]{2,8})[ -]?([0-9]{3})\b|\b([0-9]{3})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class ManPages:
    """What man pages say about the commands that a text names."""

    pages: Mapping[str, Sequence[ManPage]]

    @classmethod
    def of(cls, pages: Iterable[ManPage]) -> ManPages:
        """Return the pages, of each as much as is ever used."""
        return cls(by_name(ManPage(p.name, p.section, _beginning(p.text)) for p in pages))

    def about(self, text: str) -> str:
        """Return the beginnings of the pages whose name is a token of the text, in its order."""
        found = relevant(self.pages, (match[0] for match in _COMMAND.finditer(text)))
        return " ".join(page.text for page in found[:MOST_NAMED])


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
        said: dict[str, dict[str, None]] = defaultdict(dict)
        for course in courses:
            code = course.course or course.offering.partition("-")[0]
            parts = (course.title, course.area, course.description)
            text = " ".join(part for part in parts if part)
            said[code.lower().replace(" ", "")].setdefault(text)
        by_number: dict[str, set[str]] = defaultdict(set)
        for code in said:
            by_number[code[-3:]].add(code)
        return cls(
            {code: _beginning(" ".join(texts)) for code, texts in said.items()},
            {number: min(codes) for number, codes in by_number.items() if len(codes) == 1},
        )

    def about(self, text: str) -> str:
        """Return the descriptions of the courses that a text names: EECS281, EECS 281 or 281."""
        named = dict.fromkeys(code for code in self._codes_in(text) if code in self.descriptions)
        return " ".join(self.descriptions[code] for code in list(named)[:MOST_NAMED])

    def _codes_in(self, text: str) -> Iterator[str]:
        for match in _COURSE.finditer(text.lower()):
            code = f"{match[1]}{match[2]}" if match[1] else ""
            # In "take 281" the number alone is meant.
            yield code if code in self.descriptions else self.codes.get(match[2] or match[3], "")


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
