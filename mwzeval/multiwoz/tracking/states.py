"""The conventions of joint goal accuracy, and states in the spelling that each compares.

Papers that report "joint goal accuracy on MultiWOZ" differ in everything that `CHOICES` lists. A
convention is a preset, or a preset with choices changed: `trade`, `exact+dontcare=absent`. That
spelling is used on the command line, in Python, in reports and signatures. `docs/dst.md` explains
the presets, and what of the published code they leave out.

For all conventions alike: slot names are normalised; booking slots are called so with or without
`book` in front; values are compared in lower case with single blanks; an empty value and
"not mentioned" mean that a slot is not filled; spellings of "dontcare" are one.

The conventions `trade` and `trade-script` also correct labels, by tables that TRADE's authors wrote
for the noise of MultiWOZ 2.0: first spellings are mended whatever the slot is, then labels that
belong to another slot are mended or taken away. Odd ones are deliberate: figures depend on them.
Source: Wu et al., ACL 2019, and its public code (`fix_general_label_error`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import TypeVar

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.database import partial_ratio
from mwzeval.multiwoz.normalization import State, normalize_slot, normalize_value
from mwzeval.multiwoz.schema import (
    DONTCARE,
    DONTCARE_SPELLINGS,
    FIVE_DOMAINS,
    NONE,
    NOT_MENTIONED,
    SEARCH_SLOTS,
    STATE_BOOKING_SLOTS,
)

FUZZY95 = "fuzzy95"
"""The rule of `--dst`: no convention, because nothing of it can be chosen."""

CHOICES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "values": {
            "exact": "equal after the normalisation of states (see --rules), in lower case",
            "literal": "equal as they stand, but for case and blanks",
            "fuzzy95": "partial_ratio above 95 after the normalisation of states",
            "trade": "equal after TRADE's corrections of labels",
            "trade-labels": "labels after TRADE's corrections equal predictions as they stand",
        },
        "dontcare": {
            "value": '"dontcare" is a value like any other',
            "absent": 'a slot that is "dontcare" is not filled',
        },
        "none": {
            "absent": 'a slot that is "none" is not filled',
            "value": '"none" is a value like any other',
            "annotated": '"none" is a value where it is annotated, which no prediction can have',
        },
        "alternatives": {
            "any": "each of several annotated values is right",
            "first": "only the first of several annotated values is right",
        },
        "booking": {
            "in": "booking slots count",
            "out": "booking slots are left out on both sides",
        },
        "slots": {
            "all": "every slot counts, also one that MultiWOZ does not have",
            "30": "only the 30 slots of restaurant, hotel, attraction, train, taxi count",
        },
        "domain-turns": {
            "active": "a domain's turns are those with a slot of it, annotated or predicted",
            "all": "a domain's turns are all turns",
            "dialogue": "a domain's turns are those of all dialogues that it is annotated in",
        },
    }
)
"""What may be chosen, in the order of signatures: choice → value → what it means."""

CORRECTING = ("trade", "trade-labels")
"""The values of `values` that correct labels."""

LAMBDA = "lambda"
NUMBERS: Mapping[str, str] = MappingProxyType(
    {LAMBDA: "of flexible goal accuracy: the higher, the less do errors of earlier turns count"}
)
"""What may be chosen freely, numbers from 0 up: choice → what it means."""

_EXACT = {
    "values": "exact",
    "dontcare": "value",
    "none": "absent",
    "alternatives": "any",
    "booking": "in",
    "slots": "all",
    "domain-turns": "active",
    LAMBDA: "0.5",
}
# Wu et al., "Transferable Multi-Domain State Generator for Task-Oriented Dialogue Systems", ACL
# 2019.
_TRADE = {
    **_EXACT,
    "values": "trade",
    "alternatives": "first",
    "slots": "30",
    "domain-turns": "dialogue",
}
PRESETS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "exact": _EXACT,
        "trade": _TRADE,
        "trade-raw": {**_TRADE, "values": "literal"},
        "trade-script": {**_TRADE, "values": "trade-labels", "none": "annotated"},
        # Zang et al., "MultiWOZ 2.2", NLP4ConvAI 2020.
        "mwz22": {**_EXACT, "values": "literal"},
    }
)
"""Conventions by name, each naming all choices."""

RULES = (FUZZY95, *PRESETS)


@dataclass(frozen=True, slots=True)
class Convention:
    """A preset with its choices, changed ones in place of the preset's."""

    preset: str
    choices: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, preset: str, changed: Mapping[str, str] = MappingProxyType({})) -> Convention:
        """Return a preset with some choices changed. Raises `KeyError` for an unknown preset."""
        return cls(preset, tuple({**PRESETS[preset], **changed}.items()))

    def __getitem__(self, choice: str) -> str:
        return dict(self.choices)[choice]

    @property
    def name(self) -> str:
        """The one spelling of the convention, `trade+booking=out`."""
        usual = PRESETS[self.preset]
        changed = (f"+{key}={value}" for key, value in self.choices if usual[key] != value)
        return self.preset + "".join(changed)


def parse_rules(names: str | Iterable[str]) -> tuple[bool, tuple[Convention, ...]]:
    """Return whether `fuzzy95` is named, and the conventions, each once and in order.

    `names` are spellings, one by one or with commas between. Raises `UsageError` with everything
    that is wrong with them: unknown names, choices or values, and choices that contradict another.
    """
    texts = [names] if isinstance(names, str) else names
    spelled = [name.strip() for text in texts for name in text.split(",")]
    conventions: dict[str, Convention] = {}
    problems: list[str] = []
    fuzzy = False
    for text in spelled:
        if text == FUZZY95:
            fuzzy = True
            continue
        wrong = list(_problems(text))
        if not wrong:
            preset, *changes = text.split("+")
            convention = Convention.of(preset, dict(map(_choice, changes)))
            conventions.setdefault(convention.name, convention)
        problems += wrong
    if problems:
        raise UsageError(*problems)
    return fuzzy, tuple(conventions.values())


def _choice(text: str) -> tuple[str, str]:
    """Return a choice and its value, numbers in one spelling; what is wrong stays as it is."""
    key, value = (part.strip() for part in text.partition("=")[::2])
    return key, f"{float(value) + 0:g}" if key in NUMBERS and _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        return 0 <= float(text) < inf
    except ValueError:
        return False


def _problems(text: str) -> Iterator[str]:
    preset, *changes = text.split("+")
    where = f'rule "{shorten(text)}"'
    chosen: dict[str, str] = {}
    if preset == FUZZY95:
        yield (
            f"{where}: {FUZZY95} is published as it is, nothing of it can be chosen; "
            f"write exact+values={FUZZY95} and what you choose"
        )
        return
    if preset not in PRESETS:
        hint = did_you_mean(preset, RULES)
        yield f"unknown {where}{hint} (known: {', '.join(RULES)}; see docs/dst.md)"
    for key, value in map(_choice, changes):
        known = (*CHOICES, *NUMBERS)
        if key not in known:
            yield (
                f'{where}: unknown choice "{shorten(key)}"{did_you_mean(key, known)} '
                f"(known: {', '.join(known)}; write {preset or 'exact'}+booking=out)"
            )
        elif key in NUMBERS and not _is_number(value):
            yield f'{where}: {key} is a number from 0 up, such as 0.5, not "{shorten(value)}"'
        elif key in CHOICES and value not in CHOICES[key]:
            yield (
                f'{where}: "{shorten(value)}" is no value of {key}'
                f"{did_you_mean(value, CHOICES[key])} (known: {', '.join(CHOICES[key])})"
            )
        elif chosen.setdefault(key, value) != value:
            yield f"{where}: {key} cannot be both {chosen[key]} and {value}"
    choices = {**PRESETS.get(preset, {}), **chosen}
    if choices.get("values") in CORRECTING and choices.get("none") == "value":
        yield (
            f"{where}: none=value contradicts values={choices['values']}, whose corrections turn "
            "labels that cannot be used into none, meaning not filled"
        )


SPELLINGS = {
    # Types of hotels and attractions.
    **dict.fromkeys(("guesthouse", "guesthouses", "guest"), "guest house"),
    **dict.fromkeys(("mutiple sports", "mutliple sports", "sports"), "multiple sports"),
    **dict.fromkeys(("swimmingpool", "pool"), "swimming pool"),
    **dict.fromkeys(("concerthall", "concert"), "concert hall"),
    "night club": "nightclub",
    **dict.fromkeys(("mus", "musuem"), "museum"),
    **dict.fromkeys(("ol", "architectural"), "architecture"),
    **dict.fromkeys(("colleges", "coll"), "college"),
    "churches": "church",
    # Areas.
    **dict.fromkeys(
        (
            *("center", "center of town", "near city center", "cen", "ce", "town center"),
            *("centre of cambridge", "city center", "scentre", "town centre", "in town"),
            "centre of town",
        ),
        "centre",
    ),
    **dict.fromkeys(("in the north", "north part of town"), "north"),
    **dict.fromkeys(("east side", "east area"), "east"),
    "west part of town": "west",
    "the south": "south",
    "cb30aq": NONE,
    # Prices, days, stars, and what goes with a room.
    **dict.fromkeys(("mode", "moderate -ly", "mo"), "moderate"),
    "next friday": "friday",
    "monda": "monday",
    "free parking": "free",
    "free internet": "yes",
    **dict.fromkeys(("4 star", "4 stars"), "4"),
    "0 star rarting": NONE,
    "3 .": "3",
    # Answers.
    "y": "yes",
    **dict.fromkeys(("n", "does not"), "no"),
    **dict.fromkeys(("any", "does not care"), DONTCARE),
    **dict.fromkeys(("not men", "not", "not mentioned", "not mendtioned", "fun", "art", ""), NONE),
}
"""Label of any slot → what it should have been."""

_AREAS = {"moderate": NONE, "no": "north", "we": "west", "cent": "centre"}
# (odd) "no" is a day that was not meant here, and the north where it is an area.
_DAYS = {"t": NONE, "we": "wednesday", "no": NONE}

MISPLACED: dict[tuple[str, str], dict[str, str]] = {
    ("hotel", "type"): {
        **dict.fromkeys(
            (
                *("nigh", "moderate -ly priced", "bed and breakfast", "centre", "venetian"),
                *("intern", "a cheap -er hotel"),
            ),
            NONE,
        ),
        **dict.fromkeys(("hotel with free parking and free wifi", "4", "3 star hotel"), "hotel"),
    },
    ("hotel", "internet"): {"4": NONE, "free": "yes"},
    ("hotel", "pricerange"): {"2": NONE, "ch": "cheap"},
    ("restaurant", "pricerange"): {"ch": "cheap"},
    ("attraction", "type"): dict.fromkeys(
        ("gastropub", "la raza", "galleria", "gallery", "science", "m"), NONE
    ),
    ("hotel", "area"): _AREAS,
    ("restaurant", "area"): {
        **_AREAS,
        **dict.fromkeys(("stansted airport", "cambridge", "silver street"), NONE),
    },
    ("attraction", "area"): {
        **_AREAS,
        **dict.fromkeys(("norwich", "ely", "museum", "same area as hotel"), NONE),
    },
    ("hotel", "bookday"): _DAYS,
    ("restaurant", "bookday"): _DAYS,
    ("train", "day"): _DAYS,
}
"""(domain, slot) → its label, spelling mended → what it should have been."""


ABSENT = ""
"""The value of a slot that is not filled; among the right values of a gold slot that may be so."""
DST_THRESHOLD = 95
"""`--dst` and `values=fuzzy95`: two values agree when their `partial_ratio` is above this."""

BOOK = "book"

REMEMBERED = 2**15
"""How many predicted values a reader remembers the reading of."""

Raw = TypeVar("Raw")
Read = TypeVar("Read")
PredictedState = Mapping[str, Mapping[str, str]]
GoldState = Mapping[str, Mapping[str, Sequence[str]]]
"""Domain → slot → the right values, the first of them the one to show."""


def slots_of(convention: Convention) -> dict[str, tuple[str, ...]]:
    """Return the slots that a convention knows, by domain; others may count as well."""
    others = [domain for domain in SEARCH_SLOTS if domain not in FIVE_DOMAINS]
    domains = FIVE_DOMAINS if convention["slots"] == "30" else (*FIVE_DOMAINS, *others)
    booked = convention["booking"] == "in"
    return {
        domain: (
            *SEARCH_SLOTS[domain],
            *(sorted(STATE_BOOKING_SLOTS.get(domain, ())) if booked else ()),
        )
        for domain in domains
    }


def any_equal(value: str, accepted: Sequence[str]) -> bool:
    """Tell whether a value is among the right ones."""
    return value in accepted


def any_similar(value: str, accepted: Sequence[str]) -> bool:
    """Tell whether a value is close to one of the right ones."""
    return value in accepted or any(
        partial_ratio(value, other) > DST_THRESHOLD for other in accepted
    )


class StateReader:
    """Brings states into the spelling of one convention, under one set of normalisation rules.

    Domains and states that stand as in the turn before are the same objects as before.
    """

    def __init__(self, convention: Convention, rules: Rules) -> None:
        self._rules = rules
        self._values = convention["values"]
        self._dontcare_is_value = convention["dontcare"] == "value"
        self._none = convention["none"]
        self._first_only = convention["alternatives"] == "first"
        self._booking = convention["booking"] == "in"
        known = {domain: frozenset(slots) for domain, slots in slots_of(convention).items()}
        self._closed = known if convention["slots"] == "30" else None
        self._known: dict[tuple[str, str, str], tuple[str, str]] = {}

    def predicted(self, states: Iterable[State]) -> Sequence[PredictedState]:
        """Return the predicted states of consecutive turns; slots that are not filled are gone.

        Where two slots have become one, the later one counts.
        """
        return _turn_by_turn(states, self._predicted_slots)

    def gold(self, dialogue: GoldDialogue) -> Sequence[GoldState]:
        """Return the annotated states, each slot with the values that are right for it."""
        return _turn_by_turn(dialogue.slot_values(), self._gold_slots)

    def _predicted_slots(self, domain: str, slots: Mapping[str, str]) -> dict[str, str]:
        read: dict[str, str] = {}
        known = self._known
        for name, text in slots.items():
            pair = known.get((domain, name, text))
            if pair is None:
                slot = self._slot(domain, name)
                value = ABSENT if slot is None else self._value(domain, slot, text)
                pair = (slot or "", value)
                if len(known) >= REMEMBERED:
                    known.clear()
                known[domain, name, text] = pair
            if pair[1] != ABSENT:
                read[pair[0]] = pair[1]
        return read

    def _gold_slots(
        self, domain: str, slots: Mapping[str, Sequence[str]]
    ) -> dict[str, tuple[str, ...]]:
        read: dict[str, tuple[str, ...]] = {}
        for name, texts in slots.items():
            slot = self._slot(domain, name)
            if slot is not None:
                counted = texts[:1] if self._first_only else texts
                read_all = (self._value(domain, slot, text, annotated=True) for text in counted)
                values = tuple(dict.fromkeys(read_all))
                if any(value != ABSENT for value in values):
                    read[slot] = values
        return read

    def _slot(self, domain: str, name: str) -> str | None:
        """Return the slot's name; None for one that the convention leaves out."""
        slot = _slot_name(domain, name)
        if self._closed is not None:
            return slot if slot in self._closed.get(domain, ()) else None
        return slot if self._booking or not slot.startswith(BOOK) else None

    def _value(self, domain: str, slot: str, text: str, *, annotated: bool = False) -> str:
        """Return the value as it is compared; `ABSENT` when the slot is not filled."""
        value = " ".join(text.lower().split())
        if value in ("", NOT_MENTIONED):
            return ABSENT
        if self._values == "trade" or (annotated and self._values == "trade-labels"):
            value = SPELLINGS.get(value, value)
            value = MISPLACED.get((domain, slot), {}).get(value, value)
        if value in DONTCARE_SPELLINGS:
            return DONTCARE if self._dontcare_is_value else ABSENT
        if value == NONE:
            is_value = self._none == "value" or (annotated and self._none == "annotated")
            return NONE if is_value else ABSENT
        if self._values in ("exact", "fuzzy95"):
            # Booking slots are normalised as the slots that they are called after.
            return normalize_value(slot.removeprefix(BOOK), value, self._rules)
        return value


@lru_cache(maxsize=2**12)
def _slot_name(domain: str, name: str) -> str:
    slot = normalize_slot(name)
    return f"{BOOK}{slot}" if f"{BOOK}{slot}" in STATE_BOOKING_SLOTS.get(domain, ()) else slot


def _turn_by_turn(
    states: Iterable[Mapping[str, Mapping[str, Raw]]],
    read: Callable[[str, Mapping[str, Raw]], dict[str, Read]],
) -> list[dict[str, dict[str, Read]]]:
    """Return the states with each domain's slots read, where these have changed."""
    turns: list[dict[str, dict[str, Read]]] = []
    before: Mapping[str, Mapping[str, Raw]] = {}
    known: dict[str, dict[str, Read]] = {}
    for state in states:
        if turns and state is before:
            turns.append(turns[-1])
            continue
        changed = len(state) != len(before)
        now: dict[str, dict[str, Read]] = {}
        for domain, slots in state.items():
            old = before.get(domain)
            # Equal slots in another order may be read otherwise, when two of them become one.
            if old is not None and slots == old and list(slots) == list(old):
                now[domain] = known[domain]
            else:
                now[domain] = read(domain, slots)
                changed = True
        before, known = state, now
        if changed or not turns:
            turns.append({domain: slots for domain, slots in now.items() if slots})
        else:
            turns.append(turns[-1])
    return turns
