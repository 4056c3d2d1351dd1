"""The semantically conditioned LSTM: what is still to be said is a vector of its own.

Source: Wen et al., EMNLP 2015, section 3. Beside the gates of an LSTM a reading gate takes away
from the acts vector what has been said; training pulls what is left of it at the end towards zero,
and lets it change little at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mwzeval.neural.state import Arrays

if TYPE_CHECKING:
    from torch import Tensor

Weights = Mapping[str, "Tensor"]
FORESIGHT = 0.5
"""How much the state counts in the reading gate, beside the token (α of the paper)."""
STEP_COST, STEP_BASE = 1e-4, 100.0
"""What a change of the acts vector costs (η and ξ of the paper)."""


class State(NamedTuple):
    """Of some sentences, one a row, after a token: hidden units, their cells, acts left to say."""

    hidden: Tensor
    cell: Tensor
    acts: Tensor


def shapes(tokens: int, features: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights; embeddings are as wide as the hidden layer."""
    return {
        "embedding": (tokens, hidden),
        "gates.token": (4 * hidden, hidden),
        "gates.hidden": (4 * hidden, hidden),
        "gates.bias": (4 * hidden,),
        "reading.token": (features, hidden),
        "reading.hidden": (features, hidden),
        "acts": (hidden, features),
        "output": (tokens, hidden),
        "output.bias": (tokens,),
    }


def first_weights(tokens: int, features: int, hidden: int, seed: int) -> Arrays:
    """Return random weights before training, no biases; embeddings have a deviation of 0.1."""
    generator = np.random.Generator(np.random.PCG64(seed))
    weights: Arrays = {}
    for name, shape in shapes(tokens, features, hidden).items():
        if name.endswith("bias"):
            weights[name] = np.zeros(shape, dtype=np.float32)
        else:
            deviation = 0.1 if name == "embedding" else shape[-1] ** -0.5
            weights[name] = (generator.standard_normal(shape) * deviation).astype(np.float32)
    return weights


def begin(weights: Weights, acts: Tensor) -> State:
    """Return the state before the first token, for acts as rows of zeros and ones."""
    zeros = acts.new_zeros(len(acts), weights["gates.hidden"].shape[1])
    return State(zeros, zeros, acts)


def token_parts(weights: Weights, embedded: Tensor) -> Tensor:
    """Return what embedded tokens, shape (…, hidden), give to all gates."""
    import torch
    from torch.nn import functional

    gates = functional.linear(embedded, weights["gates.token"], weights["gates.bias"])
    return torch.cat([gates, functional.linear(embedded, weights["reading.token"])], dim=-1)


def cell(weights: Weights, state: State, token_part: Tensor) -> State:
    """Return the state after one more token, whose `token_parts` are given."""
    import torch
    from torch.nn import functional

    width = 4 * state.hidden.shape[1]
    gates = token_part[:, :width] + functional.linear(state.hidden, weights["gates.hidden"])
    taken_in, kept, shown, new = gates.chunk(4, dim=1)
    read = functional.linear(state.hidden, weights["reading.hidden"])
    acts = torch.sigmoid(token_part[:, width:] + FORESIGHT * read) * state.acts
    contents = (
        torch.sigmoid(kept) * state.cell
        + torch.sigmoid(taken_in) * torch.tanh(new)
        + torch.tanh(functional.linear(acts, weights["acts"]))
    )
    return State(torch.sigmoid(shown) * torch.tanh(contents), contents, acts)


def log_probabilities(weights: Weights, hidden: Tensor) -> Tensor:
    """Return the logarithms of the probabilities of each token next."""
    from torch.nn import functional

    return functional.linear(hidden, weights["output"], weights["output.bias"]).log_softmax(-1)


class Losses(NamedTuple):
    """Sums over sentences."""

    words: Tensor
    """Cross-entropy of their tokens, in nats."""
    acts: Tensor
    """What was left to say, and what the changes of the acts vector cost."""


def losses(
    weights: Weights, acts: Tensor, tokens: Tensor, lengths: Tensor, dropout: float = 0.0
) -> Losses:
    """Return the losses of sentences.

    `acts` has a row of zeros and ones for each, `tokens` one of numbers: the start, the sentence,
    its end, and fillings; `lengths` are those with start and end. `dropout` is the share of
    embeddings and hidden units that is left out.
    """
    import torch
    from torch.nn import functional

    embedded = functional.embedding(tokens[:, :-1], weights["embedding"])
    parts = token_parts(weights, functional.dropout(embedded, dropout))
    state, states = begin(weights, acts), []
    for place in range(parts.shape[1]):
        state = cell(weights, state, parts[:, place])
        states.append(state)
    hidden = functional.dropout(torch.stack([each.hidden for each in states], dim=1), dropout)
    is_said = torch.arange(parts.shape[1]) < (lengths - 1).unsqueeze(1)
    chosen = log_probabilities(weights, hidden).gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)
    left = torch.stack([acts, *(each.acts for each in states)], dim=1)
    steps = torch.linalg.vector_norm(left[:, 1:] - left[:, :-1], dim=2)
    at_the_end = left[torch.arange(len(acts)), lengths - 1]
    return Losses(
        -(chosen * is_said).sum(),
        torch.linalg.vector_norm(at_the_end, dim=1).sum()
        + STEP_COST * ((STEP_BASE**steps) * is_said).sum(),
    )
