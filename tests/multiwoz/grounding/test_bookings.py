"""Each clause of Booking in docs/metrics.md."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.annotations import Goal, goals_of
from mwzeval.multiwoz.database import Database, VenueFacts
from mwzeval.multiwoz.grounding.bookings import (
    BookingOutcome,
    bookable,
    booked_by_calls,
    booked_in_state,
    judge_booking,
)
from mwzeval.multiwoz.normalization import normalize_states
from mwzeval.multiwoz.predictions.reading import Booking
from mwzeval.multiwoz.schema import BOOKING_SLOTS
from tests.cases import tabled
from tests.multiwoz.towns import TOWN

DATABASE = Database(TOWN, "2021")
FACTS = VenueFacts(TOWN, "2021")

TABLE = Goal(
    {"food": "chinese", "pricerange": "cheap"},
    frozenset({"REFERENCE"}),
    {"people": ("2",), "day": ("friday",), "time": ("17:00", "18:00")},
)
SATISFYING = frozenset({"1"})
RIGHT = {"name": "blue lantern", "people": "2", "day": "friday", "time": "17:00"}

Slots = Mapping[str, str]


def by_calls(*calls: tuple[str, Slots]) -> BookingOutcome:
    made = [Booking(domain, slots) for domain, slots in calls]
    booked = booked_by_calls(made, DATABASE, FACTS).get("restaurant")
    return judge_booking("restaurant", TABLE, SATISFYING, booked, "2021")


def in_state(slots: Slots) -> BookingOutcome:
    (state,) = normalize_states([{"restaurant": slots}], "2021")
    booked = booked_in_state(state, DATABASE, FACTS).get("restaurant")
    return judge_booking("restaurant", TABLE, SATISFYING, booked, "2021")


def wrong(outcome: BookingOutcome) -> list[str]:
    assert outcome.made
    assert outcome.right is not bool(outcome.misses)
    return [miss.slot for miss in outcome.misses]


def slots_of(text: str) -> Slots:
    return dict(pair.split("=") for pair in text.split(", "))


@tabled
def test_a_booking_is_right_when_venue_and_slots_are_the_goals(
    slots: str, expected: list[str]
) -> None:
    assert wrong(by_calls(("restaurant", slots_of(slots)))) == expected


def test_the_last_booking_of_the_domain_counts() -> None:
    late = ("restaurant", {**RIGHT, "time": "23:00"})
    right = ("restaurant", RIGHT)
    hotel = ("hotel", {"name": "grand hotel"})
    assert by_calls(late, right, hotel).right
    assert wrong(by_calls(right, late, hotel)) == ["time"]


def test_what_is_not_booked_is_not_made() -> None:
    for outcome in (by_calls(), by_calls(("taxi", RIGHT)), in_state({"food": "chinese"})):
        assert not outcome.made
        assert not outcome.right
        assert not outcome.misses


@tabled
def test_a_state_books_what_it_names_or_all_that_it_leaves(slots: str, expected: list[str]) -> None:
    assert wrong(in_state(slots_of(slots))) == expected


def test_a_train_is_booked_by_its_id_or_by_what_the_state_leaves() -> None:
    goal = Goal({"day": "monday", "leave": "10:00"}, frozenset(), {"people": ("4",)})
    satisfying = frozenset({"TR0002"})
    for spelling in ("trainid", "trainID", "train_id", "id"):
        for train, right in (("tr0002", True), (" TR0002", True), ("TR0001", False)):
            calls = [Booking("train", {spelling: train, "people": "4", "day": "sunday"})]
            booked = booked_by_calls(calls, DATABASE, FACTS)["train"]
            assert judge_booking("train", goal, satisfying, booked, "2021").right is right
    for leave, right in (("10:30", True), ("10:00", False)):
        state = {"train": {"day": "monday", "leave": leave, "bookpeople": "4"}}
        booked = booked_in_state(state, DATABASE, FACTS)["train"]
        assert judge_booking("train", goal, satisfying, booked, "2021").right is right


def test_a_search_is_no_booking_of_a_train() -> None:
    assert not booked_in_state({"train": {"day": "monday", "leave": "10:00"}}, DATABASE, FACTS)


def test_only_venues_are_bookable() -> None:
    book = {"people": ("2",)}
    goal = {
        "restaurant": Goal({}, frozenset(), book),
        "hotel": Goal({}, frozenset()),
        "taxi": Goal({}, frozenset(), book),
        "train": Goal({}, frozenset(), book),
    }
    assert bookable(goal) == ("restaurant", "train")


ANNOTATED = {
    "restaurant": {
        "info": {"food": "chinese"},
        "book": {
            **{"people": "2", "day": "friday", "time": "17:00"},
            **{"invalid": False, "pre_invalid": True},
        },
        "fail_book": {"time": "18:00"},
    },
    "train": {"info": {"day": "monday"}, "book": {"people": "1", "invalid": True}, "fail_book": {}},
    "attraction": {"info": {"type": "park"}},
}


def test_goals_know_what_they_book_and_tried_first() -> None:
    goals = goals_of(ANNOTATED)
    assert goals["restaurant"].booking == {
        "people": ("2",),
        "day": ("friday",),
        "time": ("17:00", "18:00"),
    }
    assert goals["train"].booking == {"people": ("1",)}
    assert goals["attraction"].booking == {}


slots_ = st.sampled_from(sorted({slot for slots in BOOKING_SLOTS.values() for slot in slots}))


@given(
    st.dictionaries(
        st.one_of(slots_, st.sampled_from(["name", "trainid", "id"]), st.text(max_size=6)),
        st.text(max_size=8),
    ),
    st.sampled_from(["restaurant", "hotel", "train", "bus"]),
)
def test_whatever_is_booked_is_judged_and_never_crashes(slots: Slots, domain: str) -> None:
    booked = booked_by_calls([Booking(domain, slots)], DATABASE, FACTS).get(domain)
    assert (booked is None) is (domain == "bus")
    if booked is not None:
        outcome = judge_booking(domain, TABLE, SATISFYING, booked, "2021")
        assert outcome.right is not bool(outcome.misses)
