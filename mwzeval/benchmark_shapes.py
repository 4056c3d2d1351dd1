"""Which benchmark a file is of, told cheaply by its shape.

MultiWOZ is scored when no benchmark is named, so its reader meets the files of all others; what it
would say of their turns helps nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Shaped(NamedTuple):
    """A benchmark as people call it, and what `--benchmark` calls it."""

    title: str
    option: str

    @property
    def advice(self) -> str:
        """What to say where a file of this benchmark is read as one of MultiWOZ."""
        return (
            f"this looks like a file of {self.title}, and is read as predictions for MultiWOZ "
            f"— did you mean --benchmark {self.option}?"
        )


CROSSWOZ = Shaped("CrossWOZ", "crosswoz")
DSTC7 = Shaped("DSTC7", "dstc7")
PYDIAL = Shaped("PyDial", "pydial")

META = "_meta"
PYDIAL_HEADER = frozenset({"task", "policy", "legacy"})
EPISODE = frozenset({"success", "exchanges"})
SIMULATED = frozenset({"dialogue_id", "finished", "goal"})
RANKED = frozenset({"example-id", "candidate-ranking"})
OF_CROSSWOZ = frozenset(
    {
        "user_acts",
        "user_response",
        "user_state",
        "selected",
        "system_acts",
        "system_acts_delex",
        "system_acts_nlu",
    }
)
"""Fields of an exchange that no turn of MultiWOZ has."""

CHINESE = re.compile("[\u4e00-\u9fff]")


def benchmark_of(raw: Any) -> Shaped | None:
    """Return the benchmark that a JSON value, or a line of JSON Lines, is a file of.

    None where nothing says that it is of another than MultiWOZ. Only the beginning is looked at.
    """
    if isinstance(raw, list):
        return DSTC7 if raw and _has_some(raw[0], RANKED) else None
    if not isinstance(raw, Mapping):
        return None
    header = raw.get(META)
    if isinstance(header, Mapping):
        if header.get("dataset") == CROSSWOZ.option:
            return CROSSWOZ
        if _has_some(header, PYDIAL_HEADER):
            return PYDIAL
    if raw.keys() >= EPISODE:
        return PYDIAL
    if raw.keys() >= SIMULATED:
        return CROSSWOZ
    if isinstance(raw.get("dialogue_id"), str):
        return CROSSWOZ if _is_of_crosswoz(raw["dialogue_id"], raw.get("turns")) else None
    dialogue = next((name for name in raw if name != META), None)
    return CROSSWOZ if _is_of_crosswoz(dialogue, raw.get(dialogue)) else None


def _is_of_crosswoz(dialogue: Any, exchanges: Any) -> bool:
    """Tell by the first exchange: its fields, or Chinese in a dialogue that has a number."""
    if not isinstance(exchanges, list) or not exchanges:
        return False
    first = exchanges[0]
    if _has_some(first, OF_CROSSWOZ):
        return True
    is_numbered = isinstance(dialogue, str) and dialogue.isdecimal()
    if not is_numbered or not isinstance(first, Mapping):
        return False
    said, state = first.get("response"), first.get("state")
    texts = [said] if isinstance(said, str) else []
    texts += [key for key in state if isinstance(key, str)] if isinstance(state, Mapping) else []
    return any(CHINESE.search(text) for text in texts)


def _has_some(raw: Any, keys: frozenset[str]) -> bool:
    return isinstance(raw, Mapping) and not keys.isdisjoint(raw)
