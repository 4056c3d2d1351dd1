"""Reproducible random choices, JSON layouts, and tables of phrases.

Python guarantees only the stability of `random.Random.random`, so all choices are based on it.
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]


class Dice:
    """A seeded source of choices."""

    def __init__(self, seed: int | str) -> None:
        self.share = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self.share() < probability

    def number(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + int(self.share() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def mixed(self, options: Sequence[T]) -> list[T]:
        rest = list(options)
        return [rest.pop(self.number(0, len(rest) - 1)) for _ in options]


class Deck:
    """Phrases in random order; a phrase is repeated only after all others of its list."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._piles: dict[tuple[str, ...], list[str]] = {}

    def deal(self, options: Sequence[str]) -> str:
        pile = self._piles.setdefault(tuple(options), [])
        if not pile:
            pile.extend(self._dice.mixed(options))
        return pile.pop()


def line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def array_text(items: Iterable[Any]) -> str:
    """Return a JSON array with a line per item."""
    return "[\n" + ",\n".join(line(item) for item in items) + "\n]\n"


def object_text(members: Mapping[str, Any]) -> str:
    """Return a JSON object with a line per member."""
    return "{\n" + ",\n".join(f"{line(k)}:{line(v)}" for k, v in members.items()) + "\n}\n"


def read_rows(path: Path) -> list[list[str]]:
    """Return the cells of each line of a TSV file; lines that begin with "#" are comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def read_lists(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the last cells of a TSV file's lines, grouped by the cells before them."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for *key, value in read_rows(path):
        found[tuple(key)].append(value)
    return {key: tuple(values) for key, values in found.items()}
