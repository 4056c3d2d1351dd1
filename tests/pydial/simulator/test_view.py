"""Words outside the domain, as in acts of custom agents and users, and long texts."""

from __future__ import annotations

import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.acts import NULL, Act, Item, parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation, User
from mwzeval.pydial.tasks import TASKS
from tests.pydial.simulator.parts import TextUser, UserParameters, simulation_of
from tests.pydial.small_domain import CAFES

SURE = UserParameters._make([0.0] * 26)._replace(correcting_act_2=1.0)
IN_THE_NORTH = Goal([Item("area", "north")], {"name": None})


@pytest.mark.parametrize("value", ["nowhere", "elsewhere", "North"])
def test_users_repeat_unknown_values_when_denying(value: str) -> None:
    user = TextUser(simulation_of(CAFES), IN_THE_NORTH, 6, SURE, Rng(1))
    said = user.answer(Act("confirm", (Item("area", value),)))
    assert str(said) == f'deny(area="{value}",area="north")'


def test_entity_names_match_in_any_case() -> None:
    user = TextUser(simulation_of(CAFES), IN_THE_NORTH, 4, SURE, Rng(1))
    user.answer(Act("inform", (Item("name", "ANNA"), Item("area", "north"))))
    assert user.view.goal.recommended == "ANNA"
    assert user.simulation.success()


class Talker(User):
    """An agent with as many words as an act can have."""

    number = 0

    def answer(self, system: Act) -> Act:
        self.number += 1
        items = (Item(f"slot {at}", f"value {self.number}") for at in range(30))
        return Act("inform", (Item("area", f"value {self.number}"), *items))


@pytest.mark.parametrize("make_user", [None, Talker])
def test_unknown_acts_slots_and_values_are_shown_unchanged(make_user: type[User] | None) -> None:
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-6"])
    belief, ended, number = simulation.begin(Rng(3), make_user=make_user), False, 0
    while not ended:
        number += 1
        items = [Item("name", f"{number} {at}", at % 3 == 0) for at in range(5)]
        items += [Item(f"slot {at}", f"{number} {at}") for at in range(32)]
        act = Act(f"act{number}" if number % 2 else "inform", tuple(items))
        ended = simulation.answer(act).ended
        assert ended or simulation.view.system_act == act
        assert all(1 >= marginal.none >= 0 for marginal in belief.slots.values())
    assert number > 5


@pytest.mark.parametrize(
    "acts",
    [
        [Act(f"act{number}") for number in range(33)],
        [Act("inform", tuple(Item(f"slot{number}", "x") for number in range(33)))],
        [Act("inform", tuple(Item("area", f"x{number}") for number in range(129)))],
    ],
)
def test_too_many_unknown_words_are_an_error(acts: list[Act]) -> None:
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-1"])
    simulation.begin(Rng(3))
    for act in acts[:-1]:
        simulation.view.check(act)
    with pytest.raises(UsageError):
        simulation.answer(acts[-1])
    simulation.begin(Rng(3))
    simulation.answer(acts[-1]._replace(items=acts[-1].items[:-1]))


LONG = 3_000_000
"""A length at which a quadratic search would take hours, so that the test would time out."""
BLANKS, AN_ITEM = " " * LONG, Act("inform", (Item("a", "b"),))


@pytest.mark.parametrize(
    ("text", "act"),
    [
        (f"inform(a{BLANKS}!)", NULL),
        (f'inform(a=b{BLANKS}")', NULL),
        (f'inform(a={BLANKS}")', NULL),
        (f'inform(a="b"{BLANKS}!)', NULL),
        (f"inform({BLANKS})", NULL),
        (f"inform({')' * LONG}x", NULL),
        (f'inform(a{BLANKS}="b")', AN_ITEM),
        (f"inform(a={BLANKS}b{BLANKS})", AN_ITEM),
    ],
    ids=range(8),
)
def test_long_texts_are_parsed_quickly(text: str, act: Act) -> None:
    assert parse_act(text) == act
