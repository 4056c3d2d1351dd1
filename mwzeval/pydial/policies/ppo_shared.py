"""PPO with networks that all slots share: one policy for domains with any slots.

Source: Wang et al., "Learning Domain-Independent Dialogue Policies via Ontology Parameterisation",
2015; Casanueva et al., "Feudal Reinforcement Learning for Dialogue Management in Large Domains",
2018; Chen et al., "Distributed Structured Actor-Critic Reinforcement Learning for Universal
Dialogue Management", 2020.

One network encodes a slot together with what is known of the dialogue. Another encodes the dialogue
with the mean and the largest of what the slots' network gave, which is all that slots know of each
other. From both encodings a third scores the three actions about a slot, and a fourth scores the
general actions from that of the dialogue. The parameters are the same whatever the number of slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mwzeval.pydial.environments.actions import ABOUT_SLOTS, GENERAL, Mask
from mwzeval.pydial.environments.slot_features import OF_DIALOGUE, OF_SLOT, slots_in
from mwzeval.pydial.policies.learner import State, View
from mwzeval.pydial.policies.neural import layers
from mwzeval.pydial.policies.ppo import PPO, PPOSettings

if TYPE_CHECKING:
    import torch
    from torch import nn


MODERN = PPOSettings(hidden=(64, 64))
"""`hidden`: sizes of the encodings of a slot and of the dialogue."""
THERE = OF_SLOT.index("is_there")
LEAST = -1.0
"""What encodings are never below, since tanh is not."""


class SharedPPO(PPO):
    """The policy, which acts in any domain: states and masks are of that, see `SlotVector`.

    It learns from domains with up to as many slots as `size` has room for. Raises `ValueError`
    where `size` is not that of a vector of slots, or `actions` are not theirs.
    """

    view: ClassVar[View] = "slots"
    in_numpy: ClassVar[bool] = False

    def __init__(
        self, size: int, actions: int, *, settings: PPOSettings = MODERN, seed: int = 0
    ) -> None:
        if actions != len(ABOUT_SLOTS) * slots_in(size) + len(GENERAL):
            raise ValueError(f"{actions} actions are not those of {slots_in(size)} slots")
        super().__init__(size, actions, settings=settings, seed=seed)

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Keep an exchange, with as many slots as there is room for: those behind are not there."""
        lacking = self.actions - len(mask)
        if lacking:
            about = len(mask) - len(GENERAL)
            state = np.pad(state, (0, self.size - len(state)))
            mask = np.insert(mask, [about] * lacking, False)
            action += lacking * (action >= about)
        super().record(state, mask, action, reward)

    def _new_network(self, generator: torch.Generator) -> nn.ModuleDict:
        def new(*sizes: int, open_end: bool = True) -> nn.Sequential:
            return layers(sizes, generator, activation="Tanh", deviation=None, open_end=open_end)

        def encoders() -> dict[str, nn.Sequential]:
            return {
                "slot": new(len(OF_SLOT) + len(OF_DIALOGUE), slot, open_end=False),
                "dialogue": new(len(OF_DIALOGUE) + 2 * slot, dialogue, open_end=False),
            }

        slot, dialogue = self.settings.hidden
        modules = self.torch.nn.ModuleDict
        policy = {
            **encoders(),
            "about": new(slot + dialogue, dialogue, len(ABOUT_SLOTS)),
            "general": new(dialogue, len(GENERAL)),
        }
        value = {**encoders(), "general": new(dialogue, 1)}
        network: nn.ModuleDict = modules({"policy": modules(policy), "value": modules(value)})
        return network

    def _scores(self, state: Any) -> Any:
        if state.ndim == 1:
            return self._scores(state[None])[0]
        network: Any = self.network["policy"]
        slots, dialogue = self._encoded(network, state)
        beside = dialogue[:, None].expand(-1, slots.shape[1], -1)
        about = network["about"](self.torch.cat([slots, beside], 2))
        return self.torch.cat([about.flatten(1), network["general"](dialogue)], 1)

    def _values(self, states: Any) -> Any:
        network: Any = self.network["value"]
        return network["general"](self._encoded(network, states)[1])[:, 0]

    def _encoded(self, network: Any, states: Any) -> tuple[Any, Any]:
        """Return the encodings of slots and dialogue, shapes (n, slots, size) and (n, size)."""
        torch = self.torch
        dialogue = states[:, : len(OF_DIALOGUE)]
        slots = states[:, len(OF_DIALOGUE) :].unflatten(1, (-1, len(OF_SLOT)))
        there = slots[:, :, THERE, None] > 0
        beside = dialogue[:, None].expand(-1, slots.shape[1], -1)
        encoded = network["slot"](torch.cat([slots, beside], 2))
        mean = (encoded * there).sum(1) / there.sum(1).clamp(min=1)
        most = encoded.masked_fill(~there, LEAST).amax(1)
        return encoded, network["dialogue"](torch.cat([dialogue, mean, most], 1))
