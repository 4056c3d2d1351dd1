"""Real database and value lists, golden records and replayed draws; goals and acts of any kind."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.metrics.measure import ScoredTable
from mwzeval.multiwoz.acts import SAME, SYSTEM_SLOTS, USER_SLOTS, Act, Draws
from mwzeval.multiwoz.convlab.evaluator import COLUMNS, Outcome, measures, row
from mwzeval.multiwoz.convlab.resources import (
    TABLES,
    ActDatabase,
    ActResources,
    system_values,
    user_values,
)
from mwzeval.multiwoz.convlab.system import WHOLE_NUMBERS, ActSystem, RuleSystem, hold_in_acts
from mwzeval.multiwoz.convlab.user import AgendaUser
from mwzeval.multiwoz.goals.goal import Goal
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from tests.places import read_json, shared

Trace = dict[str, Any]
USER_CALLS = 21
"""Turns of the user, the last of which is its farewell: by then it has given up by itself."""


@lru_cache(maxsize=1)
def real_database() -> ActDatabase:
    """Return the real database."""
    folder = shared("data", "multiwoz", "db")
    return ActDatabase({domain: read_json(folder / f"{domain}_db.json") for domain in TABLES})


@lru_cache(maxsize=1)
def real_resources() -> ActResources:
    """Return the real database and value lists."""
    folder = shared("data", "live", "convlab2")
    return ActResources(
        real_database(),
        system_values(read_json(folder / "value_set.json")),
        user_values(read_json(folder / "value_dict.json")),
    )


def hold_dialogue(
    goal: Goal,
    system: ActSystem,
    resources: ActResources,
    *,
    seed: int,
    item: str,
    trial: int = 1,
) -> Trajectory:
    """Return a dialogue of the agenda user about a goal, with the user's report."""
    record = Record()
    draws = Draws(seed, item, trial, "user")
    user = AgendaUser(goal, resources.system_values, draws)
    ending = hold_in_acts(lambda: user, lambda: system, record, USER_CALLS)
    return record.trajectory(Planned(item, goal, trial, seed=seed), ending)


def scored(outcomes: Sequence[Outcome]) -> ScoredTable:
    """Return the table of dialogues with these outcomes."""
    rows = [(str(number), row(outcome)) for number, outcome in enumerate(outcomes)]
    table = Table.from_rows(COLUMNS, rows)
    return ScoredTable(table, tuple(measures(table.sums(), lambda name: Signature(name, ()))))


def golden(name: str) -> Iterator[Trace]:
    """Yield the records of a golden file of live dialogues."""
    with shared("golden", "live", f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def acts(raw: Sequence[Sequence[str]]) -> list[Act]:
    """Return acts as records have them."""
    return [Act(*act) for act in raw]


def belief(system: RuleSystem) -> dict[str, dict[str, dict[str, str]]]:
    """Return the filled slots of the belief state, as traces have them."""
    filled: dict[str, dict[str, dict[str, str]]] = {}
    for part, domains in (("semi", system.semi), ("book", system.book)):
        for domain, slots in domains.items():
            values = {slot: value for slot, value in slots.items() if value}
            if values:
                filled.setdefault(domain, {})[part] = values
    return filled


class RecordedDraws(Draws):
    """Gives back recorded choices; each must be of the kind that is asked for, and all are used."""

    def __init__(self) -> None:
        self._left: Iterator[Sequence[Any]] = iter(())

    def load(self, recorded: Sequence[Sequence[Any]]) -> None:
        """Take the choices of the next turn."""
        self._left = iter(recorded)

    def check_used_up(self) -> None:
        assert list(self._left) == []

    def take(self, *kinds: str) -> Sequence[Any]:
        kind, *found = next(self._left, (None,))
        assert kind in kinds, f"{kind} is recorded where {kinds} is drawn"
        return found

    def random(self) -> float:
        number, *said = self.take("random", "same")
        assert said in ([], [number < SAME])
        return float(number)

    def pick(self, n: int) -> int:
        *count, index = self.take("randint" if n == WHOLE_NUMBERS else "pick")
        assert count in ([], [n])
        return int(index)

    def shuffle(self, names: Collection[str]) -> list[str]:
        (order,) = self.take("order", "shuffle")
        assert sorted(order) == sorted(names)
        return list(order)


SAID = st.sampled_from(
    [
        *("", " ", "?", "0", "zero", "1", "5", "dontcare", "none", "no", "yes", "north", "monday"),
        *("10:00", "9:99", "99:99:99", "the same", "4 stars", "１２:３０", "\u0130", "-"),
        *("general", "3", "hotel", "99:99", "00000001"),
    ]
)
PARTS = st.fixed_dictionaries(
    {"info": st.dictionaries(st.sampled_from(["area", "name", "day"]), SAID, max_size=3)},
    optional={
        "fail_info": st.dictionaries(st.sampled_from(["area", "name", "stars"]), SAID),
        "reqt": st.lists(st.sampled_from(["phone", "postcode", "name"]), unique=True),
        "book": st.dictionaries(st.sampled_from(["people", "day", "time", "stay"]), SAID),
        "fail_book": st.dictionaries(st.sampled_from(["people", "day"]), SAID),
    },
)


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    domains = draw(st.lists(st.sampled_from(sorted(USER_SLOTS)), unique=True, min_size=1))
    return {"domain_ordering": domains, **{domain: draw(PARTS) for domain in domains}}


INTENTS = (
    "Inform Request NoOffer Recommend Select OfferBook OfferBooked Book NoBook bye X-NoBook "
    "greet reqmore inform-booking NOOFFERgeneral"
)
KNOWN = st.builds(
    Act,
    st.sampled_from(INTENTS.split()),
    st.sampled_from([*(name.capitalize() for name in SYSTEM_SLOTS), "general", "booking", "Bus"]),
    st.sampled_from(
        sorted(
            {slot.capitalize() for slots in SYSTEM_SLOTS.values() for slot in slots}
            | {slot for slots in USER_SLOTS.values() for slot in slots}
            | {"Open", "none"}
        )
    ),
    SAID,
)
WORD = st.text(max_size=5)
SYSTEM_ACTS = st.lists(KNOWN | st.builds(Act, WORD, WORD, WORD, WORD), max_size=6)
