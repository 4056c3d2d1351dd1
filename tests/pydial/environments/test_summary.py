"""What policies look at, against scans of the rows, and what they may do and say."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.dialogue.acts import DONTCARE, Act, Item, parse_act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.domain import METHODS
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.tracker import Tracker
from mwzeval.pydial.environments.actions import Masks, SummaryActions, action_names
from mwzeval.pydial.environments.features import (
    Summarizer,
    Summary,
    asked_slots,
    is_said,
    method_of,
)
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.tasks import TASKS, Task
from tests.pydial.small_domain import CAFES, ROWS

SLOTS = CAFES.ontology.constraint_slots


def tracked(**values: tuple[str, float]) -> Belief:
    """Return the belief after values were heard with these confidences, one an exchange."""
    tracker = Tracker(CAFES)
    tracker.begin()
    for slot, (value, score) in values.items():
        act = Act("inform", (Item(slot, value),))
        tracker.update(Act("hello"), [(act, score), (Act("null"), 1 - score)])
    return tracker.belief


def summary(**values: tuple[str, float]) -> Summary:
    return Summarizer(CAFES)(tracked(**values))


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
        found = summary(**{s: (v, confidences[s]) for s, v in zip(chosen, said, strict=True)})
        ranked = sorted(zip(chosen, said, strict=True), key=lambda p: -confidences[p[0]])
        assert found.accepted == tuple(ranked)
        expected = [flag for k in range(1, 6) for flag in scanned(tuple(ranked[:k]))]
        assert list(found.matches) == expected
        assert found.discriminable == scanned(tuple(ranked))[-1]


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
    assert summary(**{slot: (value, accepted)}).count == 1
    assert summary(**{slot: (value, refused)}).count == 0


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
    belief = Belief(CAFES.ontology)
    belief.methods = [masses.get(method, 0.0) for method in METHODS]
    assert (method_of(belief), method_of(belief, legacy=True)) == (clean, legacy)


def test_asking_and_saying_need_more_than_half() -> None:
    tracker = Tracker(CAFES)
    tracker.begin()
    acts = [("request(phone)", 0.51), ("thankyou()", 0.49)]
    belief = tracker.update(Act("hello"), [(parse_act(act), score) for act, score in acts])
    assert asked_slots(belief) == ("phone",)
    assert not is_said(belief, "thankyou", "ack")
    acts = [("request(phone)", 0.49), ("thankyou()", 0.51)]
    belief = tracker.update(
        Act("inform", (Item("phone", "1"),)), [(parse_act(a), s) for a, s in acts]
    )
    assert asked_slots(belief) == ()
    assert is_said(belief, "thankyou", "ack")


NAMES = action_names(CAFES.ontology)
MASKED, OPEN = TASKS["CR-1"], TASKS["CR-2"]
KNOWN = ("hello()", [('inform(area="north",food="cake")', 1.0)])
TWINS = ("hello()", [('inform(area="north",food="soup")', 1.0)])
OFFER = 'inform(name="anna",area="north",food="cake")'
Exchange = tuple[str, list[tuple[str, float]]]


def tracker_after(*exchanges: Exchange) -> Tracker:
    tracker = Tracker(CAFES)
    tracker.begin()
    for system, heard in exchanges:
        tracker.update(parse_act(system), [(parse_act(act), score) for act, score in heard])
    return tracker


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
    actions, belief = SummaryActions(CAFES), tracker_after(*exchanges_in(row["exchanges"])).belief
    act = (
        HandcraftedPolicy(CAFES).act(belief, Rng(0))
        if row["action"] == "handcrafted"
        else actions.act(actions.number(row["action"]), belief, Rng(0))
    )
    assert act.says_the_same(parse_act(row["act"]))


def test_where_nothing_is_asked_of_it_any_entity_is_offered() -> None:
    actions, rng = SummaryActions(CAFES), Rng(1)
    belief = tracker_after().belief
    offers = {str(actions.act(NAMES.index("inform"), belief, rng)) for _ in range(200)}
    assert len(offers) == len({row["name"] for row in CAFES.table.rows})


def test_so_many_slots_are_told_at_once_and_no_more() -> None:
    actions, rng = SummaryActions(CAFES, most_informed=2), Rng(1)
    said = 'inform(area="north",food="cake",pricerange="cheap",quiet="1")'
    belief = tracker_after(("hello()", [(said, 1.0)])).belief
    offers = [actions.act(NAMES.index("inform"), belief, rng) for _ in range(200)]
    assert {len(act.items) for act in offers} == {3}
    assert len({frozenset(item.slot for item in act.items) for act in offers}) == 6


def test_unknown_actions_are_named() -> None:
    with pytest.raises(UsageError, match='"request_food"'):
        SummaryActions(CAFES).number("request_fod")


def allowed(task: Task, *exchanges: Exchange) -> set[str]:
    belief = tracker_after(*exchanges).belief
    summary = SummaryActions(CAFES).acts.summarizer(belief)
    mask = Masks(CAFES.ontology, task).allowed(belief, summary)
    return {name for name, may in zip(NAMES, mask.tolist(), strict=True) if may}


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
    task = replace(MASKED, masks=MASKED.masks - {switch})
    none_known = ("hello()", [("bye()", 0.4), ("null()", 0.6)])
    before, after = allowed(MASKED, none_known), allowed(task, none_known)
    assert after - before == freed - before
    assert freed <= after


def test_an_alternative_is_awaited_until_it_is_given() -> None:
    belief = tracker_after(TWINS, (OFFER, [("reqalts()", 1.0)])).belief
    later = tracker_after(TWINS, (OFFER, [("request(phone)", 1.0)])).belief
    summarizer = SummaryActions(CAFES).acts.summarizer
    masks = Masks(CAFES.ontology, MASKED)
    number = NAMES.index("inform_alternatives")
    masks.allowed(belief, summarizer(belief))
    assert masks.allowed(later, summarizer(later))[number]
    masks.took(NAMES.index("inform"))
    assert masks.allowed(later, summarizer(later))[number]
    masks.took(number)
    assert not masks.allowed(later, summarizer(later))[number]
    masks.allowed(belief, summarizer(belief))
    masks.begin()
    assert not masks.allowed(later, summarizer(later))[number]


def test_a_second_look_awaits_an_alternative_again_where_the_user_has_just_asked() -> None:
    asked = tracker_after(TWINS, (OFFER, [("reqalts()", 1.0)])).belief
    later = tracker_after(TWINS, (OFFER, [("request(phone)", 1.0)])).belief
    summarizer = SummaryActions(CAFES).acts.summarizer
    masks = Masks(CAFES.ontology, MASKED, looks_again=True)
    number = NAMES.index("inform_alternatives")
    masks.allowed(asked, summarizer(asked))
    masks.took(number)
    assert masks.allowed(later, summarizer(later))[number]
    masks.took(number)
    assert not masks.allowed(later, summarizer(later))[number]


def test_the_random_policy_takes_every_allowed_action_and_no_other() -> None:
    mask, rng = np.array([False, True, False, True, True]), Rng(3)
    assert {RandomPolicy().act(None, mask, rng) for _ in range(200)} == {1, 3, 4}
