"""The conventions of joint goal accuracy, and states in the spelling of each convention.

Papers that report "joint goal accuracy on MultiWOZ" differ in all choices that `CHOICES` lists. A
convention is a preset, such as `trade`, or a preset with changed choices, such as
`exact+dontcare=absent`. The names of conventions are used on the command line, in Python, in
reports and in signatures. `docs/metrics.md` explains presets and choices, and lists parts of the
published code that are not reproduced.

All conventions share some rules: slot names are normalized; `book` is optional in the names of
booking slots; values are compared in lower case with single spaces; an empty value and "not
mentioned" mean that a slot is not filled; all spellings of "dontcare" are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import TypeVar

from mwzeval.errors import UsageError, shorten, unknown
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
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
"""The rule of `--dst`. The rule is not a convention, because it has no choices."""

CHOICES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "values": ("exact", "literal", FUZZY95, "trade", "trade-labels"),
        "dontcare": ("value", "absent"),
        "none": ("absent", "value", "annotated"),
        "alternatives": ("any", "first"),
        "booking": ("in", "out"),
        "slots": ("all", "30"),
        "domain-turns": ("active", "all", "dialogue"),
    }
)
"""The possible values of each choice, in the order of signatures. The preset `exact` uses the first
value of each choice."""
LAMBDA = "lambda"
"""An additional choice: the rate λ of flexible goal accuracy, any number of at least 0."""
KNOWN_CHOICES = (*CHOICES, LAMBDA)

_EXACT = {**{choice: values[0] for choice, values in CHOICES.items()}, LAMBDA: "0.5"}
# Wu et al., "Transferable Multi-Domain State Generator for Task-Oriented Dialogue Systems", ACL
# 2019.
_TRADE = {"values": "trade", "alternatives": "first", "slots": "30", "domain-turns": "dialogue"}
PRESETS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "exact": _EXACT,
        "trade": {**_EXACT, **_TRADE},
        "trade-raw": {**_EXACT, **_TRADE, "values": "literal"},
        "trade-script": {**_EXACT, **_TRADE, "values": "trade-labels", "none": "annotated"},
        # Zang et al., "MultiWOZ 2.2", NLP4ConvAI 2020.
        "mwz22": {**_EXACT, "values": "literal"},
    }
)
"""The values of the choices in each preset."""
RULES = (FUZZY95, *PRESETS)


@dataclass(frozen=True, slots=True)
class Convention:
    """A convention of joint goal accuracy: a preset, possibly with changed choices."""

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
        """The canonical spelling of the convention, such as `trade+booking=out`."""
        usual = PRESETS[self.preset]
        changed = (f"+{key}={value}" for key, value in self.choices if usual[key] != value)
        return self.preset + "".join(changed)


def parse_rules(names: str | Iterable[str]) -> tuple[bool, tuple[Convention, ...]]:
    """Return whether `fuzzy95` is among the names, and the named conventions without duplicates.

    `names` are names of conventions, in a list or separated by commas. Raises `UsageError` with all
    problems: unknown names, choices or values, and contradictory choices.
    """
    texts = [names] if isinstance(names, str) else names
    spelled = [name.strip() for text in texts for name in text.split(",")]
    problems: list[str] = []
    parsed = [_parse(text, problems) for text in spelled if text != FUZZY95]
    if problems:
        raise UsageError(*problems)
    return FUZZY95 in spelled, tuple(dict.fromkeys(filter(None, parsed)))


def _parse(text: str, problems: list[str]) -> Convention | None:
    """Return the convention with a spelling. If it is invalid, add a problem and return None."""
    preset, *changes = text.split("+")
    chosen: dict[str, str] = {}
    wrong = []
    if preset == FUZZY95:
        wrong.append(f"{FUZZY95} cannot be changed: write exact+values={FUZZY95}")
    elif preset not in PRESETS:
        wrong.append(unknown("rule", preset, RULES, "; see docs/metrics.md#choices"))
    for change in changes:
        key, value = (part.strip() for part in change.partition("=")[::2])
        values = CHOICES.get(key, ())
        if key == LAMBDA:
            values = ("a number of 0 or more, such as 0.5",)
            value = _number(value) or value
        if key not in KNOWN_CHOICES:
            example = f"; write {preset or 'exact'}+booking=out"
            wrong.append(unknown("choice", key, KNOWN_CHOICES, example))
        elif value not in values and not (key == LAMBDA and _number(value)):
            wrong.append(unknown(f"value of {key}", value, values))
        elif chosen.setdefault(key, value) != value:
            wrong.append(f"{key} cannot be both {chosen[key]} and {value}")
    choices = {**PRESETS.get(preset, {}), **chosen}
    if choices.get("values") in ("trade", "trade-labels") and choices.get("none") == "value":
        wrong.append(
            f"none=value contradicts values={choices['values']}, whose corrections replace "
            "unusable labels with none (not filled)"
        )
    problems += [f'rule "{shorten(text)}": {message}' for message in wrong]
    return None if wrong else Convention.of(preset, chosen)


def _number(text: str) -> str | None:
    """Return the canonical spelling of a number of at least 0; None for other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return f"{number + 0:g}" if 0 <= number < inf else None


ANY_SLOT = "*"


@lru_cache(maxsize=1)
def trade_labels() -> Mapping[str, Mapping[str, str]]:
    """Return TRADE's corrected labels by `domain-slot` (`*`: any slot) and label."""
    labels: dict[str, dict[str, str]] = {ANY_SLOT: {}}
    for slot, label, correction in table_rows(embedded("trade_labels.tsv"), 3):
        labels.setdefault(slot, {})[label] = correction
    return labels


ABSENT = ""
"""The value of a slot that is not filled. If a slot may be empty, this value is accepted."""
DST_THRESHOLD = 95
"""Under the rule of `--dst` and with `values=fuzzy95`, two values agree if their `partial_ratio`
exceeds this number."""
BOOK = "book"

Raw = TypeVar("Raw")
Read = TypeVar("Read")
PredictedState = Mapping[str, Mapping[str, str]]
GoldState = Mapping[str, Mapping[str, Sequence[str]]]
"""The accepted values by domain and slot. Reports show the first accepted value."""


def slots_of(convention: Convention) -> dict[str, tuple[str, ...]]:
    """Return the slots that a convention knows, by domain. Unlisted slots may also be scored."""
    others = [domain for domain in SEARCH_SLOTS if domain not in FIVE_DOMAINS]
    domains = FIVE_DOMAINS if convention["slots"] == "30" else (*FIVE_DOMAINS, *others)
    booking = STATE_BOOKING_SLOTS if convention["booking"] == "in" else {}
    return {d: (*SEARCH_SLOTS[d], *sorted(booking.get(d, ()))) for d in domains}


def any_equal(value: str, accepted: Sequence[str]) -> bool:
    """Return whether a value is one of the accepted values."""
    return value in accepted


def any_similar(value: str, accepted: Sequence[str]) -> bool:
    """Return whether a value is similar to any of the accepted values."""
    return value in accepted or any(
        partial_ratio(value, other) > DST_THRESHOLD for other in accepted
    )


class StateReader:
    """Normalizes dialogue states for one convention and one set of normalization rules.

    If a domain has not changed since the previous turn, the normalized domain is the same object.
    """

    def __init__(self, convention: Convention, rules: Rules) -> None:
        self._rules = rules
        self._chosen = dict(convention.choices)
        self._known = slots_of(convention)

    def predicted(self, states: Iterable[State]) -> Sequence[PredictedState]:
        """Return the predicted states of consecutive turns, without slots that are not filled.

        If two slots have the same normalized name, the value of the later slot is used.
        """

        def read(domain: str, slots: Mapping[str, str]) -> dict[str, str]:
            pairs = [_read(self, domain, name, text) for name, text in slots.items()]
            return {slot: value for slot, value in pairs if value != ABSENT}

        return _turn_by_turn(states, read)

    def gold(self, dialogue: GoldDialogue) -> Sequence[GoldState]:
        """Return the gold states of a dialogue, which have a list of accepted values per slot."""
        counted = 1 if self._chosen["alternatives"] == "first" else None

        def read(domain: str, slots: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
            right = {}
            for name, texts in slots.items():
                pairs = [_read(self, domain, name, text, True) for text in texts[:counted]]
                if any(value != ABSENT for _, value in pairs):
                    right[pairs[0][0]] = tuple(dict.fromkeys(value for _, value in pairs))
            return right

        return _turn_by_turn(dialogue.slot_values(), read)

    def slot(self, domain: str, name: str) -> str | None:
        """Return the normalized name of a slot, or None if the slot is not scored."""
        slot = normalize_slot(name)
        if f"{BOOK}{slot}" in STATE_BOOKING_SLOTS.get(domain, ()):
            slot = f"{BOOK}{slot}"
        if self._chosen["slots"] == "30":
            return slot if slot in self._known.get(domain, ()) else None
        return None if self._chosen["booking"] == "out" and slot.startswith(BOOK) else slot

    def value(self, domain: str, slot: str, text: str, *, annotated: bool) -> str:
        """Return the normalized value of a slot, or `ABSENT` if the slot is not filled."""
        value, values = " ".join(text.lower().split()), self._chosen["values"]
        if value in ("", NOT_MENTIONED):
            return ABSENT
        if values == "trade" or (annotated and values == "trade-labels"):
            labels = trade_labels()
            value = labels[ANY_SLOT].get(value, value)
            value = labels.get(f"{domain}-{slot}", {}).get(value, value)
        if value in DONTCARE_SPELLINGS:
            return DONTCARE if self._chosen["dontcare"] == "value" else ABSENT
        if value == NONE:
            none = self._chosen["none"]
            return NONE if none == "value" or (annotated and none == "annotated") else ABSENT
        if values in ("exact", FUZZY95):
            # Booking slots are normalized like the search slots of the same name.
            return normalize_value(slot.removeprefix(BOOK), value, self._rules)
        return value


@lru_cache(maxsize=2**16)
def _read(
    reader: StateReader, domain: str, name: str, text: str, annotated: bool = False
) -> tuple[str, str]:
    """Return a normalized slot and its normalized value."""
    slot = reader.slot(domain, name)
    value = ABSENT if slot is None else reader.value(domain, slot, text, annotated=annotated)
    return slot or "", value


def _turn_by_turn(
    states: Iterable[Mapping[str, Mapping[str, Raw]]],
    read: Callable[[str, Mapping[str, Raw]], dict[str, Read]],
) -> list[dict[str, dict[str, Read]]]:
    """Return the states with `read` applied to each domain that has changed."""
    turns: list[dict[str, dict[str, Read]]] = []
    before: Mapping[str, Mapping[str, Raw]] = {}
    known: dict[str, dict[str, Read]] = {}
    for state in states:
        now = {}
        for domain, slots in state.items():
            old = before.get(domain)
            # The order of slots matters if two slots get the same name.
            same = old is not None and slots == old and list(slots) == list(old)
            now[domain] = known[domain] if same else read(domain, slots)
        before, known = state, now
        turns.append({domain: slots for domain, slots in now.items() if slots})
    return turns
