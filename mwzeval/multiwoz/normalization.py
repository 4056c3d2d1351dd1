"""Normalize slots and values to the spelling of the databases, and estimate active domains.

All published scores depend on the normalization rules, including the unexpected rules marked (odd).
Therefore, existing rules are never corrected; a changed rule becomes a new rule set.
`data/words/aliases.tsv` lists spellings with the same meaning. The list of known slots is used only
for warnings: other slots are scored without changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.schema import (
    FLAG_SLOTS,
    NAME_SLOTS,
    SEARCH_SLOTS,
    SHORT_SLOTS,
    STATE_BOOKING_SLOTS,
    TIME_SLOTS,
)

State = Mapping[str, Mapping[str, str]]
"""Values by domain and slot."""

_ALIASES: dict[str, dict[str, str]] = {}
for _kind, _spelling, _meaning in table_rows(embedded("words", "aliases.tsv"), 3):
    _ALIASES.setdefault(_kind, {})[_spelling] = _meaning

NAME_ALIASES: Mapping[Rules, Mapping[str, str]] = {
    "2021": _ALIASES["name"],
    "2023": _ALIASES["name"] | _ALIASES["name 2023"],
}
ONTOLOGY = {
    domain: frozenset(slots).union(
        # Booking slots, which many systems name without `book`. They are not scored under either
        # name.
        *({slot, slot.removeprefix("book")} for slot in STATE_BOOKING_SLOTS.get(domain, ()))
    )
    for domain, slots in SEARCH_SLOTS.items()
}


def normalize_time(time: str) -> str:
    """Return `HH:MM` if the text can be read as a time, else the text; never raises an error."""
    time = time.strip().lower()
    if time in _ALIASES["time"]:
        return _ALIASES["time"][time]
    for beginning, spoken in _ALIASES["time beginning"].items():
        if time.startswith(beginning):
            return spoken
    if time.startswith("by"):
        time = time[3:]
    if time.startswith("after"):
        time = time[5:].strip()
    if time.startswith("afer"):  # "afer 14:00"
        time = time[4:].strip()
    for ending in ("am", "a.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
    for ending in ("pm", "p.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
            afternoon = _after_noon(time)
            if afternoon is not None:
                return afternoon
            break
    if not time:
        return "00:00"
    if time[-1] in ".,?":
        time = time[:-1]
    return _with_two_digits(time)


def _after_noon(time: str) -> str | None:
    """Return the time twelve hours later, or None if the text is not a time."""
    # (odd) 12 pm becomes 24:00, and "5: 30 pm" becomes "17: 30".
    if time.count(":") == 1:
        hours, minutes = time.split(":")
        # Hours that are not numbers are invalid input and stay unchanged.
        return f"{int(hours) + 12}:{minutes}" if _is_number(hours.strip()) else time
    return f"{int(time) + 12}:00" if _is_number(time) else None


def _with_two_digits(time: str) -> str:
    if _is_number(time):
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = time.replace(" ", "")
        if len(time) == 4 and time[1] == ":":
            return "0" + time
    return time


def _is_number(text: str) -> bool:
    # Python refuses to convert numbers of thousands of digits; these are treated as text.
    return text.isascii() and text.isdigit() and len(text) < 1000


@lru_cache(maxsize=2**12)
def normalize_slot(slot: str) -> str:
    """Return the slot name in the spelling of database columns."""
    slot = slot.lower().replace(" ", "")
    return SHORT_SLOTS.get(slot, slot)


@lru_cache(maxsize=2**15)
def normalize_value(slot: str, value: str, rules: Rules) -> str:
    """Return the normalized value of a slot whose name is normalized; never raises an error."""
    if slot in NAME_SLOTS:
        return normalize_name(value, rules)
    if slot == "type":
        return _ALIASES["type"].get(value, value)
    if slot == "food":
        food = value.strip().lower()
        return _ALIASES["food"].get(food, food)
    if slot in TIME_SLOTS:
        return normalize_time(value)
    if slot in FLAG_SLOTS and value == "free":
        return "yes"
    return value


def normalize_name(name: str, rules: Rules) -> str:
    """Return the name of a venue or place in the spelling that the database most likely uses."""
    name = name.strip().lower()
    name = name.replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
    if rules == "2023":
        name = name.replace("bed and breakfast", "b and b")
    return NAME_ALIASES[rules].get(name, name)


def normalize_slots(slots: Mapping[str, str], rules: Rules) -> dict[str, str]:
    """Return the normalized slots and values of a domain."""
    return dict([_normal_pair(slot, value, rules) for slot, value in slots.items()])


@lru_cache(maxsize=2**15)
def _normal_pair(slot: str, value: str, rules: Rules) -> tuple[str, str]:
    name = normalize_slot(slot)
    return name, normalize_value(name, value, rules)


def normalize_states(states: Iterable[State], rules: Rules) -> list[State]:
    """Return the states of consecutive turns with slots and values normalized.

    The names of domains are not normalized. If the state does not change in a turn, the turn gets
    the same object as the previous turn.
    """
    return [*converted(states, lambda _, slots: normalize_slots(slots, rules))]


Slots = TypeVar("Slots", bound=Mapping[str, Any])
Converted = TypeVar("Converted")


def converted(
    states: Iterable[Mapping[str, Slots]], convert: Callable[[str, Slots], Converted]
) -> list[Mapping[str, Converted]]:
    """Return the states of consecutive turns after a conversion of the slots of each domain.

    If a domain or a whole state does not change in a turn, the turn gets the same object as the
    previous turn.
    """
    turns: list[Mapping[str, Converted]] = []
    before: Mapping[str, Slots] = {}
    latest: Mapping[str, Converted] = {}
    for state in states:
        if state is not before:
            changed = len(state) != len(before)
            after = {}
            for domain, slots in state.items():
                old = before.get(domain)
                # The order of slots matters if two slots get the same name.
                if old is not None and slots == old and list(slots) == list(old):
                    after[domain] = latest[domain]
                else:
                    after[domain] = convert(domain, slots)
                    changed = True
            before, latest = state, after if changed else latest
        turns.append(latest)
    return turns


def estimate_active_domains(states: Iterable[State]) -> list[tuple[str, ...]]:
    """Return the active domain of each turn of a dialogue. Before the first change of the state, a
    turn may have no active domain.

    A domain stays active until the slots of another domain change. Source: the public MultiWOZ
    evaluator, including its behavior if several domains change at once.
    """
    current: str | None = None
    previous: State = {}
    previously_changed: list[str] = []
    estimates: list[tuple[str, ...]] = []
    for state in states:
        changed = [
            domain
            for domain, slots in (state.items() if state is not previous else ())
            if slots is not (before := previous.get(domain, {})) and slots.items() - before.items()
        ]
        if not changed:
            if current is None:
                estimates.append(())
                # (odd) Nothing is updated, not even the previous state.
                continue
            if len(previously_changed) > 1:
                # Two domains changed at once and one of them was chosen; now the other domain
                # becomes active.
                waiting = (d for d in previously_changed if d in state and d != current)
                current = next(waiting, current)
        elif current not in changed:
            current = max(changed, key=lambda domain: len(state[domain]))
        previous, previously_changed = state, changed
        assert current is not None
        estimates.append((current,))
    return estimates
