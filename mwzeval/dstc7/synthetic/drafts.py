"""Synthetic examples before they are written: who says what, and which replies are offered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.reading.tracks import RANKED, Track
from mwzeval.dstc7.synthetic.world import (
    COMMON_WORDS,
    LONGEST,
    MESSAGE_LENGTH,
    Generator,
    World,
    lengths,
)

HARD = 10
"""How many wrong candidates of a list are of the same topic, or share a rare word."""

NONE_SHARE = 0.2
MESSAGES = (0.9, 0.75)
"""Mean and deviation of the logarithm of half the number of messages."""

MOST_MESSAGES = 43
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Draft:
    """An example: its messages, the texts offered, which of these are right, and its topic.

    `places` says which reply of the pool each text is, -1 for a text that is not in the pool.
    `answer` is the right reply, also when it is not offered.
    """

    messages: tuple[str, ...]
    texts: tuple[str, ...]
    places: tuple[int, ...]
    right: tuple[int, ...]
    topic: int
    answer: int


class Drafter:
    """Makes the examples of a track in a world; each depends on the seed and its number alone."""

    def __init__(self, world: World, track: Track, listed: int = RANKED) -> None:
        self._world = world
        self._track = track
        self._listed = listed

    def drafts(self, split: str, count: int) -> Iterator[Draft]:
        """Yield so many examples of a split."""
        for number in range(count):
            key = [self._world.recipe.seed, 1 + SPLITS.index(split), number]
            yield self._draft(np.random.default_rng(key))

    def _draft(self, generator: Generator) -> Draft:
        world = self._world
        answer = int(generator.integers(world.recipe.pool))
        topic = int(world.topic_of[answer])
        messages, words = self._context(answer, topic, generator)
        if self._track.has_pool:
            return Draft(messages, (), (), (), topic, answer)
        right = [(world.texts[answer], answer)]
        if self._track.subtask == 3:
            right += [(text, -1) for text in self._paraphrases(answer, generator)]
        if self._track.has_none and generator.random() < NONE_SHARE:
            right = []
        wrong = self._wrong(answer, topic, words, self._listed - len(right), generator)
        offered = [*right, *((world.texts[place], place) for place in wrong)]
        order = generator.permutation(len(offered)).tolist()
        where = {old: new for new, old in enumerate(order)}
        return Draft(
            messages,
            tuple(offered[old][0] for old in order),
            tuple(offered[old][1] for old in order),
            tuple(sorted(where[index] for index in range(len(right)))),
            topic,
            answer,
        )

    def _context(
        self, answer: int, topic: int, generator: Generator
    ) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return the messages, an odd number of them, and all their words."""
        world, recipe = self._world, self._world.recipe
        half = int(lengths(1, *MESSAGES, (MOST_MESSAGES - 1) // 2, generator)[0])
        sizes = lengths(2 * half + 1, *MESSAGE_LENGTH, LONGEST, generator)
        total = int(sizes.sum())
        words = world.zipf.draw(total, generator)
        kind = generator.random(total)
        topical = kind < recipe.topical_context
        columns = generator.integers(0, recipe.words_of_topic, int(topical.sum()))
        words[topical] = world.context_words[topic, columns]
        shared = kind > 1 - recipe.shared
        words[shared] = generator.choice(world.replies[answer], int(shared.sum()))
        messages = tuple(map(world.text, np.split(words, np.cumsum(sizes)[:-1])))
        return messages, words

    def _wrong(
        self, answer: int, topic: int, words: NDArray[np.int64], count: int, generator: Generator
    ) -> list[int]:
        """Return wrong replies: hard ones first, then any."""
        world = self._world
        chosen: dict[int, None] = {}
        same = world.same_topic[topic]
        for place in generator.choice(same, HARD // 2).tolist():
            chosen[place] = None
        rare = words[words >= COMMON_WORDS]
        for word in generator.permutation(rare)[:HARD].tolist():
            if len(chosen) < HARD and word in world.having:
                chosen[int(generator.choice(world.having[word]))] = None
        chosen.pop(answer, None)
        while len(chosen) < count:
            for place in generator.integers(0, world.recipe.pool, count).tolist():
                if place != answer:
                    chosen[place] = None
        return list(chosen)[:count]

    def _paraphrases(self, answer: int, generator: Generator) -> list[str]:
        """Return one to five other ways to say a reply: other order, some other topical words."""
        world = self._world
        reply, topic = world.replies[answer], int(world.topic_of[answer])
        found = []
        for _ in range(int(generator.integers(1, 6))):
            words = generator.permutation(reply)
            other = generator.random(len(words)) < 0.3
            columns = generator.integers(0, world.recipe.words_of_topic, int(other.sum()))
            words[other] = world.reply_words[topic, columns]
            found.append(world.text(words))
        return found
