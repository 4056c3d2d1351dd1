"""Models as arrays: files of trained models, and the state of training.

A file is a safetensors file with a description; reading it runs no code. The state of training
consists of the weights, the moments of the optimizers and the random generator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import DependencyError, InputError, Problem, shorten
from mwzeval.files.reading import read_model
from mwzeval.files.writing import write_atomically
from mwzeval.libraries import required

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch.nn import Module
    from torch.optim import Optimizer


Arrays = dict[str, NDArray[Any]]
DESCRIPTION = "mwzeval"
"""The key of the file's metadata for the description, as JSON."""
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

    Raises `InputError` for all other files, including pickles, which can run code, and
    `DependencyError` without safetensors.
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

    `make` returns a model for a description and arrays; then the arrays are copied to its weights.
    Raises `InputError` for invalid files, and `DependencyError` without PyTorch.
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
    """Return a checksum of the representations of values, such as training examples."""
    digest = blake2b(digest_size=16)
    for item in items:
        digest.update(repr(item).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


WEIGHT, GENERATOR = "weight", "generator"
STEP = "step"
MOMENTS = ("exp_avg", "exp_avg_sq")
"""With the step, Adam's state for a weight; it is empty before the first gradient."""


def weights_of(weights: Mapping[str, Tensor]) -> Arrays:
    """Return the weights as arrays that share their memory."""
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def set_weights(weights: Mapping[str, Tensor], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Copy arrays to weights. Raises `ValueError` for other names, shapes or infinite values."""
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
    """Return all inputs of the next step, not copied: `weight:NAME`, `exp_avg:NAME` etc."""
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
    """Restore the result of `state_of`. Raises `ValueError` or `KeyError` for other arrays."""
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
