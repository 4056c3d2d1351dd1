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
LONGEST_REMEMBERED = 2000
"""Longer texts are parsed each time; nobody says them twice."""


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
        """Return whether two acts are equal up to the order of their items."""
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
    r"""(?=(?P<slot>[^=!,"]*))(?P=slot)
        (?:!?=(?:\s*"(?P<quoted>[^"]*)"\s*|(?=(?P<plain>[^,"]*))(?P=plain)))?(?:,|\Z)""",
    re.VERBOSE,
)
"""What is looked ahead to and then repeated is taken whole: blanks are not tried one by one."""


def act(name: str, items: Iterable[tuple[str, str]] = ()) -> Act:
    """Return an act that gives values to slots."""
    return Act(name, tuple(Item(slot, value) for slot, value in items))


def parse_act(text: str) -> Act:
    """Return the act that a text spells; `null()` for a text that spells none.

    Values are in lower case, unless they begin with punctuation.
    """
    return _remembered(text) if len(text) <= LONGEST_REMEMBERED else _parsed(text)


def _parsed(text: str) -> Act:
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
        slot, quoted, plain = found["slot"], found["quoted"], found["plain"]
        negated = rest.startswith("!", found.end("slot"))
        slot = slot.strip()
        if quoted is None and plain is None:
            if not slot:
                return NULL
            items.append(Item(slot))
        else:
            value = plain.strip() if quoted is None else quoted
            lowered = value if value[:1] and not value[0].isalnum() else value.lower()
            items.append(Item(slot, lowered, negated=negated))
    return Act(name, tuple(items))


_remembered = lru_cache(maxsize=REMEMBERED)(_parsed)
