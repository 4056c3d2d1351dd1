"""The agenda user says to the letter what the public one said, and always comes to an end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.multiwoz.acts import USER_SLOTS, Act, Draws
from mwzeval.multiwoz.convlab.resources import system_values
from mwzeval.multiwoz.convlab.user import Agenda, AgendaUser
from mwzeval.multiwoz.goals.goal import Goal
from tests.cases import tabled
from tests.multiwoz.convlab.records import (
    SYSTEM_ACTS,
    RecordedDraws,
    Trace,
    acts,
    goals,
    golden,
    real_resources,
)

MOST_CALLS = 21


def agenda_of(user: AgendaUser) -> list[list[str]]:
    return [[f"{act.domain}-{act.intent}", act.slot, act.value] for act in user.agenda]


def goal_of(user: AgendaUser) -> Goal:
    return {domain: parts for domain, parts in user.goal.items() if domain != "domain_ordering"}


def replay(trace: Trace) -> None:
    """Check a recorded dialogue, turn by turn."""
    draws = RecordedDraws()
    draws.load(trace["agenda_draws"])
    user = AgendaUser(trace["goal"], real_resources().system_values, draws)
    draws.check_used_up()
    assert agenda_of(user) == trace["agenda"]
    for number, turn in enumerate(trace["turns"]):
        where = (trace["id"], number)
        draws.load(turn["user_draws"])
        said = user.answer(acts(turn["system"]))
        draws.check_used_up()
        assert (where, said) == (where, acts(turn["user"]))
        assert (where, agenda_of(user)) == (where, turn["agenda"])
        assert (where, user.current_domain) == (where, turn["current_domain"])
        assert (where, goal_of(user)) == (where, turn["goal_state"])
        assert (where, user.complete, user.is_done) == (where, turn["complete"], turn["over"])
    assert goal_of(user) == trace["goal_end"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "count"),
    [("traces_user.jsonl", 84), ("traces_pair.jsonl", 35), ("traces_pair_corpus.jsonl", 21)],
)
def test_recorded_dialogues_are_replayed(name: str, count: int) -> None:
    recorded = list(golden(name.removesuffix(".jsonl")))
    assert len(recorded) == count
    for trace in recorded:
        replay(trace)


# Rules that no recorded dialogue holds

TOWN = system_values({"hotel": {"area": ["north", "south"], "stars": ["3", "4"]}})


def begin(goal: Goal, trial: int = 0) -> AgendaUser:
    user = AgendaUser(goal, TOWN, Draws(0, "goal", trial, "user"))
    user.answer([])
    return user


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
def test_the_last_answer(
    goal: str, heard: list[str], said: list[str], learnt: dict[str, Any]
) -> None:
    """Turns of the system are acts; what is learnt is that part of the user's copy of the goal."""
    ((domain, part),) = GOALS[goal].items()
    goal_of_user: Goal = {"domain_ordering": [domain], domain: part}
    user = AgendaUser(goal_of_user, TOWN, Draws(0, "goal", 0, "user"))
    for turn in heard:
        acts = user.answer([Act(*act.split(" ", 3)) for act in turn.split("; ") if act])
    assert [" ".join(act) for act in acts] == said
    found = {name: user.goal[domain].get(name) for name in ("booked", "fail_book_fail")}
    assert {name: value for name, value in found.items() if value is not None} == learnt
    assert user.is_done == (said == ["bye general none none"])
    assert user.complete == (learnt.get("booked") == "yes")


@tabled
def test_a_taxi_goes_between_the_places_that_were_spoken_of(
    before: list[str], destination: str, departure: str
) -> None:
    goal: Goal = {
        "domain_ordering": [*before, "taxi"],
        "hotel": {"info": {"area": "north"}},
        "restaurant": {"info": {"name": "bedouin"}},
        "train": {"info": {"day": "monday"}},
        "taxi": {"info": {"arriveBy": "10:00"}, "reqt": ["phone"]},
    }
    user = begin(goal)
    for slot, place in (("Dest", destination), ("Depart", departure)):
        said = user.answer([Act("Request", "Taxi", slot, "?")])
        assert said[0] == Act("Inform", "Taxi", slot, place)


@tabled
def test_a_train_that_is_against_the_goal_is_refused(slot: str, said: str, violated: bool) -> None:
    goal: Goal = {
        "domain_ordering": ["train"],
        "train": {
            "info": {"arriveBy": "10:00", "leaveAt": "09:00", "day": "monday"},
            "reqt": ["price"],
        },
    }
    user = begin(goal)
    answer = user.answer([Act("OfferBook", "Train", slot, said)])
    # A day waits for a while: it counts as a slot of bookings, and the user asks first.
    waiting = {USER_SLOTS["train"].get(act.slot) for act in user.agenda}
    assert (slot in waiting | {act.slot for act in answer}) == violated


# Whatever a system says


@settings(max_examples=60, deadline=None)
@given(goals(), st.lists(SYSTEM_ACTS, min_size=MOST_CALLS, max_size=MOST_CALLS), st.integers(0, 9))
def test_the_user_says_goodbye_in_time_whatever_it_is_told(
    goal: Goal, system: list[list[Act]], trial: int
) -> None:
    untouched = repr(goal)
    user = AgendaUser(goal, TOWN, Draws(0, "goal", trial, "user"))
    twin = AgendaUser(goal, TOWN, Draws(0, "goal", trial, "user"))
    for call, acts_said in enumerate([[], *system[1:]], start=1):
        said = user.answer(acts_said)
        assert said == twin.answer(acts_said)
        assert said
        assert all(map(known_of_user, said))
        farewell = Act("bye", "general", "none", "none") in said
        assert farewell == user.is_done
        if user.is_done:
            break
        assert not user.complete
        assert call < MOST_CALLS
    assert user.is_done
    assert repr(goal) == untouched
    with pytest.raises(ValueError, match="goodbye"):
        user.answer([])


def known_of_user(act: Act) -> bool:
    if act.domain == "general":
        return act == ("bye", "general", "none", "none")
    words: set[Any] = {*USER_SLOTS[act.domain.lower()].values(), "none", "Choice", "NotBook"}
    return act.intent in ("Inform", "Request") and act.slot in words


INFORMS = ("area", "food", "name", "pricerange", "type")


@pytest.mark.parametrize(
    ("waiting", "pushed", "said"),
    [
        # Of its own accord the user says four things; otherwise what it was made to say.
        ([("inform", slot, "x") for slot in INFORMS], [], 4),
        ([("inform", "area", "x")], [("inform", "food", "x"), ("inform", "name", "x")], 2),
        ([("inform", slot, "x") for slot in INFORMS], [("inform", "stars", "dontcare")], 4),
        # What belongs to a booking is said together, and nothing else with it.
        ([("inform", slot, "x") for slot in ("area", "people", "day", "stay")], [], 3),
        ([("inform", "people", "x")], [("inform", "day", "x")], 1),
        ([("request", "phone", "?")], [("inform", "day", "x"), ("inform", "stay", "x")], 2),
        # Constraints and requests are not said in one turn; after a request for the name nothing.
        ([("inform", "area", "x")], [("request", "phone", "?")], 1),
        ([], [("request", "phone", "?"), ("request", "postcode", "?")], 2),
        ([("request", "phone", "?")], [("request", "postcode", "?"), ("request", "name", "?")], 1),
    ],
)
def test_what_is_said_in_one_turn(
    waiting: list[tuple[str, str, str]], pushed: list[tuple[str, str, str]], said: int
) -> None:
    agenda = Agenda(Draws(0, "goal", 0, "user"))
    for intent, slot, value in waiting:
        agenda.add(Act(intent, "hotel", slot, value))
    for intent, slot, value in pushed:
        agenda.push(intent, "hotel", slot, value)
    before = list(agenda)
    assert agenda.pop() == before[: -said - 1 : -1]
    assert list(agenda) == before[:-said]
