"""What environments are told when a dialogue begins, and what they tell of each exchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mwzeval.errors import UsageError, unknown
from mwzeval.pydial.dialogue.domain import Ontology
from mwzeval.pydial.dialogue.goals import Goal, goal_from
from mwzeval.pydial.environments.decision_process import Info

GOAL = "goal"


def goal_of(options: Mapping[str, Any] | None, ontology: Ontology) -> Goal | None:
    """Return the goal that the options of `reset` give, None where there is none.

    Raises `UsageError` for a goal that is none in the domain, and for other options.
    """
    others = [str(key) for key in options or () if key != GOAL]
    if others:
        raise UsageError(unknown("option", others[0], [GOAL]))
    plain = None if options is None else options.get(GOAL)
    return None if plain is None else goal_from(plain, ontology)


def as_numpy(info: Info) -> Info:
    """Return what is told of an exchange with all its keys, and with NumPy's types.

    TorchRL, which makes tensors of them, takes no others. How a dialogue ended is False before.
    """
    ends = ("success", "is_success", "out_of_time")
    return {
        **info,
        "exchange": np.int64(info["exchange"]),
        **{name: np.bool_(info.get(name, False)) for name in ends},
    }
