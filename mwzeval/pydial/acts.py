"""Dialogue acts as immutable values, with a parser: `inform(name="x",area!="north")`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

DONTCARE = "dontcare"
NONE = "none"
"""A special value: `inform(name=none,…)` means that no entity matches."""
REMEMBERED = 2**14
LONGEST_REMEMBERED = 2000
"""Maximum length of a cached text. Longer texts are not cached, because they rarely occur twice."""


class Item(NamedTuple):
    """A slot and its value in a dialogue act. An item without a value requests the slot."""

    slot: str
    value: str | None = None
    negated: bool = False

    def __str__(self) -> str:
        if self.value is None:
            return self.slot
        return f'{self.slot}{"!=" if self.negated else "="}"{self.value}"'


class Act(NamedTuple):
    """A dialogue act of the user or the system."""

    name: str
    items: tuple[Item, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.items))})"

    def says_the_same(self, other: Act) -> bool:
        """Return whether two acts are equal, ignoring the order of their items."""
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
"""Matches an item; the lookahead with a back-reference prevents backtracking."""


def parse_act(text: str) -> Act:
    """Parse the text of an act; return `null()` if the text is not an act.

    Values are converted to lower case unless they begin with punctuation.
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
