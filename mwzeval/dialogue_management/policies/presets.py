"""The policies by name, with their hyperparameters: the paper's, and better ones of today."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mwzeval.dialogue_management.domain import Domain
from mwzeval.dialogue_management.episodes import ActPolicy
from mwzeval.dialogue_management.policies import a2c, dqn, enac, gp_sarsa, ppo
from mwzeval.dialogue_management.policies.handcrafted import HandcraftedPolicy
from mwzeval.dialogue_management.policies.learner import Learner, View
from mwzeval.dialogue_management.tasks import Task
from mwzeval.errors import UsageError, did_you_mean, shorten

HANDCRAFTED = "handcrafted"


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of policy and its hyperparameters.

    Without `goodbye` it leaves it to the user to end dialogues (see `training.Stage`), which only
    differs in environments 2 and 4, and not in legacy ones. With it GP-SARSA and eNAC learn there
    to end dialogues at once, and are far from the published figures.
    `published` is what the paper's tables call it, None for what they do not have. In legacy
    environments `legacy` takes the place of `settings`, where it is given.
    """

    name: str
    label: str
    published: str | None
    kind: type[Any] | None
    settings: Any = None
    legacy: Any = None
    goodbye: bool = True

    @property
    def learns(self) -> bool:
        """Whether it is trained."""
        return self.kind is not None

    @property
    def view(self) -> View:
        """Which vector it looks at."""
        view: View = "neural" if self.kind is None else self.kind.view
        return view

    def chosen(self, legacy: bool) -> Any:
        """Return the hyperparameters in an environment."""
        return self.legacy if legacy and self.legacy is not None else self.settings

    def says_goodbye(self, legacy: bool) -> bool:
        """Return whether it may end dialogues in an environment."""
        return self.goodbye or legacy

    def described(self, legacy: bool) -> dict[str, Any]:
        """Return the hyperparameters as plain values, such as JSON gives back."""
        settings = self.chosen(legacy)
        plain: dict[str, Any] = json.loads(json.dumps({} if settings is None else asdict(settings)))
        return {**plain, "goodbye": self.says_goodbye(legacy)}

    def learner(self, size: int, actions: int, *, seed: int, legacy: bool = False) -> Learner:
        """Return a new policy that has learned nothing. Raises `DependencyError` without PyTorch.

        In `legacy` the initial weights are the same for all seeds, as in the published program.
        """
        if self.kind is None:
            raise UsageError(f"the policy {self.name} does not learn")
        if legacy and self.kind.view == "neural":
            seed = PUBLISHED_SEED
        learner: Learner = self.kind(size, actions, settings=self.chosen(legacy), seed=seed)
        return learner

    def speaker(self, domain: Domain, task: Task, *, legacy: bool = False) -> ActPolicy:
        """Return the policy that says acts of its own, where it is no learner."""
        if self.learns:
            raise UsageError(f"the policy {self.name} has to learn first")
        return HandcraftedPolicy(domain, legacy=legacy, most_informed=task.max_informed_slots)


PUBLISHED_SEED = 7051991
Group = Literal["all", "published", "modern"]
PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(HANDCRAFTED, "Handcrafted", "Handcrafted", None),
        Preset("gp-sarsa", "GP-SARSA", "GP-SARSA", gp_sarsa.GPSarsa, gp_sarsa.PAPER, goodbye=False),
        Preset("dqn", "DQN", "DQN", dqn.DQN, dqn.PAPER, dqn.LEGACY),
        Preset("a2c", "A2C", "A2C", a2c.A2C, a2c.PAPER),
        Preset("enac", "eNAC", "eNAC", enac.ENAC, enac.PAPER, goodbye=False),
        Preset("dqn-modern", "DQN+", None, dqn.DQN, dqn.MODERN, goodbye=False),
        Preset("ppo", "PPO", None, ppo.PPO, ppo.MODERN, goodbye=False),
    )
}
"""All policies of the benchmark by name, in the order of the tables."""


def preset_named(name: str) -> Preset:
    """Return a policy by its name. Raises `UsageError` for an unknown one."""
    if name not in PRESETS:
        raise UsageError(
            f'unknown policy "{shorten(name)}"{did_you_mean(name, PRESETS)} ({", ".join(PRESETS)})'
        )
    return PRESETS[name]
