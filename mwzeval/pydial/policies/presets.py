"""The policies by name with their hyperparameters, from the paper and from recent methods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mwzeval.errors import UsageError, unknown
from mwzeval.pydial.policies import a2c, dqn, enac, gp_sarsa, ppo
from mwzeval.pydial.policies.handcrafted import RandomPolicy
from mwzeval.pydial.policies.learner import Learner, View
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
    def view(self) -> View:
        """The name of the vector that the policy observes."""
        view: View = "neural" if self.kind is None else self.kind.view
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
