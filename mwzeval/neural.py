"""PyTorch models of any benchmark: files of trained models, and training in a folder.

A model is a safetensors file with a description; reading the file runs no code. Interrupted
training resumes with identical results, because each point of the learning curve is written with
the state of training: the weights, the moments of the optimizers and the random generator.

A learner has weights, the loss of a batch and, if there are validation data, validation scores.
This module has the common parts: settings, the order of the examples, optimizer steps, the learning
curve, early stopping, and checkpoints.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import DependencyError, InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.files.reading import read_model
from mwzeval.files.writing import write_atomically
from mwzeval.libraries import required

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

Arrays = dict[str, NDArray[Any]]
DESCRIPTION = "mwzeval"
"""The key of the JSON description in the metadata of a file."""
FORMAT = 1


def write_arrays(path: str | Path, kind: str, arrays: Mapping[str, Any], about: Any) -> None:
    """Write arrays and their description (plain values), completely or not at all.

    The same arrays give the same bytes. Raises `DependencyError` without safetensors, and
    `MwzevalError` if the path cannot be written.
    """
    write_atomically(path, model_content(kind, arrays, about))


def model_content(kind: str, arrays: Mapping[str, Any], about: Any) -> bytes:
    """Return the bytes that `write_arrays` writes. Raises `DependencyError` without safetensors."""
    description = json.dumps(
        {"format": FORMAT, "kind": kind, "about": about}, sort_keys=True, ensure_ascii=False
    )
    ordered = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    content: bytes = required("safetensors.numpy").save(
        ordered, metadata={DESCRIPTION: description}
    )
    return content


def read_arrays(path: str | Path, kind: str) -> tuple[Arrays, Any]:
    """Return the arrays of a file and their description.

    Raises `InputError` if the file is not a safetensors file of the given `kind`. Pickles are not
    accepted, because loading a pickle can run code. Raises `DependencyError` without safetensors.
    """
    safetensors = required("safetensors")
    raw = read_model(path)
    try:
        arrays: Arrays = required("safetensors.numpy").load(raw)
        end_of_header = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:end_of_header])
        description = json.loads(header["__metadata__"][DESCRIPTION])
        # mwzeval writes no lone surrogates to files, and a model must not output them.
        json.dumps(description, ensure_ascii=False).encode()
        found = description["format"], description["kind"]
        about = description["about"]
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = shorten(f"{type(error).__name__}: {error}", 300)
        raise refused(
            path,
            f"not a safetensors file written by mwzeval's training ({why}). Pickles and PyTorch "
            "archives, which can run code, are not opened. If training wrote this file, it is "
            "damaged: delete its folder and train again",
        ) from None
    if found != (FORMAT, kind) or found[0] is True:
        raise refused(path, f"expected a {kind} of format {FORMAT}, found {found[1]} {found[0]}")
    return arrays, about


def refused(path: str | Path, reason: str) -> InputError:
    """Return the error for a model file that cannot be loaded."""
    return InputError([Problem("bad-model", reason, file=str(path))])


class HasNetwork(Protocol):
    """A model with a PyTorch module."""

    @property
    def network(self) -> Module:
        """The module."""


Model = TypeVar("Model", bound=HasNetwork)


def load_model(
    path: str | Path, name: str, kind: str, make: Callable[[Any, Arrays], Model]
) -> Model:
    """Return the model of a file, or of the file `name` in a folder that training wrote.

    `make` creates a model from a description and arrays; afterwards, the arrays are copied to the
    weights of the model. Raises `InputError` if a file is invalid, and `DependencyError` if PyTorch
    is not installed.
    """
    required("torch")
    file = Path(path, name) if Path(path).is_dir() else Path(path)
    arrays, about = read_arrays(file, kind)
    try:
        model = make(about, arrays)
        set_weights(model.network.state_dict(), arrays)
    except DependencyError:
        raise
    except Exception as error:  # a damaged description may cause any error
        raise refused(file, f"the model is damaged ({shorten(str(error), 300)})") from None
    return model


def fingerprint(items: Iterable[object]) -> str:
    """Return a checksum of the text representations of values, such as training examples."""
    digest = blake2b(digest_size=16)
    for item in items:
        digest.update(repr(item).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


WEIGHT, GENERATOR = "weight", "generator"
STEP = "step"
MOMENTS = ("exp_avg", "exp_avg_sq")
"""The keys of Adam's state for a weight, in addition to the step; the state is empty before the
first gradient."""


def weights_of(weights: Mapping[str, Tensor]) -> Arrays:
    """Return the weights as arrays that share memory with the weights."""
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def set_weights(weights: Mapping[str, Tensor], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Copy arrays to weights.

    Raises `ValueError` if names, shapes or values of the arrays do not fit the weights.
    """
    import torch

    expected = {name: tuple(weight.shape) for name, weight in weights.items()}
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise ValueError("weights are missing, unknown or have a different shape")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("weights that are not finite")
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(torch.from_numpy(arrays[name].copy()))


def trained_by(optimizer: Optimizer) -> Iterator[Tensor]:
    """Yield the weights that an optimizer changes."""
    return (weight for group in optimizer.param_groups for weight in group["params"])


def state_of(
    weights: Mapping[str, Tensor], optimizers: Sequence[Optimizer], generator: Generator
) -> Arrays:
    """Return all arrays that the next step needs, uncopied: `weight:NAME`, `exp_avg:NAME` etc."""
    arrays: Arrays = {GENERATOR: generator.get_state().numpy()}
    for name, weight in weights.items():
        arrays[f"{WEIGHT}:{name}"] = weight.detach().numpy()
        for optimizer in optimizers:
            for key, value in optimizer.state.get(weight, {}).items():
                arrays[f"{key}:{name}"] = np.asarray(value)
    return arrays


def restore(
    weights: Mapping[str, Tensor],
    optimizers: Sequence[Optimizer],
    generator: Generator,
    arrays: Arrays,
) -> None:
    """Restore the result of `state_of`. Raises `ValueError` or `KeyError` if arrays do not fit."""
    import torch

    set_weights(weights, {name: arrays[f"{WEIGHT}:{name}"] for name in weights})
    names = {id(weight): name for name, weight in weights.items()}
    for optimizer in optimizers:
        for weight in trained_by(optimizer):
            name = names[id(weight)]
            if f"{STEP}:{name}" not in arrays:
                continue
            state, step = optimizer.state[weight], arrays[f"{STEP}:{name}"]
            # SparseAdam stores its step as an int, Adam as a tensor.
            state[STEP] = int(step) if step.dtype == np.int64 else torch.from_numpy(step.copy())
            for key in MOMENTS:
                state[key] = weight.detach().new_tensor(arrays[f"{key}:{name}"])
                if state[key].shape != weight.shape:
                    raise ValueError(f'{key} of "{name}" has a different shape')
    generator.set_state(torch.from_numpy(arrays[GENERATOR].copy()))


CHECKPOINT_FILE = "checkpoint.safetensors"
KIND = "training state"
MOST = {"seed": 2**63 - 1, "threads": 1024}
"""The maximum values of settings that PyTorch and the operating system accept."""
SHARES = ("dropout", "varied")
"""The settings that may be 0, unlike other numbers."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of any training run. Raises `UsageError` for invalid values."""

    learning_rate: float = 0.001
    """The learning rate of Adam."""
    batch_size: int = 32
    """The number of examples per step."""
    epochs: int = 20
    """The maximum number of passes over the training examples."""
    seed: int = 0
    """The seed of the initial weights, the order of the examples, and dropout."""
    threads: int = 1
    """The number of CPU threads; it may change the last bits of the result."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            name, value = setting.name, getattr(self, setting.name)
            if setting.type == "bool":
                fits = isinstance(value, bool)
            elif setting.type == "float":
                fits = type(value) in (int, float) and (
                    0 < value < 1 or (name in SHARES and not value)
                )
            else:
                least = 0 if name == "seed" else 1
                fits = type(value) is int and least <= value <= MOST.get(name, value)
            if not fits:
                raise UsageError(f"{name} cannot be {value!r}")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the learning curve."""

    step: int
    epoch: int
    """The number of complete passes over the training examples."""
    examples: int
    """The number of training examples so far; an example counts once in each pass."""
    loss: float | None
    """The mean loss since the previous point; None before the first step."""
    scores: Mapping[str, float] = field(default_factory=dict)
    quality: float | None = None
    """The value that selects the best point (the highest); None without validation data."""


Watch = Callable[[Point], None]


class Learner(ABC):
    """A model in training: its weights, its loss and its validation."""

    model_file: str
    settings: TrainingSettings
    examples: int
    """The number of training examples."""
    data: Sequence[str]
    """The checksums of all data that are used in training."""
    weights: Mapping[str, Tensor]
    optimizers: Sequence[Optimizer]
    """The optimizers (Adam or SparseAdam), each of which changes some of the weights."""
    generator: Generator | None = None
    """The random generator for dropout; None means PyTorch's own generator, which is seeded again
    for each epoch."""

    lengths: NDArray[np.int64] | None = None
    """The lengths of the training examples; batches have examples of similar length to reduce
    padding."""
    complete_batches = False
    """Whether to skip the last examples of an epoch if they do not fill a batch."""
    longest_gradient: float | None = None
    """A gradient with a larger norm (2-norm over all weights) is scaled to this norm."""
    evaluate_first = False
    """Whether the curve begins with the untrained model."""
    evaluate_every: int | None = None
    """The number of steps between two points of the curve; None: one point per epoch."""
    patience: int | None = None
    """Training stops after this number of points without improvement; None means no such limit."""

    def __init__(
        self, module: Module, settings: TrainingSettings, examples: int, data: Sequence[str]
    ) -> None:
        """Train a module with Adam; the other parameters are the attributes of the same names."""
        from torch.optim import Adam

        self.settings, self.examples, self.data = settings, examples, data
        self.weights = module.state_dict(keep_vars=True)
        rate = settings.learning_rate
        self.optimizers = (Adam(module.parameters(), lr=rate, foreach=False, fused=False),)

    @abstractmethod
    def loss(self, chosen: NDArray[np.int64]) -> Tensor:
        """Return the mean loss (a scalar) of the training examples with the given indices."""

    @abstractmethod
    def save(self, folder: Path, point: Point) -> None:
        """Write the current model: the best or, without validation data, the last model."""

    def evaluate(self) -> tuple[Mapping[str, float], float | None]:
        """Return scores on the validation data, and the quality of the model: higher is better."""
        return {}, None


def train(learner: Learner, folder: Path, watch: Watch | None = None) -> Sequence[Point]:
    """Train in a folder until the end, save the model there, and return the learning curve.

    The complete state of training is written with each point of the learning curve. A call with the
    same learner resumes an interrupted training, with results that are identical to the last bit.
    Finally, the learner has the weights of the last training step.

    Raises `UsageError` if the folder has other content or cannot be created, and `InputError` if
    the state is damaged. Raises `DependencyError` without safetensors, and `MwzevalError` if the
    folder cannot be written or a loss is not a number.
    """
    with reproducible(learner.settings):
        run = _Run(learner, folder)
        run.resume()
        run.finish(watch)
    return tuple(run.curve)


class _Run:
    def __init__(self, learner: Learner, folder: Path) -> None:
        import torch

        self.curve: list[Point] = []
        self._learner = learner
        self._folder = folder
        self._file = folder / CHECKPOINT_FILE
        self._identity = {"settings": asdict(learner.settings), "data": list(learner.data)}
        self._generator = learner.generator or torch.default_generator
        size, batch_size = learner.examples, learner.settings.batch_size
        steps = size // batch_size if learner.complete_batches else -(-size // batch_size)
        self._steps_an_epoch = max(1, steps)
        self._last_step = self._steps_an_epoch * learner.settings.epochs
        self._order = np.empty(0, dtype=np.int64)

    def finish(self, watch: Watch | None) -> None:
        """Continue training from the last point of the learning curve until the end."""
        if not self.curve and self._learner.evaluate_first:
            self._evaluate(Point(0, 0, 0, None), watch)
        every = self._learner.evaluate_every or self._steps_an_epoch
        step, examples = (self.curve[-1].step, self.curve[-1].examples) if self.curve else (0, 0)
        since, total = examples, 0.0
        while not self._is_finished():
            chosen = self._batch(step)
            total += self._step(chosen) * len(chosen)
            step += 1
            examples += len(chosen)
            if step % every == 0 or step == self._last_step:
                epoch = step // self._steps_an_epoch
                self._evaluate(Point(step, epoch, examples, total / (examples - since)), watch)
                since, total = examples, 0.0

    def _batch(self, step: int) -> NDArray[np.int64]:
        """Return the examples of a step: a slice of an order given by seed and epoch."""
        import torch

        settings = self._learner.settings
        epoch, place = divmod(step, self._steps_an_epoch)
        seed = [settings.seed, epoch]
        if not place and self._learner.generator is None:
            torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        if not place or not len(self._order):
            generator = np.random.Generator(np.random.PCG64(seed))
            order = generator.permutation(self._learner.examples)
            if self._learner.lengths is not None:
                order = by_length(order, self._learner.lengths, settings.batch_size, generator)
            self._order = order
        return self._order[place * settings.batch_size : (place + 1) * settings.batch_size]

    def _step(self, chosen: NDArray[np.int64]) -> float:
        import torch

        learner = self._learner
        loss = learner.loss(chosen)
        if not math.isfinite(value := float(loss.item())):
            raise MwzevalError(
                f"the loss of a batch is {value}, so training stopped: try a lower learning "
                "rate, and check the initial weights"
            )
        for optimizer in learner.optimizers:
            optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if learner.longest_gradient is not None:
            weights = [weight for adam in learner.optimizers for weight in trained_by(adam)]
            torch.nn.utils.clip_grad_norm_(weights, learner.longest_gradient)
        for optimizer in learner.optimizers:
            optimizer.step()
        return value

    def _evaluate(self, point: Point, watch: Watch | None) -> None:
        """Add a point to the curve; write the model if it is the best or last, then the state."""
        scores, quality = self._learner.evaluate()
        point = Point(point.step, point.epoch, point.examples, point.loss, scores, quality)
        self.curve.append(point)
        is_best = quality is not None and self._points_since_best() == 0
        if is_best or (quality is None and self._is_finished()):
            self._learner.save(self._folder, point)
        self._write()
        if watch is not None:
            watch(point)

    def _points_since_best(self) -> int:
        """Return the number of points after the best point, which is the first of equal points."""
        qualities = [point.quality for point in self.curve]
        comparable = [-np.inf if q is None or np.isnan(q) else q for q in qualities]
        return len(comparable) - 1 - int(np.argmax(comparable))

    def _is_finished(self) -> bool:
        if not self.curve:
            return False
        patience = self._learner.patience
        is_stale = patience is not None and self._points_since_best() >= patience
        return is_stale or self.curve[-1].step >= self._last_step

    def _write(self) -> None:
        learner = self._learner
        arrays = state_of(learner.weights, learner.optimizers, self._generator)
        about = {**self._identity, "curve": [asdict(point) for point in self.curve]}
        write_arrays(self._file, KIND, arrays, about)

    def resume(self) -> None:
        """Restore the learner from a run in the folder, or begin a new run there."""
        file, folder = self._file, self._folder
        model = folder / self._learner.model_file
        if not file.exists():
            if model.exists():
                raise UsageError(f"{folder} contains a finished model: choose another folder")
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"cannot create {folder}: {error.strerror}") from None
            self._write()  # marks the folder before it contains a model
            return
        arrays, about = read_arrays(file, KIND)
        if not isinstance(about, dict) or not self._identity.items() <= about.items():
            raise UsageError(
                f"{folder} contains a training run with other settings or data: choose another "
                "folder, or use the settings and data of that run"
            )
        try:
            self.curve = [Point(**point) for point in about["curve"]]
            has_model = any(p.quality is not None for p in self.curve) or self._is_finished()
            restore(self._learner.weights, self._learner.optimizers, self._generator, arrays)
        except (ValueError, LookupError, TypeError, RuntimeError) as error:
            raise refused(file, f"the saved state of training is damaged ({error})") from None
        if has_model and not model.exists():
            raise UsageError(
                f"{folder} contains a training run whose {model.name} is missing: choose another "
                "folder"
            )


POOL = 20
"""Examples are sorted by length within groups of this number of batches; otherwise, the order is
random."""


def by_length(
    order: NDArray[np.int64],
    lengths: NDArray[np.int64],
    batch_size: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return an order of examples in which the examples of a batch have similar lengths."""
    whole = len(order) - len(order) % batch_size
    if not whole:
        return order
    pools = np.split(order[:whole], range(POOL * batch_size, whole, POOL * batch_size))
    pooled = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    batches = np.concatenate(pooled).reshape(-1, batch_size)
    return np.concatenate([generator.permutation(batches).ravel(), order[whole:]])


@contextmanager
def reproducible(settings: TrainingSettings) -> Iterator[None]:
    """Use the threads and seed of the settings, and deterministic algorithms, in a `with` block.

    As in NumPy, a lack of memory raises `MemoryError`.
    """
    import torch

    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(settings.threads)
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(settings.seed)
        try:
            yield
        except RuntimeError as error:
            if "DefaultCPUAllocator" in str(error):  # out of memory
                raise MemoryError from None
            raise
        finally:
            torch.set_num_threads(before[0])
            torch.use_deterministic_algorithms(before[1])
