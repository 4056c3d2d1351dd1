"""Values that a system says, as the agenda user understands them.

The user compares values with its goal as texts. Before, a value becomes the first listed value of
the slot that contains it or is contained in it: `4 stars` is `4`, and `""` is whatever comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

ValueSets = Mapping[str, Mapping[str, Iterable[str]]]
"""Domain → slot → values, as ConvLab-2 has them in `value_set.json`."""

REMEMBERED = 1 << 16
"""How many values are remembered: dialogues of rule systems say a few thousand different ones."""
_YES_NO = ("internet", "parking")


class SaidValues:
    """Maps said values to listed ones. One serves all dialogues: it remembers what it has seen."""

    def __init__(self, values: ValueSets) -> None:
        self._listed = {
            (domain, slot): _Listed(listed)
            for domain, slots in values.items()
            for slot, listed in slots.items()
        }
        self.understand = lru_cache(REMEMBERED)(self._understand)
        """Return the listed value for (domain, slot, value), or the value when none is alike."""

    def _understand(self, domain: str, slot: str, value: str) -> str:
        listed = self._listed.get((domain, slot))
        if listed is None:
            return value
        if slot in _YES_NO and value == "none":
            value = "yes"
        if value in listed.values:
            return value
        owned = value.replace(" 's", "'s")
        for spelled in (value, owned, owned.replace(" - ", "-")):
            for text in (spelled, spelled.lower()):
                alike = listed.alike(text)
                if alike is not None:
                    return alike
        return value


class _Listed:
    """The values of a slot, both as listed and in lower case, in alphabetical order."""

    def __init__(self, listed: Iterable[str]) -> None:
        texts = list(listed)
        self.values = {*texts, *(text.lower() for text in texts)}
        self._spaced = [" ".join(text.split()) for text in sorted(self.values)]

    def alike(self, text: str) -> str | None:
        """Return the first listed value that contains the text or is contained in it."""
        words = text.split()
        spaced, joined = " ".join(words), "".join(words)
        for value in self._spaced:
            if value in spaced or spaced in value or value in joined or joined in value:
                return value
        return None
