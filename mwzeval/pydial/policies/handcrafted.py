"""The policies that learn nothing: the handcrafted one, and random actions.

Source: Casanueva et al. (2017), column "Handcrafted"; rules as in the published program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mwzeval.pydial.dialogue.acts import BYE, DONTCARE, NULL, REQMORE, Act, Item
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import NAME, Domain
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.actions import Mask, SystemActs
from mwzeval.pydial.environments.features import Summary, asked_slots, is_said, method_of


class RandomPolicy:
    """Chooses allowed summary actions at random."""

    name = "random"

    def act(self, state: Any, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the number of an action, drawn with `rng` from those that `mask` allows.

        `mask` has shape (actions,); `state` and `training` are not looked at.
        """
        allowed: list[int] = np.flatnonzero(mask).tolist()
        return rng.choose(allowed)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where probabilities change what is done.

    A value is `known` from there on; down to `unsure` it is confirmed, down to `heard` it is
    confirmed or, if the runner-up is nearer than `close`, the user is let choose. More than
    `enough` accepted slots make an offer at once.
    """

    known: float = 0.8
    unsure: float = 0.6
    heard: float = 0.3
    close: float = 0.2
    enough: int = 3


class HandcraftedPolicy:
    """Chooses acts, not summary actions."""

    name = "handcrafted"

    def __init__(
        self,
        domain: Domain,
        *,
        legacy: bool = False,
        most_informed: int = 5,
        thresholds: Thresholds | None = None,
    ) -> None:
        self.acts = SystemActs(domain, most=most_informed, legacy=legacy)
        self.thresholds = thresholds or Thresholds()
        self._slots = domain.ontology.constraint_slots
        self._table = domain.table
        self._legacy = legacy

    def act(self, belief: Belief, rng: Rng) -> Act:
        """Return the system act for a belief."""
        summary = self.acts.summarizer(belief)
        return (
            self._what_the_method_asks(belief, summary, rng)
            or self._make_sure(belief)
            or self._offer_or_answer(belief, summary, rng)
            or self._ask(belief)
            or REQMORE
        )

    def _what_the_method_asks(self, belief: Belief, summary: Summary, rng: Rng) -> Act | None:
        method = method_of(belief, legacy=self._legacy)
        if method == "byconstraints" and summary.count > self.thresholds.enough:
            return self.acts.offer_another(summary, [], rng)
        if method == "byalternatives":
            return self.acts.offer_another(summary, belief.offered_since_none, rng)
        if method == "byname":
            return self._answer(belief, rng)
        if method == "finished":
            return BYE
        if is_said(belief, "repeat"):
            return None
        if is_said(belief, "thankyou", "ack"):
            return REQMORE if belief.last_offered else None
        return None

    def _answer(self, belief: Belief, rng: Rng) -> Act | None:
        """Answer about the entity that was named, or else about the last one offered."""
        named = belief.slots[NAME].best
        certain = named.probability >= self.thresholds.known and named.value != DONTCARE
        name = named.value if certain else belief.last_offered
        entity = self._table.named(name)
        return None if entity is None else self.acts.answer(entity, belief, rng)

    def _make_sure(self, belief: Belief) -> Act | None:
        limits = self.thresholds
        for slot in self._slots:
            best, second = belief.slots[slot].best, belief.slots[slot].second
            if not limits.heard < best.probability < limits.known:
                continue
            if (
                best.probability <= limits.unsure
                and best.probability - second.probability < limits.close
            ):
                return Act("select", (Item(slot, best.value), Item(slot, second.value)))
            return Act("confirm", (Item(slot, best.value),))
        return None

    def _offer_or_answer(self, belief: Belief, summary: Summary, rng: Rng) -> Act | None:
        settled = (
            summary.number <= 1 or not summary.discriminable or summary.count >= len(self._slots)
        )
        if not settled:
            return None
        if belief.offered and asked_slots(belief):
            return self._answer(belief, rng) or NULL
        return self.acts.offer_first(summary, rng)

    def _ask(self, belief: Belief) -> Act | None:
        for slot in self._slots:
            if belief.slots[slot].best.probability < self.thresholds.known:
                return Act("request", (Item(slot),))
        return None
