"""The actions that policies choose among, and the system acts that they stand for."""

from __future__ import annotations

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.pydial.dialogue.acts import BYE, NONE, NULL, REPEAT, REQMORE, Act, Item
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.ontology import NAME, Ontology
from mwzeval.pydial.dialogue.rng import Draws
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.system_acts import SystemActs

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
            raise UsageError(
                f'unknown summary action "{shorten(name)}"{did_you_mean(name, self.names)} '
                f"({', '.join(self.names)})"
            )
        return self.names.index(name)

    def act(self, action: int, belief: Belief, draws: Draws) -> Act:
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
            return self.acts.offer_first(summary, draws, rather=belief.last_offered)
        if name == ALTERNATIVES:
            return self.acts.offer_another(summary, belief.offered_since_none, draws)
        if name == BY_NAME:
            return self._answer(belief, draws)
        return {"bye": BYE, "reqmore": REQMORE, "repeat": REPEAT}.get(name, NULL)

    def _likeliest(self, slot: str, belief: Belief) -> list[str]:
        believed = belief.slots[slot]
        values = [ranked.value for ranked in (believed.best, believed.second) if ranked.probability]
        if len(values) < 2:
            values += [v for v in self._ontology.values_and_dontcare[slot][:3] if v not in values]
        return values

    def _answer(self, belief: Belief, draws: Draws) -> Act:
        name = belief.top_name() or belief.last_offered
        entity = self._table.named(name)
        if entity is None and name:
            return Act("inform", (Item(NAME, NONE), Item(NAME, name)))
        if entity is None:
            entity = draws.choose(self._table.rows)
        return self.acts.answer(entity, belief, draws)
