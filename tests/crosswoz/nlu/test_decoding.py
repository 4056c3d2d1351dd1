"""The likeliest sequence of tags, against all sequences."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.nlu.decoding import best_tags

TAGS = ("O", "B-a", "I-a", "B-b", "I-b")


def goes_together(tags: tuple[str, ...]) -> bool:
    return all(
        not after.startswith("I-") or before[2:] == after[2:]
        for before, after in pairwise(("O", *tags))
    )


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_no_other_sequence_is_likelier(seed: int, lengths: list[int]) -> None:
    logits = np.random.default_rng(seed).normal(size=(len(lengths), max(lengths), len(TAGS)))
    found = best_tags(logits, lengths, TAGS)
    shares = np.log(np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True))
    for row, length in enumerate(lengths):
        possible = [
            numbers
            for numbers in product(range(len(TAGS)), repeat=length)
            if goes_together(tuple(TAGS[number] for number in numbers))
        ]
        sums = [shares[row, range(length), numbers].sum() for numbers in possible]
        assert tuple(found[row].tolist()) == possible[int(np.argmax(sums))]


@pytest.mark.parametrize("tags", [("O",), ("O", "I-a"), ("I-a", "O", "B-a")])
def test_any_list_of_tags_is_read(tags: tuple[str, ...]) -> None:
    found = best_tags(np.zeros((2, 3, len(tags))), [3, 1], tags)
    assert [len(row) for row in found] == [3, 1]
