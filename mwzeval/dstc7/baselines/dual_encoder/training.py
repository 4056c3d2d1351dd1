"""Training with early stopping, which goes on where it was killed, to the same result.

How far a training run has come, and how good the model was on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    Bags,
    Integers,
    Settings,
    candidate_bags,
    context_bags,
    first_weights,
)
from mwzeval.dstc7.baselines.dual_encoder.learner import Learner
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
from mwzeval.errors import UsageError
from mwzeval.files.tensor_files import read_arrays, refused, write_arrays
from mwzeval.version import required


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the learning curve: scores on the dev lists, between 0 and 1."""

    step: int
    examples: int
    loss: float | None
    recall_at_1: float
    recall_at_10: float
    mrr: float

    @property
    def final_score(self) -> float:
        """(MRR + Recall@10) / 2, by which the best model is chosen."""
        return (self.mrr + self.recall_at_10) / 2


@dataclass(slots=True)
class Progress:
    """Steps done, the curve so far, and how many evaluations ago the best one was."""

    step: int = 0
    curve: list[Point] = field(default_factory=list)
    stale: int = 0
    finished: bool = False

    def note(self, point: Point) -> bool:
        """Add a point and return whether it is the best so far."""
        is_best = all(point.final_score > other.final_score for other in self.curve)
        self.curve.append(point)
        self.stale = 0 if is_best else self.stale + 1
        return is_best

    def to_json(self) -> dict[str, Any]:
        """Return the progress as plain values."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Progress:
        """Return the progress that `to_json` gave."""
        curve = [Point(**point) for point in plain["curve"]]
        return cls(plain["step"], curve, plain["stale"], plain["finished"])


def point_of(
    queries: Sequence[Query],
    scores: Sequence[Scores],
    *,
    step: int,
    examples: int,
    loss: float | None,
) -> Point:
    """Return the point of the curve for scores of lists.

    Of equal scores the right answer comes last: a model that likes all alike gains nothing.
    """
    ranks = np.array(
        [_rank(query, row) for query, row in zip(queries, scores, strict=True)], dtype=np.float64
    )
    return Point(
        step=step,
        examples=examples,
        loss=loss,
        recall_at_1=float(np.mean(ranks <= 1)),
        recall_at_10=float(np.mean(ranks <= 10)),
        mrr=float(np.mean(1 / ranks)),
    )


def _rank(query: Query, scores: Scores) -> float:
    """Return the rank of the best right answer; infinity when none is in the list."""
    right = np.array([name in query.correct for name in query.candidate_ids], dtype=bool)
    if not right.any():
        return float("inf")
    return 1.0 + float(np.sum(scores[~right] >= scores[right].max()))


CHECKPOINT_FILE = "checkpoint.safetensors"
KIND = "training state of a dual encoder"

Watcher = Callable[[Point], None]


def train_dual_encoder(
    training: Iterable[Query],
    dev: Iterable[Query],
    folder: str | Path,
    settings: Settings | None = None,
    watch: Watcher | None = None,
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
    run = _Run.of(training, dev, Path(folder), settings or Settings())
    with _reproducible(run.settings.threads):
        progress = run.train(watch)
    return DualEncoder.load(run.folder), progress.curve


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    settings: Settings
    data: TrainingData
    dev: Sequence[Query]
    dev_contexts: Bags
    dev_candidates: Bags
    folder: Path

    @classmethod
    def of(
        cls, training: Iterable[Query], dev: Iterable[Query], folder: Path, settings: Settings
    ) -> _Run:
        data, lists = training_data(training, settings), dev_lists(dev, settings)
        numbers_of = data.vocabulary.numbers_of
        contexts = ([numbers_of(text) for text in query.messages] for query in lists)
        return cls(
            settings,
            data,
            lists,
            context_bags(contexts, settings.context_words, settings.ages),
            candidate_bags(map(numbers_of, all_candidates(lists)), settings.candidate_words),
            folder,
        )

    def train(self, watch: Watcher | None) -> Progress:
        learner = Learner(first_weights(self.settings, self.data.rarity), self.settings)
        progress = self._resume(learner)
        if progress is None:
            progress = Progress()
            self._evaluate(learner, progress, None, watch)
        losses: list[float] = []
        while not progress.finished:
            losses.append(learner.step(*self._batch(progress.step)))
            progress.step += 1
            at_end = progress.step == self._last_step
            if at_end or progress.step % self.settings.evaluate_every == 0:
                self._evaluate(learner, progress, float(np.mean(losses)), watch)
                losses = []
        return progress

    @property
    def _steps_an_epoch(self) -> int:
        return max(1, len(self.data) // self.settings.batch_size)

    @property
    def _last_step(self) -> int:
        return self.settings.epochs * self._steps_an_epoch

    def _batch(self, step: int) -> tuple[Bags, Bags, NDArray[np.bool_]]:
        """Return the batch of a step: a slice of the epoch's order, which the seed alone gives."""
        epoch, place = divmod(step, self._steps_an_epoch)
        order = _order(len(self.data), self.settings.seed, epoch)
        size = self.settings.batch_size
        chosen = order[place * size : (place + 1) * size]
        data = self.data
        return data.contexts.take(chosen), data.answers.take(chosen), data.twins(chosen)

    def _evaluate(
        self, learner: Learner, progress: Progress, loss: float | None, watch: Watcher | None
    ) -> None:
        """Add a point to the curve, and write the model if it is the best, then the state."""
        weights = learner.weights()
        scores = list_scores(
            encode_contexts(self.dev_contexts, weights, self.settings),
            encode_candidates(self.dev_candidates, weights, self.settings),
            [len(query.candidates) for query in self.dev],
        )
        examples = progress.step * min(self.settings.batch_size, len(self.data))
        point = point_of(self.dev, scores, step=progress.step, examples=examples, loss=loss)
        is_best = progress.note(point)
        progress.finished = (
            progress.step == self._last_step or progress.stale >= self.settings.patience
        )
        if not progress.step:
            self._write_state(learner, progress)  # before the model, to mark the folder as ours
        if is_best:
            model = DualEncoder(self.settings, self.data.vocabulary, weights)
            model.save(self.folder, {"step": point.step, "examples": point.examples})
        if progress.step:
            self._write_state(learner, progress)
        if watch is not None:
            watch(point)

    def _write_state(self, learner: Learner, progress: Progress) -> None:
        about = {**self._identity(), "progress": progress.to_json()}
        write_arrays(self.folder / CHECKPOINT_FILE, KIND, learner.state(), about)

    def _identity(self) -> dict[str, object]:
        digests = (self.data.fingerprint(), _fingerprint(self.dev))
        return {"settings": self.settings.to_json(), "data": list(digests)}

    def _resume(self, learner: Learner) -> Progress | None:
        """Bring the learner to where the folder's run stopped; None when there is none."""
        file = self.folder / CHECKPOINT_FILE
        if not file.exists():
            if (self.folder / MODEL_FILE).exists():
                raise UsageError(f"{self.folder} holds a finished model: choose another folder")
            self.folder.mkdir(parents=True, exist_ok=True)
            return None
        arrays, about = read_arrays(file, KIND)
        if not isinstance(about, dict) or not self._identity().items() <= about.items():
            raise UsageError(
                f"{self.folder} holds a training run with other settings or data: choose another "
                "folder, or call it again as it was called"
            )
        try:
            progress = Progress.of(about["progress"])
            if not progress.step:
                return None  # killed before anything was learned, perhaps before a model was there
            learner.restore(arrays)
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise refused(file, f"the state is damaged ({error})") from None
        return progress


@lru_cache(maxsize=1)
def _order(size: int, seed: int, epoch: int) -> Integers:
    """Return the order of the examples in an epoch."""
    return np.random.Generator(np.random.PCG64([seed, epoch])).permutation(size)


def _fingerprint(queries: Sequence[Query]) -> str:
    digest = blake2b(digest_size=16)
    for query in queries:
        digest.update(repr(query.messages + query.candidates).encode("utf-8", "backslashreplace"))
        digest.update(repr(sorted(query.correct)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


@contextmanager
def _reproducible(threads: int) -> Iterator[None]:
    """Compute with so many threads and in a fixed order, then as before."""
    import torch

    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
