"""SC-LSTM: a text generator for dialogue acts, with one model for each side.

A sentence consists of words and placeholders. A placeholder is replaced by the value of an act:
`[KEY]` stands for the first act with the key KEY, and `[KEY2]` for the second such act, as in the
templates. If several acts of a turn have the same key, the values in a training sentence are
numbered in sentence order, because a model cannot learn the order in which wizards name several
venues.

Source: Wen et al., EMNLP 2015, section 3. In addition to the gates of an LSTM, a reading gate
removes expressed acts from the acts vector. The training loss penalizes large changes of the acts
vector, and acts that remain in the vector at the end. A beam search finds several sentences; the
result is the sentence with the highest mean log-probability minus the cost of slot errors (section
3.3).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mwzeval.crosswoz.corpus.acts import Acts, act_key, has_mention, value_of
from mwzeval.crosswoz.corpus.dialogues import Dialogue, check_characters
from mwzeval.crosswoz.corpus.file_shapes import is_texts
from mwzeval.crosswoz.corpus.normalization import words_of
from mwzeval.crosswoz.protocols import Rng, Side
from mwzeval.crosswoz.scoring.text_scores import redundant, venue_names
from mwzeval.crosswoz.systems.templates import SIDES, turns_of
from mwzeval.crosswoz.training import SclstmSettings
from mwzeval.errors import InputError, Problem
from mwzeval.neural import (
    Arrays,
    Learner,
    Point,
    fingerprint,
    load_model,
    train,
    weights_of,
    write_arrays,
)

START, END = "<start>", "<end>"
KIND = "CrossWOZ SC-LSTM (form 2)"
MODEL_FILE = "sclstm.safetensors"
BEAM = 10
LONGEST = 100
"""The maximum number of tokens of a sentence; in the validation fold, the maximum is 118."""
ERROR_COST = 10.0
"""The cost of a slot error, which is subtracted from the mean log-probability."""
FORESIGHT = 0.5
"""The weight of the previous state in the reading gate, relative to the weight of the token (α in
the paper)."""
STEP_COST, STEP_BASE = 1e-4, 100.0
"""The parameters η and ξ of the paper, which determine the cost of changes of the acts vector."""


@dataclass(frozen=True, slots=True)
class Example:
    """A training sentence: the features of its acts, and its words and placeholders."""

    features: tuple[str, ...]
    tokens: tuple[str, ...]


def features(acts: Acts) -> tuple[str, ...]:
    """Return the features of a sentence: the keys of its acts, with numbers if keys repeat."""
    seen: Counter[str] = Counter()
    return tuple(_numbered(act_key(act), seen) for act in acts)


def _numbered(key: str, seen: Counter[str]) -> str:
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}{seen[key]}"


def placeholder_values(acts: Acts) -> dict[str, str]:
    """Return the value for each placeholder, for all acts whose value a sentence should state."""
    pairs = zip(features(acts), acts, strict=True)
    return {f"[{feature}]": value_of(act) for feature, act in pairs if has_mention(act)}


def examples_of(dialogues: Sequence[Dialogue], side: Side) -> list[Example]:
    """Return the sentences of a side that contain exactly the values of their acts.

    Raises `DependencyError` without jieba.
    """
    names = venue_names(dialogues)
    found = []
    for turn in (turn for dialogue in dialogues for turn in turns_of(dialogue, side)):
        tokens = tokens_of(turn.utterance, turn.acts)
        if tokens and not redundant(turn.utterance, turn.acts, names):
            found.append(Example(tuple(sorted(features(turn.acts))), tokens))
    return found


def tokens_of(utterance: str, acts: Acts) -> tuple[str, ...] | None:
    """Return the words of an utterance with placeholders, None if a value is missing.

    If a value contains another value, the longest value is replaced.
    """
    waiting: dict[str, list[str]] = {}
    for act in acts:
        if has_mention(act) and (value := value_of(act)):
            waiting.setdefault(value, []).append(act_key(act))
    if not waiting:
        return words_of(utterance)
    longest_first = sorted(waiting, key=lambda value: (-len(value), value))
    tokens: list[str] = []
    counts: Counter[str] = Counter()
    placeholders: dict[str, str] = {}
    for part in re.split(f"({'|'.join(map(re.escape, longest_first))})", utterance):
        if part not in waiting:
            tokens += words_of(part)
            continue
        if waiting[part]:
            placeholders[part] = f"[{_numbered(waiting[part].pop(0), counts)}]"
        tokens.append(placeholders[part])
    return None if any(waiting.values()) else tuple(tokens)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The features and tokens of a model, which are numbered by their indices."""

    features: tuple[str, ...]
    tokens: tuple[str, ...]
    """The tokens, which begin with `START` and `END`; `START` also pads the sentences of a
    batch."""

    @classmethod
    def of(cls, examples: Sequence[Example], rarest: int) -> Vocabulary:
        """Return the features of examples, and all tokens that occur at least `rarest` times."""
        counts = Counter(token for example in examples for token in example.tokens)
        known = {feature for example in examples for feature in example.features}
        often = sorted(token for token, count in counts.items() if count >= rarest)
        return cls(tuple(sorted(known)), (START, END, *often))

    @classmethod
    def checked(cls, features: Any, tokens: Any) -> Vocabulary:
        """Return the vocabulary in a model file.

        Raises `ValueError` if the vocabulary is invalid.
        """
        for names in (features, tokens):
            if not is_texts(names) or len(set(names)) != len(names):
                raise ValueError("features and tokens must be lists of distinct strings")
        if tokens[:2] != [START, END]:
            raise ValueError("the tokens must begin with the start and end tokens")
        return cls(tuple(features), tuple(tokens))

    def multi_hot(self, features: Sequence[Sequence[str]]) -> Tensor:
        """Return a row of zeros and ones for each list of features; ignore unknown features."""
        numbers = {feature: number for number, feature in enumerate(self.features)}
        rows = np.zeros((len(features), len(numbers)), dtype=np.float32)
        for row, of_turn in zip(rows, features, strict=True):
            row[[numbers[feature] for feature in of_turn if feature in numbers]] = 1
        return torch.from_numpy(rows)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A sequence of token numbers without `END`, and the logarithm of its probability.

    If `is_complete` is true, the probability includes `END`; otherwise, the search ended before
    `END`.
    """

    tokens: tuple[int, ...]
    log_probability: float
    is_complete: bool

    @property
    def mean(self) -> float:
        """The mean log-probability of a token, including `END` if the sequence is complete."""
        return self.log_probability / max(1, len(self.tokens) + self.is_complete)


StateType = TypeVar("StateType")


def beam_search(
    begin: StateType,
    end: int,
    following: Callable[[StateType], NDArray[np.float64]],
    extended: Callable[[StateType, Sequence[int], Sequence[int]], StateType],
    *,
    width: int,
    longest: int,
) -> list[Hypothesis]:
    """Return at most `width` complete sequences of at most `longest` tokens, most probable first.

    After each token, the search continues with the `width` most probable sequences. The search ends
    when `width` sequences are complete. Width 1 means greedy search; if `width` is the number of
    all sequences, the search is exhaustive. If no sequence is complete, the most probable
    incomplete sequence is returned.

    A state has one row for each sequence. `begin` is the state of an empty sequence, and `end` is
    the number of the token that ends a sequence. `following` returns log-probabilities of the next
    token, shape (sequences, tokens), -inf for impossible tokens. `extended` returns the states of
    longer sequences, given the index of each old sequence and its next token.
    """
    state, kept = begin, [Hypothesis((), 0.0, is_complete=False)]
    complete: list[Hypothesis] = []
    cut = kept
    for place in range(longest + 1):
        if not kept or len(complete) >= width:
            break
        scores = np.asarray([[old.log_probability] for old in kept]) + following(state)
        if place == longest:  # only END is possible
            scores[:, np.arange(scores.shape[1]) != end] = -np.inf
        best = np.unravel_index(highest(scores.ravel(), width), scores.shape)
        origins, added, unfinished = [], [], []
        for row, token in zip(*(places.tolist() for places in best), strict=True):
            score = float(scores[row, token])
            if score == -np.inf:
                break
            if token == end:
                complete.append(Hypothesis(kept[row].tokens, score, is_complete=True))
                continue
            origins.append(row)
            added.append(token)
            unfinished.append(Hypothesis((*kept[row].tokens, token), score, is_complete=False))
        if unfinished:
            state = extended(state, origins, added)
        kept, cut = unfinished, kept[:1]
    return sorted(complete, key=lambda found: -found.log_probability)[:width] or cut


def highest(scores: NDArray[np.float64], width: int) -> NDArray[np.int64]:
    """Return the indices of the `width` highest scores, highest first; ties are in order.

    Scores below the `width` highest are not sorted, because sorting would take most of the time of
    a search.
    """
    places = np.arange(len(scores))
    if width < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -width)[-width])
    return places[np.argsort(-scores[places], kind="stable")][:width]


class State(NamedTuple):
    """The state after a token, with one row per sentence: hidden units, cells, remaining acts."""

    hidden: Tensor
    cell: Tensor
    acts: Tensor


class Losses(NamedTuple):
    """Losses, summed over sentences."""

    words: Tensor
    """The mean cross-entropy of the tokens, in nats."""
    acts: Tensor
    """The costs of acts that remain at the end, and of changes of the acts vector."""


class SclstmNetwork(nn.Module):
    """The network with random initial weights: embeddings with standard deviation 0.1, biases 0."""

    def __init__(self, vocabulary: Vocabulary, settings: SclstmSettings) -> None:
        super().__init__()
        tokens, acts, hidden = len(vocabulary.tokens), len(vocabulary.features), settings.hidden
        generator = np.random.Generator(np.random.PCG64(settings.seed))

        def drawn(rows: int, columns: int, deviation: float) -> nn.Parameter:
            array = generator.standard_normal((rows, columns)) * deviation
            return nn.Parameter(torch.from_numpy(array.astype(np.float32)))

        self.embedding = drawn(tokens, hidden, 0.1)
        deviation = hidden**-0.5
        self.gates_token = drawn(4 * hidden, hidden, deviation)
        self.gates_hidden = drawn(4 * hidden, hidden, deviation)
        self.gates_bias = nn.Parameter(torch.zeros(4 * hidden))
        self.reading_token = drawn(acts, hidden, deviation)
        self.reading_hidden = drawn(acts, hidden, deviation)
        self.acts = drawn(hidden, acts, acts**-0.5)
        self.output = drawn(tokens, hidden, deviation)
        self.output_bias = nn.Parameter(torch.zeros(tokens))

    def begin(self, acts: Tensor) -> State:
        """Return the state before the first token, given a row of zeros and ones per sentence."""
        zeros = acts.new_zeros(len(acts), self.gates_hidden.shape[1])
        return State(zeros, zeros, acts)

    def token_parts(self, embedded: Tensor) -> Tensor:
        """Return the inputs of all gates from embedded tokens of shape (…, hidden)."""
        gates = functional.linear(embedded, self.gates_token, self.gates_bias)
        return torch.cat([gates, functional.linear(embedded, self.reading_token)], dim=-1)

    def cell(self, state: State, token_part: Tensor) -> State:
        """Return the state after one more token, given the `token_parts` of the token."""
        width = 4 * state.hidden.shape[1]
        gates = token_part[:, :width] + functional.linear(state.hidden, self.gates_hidden)
        taken_in, kept, shown, new = gates.chunk(4, dim=1)
        read = functional.linear(state.hidden, self.reading_hidden)
        acts = torch.sigmoid(token_part[:, width:] + FORESIGHT * read) * state.acts
        contents = (
            torch.sigmoid(kept) * state.cell
            + torch.sigmoid(taken_in) * torch.tanh(new)
            + torch.tanh(functional.linear(acts, self.acts))
        )
        return State(torch.sigmoid(shown) * torch.tanh(contents), contents, acts)

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """Return the log-probability of each possible next token."""
        return functional.linear(hidden, self.output, self.output_bias).log_softmax(-1)

    def losses(self, acts: Tensor, tokens: Tensor, lengths: Tensor, dropout: float = 0.0) -> Losses:
        """Return the losses of sentences.

        `acts` has a row of zeros and ones for each sentence. Each row of `tokens` has the token
        numbers of a sentence: start, words, end and padding. `lengths` include start and end.
        `dropout` is the share of dropped embeddings and hidden units.
        """
        embedded = functional.embedding(tokens[:, :-1], self.embedding)
        parts = self.token_parts(functional.dropout(embedded, dropout))
        states = [self.begin(acts)]
        for place in range(parts.shape[1]):
            states.append(self.cell(states[-1], parts[:, place]))
        hidden = torch.stack([state.hidden for state in states[1:]], dim=1)
        is_inside = torch.arange(parts.shape[1]) < (lengths - 1).unsqueeze(1)
        scores = self.log_probabilities(functional.dropout(hidden, dropout))
        chosen = scores.gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)
        left = torch.stack([state.acts for state in states], dim=1)
        steps = torch.linalg.vector_norm(left[:, 1:] - left[:, :-1], dim=2)
        at_the_end = left[torch.arange(len(acts)), lengths - 1]
        return Losses(
            -(chosen * is_inside).sum(),
            torch.linalg.vector_norm(at_the_end, dim=1).sum()
            + STEP_COST * ((STEP_BASE**steps) * is_inside).sum(),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Sclstm:
    """The generator of one side."""

    network: SclstmNetwork
    vocabulary: Vocabulary
    seed: int
    """The seed of its training."""
    beam: int = BEAM
    _generated: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def sentence(self, acts: Acts) -> str | None:
        """Return a sentence for the acts, None if all acts are unknown."""
        key = tuple(sorted(features(acts)))
        if key and not set(key) & set(self.vocabulary.features):
            return None
        if key not in self._generated:
            self._generated[key] = self.tokens(key)
        values = placeholder_values(acts)
        return "".join(values.get(token, token) for token in self._generated[key]) or None

    def tokens(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the words and placeholders of the best sentence for acts with these features."""
        known = self.vocabulary.tokens
        wanted = frozenset(f"[{feature}]" for feature in features) & frozenset(known)

        def score(found: Hypothesis) -> float:
            return found.mean - ERROR_COST * slot_errors([known[n] for n in found.tokens], wanted)

        with one_thread(), torch.inference_mode():
            found = self._search(features)
        return tuple(known[number] for number in max(found, key=score).tokens)

    def _search(self, features: Sequence[str]) -> list[Hypothesis]:
        network, known = self.network, self.vocabulary.tokens
        start, end = known.index(START), known.index(END)
        # A placeholder without a value is never generated.
        never = torch.tensor(
            [len(t) > 1 and t[0] + t[-1] == "[]" and t[1:-1] not in features for t in known]
        )
        never[start] = True

        def following(state: State) -> NDArray[np.float64]:
            logs = network.log_probabilities(state.hidden).masked_fill(never, -np.inf)
            scores: NDArray[np.float64] = logs.numpy().astype(np.float64)
            return scores

        def extended(state: State, rows: Sequence[int], tokens: Sequence[int]) -> State:
            parts = network.token_parts(network.embedding[list(tokens)])
            return network.cell(State(*(part[list(rows)] for part in state)), parts)

        acts = self.vocabulary.multi_hot([features])
        begin = extended(network.begin(acts), [0], [start])
        return beam_search(begin, end, following, extended, width=self.beam, longest=LONGEST)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread, which makes results reproducible; more threads would not help."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def slot_errors(tokens: Iterable[str], wanted: frozenset[str]) -> int:
    """Return the number of missing and repeated placeholders of a sentence."""
    counts = Counter(token for token in tokens if token in wanted)
    return len(wanted) - len(counts) + sum(counts.values()) - len(counts)


@dataclass(frozen=True, slots=True, eq=False)
class SclstmNlg:
    """Generates text for acts with the generators of both sides, like `TemplateNlg`."""

    sides: Mapping[Side, Sclstm]

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return a text for the acts, without random choices; None if all acts are unknown."""
        return self.sides[side].sentence(acts)


def load_sclstm(folder: str | Path, beam: int = BEAM) -> SclstmNlg:
    """Return the generators in a folder that training wrote. Raises `InputError` for others."""

    def made(about: Any, arrays: Arrays) -> Sclstm:
        vocabulary = Vocabulary.checked(about["features"], about["tokens"])
        settings = SclstmSettings(**about["settings"])
        if arrays["acts"].shape[0] != settings.hidden:
            raise ValueError("the width of the model differs")
        return Sclstm(SclstmNetwork(vocabulary, settings), vocabulary, settings.seed, beam)

    places = {side: Path(folder, side, MODEL_FILE) for side in SIDES}
    return SclstmNlg({s: load_model(place, "", KIND, made) for s, place in places.items()})


WatchSide = Callable[[Side, Point], None]
"""A function that is called with each new point of a side's learning curve."""


def train_sclstm(
    training: Sequence[Dialogue],
    validation: Sequence[Dialogue],
    folder: str | Path,
    settings: SclstmSettings | None = None,
    watch: WatchSide | None = None,
) -> SclstmNlg:
    """Train the generators of both sides and return those that are best on `validation`.

    For each side, the model and a checkpoint after each epoch are written to a subfolder of
    `folder`. Calling this function again resumes an interrupted training and gives an identical
    result. `watch` receives losses in nats per token. Only training losses include dropout and the
    costs of the acts vector.

    Raises `InputError` if there are no sentences, a text is invalid Unicode or the checkpoint is
    damaged. Raises `UsageError` if the folder contains other files, and `DependencyError` without
    jieba.
    """
    check_characters([*training, *validation])
    for side in SIDES:
        learns, checks = examples_of(training, side), examples_of(validation, side)
        if not learns or not checks:
            what = "validation" if learns else "training"
            reason = (
                f"the {what} dialogues have no sentence of the {side} that contains all "
                "values of its acts"
            )
            raise InputError([Problem("no-training-data", reason)])
        learner = SclstmLearner(learns, checks, settings or SclstmSettings())
        train(learner, Path(folder, side), None if watch is None else partial(watch, side))
    return load_sclstm(folder)


class SclstmLearner(Learner):
    """The generator of one side, in training."""

    model_file = MODEL_FILE
    longest_gradient = 5.0
    patience = 5

    def __init__(
        self, training: Sequence[Example], validation: Sequence[Example], settings: SclstmSettings
    ) -> None:
        self._vocabulary = Vocabulary.of(training, settings.rarest)
        self._network = SclstmNetwork(self._vocabulary, settings)
        data = tuple(map(fingerprint, (training, validation)))
        super().__init__(self._network, settings, len(training), data)
        self._dropout = settings.dropout
        self._training = _Sentences(training, self._vocabulary)
        self._validation = _Sentences(validation, self._vocabulary)

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the loss per token: cross-entropy, and the costs of the acts vector."""
        found = self._training.losses(self._network, chosen, self._dropout)
        return (found.words + found.acts) / self._training.tokens(chosen)

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the cross-entropy of validation sentences, in nats per token."""
        sentences = self._validation
        numbers = np.arange(len(sentences.lengths))
        parts = [numbers[start : start + 256] for start in range(0, len(numbers), 256)]
        with torch.no_grad():
            total = sum(sentences.losses(self._network, p, 0.0).words.item() for p in parts)
        loss = total / sentences.tokens(numbers)
        return {"validation_loss": loss}, -loss

    def save(self, folder: Path, point: Point) -> None:
        """Write the model."""
        about = {
            "settings": asdict(self.settings),
            "epoch": point.epoch,
            **asdict(self._vocabulary),
        }
        write_arrays(folder / self.model_file, KIND, weights_of(self._network.state_dict()), about)


class _Sentences:
    """Examples as numbers; tokens that are not in the vocabulary are left out."""

    def __init__(self, examples: Sequence[Example], vocabulary: Vocabulary) -> None:
        known = {token: number for number, token in enumerate(vocabulary.tokens)}
        rows = [[0, *(known[t] for t in example.tokens if t in known), 1] for example in examples]
        self.lengths = np.array([len(row) for row in rows])
        numbers = np.zeros((len(rows), self.lengths.max()), dtype=np.int64)
        for filled, row in zip(numbers, rows, strict=True):
            filled[: len(row)] = row
        self._numbers = torch.from_numpy(numbers)
        self._acts = vocabulary.multi_hot([example.features for example in examples])

    def losses(self, network: SclstmNetwork, chosen: NDArray[np.int64], dropout: float) -> Losses:
        lengths = self.lengths[chosen]
        at = torch.from_numpy(chosen)
        numbers = self._numbers[at, : lengths.max()]
        return network.losses(self._acts[at], numbers, torch.from_numpy(lengths), dropout)

    def tokens(self, chosen: NDArray[np.int64]) -> int:
        return int((self.lengths[chosen] - 1).sum())
