"""Kept dialogues as the arrays of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.policies.learner import Arrays, Exchange, Layout


def packed_dialogues(dialogues: Sequence[Sequence[Exchange]], size: int) -> Arrays:
    """Return kept dialogues as arrays in the shapes of `dialogue_layouts`; `size` is a state's."""
    exchanges = [exchange for dialogue in dialogues for exchange in dialogue]
    states = [e.state for e in exchanges]
    return {
        "kept.lengths": np.array([len(dialogue) for dialogue in dialogues], dtype=np.int64),
        "kept.states": np.array(states, dtype=np.float32).reshape(len(states), size),
        "kept.masks": np.array([e.mask for e in exchanges], dtype=np.bool_),
        "kept.actions": np.array([e.action for e in exchanges], dtype=np.int64),
        "kept.rewards": np.array([e.reward for e in exchanges], dtype=np.float64),
    }


def packed_replay(
    name: str, replay: Iterable[tuple[Sequence[Exchange], NDArray[np.float64]]], size: int
) -> Arrays:
    """Return kept dialogues as arrays, and numbers of each exchange under a name.

    `replay` has the dialogues, each with its numbers, shape (exchanges, …); `size` is a state's.
    """
    kept = list(replay)
    numbers = np.concatenate([numbers for _, numbers in kept] or [np.zeros(0)])
    return {**packed_dialogues([dialogue for dialogue, _ in kept], size), name: numbers}


def unpacked_replay(
    name: str, arrays: Arrays
) -> Iterator[tuple[tuple[Exchange, ...], NDArray[np.float64]]]:
    """Yield the dialogues and numbers that `packed_replay` made arrays of. Raises `ValueError`."""
    at = 0
    for dialogue in unpacked_dialogues(arrays):
        yield dialogue, arrays[name][at : at + len(dialogue)]
        at += len(dialogue)


def dialogue_layouts(size: int, actions: int) -> dict[str, Layout]:
    """Return what `packed_dialogues` returns, given the sizes of a state and of a mask."""
    return {
        "kept.lengths": Layout(np.int64, ("dialogues",)),
        "kept.states": Layout(np.float32, ("exchanges", size)),
        "kept.masks": Layout(np.bool_, ("exchanges", actions)),
        "kept.actions": Layout(np.int64, ("exchanges",), below=actions),
        "kept.rewards": Layout(np.float64, ("exchanges",)),
    }


def unpacked_dialogues(arrays: Arrays) -> list[tuple[Exchange, ...]]:
    """Return the dialogues that `packed_dialogues` made arrays of. Raises `ValueError`."""
    lengths = arrays["kept.lengths"].tolist()
    if min(lengths, default=1) < 0 or sum(lengths) != len(arrays["kept.states"]):
        raise ValueError("the lengths of kept dialogues are not those of their exchanges")
    exchanges = [
        Exchange(state, mask, action, reward)
        for state, mask, action, reward in zip(
            arrays["kept.states"],
            arrays["kept.masks"],
            arrays["kept.actions"].tolist(),
            arrays["kept.rewards"].tolist(),
            strict=True,
        )
    ]
    dialogues, at = [], 0
    for length in lengths:
        dialogues.append(tuple(exchanges[at : at + length]))
        at += length
    return dialogues
