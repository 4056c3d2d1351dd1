"""Training of the SL policy, with a checkpoint after each epoch.

Source: Zhu et al., TACL 2020, section 4.3: two layers of 100, mean sigmoid cross-entropy, Adam.
A run that is called again goes on after its last epoch, and ends with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.systems.policy_vector import Vector, Vocabulary, multi_hot
from mwzeval.crosswoz.systems.sl_policy import MODEL_FILE, SlPolicy, all_turns, no_turns, shapes
from mwzeval.errors import UsageError
from mwzeval.files.tensor_files import Arrays, read_arrays, refused, write_arrays
from mwzeval.version import required

if TYPE_CHECKING:
    from torch import Tensor

CHECKPOINT_FILE = "checkpoint.safetensors"
KIND = "CrossWOZ policy in training"
WEIGHT, BEST = "weight:", "best:"


@dataclass(frozen=True, slots=True)
class Settings:
    """Choices of a training run, those of the paper by default. Raises `UsageError`."""

    hidden: int = 100
    """Width of the two hidden layers."""
    learning_rate: float = 0.001
    """Of Adam."""
    batch_size: int = 32
    """System turns of a step."""
    epochs: int = 20
    """Passes over the training dialogues; the one of the lowest validation loss is kept."""
    seed: int = 2019
    """Of the first weights and of the order of the turns."""
    threads: int = 1
    """CPU threads: another number may change the last bits of the result."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "learning_rate":
                fits = isinstance(value, float) and 0 < value < 1
            else:
                least = 0 if field.name == "seed" else 1
                fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
            if not fits:
                raise UsageError(f"{field.name} cannot be {value!r}")


@dataclass(frozen=True, slots=True)
class Epoch:
    """A point of the learning curve: mean cross-entropy per act, in nats."""

    epoch: int
    training_loss: float
    validation_loss: float


@dataclass(frozen=True, slots=True, eq=False)
class _Turns:
    """Situations and what is right in them, as zeros and ones."""

    situations: Vector
    actions: Vector

    @classmethod
    def of(
        cls, dialogues: Iterable[Dialogue], database: Database, vocabulary: Vocabulary, what: str
    ) -> _Turns:
        turns = all_turns(dialogues, database, vocabulary)
        if not turns:
            raise no_turns(what)
        return cls(
            vocabulary.vectors([turn.situation for turn in turns]),
            multi_hot(
                [vocabulary.actions(turn.gold_acts) for turn in turns], len(vocabulary.system)
            ),
        )

    def fingerprint(self) -> str:
        digest = blake2b(digest_size=16)
        for array in (self.situations, self.actions):
            digest.update(np.packbits(array > 0).tobytes())
        return digest.hexdigest()


def train_policy(
    training: Iterable[Dialogue],
    validation: Iterable[Dialogue],
    database: Database,
    vocabulary: Vocabulary,
    folder: str | Path,
    settings: Settings | None = None,
    watch: Callable[[Epoch], None] | None = None,
) -> tuple[SlPolicy, Sequence[Epoch]]:
    """Train a policy and return the best one and its learning curve.

    `folder` gets the policy (`policy.safetensors`) and a checkpoint, from which the same call goes
    on if it was interrupted. `watch` is called after each epoch.

    Raises `InputError` for dialogues without turns and for a damaged checkpoint, `UsageError` when
    the folder holds something else, `DependencyError` without PyTorch.
    """
    required("torch")
    chosen = settings or Settings()
    learns = _Turns.of(training, database, vocabulary, "training")
    checks = _Turns.of(validation, database, vocabulary, "validation")
    run = _Run(Path(folder), chosen, vocabulary, learns, checks)
    with _reproducible(chosen.threads):
        return run.train(watch)


class _Run:
    def __init__(
        self,
        folder: Path,
        settings: Settings,
        vocabulary: Vocabulary,
        learns: _Turns,
        checks: _Turns,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._vocabulary = vocabulary
        self._learns = learns
        self._checks = checks
        self._curve: list[Epoch] = []
        self._best: Arrays = {}
        self._learner = _Learner(_first_weights(vocabulary, settings), settings)

    def train(self, watch: Callable[[Epoch], None] | None) -> tuple[SlPolicy, Sequence[Epoch]]:
        self._resume()
        while len(self._curve) < self._settings.epochs:
            epoch = self._epoch(len(self._curve))
            self._curve.append(epoch)
            if epoch.validation_loss == min(point.validation_loss for point in self._curve):
                self._best = self._learner.weights()
            self._write()
            if watch is not None:
                watch(epoch)
        policy = SlPolicy(self._vocabulary, self._best)
        lowest = min(self._curve, key=lambda point: point.validation_loss)
        about = {"settings": asdict(self._settings), "best_epoch": lowest.epoch}
        policy.save(self._folder / MODEL_FILE, about)
        return policy, tuple(self._curve)

    def _epoch(self, number: int) -> Epoch:
        generator = np.random.Generator(np.random.PCG64([self._settings.seed, number]))
        order = generator.permutation(len(self._learns.situations))
        size = self._settings.batch_size
        total = 0.0
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            loss = self._learner.step(self._learns.situations[chosen], self._learns.actions[chosen])
            total += loss * len(chosen)
        validation = self._learner.loss(self._checks.situations, self._checks.actions)
        return Epoch(number, total / len(order), validation)

    def _identity(self) -> dict[str, Any]:
        words = blake2b(digest_size=16)
        for side in (self._vocabulary.user, self._vocabulary.system):
            words.update("\n".join([*side, ""]).encode())
        data = [self._learns.fingerprint(), self._checks.fingerprint(), words.hexdigest()]
        return {"settings": asdict(self._settings), "data": data}

    def _write(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        arrays = self._learner.state()
        arrays |= {f"{BEST}{name}": array for name, array in self._best.items()}
        about = {**self._identity(), "curve": [asdict(point) for point in self._curve]}
        write_arrays(self._folder / CHECKPOINT_FILE, KIND, arrays, about)

    def _resume(self) -> None:
        """Bring the learner to where the folder's run stopped, if there is one."""
        file = self._folder / CHECKPOINT_FILE
        if not file.exists():
            if (self._folder / MODEL_FILE).exists():
                raise UsageError(f"{self._folder} holds another policy: choose another folder")
            return
        arrays, about = read_arrays(file, KIND)
        if not isinstance(about, dict) or not self._identity().items() <= about.items():
            raise UsageError(
                f"{self._folder} holds a training run with other settings or data: choose another "
                "folder, or call it again as it was called"
            )
        try:
            curve = [Epoch(**point) for point in about["curve"]]
            best = {
                name.removeprefix(BEST): array
                for name, array in arrays.items()
                if name.startswith(BEST)
            }
            if {n: a.shape for n, a in best.items()} != self._learner.shapes():
                raise ValueError("the best weights are missing")
            self._learner.restore(arrays)
        except (ValueError, LookupError, TypeError) as error:
            raise refused(file, f"the state is damaged ({error})") from None
        self._curve, self._best = curve, best


class _Learner:
    """Weights and Adam's memory of them."""

    def __init__(self, weights: Arrays, settings: Settings) -> None:
        import torch

        self._parameters: dict[str, Tensor] = {
            name: torch.from_numpy(array.copy()).requires_grad_() for name, array in weights.items()
        }
        self._optimizer = torch.optim.Adam(
            list(self._parameters.values()), lr=settings.learning_rate, foreach=False, fused=False
        )

    def _cross_entropy(self, situations: Vector, actions: Vector) -> Tensor:
        import torch
        from torch.nn import functional

        of = self._parameters
        values = torch.from_numpy(situations)
        values = functional.relu(functional.linear(values, of["first.weight"], of["first.bias"]))
        values = functional.relu(functional.linear(values, of["second.weight"], of["second.bias"]))
        logits = functional.linear(values, of["output.weight"], of["output.bias"])
        return functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(actions))

    def step(self, situations: Vector, actions: Vector) -> float:
        loss = self._cross_entropy(situations, actions)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return float(loss.item())

    def loss(self, situations: Vector, actions: Vector) -> float:
        import torch

        with torch.no_grad():
            return float(self._cross_entropy(situations, actions).item())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(tensor.shape) for name, tensor in self._parameters.items()}

    def weights(self) -> Arrays:
        return {name: tensor.detach().numpy().copy() for name, tensor in self._parameters.items()}

    def state(self) -> Arrays:
        arrays: Arrays = {f"{WEIGHT}{name}": array for name, array in self.weights().items()}
        for name, parameter in self._parameters.items():
            for key, value in self._optimizer.state[parameter].items():
                arrays[f"{key}:{name}"] = np.asarray(value)
        return arrays

    def restore(self, arrays: Arrays) -> None:
        import torch

        for name, parameter in self._parameters.items():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(arrays[f"{WEIGHT}{name}"]))
            for key in ("step", "exp_avg", "exp_avg_sq"):
                value = torch.from_numpy(arrays[f"{key}:{name}"].copy())
                self._optimizer.state[parameter][key] = value


def _first_weights(vocabulary: Vocabulary, settings: Settings) -> Arrays:
    """Return the weights before training, as He et al. (2015) draw them for rectifiers; no biases.

    From PyTorch's own first weights, which the paper took, 450 dialogues teach about half a point
    of F1 less.
    """
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    weights: Arrays = {}
    for name, shape in shapes(vocabulary, settings.hidden).items():
        is_bias = len(shape) == 1
        drawn = np.zeros(shape) if is_bias else generator.standard_normal(shape)
        weights[name] = (drawn * (2 / shape[-1]) ** 0.5).astype(np.float32)
    return weights


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
