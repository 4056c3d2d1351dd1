"""The focus tracker and the texts of acts: what they mean, and that beliefs stay distributions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.pydial.acts import NULL, Act, Item, parse_act
from mwzeval.pydial.domain import METHODS
from mwzeval.pydial.simulator.view import Belief
from tests.pydial.simulator.parts import Tracker
from tests.pydial.small_domain import CAFES

VALUES = CAFES.ontology.values_and_dontcare
SLOTS = [*CAFES.ontology.requestable, "type", ""]
USER_ACTS = [
    "hello", "thankyou", "ack", "bye", "inform", "request", "reqalts", "reqmore", "confirm",
    "affirm", "negate", "deny", "repeat", "null", "silence", "restart",
]  # fmt: skip
SYSTEM_ACTS = ["hello", "request", "confirm", "select", "inform", "reqmore", "bye", "null"]


def items() -> st.SearchStrategy[Item]:
    return st.sampled_from(SLOTS).flatmap(
        lambda slot: st.builds(
            Item,
            st.just(slot),
            st.sampled_from([None, "none", "dontcare", *VALUES.get(slot, ("x",))]),
            st.booleans(),
        )
    )


def acts(names: list[str]) -> st.SearchStrategy[Act]:
    return st.builds(Act, st.sampled_from(names), st.lists(items(), max_size=3).map(tuple))


def hypotheses() -> st.SearchStrategy[list[tuple[Act, float]]]:
    return st.lists(st.tuples(acts(USER_ACTS), st.floats(0.01, 0.99)), min_size=1, max_size=5)


def heard(*exchanges: tuple[str, str], legacy: bool = False) -> Belief:
    tracker = Tracker(CAFES, legacy=legacy)
    tracker.begin()
    for system, user in exchanges:
        tracker.update(parse_act(system), [(parse_act(user), 1.0)])
    return tracker.belief


@pytest.mark.parametrize(
    ("system", "user", "slot", "value", "legacy_too"),
    [
        ("hello()", 'inform(area="north")', "area", "north", True),
        ("hello()", 'inform(area="north",area="south")', "area", "south", True),
        ("hello()", 'hello(type="cafe",food="pie")', "food", "pie", True),
        ("hello()", 'request(phone,name="anna")', "name", "anna", True),
        ("request(area)", 'inform(="dontcare")', "area", "dontcare", True),
        ('confirm(area="north")', 'inform(="dontcare")', "area", "dontcare", False),
        ('select(area="north",area="south")', 'inform(="dontcare")', "area", "dontcare", False),
        ('confirm(area="north")', "affirm()", "area", "north", True),
        ('confirm(area="north")', 'affirm(food="pie")', "area", "north", True),
        ("request(quiet)", "affirm()", "quiet", "1", True),
        ("request(quiet)", "negate()", "quiet", "0", True),
        ('confirm(area="north")', 'deny(area="north",area="south")', "area", "south", True),
        ('confirm(area="north")', 'deny(area="north",area="dontcare")', "area", "dontcare", False),
        ('confirm(area="north")', 'negate(area="south")', "area", "south", True),
    ],
)
def test_values_are_understood(
    system: str, user: str, slot: str, value: str, legacy_too: bool
) -> None:
    assert heard((system, user)).probability(slot, value) == 1
    assert heard((system, user), legacy=True).probability(slot, value) == legacy_too


@pytest.mark.parametrize(
    ("system", "user"),
    [
        ("request(area)", "affirm()"),
        ("request(area)", "negate()"),
        ('confirm(area="north")', "negate()"),
        ('confirm(area="north")', 'deny(area="north")'),
        ('confirm(area="north")', 'deny(area="north",food="pie")'),
        ("hello()", 'inform(="dontcare")'),
        ("hello()", 'inform(type="cafe")'),
        ("hello()", 'inform(phone="1111")'),
        ("hello()", 'confirm(area="north")'),
        ("hello()", "null()"),
    ],
)
@pytest.mark.parametrize("legacy", [False, True])
def test_nothing_is_read_into_acts(system: str, user: str, legacy: bool) -> None:
    belief = heard((system, user), legacy=legacy)
    assert {slot: of.none for slot, of in belief.slots.items()} == dict.fromkeys(VALUES, 1.0)


OFFER = 'inform(name="anna",area="north")'


@pytest.mark.parametrize(
    ("exchanges", "method"),
    [
        ([("hello()", 'inform(area="north")')], "byconstraints"),
        ([("hello()", 'inform(name="anna")')], "byname"),
        ([("hello()", 'reqalts(area="north")')], "byalternatives"),
        ([("hello()", "bye()")], "finished"),
        ([("hello()", "restart()")], "restart"),
        ([("hello()", "request(phone)")], "none"),
        ([(OFFER, "request(phone)")], "byname"),
        ([(OFFER, 'confirm(area="north")')], "byname"),
        ([(OFFER, 'deny(area="north")')], "none"),
        ([(OFFER, "thankyou()")], "none"),
        ([("request(food)", 'inform(="dontcare")')], "byconstraints"),
    ],
)
def test_methods(exchanges: list[tuple[str, str]], method: str) -> None:
    assert heard(*exchanges).methods == [float(name == method) for name in METHODS]


@pytest.mark.parametrize("legacy", [True, False])
def test_only_legacy_remembers_offers_of_other_dialogues(legacy: bool) -> None:
    tracker = Tracker(CAFES, legacy=legacy)
    tracker.begin()
    tracker.update(parse_act(OFFER), [(parse_act("bye()"), 1.0)])
    tracker.begin()
    belief = tracker.update(parse_act("hello()"), [(parse_act("request(phone)"), 1.0)])
    assert (belief.methods[METHODS.index("byname")] > 0) is legacy


@given(
    st.booleans(),
    st.lists(st.tuples(acts(SYSTEM_ACTS), hypotheses()), min_size=1, max_size=6),
)
def test_beliefs_are_distributions_whatever_is_said(
    legacy: bool, exchanges: list[tuple[Act, list[tuple[Act, float]]]]
) -> None:
    tracker = Tracker(CAFES, legacy=legacy)
    tracker.begin()
    for system, said in exchanges:
        belief = tracker.update(system, said)
        for slot, of in belief.slots.items():
            assert set(of.values) <= {*VALUES[slot], "x", "none"}
            assert sum(of.values.values()) + of.none == pytest.approx(1)
            assert min([of.none, *of.values.values()]) >= 0
            ranked = sorted(of.values.values(), reverse=True)
            assert [of.best.probability, of.second.probability] == [*ranked, 0.0, 0.0][:2]
        assert sum(belief.methods) == pytest.approx(1)
        assert sum(belief.discourse_acts.values()) == pytest.approx(1)
        assert set(belief.requested) <= set(CAFES.ontology.requestable)
        assert all(0 <= p <= 1 for p in belief.requested.values())


LONG = 3_000_000
"""So long that trying the blanks one by one would take hours: the limit of pytest ends the test."""


@pytest.mark.parametrize(
    ("text", "act"),
    [
        (f"inform(a{' ' * LONG}!)", NULL),
        (f'inform(a=b{" " * LONG}")', NULL),
        (f'inform(a={" " * LONG}")', NULL),
        (f'inform(a="b"{" " * LONG}!)', NULL),
        (f"inform({' ' * LONG})", NULL),
        (f"inform({')' * LONG}x", NULL),
        (f'inform(a{" " * LONG}="b")', Act("inform", (Item("a", "b"),))),
        (f"inform(a={' ' * LONG}b{' ' * LONG})", Act("inform", (Item("a", "b"),))),
    ],
    ids=range(8),
)
def test_long_texts_are_read(text: str, act: Act) -> None:
    assert parse_act(text) == act
