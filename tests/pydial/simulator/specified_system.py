"""The system of the original: its focus tracker, masks, summary actions and handcrafted policy.

A slow implementation of the specification (2, 3, 6 to 9) as an oracle for tests. It processes
elementary acts one by one and every value of every slot. For random choices, it yields every
possible act.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from mwzeval.pydial.acts import DONTCARE, NONE, Act, Item
from mwzeval.pydial.domain import Domain, Entity

METHODS = ("none", "byconstraints", "byname", "finished", "byalternatives", "restart")
WITHOUT_ITEMS = (
    "affirm", "negate", "repeat", "bye", "reqalts", "hello", "thankyou", "ack", "reqmore",
    "restart", "silence", "help",
)  # fmt: skip
DISCOURSE_ACTS = ("silence", "repeat", "thankyou", "ack", "hello", "bye")
ENOUGH, MOST = 4, 5
NO_NAME = Item("name", NONE)
Acts = Iterator[Act]


class Elementary(NamedTuple):
    """An elementary act of a user: without or with one slot, without or with a value."""

    name: str
    slot: str = ""
    value: str = ""


class SpecifiedSystem:
    """The belief and the possible actions of a system; `goals` omits values with probability 0."""

    def __init__(self, domain: Domain, *, legacy: bool) -> None:
        self.domain, self.legacy = domain, legacy
        self.ontology = domain.ontology
        self.informable = domain.ontology.informable
        self.offered_before = False
        self.begin()

    def begin(self) -> None:
        self.goals: dict[str, dict[str, float]] = {slot: {} for slot in self.informable}
        self.none = dict.fromkeys(self.informable, 1.0)
        self.methods = {method: float(method == "none") for method in METHODS}
        self.discourse_acts: Mapping[str, float] = {}
        self.requested = dict.fromkeys(self.ontology.requestable, 0.0)
        self.last_offered = ""
        self.offered_since_none: list[str] = []
        self.cannot_help = self.offered = False
        self.offered_before &= self.legacy

    def update(self, system: Act, hypotheses: Sequence[tuple[Act, float]]) -> None:
        """Update the belief with a system act and the user hypotheses (6)."""
        answered = self._machine(system)
        total = sum(score for _, score in hypotheses)
        heard: dict[str, dict[str, float]] = {}
        requested, methods, discourse = (dict[str, float]() for _ in range(3))
        for act, raw in hypotheses:
            score = raw / total
            acts = self._resolved(self._elementary(self._in_context(act, system)), system)
            for slot, value in self._goals(acts, system).items():
                _add(heard.setdefault(slot, {}), value, score)
            for slot in {act.slot for act in acts if act.name in ("request", "confirm")}:
                _add(requested, slot, score)
            _add(methods, self._method(acts), score)
            names = [act.name for act in acts]
            _add(discourse, next((n for n in DISCOURSE_ACTS if n in names), "none"), score)
        for slot, scored in heard.items():
            kept, old = max(0.0, 1.0 - sum(scored.values())), self.goals[slot]
            new = {v: kept * old.get(v, 0.0) + scored.get(v, 0.0) for v in {*old, *scored}}
            self.goals[slot] = {v: p for v, p in _at_most_one(new).items() if p > 0}
            self.none[slot] = 1.0 - sum(self.goals[slot].values())
        kept = min(1.0, methods.get("none", 0.0))
        for method in METHODS[1:]:
            self.methods[method] = kept * self.methods[method] + methods.get(method, 0.0)
        if not self.legacy:
            self.methods["none"] = 1.0 - sum(self.methods[method] for method in METHODS[1:])
        self.methods = _at_most_one(self.methods)
        self.discourse_acts = _at_most_one(discourse)
        for slot, old_p in self.requested.items():
            kept = 0.0 if slot in answered else old_p
            self.requested[slot] = min(1.0, kept + requested.get(slot, 0.0))

    def _machine(self, system: Act) -> set[str]:
        """Store the features of a system act; return the slots that it informs."""
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
        """Return the meaning of affirm or negate without slots (3.2)."""
        if act not in (Act("affirm"), Act("negate")):
            return act
        yes = act.name == "affirm"
        if system.name == "confirm" and yes:
            return Act("inform", system.items)
        if system.name == "request":
            slot = system.items[0].slot
            if sorted(self.informable.get(slot, ())) == ["0", "1"]:
                return Act("inform", (Item(slot, "1" if yes else "0"),))
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
        if name == "deny" and not pairs:
            return [Elementary("negate")]
        if name not in ("confirm", "deny"):
            return []
        acts = [Elementary(name, slot, value) for slot, value in valued]
        corrects = name == "deny" and len(valued) == 2 and valued[0][0] == valued[1][0]
        if corrects and not (self.legacy and DONTCARE in (valued[0][1], valued[1][1])):
            acts[1] = informs[1]
        return self._known(acts)

    def _known(self, acts: Iterable[Elementary]) -> list[Elementary]:
        return [
            act
            for act in acts
            if act.slot in self.informable or (act.slot == "this" and act.name == "inform")
        ]

    def _resolved(self, acts: list[Elementary], system: Act) -> list[Elementary]:
        """Replace `this` in the acts with the slot that the system asks about.

        Without such a slot, acts with `this` are removed; in legacy, they have no slot.
        """
        asks = ("request",) if self.legacy else ("request", "confirm", "select")
        slot = system.items[0].slot if system.name in asks else ""
        if slot not in self.informable:
            slot = ""
        acts = [act._replace(slot=slot) if act.slot == "this" else act for act in acts]
        return [act for act in acts if act.slot or self.legacy or act.name != "inform"]

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

    # Features of policies (2, 7)

    def ranked(self, slot: str) -> list[tuple[float, str]]:
        """Return the probabilities and values of a slot, the most probable first."""
        return sorted(((p, value) for value, p in self.goals[slot].items()), reverse=True)

    def likeliest_name(self) -> str:
        """Return the most probable name, "" if no name is more probable."""
        names = self.ranked("name")
        return names[0][1] if names and names[0][0] > self.none["name"] else ""

    def accepted(self) -> dict[str, str]:
        """Return the accepted slots and their values."""
        accepted = {}
        for slot in self.ontology.constraint_slots:
            least = max(self.none[slot], 1 / (len(self.informable[slot]) - 0.1))
            for probability, value in self.ranked(slot)[:1]:
                if probability > least:
                    accepted[slot] = value
        return accepted

    def matching(self, accepted: Mapping[str, str] | None = None) -> list[Entity]:
        """Return the rows that match the values of slots (default: all accepted slots)."""
        slots = (self.accepted() if accepted is None else accepted).items()
        wanted = [(slot, value.lower()) for slot, value in slots if value != DONTCARE]
        return [
            row
            for row in self.domain.table.rows
            if all(row[slot].lower() == value for slot, value in wanted)
        ]

    def is_discriminable(self, accepted: Mapping[str, str] | None = None) -> bool:
        """Return whether another slot distinguishes the matching rows."""
        slots = (self.accepted() if accepted is None else accepted).items()
        indifferent = {slot for slot, value in slots if value == DONTCARE}
        rows = self.matching(accepted)
        return len(rows) > 1 and any(
            len({row[slot] for row in rows if slot in row}) > 1
            for slot in {*self.informable} - {"name", "price", *indifferent}
        )

    def matches(self, likeliest: Sequence[str]) -> list[bool]:
        """Return five features of the matches for each of the first 1 to 5 accepted slots."""
        facts = []
        for number in range(1, 6):
            accepted = {s: v for s, v in self.accepted().items() if s in likeliest[:number]}
            found = len(self.matching(accepted))
            facts += [found == 0, found == 1, 2 <= found <= 4, found > 4]
            facts.append(self.is_discriminable(accepted))
        return facts

    def method(self) -> str:
        """Return the method whose flag is set."""
        methods = dict(self.methods)
        if self.legacy:
            methods["none"] = 1.0 - sum(methods.values())
        top = max(METHODS, key=lambda method: methods[method])
        if top in ("byalternatives", "byname"):
            return top
        return top if top in ("finished", "restart") and methods[top] > 0.5 else "byconstraints"

    def is_flagged(self, *discourse_acts: str) -> bool:
        """Return whether the flag of at least one of these discourse acts is set."""
        return any(self.discourse_acts.get(act, 0.0) > 0.5 for act in discourse_acts)

    def requested_slots(self) -> list[str]:
        return [slot for slot, probability in self.requested.items() if probability > 0.5]

    # Masks (8.2)

    def asks_for_alternatives(self) -> bool:
        """Return whether the user requests alternatives, which are then pending."""
        return self.method() == "byalternatives" and not self.is_flagged("thankyou", "ack")

    def forbidden(self, *, pending: bool) -> set[str]:
        """Return the actions that are masked if all masks are enabled."""
        method, offered = self.method(), self.last_offered != ""
        conditions = {
            "inform": method != "byconstraints"
            or (len(self.accepted()) < ENOUGH and self.is_discriminable()),
            "inform_byname": method != "byname" or not (offered or self.likeliest_name()),
            "inform_alternatives": not pending or not offered,
            "bye": method != "finished",
            "reqmore": not offered,
            "repeat": True,
            "restart": True,
        }
        for slot in self.ontology.constraint_slots:
            conditions[f"confirm_{slot}"] = len(self.goals[slot]) < 1
            conditions[f"select_{slot}"] = len(self.goals[slot]) < 2
        return {name for name, condition in conditions.items() if condition}

    # Acts of summary actions (8.3)

    def acts(self, action: str) -> Acts:
        """Yield the possible acts of an action."""
        kind, _, slot = action.partition("_")
        if kind == "request":
            yield Act("request", (Item(slot),))
        elif kind in ("confirm", "select"):
            number = 1 if kind == "confirm" else 2
            values = [value for _, value in self.ranked(slot)][:number]
            values += [v for v in self.ontology.values_and_dontcare[slot] if v not in values[:1]]
            yield Act(kind, tuple(Item(slot, value) for value in values[:number]))
        elif action == "inform":
            last = [row for row in self.matching() if row["name"] == self.last_offered]
            yield from self._offers(last or self.matching())
        elif action == "inform_alternatives":
            yield from self._alternatives(self.offered_since_none)
        elif action == "inform_byname":
            name = self.likeliest_name() or self.last_offered
            rows = self._named(name) if name else self.domain.table.rows
            for row in rows:
                yield from self._answers(row)
            if not rows:
                yield Act("inform", (NO_NAME, Item("name", name)))
        else:
            yield Act("null" if action == "restart" else action)

    def _named(self, name: str) -> list[Entity]:
        return [row for row in self.domain.table.rows if row["name"] == name][:1]

    def _offers(self, rows: Sequence[Entity]) -> Acts:
        """Yield offers of the first row, or of any row without constraints."""
        accepted = self.accepted()
        wanted = tuple(Item(slot, v) for slot, v in accepted.items() if v != DONTCARE)
        if not rows:
            yield Act("inform", (NO_NAME, *wanted))
        for row in rows[:1] if wanted else rows:
            for slots in _some(list(accepted)):
                told = [s for s in slots if row.get(s, "") not in ("", "not available")]
                yield Act("inform", tuple(Item(slot, row[slot]) for slot in ("name", *told)))

    def _answers(self, row: Entity) -> Acts:
        requested = self.requested_slots()
        choices = _some([slot for slot in requested if slot != "name"])
        if not requested:
            choices = ((slot,) for slot in self.requested if slot != "name")
        for slots in choices:
            items = (Item(slot, row.get(slot, NONE)) for slot in slots)
            yield Act("inform", (Item("name", row["name"]), *items))

    def _alternatives(self, excluded: Sequence[str]) -> Acts:
        rows, accepted = self.matching(), self.accepted()
        left = [row for row in rows if row["name"] not in excluded]
        if left or not rows:
            yield from self._offers(left)
            return
        names = [Item("name", row["name"], True) for row in rows]
        for slots in _some(list(accepted)):
            yield Act("inform", (NO_NAME, *names, *(Item(s, accepted[s]) for s in slots)))

    # The handcrafted policy (9)

    def handcrafted_acts(self) -> list[Act]:
        """Return the possible acts of the handcrafted policy."""
        steps = self._by_method, self._confirm_or_select, self._inform, self._request
        return next((acts for step in steps if (acts := step())), [Act("reqmore")])

    def _by_method(self) -> list[Act]:
        method = self.method()
        if method == "byconstraints" and len(self.accepted()) > 3:
            return list(self._alternatives([]))
        if method == "byalternatives":
            return list(self._alternatives(self.offered_since_none))
        if method == "byname":
            return self._about_named()
        if method == "finished":
            return [Act("bye")]
        thanked = self.is_flagged("thankyou", "ack") and not self.is_flagged("repeat")
        return [Act("reqmore")] if thanked and self.last_offered else []

    def _about_named(self) -> list[Act]:
        name = self.last_offered
        for probability, value in self.ranked("name")[:1]:
            if probability >= 0.8 and value != DONTCARE:
                name = value
        return [act for row in self._named(name) for act in self._answers(row)]

    def _confirm_or_select(self) -> list[Act]:
        for slot in self.ontology.constraint_slots:
            (first, best), (second, other) = [*self.ranked(slot), (0.0, ""), (0.0, "")][:2]
            if 0.3 < first <= 0.6 and first - second < 0.2:
                return [Act("select", (Item(slot, best), Item(slot, other)))]
            if 0.3 < first < 0.8:
                return [Act("confirm", (Item(slot, best),))]
        return []

    def _inform(self) -> list[Act]:
        unknown = len(self.accepted()) < len(self.ontology.constraint_slots)
        if len(self.matching()) > 1 and self.is_discriminable() and unknown:
            return []
        if self.requested_slots() and self.offered:
            # The specification does not say whether a request follows if there is no such entity.
            return self._about_named() or [Act("null")]
        return list(self._offers(self.matching()))

    def _request(self) -> list[Act]:
        for slot in self.ontology.constraint_slots:
            if max(self.goals[slot].values(), default=0.0) < 0.8:
                return [Act("request", (Item(slot),))]
        return []


def _add(masses: dict[str, float], key: str, mass: float) -> None:
    masses[key] = masses.get(key, 0.0) + mass


def _at_most_one(masses: dict[str, float]) -> dict[str, float]:
    total = sum(masses.values())
    return {key: mass / total for key, mass in masses.items()} if total > 1 else masses


def _some(slots: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the slots, or every combination of five if there are more."""
    return combinations(slots, min(len(slots), MOST))
