"""Words that are not of the domain, as agents and users of one's own may say."""

from __future__ import annotations

from mwzeval.pydial.dialogue.acts import Act, Item, parse_act
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.user_parameters import UserParameters
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import TASKS
from mwzeval.pydial.users.stand_in import User
from tests.pydial.simulator.parts import TextUser, simulation_of
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
    """Says more things than there are codes for, all of one kind."""

    said = 0

    def answer(self, system: Act) -> Act:
        self.said += 1
        items = (Item(f"slot {at % 30}", f"value {self.said} {at}") for at in range(1000))
        return Act("inform", (Item("area", f"value {self.said}"), *items))


def test_any_number_of_words_can_be_said() -> None:
    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-6"])
    for make_user in (None, Talker):
        simulation.make_user = make_user
        belief = simulation.begin(Rng(3))
        for number in range(EXCHANGES):
            items = [Item("name", f"{number} {at}", at % 3 == 0) for at in range(600)]
            items += [Item(f"slot {at}", f"{number} {at}") for at in range(600)]
            if simulation.answer(Act("inform", tuple(items))).ended:
                break
            assert all(1 >= of.none >= 0 for of in belief.slots.values())
        assert simulation.ended


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
