"""Training of a dual encoder on the other answers of its batch, with early stopping on dev lists.

Word vectors have an optimizer of their own, which touches only the words of the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    LENGTH_OFFSET,
    WORD_VECTORS,
    Bags,
    Integers,
    Settings,
    candidate_bags,
    context_bags,
    first_weights,
    side_names,
)
from mwzeval.dstc7.baselines.dual_encoder.model import (
    MODEL_FILE,
    DualEncoder,
    encode_candidates,
    encode_contexts,
)
from mwzeval.dstc7.baselines.dual_encoder.training_data import (
    TrainingData,
    dev_lists,
    training_data,
)
from mwzeval.dstc7.baselines.query import Query, all_candidates
from mwzeval.dstc7.baselines.vectors import Scores, list_scores
from mwzeval.libraries import required
from mwzeval.neural.state import weights_of
from mwzeval.neural.training import Learner, Point, Watch, train

if TYPE_CHECKING:
    from torch import Generator, Tensor


def train_dual_encoder(
    training: Iterable[Query],
    dev: Iterable[Query],
    folder: str | Path,
    settings: Settings | None = None,
    watch: Watch | None = None,
) -> tuple[DualEncoder, Sequence[Point]]:
    """Train in a folder and return the best model, also written there, with the learning curve.

    The model with the highest final score on the dev lists is kept; training ends after
    `patience` evaluations without a better one. With each evaluation the whole state is written:
    called again with the same files and settings after it was killed, training goes on from there
    and ends with the same bytes. `watch` is told of each point of the curve as it comes.

    Raises `InputError` for files without anything to learn from and for a damaged state,
    `UsageError` when the folder holds something else, `DependencyError` without PyTorch.
    """
    required("torch", "neural")
    chosen = settings or Settings()
    learner = _DualEncoderLearner(training_data(training, chosen), dev_lists(dev, chosen), chosen)
    curve = train(learner, Path(folder), watch)
    return DualEncoder.load(folder), curve


def dev_scores(queries: Sequence[Query], scores: Sequence[Scores]) -> dict[str, float]:
    """Return Recall@1, Recall@10 and MRR of scores of lists, between 0 and 1.

    Of equal scores the right answer comes last: a model that likes all alike gains nothing.
    """
    ranks = np.array(
        [_rank(query, row) for query, row in zip(queries, scores, strict=True)], dtype=np.float64
    )
    return {
        "recall_at_1": float(np.mean(ranks <= 1)),
        "recall_at_10": float(np.mean(ranks <= 10)),
        "mrr": float(np.mean(1 / ranks)),
    }


def _rank(query: Query, scores: Scores) -> float:
    """Return the rank of the best right answer; infinity when none is in the list."""
    right = np.array([name in query.correct for name in query.candidate_ids], dtype=bool)
    if not right.any():
        return float("inf")
    return 1.0 + float(np.sum(scores[~right] >= scores[right].max()))


class _DualEncoderLearner(Learner):
    model_file = MODEL_FILE
    complete_batches = True
    evaluate_first = True

    def __init__(self, data: TrainingData, dev: Sequence[Query], settings: Settings) -> None:
        import torch

        self.settings: Settings = settings
        self.examples = len(data)
        self.data = (data.fingerprint(), _fingerprint(dev))
        self.evaluate_every, self.patience = settings.evaluate_every, settings.patience
        self.weights: dict[str, Tensor] = {
            name: torch.from_numpy(array.copy()).requires_grad_()
            for name, array in sorted(first_weights(settings, data.rarity).items())
        }
        vectors = [self.weights[name] for name in self.weights if name.endswith(WORD_VECTORS)]
        others = [self.weights[name] for name in self.weights if not name.endswith(WORD_VECTORS)]
        rate = settings.learning_rate
        self.optimizers = (
            torch.optim.SparseAdam(vectors, lr=rate),
            torch.optim.Adam(others, lr=rate, foreach=False, fused=False),
        )
        self.generator = torch.Generator().manual_seed(settings.seed)
        self._pairs = data
        numbers_of = data.vocabulary.numbers_of
        contexts = ([numbers_of(text) for text in query.messages] for query in dev)
        self._dev = dev
        self._dev_contexts = context_bags(contexts, settings.context_words, settings.ages)
        self._dev_candidates = candidate_bags(
            map(numbers_of, all_candidates(dev)), settings.candidate_words
        )

    def loss(self, chosen: Integers) -> Tensor:
        """Return the mean negative log probability of the right answers, in nats.

        Each context is to choose its own answer among all of the batch but those that are right as
        well.
        """
        import torch

        pairs = self._pairs
        contexts, answers = pairs.contexts.take(chosen), pairs.answers.take(chosen)
        scores = batch_scores(self.weights, contexts, answers, self.settings, self.generator)
        scores = scores.masked_fill(torch.from_numpy(pairs.twins(chosen)), float("-inf"))
        return torch.nn.functional.cross_entropy(scores, torch.arange(len(contexts)))

    def evaluate(self) -> tuple[Mapping[str, float], float]:
        """Return the scores on the dev lists and the final score, (MRR + Recall@10) / 2."""
        weights = weights_of(self.weights)
        scores = list_scores(
            encode_contexts(self._dev_contexts, weights, self.settings),
            encode_candidates(self._dev_candidates, weights, self.settings),
            [len(query.candidates) for query in self._dev],
        )
        scored = dev_scores(self._dev, scores)
        return scored, (scored["mrr"] + scored["recall_at_10"]) / 2

    def save(self, folder: Path, point: Point) -> None:
        """Write the model."""
        model = DualEncoder(self.settings, self._pairs.vocabulary, weights_of(self.weights))
        model.save(folder, {"step": point.step, "examples": point.examples})


def batch_scores(
    parameters: dict[str, Tensor],
    contexts: Bags,
    candidates: Bags,
    settings: Settings,
    dropping: Generator | None = None,
) -> Tensor:
    """Return the scores, contexts × candidates; with `dropping`, words are left out at random.

    The same as the dot products of `encoding`, without dropout to the last bits.
    """
    left, right = side_names(settings)
    dropout = settings.dropout if dropping is not None else 0.0
    dense = _dense(parameters, contexts, left, 0, dropout, dropping) @ (
        _dense(parameters, candidates, right, 1, dropout, dropping).T
    )
    # Only words on both sides add to a product.
    common = np.intersect1d(contexts.words, candidates.words)
    sparse = _sparse(parameters, contexts, left, 0, common) @ (
        _sparse(parameters, candidates, right, 1, common).T
    )
    return parameters["dense_scale"].exp() * dense + parameters["sparse_scale"].exp() * sparse


def _dense(
    parameters: dict[str, Tensor],
    bags: Bags,
    side: str,
    which: int,
    dropout: float,
    dropping: Generator | None,
) -> Tensor:
    import torch

    words = torch.from_numpy(bags.words.astype(np.int64))
    weights = _word_weights(parameters, bags, side, "dense")
    if dropout:
        kept = torch.rand(len(words), generator=dropping) >= dropout
        weights = weights * kept / (1 - dropout)
    summed = torch.nn.functional.embedding_bag(
        words,
        parameters[f"{side}.{WORD_VECTORS}"],
        torch.from_numpy(bags.starts[:-1].copy()),
        mode="sum",
        per_sample_weights=weights,
        sparse=True,
    )
    return summed * _discount(parameters, bags, "dense", which)


def _sparse(
    parameters: dict[str, Tensor], bags: Bags, side: str, which: int, common: np.ndarray
) -> Tensor:
    import torch

    columns = np.searchsorted(common, bags.words)
    columns[columns == len(common)] = 0
    is_common = common[columns] == bags.words if len(common) else np.zeros(len(columns), bool)
    rows = np.repeat(np.arange(len(bags)), bags.sizes)
    places = torch.from_numpy((rows * len(common) + columns)[is_common])
    weights = _word_weights(parameters, bags, side, "sparse")[torch.from_numpy(is_common)]
    summed = torch.zeros(len(bags) * len(common)).index_add(0, places, weights)
    matrix = summed.view(len(bags), len(common)).relu().log1p()
    return matrix * _discount(parameters, bags, "sparse", which)


def _word_weights(parameters: dict[str, Tensor], bags: Bags, side: str, kind: str) -> Tensor:
    import torch

    words = torch.from_numpy(bags.words.astype(np.int64))
    ages = torch.from_numpy(bags.ages.astype(np.int64))
    of_words: Tensor = parameters[f"{side}.{kind}_words"][words]
    return of_words * parameters[f"{side}.{kind}_ages"].exp()[ages]


def _discount(parameters: dict[str, Tensor], bags: Bags, kind: str, which: int) -> Tensor:
    import torch

    sizes = torch.from_numpy(bags.sizes.astype(np.float32))
    power = parameters[f"{kind}_lengths"][which].sigmoid()
    return (sizes + LENGTH_OFFSET).pow(-power)[:, None]


def _fingerprint(queries: Sequence[Query]) -> str:
    digest = blake2b(digest_size=16)
    for query in queries:
        digest.update(repr(query.messages + query.candidates).encode("utf-8", "backslashreplace"))
        digest.update(repr(sorted(query.correct)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
