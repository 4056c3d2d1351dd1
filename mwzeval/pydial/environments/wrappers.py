"""Wrappers of the environments, for libraries that expect something else: `MaskInObservation`.

Gymnasium is imported with the first of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mwzeval.errors import UsageError
from mwzeval.libraries import required

OBSERVATIONS, MASK = "observations", "action_mask"
"""The keys of an observation, as RLlib calls them."""


def __getattr__(name: str) -> Any:
    if name == "MaskInObservation":
        return _mask_in_observation()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _mask_in_observation() -> Any:
    gymnasium = required("gymnasium", "rl", "the environments need Gymnasium")
    spaces, record = gymnasium.spaces, gymnasium.utils.RecordConstructorArgs

    class MaskInObservation(gymnasium.ObservationWrapper, record):  # type: ignore[misc, name-defined, valid-type]
        """An environment of a task whose observations have the mask, for RLlib and TorchRL.

        An observation is `{"observations", "action_mask"}`: the vector, shape (size,), and the
        mask, shape (actions,), with 1 for allowed actions. After the end it is that of the last
        exchange. Raises `UsageError` for an environment without masks.
        """

        def __init__(self, env: Any) -> None:
            """Wrap an environment."""
            record.__init__(self)
            super().__init__(env)
            actions = env.action_space
            if not isinstance(actions, spaces.Discrete):
                raise UsageError('masks are for summary actions, not for level "act"')
            self.observation_space = spaces.Dict(
                {OBSERVATIONS: env.observation_space, MASK: spaces.MultiBinary(int(actions.n))}
            )

        def observation(self, observation: Any) -> dict[str, Any]:
            """Return the observation, with what is allowed now."""
            mask = self.env.get_wrapper_attr("action_masks")()
            return {OBSERVATIONS: observation, MASK: mask.astype(np.int8)}

    MaskInObservation.__qualname__ = "MaskInObservation"  # where it is found to be made again
    return MaskInObservation
