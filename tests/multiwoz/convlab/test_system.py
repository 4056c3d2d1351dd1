"""The rule system tracks and answers as the published one did, given the same draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mwzeval.multiwoz.acts import Act
from mwzeval.multiwoz.convlab.resources import ActDatabase, user_values
from mwzeval.multiwoz.convlab.system import SEMI_SLOTS, WHOLE_NUMBERS, RuleTracker, policy_acts
from mwzeval.multiwoz.convlab.user import SAME, Draws
from tests.cases import tabled
from tests.multiwoz.convlab.records import (
    RecordedDraws,
    belief,
    golden,
    real_database,
    real_resources,
)

SMALL = ActDatabase(
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
            {"departure": "ely", "destination": "cambridge", "day": "monday", "leaveAt": "09:00"},
            {"departure": "ely", "destination": "cambridge", "day": "sunday", "leaveAt": "11:00"},
        ],
        "police": [{"name": "station", "phone": "999"}],
    }
)
TO_CAMBRIDGE = {"departure": "ely", "destination": "cambridge"}
GREETING = ["greet general none none"]


def semi(**filled: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {
        domain: {slot: filled.get(domain, {}).get(slot, "") for slot in slots}
        for domain, slots in SEMI_SLOTS.items()
    }


def act(text: str) -> Act:
    return Act(*text.split(" ", 3))


def answers(
    said: Sequence[str], state: Mapping[str, Mapping[str, str]], drawn: Sequence[Sequence[Any]]
) -> list[str]:
    draws = RecordedDraws()
    draws.load(drawn)
    answer = policy_acts(SMALL, draws, state, [act(text) for text in said])
    draws.check_used_up()
    return [" ".join(one) for one in answer]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "turns"), [("traces_pair.jsonl", 217), ("traces_pair_corpus.jsonl", 141)]
)
def test_replays_the_system_side_of_recorded_dialogues(name: str, turns: int) -> None:
    seen = 0
    for dialogue in golden(name.removesuffix(".jsonl")):
        draws = RecordedDraws()
        tracker = RuleTracker(real_resources().user_values)
        for number, turn in enumerate(dialogue["turns"]):
            place = dialogue["id"], number
            acts = [Act(*raw) for raw in turn["user"]]
            draws.load(turn["system_draws"])
            tracker.update(acts)
            assert belief(tracker) == turn["belief"], place
            answer = policy_acts(real_database(), draws, tracker.semi, acts)
            assert [list(one) for one in answer] == turn["answer"], place
            draws.check_used_up()
            seen += 1
    assert seen == turns


@tabled
def test_answers_about_trains(said: str, filled: dict[str, str], answer: list[str]) -> None:
    acts = answers([said], semi(train={**TO_CAMBRIDGE, **filled}), [])
    assert [act.split(" ", 2)[2] for act in acts] == answer
    offered = "OfferBook" if "day" in filled else "NoOffer"
    expected = "Inform" if said.startswith("Request") else offered
    assert {act.split()[0] for act in acts} == {expected}


@tabled
def test_answers(
    said: list[str], filled: dict[str, dict[str, str]], drawn: list[list[Any]], answer: list[str]
) -> None:
    assert answers(said, semi(**filled), drawn) == answer


NAMES = ("area", "food", "name")


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
    orders = Counter(tuple(draws.shuffle(NAMES)) for _ in range(6000))
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())
    assert abs(sum(draws.random() < SAME for _ in range(6000)) - 1800) < 180
    assert set(Counter(draws.pick(3) for _ in range(600))) == {0, 1, 2}
    numbers = [draws.pick(WHOLE_NUMBERS) for _ in range(600)]
    assert 0 <= min(numbers) < 20_000
    assert 980_000 < max(numbers) < 1_000_000


VALUES = user_values(
    {"hotel": {"area": ["east", "west"]}, "train": {"leaveat": ["17:21"], "day": ["monday"]}}
)


def test_the_belief_is_what_the_user_informed_of() -> None:
    tracker = RuleTracker(VALUES)
    tracker.update(
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
    tracker.update([Act("Inform", "Restaurant", "Time", "18:00")])
    tracker.update([Act("Inform", "Hotel", "Area", "west")])
    assert belief(tracker) == {
        "hotel": {"semi": {"area": "west"}, "book": {"stay": " 2 Nights"}},
        "train": {"semi": {"destination": "ely"}},
        "restaurant": {"book": {"time": "18:00"}},
    }
    assert belief(RuleTracker(VALUES)) == {}
