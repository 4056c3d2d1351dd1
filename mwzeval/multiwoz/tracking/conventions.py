"""The conventions of joint goal accuracy: what may be chosen, presets, and how they are spelled.

Papers that report "joint goal accuracy on MultiWOZ" differ in everything that is listed here. A
convention is a preset, or a preset with choices changed: `trade`, `exact+dontcare=absent`. That
spelling is used on the command line, in Python, in reports and signatures. What the presets stand
for, and what of the published code they leave out, says `docs/dst.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

from mwzeval.errors import UsageError, did_you_mean, shorten

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
    spelled = (
        names.split(",") if isinstance(names, str) else [n for of in names for n in of.split(",")]
    )
    conventions: dict[str, Convention] = {}
    problems: list[str] = []
    fuzzy = False
    for text in (text.strip() for text in spelled):
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
    of_all = {**PRESETS.get(preset, {}), **chosen}
    if of_all.get("values") in CORRECTING and of_all.get("none") == "value":
        yield (
            f"{where}: none=value contradicts values={of_all['values']}, whose corrections turn "
            "labels that cannot be used into none, meaning not filled"
        )
