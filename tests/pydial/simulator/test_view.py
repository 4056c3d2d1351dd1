"""Words that are not of the domain, as agents and users of one's own may say."""

from __future__ import annotations

import pytest

from mwzeval.errors import UsageError
from mwzeval.pydial.acts import Act, Item, parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation, User
from mwzeval.pydial.tasks import TASKS
from tests.pydial.simulator.parts import TextUser, UserParameters, simulation_of
from tests.pydial.small_domain import CAFES

SURE = UserParameters._make([0.0] * 26)._replace(correcting_act_2=1.0)
EXCHANGES = 25


def test_users_repeat_words_that_they_do_not_know() -> None:
    goal = Goal([Item("area", "north")], {"name": None})
    user = TextUser(simulation_of(CAFES), goal, 6, SURE, Rng(1))
    for value in ("nowhere", "elsewhere", "North"):
        said = user.answer(parse_act(f'confirm(area="{value}")') if value != "North" else
                           Act("confirm", (Item("area", value),)))  # fmt: skip
        assert str(said) == f'deny(area="{value}",area="north")'


def test_names_are_those_of_entities_in_any_case() -> None:
    goal = Goal([Item("area", "north")], {"name": None})
    user = TextUser(simulation_of(CAFES), goal, 4, SURE, Rng(1))
    user.answer(Act("inform", (Item("name", "ANNA"), Item("area", "north"))))
    assert user.view.goal.recommended == "ANNA"
    assert user.simulation.success()


class Talker(User):
    """Says as many words as there is room for."""

    number = 0

    def answer(self, system: Act) -> Act:
        self.number += 1
        items = (Item(f"slot {at}", f"value {self.number}") for at in range(30))
        return Act("inform", (Item("area", f"value {self.number}"), *items))


def test_many_words_can_be_said() -> None:
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-6"])
    for make_user in (None, Talker):
        simulation.make_user = make_user
        belief = simulation.begin(Rng(3))
        for number in range(EXCHANGES):
            items = [Item("name", f"{number} {at}", at % 3 == 0) for at in range(5)]
            items += [Item(f"slot {at}", f"{number} {at}") for at in range(32)]
            if simulation.answer(Act("inform", tuple(items))).ended:
                break
            assert all(1 >= of.none >= 0 for of in belief.slots.values())
        assert simulation.ended


@pytest.mark.parametrize(
    "acts",
    [
        [Act(f"act{number}") for number in range(33)],
        [Act("inform", tuple(Item(f"slot{number}", "x") for number in range(33)))],
        [Act("inform", tuple(Item("area", f"x{number}") for number in range(129)))],
    ],
)
def test_more_words_than_there_is_room_for_are_an_error(acts: list[Act]) -> None:
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-1"])
    simulation.begin(Rng(3))
    for act in acts[:-1]:
        simulation.view.check(act)
    with pytest.raises(UsageError, match="at most"):
        simulation.answer(acts[-1])
    simulation.begin(Rng(3))
    simulation.answer(acts[-1]._replace(items=acts[-1].items[:-1]))


def test_words_of_an_agent_are_shown_as_it_says_them() -> None:
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-1"])
    simulation.begin(Rng(3))
    for turn in range(EXCHANGES):
        items = [Item(f"slot{turn}", "x"), *(Item("phone", f"{turn}-{at}") for at in range(5))]
        act = Act(f"act{turn}", tuple(items))
        if simulation.answer(act).ended:
            break
        assert simulation.view.system_act == act
    assert turn > 5
