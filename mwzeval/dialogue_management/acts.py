"""Dialogue acts as values: `inform(name="x",area!="north")`, parsed once, written when asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

DONTCARE = "dontcare"
NONE = "none"
"""Said in place of a value: `inform(name=none,…)` means that nothing matches."""
REMEMBERED = 2**14


class Item(NamedTuple):
    """What an act says of a slot. Without a value it asks; without a slot it only gives a value."""

    slot: str
    value: str | None = None
    negated: bool = False

    def __str__(self) -> str:
        if self.value is None:
            return self.slot
        return f'{self.slot}{"!=" if self.negated else "="}"{self.value}"'


class Act(NamedTuple):
    """A dialogue act of user or system."""

    name: str
    items: tuple[Item, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.items))})"

    def says_the_same(self, other: Act) -> bool:
        """Tell whether two acts are equal up to the order of their items."""
        if self == other:
            return True
        return (
            1 < len(self.items) == len(other.items)
            and self.name == other.name
            and set(self.items) == set(other.items)
        )


NULL, HELLO, BYE = Act("null"), Act("hello"), Act("bye")
REQMORE, REPEAT, AFFIRM, NEGATE = Act("reqmore"), Act("repeat"), Act("affirm"), Act("negate")
REQALTS, THANKYOU, ACK = Act("reqalts"), Act("thankyou"), Act("ack")

_ACT = re.compile(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*\Z", re.DOTALL)
_ITEM = re.compile(
    r"""\s*(?P<slot>[^=!,"]*?)\s*
        (?:(?P<sign>!?=)\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,"]*?)))?\s*(?:,|\Z)""",
    re.VERBOSE,
)


def act(name: str, items: Iterable[tuple[str, str]] = ()) -> Act:
    """Return an act that gives values to slots."""
    return Act(name, tuple(Item(slot, value) for slot, value in items))


@lru_cache(maxsize=REMEMBERED)
def parse_act(text: str) -> Act:
    """Return the act that a text spells; `null()` for a text that spells none.

    Values are in lower case, unless they begin with punctuation.
    """
    match = _ACT.match(text)
    if match is None:
        return NULL
    name, rest = match[1].lower(), match[2]
    items: list[Item] = []
    at = 0
    while at < len(rest):
        found = _ITEM.match(rest, at)
        if found is None or found.end() == at:
            return NULL
        at = found.end()
        slot, value = found["slot"].strip(), found["quoted"] or found["plain"]
        if found["sign"] is None:
            if not slot:
                return NULL
            items.append(Item(slot))
        else:
            value = value or ""
            lowered = value if value[:1] and not value[0].isalnum() else value.lower()
            items.append(Item(slot, lowered, negated=found["sign"] == "!="))
    return Act(name, tuple(items))
