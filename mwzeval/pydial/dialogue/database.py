"""The entities of a domain, found by bit sets: bit i stands for the i-th row of the table.

A domain to talk about: its ontology and its entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mwzeval.pydial.dialogue.acts import DONTCARE
from mwzeval.pydial.dialogue.ontology import NAME, Ontology

Entity = Mapping[str, str]
Pairs = tuple[tuple[str, str], ...]
UNAVAILABLE = frozenset({"not available", ""})
REMEMBERED = 2**16


class EntityTable:
    """The rows of a domain, in their order, which decides what is offered first."""

    def __init__(self, ontology: Ontology, rows: Sequence[Entity]) -> None:
        self.ontology = ontology
        self.rows = tuple(rows)
        self.everything = (1 << len(rows)) - 1
        self._with: dict[str, dict[str, int]] = {}
        for index, row in enumerate(self.rows):
            for slot, value in row.items():
                of_slot = self._with.setdefault(slot, {})
                of_slot[value.lower()] = of_slot.get(value.lower(), 0) | 1 << index
        self._told_apart_by = tuple(s for s in ontology.informable if s != NAME and s != "price")
        self._first_named: dict[str, Entity] = {}
        for row in self.rows:
            self._first_named.setdefault(row[NAME].lower(), row)
        self.matching = lru_cache(REMEMBERED)(self._matching)
        self.discriminable = lru_cache(REMEMBERED)(self._discriminable)

    def __reduce__(self) -> tuple[type[EntityTable], tuple[Ontology, tuple[Entity, ...]]]:
        return EntityTable, (self.ontology, self.rows)

    def __deepcopy__(self, memo: object) -> EntityTable:
        return self  # nothing in it changes

    def having(self, slot: str, value: str) -> int:
        """Return the bit set of rows with this value, in whatever case."""
        return self._with.get(slot, {}).get(value.lower(), 0)

    def _matching(self, pairs: Pairs) -> int:
        """Return the bit set of rows that have all values; "dontcare" asks for nothing."""
        rows = self.everything
        for slot, value in pairs:
            if value != DONTCARE:
                rows &= self.having(slot, value)
        return rows

    def _discriminable(self, accepted: Pairs) -> bool:
        """Tell whether another slot would tell the rows apart that have the accepted values.

        Slots accepted as "dontcare" do not count, nor do name and price.
        """
        rows = self.matching(accepted)
        if not rows & (rows - 1):
            return False
        indifferent = {slot for slot, value in accepted if value == DONTCARE}
        return any(
            0 != rows & having != rows
            for slot in self._told_apart_by
            if slot not in indifferent
            for having in self._with.get(slot, {}).values()
        )

    def named(self, name: str) -> Entity | None:
        """Return the first row of this name, None when there is none."""
        return self._first_named.get(name.lower())

    def entities(self, rows: int) -> Iterator[Entity]:
        """Yield the rows of a bit set in the order of the table."""
        while rows:
            lowest = rows & -rows
            yield self.rows[lowest.bit_length() - 1]
            rows ^= lowest


def effective(pairs: Iterable[tuple[str, str]]) -> Pairs:
    """Return the pairs that constrain something."""
    return tuple((slot, value) for slot, value in pairs if value != DONTCARE)


@dataclass(frozen=True)
class Domain:
    """What all dialogues of a domain share; nothing in it changes."""

    ontology: Ontology
    table: EntityTable

    @property
    def name(self) -> str:
        """The name of the domain, as in its files ("CamRestaurants")."""
        return self.ontology.domain
