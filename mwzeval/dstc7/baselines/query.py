"""What a baseline is given of an example, and the ranking that it gives back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mwzeval.dstc7.reading.dialogues import Candidate, Example
from mwzeval.dstc7.reading.tracks import CHOICES, NONE


class Knowledge(Protocol):
    """Adds text from outside the dialogue to a text, or nothing."""

    def about(self, text: str) -> str:
        """Return what is known about the things that a text names, empty when nothing is."""


@dataclass(frozen=True, slots=True)
class Query:
    """One example: what has been said, oldest first, and what might be said next.

    `candidates` are the texts of `candidate_ids` (canonical, each once), in the order of the file;
    both are empty when there is one pool for all. `answers` are the right ones; `correct` their
    ids, NONE when there is none, nothing when the file does not say.
    """

    example: str
    messages: tuple[str, ...]
    candidate_ids: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    correct: frozenset[str] = frozenset()

    @property
    def context(self) -> str:
        """All that has been said, as one text."""
        return " ".join(self.messages)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ids with their scores, best first."""

    example: str
    entries: tuple[tuple[str, float], ...]


def query_of(
    example: Example, *, last_message: bool = False, knowledge: Knowledge | None = None
) -> Query:
    """Return what a baseline sees of an example: with `last_message`, only that of the context.

    With `knowledge` each candidate is followed by what is known about it, and what is known about
    the context comes before it, like a message older than all others.
    """
    said = [message.utterance for message in example.messages]
    messages = said[-1:] if last_message else said
    if knowledge is not None:
        known = knowledge.about(" ".join(messages))
        messages = [known, *messages] if known else messages
    unique = {option.candidate_id: option for option in reversed(example.candidates)}
    options = [c for c in example.candidates if unique[c.candidate_id] is c]
    correct: frozenset[str] = frozenset()
    if example.correct is not None:
        correct = frozenset(option.candidate_id for option in example.correct) or frozenset({NONE})
    return Query(
        example=example.example_id,
        messages=tuple(messages),
        candidate_ids=tuple(option.candidate_id for option in options),
        candidates=_texts(options, knowledge),
        answers=_texts(example.correct or (), knowledge),
        correct=correct,
    )


def with_knowledge(text: str, knowledge: Knowledge | None) -> str:
    """Return a candidate's text, followed by what is known about what it names."""
    known = "" if knowledge is None else knowledge.about(text)
    return f"{text} {known}" if known else text


def _texts(options: Iterable[Candidate], knowledge: Knowledge | None) -> tuple[str, ...]:
    return tuple(with_knowledge(option.utterance, knowledge) for option in options)


def all_candidates(queries: Sequence[Query]) -> list[str]:
    """Return the candidates of all queries, one list after the other."""
    return [text for query in queries for text in query.candidates]


def as_choices(ranking: Ranking, *, are_logarithms: bool) -> Ranking:
    """Return the ten best of a ranking with probabilities that add to 1.

    Scores that are logarithms of odds (a dual encoder's) go through a softmax; others count in
    proportion, negative ones as 0, and all ten alike when none is above 0.
    """
    best = ranking.entries[:CHOICES]
    scores = [score for _, score in best]
    weights = _exponentials(scores) if are_logarithms else [max(score, 0.0) for score in scores]
    total = math.fsum(weights)
    shares = [weight / total for weight in weights] if total else [1 / len(best)] * len(best)
    names = (name for name, _ in best)
    return Ranking(ranking.example, tuple(zip(names, shares, strict=True)))


def _exponentials(scores: Sequence[float]) -> list[float]:
    return [math.exp(score - max(scores)) for score in scores]
