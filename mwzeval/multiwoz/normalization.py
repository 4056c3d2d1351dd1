"""One spelling for slots and values, as databases spell them, and the active domains of turns.

Every published figure depends on these rules, the odd ones too, so none of them may be "repaired";
a rule that must change becomes a new rule set. An alias is a spelling that means the same; to add
one, add a line, which changes scores and so belongs into a new rule set too. The slots that states
can have are listed for warnings only: systems that predict others are scored as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.schema import (
    FLAG_SLOTS,
    NAME_SLOTS,
    SEARCH_SLOTS,
    SHORT_SLOTS,
    STATE_BOOKING_SLOTS,
    TIME_SLOTS,
)

SPOKEN_TIMES = {
    "afternoon": "13:00",
    "lunch": "12:00",
    "noon": "12:00",
    "mid-day": "12:00",
    "around lunch time": "12:00",
    "morning": "08:00",
    "seven o'clock tomorrow evening": "07:00",  # (odd) not 19:00
    "three forty five p.m": "15:45",
    "one thirty p.m.": "13:30",
    "six fourty five": "06:45",
    "eight thirty": "08:30",
}
SPOKEN_BEGINNINGS = {"one o'clock p.m": "13:00", "ten o'clock a.m": "10:00"}


def normalize_time(time: str) -> str:
    """Return `HH:MM` where the text can be read as a time, else the text; never raises."""
    time = time.strip().lower()
    if time in SPOKEN_TIMES:
        return SPOKEN_TIMES[time]
    for beginning, spoken in SPOKEN_BEGINNINGS.items():
        if time.startswith(beginning):
            return spoken
    time = _without_preposition(time)
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


def _without_preposition(time: str) -> str:
    if time.startswith("by"):
        time = time[3:]
    if time.startswith("after"):
        time = time[5:].strip()
    if time.startswith("afer"):  # "afer 14:00"
        time = time[4:].strip()
    return time


def _after_noon(time: str) -> str | None:
    """Return the time twelve hours later, its minutes as they stand; None where that makes none."""
    # (odd) 12 pm becomes 24:00, and "5: 30 pm" becomes "17: 30".
    if time.count(":") == 1:
        hours, minutes = time.split(":")
        # Hours that are no number are bad input, and stay.
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
    # Python refuses to read numbers of thousands of digits, so those are text.
    return text.isascii() and text.isdigit() and len(text) < 1000


NAME_ALIASES_2021 = {
    "hotel du vin bistro": "hotel du vin and bistro",
    "the river bar and grill": "the river bar steakhouse and grill",
    "nando's": "nandos",
    "city center b and b": "city center north b and b",
    "acorn house": "acorn guest house",
    "caffee uno": "caffe uno",
    "cafe uno": "caffe uno",
    "rosa's": "rosas bed and breakfast",
    "restaurant called two two": "restaurant two two",
    "restaurant 2 two": "restaurant two two",
    "restaurant two 2": "restaurant two two",
    "restaurant 2 2": "restaurant two two",
    "restaurant 1 7": "restaurant one seven",
    "restaurant 17": "restaurant one seven",
    "lime house": "limehouse",
    "cityrooms": "cityroomz",
    "whale of time": "whale of a time",
    "huntingdon hotel": "huntingdon marriott hotel",
    "holiday inn exlpress, cambridge": "express by holiday inn cambridge",
    "university hotel": "university arms hotel",
    "arbury guesthouse and lodge": "arbury lodge guesthouse",
    "arbury guesthouse": "arbury lodge guesthouse",
    "bridge house": "bridge guest house",
    "nandos in the city centre": "nandos city centre",
    "broughton gallery": "broughton house gallery",
    "scudamores punt co": "scudamores punting co",
    "cambridge botanic gardens": "cambridge university botanic gardens",
    "the botanical gardens at cambridge university": "cambridge university botanic gardens",
    "the junction": "junction theatre",
    "trinity street college": "trinity college",
    "christ college": "christ's college",
    "christs": "christ's college",
    "history of science museum": "whipple museum of the history of science",
    "parkside pools": "parkside swimming pool",
    "cafe jello museum": "cafe jello gallery",
}
NAME_ALIASES: dict[Rules, dict[str, str]] = {
    "2021": NAME_ALIASES_2021,
    "2023": NAME_ALIASES_2021
    | {
        "a and b guest house": "a and b guesthouse",
        "acorn guesthouse": "acorn guest house",
    },
}

TYPE_ALIASES = {
    "swimming pool": "swimmingpool",
    "mutliple sports": "multiple sports",
    "night club": "nightclub",
    "guest house": "guesthouse",
}

FOOD_ALIASES = {
    "eriterean": "mediterranean",
    "brazilian": "portuguese",
    "sea food": "seafood",
    "portugese": "portuguese",
    "modern american": "north american",
    "americas": "north american",
    "intalian": "italian",
    "italain": "italian",
    "asian or oriental": "asian",
    "english": "british",
    "brutish": "british",
    "bristish": "british",
    "australasian": "australian",
    "gastropod": "gastropub",
    "europeon": "european",
}


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


def estimate_active_domains(states: Iterable[State]) -> list[tuple[str, ...]]:
    """Return the active domains of each turn of a dialogue: one domain, or none so far.

    The dialogue stays in its domain until another one's slots change. Source: the public
    MultiWOZ evaluator, whose treatment of several domains changing at once is kept as it is.
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
                # Two domains changed at once and one was taken: now the other's turn has come.
                waiting = [
                    domain for domain in previously_changed if domain in state and domain != current
                ]
                current = waiting[0] if waiting else current
        elif current not in changed:
            current = max(changed, key=lambda domain: len(state[domain]))
        previous, previously_changed = state, changed
        assert current is not None
        estimates.append((current,))
    return estimates
