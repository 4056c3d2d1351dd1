"""The policies that learn nothing: the handcrafted one, and random actions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.dialogue.acts import Act
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.decision_process import Mask
from mwzeval.pydial.simulator.handcrafted import say_handcrafted
from mwzeval.pydial.simulator.view import Belief


class RandomPolicy:
    """Chooses allowed summary actions at random."""

    name = "random"

    def act(self, state: Any, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the number of an action, drawn with `rng` from those that `mask` allows.

        `mask` has shape (actions,); `state` and `training` are not looked at.
        """
        allowed: list[int] = np.flatnonzero(mask).tolist()
        return rng.choose(allowed)


class HandcraftedPolicy:
    """Chooses acts, not summary actions.

    Source: Casanueva et al. (2017), column "Handcrafted"; rules as in the published program.
    """

    name = "handcrafted"

    def act(self, belief: Belief, rng: Rng) -> Act:
        """Return the system act for a belief; `legacy` is as in its simulation."""
        self.action(belief, rng)
        return belief.view.next_act

    def action(self, belief: Belief, rng: Rng) -> int:
        """Return the number of the summary action of the act for a belief, -1 if there is none."""
        d = belief.view.d
        before, d.rng = d.rng, rng
        try:
            return say_handcrafted(belief.view.t, d)
        finally:
            d.rng = before
