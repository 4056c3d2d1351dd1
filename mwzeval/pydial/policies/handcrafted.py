"""The policies that do not learn: the handcrafted policy and random actions.

Source: Casanueva et al. (2017), column "Handcrafted"; rules as in the published program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mwzeval.pydial.acts import Act
from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.layout import Dialogue, Shared
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.system import (
    BYE,
    CONFIRM,
    INFORM,
    INFORM_ALTERNATIVES,
    INFORM_BY_NAME,
    REQMORE,
    SELECT,
    add,
    has_thanked,
    is_asked,
    method_of,
    offer_another,
    offer_first,
    say,
    say_answer,
)
from mwzeval.pydial.simulator.view import Belief

KNOWN, UNSURE, HEARD, CLOSE = 0.8, 0.6, 0.3, 0.2
"""Probabilities. A value is known if its probability is at least `KNOWN`. If the probability is at
least `HEARD`, the policy asks the user for confirmation or for a selection. The policy asks for a
selection if the probability is at most `UNSURE`, and the second value is less than `CLOSE`
below."""
UNDECIDED = -2
ENOUGH = 3
"""If more slots than this are accepted, the policy makes an offer immediately."""


def say_handcrafted(t: Shared, d: Dialogue) -> int:
    """Create the system act of the handcrafted policy; return its summary action, or -1."""
    action = _what_the_method_asks(t, d)
    if action == UNDECIDED:
        action = _make_sure(t, d)
    if action == UNDECIDED:
        action = _offer_or_answer(t, d)
    if action != UNDECIDED:
        return action
    for index in range(t.constraints):
        slot = t.constraint[index]
        if d.best_mass[slot] < KNOWN:
            say(d, c.REQUEST)
            add(d, slot, c.NO_VALUE, False)
            return 3 * index
    say(d, c.REQMORE)
    return 3 * t.constraints + REQMORE


def _what_the_method_asks(t: Shared, d: Dialogue) -> int:
    method, general = method_of(t, d), 3 * t.constraints
    if method == c.BY_CONSTRAINTS and d.count > ENOUGH:
        offer_another(t, d, 0)
        return general + INFORM
    if method == c.BY_ALTERNATIVES:
        offer_another(t, d, d.offers)
        return general + INFORM_ALTERNATIVES
    if method == c.BY_NAME:
        return general + INFORM_BY_NAME if _answer(t, d) else UNDECIDED
    if method == c.FINISHED:
        say(d, c.BYE)
        return general + BYE
    if not has_thanked(d) or d.last_offered == c.NO_VALUE:
        return UNDECIDED
    say(d, c.REQMORE)
    return general + REQMORE


def _answer(t: Shared, d: Dialogue) -> bool:
    """Inform about the named entity, or else the last offer; return False if neither exists."""
    name = d.best[t.name]
    if d.best_mass[t.name] < KNOWN or name == c.DONTCARE:
        name = d.last_offered
    entity = t.named[name]
    if entity < 0:
        return False
    say_answer(t, d, entity)
    return True


def _make_sure(t: Shared, d: Dialogue) -> int:
    for index in range(t.constraints):
        slot = t.constraint[index]
        best, second = d.best_mass[slot], d.second_mass[slot]
        if not HEARD < best < KNOWN:
            continue
        close = best <= UNSURE and best - second < CLOSE
        say(d, c.SELECT if close else c.CONFIRM)
        add(d, slot, d.best[slot], False)
        if close:
            add(d, slot, d.second[slot], False)
        return 3 * index + (SELECT if close else CONFIRM)
    return UNDECIDED


def _offer_or_answer(t: Shared, d: Dialogue) -> int:
    if d.number > 1 and d.discriminable and d.count < t.constraints:
        return UNDECIDED
    if not (d.offered and is_asked(t, d)):
        offer_first(t, d, c.NO_VALUE)
        return 3 * t.constraints + INFORM
    if _answer(t, d):
        return 3 * t.constraints + INFORM_BY_NAME
    say(d, c.NULL)
    return -1


class RandomPolicy:
    """Chooses allowed summary actions at random."""

    name = "random"

    def act(self, state: Any, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the index of a random action that `mask` allows; `rng` makes the choice.

        `mask` has shape (actions,); the arguments `state` and `training` are ignored.
        """
        allowed: list[int] = np.flatnonzero(mask).tolist()
        return rng.choose(allowed)


class HandcraftedPolicy:
    """The handcrafted policy, which chooses dialogue acts instead of summary actions.

    Source: Casanueva et al. (2017), column "Handcrafted"; rules as in the published program.
    """

    name = "handcrafted"

    def act(self, belief: Belief, rng: Rng) -> Act:
        """Return the system act for a belief; the simulation of the belief determines `legacy`."""
        self.action(belief, rng)
        return belief.view.next_act

    def action(self, belief: Belief, rng: Rng) -> int:
        """Return the index of the summary action for a belief, or -1 if there is no such action."""
        d = belief.view.d
        before, d.rng = d.rng, rng
        try:
            return say_handcrafted(belief.view.t, d)
        finally:
            d.rng = before
