"""What policies look at, against scans of the rows, and what they may do and say."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from mwzeval.pydial.acts import DONTCARE, Act, Item, parse_act
from mwzeval.pydial.domain import METHODS
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import TASKS, Task
from tests.pydial.simulator.parts import Tracker
from tests.pydial.small_domain import CAFES, ROWS

SLOTS = CAFES.ontology.constraint_slots


def tracked(**values: tuple[str, float]) -> Tracker:
    """Return the tracker after values were heard with these confidences, one an exchange."""
    tracker = Tracker(CAFES)
    for slot, (value, score) in values.items():
        act = Act("inform", (Item(slot, value),))
        tracker.update(Act("hello"), [(act, score), (Act("null"), 1 - score)])
    return tracker


def scanned(pairs: tuple[tuple[str, str], ...]) -> list[int]:
    """Return the five truth values about some accepted pairs."""
    wanted = {slot: value for slot, value in pairs if value != DONTCARE}
    rows = [row for row in ROWS if all(row[slot] == value for slot, value in wanted.items())]
    indifferent = {slot for slot, value in pairs if value == DONTCARE}
    told_apart = len(rows) > 1 and any(
        len({row[slot] for row in rows}) > 1
        for slot in CAFES.ontology.informable
        if slot not in {"name", "price", *indifferent}
    )
    number = len(rows)
    return [number == 0, number == 1, 2 <= number <= 4, number > 4, told_apart]


@pytest.mark.parametrize("chosen", [c for n in range(5) for c in combinations(SLOTS, n)])
def test_matches_of_the_likeliest_accepted_slots(chosen: tuple[str, ...]) -> None:
    values = CAFES.ontology.values_and_dontcare
    confidences = dict(zip(chosen, (0.7, 0.95, 0.8, 0.9), strict=False))
    for said in product(*(values[slot] for slot in chosen)):
        found = tracked(**{s: (v, confidences[s]) for s, v in zip(chosen, said, strict=True)})
        ranked = sorted(zip(chosen, said, strict=True), key=lambda p: -confidences[p[0]])
        assert found.accepted() == tuple(ranked)
        expected = [flag for k in range(1, 6) for flag in scanned(tuple(ranked[:k]))]
        assert list(map(bool, found.d.matches)) == list(map(bool, expected))
        assert found.d.discriminable == scanned(tuple(ranked))[-1]


@pytest.mark.parametrize(
    ("slot", "value", "accepted", "refused"),
    [
        ("quiet", "1", 0.53, 0.52),  # two values: more than 1 / 1.9
        ("area", "north", 0.51, 0.49),  # three: more than 1 / 2.9, and than no value
    ],
)
def test_slots_are_accepted_when_a_value_beats_none(
    slot: str, value: str, accepted: float, refused: float
) -> None:
    assert tracked(**{slot: (value, accepted)}).d.count == 1
    assert tracked(**{slot: (value, refused)}).d.count == 0


@pytest.mark.parametrize(
    ("masses", "clean", "legacy"),
    [
        ({"none": 1.0}, "byconstraints", "byconstraints"),
        ({"none": 0.85, "byalternatives": 0.15}, "byconstraints", "byalternatives"),
        ({"none": 0.6, "byname": 0.4}, "byconstraints", "byname"),
        ({"none": 0.3, "byname": 0.7}, "byname", "byname"),
        ({"byconstraints": 0.6, "byname": 0.4}, "byconstraints", "byconstraints"),
        ({"none": 0.5, "finished": 0.5}, "byconstraints", "byconstraints"),
        ({"none": 0.4, "finished": 0.6}, "finished", "finished"),
        ({"none": 0.2, "byname": 0.3, "finished": 0.5}, "byconstraints", "byconstraints"),
        ({"restart": 0.9, "none": 0.1}, "restart", "restart"),
    ],
)
def test_the_method_is_the_likeliest_and_in_legacy_never_none(
    masses: dict[str, float], clean: str, legacy: str
) -> None:
    for is_legacy, method in ((False, clean), (True, legacy)):
        tracker = Tracker(CAFES, legacy=is_legacy)
        tracker.d.methods = [masses.get(name, 0.0) for name in METHODS]
        assert tracker.method() == method


NAMES = Tracker(CAFES).names
MASKED, OPEN = TASKS["CR-1"], TASKS["CR-2"]
KNOWN = ("hello()", [('inform(area="north",food="cake")', 1.0)])
TWINS = ("hello()", [('inform(area="north",food="soup")', 1.0)])
OFFER = 'inform(name="anna",area="north",food="cake")'
Exchange = tuple[str, list[tuple[str, float]]]


def tracker_after(*exchanges: Exchange) -> Tracker:
    return Tracker(CAFES).after(*exchanges)


def exchanges_in(text: str) -> list[Exchange]:
    """Return the exchanges of a row of the table: `system < user 0.7 & user 0.3 ; system < …`."""
    exchanges = []
    for exchange in filter(None, text.split(" ; ")):
        system, _, heard = exchange.partition(" < ")
        scored = [hypothesis.rpartition(" ") for hypothesis in filter(None, heard.split(" & "))]
        exchanges.append((system, [(act, float(score)) for act, _, score in scored]))
    return exchanges


with Path(__file__).with_name("acts.tsv").open(encoding="utf-8", newline="") as stream:
    ACTS = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", ACTS, ids=[row["action"] for row in ACTS])
def test_actions_and_the_handcrafted_policy_stand_for_acts(row: dict[str, str]) -> None:
    tracker = tracker_after(*exchanges_in(row["exchanges"]))
    act = (
        HandcraftedPolicy().act(tracker.belief, Rng(0))
        if row["action"] == "handcrafted"
        else tracker.act(row["action"], Rng(0))
    )
    assert act.says_the_same(parse_act(row["act"]))


def test_where_nothing_is_asked_of_it_any_entity_is_offered() -> None:
    tracker, rng = tracker_after(), Rng(1)
    offers = {str(tracker.act("inform", rng)) for _ in range(200)}
    assert len(offers) == len({row["name"] for row in CAFES.table.rows})


def test_so_many_slots_are_told_at_once_and_no_more() -> None:
    rng = Rng(1)
    said = 'inform(area="north",food="cake",pricerange="cheap",quiet="1")'
    two = Tracker(CAFES, task=replace(MASKED, name="two", max_informed_slots=2))
    two.after(("hello()", [(said, 1.0)]))
    offers = [two.act("inform", rng) for _ in range(200)]
    assert {len(act.items) for act in offers} == {3}
    assert len({frozenset(item.slot for item in act.items) for act in offers}) == 6


def allowed(task: Task, *exchanges: Exchange) -> set[str]:
    return Tracker(CAFES, task=task).after(*exchanges).allowed()


REQUESTS = {f"request_{slot}" for slot in CAFES.ontology.constraint_slots}


@pytest.mark.parametrize(
    ("exchanges", "expected"),
    [
        ([], set()),
        ([KNOWN], {"confirm_area", "confirm_food"}),
        (
            [("hello()", [('inform(area="south")', 0.6), ('inform(area="centre")', 0.4)])],
            {"confirm_area", "select_area"},
        ),
        # One entity matches: nothing would tell others apart.
        ([TWINS], {"confirm_area", "confirm_food", "inform"}),
        ([KNOWN, (OFFER, [("request(phone)", 1.0)])],
         {"confirm_area", "confirm_food", "inform_byname", "reqmore"}),
        ([TWINS, (OFFER, [("reqalts()", 1.0)])],
         {"confirm_area", "confirm_food", "inform_alternatives", "reqmore"}),
        ([TWINS, (OFFER, [("bye()", 1.0)])],
         {"confirm_area", "confirm_food", "bye", "reqmore"}),
    ],
)  # fmt: skip
def test_masked_tasks_allow_what_makes_sense(exchanges: list[Exchange], expected: set[str]) -> None:
    assert allowed(MASKED, *exchanges) == expected | REQUESTS


def test_open_tasks_allow_all_but_two() -> None:
    assert allowed(OPEN) == set(NAMES) - {"repeat", "restart"}


@pytest.mark.parametrize(
    ("switch", "freed"),
    [
        ("inform", {"inform", "inform_byname", "inform_alternatives"}),
        ("bye", {"bye"}),
        ("request", {"reqmore", *(n for n in NAMES if n.startswith(("confirm_", "select_")))}),
    ],
)
def test_each_switch_masks_its_actions(switch: str, freed: set[str]) -> None:
    task = replace(MASKED, name=switch, masks=MASKED.masks - {switch})
    none_known = ("hello()", [("bye()", 0.4), ("null()", 0.6)])
    before, after = allowed(MASKED, none_known), allowed(task, none_known)
    assert after - before == freed - before
    assert freed <= after


@pytest.mark.parametrize("looks_again", [False, True])
def test_an_alternative_is_awaited_until_it_is_given(looks_again: bool) -> None:
    """With a second look it is awaited again where the user has just asked."""
    tracker, name = Tracker(CAFES), "inform_alternatives"
    tracker.t.looks_again = looks_again
    tracker.after(TWINS, (OFFER, [("reqalts()", 1.0)]))
    assert name in tracker.allowed()
    tracker.act(name, Rng(0))
    asked = [("request(phone)", 1.0)]
    tracker.after((OFFER, asked))
    assert (name in tracker.allowed()) is looks_again
    tracker.act(name, Rng(0))
    tracker.after((OFFER, asked))
    assert name not in tracker.allowed()
    tracker.after((OFFER, [("reqalts()", 1.0)]), (OFFER, asked))
    assert name not in tracker.allowed()
    tracker.after((OFFER, [("reqalts()", 1.0)]))
    assert name in tracker.allowed()
    tracker.act("inform", Rng(0))
    tracker.after((OFFER, asked))
    assert name in tracker.allowed()


def test_the_random_policy_takes_every_allowed_action_and_no_other() -> None:
    mask, rng = np.array([False, True, False, True, True]), Rng(3)
    assert {RandomPolicy().act(None, mask, rng) for _ in range(200)} == {1, 3, 4}
