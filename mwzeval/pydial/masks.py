"""Which summary actions make no sense for a belief.

Source: Casanueva et al. (2017), section 3; the conditions are those of the published program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.ontology import Ontology
from mwzeval.pydial.environments.actions import ALTERNATIVES, action_names
from mwzeval.pydial.environments.summary import Summary, is_said, method_of
from mwzeval.pydial.tasks import Task

Mask = NDArray[np.bool_]


class Masks:
    """Tells allowed actions. What is remembered is whether the user waits for an alternative.

    That is set when the user asks for one and over when `took` hears that one was given, or when a
    dialogue begins. "repeat" and "restart" are never allowed, with all switches off all others are.
    With `looks_again`, as in the published program's DQN, masks are looked at once more when an
    exchange is recorded, which sets it again where the user has just asked.
    """

    def __init__(
        self, ontology: Ontology, task: Task, *, legacy: bool = False, looks_again: bool = False
    ) -> None:
        self.alternative_awaited = False
        self._asked = False
        self._looks_again = looks_again
        self._slots = ontology.constraint_slots
        self._enough = task.inform_count_accepted
        self._inform = "inform" in task.masks
        self._request = "request" in task.masks
        self._bye = "bye" in task.masks
        self._legacy = legacy
        self._alternatives = action_names(ontology).index(ALTERNATIVES)

    def begin(self) -> None:
        """Start a dialogue."""
        self.alternative_awaited = False

    def took(self, action: int) -> None:
        """Remember that an action was carried out."""
        if action == self._alternatives:
            self.alternative_awaited = self._looks_again and self._asked

    def allowed(self, belief: Belief, summary: Summary) -> Mask:
        """Return for each action whether it is allowed, shape (actions,)."""
        method = method_of(belief, legacy=self._legacy)
        self._asked = method == "byalternatives" and not is_said(belief, "thankyou", "ack")
        self.alternative_awaited = self.alternative_awaited or self._asked
        allowed: list[bool] = []
        if self._request:
            for slot in self._slots:
                believed = belief.slots[slot]
                allowed += (True, believed.best[1] > 0.0, believed.second[1] > 0.0)
        else:
            allowed += [True] * (3 * len(self._slots))
        offered = belief.last_offered != ""
        if self._inform:
            settled = summary.count >= self._enough or not summary.discriminable
            allowed += (
                method == "byconstraints" and settled,
                method == "byname" and (offered or belief.top_name() is not None),
                self.alternative_awaited and offered,
            )
        else:
            allowed += (True, True, True)
        allowed += (
            not self._bye or method == "finished",
            False,
            not self._request or offered,
            False,
        )
        return np.array(allowed, dtype=np.bool_)
