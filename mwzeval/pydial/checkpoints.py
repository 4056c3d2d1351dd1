"""Learned policies as safetensors files: weights, and what the policy learned from.

A file names its policy, task and hyperparameters, so that none is taken for another. Reading it
runs no code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.neural.state import model_content, read_arrays, refused
from mwzeval.pydial.policies.learner import Arrays, DivergedError, Learner

KIND = "pydial-policy"
ADVICE = "Use another file, or train the policy again (`mwzeval pydial run`)"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a policy was trained with; `settings` are the hyperparameters as plain values."""

    policy: str
    task: str
    seed: int
    legacy: bool
    settings: Mapping[str, Any]


def checkpoint_content(origin: Origin, dialogues: int, weights: Arrays) -> bytes:
    """Return the content of the file of a policy after `dialogues` of training.

    Raises `DependencyError` without safetensors.
    """
    return model_content(KIND, weights, {**asdict(origin), "dialogues": dialogues})


def read_checkpoint(path: str | Path, expected: Origin | None = None) -> tuple[Origin, Arrays]:
    """Return what a policy was trained with, and its weights.

    Raises `InputError` for another file, and with every difference to an `expected` origin;
    `DependencyError` without safetensors.
    """
    weights, about = read_arrays(path, KIND)
    try:
        policy, task, settings = about["policy"], about["task"], about["settings"]
        seed, legacy, dialogues = about["seed"], about["legacy"], about["dialogues"]
        kinds = (str, str, int, bool, dict, int)
        values = policy, task, seed, legacy, settings, dialogues
        if tuple(map(type, values)) != kinds or min(seed, dialogues) < 0:
            raise TypeError("values of other types")
    except (LookupError, TypeError) as error:
        raise _refused(path, f"no description of a policy: {error}") from None
    found = Origin(policy, task, seed, legacy, settings)
    if expected is not None and found != expected:
        ours, theirs = asdict(expected), asdict(found)
        raise InputError(
            Problem(
                "other-checkpoint",
                f"a policy with {key} {theirs[key]}, expected {ours[key]}. {ADVICE}",
                file=str(path),
            )
            for key in ours
            if theirs[key] != ours[key]
        )
    return found, weights


def load_weights(path: str | Path, policy: Learner, weights: Arrays) -> None:
    """Load the weights of a file into a policy. Raises `InputError` if they do not fit."""
    try:
        policy.load(weights)
    except (LookupError, TypeError, ValueError) as error:
        raise _refused(path, f"the weights do not fit: {error}") from None


@contextmanager
def diverging(path: str | Path) -> Iterator[None]:
    """Raise `InputError` if the weights of a file turn out to be those of a diverged policy."""
    try:
        yield
    except DivergedError as error:
        raise InputError([Problem("diverged", f"{error}. {ADVICE}", file=str(path))]) from None


def _refused(path: str | Path, reason: str) -> InputError:
    return refused(path, f"{shorten(reason, 200)}. {ADVICE}")
