"""The training and dev files as numbers, with the vocabulary that the former gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    Bags,
    Integers,
    Settings,
    candidate_bags,
    context_bags,
)
from mwzeval.dstc7.baselines.dual_encoder.model import Vocabulary
from mwzeval.dstc7.baselines.query import Query
from mwzeval.dstc7.baselines.vectors import words_of
from mwzeval.errors import InputError, Problem

DEV_LIST = 100
"""Candidates of a dev example whose own come from a pool: its answer and those of others."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Pairs of a context and a right answer.

    `example[i]` is equal for pairs of one example, `same[i]` for answers of equal words.
    """

    vocabulary: Vocabulary
    rarity: NDArray[np.float64]
    contexts: Bags
    answers: Bags
    example: Integers
    same: Integers

    def __len__(self) -> int:
        return len(self.contexts)

    def twins(self, pairs: Integers) -> NDArray[np.bool_]:
        """Return, pairs × pairs, which answers are right for the context of another pair too."""
        example, same = self.example[pairs], self.same[pairs]
        twins: NDArray[np.bool_] = (same[:, None] == same) | (example[:, None] == example)
        np.fill_diagonal(twins, False)
        return twins

    def fingerprint(self) -> str:
        """Return a checksum of everything that training sees."""
        digest = blake2b("\n".join(self.vocabulary.words).encode(), digest_size=16)
        for bags in (self.contexts, self.answers):
            for array in (bags.words, bags.ages, bags.starts):
                digest.update(array.tobytes())
        return digest.hexdigest()


def training_data(queries: Iterable[Query], settings: Settings) -> TrainingData:
    """Return one pair for each right answer of each example, read once and not kept.

    Raises `InputError` when fewer than two examples have an answer.
    """
    first_numbers: dict[str, int] = {}
    contexts: list[list[list[int]]] = []
    answers: list[list[int]] = []
    example: list[int] = []
    counts: Counter[int] = Counter()
    for index, query in enumerate(queries):
        if not query.answers:
            continue
        said = [_numbers(text, first_numbers) for text in query.messages]
        for answer in query.answers:
            contexts.append(said)
            example.append(index)
            answers.append(_numbers(answer, first_numbers))
            counts.update(answers[-1])
        for words_said in said:
            counts.update(words_said)
    if len(answers) < 2:
        message = f"{len(answers)} examples with a right answer: training needs two at least"
        raise InputError([Problem("no-training-data", message)])
    words = list(first_numbers)
    vocabulary = Vocabulary.learn(
        {words[number]: count for number, count in counts.items()},
        minimum_count=settings.minimum_count,
        largest=settings.largest_vocabulary,
        buckets=settings.buckets,
    )
    renumbered = vocabulary.numbers(words)
    final = [[renumbered[number] for number in answer] for answer in answers]
    return TrainingData(
        vocabulary=vocabulary,
        rarity=_rarity(final, len(vocabulary)),
        contexts=context_bags(
            ([[renumbered[number] for number in text] for text in said] for said in contexts),
            settings.context_words,
            settings.ages,
        ),
        answers=candidate_bags(final, settings.candidate_words),
        example=np.array(example),
        same=_first_equal(answers),
    )


def _numbers(text: str, first_numbers: dict[str, int]) -> list[int]:
    return [first_numbers.setdefault(word, len(first_numbers)) for word in words_of(text)]


def _rarity(answers: Sequence[Sequence[int]], words: int) -> NDArray[np.float64]:
    """Return BM25's inverse document frequency of each word, over that of an unseen one."""
    containing = Counter(number for answer in answers for number in set(answer))
    frequency = np.zeros(words)
    for number, count in containing.items():
        frequency[number] = count
    total = len(answers)
    rarity = np.log1p((total - frequency + 0.5) / (frequency + 0.5))
    result: NDArray[np.float64] = rarity / np.log1p((total + 0.5) / 0.5)
    return result


def _first_equal(texts: Sequence[Sequence[int]]) -> Integers:
    first: dict[tuple[int, ...], int] = {}
    return np.array([first.setdefault(tuple(text), at) for at, text in enumerate(texts)])


def dev_lists(queries: Iterable[Query], settings: Settings) -> list[Query]:
    """Return the first dev examples that have a right answer, each with its list of candidates.

    Without lists in the file (subtask 2) the wrong candidates are answers of other examples, drawn
    with the seed of the settings. Raises `InputError` when there is no example to score.
    """
    chosen = list(islice((query for query in queries if query.answers), settings.dev_examples))
    if not chosen:
        message = "no dev example has a right answer: early stopping has nothing to go by"
        raise InputError([Problem("no-dev-data", message)])
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    texts = dict.fromkeys(text for query in chosen for text in query.answers)
    return [
        query if query.candidates else _invented(query, list(texts), generator) for query in chosen
    ]


def _invented(query: Query, texts: list[str], generator: np.random.Generator) -> Query:
    others = [text for text in texts if text not in query.answers]
    size = min(DEV_LIST - 1, len(others))
    drawn = [others[index] for index in generator.choice(len(others), size, replace=False)]
    candidates = (query.answers[0], *drawn)
    ids = ("RIGHT", *(f"WRONG{index}" for index in range(size)))
    return Query(query.example, query.messages, ids, candidates, query.answers, frozenset(ids[:1]))
