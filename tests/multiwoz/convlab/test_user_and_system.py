"""With the same draws, the user and the rule system produce exactly the public acts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from mwzeval.multiwoz.acts import SAME, USER_SLOTS, Act, Draws
from mwzeval.multiwoz.convlab.resources import (
    ActDatabase,
    ActResources,
    system_values,
    user_values,
)
from mwzeval.multiwoz.convlab.system import WHOLE_NUMBERS, RuleSystem
from mwzeval.multiwoz.convlab.user import Agenda, AgendaUser
from mwzeval.multiwoz.goals import Goal
from tests.cases import tabled
from tests.multiwoz.convlab.records import acts, golden, real_resources

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
    system_values({"hotel": {"area": ["north", "south"], "stars": ["3", "4"]}}),
    user_values(
        {"hotel": {"area": ["east", "west"]}, "train": {"leaveat": ["17:21"], "day": ["monday"]}}
    ),
)
Filled = Mapping[str, Mapping[str, str]]


class RecordedDraws(Draws):
    """Returns recorded choices; checks their kinds, and that all of them are used."""

    def __init__(self) -> None:
        self._left: list[Sequence[Any]] = []

    def load(self, recorded: Sequence[Sequence[Any]]) -> None:
        """Check that all previous choices were used, and load the next ones."""
        assert self._left == []
        self._left = list(recorded)

    def take(self, *kinds: str) -> Sequence[Any]:
        kind, *found = self._left.pop(0)
        assert kind in kinds, f"{kind} is recorded where {kinds} is drawn"
        return found

    def random(self) -> float:
        number, *said = self.take("random", "same")
        assert said in ([], [number < SAME])
        return float(number)

    def pick(self, n: int) -> int:
        *count, index = self.take("randint" if n == WHOLE_NUMBERS else "pick")
        assert count in ([], [n])
        return int(index)

    def shuffle(self, names: Collection[str]) -> list[str]:
        (order,) = self.take("order", "shuffle")
        assert sorted(order) == sorted(names)
        return list(order)


def belief(system: RuleSystem) -> dict[str, dict[str, dict[str, str]]]:
    """Return the filled slots of the belief state in the format of recorded dialogues."""
    filled: dict[str, dict[str, dict[str, str]]] = {}
    for part, domains in (("semi", system.semi), ("book", system.book)):
        for domain, slots in domains.items():
            values = {slot: value for slot, value in slots.items() if value}
            if values:
                filled.setdefault(domain, {})[part] = values
    return filled


def state_of(user: AgendaUser) -> dict[str, Any]:
    """Return the state of a user in the format of recorded dialogues."""
    goal = {domain: parts for domain, parts in user.goal.items() if domain != "domain_ordering"}
    return {
        "agenda": [[f"{act.domain}-{act.intent}", act.slot, act.value] for act in user.agenda],
        "current_domain": user.current_domain,
        "goal_state": goal,
        "complete": user.complete,
        "over": user.is_done,
    }


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "dialogues", "answers"),
    [("traces_user", 84, 0), ("traces_pair", 35, 217), ("traces_pair_corpus", 21, 141)],
)
def test_recorded_dialogues_are_replayed(name: str, dialogues: int, answers: int) -> None:
    traces = list(golden(name))
    answered = 0
    for trace in traces:
        draws = RecordedDraws()
        draws.load(trace["agenda_draws"])
        user = AgendaUser(trace["goal"], real_resources().system_values, draws)
        system = RuleSystem(real_resources(), draws)
        assert state_of(user)["agenda"] == trace["agenda"]
        for number, turn in enumerate(trace["turns"]):
            place = (trace["id"], number)
            draws.load(turn["user_draws"])
            said = user.answer(acts(turn["system"]))
            assert (place, said) == (place, acts(turn["user"]))
            state = state_of(user)
            assert (place, state) == (place, {name: turn[name] for name in state})
            if "answer" in turn:
                draws.load(turn["system_draws"])
                answer = system.answer(acts(turn["user"]))
                assert (place, belief(system)) == (place, turn["belief"])
                assert (place, answer) == (place, acts(turn["answer"]))
                answered += 1
        draws.load([])
        assert state_of(user)["goal_state"] == trace["goal_end"]
    assert (len(traces), answered) == (dialogues, answers)


# The rule system


def answers(said: Sequence[str], filled: Filled, drawn: Sequence[Sequence[Any]]) -> list[str]:
    """Return the policy's answer in a belief state."""
    draws = RecordedDraws()
    draws.load(drawn)
    system = RuleSystem(SMALL, draws)
    for domain, slots in filled.items():
        system.semi[domain].update(slots)
    answer = system.respond(Act(*text.split(" ", 3)) for text in said)
    draws.load([])
    return [" ".join(act) for act in answer]


@tabled
def test_rule_system_gives_the_expected_answers(
    said: list[str], filled: Filled, drawn: list[list[Any]], answer: list[str]
) -> None:
    assert answers(said, filled, drawn) == answer


@tabled
def test_rule_system_gives_the_expected_answers_about_trains(
    said: str, filled: dict[str, str], answer: list[str]
) -> None:
    train = {"departure": "ely", "destination": "cambridge", **filled}
    acts = answers([said], {"train": train}, [])
    assert [act.split(" ", 2)[2] for act in acts] == answer
    offered = "OfferBook" if "day" in filled else "NoOffer"
    expected = "Inform" if said.startswith("Request") else offered
    assert {act.split()[0] for act in acts} == {expected}


def test_random_draws_depend_on_the_dialogue_and_the_speaker() -> None:
    def picked(key: tuple[int, str, int, str]) -> tuple[int, ...]:
        draws = Draws(*key)
        return tuple(draws.pick(1000) for _ in range(4))

    keys = [*product((0, 1), ("a", "a/1"), (0, 1), ("user", "system"))]
    numbers = [*map(picked, keys)]
    assert numbers == [*map(picked, keys)]
    assert len(set(numbers)) == len(keys)
    draws = Draws(7, "goal", 0, "user")
    orders = Counter("".join(draws.shuffle("abc")) for _ in range(6000))
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())
    assert abs(sum(draws.random() < SAME for _ in range(6000)) - 1800) < 180
    found = [draws.pick(WHOLE_NUMBERS) for _ in range(600)]
    assert 0 <= min(found) < 20_000 < 980_000 < max(found) < 1_000_000


def test_belief_state_contains_only_informed_slots() -> None:
    system = RuleSystem(SMALL, Draws(0, "goal", 1, "system"))
    assert belief(system) == {}
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
            Act("Inform", "Restaurant", "Time", "18:00"),
        ]
    )
    east = belief(system)
    assert east == {
        "hotel": {"semi": {"area": "east"}, "book": {"stay": " 2 Nights"}},
        "train": {"semi": {"destination": "ely"}},
        "restaurant": {"book": {"time": "18:00"}},
    }
    system.track([Act("Inform", "Hotel", "Area", "west")])
    assert belief(system) == {**east, "hotel": {**east["hotel"], "semi": {"area": "west"}}}


# User rules that do not occur in the recorded dialogues


def user_of(goal: Goal) -> AgendaUser:
    return AgendaUser(goal, SMALL.system_values, Draws(0, "goal", 0, "user"))


BOOK = {"day": "monday", "people": "2", "stay": "3"}
FAIL_BOOK = {"day": "sunday", "people": "2", "stay": "3"}
GOALS: dict[str, Goal] = {
    "inn": {"hotel": {"info": {"area": "north"}, "book": BOOK, "fail_book": FAIL_BOOK}},
    "silent inn": {"hotel": {"info": {"area": "north"}, "book": BOOK, "fail_info": {}}},
    "named inn": {"hotel": {"info": {"area": "north"}, "reqt": ["phone", "name", "postcode"]}},
    "train": {
        "train": {
            **{"info": {"arriveBy": "11:00"}, "fail_info": {"arriveBy": "10:00"}},
            "reqt": ["price"],
        }
    },
}


@tabled
def test_user_gives_the_expected_last_answer(
    goal: str, heard: list[str], said: list[str], learnt: dict[str, Any]
) -> None:
    """`heard` are system turns, `said` is the user's last answer, `learnt` a part of its goal."""
    ((domain, part),) = GOALS[goal].items()
    user = user_of({"domain_ordering": [domain], domain: part})
    for turn in heard:
        acts = user.answer([Act(*act.split(" ", 3)) for act in turn.split("; ") if act])
    assert [" ".join(act) for act in acts] == said
    found = {name: user.goal[domain].get(name) for name in ("booked", "fail_book_fail")}
    assert {name: value for name, value in found.items() if value is not None} == learnt
    assert user.is_done == (said == ["bye general none none"])
    assert user.complete == (learnt.get("booked") == "yes")
    if user.is_done:
        with pytest.raises(ValueError, match="goodbye"):
            user.answer([])


@tabled
def test_taxi_places_are_the_venues_of_previous_domains(
    before: list[str], destination: str, departure: str
) -> None:
    user = user_of(
        {
            "domain_ordering": [*before, "taxi"],
            "hotel": {"info": {"area": "north"}},
            "restaurant": {"info": {"name": "bedouin"}},
            "train": {"info": {"day": "monday"}},
            "taxi": {"info": {"arriveBy": "10:00"}, "reqt": ["phone"]},
        }
    )
    user.answer([])
    for slot, place in (("Dest", destination), ("Depart", departure)):
        said = user.answer([Act("Request", "Taxi", slot, "?")])
        assert said[0] == Act("Inform", "Taxi", slot, place)


@tabled
def test_user_refuses_trains_that_violate_the_goal(slot: str, said: str, violated: bool) -> None:
    info = {"arriveBy": "10:00", "leaveAt": "09:00", "day": "monday"}
    user = user_of({"domain_ordering": ["train"], "train": {"info": info, "reqt": ["price"]}})
    user.answer([])
    answer = user.answer([Act("OfferBook", "Train", slot, said)])
    # A day is a booking slot, so it stays on the agenda until the user has made requests.
    waiting = {USER_SLOTS["train"].get(act.slot) for act in user.agenda}
    assert (slot in waiting | {act.slot for act in answer}) == violated


def about_a_hotel(text: str) -> list[Act]:
    """Return acts about a hotel: `slot=value` is informed, `slot?` is requested."""
    return [
        Act("request" if slot[-1] == "?" else "inform", "hotel", slot.rstrip("?"), value or "x")
        for slot, _, value in (word.partition("=") for word in text.split())
    ]


@pytest.mark.parametrize(
    ("waiting", "pushed", "said"),
    [
        # A turn has the acts pushed in it; without any, or if all are dontcare, up to four.
        ("area food name pricerange type", "", 4),
        ("area", "food name", 2),
        ("area food name pricerange type", "stars=dontcare", 4),
        # Booking slots are informed together, without other acts.
        ("area people day stay", "", 3),
        ("people", "day", 1),
        ("phone?", "day stay", 2),
        # A turn has constraints or requests, not both; a request for the name is the last act.
        ("area", "phone?", 1),
        ("", "phone? postcode?", 2),
        ("phone?", "postcode? name?", 1),
    ],
)
def test_agenda_groups_and_limits_the_acts_of_a_turn(waiting: str, pushed: str, said: int) -> None:
    agenda = Agenda(Draws(0, "goal", 0, "user"))
    for act in about_a_hotel(waiting):
        agenda.add(act)
    for act in about_a_hotel(pushed):
        agenda.push(*act)
    before = list(agenda)
    assert agenda.pop() == before[: -said - 1 : -1]
    assert list(agenda) == before[:-said]
