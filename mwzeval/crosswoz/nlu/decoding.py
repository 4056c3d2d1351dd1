"""From scores of single characters to tags that go together: the inside of a value has a beginning.

Tagged one by one, a name falls apart where one character is doubtful. The best whole sequence is
found as by Viterbi, with no other rule than that an I follows the B or I of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.nlu.examples import BEGIN, INSIDE, OUTSIDE


def best_tags(
    logits: NDArray[Any], lengths: Sequence[int], tags: Sequence[str]
) -> list[NDArray[np.int64]]:
    """Return the numbers of the likeliest tags of each utterance, as many as it has characters.

    `logits` have the shape (utterances, characters, tags), of which the first `lengths` count.
    """
    places = {tag: number for number, tag in enumerate(tags)}
    pairs = [
        (places[BEGIN + tag[len(INSIDE) :]], number)
        for tag, number in places.items()
        if tag.startswith(INSIDE) and BEGIN + tag[len(INSIDE) :] in places
    ]
    begins, insides = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    outside = places[OUTSIDE]
    scores = np.asarray(logits, dtype=np.float64)
    scores = scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)
    over = np.arange(scores.shape[1]) >= np.asarray(lengths)[:, None]
    scores[over] = -np.inf
    scores[over, outside] = 0.0  # behind the end of an utterance, whatever its tags
    total = scores[:, 0].copy()
    total[:, insides] = -np.inf
    before = np.empty(scores.shape, dtype=np.int64)
    for place in range(1, scores.shape[1]):
        before[:, place] = total.argmax(axis=1)[:, None]
        reached = np.repeat(total.max(axis=1, keepdims=True), len(tags), axis=1)
        goes_on = total[:, insides] >= total[:, begins]
        before[:, place, insides] = np.where(goes_on, insides, begins)
        reached[:, insides] = np.maximum(total[:, insides], total[:, begins])
        total = reached + scores[:, place]
    best = np.empty(scores.shape[:2], dtype=np.int64)
    best[:, -1] = total.argmax(axis=1)
    rows = np.arange(len(best))
    for place in range(scores.shape[1] - 1, 0, -1):
        best[:, place - 1] = before[rows, place, best[:, place]]
    return [row[:length] for row, length in zip(best, lengths, strict=True)]
