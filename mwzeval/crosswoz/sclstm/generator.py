"""A trained generator: one model a side, which says acts with values in their places.

Sentences are searched for with a beam. Of those found, the one whose mean log-probability is
highest is said, after what it says wrongly has been taken off (Wen et al., EMNLP 2015, section 3.3,
rerank so): each value that is missing, or said again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.sclstm.network import (
    State,
    Weights,
    begin,
    cell,
    log_probabilities,
    shapes,
    token_parts,
)
from mwzeval.crosswoz.sclstm.search import Hypothesis, Model, beam_search
from mwzeval.crosswoz.sclstm.sentences import END, START, Vocabulary, features, placeholder_values
from mwzeval.crosswoz.simulation.protocols import Rng, Side
from mwzeval.crosswoz.systems.templates import SIDES
from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.neural.state import read_arrays, refused, set_weights, weights_of, write_arrays

if TYPE_CHECKING:
    from torch import Tensor

KIND = "CrossWOZ SC-LSTM"
MODEL_FILE = "sclstm.safetensors"
BEAM = 10
LONGEST = 100
"""Tokens of a sentence at most; the longest of the validation fold has 118."""
ERROR_COST = 10.0
"""What a slot error takes off the mean log-probability."""


@dataclass(frozen=True, slots=True, eq=False)
class Sclstm:
    """The generator of one side."""

    weights: Weights
    vocabulary: Vocabulary
    seed: int
    """Of its training."""
    beam: int = BEAM
    _found: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def sentence(self, acts: Acts) -> str | None:
        """Return a sentence that says the acts, None when it knows none of them."""
        of = tuple(sorted(features(acts)))
        if of and not set(of) & set(self.vocabulary.features):
            return None
        if of not in self._found:
            self._found[of] = self.tokens(of)
        values = placeholder_values(acts)
        return "".join(values.get(token, token) for token in self._found[of]) or None

    def tokens(self, of: Sequence[str]) -> tuple[str, ...]:
        """Return the words and placeholders of the best sentence for acts with these features."""
        known = self.vocabulary.tokens
        wanted = frozenset(f"[{feature}]" for feature in of) & frozenset(known)

        def score(found: Hypothesis) -> float:
            return found.mean - ERROR_COST * slot_errors(self.spelled(found), wanted)

        return self.spelled(max(self.search(of), key=score))

    def search(self, of: Sequence[str]) -> list[Hypothesis]:
        """Return the sentences that the beam finds, most probable first."""
        with one_thread():
            return beam_search(self._model(of), self.beam, LONGEST)

    def spelled(self, found: Hypothesis) -> tuple[str, ...]:
        """Return the tokens of a sentence that was found."""
        return tuple(self.vocabulary.tokens[number] for number in found.tokens)

    def _model(self, of: Sequence[str]) -> Model[State]:
        import torch

        acts = multi_hot([of], self.vocabulary)
        known = self.vocabulary.tokens
        start, end = known.index(START), known.index(END)
        # A placeholder for which there is no value is never said.
        never = torch.tensor([_is_placeholder(token) and token[1:-1] not in of for token in known])
        never[start] = True

        def following(state: State) -> NDArray[np.float64]:
            with torch.inference_mode():
                logs = log_probabilities(self.weights, state.hidden).masked_fill(never, -np.inf)
            scores: NDArray[np.float64] = logs.numpy().astype(np.float64)
            return scores

        def extended(state: State, rows: Sequence[int], tokens: Sequence[int]) -> State:
            with torch.inference_mode():
                parts = token_parts(self.weights, self.weights["embedding"][list(tokens)])
                return cell(self.weights, State(*(of[list(rows)] for of in state)), parts)

        with torch.inference_mode():
            first = extended(begin(self.weights, acts), [0], [start])
        return Model(first, end, following, extended)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: a beam is too small for more, and the last bits stay the same."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _is_placeholder(token: str) -> bool:
    return len(token) > 1 and token.startswith("[") and token.endswith("]")


def slot_errors(tokens: Sequence[str], wanted: frozenset[str]) -> int:
    """Return how many placeholders of a sentence are missing, and said again."""
    counts = Counter(token for token in tokens if token in wanted)
    return len(wanted) - len(counts) + sum(counts.values()) - len(counts)


def multi_hot(of: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Tensor:
    """Return acts as rows of zeros and ones, by their features; unknown ones are left out."""
    import torch

    numbers = {feature: number for number, feature in enumerate(vocabulary.features)}
    rows = np.zeros((len(of), len(numbers)), dtype=np.float32)
    for row, features_of_one in zip(rows, of, strict=True):
        row[[numbers[each] for each in features_of_one if each in numbers]] = 1
    return torch.from_numpy(rows)


@dataclass(frozen=True, slots=True, eq=False)
class SclstmNlg:
    """Words for acts, by the generators of both sides; as `TemplateNlg`."""

    sides: Mapping[Side, Sclstm]

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return a text that says the acts, always the same, None when it knows none of them."""
        return self.sides[side].sentence(acts)


def save_sclstm(path: str | Path, model: Sclstm, about: Mapping[str, Any]) -> None:
    """Write a generator and what is said `about` it. Raises `DependencyError`, `MwzevalError`."""
    vocabulary = {"features": model.vocabulary.features, "tokens": model.vocabulary.tokens}
    write_arrays(path, KIND, weights_of(model.weights), {**about, **vocabulary})


def load_sclstm(folder: str | Path, beam: int = BEAM) -> SclstmNlg:
    """Return the generators of a folder that training wrote.

    Raises `InputError` for anything else, `DependencyError` without PyTorch.
    """
    return SclstmNlg({side: _load_side(Path(folder, side, MODEL_FILE), beam) for side in SIDES})


def _load_side(file: Path, beam: int) -> Sclstm:
    torch = required("torch")
    arrays, about = read_arrays(file, KIND)
    try:
        vocabulary = Vocabulary.checked(about["features"], about["tokens"])
        hidden = about["settings"]["hidden"]
        seed = about["settings"]["seed"]
        if type(seed) is not int:
            raise ValueError("its seed is no number")
        if type(hidden) is not int or hidden < 1 or arrays["acts"].shape[0] != hidden:
            raise ValueError("its width is another one")
        sizes = shapes(len(vocabulary.tokens), len(vocabulary.features), hidden)
        weights = {name: torch.zeros(shape) for name, shape in sizes.items()}
        set_weights(weights, arrays)
    except (LookupError, TypeError, ValueError, RuntimeError, UsageError) as error:
        raise refused(file, f"the model is damaged ({error})") from None
    return Sclstm(weights, vocabulary, seed, beam)
