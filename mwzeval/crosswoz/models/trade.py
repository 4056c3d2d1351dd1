"""TRADE: a tracker that predicts the system's state from the utterances of a dialogue.

An encoder reads the history. A decoder starts from a slot and attends to the history. A gate
decides whether the slot has a value, and each word of the value is generated from the vocabulary or
copied from the history. Within an example, each unknown word has its own number, so that the model
can copy the word (See et al., ACL 2017). In training, the decoder reads the previous gold words of
a value (teacher forcing), and only slots with a value are decoded; the gate learns which slots are
empty.

Source: Wu et al., ACL 2019.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mwzeval.crosswoz.corpus.dialogues import Dialogue, State, check_characters
from mwzeval.crosswoz.corpus.file_shapes import ShapeError, is_texts
from mwzeval.crosswoz.corpus.names import DOMAINS, STATE_SLOTS
from mwzeval.crosswoz.corpus.normalization import pieces_of
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.tracks import STATE
from mwzeval.crosswoz.training import TradeSettings
from mwzeval.errors import InputError, Problem
from mwzeval.neural import (
    Arrays,
    Learner,
    Point,
    Watch,
    fingerprint,
    load_model,
    reproducible,
    train,
    weights_of,
    write_arrays,
)

MODEL_FILE = "trade.safetensors"
KIND = "CrossWOZ TRADE"
SLOTS = tuple((domain, slot) for domain, slots in STATE_SLOTS.items() for slot in slots)
"""The slots of a state; their numbers are their indices."""
SLOT_NAMES = list(dict.fromkeys(slot for _, slot in SLOTS))
PADDING, UNKNOWN, END, SYSTEM, USER = range(5)
"""The numbers of special words. `SYSTEM` and `USER` precede the utterances of the two sides."""
SPECIAL = 5
MARKS = (SYSTEM, USER)
RAREST = 2
"""Words that occur less often in training utterances are unknown words, unless a value contains
them."""
FILLED = 1
"""The gate's class for slots with a value; the class for slots without a value is 0."""
IMPOSSIBLE = -1e9
"""The score of words that cannot be copied; the score is finite so that its gradient is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An example: the history up to a user utterance, and the slots filled after this utterance.

    `words` are word numbers. Numbers beyond the vocabulary stand for the `unknown` words of this
    history, in order. `values` has the words of each filled slot, without `END`.
    """

    words: NDArray[np.int32]
    unknown: tuple[str, ...]
    values: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of a model; word numbers follow the numbers of special symbols, in order."""

    words: tuple[str, ...]
    settings: TradeSettings

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], settings: TradeSettings) -> Vocabulary:
        """Return the vocabulary of the training dialogues."""
        empty = cls((), settings)
        counts: Counter[str] = Counter()
        for dialogue in dialogues:
            for utterances, state in empty.turns(dialogue):
                for utterance in utterances:
                    counts.update(utterance)
                for value in filled(state).values():
                    counts.update(dict.fromkeys(empty.cut(value), RAREST))
        return cls(tuple(sorted(w for w, count in counts.items() if count >= RAREST)), settings)

    @classmethod
    def checked(cls, words: Any, settings: TradeSettings) -> Vocabulary:
        """Return the vocabulary in a model file.

        Raises `ShapeError` if the vocabulary is invalid.
        """
        if not is_texts(words) or len(set(words)) < len(words) or "" in words:
            raise ShapeError("words: expected a list of distinct strings")
        return cls(tuple(words), settings)

    @property
    def size(self) -> int:
        """The size of the vocabulary, including special symbols."""
        return SPECIAL + len(self.words)

    def cut(self, text: str) -> list[str]:
        """Return the words of a text; blanks are also words. Raises `DependencyError`."""
        return list(text) if self.settings.characters else pieces_of(text)

    def turns(self, dialogue: Dialogue) -> Iterator[tuple[list[list[str]], State]]:
        """Yield the words of the new utterances of each turn, and the state after the turn."""
        before: list[list[str]] = []
        for exchange in dialogue.exchanges:
            yield [*before, self.cut(exchange.user.utterance)], exchange.system.first_query
            before = [self.cut(exchange.system.utterance)]

    def examples(self, dialogues: Iterable[Dialogue]) -> Iterator[Example]:
        """Yield the examples of dialogues, one for each exchange."""
        numbers = {word: number for number, word in enumerate(self.words, start=SPECIAL)}
        for dialogue in dialogues:
            history: list[str | int] = []
            for utterances, state in self.turns(dialogue):
                for mark, utterance in zip(MARKS[-len(utterances) :], utterances, strict=True):
                    history += [mark, *utterance]
                yield self._example(history[-self.settings.longest_history :], state, numbers)

    def _example(
        self, history: Sequence[str | int], state: State, numbers: Mapping[str, int]
    ) -> Example:
        strange = (word for word in history if isinstance(word, str) and word not in numbers)
        unknown = {word: self.size + place for place, word in enumerate(dict.fromkeys(strange))}
        text = Text(history)
        longest = self.settings.longest_value

        def number(word: str | int) -> int:
            if isinstance(word, int):
                return word
            return numbers.get(word) or unknown.get(word, UNKNOWN)

        return Example(
            np.array([number(word) for word in history], dtype=np.int32),
            tuple(unknown),
            {
                slot: tuple(map(number, (text.words_of(value) or self.cut(value))[:longest]))
                for slot, value in filled(state).items()
            },
        )

    def value(self, numbers: Sequence[int], unknown: Sequence[str]) -> str:
        """Return the text of a value, given the numbers of its words."""
        size = self.size
        words = (self.words[n - SPECIAL] if n < size else unknown[n - size] for n in numbers)
        return "".join(words)


class Text:
    """The text of a history, in which values can be found, and the words at their positions."""

    def __init__(self, words: Sequence[str | int]) -> None:
        # "\0" replaces special numbers, so that values are found only within utterances.
        self._words = [word if isinstance(word, str) else "\0" for word in words]
        self._text = "".join(self._words)
        self._starts = {
            start: place for place, start in enumerate(accumulate(map(len, self._words), initial=0))
        }

    def words_of(self, value: str) -> list[str]:
        """Return the words of the last occurrence of a value as whole words, or []."""
        start = self._text.rfind(value)
        while start >= 0:
            first, end = self._starts.get(start), self._starts.get(start + len(value))
            if first is not None and end is not None:
                return self._words[first:end]
            start = self._text.rfind(value, 0, start + len(value) - 1)
        return []


def filled(state: State) -> dict[int, str]:
    """Return a mapping from slot number to value, for all slots that have a value."""
    values = (state.get(domain, {}).get(slot, "") for domain, slot in SLOTS)
    return {number: value for number, value in enumerate(values) if value}


class TradeNetwork(nn.Module):
    """The network with random initial weights; `size` is the count of word numbers."""

    def __init__(self, size: int, settings: TradeSettings) -> None:
        super().__init__()
        width = settings.hidden
        self._size, self._settings = size, settings
        self._domain_numbers = torch.tensor([DOMAINS.index(domain) for domain, _ in SLOTS])
        self._slot_numbers = torch.tensor([SLOT_NAMES.index(slot) for _, slot in SLOTS])
        self.words = nn.Embedding(size, width, padding_idx=PADDING)
        self.domains = nn.Embedding(len(DOMAINS), width)
        self.slots = nn.Embedding(len(SLOT_NAMES), width)
        for embedding in (self.words, self.domains, self.slots):
            nn.init.normal_(embedding.weight, std=0.1)
        # A packed bidirectional layer would have quadratic training time on CPUs.
        self.forwards = nn.GRU(width, width)
        self.backwards = nn.GRU(width, width)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.switch = nn.Linear(3 * width, 1)
        self.gate = nn.Linear(2 * width, 2)
        self.dropout = nn.Dropout(settings.dropout)

    def encode(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the word numbers of histories, a vector per word, and a vector per history."""
        lengths = torch.tensor([len(example.words) for example in examples])
        histories = torch.full((len(examples), int(lengths.max())), PADDING)
        for row, example in enumerate(examples):
            histories[row, : len(example.words)] = torch.from_numpy(example.words)
        read = histories.masked_fill(histories >= self._size, UNKNOWN)
        if self.training:
            # As in the public code, dropped words are replaced by the unknown word.
            is_kept = torch.rand(read.shape) >= self._settings.dropout
            read = read.where(is_kept | (read <= max(MARKS)), UNKNOWN)
        inputs = self.dropout(self.words(read)).transpose(0, 1)
        # The backward direction starts with the last word; padding stays in place.
        places = torch.arange(len(inputs)).unsqueeze(1)
        turned = (lengths - 1 - places).where(places < lengths, places)
        rows = torch.arange(len(examples))
        forwards, _ = self.forwards(inputs)
        backwards, _ = self.backwards(inputs[turned, rows])
        whole = forwards[lengths - 1, rows] + backwards[lengths - 1, rows]
        encoded = forwards + backwards[turned, rows]
        return histories, encoded.transpose(0, 1), whole

    def begin(self, whole: Tensor) -> tuple[Tensor, Tensor]:
        """Return the decoder's first inputs and states, both (examples, slots, width)."""
        inputs = self.dropout(self.domains(self._domain_numbers) + self.slots(self._slot_numbers))
        inputs = inputs.expand(len(whole), -1, -1)
        hidden = whole.repeat_interleave(len(SLOTS), dim=0).unsqueeze(0)
        states, _ = self.decoder(inputs.flatten(0, 1).unsqueeze(1), hidden)
        return inputs, states.view(inputs.shape)

    def attend(self, states: Tensor, encoded: Tensor, histories: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-attention of each state to each word, and the attended vectors."""
        scores = states @ encoded.transpose(1, 2)
        hidden = (histories == PADDING).unsqueeze(1)
        looks = scores.masked_fill(hidden, IMPOSSIBLE).log_softmax(dim=2)
        return looks, looks.exp() @ encoded

    def mixture(self, states: Tensor, seen: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities of generating and of copying the next word."""
        score = self.switch(torch.cat([states, seen, inputs], dim=-1))
        return functional.logsigmoid(score), functional.logsigmoid(-score)

    def loss(self, examples: Sequence[Example]) -> Tensor:
        """Return the mean negative log-likelihood of the states, in nats."""
        histories, encoded, whole = self.encode(examples)
        inputs, states = self.begin(whole)
        _, seen = self.attend(states, encoded, histories)
        is_filled = torch.zeros(states.shape[:2], dtype=torch.long)
        written = [(row, slot) for row, e in enumerate(examples) for slot in e.values]
        for row, slot in written:
            is_filled[row, slot] = FILLED
        gates = self.gate(torch.cat([states, seen], dim=2)).transpose(1, 2)
        loss = functional.cross_entropy(gates, is_filled, reduction="sum")
        if written:
            rows, slots = torch.tensor(written).unbind(1)
            values = [examples[row].values[slot] for row, slot in written]
            first = inputs[rows, slots], states[rows, slots]
            likelihoods = self.likelihoods(values, *first, encoded[rows], histories[rows])
            loss = loss - likelihoods.sum()
        return loss / len(examples)

    def likelihoods(
        self,
        values: Sequence[Sequence[int]],
        inputs: Tensor,
        states: Tensor,
        encoded: Tensor,
        histories: Tensor,
    ) -> Tensor:
        """Return the log-likelihood of each word of the values, given the previous words.

        All computations use logarithms, so that improbable words have a gradient too.
        """
        width = max(map(len, values)) + 1
        rows = [[*value, END] + [PADDING] * (width - 1 - len(value)) for value in values]
        words = torch.tensor(rows)
        inputs, states = inputs.unsqueeze(1), states.unsqueeze(1)
        if width > 1:
            before = words[:, :-1]
            read = before.masked_fill(before >= self._size, UNKNOWN)
            later = self.dropout(self.words(read))
            after, _ = self.decoder(later, states.transpose(0, 1).contiguous())
            inputs, states = torch.cat([inputs, later], 1), torch.cat([states, after], 1)
        looks, seen = self.attend(states, encoded, histories)
        is_there = words.unsqueeze(2) == histories.unsqueeze(1)
        copied = looks.masked_fill(~is_there, IMPOSSIBLE).logsumexp(dim=2)
        # The vocabulary is large, so padding is excluded.
        real = words != PADDING
        words, states, seen, inputs, copied = (
            tensor[real] for tensor in (words, states, seen, inputs, copied)
        )
        in_vocabulary = words < self._size
        number = words.where(in_vocabulary, UNKNOWN).unsqueeze(1)
        spelled = (states @ self.words.weight.T).log_softmax(dim=1).gather(1, number).squeeze(1)
        of_vocabulary, of_history = self.mixture(states, seen, inputs)
        return torch.logaddexp(
            of_vocabulary.squeeze(1) + spelled.masked_fill(~in_vocabulary, IMPOSSIBLE),
            of_history.squeeze(1) + copied,
        )

    def states(self, examples: Sequence[Example]) -> list[dict[int, list[int]]]:
        """Return the most probable state of each example, as slot → words."""
        histories, encoded, whole = self.encode(examples)
        inputs, states = self.begin(whole)
        _, seen = self.attend(states, encoded, histories)
        found: list[dict[int, list[int]]] = [{} for _ in examples]
        gates = self.gate(torch.cat([states, seen], dim=2))
        rows, slots = (gates.argmax(dim=2) == FILLED).nonzero().unbind(1)
        if not len(rows):
            return found
        words = self.write(inputs[rows, slots], states[rows, slots], encoded[rows], histories[rows])
        for row, slot, value in zip(rows.tolist(), slots.tolist(), words, strict=True):
            if value:
                found[row][slot] = value
        return found

    def write(
        self, inputs: Tensor, states: Tensor, encoded: Tensor, histories: Tensor
    ) -> list[list[int]]:
        """Return the most probable words of all values, which are generated in parallel."""
        size = max(self._size, int(histories.max()) + 1)
        values = np.full((len(inputs), self._settings.longest_value), END)
        is_open = torch.ones(len(inputs), dtype=torch.bool)
        states = states.unsqueeze(0)
        for place in range(self._settings.longest_value):
            now = states.squeeze(0)
            looks, seen = self.attend(now.unsqueeze(1), encoded, histories)
            of_vocabulary, of_history = self.mixture(now, seen.squeeze(1), inputs)
            spelled = (now @ self.words.weight.T).log_softmax(dim=1)
            chances = spelled.new_zeros(len(inputs), size)
            chances[:, : self._size] = (of_vocabulary + spelled).exp()
            chances.scatter_add_(1, histories, (of_history + looks.squeeze(1)).exp())
            chances[:, [PADDING, UNKNOWN, *MARKS]] = -1.0
            best = chances.argmax(dim=1)
            is_open &= best != END
            if not is_open.any():
                break
            values[is_open.numpy(), place] = best[is_open].numpy()
            inputs = self.words(best.masked_fill(best >= self._size, UNKNOWN))
            _, states = self.decoder(inputs.unsqueeze(1), states.contiguous())
        return [[int(word) for word in value if word != END] for value in values]


@dataclass(frozen=True, slots=True, eq=False)
class TradeTracker:
    """Tracks the states of dialogues from their utterances only."""

    network: TradeNetwork
    vocabulary: Vocabulary
    batch_size: int = 64

    def track(self, dialogue: Dialogue) -> list[State]:
        """Return the state after each user turn, without empty slots.

        Gold states are not used. Raises `InputError` for texts that cannot be encoded.
        """
        check_characters([dialogue])
        return list(self.states(self.vocabulary.examples([dialogue])))

    def states(self, examples: Iterable[Example]) -> Iterator[State]:
        """Yield the state of each example."""
        self.network.eval()
        left = iter(examples)
        while chosen := list(islice(left, self.batch_size)):
            with torch.inference_mode():
                found = self.network.states(chosen)
            for example, values in zip(chosen, found, strict=True):
                state: State = {}
                for number, words in values.items():
                    domain, slot = SLOTS[number]
                    value = self.vocabulary.value(words, example.unknown)
                    state.setdefault(domain, {})[slot] = value
                yield state

    def exchanges(self, dialogue: Dialogue) -> list[dict[str, Any]]:
        """Return the exchanges of a dialogue in a predictions file of the DST track.

        The conditioning is `predicted_history`. Raises `InputError` like `track`.
        """
        return [{STATE: state} for state in self.track(dialogue)]

    @classmethod
    def load(cls, path: str | Path) -> TradeTracker:
        """Return the tracker in a file, or in a folder that training wrote.

        Raises `InputError` for anything else.
        """

        def made(about: Any, arrays: Arrays) -> TradeTracker:
            vocabulary = Vocabulary.checked(about["words"], TradeSettings(**about["settings"]))
            # A network with other sizes may not fit into memory.
            if arrays["words.weight"].shape != (vocabulary.size, vocabulary.settings.hidden):
                raise ValueError("the width or the vocabulary size of the model differs")
            return cls(TradeNetwork(vocabulary.size, vocabulary.settings), vocabulary)

        return load_model(path, MODEL_FILE, KIND, made)


def train_trade(
    training: Sequence[Dialogue],
    validation: Sequence[Dialogue],
    folder: str | Path,
    settings: TradeSettings | None = None,
    watch: Watch | None = None,
) -> tuple[TradeTracker, Sequence[Point]]:
    """Train a tracker; return the best tracker and its learning curve (a point per epoch).

    The tracker (`trade.safetensors`) and a checkpoint are written to `folder`. Calling this
    function again resumes an interrupted training and gives an identical result. Losses are mean
    negative log-likelihoods of a state, in nats. The best epoch is the epoch with the highest joint
    accuracy (the score `joint`) on `validation`. `watch` is called with each new point of the
    learning curve.

    Raises `InputError` if there are no states, a text is invalid Unicode or the checkpoint is
    damaged. Raises `UsageError` if the folder contains other files.
    """
    check_characters([*training, *validation])
    learner = TradeLearner(training, validation, settings or TradeSettings())
    curve = train(learner, Path(folder), watch)
    return TradeTracker.load(folder), curve


class TradeLearner(Learner):
    """A TRADE model in training."""

    model_file = MODEL_FILE
    longest_gradient = 10.0

    def __init__(
        self,
        training: Sequence[Dialogue],
        validation: Sequence[Dialogue],
        settings: TradeSettings,
    ) -> None:
        vocabulary = Vocabulary.of(training, settings)
        self._training, self._validation = (
            list(vocabulary.examples(dialogues)) for dialogues in (training, validation)
        )
        if not any(example.values for example in self._training):
            reason = "the dialogues have no states to train on"
            raise InputError([Problem("no-training-data", reason)])
        with reproducible(settings):
            network = TradeNetwork(vocabulary.size, settings)
        data = fingerprint(_seen(training)), fingerprint(_seen(validation))
        super().__init__(network, settings, len(self._training), data)
        self.lengths = np.array([len(example.words) for example in self._training])
        self._tracker = TradeTracker(network, vocabulary)
        self._gold = [sparse(state) for _, _, state in _seen(validation)]

    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the mean negative log-likelihood of a state, in nats."""
        return self._tracker.network.train().loss([self._training[n] for n in chosen])

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the joint accuracy on the validation dialogues, in percent."""
        found = self._tracker.states(self._validation)
        right = sum(state == gold for state, gold in zip(found, self._gold, strict=True))
        joint = 100 * right / max(1, len(self._gold))
        return {"joint": joint}, joint

    def save(self, folder: Path, point: Point) -> None:
        """Write the tracker."""
        tracker = self._tracker
        about = {"words": tracker.vocabulary.words, "settings": asdict(self.settings)}
        weights = weights_of(tracker.network.state_dict())
        write_arrays(folder / self.model_file, KIND, weights, about)


def _seen(dialogues: Iterable[Dialogue]) -> Iterator[tuple[str, str, State]]:
    for exchange in (exchange for dialogue in dialogues for exchange in dialogue.exchanges):
        yield exchange.user.utterance, exchange.system.utterance, exchange.system.first_query
