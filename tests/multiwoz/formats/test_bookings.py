"""Bookings in our own format: read as they are, or refused with their place."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.files.reading import RepeatedKeys
from mwzeval.multiwoz.predictions.reading import Booking, Findings, check_dialogues

ID = "smp0021"
GOOD = {"domain": "hotel", "slots": {"name": "the lodge", "stay": "3"}}


def check(bookings: Any) -> tuple[Any, Findings]:
    findings = Findings()
    raw = {ID: [{"response": "a", "bookings": bookings}]}
    ((turn,),) = check_dialogues(raw, findings, need_responses=True).values()
    return turn.bookings, findings


@pytest.mark.parametrize(
    ("bookings", "expected"),
    [
        ([], ()),
        ([GOOD], (Booking("hotel", {"name": "the lodge", "stay": "3"}),)),
        (({"domain": "taxi", "slots": {}},), (Booking("taxi", {}),)),
    ],
)
def test_bookings_are_read(bookings: Any, expected: Any) -> None:
    found, findings = check(bookings)
    assert (found, findings.errors, findings.warnings) == (expected, [], [])


def test_a_turn_without_the_key_says_nothing_of_bookings() -> None:
    dialogues = check_dialogues({ID: [{"response": "a"}]}, Findings(), need_responses=True)
    assert dialogues[ID][0].bookings is None


@pytest.mark.parametrize(
    ("bookings", "kind", "key"),
    [
        ({}, "shape", "bookings"),
        (None, "shape", "bookings"),
        ([GOOD, "hotel"], "shape", "bookings[1]"),
        ([{"slots": {}}], "shape", "bookings[0].domain"),
        ([{"domain": "hotel"}], "shape", "bookings[0].slots"),
        ([{"domain": "hotel", "slots": {"stay": 3}}], "shape", "bookings[0].slots.stay"),
        ([RepeatedKeys([*GOOD.items(), ("domain", "taxi")])], "repeated-key", None),
    ],
)  # fmt: skip
def test_bookings_of_another_shape_are_refused(bookings: Any, kind: str, key: str | None) -> None:
    _, findings = check(bookings)
    (error,) = findings.errors
    assert (error.kind, error.dialogue, error.turn, error.key) == (kind, ID, 0, key)


def test_an_unknown_key_of_a_booking_is_told_and_not_used() -> None:
    found, findings = check([{**GOOD, "slot": {}}])
    assert found == check([GOOD])[0]
    (warning,) = findings.warnings
    assert (warning.kind, warning.key) == ("unknown-key", "bookings[0]")
