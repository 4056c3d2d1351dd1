"""PPO that remembers a dialogue: between belief and action stands a recurrent network.

Source: Schulman et al., "Proximal Policy Optimization Algorithms", 2017; Cho et al. (the gated
recurrent unit), EMNLP 2014. It learns from whole dialogues, through all of their exchanges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.actions import Mask
from mwzeval.pydial.policies.learner import State
from mwzeval.pydial.policies.neural import layers
from mwzeval.pydial.policies.ppo import PPO, PPOSettings

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class RecurrentPPOSettings(PPOSettings):
    """Hyperparameters."""

    hidden: tuple[int, ...] = (128,)
    """Sizes of the hidden layers before the recurrent one."""
    remembered: int = 64
    """Size of the recurrent layer, with which actor and critic see the last hidden one."""
    batch: int = 8
    """Dialogues in a batch."""


MODERN = RecurrentPPOSettings()


class RecurrentPPO(PPO):
    """The policy; what it remembers begins anew with each dialogue, that is with each `Rng`."""

    in_numpy: ClassVar[bool] = False
    settings: RecurrentPPOSettings

    def __init__(
        self, size: int, actions: int, *, settings: RecurrentPPOSettings = MODERN, seed: int = 0
    ) -> None:
        super().__init__(size, actions, settings=settings, seed=seed)
        self._hidden: WeakKeyDictionary[Rng, Tensor] = WeakKeyDictionary()

    def _new_network(self, generator: torch.Generator) -> nn.ModuleDict:
        sizes, remembered = (self.size, *self.settings.hidden), self.settings.remembered
        encoder = layers(sizes, generator, activation="Tanh", deviation=None, open_end=False)
        memory = self.torch.nn.GRU(sizes[-1], remembered, batch_first=True)
        init = self.torch.nn.init
        init.xavier_uniform_(memory.weight_ih_l0, generator=generator)
        init.orthogonal_(memory.weight_hh_l0, generator=generator)
        init.zeros_(memory.bias_ih_l0)
        init.zeros_(memory.bias_hh_l0)
        ends = {
            name: layers((sizes[-1] + remembered, end), generator)
            for name, end in (("policy", self.actions), ("value", 1))
        }
        modules = {"encoder": encoder, "memory": memory, **ends}
        network: nn.ModuleDict = self.torch.nn.ModuleDict(modules)
        return network

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return an allowed action, given this exchange and those before it with the same `rng`."""
        (action,) = self._acted(state[np.newaxis], mask[np.newaxis], [rng], training)
        return action

    def act_together(
        self,
        states: State,
        masks: NDArray[np.bool_],
        rngs: Sequence[Rng],
        ahead: Sequence[int] | None = None,
    ) -> list[int]:
        """Return what `act` does for each dialogue (see `BatchPolicy`), but for rounding."""
        return self._acted(states, masks, rngs, ahead is not None)

    def _acted(
        self, states: State, masks: NDArray[np.bool_], rngs: Sequence[Rng], training: bool
    ) -> list[int]:
        rows = zip(self._remembering(states, rngs), masks, rngs, strict=True)
        return [self._choice(scores, mask, rng, training) for scores, mask, rng in rows]

    def _remembering(self, states: State, rngs: Sequence[Rng]) -> NDArray[np.float32]:
        """Return logits in the next exchange of each dialogue, shape (dialogues, actions)."""
        torch, nothing = self.torch, self.torch.zeros(self.settings.remembered)
        with torch.inference_mode():
            before = torch.stack([self._hidden.get(rng, nothing) for rng in rngs])
            encoded = self.network["encoder"](torch.from_numpy(states))
            _, (after,) = self.network["memory"](encoded[:, None], before[None])
            self._hidden.update(zip(rngs, after, strict=True))
            scores: Any = self.network["policy"](torch.cat((encoded, after), 1))
        return np.asarray(scores.numpy())

    def _outputs(self, states: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        torch = self.torch
        encoded = self.network["encoder"](states)
        padded = torch.nn.utils.rnn.pad_sequence(encoded.split(lengths), batch_first=True)
        # What pads comes last, so that nothing which counts was computed from it.
        counts = torch.arange(padded.shape[1]) < torch.tensor(lengths)[:, None]
        after = self.network["memory"](padded)[0][counts]
        seen = torch.cat((encoded, after), 1)
        return self.network["policy"](seen), self.network["value"](seen)[:, 0]

    def _batches(self, lengths: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], list[int]]]:
        numbers = np.split(np.arange(sum(lengths)), np.cumsum(lengths)[:-1])
        order = self.generator.permutation(len(lengths)).tolist()
        for first in range(0, len(order), self.settings.batch):
            drawn = [numbers[at] for at in order[first : first + self.settings.batch]]
            yield np.concatenate(drawn), [len(each) for each in drawn]
