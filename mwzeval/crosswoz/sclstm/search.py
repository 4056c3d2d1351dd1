"""Beam search for the most probable sequences of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A sequence of token numbers without its end, and the logarithm of its probability.

    `is_complete` says whether the probability of the end is in it; otherwise the sequence was cut.
    """

    tokens: tuple[int, ...]
    log_probability: float
    is_complete: bool

    @property
    def mean(self) -> float:
        """The mean over the tokens and, if it is complete, the end."""
        return self.log_probability / max(1, len(self.tokens) + self.is_complete)


@dataclass(frozen=True, slots=True)
class Model(Generic[State]):
    """Of what a search is made; states are those of several sequences, one a row."""

    begin: State
    """The state of one empty sequence."""
    end: int
    """The token that ends a sequence."""
    following: Callable[[State], NDArray[np.float64]]
    """Returns log-probabilities of the next token, shape (sequences, tokens); -inf: never."""
    extended: Callable[[State, Sequence[int], Sequence[int]], State]
    """Returns the state of new sequences: which old one, and its next token."""


def beam_search(model: Model[State], width: int, longest: int) -> list[Hypothesis]:
    """Return at most `width` complete sequences of at most `longest` tokens, most probable first.

    After each token the `width` most probable sequences are kept; the search is over when that many
    are complete. Width 1 is greedy search; with as many as there are sequences it is exhaustive. If
    none was completed, the most probable one that was cut is returned.
    """
    state, kept = model.begin, [Hypothesis((), 0.0, is_complete=False)]
    complete: list[Hypothesis] = []
    cut = kept
    for place in range(longest + 1):
        if not kept or len(complete) >= width:
            break
        scores = np.asarray([[each.log_probability] for each in kept]) + model.following(state)
        if place == longest:  # only the end is left
            scores[:, np.arange(scores.shape[1]) != model.end] = -np.inf
        best = highest(scores.ravel(), width)
        rows, tokens = (of.tolist() for of in np.unravel_index(best, scores.shape))
        origins, added, extended = [], [], []
        for row, token in zip(rows, tokens, strict=True):
            score = float(scores[row, token])
            if score == -np.inf:
                break
            if token == model.end:
                complete.append(Hypothesis(kept[row].tokens, score, is_complete=True))
                continue
            origins.append(row)
            added.append(token)
            extended.append(Hypothesis((*kept[row].tokens, token), score, is_complete=False))
        if extended:
            state = model.extended(state, origins, added)
        kept, cut = extended, kept[:1]
    return sorted(complete, key=lambda each: -each.log_probability)[:width] or cut


def highest(scores: NDArray[np.float64], width: int) -> NDArray[np.int64]:
    """Return the places of the `width` highest scores, highest first; of equal ones the first.

    Most of a search was once spent on putting all the others in order, too.
    """
    places = np.arange(len(scores))
    if width < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -width)[-width])
    return places[np.argsort(-scores[places], kind="stable")][:width]
