"""The codes of a domain's slots and values, and of acts made of them."""

from __future__ import annotations

from mwzeval.errors import UsageError
from mwzeval.pydial.batched.layout import (
    ACTS,
    NEGATED,
    NO_VALUE,
    SLOT_BIT,
    VALUE_BITS,
    item_code,
)
from mwzeval.pydial.dialogue import acts
from mwzeval.pydial.dialogue.acts import Act, Item
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.goals import TYPE
from mwzeval.pydial.dialogue.user import NEAR

THIS = ""
"""The slot of a value that is given without one."""
_ACT = {name: code for code, name in enumerate(ACTS)}


class Codes:
    """The codes of a domain. `slots` are the constraints, the other informable ones, the other
    requestable ones, and two that are not of the domain; `values` are those of each slot, by code.
    """

    def __init__(self, domain: Domain) -> None:
        """Number everything. Raises `UsageError` if a slot has more values than there are codes."""
        ontology, table = domain.ontology, domain.table
        self.of_domain = tuple(
            dict.fromkeys((*ontology.constraint_slots, *ontology.informable, *ontology.requestable))
        )
        self.slots = (*self.of_domain, THIS, TYPE)
        self.slot = {slot: code for code, slot in enumerate(self.slots)}
        # A user who asks for something near somewhere may confirm any slot with that value.
        near = ontology.informable.get(NEAR, ())
        self.values: list[tuple[str, ...]] = []
        for slot in self.of_domain:
            texts = dict.fromkeys(ontology.informable.get(slot, ()))
            texts |= dict.fromkeys(row[slot] for row in table.rows if slot in row)
            texts |= dict.fromkeys(near if slot in ontology.requestable else ())
            texts = {text: None for text in texts if text not in (acts.DONTCARE, acts.NONE)}
            self.values.append(("", acts.DONTCARE, acts.NONE, *texts))
        self.values += [
            ("", acts.DONTCARE, acts.NONE),
            ("", acts.DONTCARE, acts.NONE, ontology.entity_type),
        ]
        self._value = [
            {text: code for code, text in enumerate(of_slot) if code != NO_VALUE}
            for of_slot in self.values
        ]
        most = max(map(len, self.values))
        if most > VALUE_BITS:
            raise UsageError(
                f"batched simulation takes {VALUE_BITS:,} values of a slot, not {most:,}"
            )

    def value(self, slot: str, text: str | None) -> int:
        """Return the code of a value; `NO_VALUE` for None. Raises `KeyError` for an unknown one."""
        return NO_VALUE if text is None else self._value[self.slot[slot]][text]

    def known(self, slot: str, text: str) -> int:
        """Return the code of a value, -1 where a slot has no such value."""
        return self._value[self.slot[slot]].get(text, -1)

    def text(self, slot: int, value: int) -> str | None:
        """Return the value that a code stands for."""
        return None if value == NO_VALUE else self.values[slot][value]

    def item(self, item: Item) -> int:
        """Return the code of an item."""
        return item_code(self.slot[item.slot], self.value(item.slot, item.value), item.negated)

    def decoded_item(self, code: int) -> Item:
        """Return the item that a code stands for."""
        slot = code >> SLOT_BIT
        return Item(self.slots[slot], self.text(slot, code & VALUE_BITS), bool(code & NEGATED))

    def decoded(self, name: int, items: list[int]) -> Act:
        """Return the act that codes stand for."""
        return Act(ACTS[name], tuple(map(self.decoded_item, items)))
