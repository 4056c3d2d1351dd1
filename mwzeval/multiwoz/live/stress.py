"""The stress conditions of a live run: their rates, presets and random draws.

A condition makes a run harder in one way. The rate of a condition is the probability that it
affects a call, a domain, a message, a word or a dialogue. The rates of the presets and their
reasons are in `docs/stress.md`.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random
from typing import Any

from mwzeval.conversation.messages import USER_ROLE
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.cache import combined_fingerprint
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.goals import Records
from mwzeval.multiwoz.schema import UNKNOWN_VALUES

VERSION = 1
"""This number is increased when the same text leads to different dialogues."""
TOOL_FAULTS, CHANGES, NOISE, ATTITUDE = "tools", "goals", "words", "attitude"
"""The layers of conditions, which are also presets."""
CLEAN, REALISTIC, HARD = "clean", "realistic", "hard"
IMPATIENT = "impatient"
LEAST_PATIENCE = 2
MOST_TURNS = 1_000
STRESS = "stress"
"""The key of a trajectory line that contains the events."""
FOLDER = embedded("live", "stress")

Rates = Mapping[str, float]

_ROWS = tuple(table_rows(FOLDER / "conditions.tsv", 5))
LAYERS: Mapping[str, str] = {condition: layer for layer, condition, *_ in _ROWS}
"""Maps each condition to its layer: tools, goals, words or attitude."""
_OFF: Rates = {condition: float(rate) for _, condition, rate, *_ in _ROWS}
_HARD: Rates = {condition: float(row[-1]) for _, condition, *row in _ROWS}
PRESETS: Mapping[str, Rates] = {
    CLEAN: _OFF,
    REALISTIC: {condition: float(row[-2]) for _, condition, *row in _ROWS},
    HARD: _HARD,
    **{
        layer: {c: _HARD[c] if LAYERS[c] == layer else rate for c, rate in _OFF.items()}
        for layer in dict.fromkeys(LAYERS.values())
    },
}
"""The rates of each preset. `tools`, `goals`, `words` and `attitude` have the rates of `hard`."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a run. `rates` has the rates that differ from those of a clean run.

    `preset` is the name of the preset with exactly these rates, or empty. An object without rates
    is false.
    """

    rates: Rates
    preset: str = ""

    def __bool__(self) -> bool:
        return bool(self.rates)

    def __getitem__(self, condition: str) -> float:
        return self.rates.get(condition, _OFF[condition])

    def of(self, *layers: str) -> list[str]:
        """Return the active conditions of some layers."""
        return [condition for condition in self.rates if LAYERS[condition] in layers]

    def about(self) -> dict[str, Any]:
        """Return the entry of the header."""
        name = {"name": self.preset} if self.preset else {}
        rates = {c: int(rate) if rate.is_integer() else rate for c, rate in self.rates.items()}
        return {"version": VERSION, **name, "tables": tables_checksum(), **rates}


def parse_conditions(text: str | None) -> Conditions:
    """Return the conditions in a text such as `realistic,typos=0`, a preset with changed rates.

    Without text, there are no conditions. Raises `UsageError` for anything but text, for unknown
    names, and for rates that are not possible.
    """
    if not isinstance(text, str | None):
        raise UsageError(
            f"--stress: expected text, such as realistic,typos=0, not {shorten(repr(text))}"
        )
    rates, known = dict(_OFF), {**PRESETS, **_OFF}
    given: set[str] = set()
    for part in filter(None, map(str.strip, (text or "").split(","))):
        name, equals, rate = (piece.strip() for piece in part.partition("="))
        if name not in known:
            hint = f"{did_you_mean(name, known)} (known: {', '.join(known)})"
            raise UsageError(f'--stress: unknown condition "{shorten(name)}"{hint}')
        if name in given:
            raise UsageError(f"--stress: {name} is given twice")
        if name not in PRESETS:
            rates[name] = _checked_rate(name, rate)
        elif equals or given:
            raise UsageError(
                f"--stress: {name} is a preset: name one preset without a rate, before all rates"
            )
        else:
            rates.update(PRESETS[name])
        given.add(name)
    if rates["passive"] + rates["rush"] > 1:
        raise UsageError("--stress: the sum of the rates passive and rush must be at most 1")
    changed = {name: rate for name, rate in rates.items() if rate != _OFF[name]}
    preset = next((name for name, known in PRESETS.items() if known == rates), "")
    return Conditions(changed, preset if changed else "")


def _checked_rate(name: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    is_possible, expected = 0 <= rate <= 1, "a rate from 0 to 1"
    if name == IMPATIENT:
        is_possible = rate == 0 or (rate in range(LEAST_PATIENCE, MOST_TURNS + 1))
        turns = f"from {LEAST_PATIENCE} to {MOST_TURNS}"
        expected = f"a whole number of turns {turns}, or 0 for none"
    if is_possible:
        return rate
    example = f"{name}={_HARD[name]:g}"
    raise UsageError(f'--stress: {name} must be {expected}, as in {example}, not "{shorten(text)}"')


@cache
def tables_checksum() -> str:
    """Return a checksum of the tables of words and rates, with 8 hexadecimal digits."""
    return combined_fingerprint({path.name: path for path in FOLDER.iterdir()})[:8]


def label(about: Mapping[str, Any]) -> str:
    """Return the conditions in a header for a signature: `hard@1` or `change=.3,errors=.2@1`."""
    rates = {
        name: f"{rate:g}".replace("0.", ".")
        for name, rate in sorted(about.items())
        if name != "version" and isinstance(rate, int | float) and abs(rate) <= MOST_TURNS
    }
    listed = ",".join(f"{name}={rate}" for name, rate in rates.items())
    return f"{about.get('name') or listed}@{about.get('version', '?')}"


@lru_cache(maxsize=2**4)
def table(name: str, columns: int) -> Sequence[tuple[str, ...]]:
    """Return the rows of a table of words."""
    return [tuple(row) for row in table_rows(FOLDER / name, columns)]


@lru_cache(maxsize=2**7)
def known_values(database: Records, domain: str, slot: str) -> list[str]:
    """Return the known values of a slot in the records of a domain, sorted."""
    values = {str(row.get(slot, "")) for row in database.query(domain, ())}
    return sorted(values - UNKNOWN_VALUES)


class Stress:
    """The conditions in one dialogue: their random choices, and the events that they cause.

    A choice depends only on seed, item, trial, condition and key. Therefore, a condition does not
    change the choices of another condition, and the choices are the same for all agents.

    The record stores the events in the entry `stress` of the line: `faults` (kind, domain, turn),
    `changes` (kind, domain, slot, turn) and `mood`. Turns are counted from 0.
    """

    def __init__(self, conditions: Conditions, planned: Planned, record: Record) -> None:
        self.conditions = conditions
        self._dialogue = planned.key
        self._record = record
        if STRESS not in record.more:
            record.keep({STRESS: {}})

    def number(self, condition: str, *key: object) -> float:
        """Return a number of at least 0 and below 1."""
        digest = hashlib.sha256(self._text(condition, key).encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def happens(self, condition: str, *key: object) -> bool:
        """Return whether a condition affects the case with this key."""
        rate = self.conditions[condition]
        return rate > 0 and self.number(condition, *key) < rate

    def affected(self, count: int, condition: str, *key: object) -> list[tuple[int, float]]:
        """Return the places below `count` that a condition affects, with a number as a seed."""
        limit = self.conditions[condition] * 2**32
        if not limit:
            return []
        text = self._text(condition, key).encode()
        numbers = struct.unpack(f">{count}I", hashlib.shake_256(text).digest(4 * count))
        return [(place, n / 2**32) for place, n in enumerate(numbers) if n < limit]

    def generator(self, condition: str, *key: object) -> Random:
        """Return a generator for several choices about one case."""
        return Random(self._text(condition, key))

    def _text(self, condition: str, key: tuple[object, ...]) -> str:
        return "/".join([self._dialogue, condition, *map(str, key)])

    def log_fault(self, kind: str, domain: str, *, once: bool = False) -> None:
        """Record a fault of a tool in the current turn. With `once`, repetitions are omitted."""
        events = self._events("faults")
        event = {"kind": kind, "domain": domain, "turn": self._turns - 1}
        if not once or event not in events:
            self.log("faults", [*events, event])

    def log_change(self, kind: str, domain: str, slot: str) -> None:
        """Record a change that the user states in the message that it begins now."""
        event = {"kind": kind, "domain": domain, "slot": slot, "turn": self._turns}
        self.log("changes", [*self._events("changes"), event])

    def log(self, key: str, value: Any) -> None:
        """Record another entry, such as the user's `mood`."""
        self._record.keep({STRESS: {**self._record.more[STRESS], key: value}})

    def _events(self, key: str) -> Sequence[Any]:
        events: Sequence[Any] = self._record.more[STRESS].get(key, ())
        return events

    @property
    def _turns(self) -> int:
        """The number of previous user messages or, at act level, of previous turns."""
        said: int = sum(message.get("role") == USER_ROLE for message in self._record.messages)
        return said + len(self._record.acts)
