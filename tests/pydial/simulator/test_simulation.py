"""Complete dialogues: limits, endings, and dependence only on the seed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import UsageError
from mwzeval.pydial.acts import NULL, Act, Item, parse_act
from mwzeval.pydial.decision_process import DecisionProcess
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episodes import rng_of
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.simulator.codes import USER_ACTS
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Result, Simulation
from mwzeval.pydial.tasks import TASKS
from tests.examples import examples
from tests.pydial.runs import handcrafted_episodes
from tests.pydial.simulator.parts import Tracker

DEMO = load_domain("Demo-SFR")
NOISY, PERFECT = TASKS["Demo-SFR-6"], TASKS["Demo-SFR-1"]
ACTS = (
    *("hello", "request", "confirm", "select", "inform", "reqmore", "repeat", "bye", "null"),
    *("badact", "affirm", "sing"),
)
SLOTS = (*DEMO.ontology.requestable, *("type", "count", "nonsense", "") * 2)
OTHERS = (DEMO.ontology.entity_type, "dontcare", "none")
ENTITY = DEMO.table.rows[0]
ITEMS = [
    Item(slot, value, negated)
    for slot in SLOTS
    for value in (ENTITY.get(slot), *DEMO.ontology.informable.get(slot, ())[:2], *OTHERS)
    for negated in (False, True)
    if value is not None
] + [Item(slot) for slot in SLOTS] * 4
SYSTEM_ACTS = st.builds(
    Act, st.sampled_from(ACTS), st.lists(st.sampled_from(ITEMS), max_size=4).map(tuple)
)


@examples(180)
@given(st.booleans(), st.integers(0, 2**32), st.lists(SYSTEM_ACTS, min_size=26, max_size=26))
def test_any_sequence_of_system_acts_ends_within_the_limit(
    legacy: bool, seed: int, acts: list[Act]
) -> None:
    simulation = Simulation(DEMO, NOISY, legacy=legacy)
    simulation.begin(Rng(seed))
    total = 0.0
    for number, act in enumerate(acts, start=1):
        result = simulation.answer(act)
        total += result.reward
        d, goal, said = simulation.d, simulation.goal, simulation.view.user_act
        assert d.patience <= d.max_patience
        assert all(code < len(USER_ACTS) for code in d.agenda_act[: d.agenda])
        assert "name" in goal.requests
        assert all(item.value is not None for item in goal.constraints)
        wanted = [item.slot for item in goal.constraints if not item.negated]
        assert len({*wanted}) == len(wanted)
        assert said.name in USER_ACTS
        assert parse_act(str(said)) == said
        assert not any(item.negated for item in said.items)
        if result.ended:
            break
        heard = simulation.view.hypotheses
        assert sum(score for _, score in heard) == pytest.approx(1)
        assert len({str(act) for act, _ in heard}) == len(heard) <= 6
        assert NULL in dict(heard)
        assert simulation.exchange == number + 1
    assert result.ended
    assert simulation.exchange == number <= 25
    assert result.out_of_time <= (number == 25)
    assert result.success == simulation.success()
    assert total == 20 * result.success - number


@examples(30)
@given(st.booleans(), st.integers(0, 2**32), st.integers(0, 2**32))
def test_any_sequence_of_actions_ends_within_the_limit(
    legacy: bool, seed: int, choices: int
) -> None:
    process = DecisionProcess(DEMO, NOISY, legacy=legacy)
    observation, _ = process.begin(Rng(seed))
    rng, exchanges, ended = Rng(choices), 0, False
    while not ended:
        assert ((observation >= 0) & (observation <= 1)).all()
        assert process.mask.any()
        observation, _, ended, info = process.step(rng.choose(range(len(process.mask))))
        exchanges += 1
    assert exchanges == info["exchange"] <= 25
    assert not observation.any()


def outcome(simulation: Simulation, seed: int) -> tuple[list[str], Result]:
    policy, rng = HandcraftedPolicy(), Rng(seed)
    belief = simulation.begin(rng)
    said = []
    while True:
        result = simulation.answer(policy.act(belief, rng))
        said += [str(simulation.view.system_act), str(simulation.view.user_act)]
        if result.ended:
            return said, result


def test_a_dialogue_depends_only_on_its_seed() -> None:
    simulation = Simulation(DEMO, NOISY)
    alone = outcome(Simulation(DEMO, NOISY), 7)
    for other in range(20):
        outcome(simulation, other)
    assert outcome(simulation, 7) == alone
    assert outcome(simulation, 8) != alone


def test_confusion_seed_changes_the_dialogues() -> None:
    simulations = (
        Simulation(DEMO, NOISY),
        Simulation(DEMO, NOISY, confusion_seed=0),
        Simulation(DEMO, NOISY, confusion_seed=1),
    )
    default, zero, other = ([outcome(s, index) for index in range(12)] for s in simulations)
    assert default == zero != other


def test_system_answers_a_user_bye_with_bye() -> None:
    simulation = Simulation(DEMO, PERFECT)
    simulation.begin(Rng(0))
    result = Result(0, False)
    while not result.ended:  # repeated acts reduce the user's patience
        result = simulation.answer(parse_act("request(name)"))
    assert str(simulation.view.user_act) == "bye()"
    assert str(simulation.view.system_act) == "bye()"
    assert simulation.exchange <= 7
    assert result == Result(-1, True, False, False)


@pytest.mark.parametrize(("confidence", "said"), [(0.79, "reqmore"), (0.81, "bye")])
def test_system_answers_bye_above_a_confidence_of_four_fifths(confidence: float, said: str) -> None:
    tracker = Tracker(DEMO)
    tracker.update(Act("hello"), ((Act("bye"), confidence), (Act("thankyou"), 1 - confidence)))
    assert tracker.simulation.spoken(Act("reqmore")).name == said


def test_system_bye_ends_the_dialogue() -> None:
    simulation = Simulation(DEMO, PERFECT)
    simulation.begin(Rng(0))
    assert simulation.answer(parse_act("bye()")) == Result(-1, True, False, False)
    with pytest.raises(UsageError):
        simulation.answer(parse_act("bye()"))


def test_dialogues_end_at_the_exchange_limit_as_out_of_time() -> None:
    task = replace(PERFECT, max_exchanges=3)
    simulation = Simulation(DEMO, task)
    simulation.begin(Rng(0))
    slots = DEMO.ontology.constraint_slots
    results = [simulation.answer(Act("request", (Item(slot),))) for slot in slots[:3]]
    assert results == [Result(-1, False), Result(-1, False), Result(-1, True, False, True)]
    assert simulation.exchange == 3


def test_handcrafted_policy_succeeds_more_than_masked_random_actions() -> None:
    process, successes = DecisionProcess(DEMO, NOISY), 0
    for index in range(60):
        rng, ended = rng_of(1, index), False
        process.begin(rng)
        while not ended:
            action = RandomPolicy().act(None, process.mask, rng)
            _, _, ended, info = process.step(action)
        successes += info["success"]
    handcrafted = handcrafted_episodes(Simulation(DEMO, NOISY), range(60), 1)
    assert successes + 12 < sum(episode.success for episode in handcrafted)


@pytest.mark.parametrize("keep", [False, True])
def test_keep_alternatives_carries_the_request_into_the_next_dialogue(keep: bool) -> None:
    process = DecisionProcess(DEMO, NOISY, keep_alternatives=keep)
    process.simulation.d.alternative_awaited = True
    process.begin(Rng(1))
    assert process.simulation.d.alternative_awaited is keep


@pytest.mark.parametrize("slot", ["type", "phone", "nonsense"])
def test_affirming_an_untracked_slot_still_updates_other_slots(slot: str) -> None:
    confirm, yes = Act("confirm", (Item(slot, "x"),)), parse_act('affirm(allowedforkids="1")')
    belief = Tracker(DEMO).update(confirm, [(yes, 1.0)])
    assert belief["allowedforkids"].accepted == "1"
