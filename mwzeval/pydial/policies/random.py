"""The policy that knows nothing: any allowed action, each as likely as the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.dialogue.rng import Draws
from mwzeval.pydial.masks import Mask


class RandomPolicy:
    """Chooses allowed summary actions at random."""

    name = "random"

    def act(self, state: Any, mask: Mask, draws: Draws, training: bool = False) -> int:
        """Return the number of an allowed action; `state` and `training` are not looked at."""
        allowed: list[int] = np.flatnonzero(mask).tolist()
        return draws.choose(allowed)
