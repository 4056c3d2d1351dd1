"""Database queries equal a scan of the rows."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz import RULES, Rules
from mwzeval.multiwoz.database import Database
from tests.examples import examples
from tests.multiwoz import specification, worlds

Query = tuple[str, dict[str, str]]
SAMPLE = worlds.sample_tables()
TOWN: worlds.Tables = {
    "restaurant": [
        {"id": 1, "name": "curry garden", "food": "indian", "area": "centre", "Signature": "x"},
        {"id": 2, "name": "curry king", "food": "?", "area": "north", "phone": "01"},
        {"id": 3, "name": "?", "food": "chinese"},
    ],
    "attraction": [
        {"id": "9", "name": "the junction", "openhours": "?", "type": "theatre"},
        {"id": "8", "name": "saint john", "openhours": "?", "type": "college"},
        {"id": "7", "name": "ballroom2", "openhours": "?", "type": "college"},
    ],
    "hotel": [],
    "train": [
        {"trainID": "TR2", "leaveAt": "05:16", "arriveBy": "06:07", "departure": "ely"},
        {"trainID": "TR1", "leaveAt": "17:16", "arriveBy": "24:07", "departure": "cambridge"},
        {"trainID": "TR3", "leaveAt": "?", "arriveBy": "late", "departure": "norwich"},
    ],
}
"""Tables with unknown values."""


@cache
def database(rules: Rules) -> Database:
    return Database(SAMPLE, rules)


@examples(500)
@given(worlds.queries(SAMPLE), st.sampled_from(RULES))
def test_sample_database_results_equal_a_full_scan(query: Query, rules: Rules) -> None:
    expected = specification.venues(SAMPLE, *query, rules)
    assert database(rules).find(*query) == tuple(expected)


@examples(300)
@given(worlds.queries(TOWN), st.sampled_from(RULES))
def test_database_results_with_missing_values_equal_a_full_scan(query: Query, rules: Rules) -> None:
    expected = specification.venues(TOWN, *query, rules)
    assert Database(TOWN, rules).find(*query) == tuple(expected)


@pytest.mark.parametrize(
    ("domain", "constraints", "expected"),
    [
        ("restaurant", {}, "1 2 3"),
        ("restaurant", {"name": "Curry Garden"}, "1 3"),
        ("restaurant", {"name": "curry"}, "1 2 3"),
        ("restaurant", {"food": "chinese"}, "2 3"),
        ("restaurant", {"area": "north"}, "2 3"),
        ("restaurant", {"area": "North"}, "3"),
        ("restaurant", {"area": "?"}, "3"),
        ("restaurant", {"area": "dontcare", "name": "do n't care"}, "1 2 3"),
        ("restaurant", {"signature": "y"}, "1 2 3"),
        ("restaurant", {"phone": "99"}, "1 2 3"),
        ("restaurant", {"id": "2"}, "2"),
        ("restaurant", {"name": "curry king", "food": "thai"}, "2"),
        ("attraction", {"name": "the junction"}, ""),
        ("attraction", {"type": "theatre"}, "9"),
        # 9 of 10 equal letters are 90 percent; 8 of 9 are 89 percent.
        ("attraction", {"name": "saint johx"}, "8"),
        ("attraction", {"name": "ballroomx"}, ""),
        ("hotel", {"area": "east"}, ""),
        ("train", {"arriveBy": "06:07"}, "TR2 TR3"),
        ("train", {"arrive": "06:06"}, "TR3"),
        ("train", {"leaveAt": "05:16"}, "TR2 TR1 TR3"),
        ("train", {"leave": "5:17 am"}, "TR1 TR3"),
        ("train", {"leave": "whenever"}, "TR2 TR1 TR3"),
        ("train", {"leave": "23:00"}, "TR3"),
        ("train", {"departure": "Cambridg"}, "TR1"),
        ("taxi", {}, ""),
        ("police", {"name": "parkside"}, ""),
        ("Restaurant", {}, ""),
        ("", {}, ""),
    ],
)
def test_database_queries_return_the_expected_venues(
    domain: str, constraints: dict[str, str], expected: str
) -> None:
    assert " ".join(Database(TOWN, "2021").find(domain, constraints)) == expected


@given(worlds.queries(SAMPLE), st.sampled_from(RULES))
def test_order_of_constraints_and_queries_does_not_change_results(
    query: Query, rules: Rules
) -> None:
    domain, constraints = query
    fresh = Database(SAMPLE, rules)
    backwards = dict(reversed(constraints.items()))
    first = fresh.find(domain, constraints)
    assert fresh.find(domain, constraints) == fresh.find(domain, backwards) == first
    assert list(reversed(backwards.items())) == list(constraints.items())
