"""What synthetic dialogues are about: topics, their words, everything that is ever said in reply.

Each topic has words that contexts use and other words that replies use, so that what goes together
can be learned; besides, contexts share some words with the right reply, so that a search engine
finds some of them. Words are invented and as frequent and as long as in the Ubuntu data. Profiles,
courses and man pages, the external knowledge, say something of a topic as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.reading.tracks import Dataset

CONSONANTS = "bdfghjklmnprstvwyz"
VOWELS = "aeiou"

Generator = np.random.Generator


def vocabulary(size: int, generator: Generator) -> tuple[str, ...]:
    """Return so many different words of open syllables, the frequent ones short."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    words: list[str] = []
    count = 1
    while len(words) < size:
        wanted = min(size - len(words), len(syllables) ** count)
        numbers = generator.choice(len(syllables) ** count, size=wanted, replace=False)
        words += [_spelled(int(number), count, syllables) for number in numbers]
        count += 1
    return tuple(words)


def _spelled(number: int, count: int, syllables: list[str]) -> str:
    parts = []
    for _ in range(count):
        number, rest = divmod(number, len(syllables))
        parts.append(syllables[rest])
    return "".join(parts)


class Zipf:
    """Draws ranks from 0 with probability proportional to 1 / (rank + 1) ** exponent.

    Source: Zipf, Human Behavior and the Principle of Least Effort, 1949.
    """

    def __init__(self, size: int, exponent: float) -> None:
        weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
        self._cumulative = np.cumsum(weights) / weights.sum()

    def draw(self, count: int, generator: Generator) -> NDArray[np.int64]:
        """Return so many ranks."""
        drawn = np.searchsorted(self._cumulative, generator.random(count), side="right")
        return np.minimum(drawn, len(self._cumulative) - 1)


def lengths(
    count: int, mean: float, deviation: float, longest: int, generator: Generator
) -> NDArray[np.int64]:
    """Return log-normal numbers of words (mean and deviation of the logarithm), 1 to `longest`."""
    drawn = np.rint(generator.lognormal(mean, deviation, count))
    return np.clip(drawn, 1, longest).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a world is made; the defaults are full scale.

    `vocabulary` words are drawn with Zipf's `exponent`. Replies have log-normal lengths; a share
    `short_replies` of them are a few very short ones. A word of a reply is one of its topic with
    probability `topical`, a word of a context one of its topic's other words with `topical_context`
    or one of the right reply with `shared`.
    """

    seed: int = 7
    vocabulary: int = 60_000
    exponent: float = 1.05
    topics: int = 400
    words_of_topic: int = 30
    pool: int = 120_000
    short_replies: float = 0.05
    topical: float = 0.2
    topical_context: float = 0.1
    shared: float = 0.02


REPLY_LENGTH = (2.15, 0.75)
MESSAGE_LENGTH = (2.48, 0.72)
LONGEST = 70
COMMON_WORDS = 300
"""So many of the most frequent words say nothing about a topic."""

SHORT_REPLIES = 40


class World:
    """Topics, and the pool of replies; the same for the same recipe."""

    def __init__(self, recipe: Recipe | None = None) -> None:
        self.recipe = recipe or Recipe()
        r = self.recipe
        generator = np.random.default_rng([r.seed, 0])
        self.words = np.array(vocabulary(r.vocabulary, generator), dtype=object)
        self.zipf = Zipf(r.vocabulary, r.exponent)
        rare = np.arange(min(COMMON_WORDS, r.vocabulary // 2), r.vocabulary)
        shape = (r.topics, r.words_of_topic)
        self.context_words = generator.choice(rare, size=shape)
        self.reply_words = generator.choice(rare, size=shape)
        self.topic_of = generator.integers(0, r.topics, r.pool)
        self.replies = self._replies(generator)

    def _replies(self, generator: Generator) -> list[NDArray[np.int64]]:
        """Return the words of every reply of the pool."""
        r = self.recipe
        sizes = lengths(r.pool, *REPLY_LENGTH, LONGEST, generator)
        total = int(sizes.sum())
        drawn = self.zipf.draw(total, generator)
        topical = generator.random(total) < r.topical
        topics = np.repeat(self.topic_of, sizes)[topical]
        columns = generator.integers(0, r.words_of_topic, len(topics))
        drawn[topical] = self.reply_words[topics, columns]
        replies = np.split(drawn, np.cumsum(sizes)[:-1])
        short = [self.zipf.draw(1 + number % 2, generator) for number in range(SHORT_REPLIES)]
        for place in np.flatnonzero(generator.random(r.pool) < r.short_replies):
            replies[place] = short[int(generator.integers(SHORT_REPLIES))]
        return replies

    def text(self, words: NDArray[np.int64]) -> str:
        """Return words as an utterance."""
        return " ".join(self.words[words])

    @cached_property
    def texts(self) -> list[str]:
        """The replies of the pool as texts."""
        return [self.text(reply) for reply in self.replies]

    @cached_property
    def same_topic(self) -> list[NDArray[np.int64]]:
        """The replies of each topic."""
        order = np.argsort(self.topic_of, kind="stable")
        counts = np.bincount(self.topic_of, minlength=self.recipe.topics)
        return np.split(order, np.cumsum(counts)[:-1])

    @cached_property
    def having(self) -> dict[int, NDArray[np.int64]]:
        """The replies that have a word, for each that is not common."""
        sizes = [len(reply) for reply in self.replies]
        words = np.concatenate(self.replies)
        owners = np.repeat(np.arange(len(self.replies)), sizes)
        rare = words >= COMMON_WORDS
        words, owners = words[rare], owners[rare]
        order = np.argsort(words, kind="stable")
        words, owners = words[order], owners[order]
        starts = np.flatnonzero(np.r_[True, words[1:] != words[:-1]])
        keys = words[starts].tolist() if len(words) else []
        return dict(zip(keys, np.split(owners, starts[1:]), strict=True)) if keys else {}


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
