"""Summary actions: the acts they stand for, and when they are masked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.dialogue.acts import Act, parse_act
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.tracker import Tracker
from mwzeval.pydial.environments.actions import Masks, SummaryActions, action_names
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.tasks import TASKS, Task
from tests.pydial.small_domain import CAFES

NAMES = action_names(CAFES.ontology)
MASKED, OPEN = TASKS["CR-1"], TASKS["CR-2"]
KNOWN = ("hello()", [('inform(area="north",food="cake")', 1.0)])
TWINS = ("hello()", [('inform(area="north",food="soup")', 1.0)])
NONE_SUCH = ("hello()", [('inform(area="centre",food="pie")', 1.0)])
FREE = ("hello()", [('inform(area="dontcare",food="soup")', 1.0)])
OFFER = 'inform(name="anna",area="north",food="cake")'
ANOTHER = OFFER.replace("anna", "bella")
Exchange = tuple[str, list[tuple[str, float]]]


def tracker_after(*exchanges: Exchange) -> Tracker:
    tracker = Tracker(CAFES)
    tracker.begin()
    for system, heard in exchanges:
        tracker.update(parse_act(system), [(parse_act(act), score) for act, score in heard])
    return tracker


def act_of(name: str, *exchanges: Exchange) -> Act:
    actions = SummaryActions(CAFES)
    return actions.act(actions.number(name), tracker_after(*exchanges).belief, Rng(0))


@pytest.mark.parametrize(
    ("name", "exchanges", "act"),
    [
        ("request_food", [], "request(food)"),
        ("confirm_area", [KNOWN], 'confirm(area="north")'),
        ("confirm_area", [], 'confirm(area="north")'),  # nothing is known: the first value
        (
            "select_area",
            [("hello()", [('inform(area="south")', 0.6), ('inform(area="centre")', 0.4)])],
            'select(area="south",area="centre")',
        ),
        ("select_area", [KNOWN], 'select(area="north",area="south")'),
        ("inform", [KNOWN], OFFER),
        ("inform", [NONE_SUCH], 'inform(name=none,area="centre",food="pie")'),
        ("inform", [FREE], 'inform(name="emma",area="centre",food="soup")'),
        ("inform", [KNOWN, ('inform(name="bella")', [("ack()", 1.0)])], ANOTHER),
        ("inform_alternatives", [KNOWN, (OFFER, [("reqalts()", 1.0)])], ANOTHER),
        (
            "inform_alternatives",
            [KNOWN, (OFFER, []), ('inform(name="bella")', [("reqalts()", 1.0)])],
            'inform(name=none,name!="anna",name!="bella",area="north",food="cake")',
        ),
        ("inform_alternatives", [NONE_SUCH], 'inform(name=none,area="centre",food="pie")'),
        ("inform_byname", [(OFFER, [("request(phone)", 1.0)])], 'inform(name="anna",phone="1111")'),
        ("inform_byname", [('inform(name="cora")', [("request(phone)", 1.0)])],
         'inform(name="cora",phone="not available")'),
        ("inform_byname", [("hello()", [('request(addr,name="twin")', 1.0)])],
         'inform(name="twin",addr="6 elm lane")'),  # the first of that name
        ("inform_byname", [("hello()", [('inform(name="zoe")', 1.0)])],
         'inform(name=none,name="zoe")'),
        ("bye", [], "bye()"),
        ("reqmore", [], "reqmore()"),
        ("repeat", [], "repeat()"),
        ("restart", [], "null()"),
    ],
)  # fmt: skip
def test_actions_stand_for_acts(name: str, exchanges: list[Exchange], act: str) -> None:
    assert act_of(name, *exchanges).says_the_same(parse_act(act))


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


@pytest.mark.parametrize(
    ("exchanges", "act"),
    [
        ([], "request(area)"),
        ([("hello()", [('inform(area="north")', 0.7), ("null()", 0.3)])], 'confirm(area="north")'),
        ([("hello()", [('inform(area="north")', 0.5), ("null()", 0.5)])], 'confirm(area="north")'),
        (
            [("hello()", [('inform(area="north")', 0.4), ('inform(area="south")', 0.35),
                          ("null()", 0.25)])],
            'select(area="north",area="south")',
        ),
        ([("hello()", [('inform(area="north")', 0.25), ("null()", 0.75)])], "request(area)"),
        ([TWINS], 'inform(name="twin",area="north",food="soup")'),
        ([NONE_SUCH], 'inform(name=none,area="centre",food="pie")'),
        ([TWINS, (OFFER, [("request(phone)", 1.0)])], 'inform(name="anna",phone="1111")'),
        ([TWINS, (OFFER, [("thankyou()", 0.9), ("null()", 0.1)])], "reqmore()"),
        ([TWINS, (OFFER, [("bye()", 1.0)])], "bye()"),
    ],
)  # fmt: skip
def test_the_handcrafted_policy(exchanges: list[Exchange], act: str) -> None:
    belief = tracker_after(*exchanges).belief
    assert HandcraftedPolicy(CAFES).act(belief, Rng(0)).says_the_same(parse_act(act))
