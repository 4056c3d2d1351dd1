"""The policies by name with their hyperparameters, and trained policies as files.

The hyperparameters come from the paper and from recent methods. A file is in the format of
safetensors; it has the weights (or training samples) and the policy's name, task and
hyperparameters, so that files cannot be confused. Reading a file does not execute code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, shorten, unknown
from mwzeval.neural import model_content, read_arrays, refused
from mwzeval.pydial.policies import Arrays, Learner, VectorView, a2c, dqn, enac, gp_sarsa, ppo
from mwzeval.pydial.policies.handcrafted import RandomPolicy
from mwzeval.pydial.policies.neural import DivergedError
from mwzeval.pydial.tasks import Goodbye

HANDCRAFTED, RANDOM = "handcrafted", RandomPolicy.name


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of policy and its hyperparameters.

    `published` is the name of the policy in the paper's tables, or None if the policy is not in the
    paper. In legacy environments, `legacy` replaces `settings` unless it is None.
    """

    name: str
    label: str
    published: str | None
    kind: type[Any] | None
    settings: Any = None
    legacy: Any = None

    @property
    def learns(self) -> bool:
        """Whether the policy is trained by dialogues."""
        return self.kind is not None

    @property
    def view(self) -> VectorView:
        """The name of the vector that the policy observes."""
        view: VectorView = "neural" if self.kind is None else self.kind.view
        return view

    def chosen(self, legacy: bool) -> Any:
        """Return the hyperparameters for legacy or for corrected environments."""
        return self.legacy if legacy and self.legacy is not None else self.settings

    def described(self, legacy: bool, goodbye: Goodbye) -> dict[str, Any]:
        """Return the hyperparameters as plain values that survive a JSON round trip.

        The result includes `goodbye`, which selects who ends dialogues in environments without
        masks.
        """
        settings = self.chosen(legacy)
        plain: dict[str, Any] = json.loads(json.dumps({} if settings is None else asdict(settings)))
        return {**plain, "goodbye": goodbye}

    def learner(self, size: int, actions: int, *, seed: int, legacy: bool = False) -> Learner:
        """Return a new, untrained policy.

        `size` is the length of a state vector, and `actions` is the number of actions. Raises
        `DependencyError` without PyTorch, and `UsageError` if the policy does not learn.

        In `legacy`, the initial weights are the same for all seeds, as in the published program.
        """
        if self.kind is None:
            raise UsageError(f"the policy {self.name} does not learn")
        if legacy and self.kind.view != "kernel":
            seed = PUBLISHED_SEED
        learner: Learner = self.kind(size, actions, settings=self.chosen(legacy), seed=seed)
        return learner


PUBLISHED_SEED = 7051991


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(HANDCRAFTED, "Handcrafted", "Handcrafted", None),
        Preset(RANDOM, "Random", None, None),
        Preset("gp-sarsa", "GP-SARSA", "GP-SARSA", gp_sarsa.GPSarsa, gp_sarsa.PAPER),
        Preset("dqn", "DQN", "DQN", dqn.DQN, dqn.PAPER, dqn.LEGACY),
        Preset("a2c", "A2C", "A2C", a2c.A2C, a2c.PAPER),
        Preset("enac", "eNAC", "eNAC", enac.ENAC, enac.PAPER),
        Preset("dqn-modern", "DQN+", None, dqn.DQN, dqn.MODERN),
        Preset("a2c-modern", "A2C+", None, a2c.A2C, a2c.MODERN),
        Preset("ppo", "PPO", None, ppo.PPO, ppo.MODERN),
    )
}
"""All policies of the benchmark by name, in the order of the tables."""


FORMER = {
    "acer": "ppo",
    "ppo-recurrent": "ppo",
    "ppo-shared": "ppo, trained in each task",
    "bc": "examples/pydial_offline.py",
    "cql": "examples/pydial_offline.py",
}
"""Former policies and their replacements."""


def preset_named(name: str) -> Preset:
    """Return a policy by its name. Raises `UsageError` for an unknown or former name."""
    if name in FORMER:
        raise UsageError(f'the policy "{name}" was removed: use {FORMER[name]}')
    if name not in PRESETS:
        raise UsageError(unknown("policy", name, PRESETS))
    return PRESETS[name]


KIND = "pydial-policy"
ADVICE = ". Use another file, or train the policy again (`mwzeval pydial run`)"


FORMER_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "enac": {"discount": 0.99, "credit": "last"},
    "ppo": {"greedy": False},
}
"""Settings in older checkpoints that now always have these values, by policy."""


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
    former = FORMER_SETTINGS.get(policy, {}).items()
    settings = {key: value for key, value in settings.items() if (key, value) not in former}
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
