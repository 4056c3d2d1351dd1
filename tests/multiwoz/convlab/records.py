"""Real database and value lists, golden records of ConvLab-2, and draws that are replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.convlab.act_database import ActDatabase
from mwzeval.multiwoz.convlab.acts import Act
from mwzeval.multiwoz.convlab.draws import SAME
from mwzeval.multiwoz.convlab.rule_tracker import RuleTracker, ValueSpellings
from tests.places import read_json, shared

DOMAINS = ("attraction", "hospital", "hotel", "police", "restaurant", "train")
Trace = dict[str, Any]


@lru_cache(maxsize=1)
def real_database() -> ActDatabase:
    """Return the real database."""
    folder = shared("data", "multiwoz", "db")
    return ActDatabase({domain: read_json(folder / f"{domain}_db.json") for domain in DOMAINS})


@lru_cache(maxsize=1)
def spellings() -> ValueSpellings:
    """Return the real value spellings."""
    return ValueSpellings(read_json(shared("data", "live", "convlab2", "value_dict.json")))


def golden(name: str) -> Iterator[Trace]:
    """Yield the records of a golden file of live dialogues."""
    with shared("golden", "live", f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def acts(raw: Sequence[Sequence[str]]) -> list[Act]:
    """Return acts as records have them."""
    return [Act(*act) for act in raw]


def belief(tracker: RuleTracker) -> dict[str, dict[str, dict[str, str]]]:
    """Return the filled slots of a tracker, as traces have them."""
    filled: dict[str, dict[str, dict[str, str]]] = {}
    for part, domains in (("semi", tracker.semi), ("book", tracker.book)):
        for domain, slots in domains.items():
            values = {slot: value for slot, value in slots.items() if value}
            if values:
                filled.setdefault(domain, {})[part] = values
    return filled


class Recorded:
    """Gives back recorded choices; each must be of the kind that is asked for, and all are used."""

    def __init__(self) -> None:
        self._left: Iterator[Sequence[Any]] = iter(())

    def load(self, recorded: Sequence[Sequence[Any]]) -> None:
        """Take the choices of the next turn."""
        self._left = iter(recorded)

    def check_used_up(self) -> None:
        assert list(self._left) == []

    def take(self, kind: str) -> Sequence[Any]:
        found = next(self._left, None)
        assert found is not None, f"no recorded choice is left for {kind}"
        assert found[0] == kind
        return found[1:]


class RecordedUserDraws(Recorded):
    """The recorded choices of a user."""

    def order(self, slots: Sequence[str]) -> list[str]:
        (order,) = self.take("order")
        assert sorted(order) == sorted(slots)
        return list(order)

    def same(self) -> bool:
        number, said = self.take("same")
        assert (number < SAME) == said
        return bool(said)

    def pick(self, n: int) -> int:
        count, index = self.take("pick")
        assert count == n
        return int(index)


class RecordedSystemDraws(Recorded):
    """The recorded choices of a system."""

    def random(self) -> float:
        (number,) = self.take("random")
        return float(number)

    def randint(self) -> int:
        (number,) = self.take("randint")
        return int(number)

    def shuffle(self, names: Sequence[str]) -> list[str]:
        (order,) = self.take("shuffle")
        assert sorted(order) == sorted(names)
        return list(order)
