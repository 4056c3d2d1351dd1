"""The rule system tracks and answers as the published one did, given the same draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mwzeval.multiwoz.acts import SAME, Act, Draws
from mwzeval.multiwoz.convlab.resources import (
    ActDatabase,
    ActResources,
    system_values,
    user_values,
)
from mwzeval.multiwoz.convlab.system import WHOLE_NUMBERS, RuleSystem
from tests.cases import tabled
from tests.multiwoz.convlab.records import RecordedDraws, acts, belief, golden, real_resources

SMALL = ActResources(
    ActDatabase(
        {
            "restaurant": [
                {"name": "alpha", "food": "thai", "area": "north", "pricerange": "cheap"},
                {"name": "beta", "food": "thai", "area": "south", "phone": "01223"},
            ],
            "attraction": [
                {"name": "gamma", "area": "north", "pricerange": "free"},
                {"name": "delta", "area": "north", "pricerange": "cheap"},
            ],
            "hospital": [{"department": "neurology"}, {"department": "paediatrics"}],
            "train": [
                {**{"departure": "ely", "destination": "cambridge"}, "day": day, "leaveAt": time}
                for day, time in (("monday", "09:00"), ("sunday", "11:00"))
            ],
            "police": [{"name": "station", "phone": "999"}],
        }
    ),
    system_values({}),
    user_values(
        {"hotel": {"area": ["east", "west"]}, "train": {"leaveat": ["17:21"], "day": ["monday"]}}
    ),
)
Filled = Mapping[str, Mapping[str, str]]


def answers(said: Sequence[str], filled: Filled, drawn: Sequence[Sequence[Any]]) -> list[str]:
    """Return what the policy says in a belief state."""
    draws = RecordedDraws()
    draws.load(drawn)
    system = RuleSystem(SMALL, draws)
    for domain, slots in filled.items():
        system.semi[domain].update(slots)
    answer = system.respond(Act(*text.split(" ", 3)) for text in said)
    draws.check_used_up()
    return [" ".join(act) for act in answer]


@pytest.mark.integration
@pytest.mark.parametrize(("name", "turns"), [("traces_pair", 217), ("traces_pair_corpus", 141)])
def test_replays_the_system_side_of_recorded_dialogues(name: str, turns: int) -> None:
    seen = 0
    for dialogue in golden(name):
        draws = RecordedDraws()
        system = RuleSystem(real_resources(), draws)
        for number, turn in enumerate(dialogue["turns"]):
            draws.load(turn["system_draws"])
            answer = system.answer(acts(turn["user"]))
            assert belief(system) == turn["belief"], (dialogue["id"], number)
            assert answer == acts(turn["answer"]), (dialogue["id"], number)
            draws.check_used_up()
            seen += 1
    assert seen == turns


@tabled
def test_answers(
    said: list[str], filled: Filled, drawn: list[list[Any]], answer: list[str]
) -> None:
    assert answers(said, filled, drawn) == answer


@tabled
def test_answers_about_trains(said: str, filled: dict[str, str], answer: list[str]) -> None:
    train = {"departure": "ely", "destination": "cambridge", **filled}
    acts = answers([said], {"train": train}, [])
    assert [act.split(" ", 2)[2] for act in acts] == answer
    offered = "OfferBook" if "day" in filled else "NoOffer"
    expected = "Inform" if said.startswith("Request") else offered
    assert {act.split()[0] for act in acts} == {expected}


def test_choices_are_the_same_for_the_same_dialogue_and_others_for_another() -> None:
    def choices(seed: int, goal: str, trial: int) -> list[tuple[int, ...]]:
        sides = [Draws(seed, goal, trial, side) for side in ("user", "system")]
        return [tuple(draws.pick(1000) for _ in range(4)) for draws in sides]

    keys = [(seed, goal, trial) for seed in (0, 1) for goal in ("a", "a/1") for trial in (0, 1)]
    seen = [choices(*key) for key in keys]
    assert seen == [choices(*key) for key in keys]
    # The two sides of a dialogue draw from generators of their own, too.
    assert len({numbers for sides in seen for numbers in sides}) == 2 * len(keys)


def test_choices_are_as_likely_as_they_should_be() -> None:
    draws = Draws(7, "goal", 0, "user")
    orders = Counter(tuple(draws.shuffle(("area", "food", "name"))) for _ in range(6000))
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())
    assert abs(sum(draws.random() < SAME for _ in range(6000)) - 1800) < 180
    assert set(Counter(draws.pick(3) for _ in range(600))) == {0, 1, 2}
    numbers = [draws.pick(WHOLE_NUMBERS) for _ in range(600)]
    assert 0 <= min(numbers) < 20_000
    assert 980_000 < max(numbers) < 1_000_000


def test_the_belief_is_what_the_user_informed_of() -> None:
    system = RuleSystem(SMALL, Draws(0, "goal", 1, "system"))
    system.track(
        [
            Act("Inform", "Hotel", "none", "none"),
            Act("inform", "Hotel", "Area", "EAST"),
            Act("Inform", "Hotel", "Stay", " 2 Nights"),
            Act("Inform", "Hotel", "Choice", "any"),
            Act("Inform", "Hotel", "Time", "17:15"),
            Act("Inform", "Train", "Time", "51 minutes"),
            Act("Inform", "Train", "Dest", "Ely"),
            Act("Request", "Train", "Depart", "?"),
            Act("Recommend", "Train", "Depart", "cambridge"),
            Act("Inform", "Booking", "Day", "monday"),
            Act("bye", "general", "none", "none"),
            Act("Inform", "UNK", "Area", "east"),
        ]
    )
    system.track([Act("Inform", "Restaurant", "Time", "18:00")])
    system.track([Act("Inform", "Hotel", "Area", "west")])
    assert belief(system) == {
        "hotel": {"semi": {"area": "west"}, "book": {"stay": " 2 Nights"}},
        "train": {"semi": {"destination": "ely"}},
        "restaurant": {"book": {"time": "18:00"}},
    }
    assert belief(RuleSystem(SMALL, Draws(0, "goal", 1, "system"))) == {}
