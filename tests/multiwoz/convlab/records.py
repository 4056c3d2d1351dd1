"""The real database and value lists, golden records, and strategies for goals and acts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from mwzeval.multiwoz.acts import SYSTEM_SLOTS, USER_SLOTS, Act
from mwzeval.multiwoz.convlab.resources import (
    TABLES,
    ActDatabase,
    ActResources,
    system_values,
    user_values,
)
from mwzeval.multiwoz.goals import Goal
from tests.places import read_json, shared

Trace = dict[str, Any]


@lru_cache(maxsize=1)
def real_database() -> ActDatabase:
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


def golden(name: str) -> Iterator[Trace]:
    """Yield the records of a golden file of live dialogues."""
    with shared("golden", "live", f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def acts(raw: Sequence[Sequence[str]]) -> list[Act]:
    """Convert recorded acts."""
    return [Act(*act) for act in raw]


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
