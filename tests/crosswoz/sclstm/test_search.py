"""Beam search on toy models, against greedy and exhaustive search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mwzeval.crosswoz.sclstm.search import Hypothesis, Model, beam_search, highest

END, TOKENS, LONGEST = 0, 3, 4
EVERYTHING = sum((TOKENS - 1) ** length for length in range(LONGEST + 1))
"""How many sequences there are: of up to `LONGEST` tokens that are not the end."""
Prefixes = list[tuple[int, ...]]


class Toy:
    """Log-probabilities of the next token after each prefix, drawn from a seed."""

    def __init__(self, seed: int, forbidden: Sequence[int] = ()) -> None:
        self.seed, self.forbidden = seed, list(forbidden)

    def after(self, prefix: Sequence[int]) -> NDArray[np.float64]:
        draws = np.random.default_rng([self.seed, *(token + 1 for token in prefix)])
        logits = draws.normal(scale=2, size=TOKENS)
        logits -= np.log(np.exp(logits).sum())
        logits[self.forbidden] = -np.inf
        return logits

    def model(self) -> Model[Prefixes]:
        def following(state: Prefixes) -> NDArray[np.float64]:
            return np.array([self.after(prefix) for prefix in state])

        def extended(state: Prefixes, rows: Sequence[int], tokens: Sequence[int]) -> Prefixes:
            return [(*state[row], token) for row, token in zip(rows, tokens, strict=True)]

        return Model([()], END, following, extended)

    def greedy(self) -> tuple[tuple[int, ...], float]:
        prefix: tuple[int, ...] = ()
        total = 0.0
        while True:
            scores = self.after(prefix)
            best = int(scores.argmax()) if len(prefix) < LONGEST else END
            total += scores[best]
            if best == END:
                return prefix, total
            prefix = (*prefix, best)

    def exhaustive(self) -> list[tuple[tuple[int, ...], float]]:
        others = [token for token in range(TOKENS) if token != END]
        found = []
        for length in range(LONGEST + 1):
            for sequence in product(others, repeat=length):
                whole = (*sequence, END)
                total = sum(self.after(whole[:n])[token] for n, token in enumerate(whole))
                if total > -np.inf:
                    found.append((sequence, total))
        return sorted(found, key=lambda each: -each[1])


@given(st.integers(0, 10**6))
def test_width_one_is_greedy_search(seed: int) -> None:
    toy = Toy(seed)
    (found,) = beam_search(toy.model(), 1, LONGEST)
    tokens, total = toy.greedy()
    assert found.tokens == tokens
    assert found.is_complete
    assert found.log_probability == pytest.approx(total)


@given(st.integers(0, 10**6), st.sampled_from([(), (1,), (END, 1)]))
def test_full_width_is_exhaustive_search(seed: int, forbidden: tuple[int, ...]) -> None:
    toy = Toy(seed, forbidden)
    found = beam_search(toy.model(), EVERYTHING, LONGEST)
    expected = toy.exhaustive()
    if not expected:
        # Nothing can end: the most probable of the longest is cut.
        assert [each.is_complete for each in found] == [False]
        assert len(found[0].tokens) == LONGEST
        return
    assert [each.tokens for each in found] == [tokens for tokens, _ in expected]
    assert [each.log_probability for each in found] == pytest.approx([n for _, n in expected])


@given(st.integers(0, 10**6), st.integers(1, EVERYTHING))
def test_what_is_found_is_real_different_and_in_order(seed: int, width: int) -> None:
    toy = Toy(seed)
    found = beam_search(toy.model(), width, LONGEST)
    of = dict(toy.exhaustive())
    assert 1 <= len(found) <= width
    assert len({each.tokens for each in found}) == len(found)
    scores = [each.log_probability for each in found]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([of[each.tokens] for each in found])


def test_means_count_the_end() -> None:
    assert Hypothesis((1, 2), -6.0, is_complete=True).mean == -2
    assert Hypothesis((1, 2), -6.0, is_complete=False).mean == -3
    assert Hypothesis((), 0.0, is_complete=False).mean == 0


@given(
    st.lists(st.sampled_from([-np.inf, -2.0, -1.5, -1.0, 0.0]), min_size=1, max_size=40),
    st.integers(1, 50),
)
def test_the_highest_are_those_of_a_stable_sort(scores: list[float], width: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: -scores[place])[:width]
    assert highest(np.array(scores), width).tolist() == expected
