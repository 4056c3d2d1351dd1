"""The input of baselines, and products of text vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.dialogues import Candidate, Example
from mwzeval.dstc7.tracks import NONE

CUT = 10
"""The final score is (MRR + Recall@10) / 2 (the organizers' site, "Evaluation")."""

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters, digits and underscores."""
    return _WORD.findall(text.lower())


class Knowledge(Protocol):
    """External knowledge: descriptions of entities that can be added to a text."""

    def about(self, text: str) -> str:
        """Return descriptions of the entities that a text names, "" if there are none."""


@dataclass(frozen=True, slots=True)
class Query:
    """The input of a baseline: the messages of an example, oldest first, and its candidates.

    `candidates` has the texts of `candidate_ids` (canonical, without repeats), in file order;
    `candidates` and `candidate_ids` are empty if all examples share a pool. `answers` are the texts
    of the correct candidates, and `correct` has their ids: only NONE if no candidate is correct,
    and no ids if the file has no answers.
    """

    example: str
    messages: tuple[str, ...]
    candidate_ids: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    correct: frozenset[str] = frozenset()

    @property
    def context(self) -> str:
        """All messages, joined."""
        return " ".join(self.messages)


def query_of(
    example: Example, *, last_message: bool = False, knowledge: Knowledge | None = None
) -> Query:
    """Return the input of a baseline; with `last_message`, the context is only the last message.

    With `knowledge`, descriptions are added to the end of each candidate. The descriptions for a
    context are added as its oldest message.
    """
    messages = [message.utterance for message in example.messages]
    messages = messages[-1:] if last_message else messages
    if knowledge is not None and (known := knowledge.about(" ".join(messages))):
        messages = [known, *messages]

    def texts(options: Iterable[Candidate]) -> tuple[str, ...]:
        return tuple(with_knowledge(option.utterance, knowledge) for option in options)

    options: dict[str, Candidate] = {}
    for option in example.candidates:
        options.setdefault(option.candidate_id, option)
    correct = frozenset(option.candidate_id for option in example.correct or ())
    return Query(
        example=example.example_id,
        messages=tuple(messages),
        candidate_ids=tuple(options),
        candidates=texts(options.values()),
        answers=texts(example.correct or ()),
        correct=correct if correct or example.correct is None else frozenset({NONE}),
    )


def with_knowledge(text: str, knowledge: Knowledge | None) -> str:
    """Return a candidate's text, followed by the descriptions of the entities that it names."""
    known = "" if knowledge is None else knowledge.about(text)
    return f"{text} {known}" if known else text


def all_candidates(queries: Sequence[Query]) -> list[str]:
    """Return the candidates of all queries in one list."""
    return [text for query in queries for text in query.candidates]


Scores = NDArray[np.float32]
Indices = NDArray[np.int64]

BLOCK = 32
"""The number of contexts that are multiplied with the pool at a time; the scores of 32 contexts
with 120,000 candidates need 15 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector for each of n texts, in two parts that are concatenated.

    `sparse` is a SciPy CSR matrix, n × words; `dense` is an array, n × dimensions, or None.
    """

    sparse: Any
    dense: Scores | None = None

    def __len__(self) -> int:
        return int(self.sparse.shape[0])


def list_scores(contexts: Vectors, candidates: Vectors, sizes: Sequence[int]) -> list[Scores]:
    """Return the dot products of each context with its own candidates.

    `candidates` has the `sizes[0]` candidates of the first context, then those of the second, etc.
    """
    query = np.zeros(contexts.sparse.shape[1], dtype=np.float32)
    scores = []
    for index, stop in enumerate(accumulate(sizes)):
        rows = slice(stop - sizes[index], stop)
        row = contexts.sparse[index]
        query[row.indices] = row.data
        products = candidates.sparse[rows] @ query
        query[row.indices] = 0
        if contexts.dense is not None and candidates.dense is not None:
            products = products + candidates.dense[rows] @ contexts.dense[index]
        scores.append(products.astype(np.float32, copy=False))
    return scores


def pool_best(contexts: Vectors, pool: Vectors, most: int) -> list[tuple[Indices, Scores]]:
    """Return, for each context, the `most` candidates of a pool with the largest dot products.

    The result has the rows of these candidates in the pool and their scores, best first. Candidates
    with equal scores are in pool order.
    """
    found = []
    for start in range(0, len(contexts), BLOCK):
        rows = slice(start, start + BLOCK)
        # The block is dense: a sparse product would be nearly full, and slower.
        block = np.ascontiguousarray(contexts.sparse[rows].toarray().T)
        products = np.ascontiguousarray((pool.sparse @ block).T)
        if contexts.dense is not None and pool.dense is not None:
            products += contexts.dense[rows] @ pool.dense.T
        found += [best(scores, most) for scores in products]
    return found


def order(scores: Scores) -> Indices:
    """Return the indices of scores from the highest to the lowest; equal scores stay in order."""
    return np.argsort(-scores, kind="stable")


def best(scores: Scores, most: int) -> tuple[Indices, Scores]:
    """Return the indices of the `most` highest scores, highest first, and these scores.

    The result equals the first entries of `order` but is computed without sorting all scores.
    """
    if most >= len(scores):
        places = order(scores)
    else:
        last = np.partition(scores, len(scores) - most)[len(scores) - most]
        above = np.flatnonzero(scores > last)
        level = np.flatnonzero(scores == last)[: most - len(above)]
        places = np.concatenate([above[order(scores[above])], level])
    return places, scores[places]
