"""Each clause of the definitions in docs/metrics.md, with hand cases and a slow twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.annotations import Goal, goals_of
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.grounding.bookings import (
    Booked,
    bookable,
    booked_in_state,
    booking_errors,
    last_bookings,
)
from mwzeval.multiwoz.grounding.claims import (
    CheckedMention,
    Grounded,
    SystemTurn,
    compare_with_database,
)
from mwzeval.multiwoz.normalization import State, normalize_states
from mwzeval.multiwoz.predictions import Booking
from mwzeval.multiwoz.schema import BOOKING_SLOTS, PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import DomainGoal, NeedsOffer
from mwzeval.multiwoz.words.text import Mention
from tests.cases import tabled
from tests.examples import examples
from tests.multiwoz import grounded_twin
from tests.multiwoz.towns import ATTRACTION, HOTEL, TOWN, mention, named
from tests.multiwoz.worlds import Tables

CHINESE: State = {"restaurant": {"food": "chinese"}}
Turn = tuple[State, Sequence[Mention]]


def judged(
    *turns: Turn,
    goal: Mapping[str, DomainGoal] | None = None,
    booked: Sequence[frozenset[str]] | None = None,
    tables: Tables = TOWN,
) -> Grounded:
    nothing = [frozenset[str]()] * len(turns)
    said = zip(turns, booked or nothing, strict=True)
    turns_ = [SystemTurn("", *turn, of_turn) for turn, of_turn in said]
    return compare_with_database(goal or {}, turns_, Database(tables, "2021"))


def last(*turns: Turn, tables: Tables = TOWN) -> CheckedMention:
    return judged(*turns, tables=tables).checked[-1]


def state_of(text: str) -> State:
    """Return a state; each part of the text is `domain` or `domain slot=value`."""
    state: dict[str, dict[str, str]] = {}
    for part in filter(None, text.split(", ")):
        domain, _, pair = part.partition(" ")
        slots = state.setdefault(domain, {})
        if pair:
            slot, _, value = pair.partition("=")
            slots[slot] = value
    return state


def mentions_of(text: str) -> list[Mention]:
    """Return mentions; each part of the text is `slot=text` (restaurant) or `domain slot=text`."""
    found = []
    for part in filter(None, text.split(", ")):
        place, _, said = part.partition("=")
        domain, _, slot = place.rpartition(" ")
        found.append(mention(slot, said, None if domain == "no domain" else domain or "restaurant"))
    return found


def turns_of(text: str) -> list[Turn]:
    """Return the turns of a dialogue; each turn of the text is `state | mentions`."""
    turns = [turn.split("|") for turn in text.split(" / ")]
    return [(state_of(state.strip()), mentions_of(said.strip())) for state, said in turns]


@tabled
def test_last_mention_has_the_expected_verdict(
    turns: str, known: bool, agrees: bool | None
) -> None:
    found = last(*turns_of(turns))
    assert (found.known, found.agrees) == (known, agrees)


@tabled
def test_checked_mentions_exclude_user_values_and_unverifiable_slots(
    turns: str, number: int
) -> None:
    assert len(judged(*turns_of(turns)).checked) == number


@tabled
def test_dialogues_have_the_expected_inform_and_success(
    *,
    domain: str,
    venues: str,
    requested: str,
    needs: str,
    turns: str,
    inform: bool,
    success: bool | None,
) -> None:
    asked = frozenset(requested.split())
    goal = {domain: DomainGoal(frozenset(venues.split()), asked, NeedsOffer[needs])}
    outcome = judged(*turns_of(turns), goal=goal).outcome
    assert (outcome.inform, outcome.success) == (inform, success)


@tabled
def test_mentions_are_known_if_the_database_contains_them(
    slot: str, said: str, domain: str | None, known: bool
) -> None:
    assert last(({}, [mention(slot, said, domain)])).known is known


@tabled
def test_rooms_amenities_and_opening_hours_are_compared_with_the_database(
    domain: str, slot: str, text: str, agrees: bool | None
) -> None:
    rooms = {"price": {"single": "50", "double": "70"}, "parking": "no", "internet": "yes"}
    hours = {"openhours": "it opens from 9 a.m. to 5:00 p.m. daily"}
    tables = {**TOWN, "hotel": [{**HOTEL, **rooms}], "attraction": [{**ATTRACTION, **hours}]}
    venue = {"hotel": "grand hotel", "attraction": "the museum"}[domain]
    spoken = [mention("name", venue, domain, tables), mention(slot, text, domain, tables)]
    (_, *found) = judged(({}, spoken), tables=tables).checked
    assert [checked.agrees for checked in found] == ([] if agrees is None else [agrees])


# The venues that values are compared with


def test_documentation_example_has_the_expected_verdicts() -> None:
    two = (CHINESE, [mention("area", "north")])
    kettle = (CHINESE, [*named("red kettle"), mention("pricerange", "cheap")])
    for number, right in (("01223000002", True), ("01223000001", False)):
        found = judged(two, kettle, (CHINESE, [mention("phone", number)])).checked
        assert [checked.agrees for checked in found] == [True, None, False, right]
        assert all(checked.known for checked in found)


@pytest.mark.parametrize("order", [1, -1])
def test_venue_name_may_precede_or_follow_its_values(order: int) -> None:
    said = [*named("blue lantern"), mention("phone", "01223000001")][::order]
    agrees = {checked.mention.slot: checked.agrees for checked in judged(({}, said)).checked}
    assert agrees == {"name": None, "phone": True}


MANY = 20


def many(row: dict[str, str], **other: str) -> list[dict[str, str]]:
    return [{**row, **other, "id": str(i), "phone": f"{i:011}"} for i in range(MANY)]


HOURS = "it opens from 9 a.m. to 5:00 p.m. daily"
MANY_VENUES: Tables = {
    **TOWN,
    "restaurant": [
        *many(TOWN["restaurant"][0]),
        {**TOWN["restaurant"][0], "id": str(MANY), "food": "thai", "phone": "1" * 11},
    ],
    "attraction": many(ATTRACTION, openhours=HOURS),
}


@pytest.mark.parametrize(
    ("domain", "slot", "value", "agrees"),
    [
        ("restaurant", "phone", f"{MANY - 1:011}", True),
        *(("restaurant", "phone", number, False) for number in ("1" * 11, "9" * 11)),
        *(("attraction", "openhours", time, True) for time in ("9 am", "5 pm")),
        ("attraction", "openhours", "6 pm", False),
    ],
)
def test_value_agrees_if_any_of_many_offered_venues_has_it(
    domain: str, slot: str, value: str, agrees: bool
) -> None:
    said = [mention(slot, value, domain, MANY_VENUES)]
    found = last(({**CHINESE, "attraction": {}}, said), tables=MANY_VENUES)
    assert (found.agrees, len(found.offered)) == (agrees, MANY)


def test_value_may_belong_to_a_mentioned_venue_of_another_domain() -> None:
    museum = (CHINESE, named("the museum", domain="attraction"))
    number = mention("phone", "01223000021", "attraction")
    misread = number._replace(domain="restaurant", venues=())
    for turns, agrees in (
        ([museum, (CHINESE, [misread])], True),
        ([museum, (CHINESE, [*named("blue lantern"), misread])], False),
        ([(CHINESE, [misread])], False),
    ):
        found = last(*turns)
        assert (found.known, found.agrees) == (True, agrees)


@pytest.mark.parametrize(
    ("time", "sure", "agrees"),
    [("09:20", True, False), ("09:20", False, True), ("11:20", False, False)],
)
def test_times_without_a_verb_may_match_departure_or_arrival(
    time: str, sure: bool, agrees: bool
) -> None:
    said = [*named("TR0001", domain="train"), mention("leaveat", time, "train")._replace(sure=sure)]
    assert last(({}, said)).agrees is agrees


@pytest.mark.parametrize(
    ("response", "agrees"),
    [
        *(("TR0001 is 8.80 pounds for two.", True), ("TR0001 is 8.80 pounds for three.", False)),
        *(("TR0001 is 8.80 pounds each.", False), ("TR0001 is 8.80 pounds.", True)),
    ],
)
def test_prices_are_checked_for_the_stated_number_of_tickets(response: str, agrees: bool) -> None:
    price = mention("price", "8.80 pounds", "train")._replace(start=10, end=21)
    turn = SystemTurn(response, {}, [*named("TR0001", domain="train"), price])
    assert compare_with_database({}, [turn], Database(TOWN, "2021")).checked[-1].agrees is agrees


@pytest.mark.parametrize(
    ("said_in", "booked_from", "domain", "success"),
    [
        (1, 1, "restaurant", True),
        (1, 0, "restaurant", True),
        (0, 1, "restaurant", False),
        (1, 1, None, True),
        (1, 1, "hotel", False),
        (1, 2, "restaurant", False),
    ],
)
def test_references_count_only_after_the_booking(
    said_in: int, booked_from: int, domain: str | None, success: bool
) -> None:
    goal = {"restaurant": DomainGoal(frozenset({"1"}), frozenset({"REFERENCE"}))}
    said: list[list[Mention]] = [named("blue lantern"), []]
    said[said_in].append(mention("reference", "A1B2C3D4", domain))
    turns = [(CHINESE, of_turn) for of_turn in said]
    outcome = judged(*turns, goal=goal, booked=booked_after(booked_from, len(turns))).outcome
    assert outcome.success is success


def booked_after(first: int, turns: int) -> list[frozenset[str]]:
    return [frozenset({"restaurant"} if turn >= first else ()) for turn in range(turns)]


# Comparison with a slow twin

VALUES = {
    "name": ("blue lantern", "red kettle", "old mill", "green dragon"),
    "phone": ("01223000001", "01223000002", "01223000003", "01223000009"),
    "postcode": ("cb10aa", "cb10ab", "cb99zz"),
    "area": ("north", "south", "west"),
    "food": ("chinese", "british", "martian"),
    "pricerange": ("cheap", "expensive"),
    "reference": ("A1B2C3D4",),
    "trainid": ("TR0001", "TR0003", "TR9999"),
    "leaveat": ("09:00", "10:00", "12:00", "03:33"),
    "price": ("4.40 pounds", "8.80 pounds", "7.00 pounds", "1 pound"),
    "destination": ("cambridge", "norwich", "oz"),
}
OF_TRAINS = ("trainid", "leaveat", "price", "destination")


@st.composite
def mentions_(draw: st.DrawFn) -> Mention:
    slot = draw(st.sampled_from(sorted(VALUES)))
    own = "train" if slot in OF_TRAINS else "restaurant"
    domain = draw(st.sampled_from([own, own, own, None, "taxi"]))
    return mention(slot, draw(st.sampled_from(VALUES[slot])), domain)


def some(**slots: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({}, optional=slots)


states_ = st.fixed_dictionaries(
    {},
    optional={
        "restaurant": some(
            **{slot: st.sampled_from(VALUES[slot]) for slot in ("food", "name", "pricerange")}
        ),
        "train": some(leave=st.sampled_from(VALUES["leaveat"]), day=st.just("monday")),
        "taxi": st.just({}),
    },
)
IDS = {"restaurant": ("1", "2", "3"), "train": ("TR0001", "TR0002", "TR0003")}
goals_ = st.fixed_dictionaries(
    {},
    optional={
        domain: st.builds(
            DomainGoal,
            st.frozensets(st.sampled_from(ids)),
            st.frozensets(st.sampled_from([*PROVIDABLE])),
            st.sampled_from(NeedsOffer),
        )
        for domain, ids in IDS.items()
    },
)
turns_ = st.lists(st.tuples(states_, st.lists(mentions_(), max_size=4)), min_size=1, max_size=5)


@examples(300)
@given(turns_, goals_, st.integers(0, 5))
def test_grounding_matches_a_slow_reference_implementation(
    turns: list[Turn], goal: dict[str, DomainGoal], booked_from: int
) -> None:
    booked = booked_after(booked_from, len(turns))
    found = judged(*turns, goal=goal, booked=booked)
    twin = grounded_twin.Twin(TOWN, turns)
    assert [(j.turn, j.mention, j.known, j.agrees) for j in found.checked] == twin.judged()
    informed = {domain: result.inform for domain, result in found.outcome.domains.items()}
    assert informed == twin.informed(goal)
    assert found.outcome.success is twin.succeeded(goal, booked)


# Bookings

DATABASE = Database(TOWN, "2021")
TABLE = Goal(
    {"food": "chinese", "pricerange": "cheap"},
    frozenset({"REFERENCE"}),
    {"people": ("2",), "day": ("friday",), "time": ("17:00", "18:00")},
)
RIGHT = {"name": "blue lantern", "people": "2", "day": "friday", "time": "17:00"}

Slots = Mapping[str, str]


def by_calls(*calls: tuple[str, Slots]) -> Booked | None:
    return last_bookings([Booking(*call) for call in calls], DATABASE).get("restaurant")


def in_state(slots: Slots) -> Booked | None:
    (state,) = normalize_states([{"restaurant": slots}], "2021")
    return booked_in_state(state, DATABASE).get("restaurant")


def wrong(booked: Booked | None) -> list[str]:
    assert booked is not None
    errors = booking_errors("restaurant", TABLE, frozenset("1"), booked, "2021")
    return [miss.slot for miss in errors]


def slots_of(text: str) -> Slots:
    return dict(pair.split("=") for pair in text.split(", "))


@tabled
def test_bookings_are_correct_if_venue_and_slots_match_the_goal(
    slots: str, expected: list[str]
) -> None:
    assert wrong(by_calls(("restaurant", slots_of(slots)))) == expected


@tabled
def test_states_book_the_named_venue_or_all_matching_venues(
    slots: str, expected: list[str]
) -> None:
    assert wrong(in_state(slots_of(slots))) == expected


def test_only_the_last_booking_of_a_domain_counts() -> None:
    late, right = ("restaurant", {**RIGHT, "time": "23:00"}), ("restaurant", RIGHT)
    hotel = ("hotel", {"name": "grand hotel"})
    assert wrong(by_calls(late, right, hotel)) == []
    assert wrong(by_calls(right, late, hotel)) == ["time"]
    for booked in (by_calls(), by_calls(("taxi", RIGHT)), in_state({"food": "chinese"})):
        assert booked is None


def test_trains_are_booked_by_id_or_by_matching_the_state() -> None:
    goal = Goal({"day": "monday", "leave": "10:00"}, frozenset(), {"people": ("4",)})
    bookings = [
        (last_bookings([Booking("train", {name: train, "people": "4"})], DATABASE), right)
        for name in ("trainid", "trainID", "train_id", "id")
        for train, right in (("tr0002", True), (" TR0002", True), ("TR0001", False))
    ] + [
        (booked_in_state({"train": {**search, "bookpeople": "4"}}, DATABASE), right)
        for search, right in (
            ({"day": "monday", "leave": "10:30"}, True),
            ({"day": "monday", "leave": "10:00"}, False),
        )
    ]
    for booked, right in bookings:
        errors = booking_errors("train", goal, frozenset({"TR0002"}), booked["train"], "2021")
        assert (errors == []) is right
    # A state with only search constraints is no booking.
    assert not booked_in_state({"train": {"day": "monday", "leave": "10:00"}}, DATABASE)


def test_goals_include_their_scorable_bookings() -> None:
    table = {"people": "2", "time": "17:00", "invalid": False, "pre_invalid": True}
    goals = goals_of(
        {
            "restaurant": {
                "info": {"food": "chinese"},
                "book": table,
                "fail_book": {"time": "18:00"},
            },
            "train": {"info": {"day": "monday"}, "book": {"people": "1"}, "fail_book": {}},
            "taxi": {"info": {"leaveAt": "10:00"}, "book": {"people": "1"}},
            "attraction": {"info": {"type": "park"}},
        }
    )
    assert {domain: goal.booking for domain, goal in goals.items() if domain != "taxi"} == {
        "restaurant": {"people": ("2",), "time": ("17:00", "18:00")},
        "train": {"people": ("1",)},
        "attraction": {},
    }
    assert bookable(goals) == ("restaurant", "train")


slots_ = st.sampled_from(sorted({slot for slots in BOOKING_SLOTS.values() for slot in slots}))


@given(
    st.dictionaries(slots_ | st.sampled_from(["name", "trainid", "id"]) | st.text(), st.text()),
    st.sampled_from(["restaurant", "hotel", "train", "bus"]),
)
def test_arbitrary_bookings_are_judged_without_errors(slots: Slots, domain: str) -> None:
    booked = last_bookings([Booking(domain, slots)], DATABASE).get(domain)
    assert (booked is None) is (domain == "bus")
    if booked is not None:
        booking_errors(domain, TABLE, frozenset("1"), booked, "2021")
