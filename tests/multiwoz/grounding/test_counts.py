"""How many venues there are is read where it is said, and held against what the state finds."""

from __future__ import annotations

from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.grounding.counts import counts_in, held_against_database
from tests.multiwoz.towns import TOWN, mention
from tests.multiwoz.words.cases import tabled
from tests.multiwoz.worlds import Tables

CHEAP, DEAR = 7, 9
HOTELS = [
    {**TOWN["hotel"][0], "id": str(number), "name": f"hotel {number}", "pricerange": price_range}
    for number, price_range in enumerate(["cheap"] * CHEAP + ["expensive"] * DEAR)
]
TABLES: Tables = {**TOWN, "hotel": HOTELS}


def database() -> Database:
    return Database(TABLES, "2021")


@tabled
def test_counts_are_read(text: str, numbers: list[int]) -> None:
    assert [count.number for count in counts_in(text)] == numbers


@tabled
def test_counts_are_those_of_the_state_or_of_a_part_of_it(
    response: str, agrees: list[bool]
) -> None:
    state = {"hotel": {"pricerange": "cheap"}}
    found = list(held_against_database(response, (), state, database()))
    assert [agreed for _, agreed, _ in found] == agrees
    assert all(response[count.start : count.end].isalnum() for count, *_ in found)
    assert all(counted == (CHEAP,) for *_, counted in found)


def test_what_is_said_narrows_what_is_counted() -> None:
    response = f"There are {DEAR} expensive hotels."
    said = [mention("pricerange", "expensive", "hotel", TABLES)]
    state = {"hotel": {"pricerange": "cheap"}}
    ((_, agrees, counts),) = held_against_database(response, said, state, database())
    assert agrees
    assert counts == (CHEAP, DEAR)
    ((_, alone, _),) = held_against_database(response, (), state, database())
    assert not alone
