"""Trained policies as safetensors files, with weights and training samples.

A file also contains the policy's name, task and hyperparameters, so that files cannot be confused.
Reading a file does not execute code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.neural import model_content, read_arrays, refused
from mwzeval.pydial.policies.learner import Arrays, DivergedError, Learner

KIND = "pydial-policy"
ADVICE = ". Use another file, or train the policy again (`mwzeval pydial run`)"


@dataclass(frozen=True, slots=True)
class Origin:
    """The training settings of a policy; `settings` are the hyperparameters as plain values."""

    policy: str
    task: str
    seed: int
    legacy: bool
    settings: Mapping[str, Any]


def checkpoint_content(origin: Origin, dialogues: int, weights: Arrays) -> bytes:
    """Return the content of a checkpoint file for a policy after a number of training dialogues.

    Raises `DependencyError` without safetensors.
    """
    return model_content(KIND, weights, {**asdict(origin), "dialogues": dialogues})


def read_checkpoint(path: str | Path, expected: Origin | None = None) -> tuple[Origin, Arrays]:
    """Return the training settings and the weights of a policy.

    Raises `InputError` if the file is invalid, or if its training settings differ from `expected`;
    the error lists all differences. Raises `DependencyError` without safetensors.
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
                f"the policy has {key} {theirs[key]}, but expected {ours[key]}{ADVICE}",
                file=str(path),
            )
            for key in ours
            if theirs[key] != ours[key]
        )
    return found, weights


def load_weights(path: str | Path, policy: Learner, weights: Arrays) -> None:
    """Load the weights of a file into a policy. Raises `InputError` if the weights do not fit."""
    try:
        policy.load(weights)
    except (LookupError, TypeError, ValueError) as error:
        raise _refused(path, f"the weights do not fit: {error}") from None


@contextmanager
def diverging(path: str | Path) -> Iterator[None]:
    """Raise `InputError` if the weights of a file come from a policy that has diverged."""
    try:
        yield
    except DivergedError as error:
        raise InputError([Problem("diverged", f"{error}{ADVICE}", file=str(path))]) from None


def _refused(path: str | Path, reason: str) -> InputError:
    return refused(path, f"{shorten(reason, 200)}{ADVICE}")
