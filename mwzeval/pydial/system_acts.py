"""The acts with which a system tells of entities: an offer, an answer, or that nothing is found."""

from __future__ import annotations

from mwzeval.pydial.dialogue.acts import NONE, Act, Item
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.database import UNAVAILABLE, Entity, Pairs, effective
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.dialogue.rng import Draws
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.environments.summary import Summarizer, Summary, asked_slots
from mwzeval.pydial.slot_order import Slots, after_name

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

    def offer_first(self, summary: Summary, draws: Draws, *, rather: str = "") -> Act:
        """Return the offer of the first match, or of the match named `rather`; or tell of none.

        Where nothing is asked of an entity any may be first.
        """
        if not summary.rows:
            return self.nothing(summary)
        if rather:
            named = self._table.having(NAME, rather) & summary.rows
            if named:
                return self.offer(next(self._table.entities(named)), summary, draws)
        return self.offer(self._first(summary, summary.rows, draws), summary, draws)

    def offer_another(self, summary: Summary, excluded: list[str], draws: Draws) -> Act:
        """Return the offer of the first match that is not excluded; or tell that there is none."""
        if not summary.rows:
            return self.nothing(summary)
        rows = summary.rows
        for name in excluded:
            rows &= ~self._table.having(NAME, name)
        if rows:
            return self.offer(self._first(summary, rows, draws), summary, draws)
        names = tuple(
            Item(NAME, entity[NAME], negated=True) for entity in self._table.entities(summary.rows)
        )
        listed = dict(summary.listed)
        slots = self._some(tuple(listed), draws)
        return Act("inform", (NOTHING_FOUND, *names, *(Item(s, listed[s]) for s in slots)))

    def _first(self, summary: Summary, rows: int, draws: Draws) -> Entity:
        if rows & (rows - 1) and not effective(summary.accepted):
            return draws.choose(list(self._table.entities(rows)))
        return next(self._table.entities(rows))

    def offer(self, entity: Entity, summary: Summary, draws: Draws) -> Act:
        """Return the offer of an entity with its values of the accepted slots."""
        slots = self._some(tuple(slot for slot, _ in summary.listed), draws)
        ordered = after_name(slots, NAME) if self._legacy else (NAME, *slots)
        told = (slot for slot in ordered if entity.get(slot, "") not in UNAVAILABLE)
        return Act("inform", tuple(Item(slot, entity[slot]) for slot in told))

    def answer(self, entity: Entity, belief: Belief, draws: Draws) -> Act:
        """Return what is asked about an entity; something of it where nothing is asked."""
        asked: Slots = self.summarizer.order(asked_slots(belief))
        if not asked:
            asked = (draws.choose(self._answers),)
        told = self._some(tuple(slot for slot in asked if slot != NAME), draws)
        items = (Item(slot, entity.get(slot, NONE)) for slot in told)
        return Act("inform", (Item(NAME, entity[NAME]), *items))

    def nothing(self, summary: Summary) -> Act:
        """Return the act that says that nothing matches."""
        wanted: Pairs = effective(summary.listed)
        return Act("inform", (NOTHING_FOUND, *(Item(slot, value) for slot, value in wanted)))

    def _some(self, slots: Slots, draws: Draws) -> Slots:
        if len(slots) <= self._most:
            return slots
        kept = set(draws.sample(range(len(slots)), self._most))
        return tuple(slot for index, slot in enumerate(slots) if index in kept)
