"""The focus tracker of the original, and what it makes of acts.

Written down from the specification alone (3.1, 3.2, 6), sentence by sentence, for tests to compare
with: elementary acts one after the other, and every value of every slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mwzeval.pydial.acts import DONTCARE, NONE, Act
from mwzeval.pydial.domain import Domain

METHODS = ("none", "byconstraints", "byname", "finished", "byalternatives", "restart")
WITHOUT_ITEMS = (
    "affirm", "negate", "repeat", "bye", "reqalts", "hello", "thankyou", "ack", "reqmore",
    "restart", "silence", "help",
)  # fmt: skip
DISCOURSE_ACTS = ("silence", "repeat", "thankyou", "ack", "hello", "bye")


class Elementary(NamedTuple):
    """An elementary act of a user: of no, of one slot, with or without a value."""

    name: str
    slot: str = ""
    value: str = ""


class SpecifiedTracker:
    """The belief of one dialogue after the other; `goals` has no value of probability 0."""

    def __init__(self, domain: Domain) -> None:
        ontology = domain.ontology
        self.informable = ontology.informable
        self.requestable = ontology.requestable
        self.binary = [s for s, of in self.informable.items() if sorted(of) == ["0", "1"]]
        self.offered_before = False
        self.begin()

    def begin(self) -> None:
        self.goals: dict[str, dict[str, float]] = {slot: {} for slot in self.informable}
        self.none = dict.fromkeys(self.informable, 1.0)
        self.methods = {method: float(method == "none") for method in METHODS}
        self.discourse_acts: dict[str, float] = {}
        self.requested = dict.fromkeys(self.requestable, 0.0)
        self.last_offered = ""
        self.offered_since_none: list[str] = []
        self.cannot_help = self.offered = False

    def update(self, system: Act, hypotheses: Sequence[tuple[Act, float]]) -> None:
        """Take in one exchange (6)."""
        answered = self._machine(system)
        scores = [score for _, score in hypotheses]
        heard: dict[str, dict[str, float]] = {}
        requested: dict[str, float] = {}
        methods = dict.fromkeys(METHODS, 0.0)
        discourse: dict[str, float] = {}
        for act, raw in hypotheses:
            score = min(1.0, raw / sum(scores))
            elementary = self._elementary(self._in_context(act, system))
            resolved = self._resolved(elementary, system)
            for slot, value in self._goals(resolved, system).items():
                of_slot = heard.setdefault(slot, {})
                of_slot[value] = of_slot.get(value, 0.0) + score
            for slot in {e.slot for e in resolved if e.name in ("request", "confirm")}:
                requested[slot] = requested.get(slot, 0.0) + score
            methods[self._method(resolved)] += score
            names = [e.name for e in resolved]
            said = next((name for name in DISCOURSE_ACTS if name in names), "none")
            discourse[said] = discourse.get(said, 0.0) + score
        for slot, scored in heard.items():
            self._update_goal(slot, scored)
        kept = min(1.0, max(0.0, methods["none"]))
        for method in METHODS[1:]:
            self.methods[method] = kept * self.methods[method] + methods[method]
        self.methods = _at_most_one(self.methods)
        self.discourse_acts = _at_most_one(discourse)
        for slot, old in self.requested.items():
            total = (0.0 if slot in answered else old) + requested.get(slot, 0.0)
            self.requested[slot] = min(1.0, max(0.0, total))

    def _update_goal(self, slot: str, heard: dict[str, float]) -> None:
        old = self.goals[slot]
        kept = max(0.0, 1.0 - sum(heard.values()))
        new = {
            value: kept * old.get(value, 0.0) + heard.get(value, 0.0) for value in {*old, *heard}
        }
        self.goals[slot] = {v: p for v, p in _at_most_one(new).items() if p > 0}
        self.none[slot] = 1.0 - sum(self.goals[slot].values())

    def _machine(self, system: Act) -> set[str]:
        """Keep the features of a system act; return the slots that it informs."""
        self.cannot_help = self.offered = False
        if system.name != "inform":
            return set()
        names = [i.value for i in system.items if i.slot == "name" and not i.negated]
        if NONE in names:
            self.cannot_help = True
            self.offered_since_none = []
            return set()
        if names:
            self.offered = self.offered_before = True
            self.last_offered = str(names[-1])
            self.offered_since_none.append(self.last_offered)
        return {i.slot for i in system.items if i.slot != "name" and i.value != NONE}

    def _in_context(self, act: Act, system: Act) -> Act:
        """Return what a bare yes or no means (3.2)."""
        if act not in (Act("affirm"), Act("negate")):
            return act
        yes = act.name == "affirm"
        if system.name == "confirm" and yes:
            return Act("inform", system.items)
        if system.name == "request" and system.items[0].slot in self.binary:
            return Act("inform", (system.items[0]._replace(value="1" if yes else "0"),))
        return act

    def _elementary(self, act: Act) -> list[Elementary]:
        """Return the elementary acts of a user act (3.1)."""
        name = act.name
        pairs = [
            (slot or ("this" if value == DONTCARE else "type"), value)
            for slot, value, _ in act.items
        ]
        valued = [(slot, value) for slot, value in pairs if value is not None]
        informs = [Elementary("inform", slot, value) for slot, value in valued]
        if name == "request":
            requests = [Elementary("request", slot) for slot, value in pairs if value is None]
            return requests + self._known(informs)
        if name in WITHOUT_ITEMS:
            return [Elementary(name), *self._known(informs)]
        if name in ("inform", "select"):
            return self._known(informs)
        if name == "confirm":
            return self._known(Elementary("confirm", slot, value) for slot, value in valued)
        if name == "deny" and not pairs:
            return [Elementary("negate")]
        if name == "deny":
            denies = [Elementary("deny", slot, value) for slot, value in valued]
            if (
                len(valued) == 2
                and valued[0][0] == valued[1][0]
                and DONTCARE not in (valued[0][1], valued[1][1])
            ):
                return self._known([denies[0], informs[1]])
            return self._known(denies)
        return []

    def _known(self, acts: Iterable[Elementary]) -> list[Elementary]:
        return [
            act
            for act in acts
            if act.slot in self.informable or (act.slot == "this" and act.name == "inform")
        ]

    def _resolved(self, acts: list[Elementary], system: Act) -> list[Elementary]:
        """Return the acts with the requested slot, if there is one, for `this`."""
        asked = system.items[0].slot if system.name == "request" else ""
        if asked not in self.informable:
            asked = ""
        return [act._replace(slot=asked) if act.slot == "this" else act for act in acts]

    def _goals(self, acts: list[Elementary], system: Act) -> dict[str, str]:
        goals = {act.slot: act.value for act in acts if act.name == "inform" and act.slot}
        if system.name == "confirm" and any(act.name == "affirm" for act in acts):
            slot, value, _ = system.items[0]
            goals.setdefault(slot, str(value))
        return goals

    def _method(self, acts: list[Elementary]) -> str:
        names = {act.name for act in acts}
        if "reqalts" in names:
            return "byalternatives"
        if "bye" in names:
            return "finished"
        if "inform" in names:
            by_name = any(act.name == "inform" and act.slot == "name" for act in acts)
            return "byname" if by_name else "byconstraints"
        if "restart" in names:
            return "restart"
        if "deny" not in names and names & {"request", "confirm"} and self.offered_before:
            return "byname"
        return "none"


def _at_most_one(masses: dict[str, float]) -> dict[str, float]:
    total = sum(masses.values())
    return {key: mass / total for key, mass in masses.items()} if total > 1 else masses
