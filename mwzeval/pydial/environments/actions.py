"""Summary actions: their names, the system acts that they stand for, and which are masked.

Source: Casanueva et al. (2017), section 3; the conditions are those of the published program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError, unknown
from mwzeval.pydial.dialogue.acts import BYE, NONE, NULL, REPEAT, REQMORE, Act, Item
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import (
    NAME,
    UNAVAILABLE,
    Domain,
    Entity,
    Ontology,
    Pairs,
    effective,
)
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.environments.features import (
    Slots,
    Summarizer,
    Summary,
    after_name,
    asked_slots,
    is_said,
    method_of,
)
from mwzeval.pydial.tasks import Goodbye, Task

NOTHING_FOUND = Item(NAME, NONE)


class SystemActs:
    """Makes the acts of a domain; `most` is how many slots are told at once.

    More than that are drawn from, those told stay in their order.
    """

    def __init__(self, domain: Domain, *, most: int = 5, legacy: bool = False) -> None:
        self.domain = domain
        self.summarizer = Summarizer(domain, legacy=legacy)
        self._table = domain.table
        self._most = most
        self._legacy = legacy
        self._answers = tuple(s for s in domain.ontology.requestable if s != NAME)

    def offer_first(self, summary: Summary, rng: Rng, *, rather: str = "") -> Act:
        """Return the offer of the first match, or of the match named `rather`; or tell of none.

        Where nothing is asked of an entity any may be first.
        """
        if not summary.rows:
            return self.nothing(summary)
        if rather:
            named = self._table.having(NAME, rather) & summary.rows
            if named:
                return self.offer(next(self._table.entities(named)), summary, rng)
        return self.offer(self._first(summary, summary.rows, rng), summary, rng)

    def offer_another(self, summary: Summary, excluded: list[str], rng: Rng) -> Act:
        """Return the offer of the first match that is not excluded; or tell that there is none."""
        if not summary.rows:
            return self.nothing(summary)
        rows = summary.rows
        for name in excluded:
            rows &= ~self._table.having(NAME, name)
        if rows:
            return self.offer(self._first(summary, rows, rng), summary, rng)
        names = tuple(
            Item(NAME, entity[NAME], negated=True) for entity in self._table.entities(summary.rows)
        )
        listed = dict(summary.listed)
        slots = self._some(tuple(listed), rng)
        return Act("inform", (NOTHING_FOUND, *names, *(Item(s, listed[s]) for s in slots)))

    def _first(self, summary: Summary, rows: int, rng: Rng) -> Entity:
        if rows & (rows - 1) and not effective(summary.accepted):
            return rng.choose(list(self._table.entities(rows)))
        return next(self._table.entities(rows))

    def offer(self, entity: Entity, summary: Summary, rng: Rng) -> Act:
        """Return the offer of an entity with its values of the accepted slots."""
        slots = self._some(tuple(slot for slot, _ in summary.listed), rng)
        ordered = after_name(slots, NAME) if self._legacy else (NAME, *slots)
        told = (slot for slot in ordered if entity.get(slot, "") not in UNAVAILABLE)
        return Act("inform", tuple(Item(slot, entity[slot]) for slot in told))

    def answer(self, entity: Entity, belief: Belief, rng: Rng) -> Act:
        """Return what is asked about an entity; something of it where nothing is asked."""
        asked: Slots = self.summarizer.order(asked_slots(belief))
        if not asked:
            asked = (rng.choose(self._answers),)
        told = self._some(tuple(slot for slot in asked if slot != NAME), rng)
        items = (Item(slot, entity.get(slot, NONE)) for slot in told)
        return Act("inform", (Item(NAME, entity[NAME]), *items))

    def nothing(self, summary: Summary) -> Act:
        """Return the act that says that nothing matches."""
        wanted: Pairs = effective(summary.listed)
        return Act("inform", (NOTHING_FOUND, *(Item(slot, value) for slot, value in wanted)))

    def _some(self, slots: Slots, rng: Rng) -> Slots:
        if len(slots) <= self._most:
            return slots
        kept = set(rng.sample(range(len(slots)), self._most))
        return tuple(slot for index, slot in enumerate(slots) if index in kept)


INFORM, BY_NAME, ALTERNATIVES = "inform", "inform_byname", "inform_alternatives"
GENERAL = (INFORM, BY_NAME, ALTERNATIVES, "bye", "repeat", "reqmore", "restart")
ABOUT_SLOTS = ("request", "confirm", "select")


def action_names(ontology: Ontology) -> tuple[str, ...]:
    """Return the names of the summary actions, in the order of their numbers."""
    about = [f"{kind}_{slot}" for slot in ontology.constraint_slots for kind in ABOUT_SLOTS]
    return (*about, *GENERAL)


class SummaryActions:
    """The summary actions of a domain, numbered."""

    def __init__(self, domain: Domain, *, most_informed: int = 5, legacy: bool = False) -> None:
        self.names = action_names(domain.ontology)
        self.acts = SystemActs(domain, most=most_informed, legacy=legacy)
        self._table = domain.table
        self._ontology = domain.ontology
        self._about = [
            (kind, slot) for slot in domain.ontology.constraint_slots for kind in ABOUT_SLOTS
        ]

    def number(self, name: str) -> int:
        """Return the number of an action. Raises `UsageError` for an unknown one."""
        if name not in self.names:
            raise UsageError(unknown("summary action", name, self.names))
        return self.names.index(name)

    def act(self, action: int, belief: Belief, rng: Rng) -> Act:
        """Return the system act that an action stands for, given what is believed.

        Asking to confirm a slot that nothing is known of names the first of its values.
        """
        if action < len(self._about):
            kind, slot = self._about[action]
            if kind == "request":
                return Act(kind, (Item(slot),))
            values = self._likeliest(slot, belief)
            return Act(kind, tuple(Item(slot, value) for value in values[: 1 + (kind == "select")]))
        name = self.names[action]
        summary = self.acts.summarizer(belief)
        if name == INFORM:
            return self.acts.offer_first(summary, rng, rather=belief.last_offered)
        if name == ALTERNATIVES:
            return self.acts.offer_another(summary, belief.offered_since_none, rng)
        if name == BY_NAME:
            return self._answer(belief, rng)
        return {"bye": BYE, "reqmore": REQMORE, "repeat": REPEAT}.get(name, NULL)

    def _likeliest(self, slot: str, belief: Belief) -> list[str]:
        believed = belief.slots[slot]
        values = [ranked.value for ranked in (believed.best, believed.second) if ranked.probability]
        if len(values) < 2:
            values += [v for v in self._ontology.values_and_dontcare[slot][:3] if v not in values]
        return values

    def _answer(self, belief: Belief, rng: Rng) -> Act:
        name = belief.top_name() or belief.last_offered
        entity = self._table.named(name)
        if entity is None and name:
            return Act("inform", (Item(NAME, NONE), Item(NAME, name)))
        if entity is None:
            entity = rng.choose(self._table.rows)
        return self.acts.answer(entity, belief, rng)


Mask = NDArray[np.bool_]


class Masks:
    """Tells allowed actions. What is remembered is whether the user waits for an alternative.

    That is set when the user asks for one and over when `took` hears that one was given, or when a
    dialogue begins. "repeat" and "restart" are never allowed, with all switches off all others are.
    With `looks_again`, as in the published program's DQN, masks are looked at once more when an
    exchange is recorded, which sets it again where the user has just asked. With `goodbye` "user"
    a policy is never allowed to say it where no mask tells when.
    """

    def __init__(
        self,
        ontology: Ontology,
        task: Task,
        *,
        legacy: bool = False,
        looks_again: bool = False,
        goodbye: Goodbye = "policy",
    ) -> None:
        self.alternative_awaited = False
        self._asked = False
        self._looks_again = looks_again
        self._slots = ontology.constraint_slots
        self._enough = task.inform_count_accepted
        self._inform = "inform" in task.masks
        self._request = "request" in task.masks
        self._bye = "bye" in task.masks
        self._any_time = goodbye == "policy"
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
            method == "finished" if self._bye else self._any_time,
            False,
            not self._request or offered,
            False,
        )
        return np.array(allowed, dtype=np.bool_)
