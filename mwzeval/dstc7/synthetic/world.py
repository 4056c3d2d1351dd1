"""What synthetic dialogues are about, and everything that is ever said in reply.

There are topics. Each has words that contexts use and other words that replies use, so that what
goes together can be learned; besides, contexts share some words with the right reply, so that a
search engine finds some of them. Lengths and frequencies are like those of the Ubuntu data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.synthetic.words import Generator, Zipf, lengths, vocabulary


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
