"""In random states, the simulated user has the outcomes and probabilities of the specification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from mwzeval.pydial.acts import Act, Item
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.simulation import Simulation
from tests.pydial.simulator.outcomes import Script, outcomes
from tests.pydial.simulator.parts import TextUser, UserParameters, simulation_of
from tests.pydial.simulator.random_acts import DOMAIN_CASES, RandomActs, domain_named
from tests.pydial.simulator.specified_user import SpecifiedUser, hear, respond

STATES = 240
PER_CAST = 20
"""Number of states with the same few entities."""
ALL_DIFFERENT = UserParameters._make([0.2 + 0.02 * n for n in range(24)] + [0.0, 0.0])._replace(
    thank_ack_1=0.2,
    thank_ack_2=0.3,
    request_alternatives_1=0.21,
    request_alternatives_2=0.35,
    new_request_response_1=0.19,
    new_request_response_2=0.36,
    correcting_act_1=0.22,
    correcting_act_2=0.33,
)


def random_user(acts: RandomActs, domain: Domain, *, legacy: bool) -> SpecifiedUser:
    random, ontology = acts.random, domain.ontology
    slots = random.sample(ontology.constraint_slots, 3)[: random.choice([0, 1, 2, 3, 3, 3])]
    constraints = [Item(slot, acts.value(slot)) for slot in slots]
    used = {slot: {str(value)} for slot, value, _ in constraints}
    kind = random.random()
    if kind < 0.5:
        constraints.append(Item("name", random.choice(acts.names), kind < 0.25))
    requests: dict[str, str | None] = {"name": random.choice([None, *acts.names[:2]])}
    answers = random.choice([(None, "x"), (None, "x"), ("x",)])
    for slot in acts.some({*ontology.requestable} - {"name"}, 3):
        requests[slot] = random.choice(answers)
    patience = random.choice([4, 5])
    return SpecifiedUser(
        domain=domain,
        parameters=ALL_DIFFERENT,
        legacy=legacy,
        constraints=constraints,
        requests=requests,
        used=used,
        agenda=random_agenda(acts, constraints),
        patience=random.randint(1, patience),
        max_patience=patience,
        nothing_matches=random.random() < 0.1,
        first_offer_pending=random.random() < 0.4,
        last_said=random.choice([acts.constraint_inform(), Act("hello"), Act("repeat")]),
        last_heard=acts.system_act(),
    )


def random_agenda(acts: RandomActs, constraints: Iterable[Item]) -> list[Act]:
    random = acts.random
    if random.random() < 0.1:
        return []
    wanted = [item for item in constraints if not item.negated]
    informs = [Act("inform", (item,)) for item in (*wanted, Item("type", acts.entity_type))]
    agenda = random.sample(informs, random.randint(0, min(3, len(informs))))
    if random.random() < 0.8:
        agenda.insert(0, Act("bye"))
    if random.random() < 0.6:
        name = random.choice(["inform", "confirm", "affirm", "negate", "request", "request"])
        first, second = random.sample(acts.requestable, 2)
        asked = {first, random.choice([second, "name"])}
        items = map(Item, sorted(asked)) if name == "request" else acts.constraint_inform().items
        agenda.append(Act(name, tuple(items)))
        random.shuffle(agenda)
    return agenda


def shown(said: Act, user: SpecifiedUser) -> str:
    """Return the user's act and the complete state of the user."""
    used = sorted((slot, sorted(values)) for slot, values in user.used.items())
    state = (user.agenda, user.constraints, user.requests, used, user.last_said)
    return repr((said, state, user.patience, user.nothing_matches, user.first_offer_pending))


def as_specified(before: SpecifiedUser, heard: Act, rng: Script) -> str:
    user = before.twin(rng)
    hear(user, heard)
    return shown(respond(user), user)


def as_programmed(simulation: Simulation, before: SpecifiedUser, heard: Act, rng: Script) -> str:
    goal = Goal(list(before.constraints), dict(before.requests))
    user = TextUser(simulation, goal, before.max_patience, before.parameters, rng, used=before.used)
    d = user.d
    user.set_agenda(reversed(before.agenda))
    user.say_again(before.last_said)
    user.last_heard(before.last_heard)
    d.patience, d.nothing_matches = before.patience, before.nothing_matches
    d.first_offer_pending = before.first_offer_pending
    said = user.answer(heard)
    after = replace(
        before,
        constraints=user.view.goal.constraints,
        requests=user.view.goal.requests,
        used=user.used,
        agenda=user.agenda()[::-1],
        patience=d.patience,
        nothing_matches=bool(d.nothing_matches),
        first_offer_pending=bool(d.first_offer_pending),
        last_said=user.last_said,
    )
    return shown(said, after)


def probabilities(run: Callable[[Script], str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for after, probability in outcomes(run):
        found[after] += probability  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "clean"])
@pytest.mark.parametrize("code", DOMAIN_CASES)
def test_user_answers_have_the_specified_probabilities(code: str, legacy: bool) -> None:
    domain = domain_named(code)
    simulation = simulation_of(domain, legacy=legacy)
    random = Random(f"users of {code}")
    for number in range(STATES):
        if number % PER_CAST == 0:
            acts = RandomActs(domain, random)
        before, heard = random_user(acts, domain, legacy=legacy), acts.system_act()
        if random.random() < 0.2:
            before.last_heard = heard
        specified = probabilities(partial(as_specified, before, heard))
        programmed = probabilities(partial(as_programmed, simulation, before, heard))
        assert programmed == pytest.approx(specified, abs=1e-9), f"{heard} heard by {before}"
