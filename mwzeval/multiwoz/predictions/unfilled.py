"""Values that say that a slot is not filled, and values that scoring takes for others than meant.

Every state value counts as it is written, as for the public evaluator. What is told here is only
warned about (`plausibility.py`), or read as not filled where the user says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from unicodedata import category

from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.normalization.normalize import State, normalize_slot, normalize_value
from mwzeval.multiwoz.predictions.reading import Dialogues, Turn

UNFILLED = frozenset(
    {
        *("", "-", "?", "none", "null", "nil", "nan", "n/a", "empty", "missing", "undefined"),
        *("unknown", "unspecified", "unfilled", "no value", "not mentioned", "not given"),
        *("not known", "not specified", "not provided", "not stated", "not set", "not filled"),
    }
)
"""What systems write for a slot that is not filled, in lower case: no slot can have such a value.

The unified format always lists all slots; there they are read so without being told.
"""

EMPTY = '""'
"""How the empty value is written in signatures."""

INVISIBLE, BLANKS, CAPITALS = "invisible-characters", "blanks-around-value", "upper-case-value"


@lru_cache(maxsize=2**14)
def bare(value: str) -> str:
    """Return a value in lower case without invisible characters and blanks around it."""
    return visible(value).strip().lower()


def visible(value: str) -> str:
    """Return a value without characters that are not seen, such as zero-width spaces."""
    if value.isascii():
        return value
    return "".join(char for char in value if category(char) != "Cf")


@lru_cache(maxsize=2**15)
def oddity(slot: str, value: str, rules: Rules) -> str | None:
    """Return what keeps a value from being the one that it looks like, None for nothing.

    Only what the normalisation of the slot's values leaves as it is: names may have capitals.
    """
    name = normalize_slot(slot)
    seen = visible(value)
    if seen != value:
        return INVISIBLE
    if normalize_value(name, value, rules) != normalize_value(name, value.strip(), rules):
        return BLANKS
    value = value.strip()
    if normalize_value(name, value, rules) != normalize_value(name, value.lower(), rules):
        return CAPITALS
    return None


def parse_unfilled(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return the values that are to be read as not filled, each once, in lower case and sorted.

    `values` are one by one, or with commas between; nothing, or two quotation marks, is the empty
    value. Raises `UsageError` for a value that signatures cannot name.
    """
    listed = values.split(",") if isinstance(values, str) else values
    spelled = {"" if value.strip() == EMPTY else bare(value) for value in listed}
    for value in spelled:
        if not value.isprintable() or "|" in value or "," in value:
            raise UsageError(f'"{shorten(value)}" cannot be a value that is not filled')
    return tuple(sorted(spelled))


def spelling(value: str) -> str:
    """Return how a value is named in signatures and on the command line."""
    return value or EMPTY


def filled(dialogues: Dialogues, unfilled: Collection[str]) -> Dialogues:
    """Return dialogues without the slots of their states that have one of these values."""
    if not unfilled:
        return dialogues
    return {name: [_filled(turn, unfilled) for turn in turns] for name, turns in dialogues.items()}


def _filled(turn: Turn, unfilled: Collection[str]) -> Turn:
    return turn if turn.state is None else turn._replace(state=filled_state(turn.state, unfilled))


def filled_state(state: State, unfilled: Collection[str]) -> State:
    """Return a state without the slots that have one of these values (in lower case).

    A domain goes with its last slot, as if nothing had been said about it.
    """
    kept: dict[str, Mapping[str, str]] = {}
    for domain, slots in state.items():
        left = {slot: value for slot, value in slots.items() if bare(value) not in unfilled}
        if left or not slots:
            kept[domain] = left
    return kept
