"""Queries of the rule policy's database find what the specification says."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.multiwoz.convlab.resources import ActDatabase
from tests.cases import tabled
from tests.multiwoz.convlab.records import golden, real_database
from tests.places import read_json, shared

HOTELS: list[dict[str, Any]] = [
    {"name": "Alpha", "area": "north ", "stars": "4", "price": {"single": "50"}},
    {"name": "beta house", "area": "centre", "stars": "?"},
    {"name": "gamma", "area": "Centre", "phone": "01223"},
]
TRAINS = [
    {"leaveAt": "05:00", "arriveBy": "05:51", "day": "monday"},
    {"leaveAt": "11:00", "arriveBy": "11:51", "day": "monday"},
    {"leaveAt": "?", "arriveBy": "24:08", "day": "sunday"},
]
HOSPITALS = [{"department": "Neurology"}, {"department": "paediatrics"}]
SMALL = ActDatabase(
    {"hotel": HOTELS, "train": TRAINS, "hospital": HOSPITALS, "police": [{"name": "station"}]}
)


@tabled
def test_finds_the_records_that_no_constraint_excludes(
    domain: str, constraints: dict[str, str], found: list[int]
) -> None:
    records = SMALL.query(domain, constraints.items())
    assert [record["Ref"] for record in records] == [f"{number:08d}" for number in found]


@pytest.mark.parametrize(
    ("domain", "soft", "found"),
    [
        ("hotel", {"name": "BETA"}, [1]),
        ("hotel", {"name": "?"}, []),
        ("hotel", {"stars": "?"}, [1, 2]),
        # A time is compared as a time: what is later fits, though it looks unlike.
        ("train", {"leaveAt": "09:59"}, [1, 2]),
        ("hospital", {"department": "?"}, [0, 1]),
    ],
)
def test_a_soft_constraint_finds_what_resembles_it(
    domain: str, soft: dict[str, str], found: list[int]
) -> None:
    records = SMALL.query(domain, (), soft.items())
    assert [int(record["Ref"]) for record in records] == found


@pytest.mark.integration
def test_police_and_hospitals_have_the_fields_that_goals_ask_for() -> None:
    folder = shared("data", "live", "convlab2")
    for domain in ("police", "hospital"):
        published = read_json(folder / f"{domain}_db.json")
        fields = [list(record.items()) for record in real_database().records(domain)]
        assert [record[:-1] for record in fields] == [list(record.items()) for record in published]
        assert {record[-1][0] for record in fields} == {"Ref"}


@pytest.mark.integration
def test_the_first_wishes_of_the_corpus_that_are_met_after_all_are_those_recorded() -> None:
    dialogues = 0
    for recorded_goal in golden("corpus_goals"):
        met = [
            domain
            for domain, part in recorded_goal["goal"].items()
            if "fail_info" in part and real_database().query(domain, part["fail_info"].items())
        ]
        assert met == recorded_goal["drop_fail_info"], recorded_goal["dialogue"]
        dialogues += 1
    assert dialogues == 1000


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "outcome", "dialogues"),
    [
        ("evaluator.jsonl", "expect", 200),
        ("traces_pair.jsonl", "result", 35),
        ("traces_pair_corpus.jsonl", "result", 21),
    ],
)
def test_what_users_learnt_agrees_with_the_goal_where_the_evaluator_says_so(
    name: str, outcome: str, dialogues: int
) -> None:
    seen = 0
    for dialogue in golden(name.removesuffix(".jsonl")):
        booked = dialogue[outcome]["booked"]
        agreed = []
        for domain, part in dialogue["goal_end"].items():
            if domain == "domain_ordering":
                continue
            answers = part.get("reqt", {}).items()
            found = real_database().query(domain, part.get("info", {}).items(), answers)
            numbers = {record["Ref"] for record in found}
            free = not part.get("book") or domain == "taxi" or domain not in booked
            agreed.append(bool(found) and (free or booked[domain] in numbers))
        counts = [agreed.count(True), agreed.count(False)]
        assert counts == dialogue[outcome]["final_goal"], dialogue["id"]
        seen += 1
    assert seen == dialogues
