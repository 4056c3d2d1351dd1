"""The simulated user, rule by rule, and under any system whatever."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.pydial.acts import DONTCARE, NULL, Act, Item, parse_act
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.channel import transmit
from mwzeval.pydial.simulator.codes import TYPE
from mwzeval.pydial.simulator.error_model import USER_ACTS
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.user import answer
from mwzeval.pydial.tasks import TASKS
from tests.examples import examples
from tests.pydial.simulator.outcomes import outcomes
from tests.pydial.simulator.parts import TextUser, UserParameters, simulation_of
from tests.pydial.small_domain import CAFES, COLUMNS, ONTOLOGY

HALF = UserParameters._make([0.5] * 24 + [0.0, 0.0])._replace(
    thank_ack_1=0.25,
    thank_ack_2=0.25,
    request_alternatives_1=0.25,
    request_alternatives_2=0.25,
    new_request_response_1=0.25,
    new_request_response_2=0.25,
    correcting_act_1=0.25,
    correcting_act_2=0.25,
)
NORTH, CAKE = Item("area", "north"), Item("food", "cake")
with Path(__file__).with_name("user_answers.tsv").open(encoding="utf-8", newline="") as stream:
    CASES = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def answers(before: dict[str, str], *, legacy: bool = True) -> dict[str, float]:
    """Return what the user may answer in a case of the table, and how probably."""
    items = [text.partition("=") for text in before["constraints"].split()]
    constraints = [Item(slot.rstrip("!"), value, "!" in slot) for slot, _, value in items]
    told = [text.partition("=") for text in before["requests"].split()]
    found: dict[str, float] = {}

    def answered(rng: object) -> str:
        goal = Goal(list(constraints), {slot: value or None for slot, _, value in told})
        user = TextUser(simulation_of(CAFES, legacy=legacy), goal, 4, HALF, rng)
        user.set_agenda(map(parse_act, before["agenda"].split()))
        user.last_heard(parse_act("hello()"))
        user.d.patience = int(before["patience"])
        user.d.first_offer_pending = False
        return str(user.answer(parse_act(before["system"])))

    for said, probability in outcomes(answered):
        found[said] = found.get(said, 0.0) + probability
    assert sum(found.values()) == pytest.approx(1)
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_the_user(case: dict[str, str]) -> None:
    expected = [answer.rpartition(" ") for answer in case["answers"].split(" | ")]
    assert answers(case) == pytest.approx({said: float(Fraction(p)) for said, _, p in expected})


@pytest.mark.parametrize(
    ("legacy", "said"), [(True, "inform()"), (False, "request(name)")], ids=["legacy", "clean"]
)
def test_asking_for_the_name_is_lost_in_legacy_only(legacy: bool, said: str) -> None:
    before = {**CASES[0], "requests": "name", "agenda": "request(name) bye()"}
    assert said in answers(before, legacy=legacy)


@pytest.mark.parametrize("relax", [0.0, 1.0], ids=["new value", "relaxed"])
def test_a_constraint_that_is_given_up_may_have_any_value_later(relax: float) -> None:
    goal = Goal([NORTH], {"name": None})
    parameters = HALF._replace(constraint_relax=relax)
    user = TextUser(simulation_of(CAFES, legacy=True), goal, 4, parameters, Rng(1))
    user.answer(parse_act('inform(name=none,food="cake")'))
    assert user.used == ({"area": ["north"]} if relax else {"area": ["north"], "food": [DONTCARE]})
    assert user.view.goal.wanted("food") == DONTCARE


@pytest.mark.parametrize(("legacy", "slots"), [(True, {"name", "area"}), (False, {"name"})])
def test_checking_a_constraint_makes_what_was_said_a_request_in_legacy_only(
    legacy: bool, slots: set[str]
) -> None:
    goal = Goal([NORTH, CAKE], {"name": None})
    sure = HALF._replace(confirm_random_constraint=1.0)
    user = TextUser(simulation_of(CAFES, legacy=legacy), goal, 4, sure, Rng(1))
    assert str(user.answer(parse_act('inform(name="anna",area="north")'))) == 'confirm(food="cake")'
    assert set(user.view.goal.requests) == slots
    assert user.view.goal.recommended == "anna"


VALUES = sorted({v for values in ONTOLOGY["informable"].values() for v in values})  # type: ignore[attr-defined]
SLOTS = (*COLUMNS, TYPE, "", "count", "nowhere")
ITEMS = st.builds(
    Item,
    st.sampled_from(SLOTS),
    st.none() | st.sampled_from((*VALUES, DONTCARE, "none", "not available", "cafe")),
    st.booleans(),
).map(lambda item: item if item.value is not None else Item(item.slot))
SYSTEM_ACTS = st.builds(
    Act,
    st.sampled_from(
        [
            *("hello", "bye", "repeat", "reqmore", "request", "confirm", "select", "inform"),
            *("null", "badact", "affirm", "sing"),
        ]
    ),
    st.lists(ITEMS, max_size=4).map(tuple),
)


def is_valid(simulation: Simulation) -> bool:
    goal, d = simulation.goal, simulation.d
    texts = [item.value for item in goal.constraints]
    return (
        "name" in goal.requests
        and d.patience <= d.max_patience
        and all(isinstance(text, str) for text in texts)
        and len({(i.slot) for i in goal.constraints if not i.negated})
        == sum(not i.negated for i in goal.constraints)
        and all(act < len(USER_ACTS) for act in d.agenda_act[: d.agenda])
    )


@examples(300)
@given(st.lists(SYSTEM_ACTS, max_size=25), st.integers(0, 2**32), st.booleans())
def test_any_system_acts_leave_the_user_in_a_valid_state(
    acts: list[Act], seed: int, legacy: bool
) -> None:
    simulation = simulation_of(CAFES, legacy=legacy, task=TASKS["CR-6"])
    simulation.begin(Rng(seed))
    t, d, view = simulation.t, simulation.d, simulation.view
    for act in acts:
        view.put_system(act)
        d.now = 1 - d.now
        answer(t, d)
        said = view.user_act
        assert said.name in USER_ACTS
        assert parse_act(str(said)) == said
        assert not any(item.negated for item in said.items)
        assert is_valid(simulation)
        assert simulation.success() in (True, False)
        transmit(t, d)
        heard = view.hypotheses
        assert sum(score for _, score in heard) == pytest.approx(1)
        assert len({str(h) for h, _ in heard}) == len(heard) <= 6
        assert any(h == NULL for h, _ in heard)


@examples(100)
@given(SYSTEM_ACTS, st.integers(0, 2**32))
def test_no_user_bears_the_same_act_for_ever(act: Act, seed: int) -> None:
    simulation = simulation_of(CAFES)
    simulation.begin(Rng(seed))
    said = []
    for _ in range(8):
        simulation.view.put_system(act)
        simulation.d.now = 1 - simulation.d.now
        answer(simulation.t, simulation.d)
        said.append(simulation.view.user_act.name)
    assert "bye" in said
