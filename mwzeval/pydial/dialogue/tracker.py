"""The focus tracker: the newest information pushes the older away by as much as it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from mwzeval.pydial.dialogue.acts import AFFIRM, DONTCARE, NEGATE, Act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.ontology import METHODS
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.semantics import (
    SystemMeaning,
    UserMeaning,
    system_meaning,
    user_meaning,
)

Hypotheses = Sequence[tuple[Act, float]]
POSITION = {method: index for index, method in enumerate(METHODS)}
NO_METHOD = POSITION["none"]
BY_NAME = POSITION["byname"]
REMEMBERED = 2**15


class Tracker:
    """Keeps the belief of one dialogue after the other.

    In `legacy`, a value without a slot is only understood after a request, the method "none" keeps
    a mass that nothing feeds, and that an offer was made is remembered across dialogues.
    """

    def __init__(self, domain: Domain, *, legacy: bool = False) -> None:
        self.ontology = domain.ontology
        self.legacy = legacy
        self.belief = Belief(domain.ontology)
        self.offered_before = False
        self._requestable = frozenset(domain.ontology.requestable)
        self._user: dict[Act, UserMeaning] = {}
        self._system: dict[Act, SystemMeaning] = {}

    def sibling(self) -> Tracker:
        """Return a tracker of other dialogues that shares what is known about acts."""
        other = copy(self)
        other.belief = Belief(self.ontology)
        other.offered_before = False
        return other

    def begin(self) -> None:
        """Start a dialogue."""
        self.belief.begin()
        if not self.legacy:
            self.offered_before = False

    def update(self, last: Act, hypotheses: Hypotheses) -> Belief:
        """Take in what the user may have said after a system act; return the belief, as it is now.

        Scores are taken in proportion: they need not sum up to 1.
        """
        belief = self.belief
        system = self._system_meaning(last)
        self._remember(system)
        total = sum(score for _, score in hypotheses) or 1.0
        goals: dict[str, dict[str, float]] = {}
        methods = [0.0] * len(METHODS)
        discourse_acts: dict[str, float] = {}
        requested: dict[str, float] = {}
        for act, raw in hypotheses:
            score = raw / total
            if not act.items:
                act = self._in_context(act, system)
            meaning = self._user.get(act) or self._user_meaning(act)
            method = meaning.method
            for slot, value in meaning.informed:
                _add(goals, slot, value, score)
            if meaning.this:
                if system.this in belief.slots:
                    if system.this not in dict(meaning.informed):
                        _add(goals, system.this or "", DONTCARE, score)
                else:
                    method = meaning.method_without_this
            if meaning.affirms and system.confirmed:
                slot, value = system.confirmed
                if slot not in dict(meaning.informed):
                    _add(goals, slot, value, score)
            for slot in meaning.requested:
                requested[slot] = requested.get(slot, 0.0) + score
            if method == "asks":
                index = BY_NAME if self.offered_before else NO_METHOD
            else:
                index = POSITION[method]
            methods[index] += score
            said = meaning.discourse_act
            discourse_acts[said] = discourse_acts.get(said, 0.0) + score
        for slot, scores in goals.items():
            belief.slots[slot].hear(scores)
        if goals:
            belief.revision += 1
        self._update_methods(methods)
        belief.discourse_acts = discourse_acts
        self._update_requested(requested, system)
        return belief

    def _in_context(self, act: Act, system: SystemMeaning) -> Act:
        if act == AFFIRM:
            return system.affirmed or act
        if act == NEGATE:
            return system.negated or act
        return act

    def _remember(self, system: SystemMeaning) -> None:
        belief = self.belief
        belief.nothing_found = system.cannot_help
        belief.offered = system.offered is not None
        if system.cannot_help:
            belief.offered_since_none = []
        if system.offered is not None:
            belief.last_offered = system.offered
            belief.offered_since_none.append(system.offered)
            self.offered_before = True

    def _update_methods(self, heard: list[float]) -> None:
        if heard[NO_METHOD] == 1.0:
            return
        kept = min(1.0, max(0.0, heard[NO_METHOD]))
        methods = [kept * old + new for old, new in zip(self.belief.methods, heard, strict=True)]
        if self.legacy:
            methods[NO_METHOD] = self.belief.methods[NO_METHOD]
            total = sum(methods)
            if total > 1.0:
                methods = [mass / total for mass in methods]
        else:
            methods[NO_METHOD] = max(0.0, 1.0 - sum(methods[NO_METHOD + 1 :]))
        self.belief.methods = methods

    def _update_requested(self, heard: dict[str, float], system: SystemMeaning) -> None:
        old = self.belief.requested
        if not old and not heard:
            return
        requested = {slot: p for slot, p in old.items() if slot not in system.informed}
        for slot, score in heard.items():
            if slot in self._requestable:
                requested[slot] = min(1.0, requested.get(slot, 0.0) + score)
        self.belief.requested = requested

    def _user_meaning(self, act: Act) -> UserMeaning:
        if len(self._user) >= REMEMBERED:
            self._user.clear()
        meaning = self._user[act] = user_meaning(act, self.ontology, legacy=self.legacy)
        return meaning

    def _system_meaning(self, act: Act) -> SystemMeaning:
        meaning = self._system.get(act)
        if meaning is None:
            if len(self._system) >= REMEMBERED:
                self._system.clear()
            meaning = self._system[act] = system_meaning(act, self.ontology, legacy=self.legacy)
        return meaning


def _add(goals: dict[str, dict[str, float]], slot: str, value: str, score: float) -> None:
    of_slot = goals.setdefault(slot, {})
    of_slot[value] = of_slot.get(value, 0.0) + score
