"""The cell against the equations of the paper, and gradients against numerical ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.crosswoz.sclstm.network import State, cell, first_weights, losses, token_parts

torch = pytest.importorskip("torch")
TOKENS, FEATURES, HIDDEN = 7, 5, 4
NAMES = tuple(first_weights(TOKENS, FEATURES, HIDDEN, 0))
Array = NDArray[np.float64]


def weights(seed: int = 3) -> dict[str, Array]:
    draws = np.random.default_rng(seed)
    first = first_weights(TOKENS, FEATURES, HIDDEN, seed)
    return {name: draws.normal(scale=0.7, size=array.shape) for name, array in first.items()}


def tensors(arrays: dict[str, Array]) -> dict[str, Any]:
    return {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def by_the_paper(
    of: dict[str, Array], token: int, h: Array, c: Array, d: Array
) -> tuple[Array, Array, Array]:
    """Equations 4 to 11 of Wen et al. (2015) for one sentence, with α = 0.5."""
    w = of["embedding"][token]
    pre = of["gates.token"] @ w + of["gates.hidden"] @ h + of["gates.bias"]
    i, f, o, new = pre[:HIDDEN], pre[HIDDEN : 2 * HIDDEN], pre[2 * HIDDEN : -HIDDEN], pre[-HIDDEN:]
    r = sigmoid(of["reading.token"] @ w + 0.5 * (of["reading.hidden"] @ h))
    d = r * d
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new) + np.tanh(of["acts"] @ d)
    return sigmoid(o) * np.tanh(c), c, d


def losses_by_the_paper(
    of: dict[str, Array], acts: Array, tokens: list[int]
) -> tuple[float, float]:
    h = c = np.zeros(HIDDEN)
    d, words, costs = acts, 0.0, 0.0
    for token, following in pairwise(tokens):
        before = d
        h, c, d = by_the_paper(of, token, h, c, d)
        logits = of["output"] @ h + of["output.bias"]
        words -= logits[following] - np.log(np.exp(logits).sum())
        costs += 1e-4 * 100 ** np.linalg.norm(d - before)
    return float(words), float(costs + np.linalg.norm(d))


def batch(draws: np.random.Generator, sizes: list[int]) -> tuple[Array, list[list[int]]]:
    acts = draws.integers(0, 2, size=(len(sizes), FEATURES)).astype(np.float64)
    return acts, [[0, *draws.integers(2, TOKENS, size=size), 1] for size in sizes]


def test_a_step_is_that_of_the_paper() -> None:
    draws, of = np.random.default_rng(1), weights()
    h, c = draws.normal(size=(2, HIDDEN)), draws.normal(size=(2, HIDDEN))
    d, numbers = draws.random((2, FEATURES)), [4, 6]
    with torch.no_grad():
        as_tensors = tensors(of)
        parts = token_parts(as_tensors, as_tensors["embedding"][numbers])
        after = cell(as_tensors, State(*map(torch.tensor, (h, c, d))), parts)
    for row, token in enumerate(numbers):
        expected = by_the_paper(of, token, h[row], c[row], d[row])
        for found, wanted in zip(after, expected, strict=True):
            assert found[row].numpy() == pytest.approx(wanted, abs=1e-12)


def test_losses_are_those_of_the_paper_and_fillings_count_for_nothing() -> None:
    of = weights()
    acts, sentences = batch(np.random.default_rng(2), [1, 5, 0, 3])
    acts[2] = 0  # a turn without acts
    longest = max(map(len, sentences))
    lengths = torch.tensor([len(each) for each in sentences])
    expected = np.sum(
        [losses_by_the_paper(of, *each) for each in zip(acts, sentences, strict=True)], 0
    )
    for filling in (0, 5):
        rows = [each + [filling] * (longest - len(each)) for each in sentences]
        found = losses(tensors(of), torch.tensor(acts), torch.tensor(rows), lengths)
        assert [found.words.item(), found.acts.item()] == pytest.approx(expected, rel=1e-12)


def test_gradients_of_the_cell_are_the_numerical_ones() -> None:
    draws, of = np.random.default_rng(4), tensors(weights())
    state = [
        torch.tensor(draws.random((2, n)), requires_grad=True) for n in (HIDDEN, HIDDEN, FEATURES)
    ]
    embedded = torch.tensor(draws.normal(size=(2, HIDDEN)), requires_grad=True)

    def step(embedded: Any, *rest: Any) -> tuple[Any, ...]:
        named = dict(zip(NAMES, rest[3:], strict=True))
        return tuple(cell(named, State(*rest[:3]), token_parts(named, embedded)))

    assert torch.autograd.gradcheck(step, (embedded, *state, *of.values()))


def test_gradients_of_the_losses_are_the_numerical_ones() -> None:
    acts, sentences = batch(np.random.default_rng(5), [2, 4])
    acts[:, 0] = 1
    rows = [each + [0] * (6 - len(each)) for each in sentences]
    fixed = torch.tensor(acts), torch.tensor(rows), torch.tensor([4, 6])

    def total(*rest: Any) -> Any:
        return sum(losses(dict(zip(NAMES, rest, strict=True)), *fixed))

    assert torch.autograd.gradcheck(total, tuple(tensors(weights()).values()))


def test_a_turn_without_acts_has_a_gradient() -> None:
    of = tensors(weights())
    acts = torch.zeros((1, FEATURES), dtype=torch.float64)
    found = losses(of, acts, torch.tensor([[0, 3, 1]]), torch.tensor([3]))
    sum(found).backward()  # type: ignore[union-attr]
    assert all(torch.isfinite(weight.grad).all() for weight in of.values())
