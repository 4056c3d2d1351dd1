"""A dual encoder: the score is the dot product of a context vector and a candidate vector.

In training, the answers of the other examples in a batch are the wrong candidates. A vector has a
sparse part and a dense part. The sparse part finds exact matches, with a learned weight for every
word. The dense part finds similar words; it is a weighted sum of learned word vectors. Training
starts from TF-IDF weights.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn

from mwzeval.dstc7.baselines.query import (
    CUT,
    Query,
    Scores,
    Vectors,
    all_candidates,
    list_scores,
    words_of,
)
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.neural import (
    Arrays,
    Learner,
    Point,
    TrainingSettings,
    Watch,
    fingerprint,
    load_model,
    set_weights,
    train,
    weights_of,
    write_arrays,
)

Integers = NDArray[np.int64]
Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Settings(TrainingSettings):
    """Settings of model and training. Raises `UsageError` for invalid values."""

    shared: bool = True
    """Whether contexts and candidates share one encoder."""
    dimensions: int = 64
    """Length of the word vectors."""
    minimum_count: int = 2
    """Words that occur less often in the training file are treated as unknown words."""
    largest_vocabulary: int = 100_000
    """The maximum number of words; the most frequent words are used."""
    buckets: int = 16_384
    """The number of vocabulary entries for unknown words, which a hash function assigns to these
    entries."""
    context_words: int = 160
    """The number of words at the end of a context that are read."""
    candidate_words: int = 80
    """The number of words at the beginning of a candidate that are read."""
    ages: int = 8
    """The number of message ages (last message, last but one, …) with weights of their own; older
    messages share the last weight."""
    batch_size: int = 256
    """The number of examples in a step; answers of the other examples are the wrong candidates."""
    learning_rate: float = 0.003
    """The learning rate of Adam, for all parameters."""
    dropout: float = 0.3
    """The share of words that are left out of the dense sums, drawn for each batch."""
    epochs: int = 20
    """The maximum number of passes over the training examples."""
    evaluate_every: int = 100
    """The number of steps between two evaluations on dev; each evaluation writes a checkpoint."""
    patience: int = 6
    """The number of evaluations without a better final score on dev after which training stops."""
    dev_examples: int = 1_000
    """The number of examples at the beginning of the dev file that are scored."""

    def __post_init__(self) -> None:
        TrainingSettings.__post_init__(self)
        if self.batch_size < 2:
            raise UsageError(
                "batch_size must be 2 or more, because the other examples of a batch provide "
                "the wrong answers"
            )


class Vocabulary:
    """Assigns numbers to words: first to known words; all other words share `buckets` numbers."""

    def __init__(self, words: Sequence[str], buckets: int) -> None:
        self.words = tuple(words)
        self.buckets = buckets
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words) + self.buckets

    def number(self, word: str) -> int:
        """Return the number of a word; an unknown word shares its number with other words."""
        number = self._numbers.get(word)
        if number is None:
            # Python's own hash differs between runs.
            number = len(self.words) + crc32(word.encode("utf-8", "replace")) % self.buckets
        return number

    def numbers_of(self, text: str) -> list[int]:
        """Return the word numbers of a text."""
        return [self.number(word) for word in words_of(text)]


def learned_vocabulary(counts: Mapping[str, int], settings: Settings) -> Vocabulary:
    """Return the frequent words, sorted by frequency, then alphabetically."""
    frequent = (word for word, count in counts.items() if count >= settings.minimum_count)
    ordered = sorted(frequent, key=lambda word: (-counts[word], word))
    return Vocabulary(ordered[: settings.largest_vocabulary], settings.buckets)


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """The words of n texts, concatenated.

    `words` and `ages` have one entry per word of all texts; text i has the entries from `starts[i]`
    to `starts[i + 1]`. The age of a word is the number of messages after its own message.
    """

    words: NDArray[np.int32]
    ages: NDArray[np.int32]
    starts: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, texts: Integers) -> Bags:
        """Return the texts with the given indices, in the order of the indices."""
        sizes = np.diff(self.starts)[texts]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[texts] - starts[:-1], sizes)
        return Bags(self.words[places], self.ages[places], starts)


def context_bags(contexts: Iterable[Sequence[Sequence[int]]], settings: Settings) -> Bags:
    """Return the last words of each context, which is a list of word numbers per message."""
    words, ages, starts = array("i"), array("i"), array("q", [0])
    for messages in contexts:
        room = settings.context_words
        for age, message in enumerate(reversed(messages)):
            kept = message[-room:] if room else ()
            words.extend(kept)
            ages.extend([min(age, settings.ages - 1)] * len(kept))
            room -= len(kept)
        starts.append(len(words))
    of_words, of_ages = (np.array(numbers, dtype=np.int32) for numbers in (words, ages))
    return Bags(of_words, of_ages, np.array(starts, dtype=np.int64))


def candidate_bags(candidates: Iterable[Sequence[int]], settings: Settings) -> Bags:
    """Return the first words of each candidate."""
    words, starts = array("i"), array("q", [0])
    for candidate in candidates:
        words.extend(candidate[: settings.candidate_words])
        starts.append(len(words))
    of_words = np.array(words, dtype=np.int32)
    return Bags(of_words, np.zeros_like(of_words), np.array(starts, dtype=np.int64))


MODEL_FILE = "model.safetensors"
KIND = "dual encoder"
VOCABULARY = "vocabulary"
CONTEXT, CANDIDATE, SHARED = "context", "candidate", "shared"
WORD_VECTORS = "word_vectors"
DENSE, SPARSE = "dense", "sparse"
LENGTH_OFFSET = 2.0
"""The sum of word vectors is divided by a power of the number of words plus this number."""
FIRST_VECTOR_LENGTH = 0.3
"""The initial length of word vectors; it is small so that exact matches dominate."""
FIRST_SCALE = 2.6
"""The logarithm of the initial scale of dot products; the scale makes the softmax probabilities
less uniform."""


def weight_shapes(settings: Settings, words: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight for a vocabulary of `words` words."""
    shapes: dict[str, tuple[int, ...]] = {}
    for side in (SHARED,) if settings.shared else (CONTEXT, CANDIDATE):
        shapes[f"{side}.{WORD_VECTORS}"] = (words, settings.dimensions)
        for kind in (DENSE, SPARSE):
            shapes |= {f"{side}.{kind}_words": (words,), f"{side}.{kind}_ages": (settings.ages,)}
    for kind in (DENSE, SPARSE):
        # The length discount may differ between the sides even if the encoder is shared.
        shapes |= {f"{kind}_lengths": (2,), f"{kind}_scale": ()}
    return shapes


def first_weights(settings: Settings, rarity: NDArray[np.float64]) -> Weights:
    """Return the weights before training: TF-IDF weights of words, and random word vectors.

    `rarity` is the inverse document frequency of each word, between 0 and 1.
    """
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    vectors = generator.standard_normal((len(rarity), settings.dimensions), dtype=np.float32)
    vectors *= FIRST_VECTOR_LENGTH / settings.dimensions**0.5
    first: dict[str, Any] = {
        "vectors": vectors,
        "words": rarity,
        "ages": 0.0,
        "lengths": -0.7,
        "scale": FIRST_SCALE,
    }
    return {
        name: np.broadcast_to(first[name.rpartition("_")[2]], shape).astype(np.float32)
        for name, shape in weight_shapes(settings, len(rarity)).items()
    }


class DualEncoder(nn.Module):
    """Maps contexts and candidates to vectors whose dot product is the score."""

    def __init__(self, settings: Settings, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings = settings
        self.vocabulary = vocabulary
        self.sides = (SHARED, SHARED) if settings.shared else (CONTEXT, CANDIDATE)
        for side in dict.fromkeys(self.sides):
            self.add_module(side, nn.ParameterDict())
        for name, shape in weight_shapes(settings, len(vocabulary)).items():
            side, _, own = name.rpartition(".")
            self.get_submodule(side).register_parameter(own, nn.Parameter(torch.empty(shape)))

    @property
    def network(self) -> DualEncoder:
        """This module, as required for models that contain a PyTorch module."""
        return self

    def forward(
        self, contexts: Bags, candidates: Bags, dropping: Generator | None = None
    ) -> Tensor:
        """Return the matrix of scores (contexts × candidates); `dropping` omits random words.

        Without dropout, the scores equal the dot products of `encode` except for rounding.
        """
        dense = self._dense(contexts, 0, dropping) @ self._dense(candidates, 1, dropping).T
        # Only words that occur on both sides contribute to a product.
        common = np.intersect1d(contexts.words, candidates.words)
        matrices = []
        for which, bags in enumerate((contexts, candidates)):
            columns = np.searchsorted(common, bags.words)
            columns[columns == len(common)] = 0
            kept = common[columns] == bags.words if len(common) else columns < 0
            places = (_texts_of(bags) * len(common) + columns)[kept]
            summed = self._sparse(bags, which, places, len(bags) * len(common), kept)
            matrix = summed.view(len(bags), len(common))
            matrices.append(matrix * self._discount(bags, SPARSE, which)[:, None])
        sparse = matrices[0] @ matrices[1].T
        dense_scale, sparse_scale = (self.get_parameter(f"{k}_scale") for k in (DENSE, SPARSE))
        return dense_scale.exp() * dense + sparse_scale.exp() * sparse

    @torch.inference_mode()
    def encode(self, bags: Bags, which: int) -> Vectors:
        """Return vectors of contexts (`which` = 0, scaled) or of candidates (`which` = 1)."""
        from scipy import sparse

        dense = self._dense(bags, which)
        keys = _texts_of(bags) * len(self.vocabulary) + bags.words
        pairs, places = np.unique(keys, return_inverse=True)
        texts, words = np.divmod(pairs, len(self.vocabulary))
        values = self._sparse(bags, which, places, len(pairs))
        values = values * self._discount(bags, SPARSE, which)[torch.from_numpy(texts)]
        if which == 0:
            dense = dense * self.get_parameter(f"{DENSE}_scale").exp()
            values = values * self.get_parameter(f"{SPARSE}_scale").exp()
        starts = np.searchsorted(texts, np.arange(len(bags) + 1))
        shape = (len(bags), len(self.vocabulary))
        return Vectors(sparse.csr_matrix((values.numpy(), words, starts), shape), dense.numpy())

    def contexts(self, contexts: Iterable[Sequence[str]]) -> Vectors:
        """Return the vectors of contexts, each a sequence of messages, oldest first."""
        numbers = ([self.vocabulary.numbers_of(text) for text in said] for said in contexts)
        return self.encode(context_bags(numbers, self.settings), 0)

    def candidates(self, candidates: Iterable[str]) -> Vectors:
        """Return the vectors of candidates."""
        numbers = map(self.vocabulary.numbers_of, candidates)
        return self.encode(candidate_bags(numbers, self.settings), 1)

    def _dense(self, bags: Bags, which: int, dropping: Generator | None = None) -> Tensor:
        weights = self._word_weights(bags, DENSE, which)
        dropout = self.settings.dropout
        if dropping is not None and dropout:
            kept = torch.rand(len(weights), generator=dropping) >= dropout
            weights = weights * kept / (1 - dropout)
        summed = nn.functional.embedding_bag(
            torch.from_numpy(bags.words.astype(np.int64)),
            self.get_parameter(f"{self.sides[which]}.{WORD_VECTORS}"),
            torch.from_numpy(bags.starts[:-1].copy()),
            mode="sum",
            per_sample_weights=weights,
            sparse=True,
        )
        return summed * self._discount(bags, DENSE, which)[:, None]

    def _sparse(
        self,
        bags: Bags,
        which: int,
        places: Integers,
        size: int,
        kept: NDArray[np.bool_] | slice = slice(None),
    ) -> Tensor:
        """Return the values of words in texts; `places` has the position of each remaining word."""
        weights = self._word_weights(bags, SPARSE, which)
        if not isinstance(kept, slice):
            weights = weights[torch.from_numpy(kept)]
        return torch.zeros(size).index_add(0, torch.from_numpy(places), weights).relu().log1p()

    def _word_weights(self, bags: Bags, kind: str, which: int) -> Tensor:
        words, ages = (torch.from_numpy(n.astype(np.int64)) for n in (bags.words, bags.ages))
        side = self.sides[which]
        of_ages = self.get_parameter(f"{side}.{kind}_ages").exp()
        return self.get_parameter(f"{side}.{kind}_words")[words] * of_ages[ages]

    def _discount(self, bags: Bags, kind: str, which: int) -> Tensor:
        sizes = torch.from_numpy(np.diff(bags.starts).astype(np.float32))
        power = self.get_parameter(f"{kind}_lengths")[which].sigmoid()
        return (sizes + LENGTH_OFFSET).pow(-power)

    def save(self, folder: str | Path, about: Any = None) -> Path:
        """Write the model and the metadata `about` to a folder, and return the path of the file."""
        path = Path(folder, MODEL_FILE)
        words = np.frombuffer("\n".join(self.vocabulary.words).encode(), dtype=np.uint8)
        description = {"settings": asdict(self.settings), "training": about}
        arrays = weights_of(dict(self.named_parameters()))
        write_arrays(path, KIND, {**arrays, VOCABULARY: words}, description)
        return path

    @classmethod
    def load(cls, path: str | Path) -> DualEncoder:
        """Return the model in a file, or in a folder that `train` wrote.

        Raises `InputError` if the file is damaged, not a dual encoder or not in safetensors format.
        """

        def made(about: Any, arrays: Arrays) -> DualEncoder:
            plain = about["settings"]
            if set(plain) != {field.name for field in fields(Settings)}:
                raise ValueError("not the settings of a dual encoder of this version")
            settings = Settings(**plain)
            words = arrays.pop(VOCABULARY).tobytes().decode()
            vocabulary = Vocabulary(words.split("\n") if words else (), settings.buckets)
            found = {name: w.shape for name, w in arrays.items() if w.dtype == np.float32}
            # A network with other sizes may not fit into memory.
            if found != weight_shapes(settings, len(vocabulary)):
                raise ValueError("weights are missing, unknown or of another shape")
            return cls(settings, vocabulary)

        return load_model(path, MODEL_FILE, KIND, made)


def _texts_of(bags: Bags) -> Integers:
    """Return, for each word, the index of its text."""
    return np.repeat(np.arange(len(bags)), np.diff(bags.starts))


DEV_LIST = 100
"""The number of candidates of a dev example in subtask 2, including its answer."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Pairs of a context and a correct answer.

    `rarity` is BM25's inverse document frequency of each word, divided by the value of an unseen
    word. `example[i]` is the number of the example of pair i. `same[i]` is equal for pairs of
    contexts and answers if the words of the answers are the same.
    """

    vocabulary: Vocabulary
    rarity: NDArray[np.float64]
    contexts: Bags
    answers: Bags
    example: Integers
    same: Integers

    def __len__(self) -> int:
        return len(self.contexts)

    def twins(self, pairs: Integers) -> NDArray[np.bool_]:
        """Return a pairs × pairs matrix: whether an answer also fits another pair's context."""
        example, same = self.example[pairs], self.same[pairs]
        twins: NDArray[np.bool_] = (same[:, None] == same) | (example[:, None] == example)
        np.fill_diagonal(twins, False)
        return twins

    def fingerprint(self) -> str:
        """Return a checksum of all training data."""
        digest = blake2b("\n".join(self.vocabulary.words).encode(), digest_size=16)
        for bags in (self.contexts, self.answers):
            for numbers in (bags.words, bags.ages, bags.starts):
                digest.update(numbers.tobytes())
        return digest.hexdigest()


def training_data(queries: Iterable[Query], settings: Settings) -> TrainingData:
    """Return one pair for each correct answer of each example; examples are read once.

    Raises `InputError` if fewer than two examples have an answer.
    """
    # Words are numbered in order of occurrence, and then renumbered by frequency.
    first_numbers: dict[str, int] = {}

    def numbers_of(text: str) -> list[int]:
        return [first_numbers.setdefault(word, len(first_numbers)) for word in words_of(text)]

    contexts: list[list[list[int]]] = []
    answers: list[list[int]] = []
    example: list[int] = []
    counts: Counter[int] = Counter()
    for index, query in enumerate(queries):
        if not query.answers:
            continue
        said = [numbers_of(text) for text in query.messages]
        for answer in query.answers:
            contexts.append(said)
            example.append(index)
            answers.append(numbers_of(answer))
            counts.update(answers[-1])
        for numbers in said:
            counts.update(numbers)
    total = len(answers)
    if total < 2:
        message = f"training needs at least two examples with a right answer: found {total}"
        raise InputError([Problem("no-training-data", message)])
    words = list(first_numbers)
    vocabulary = learned_vocabulary({words[n]: count for n, count in counts.items()}, settings)
    renumbered = [vocabulary.number(word) for word in words]
    final = [[renumbered[number] for number in answer] for answer in answers]
    frequency = np.zeros(len(vocabulary))
    for number, count in Counter(n for answer in final for n in set(answer)).items():
        frequency[number] = count
    rarity = np.log1p((total - frequency + 0.5) / (frequency + 0.5)) / np.log1p((total + 0.5) / 0.5)
    first: dict[tuple[int, ...], int] = {}
    return TrainingData(
        vocabulary=vocabulary,
        rarity=rarity,
        contexts=context_bags(
            ([[renumbered[number] for number in text] for text in said] for said in contexts),
            settings,
        ),
        answers=candidate_bags(final, settings),
        example=np.array(example),
        same=np.array([first.setdefault(tuple(a), place) for place, a in enumerate(answers)]),
    )


def dev_lists(queries: Iterable[Query], settings: Settings) -> list[Query]:
    """Return the first dev examples that have a correct answer, each with a candidate list.

    If the dialogue file has no candidate lists (subtask 2), the wrong candidates are correct
    answers of other examples, drawn with the seed in `settings`. Raises `InputError` if there is no
    example to score.
    """
    chosen = list(islice((query for query in queries if query.answers), settings.dev_examples))
    if not chosen:
        message = "no dev example has a right answer, so early stopping is impossible"
        raise InputError([Problem("no-dev-data", message)])
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    texts = list(dict.fromkeys(text for query in chosen for text in query.answers))
    listed = []
    for query in chosen:
        if not query.candidates:
            others = [text for text in texts if text not in query.answers]
            size = min(DEV_LIST - 1, len(others))
            drawn = [others[place] for place in generator.choice(len(others), size, replace=False)]
            ids = ("RIGHT", *(f"WRONG{number}" for number in range(size)))
            candidates = (query.answers[0], *drawn)
            right = frozenset(ids[:1])
            query = Query(query.example, query.messages, ids, candidates, query.answers, right)
        listed.append(query)
    return listed


def train_dual_encoder(
    training: Iterable[Query],
    dev: Iterable[Query],
    folder: str | Path,
    settings: Settings | None = None,
    watch: Watch | None = None,
) -> tuple[DualEncoder, Sequence[Point]]:
    """Train a model in a folder; return the best model and the learning curve.

    The model with the highest final score on the dev lists is written. Training stops after
    `patience` evaluations without a better score. Each evaluation writes a checkpoint. Calling this
    function again resumes an interrupted training and gives an identical result. `watch` is called
    with each new point of the curve.

    Raises `InputError` if there are no training examples or the checkpoint is damaged. Raises
    `UsageError` if the folder contains other files.
    """
    chosen = settings or Settings()
    learner = _DualEncoderLearner(training_data(training, chosen), dev_lists(dev, chosen), chosen)
    curve = train(learner, Path(folder), watch)
    return DualEncoder.load(folder), curve


def dev_scores(queries: Sequence[Query], scores: Sequence[Scores]) -> dict[str, float]:
    """Return Recall@1, Recall@10 and MRR, between 0 and 1, given the scores of lists.

    If scores are equal, the correct answer is ranked last, so that constant scores are not
    rewarded.
    """
    ranks = np.full(len(queries), np.inf)
    for index, (query, row) in enumerate(zip(queries, scores, strict=True)):
        right = np.array([name in query.correct for name in query.candidate_ids], dtype=bool)
        if right.any():
            ranks[index] = 1 + np.sum(row[~right] >= row[right].max())
    return {
        "recall_at_1": float(np.mean(ranks <= 1)),
        "recall_at_10": float(np.mean(ranks <= CUT)),
        "mrr": float(np.mean(1 / ranks)),
    }


class _DualEncoderLearner(Learner):
    model_file = MODEL_FILE
    complete_batches = True
    evaluate_first = True

    def __init__(self, data: TrainingData, dev: Sequence[Query], settings: Settings) -> None:
        self.settings: Settings = settings
        self.examples = len(data)
        texts = ((query.messages + query.candidates, sorted(query.correct)) for query in dev)
        self.data = (data.fingerprint(), fingerprint(item for pair in texts for item in pair))
        self.evaluate_every, self.patience = settings.evaluate_every, settings.patience
        self._model = DualEncoder(settings, data.vocabulary)
        set_weights(self._model.state_dict(), first_weights(settings, data.rarity))
        self.weights = dict(sorted(self._model.named_parameters()))
        vectors = [w for name, w in self.weights.items() if name.endswith(WORD_VECTORS)]
        others = [w for name, w in self.weights.items() if not name.endswith(WORD_VECTORS)]
        rate = settings.learning_rate
        self.optimizers = (
            torch.optim.SparseAdam(vectors, lr=rate),
            torch.optim.Adam(others, lr=rate, foreach=False, fused=False),
        )
        self.generator = Generator().manual_seed(settings.seed)
        self._pairs = data
        self._dev = dev
        numbers_of = data.vocabulary.numbers_of
        contexts = ([numbers_of(text) for text in query.messages] for query in dev)
        self._dev_contexts = context_bags(contexts, settings)
        self._dev_candidates = candidate_bags(map(numbers_of, all_candidates(dev)), settings)

    def loss(self, chosen: Integers) -> Tensor:
        """Return the mean negative log probability of the correct answers, in nats.

        Each context selects its answer from all answers in the batch, except other correct answers.
        """
        pairs = self._pairs
        contexts, answers = pairs.contexts.take(chosen), pairs.answers.take(chosen)
        scores = self._model(contexts, answers, self.generator)
        scores = scores.masked_fill(torch.from_numpy(pairs.twins(chosen)), float("-inf"))
        return nn.functional.cross_entropy(scores, torch.arange(len(contexts)))

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the scores on the dev lists and the final score, (MRR + Recall@10) / 2."""
        scores = list_scores(
            self._model.encode(self._dev_contexts, 0),
            self._model.encode(self._dev_candidates, 1),
            [len(query.candidates) for query in self._dev],
        )
        scored = dev_scores(self._dev, scores)
        return scored, (scored["mrr"] + scored["recall_at_10"]) / 2

    def save(self, folder: Path, point: Point) -> None:
        """Write the model."""
        self._model.save(folder, {"step": point.step, "examples": point.examples})
