"""Scores, facts and reasons of runs with conditions, on dialogues whose events are written here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.live.report import ScoredRun
from mwzeval.multiwoz.live.stress.scores import answer_to_aside
from mwzeval.scores.score import WHOLE
from tests.multiwoz.live.written_runs import HEADER, line, scored

RATES = {"errors": 0.2, "change": 0.3}
UNDER = {**HEADER, "stress": {"version": 1, "name": "hard", "tables": "01234567", **RATES}}
UNAVAILABLE = '{"status": "unavailable", "reason": "try again"}'


def fault(kind: str, domain: str, turn: int = 0) -> dict[str, Any]:
    return {"kind": kind, "domain": domain, "turn": turn}


def change(kind: str, domain: str, slot: str = "area", turn: int = 0) -> dict[str, Any]:
    return {**fault(kind, domain, turn), "slot": slot}


def events(*faults: Any, changes: Any = ()) -> dict[str, Any]:
    return {"stress": {"faults": list(faults), "changes": list(changes)}}


def of(run: ScoredRun, name: str) -> dict[str, tuple[float, int]]:
    return {s.scope: (s.value, s.n) for s in run.report().scores if s.name == name}


def test_events_and_recovered_domains_are_counted() -> None:
    # smp0021: hotel, a success; smp0022: attraction fails (no phone), restaurant is a success;
    # smp0023: the hotel and the train are not booked; smp0024 has no event.
    run = scored(
        UNDER,
        line("smp0021", **events(fault("errors", "hotel"), fault("errors", "hotel"))),
        line(
            "smp0022",
            "phone",
            **events(
                fault("errors", "attraction"),
                changes=[change("change", "restaurant"), change("aside", "restaurant", "gym")],
            ),
        ),
        line("smp0023", "book", **events(fault("full", "hotel"))),
        line("smp0024"),
    )
    assert of(run, "tool_faults") == {WHOLE: (1, 4), "errors": (0.75, 4), "full": (0.25, 4)}
    assert of(run, "changed_wishes") == {WHOLE: (0.25, 4), "change": (0.25, 4)}
    assert of(run, "recovered") == {
        WHOLE: (50, 4),
        "errors": (50, 2),
        "full": (0, 1),
        "change": (100, 1),
        "no event": (50, 2),
    }
    intervals = {s.scope: s.interval for s in run.report(Resampling()).scores}
    assert intervals["change"] is not None


def test_an_event_that_is_not_readable_is_left_out() -> None:
    odd = [1, {}, {"kind": [], "turn": 0}, {"kind": "errors"}, fault("unknown", "hotel")]
    for entry in (odd, {"faults": 1}, {"faults": odd, "changes": odd}, None):
        run = scored(UNDER, line("smp0021", stress=entry))
        assert of(run, "tool_faults") == {WHOLE: (0, 1)}


def test_runs_without_conditions_have_no_such_scores() -> None:
    run = scored(HEADER, line("smp0021", **events(fault("errors", "hotel"))))
    names = {score.name for score in run.report().scores}
    assert names.isdisjoint({"tool_faults", "recovered", "denied", "false_bookings"})
    assert "with_conditions" not in run.scored_table.table.columns
    assert not any(
        f.label == "fault of a tool" for t in run.explain("smp0021").turns for f in t.facts
    )


HOTEL = ["Inform", "Hotel", "Area", "south"]
RESTAURANT = [
    ["Inform", "Restaurant", "Food", "italian"],
    ["Inform", "Restaurant", "Area", "centre"],
]
BOOK = ["Book", "Booking", "Ref", "ABC"]
NOTHING = ["NoOffer", "Restaurant", "none", "none"]


def reported(said: list[Any], understood: list[Any]) -> dict[str, Any]:
    return {"user": {"complete": True, "faults": [], "said": said, "understood": understood}}


def test_false_bookings_precede_any_booking_of_their_domain() -> None:
    # In smp0022 the restaurant is booked in turn 2.
    true = reported([[], RESTAURANT, []], [[], [], [BOOK]])
    early = reported([[], RESTAURANT, []], [[], [BOOK], []])
    other = reported([[HOTEL], [HOTEL]], [[], [["OfferBooked", "Hotel", "Ref", "ABC"]]])
    run = scored(
        UNDER,
        line("smp0022", trial=1, **true),
        line("smp0022", trial=2, **early),
        line("smp0021", trial=1, **other),
        line("smp0021", trial=2),
    )
    rows = run.scored_table.trial_rows
    assert rows.column("false_booking").tolist() == [0, 1, 1, 0]
    assert rows.column("can_book").tolist() == [
        1,
        1,
        1,
        0,
    ]  # what the last user understood is unknown
    assert rows.column("failed_bookings").tolist() == [0, 0, 0, 0]


def test_a_booking_that_is_reported_again_is_not_false() -> None:
    # The restaurant is booked in turn 2; in turn 3 the user speaks of the attraction.
    plain = line("smp0022")
    reference = next(
        json.loads(message["content"])["reference"]
        for message in plain["messages"]
        if '"booked"' in message["content"]
    )
    attraction = [["Inform", "Attraction", "Type", "museum"]]
    for code, false in ((reference, 0), ("OTHER123", 1)):
        again = [["Inform", "Attraction", "Type", "museum"], ["Book", "Booking", "Ref", code]]
        run = scored(UNDER, {**plain, **reported([[], [], [], attraction], [[], [], [], again])})
        assert run.scored_table.table.column("false_booking").tolist() == [false]


@pytest.mark.parametrize(
    ("understood", "false"), [(BOOK, 1), (["NoBook", "Booking", "none", "none"], 0)]
)
def test_false_bookings_after_a_failed_booking(understood: list[str], false: int) -> None:
    failed = line("smp0022", **reported([[], RESTAURANT, []], [[], [], [understood]]))
    for message in failed["messages"]:
        if '"booked"' in message["content"]:
            message["content"] = '{"status": "failed", "reason": "nothing left"}'
    run = scored(UNDER, failed)
    assert of(run, "false_bookings_failed") == {WHOLE: (100 * false, 1)}
    assert of(run, "false_bookings") == {WHOLE: (100 * false, 1)}


@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ([RESTAURANT], 1),
        # The database of the sample has no restaurant with such food.
        ([[*RESTAURANT, ["Inform", "Restaurant", "Food", "martian"]]], 0),
        # The second wish replaces the first one.
        ([[*RESTAURANT, ["Inform", "Restaurant", "Food", "martian"], *RESTAURANT]], 1),
        # Details of a booking are no constraints.
        ([[*RESTAURANT, ["Inform", "Restaurant", "People", "40"]]], 1),
        ([[HOTEL]], 1),
    ],
)
def test_denied_venues_satisfy_all_that_the_user_has_said(said: list[Any], denied: int) -> None:
    run = scored(UNDER, line("smp0022", **reported(said, [[NOTHING]])))
    assert of(run, "denied") == {WHOLE: (100 * denied, 1)}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I recommend it. I am sorry, I cannot tell whether it has a gym.", "declined"),
        ("There is no gym.", "declined"),
        ("I'm unable to help with that. The phone number is 1.", "declined"),
        ("Yes, it has a gym. I could not book it.", "promised"),
        ("The gym is open until nine.", "promised"),
        ("It is in the north. There are no others.", "ignored"),
        ("", "ignored"),
    ],
)
def test_answers_to_asides(text: str, answer: str) -> None:
    assert answer_to_aside(text, "gym") == answer
    aside = line("smp0021", **events(changes=[change("aside", "hotel", "gym", 1)]))
    aside["messages"][-1]["content"] = text or "Hm."
    shares = {how: 100.0 * (how == answer) for how in ("declined", "ignored", "promised")}
    run = scored(UNDER, aside)
    assert {how: of(run, f"asides.{how}")[WHOLE] for how in shares} == {
        how: (share, 1) for how, share in shares.items()
    }


def test_explanations_show_events_and_name_those_of_failed_domains_as_causes() -> None:
    failed = line(
        "smp0022",
        "phone",
        **events(
            fault("empty", "attraction"),
            fault("stale", "restaurant", 1),
            changes=[
                change("change", "attraction", "type", 1),
                change("aside", "attraction", "gym"),
            ],
        ),
    )
    explained = scored(UNDER, failed).explain("smp0022")
    facts = [[tuple(fact) for fact in turn.facts] for turn in explained.turns]
    assert ("fault of a tool", "empty (turn 0)", "attraction") in facts[0]
    assert ("aside of the user", "aside gym (turn 0)", "attraction") in facts[0]
    assert ("change of the user", "change type (turn 1)", "attraction") in facts[1]
    assert [(r.code, r.scope, r.turn) for r in explained.reasons][:2] == [
        ("after-empty", "attraction", 0),
        ("after-change", "attraction", 1),
    ]
    assert {reason.scope for reason in explained.reasons} == {"attraction"}


@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_call_that_fails_is_a_cause_unless_it_is_repeated(is_repeated: bool) -> None:
    failed = line("smp0022", "book", **events(fault("errors", "restaurant", 1)))
    place = max(n for n, message in enumerate(failed["messages"]) if "tool_calls" in message)
    call, result, *rest = failed["messages"][place:]
    first = [call, {**result, "content": UNAVAILABLE}]
    failed["messages"][place:] = [*first, *([call, result] * is_repeated), *rest]
    codes = {reason.code for reason in scored(UNDER, failed).explain("smp0022").reasons}
    assert "not-booked" in codes
    assert ("after-errors" in codes) != is_repeated
