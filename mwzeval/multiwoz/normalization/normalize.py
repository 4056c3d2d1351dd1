"""One spelling for slots, values and responses: what is compared, and what databases are asked for.

Every published figure depends on these rules, the odd ones too, so none of them may be "repaired";
a rule that must change becomes a new rule set. To add a spelling of a value, see `aliases.py`; of a
placeholder, `placeholders.py`. The slots that states can have are listed for warnings only: systems
that predict others are scored as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.normalization.aliases import (
    FOOD_ALIASES,
    NAME_ALIASES,
    TYPE_ALIASES,
    normalize_time,
)
from mwzeval.multiwoz.normalization.placeholders import placeholders_of
from mwzeval.multiwoz.normalization.spacing import natural_spacing
from mwzeval.multiwoz.schema import (
    FLAG_SLOTS,
    NAME_SLOTS,
    SEARCH_SLOTS,
    SHORT_SLOTS,
    STATE_BOOKING_SLOTS,
    TIME_SLOTS,
)

ONTOLOGY = {
    domain: frozenset(slots).union(
        # Many systems write booking slots without `book` in front; neither form is scored.
        *({slot, slot.removeprefix("book")} for slot in STATE_BOOKING_SLOTS.get(domain, ()))
    )
    for domain, slots in SEARCH_SLOTS.items()
}


State = Mapping[str, Mapping[str, str]]
"""Domain → slot → value."""


@lru_cache(maxsize=2**12)
def normalize_slot(slot: str) -> str:
    """Return the slot name as database columns spell it."""
    slot = slot.lower().replace(" ", "")
    return SHORT_SLOTS.get(slot, slot)


@lru_cache(maxsize=2**15)
def normalize_value(slot: str, value: str, rules: Rules) -> str:
    """Return the value of a normalised slot in the one spelling that is compared; never raises."""
    if slot in NAME_SLOTS:
        return normalize_name(value, rules)
    if slot == "type":
        return TYPE_ALIASES.get(value, value)
    if slot == "food":
        food = value.strip().lower()
        return FOOD_ALIASES.get(food, food)
    if slot in TIME_SLOTS:
        return normalize_time(value)
    if slot in FLAG_SLOTS and value == "free":
        return "yes"
    return value


def normalize_name(name: str, rules: Rules) -> str:
    """Return the name of a venue or place as the database is likely to spell it."""
    name = name.strip().lower()
    name = name.replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
    if rules == "2023":
        name = name.replace("bed and breakfast", "b and b")
    return NAME_ALIASES[rules].get(name, name)


def normalize_slots(slots: Mapping[str, str], rules: Rules) -> dict[str, str]:
    """Return a domain's slots and values normalised."""
    return dict([_normal_pair(slot, value, rules) for slot, value in slots.items()])


@lru_cache(maxsize=2**15)
def _normal_pair(slot: str, value: str, rules: Rules) -> tuple[str, str]:
    name = normalize_slot(slot)
    return name, normalize_value(name, value, rules)


def normalize_states(states: Iterable[State], rules: Rules) -> list[State]:
    """Return the states of consecutive turns with slots and values normalised.

    Domains stay as they are. What a turn leaves as it was is the same object as before.
    """
    normal: list[State] = []
    before: State = {}
    for state in states:
        if state is not before:
            normal.append(_normalize_after(state, before, normal[-1] if normal else {}, rules))
        else:
            normal.append(normal[-1])
        before = state
    return normal


def _normalize_after(state: State, before: State, normal_before: State, rules: Rules) -> State:
    normal = {}
    changed = len(state) != len(before)
    for domain, slots in state.items():
        if slots == before.get(domain):
            known = normal_before[domain]
            # Where two slots became one, the later one counts, and equal slots may come in
            # another order.
            if len(known) == len(slots):
                normal[domain] = known
                continue
        normal[domain] = normalize_slots(slots, rules)
        changed = True
    return normal if changed else normal_before


def canonical_response(response: str) -> str:
    """Return a delexicalised response with canonical placeholders, spaced as it came."""
    return placeholders_of(response).text


def normalize_response(response: str) -> str:
    """Return a delexicalised response with canonical placeholders and natural spacing."""
    return natural_spacing(canonical_response(response))


def unknown_placeholders(response: str) -> tuple[str, ...]:
    """Return the placeholders of a response that no rule knows; they vanish from the text."""
    return placeholders_of(response).unknown
