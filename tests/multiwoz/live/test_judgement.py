"""Judgement of live dialogues on the small database: each rule and each failure reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.messages import read_messages
from mwzeval.multiwoz.live.judge import Judge, Judgement
from mwzeval.multiwoz.live.transcript import domains_in, read_transcript
from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from tests.cases import tabled
from tests.multiwoz.live.anything import ANYTHING, MESSAGES
from tests.multiwoz.live.written_runs import talk
from tests.multiwoz.towns import TOWN
from tests.multiwoz.worlds import sample_tables

HOSPITAL = [
    {"department": "oncology", "phone": "01223216314", "id": "0"},
    {"department": "paediatrics", "phone": "01223217250", "id": "1"},
]
POLICE = [{"name": "Parkside", "address": "Parkside, Cambridge", "phone": "01223358966", "id": "0"}]
JUDGE = Judge({**TOWN, "hospital": HOSPITAL, "police": POLICE})

LANTERN = {"info": {"food": "chinese", "pricerange": "cheap"}, "reqt": ["phone"]}
BOOK = {"day": "monday", "people": "2", "time": "18:00"}
TABLE = {"info": {"food": "chinese", "pricerange": "cheap"}, "book": BOOK}
RIDE = {"info": {"leaveAt": "09:15", "departure": "the museum"}, "reqt": ["car type", "phone"]}
TRAIN = {"info": {"departure": "ely", "destination": "cambridge", "leaveAt": "10:00"}}
GOALS: dict[str, dict[str, Any]] = {
    "lantern": {"restaurant": LANTERN},
    "ride": {"taxi": RIDE},
    "train": {"train": {**TRAIN, "reqt": ["duration"]}},
}
"""The goals that table cells name."""
NORTH = {"hotel": {"info": {"area": "north"}, "reqt": ["postcode"]}}
ASK = "I want a cheap Chinese restaurant. What is its phone number?"


def called(name: str, result: Any, /, **arguments: str) -> list[dict[str, Any]]:
    """Return the messages of a call and its result."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    id_ = f"{name} {json.dumps(arguments)}"
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": id_, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": id_, "content": json.dumps(result)},
    ]


def judged(goal: dict[str, Any], messages: list[dict[str, Any]], bookings: Any = None) -> Judgement:
    talk = read_messages(message for message in messages if isinstance(message, Mapping))
    return JUDGE.judge({"domain_ordering": [*goal], **goal}, talk, bookings)


def codes(judgement: Judgement) -> list[str]:
    return [reason.code for reason in judgement.reasons]


@tabled
def test_text_dialogues_have_the_expected_verdicts_and_reasons(
    goal: str | dict[str, Any],
    texts: list[str],
    verdicts: dict[str, tuple[bool | None, ...]],
    reasons: list[str],
) -> None:
    judgement = judged(GOALS[goal] if isinstance(goal, str) else goal, talk(*texts))
    found = {d: (r.inform, r.success, r.booking) for d, r in judgement.domains.items()}
    assert found == verdicts
    assert judgement.success is all(value is not False for value in sum(verdicts.values(), ()))
    assert codes(judgement) == reasons


@tabled
def test_chosen_venue_is_inferred_from_the_dialogue(
    texts: tuple[str, ...], venue: str | None
) -> None:
    messages = talk("I want a Chinese restaurant.", *texts)
    settled = judged({"restaurant": LANTERN}, messages).domains["restaurant"].venue
    named = settled.lower().removeprefix("the ") if settled else None
    assert named == venue


def booked(reference: str = "7GAWK763", **slots: str) -> list[dict[str, Any]]:
    arguments = {"name": "blue lantern", **BOOK, **slots}
    return called("book_restaurant", {"status": "booked", "reference": reference}, **arguments)


def ride(leaveat: str) -> list[dict[str, Any]]:
    result = {"status": "booked", "type": "red toyota", "phone": "07123456789"}
    arguments = {"departure": "museum", "destination": "grand hotel", "leaveat": leaveat}
    return called("book_taxi", result, **arguments)


BOOKS = ("restaurant", TABLE, "A table at a cheap Chinese restaurant.")
RIDES = ("taxi", RIDE, "A taxi from the museum to the Grand Hotel at 9:15.")
NAMES = (
    *("restaurant", {"info": {"name": "blue lantern"}, "reqt": ["phone"]}),
    "The phone number of the Blue Lantern, a restaurant?",
)
FOUND = called("find_restaurant", {"count": 1}, name="blue lantern")
REFUSED = called("book_restaurant", {"status": "failed"}, name="red kettle", **BOOK)
FAILED = called("book_restaurant", {"error": "no table"}, name="blue lantern", **BOOK)
CAR = "A red Toyota picks you up, call 07123456789."


@pytest.mark.parametrize(
    ("wish", "calls", "answer", "reasons"),
    [
        (BOOKS, booked(), "Booked: 7GAWK763.", []),
        (BOOKS, booked(), "Booked.", ["never-said:reference"]),
        (BOOKS, booked(), "Booked, the reference is ABCD1234.", ["invented:reference"]),
        (BOOKS, [], "Fine, the Blue Lantern.", ["not-booked"]),
        (BOOKS, booked(people="3"), "Booked: 7GAWK763.", ["booked-otherwise:people"]),
        (BOOKS, booked(day="friday"), "Booked: 7GAWK763.", ["booked-otherwise:day"]),
        (BOOKS, booked(name="red kettle"), "Booked: 7GAWK763.", ["booked-wrong"] * 2),
        (BOOKS, booked("A1111111", people="3") + booked(), "Booked: 7GAWK763.", []),
        (BOOKS, booked() + REFUSED, "Booked: 7GAWK763.", []),
        (BOOKS, FAILED, "The Blue Lantern is full.", ["not-booked"]),
        (RIDES, ride("09:15"), CAR, []),
        (RIDES, ride("10:15"), CAR, ["ride-wrong:leave"]),
        (RIDES, ride("09:15"), "A red Toyota.", ["never-said:phone"]),
        (RIDES, ride("09:15"), "A blue Volvo, call 07123456789.", ["invented:type"]),
        # If only the user names a venue, its details in a response confirm it.
        (NAMES, FOUND, "It is 01223000001.", []),
        (NAMES, FOUND, "Yes.", ["named-nothing"]),
    ],
)
def test_dialogues_with_function_calls_are_judged(
    wish: tuple[str, Any, str], calls: list[dict[str, Any]], answer: str, reasons: list[str]
) -> None:
    domain, part, text = wish
    asked, said = talk(text, answer)
    judgement = judged({domain: part}, [asked, *calls, said])
    assert codes(judgement) == reasons
    assert judgement.success is (not reasons)
    if reasons == ["booked-wrong"] * 2:
        assert [reason.outcome for reason in judgement.reasons] == ["inform", "booking"]


def test_reasons_contain_the_expected_values() -> None:
    for answer, turn, value in (
        ("The Red Kettle.", 0, "pricerange=cheap"),
        ("The Blue Lantern is at 01223000002.", 0, "01223000001"),
    ):
        (reason, *_) = judged({"restaurant": LANTERN}, talk(ASK, answer)).reasons
        assert (reason.turn, value in reason.text) == (turn, True)


def test_reported_bookings_of_an_agent_with_its_own_tools_are_judged() -> None:
    messages = talk("A table at a cheap Chinese restaurant.", "Booked, it is 7GAWK763.")
    slots = {"name": "Blue Lantern", "people": 2, "day": "Monday", "time": "18:00"}
    made = [{"domain": "restaurant", "slots": {**slots, "reference": "7gawk763"}}]
    assert judged({"restaurant": TABLE}, messages, made).success
    assert codes(judged({"restaurant": TABLE}, messages, [{"domain": 3}, "x"])) == [
        "named-nothing",
        "not-booked",
    ]


def test_booking_records_may_use_other_slot_names() -> None:
    goal = {"train": {**TRAIN, "book": {"people": "2"}}}
    messages = talk("Two tickets from Ely to Cambridge.", "Booked: ab12cd34.")
    slots = {"refer_number": "ab12cd34", "trainID": "tr0002", "tickets": "2", "id": 132}
    assert judged(goal, messages, [{"domain": "train", "slots": slots}]).success


def test_judgement_rows_contain_counts_of_grounded_mentions() -> None:
    messages = talk(ASK, "The Blue Lantern is at 01223000002.")
    row = judged({"restaurant": LANTERN}, messages).row
    # Both mentions are known, but the number belongs to another venue.
    assert row["mentions.total"] == 2
    assert row["belonging.total"] == 1
    assert row["consistent.total"] == 0
    assert (row["grounded_inform.total"], row["grounded_success.total"]) == (1, 0)


def test_user_may_choose_a_venue_from_a_list_of_an_agent_with_tools() -> None:
    found = {"count": 2, "results": [{"name": "blue lantern"}, {"name": "red kettle"}]}
    asked, *others = talk(
        "A Chinese restaurant in the north?",
        "1. Red Kettle\n2. Blue Lantern",
        "The cheap one. Its phone number?",
        "It is 01223000001.",
    )
    calls = called("find_restaurant", found, food="chinese", area="north")
    judgement = judged({"restaurant": LANTERN}, [asked, *calls, *others])
    assert judgement.success
    assert judgement.domains["restaurant"].venue == "Blue Lantern"


PARTS = {
    "restaurant": {**LANTERN, **TABLE},
    "train": {**TRAIN, "reqt": ["trainID", "price"], "book": {"people": "1"}},
    "taxi": RIDE,
    "police": {"info": {}, "reqt": ["phone"]},
}


@given(
    st.lists(MESSAGES | ANYTHING, max_size=8),
    st.sets(st.sampled_from(sorted(PARTS)), min_size=1),
    ANYTHING,
)
def test_judgement_accepts_any_messages_and_is_reproducible(
    messages: list[Any], domains: set[str], bookings: Any
) -> None:
    goal = {domain: PARTS[domain] for domain in sorted(domains)}
    before = repr((goal, messages, bookings))
    judgement = judged(goal, messages, bookings)
    assert repr((goal, messages, bookings)) == before
    assert judged(goal, messages, bookings) == judgement
    assert set(judgement.domains) == domains
    for domain, verdict in judgement.domains.items():
        part = PARTS[domain]
        assert (verdict.success is None) == ("reqt" not in part)
        assert (verdict.booking is None) == (verdict.reference is None) == ("book" not in part)
        # An outcome has a failure reason if and only if it failed.
        lost = {reason.outcome for reason in judgement.reasons if reason.scope == domain}
        assert ("inform" in lost) == (not verdict.inform)
        assert ("booking" in lost) == (verdict.booking is False)
        if verdict.inform:
            assert ("success" in lost) == (verdict.success is False)
        if verdict.success or verdict.booking:
            assert verdict.inform


TALKS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"restaurant": LANTERN}, (ASK, "The Blue Lantern is at 01223000001.")),
    (
        {"restaurant": LANTERN},
        (ASK, "1. Blue Lantern\n2. Red Kettle", "The Red Kettle.", "It is at 01223000002."),
    ),
    ({"restaurant": LANTERN}, (ASK, "Sorry, I couldn't find any restaurant called Blue Lantern.")),
    (NORTH, ("A hotel in the north, and its postcode.", "The Grand Hotel, postcode CB20AA.")),
    (NORTH, ("I need a hotel.", "I'm sorry, I could not find any hotels.", "Oh.", "Sorry.")),
    (GOALS["train"], ("A train from Ely to Cambridge after 10:00.", "TR0002 takes 20 minutes.")),
    (
        GOALS["train"],
        ("A train from Ely to Cambridge.", "TR0001 takes 20 minutes.", "Fine.", "Good."),
    ),
    (GOALS["ride"], ("I need a taxi from the museum at 9:15.", "A red Toyota, call 07123456789.")),
    (GOALS["ride"], ("I need a taxi.", "When?", "Forget it.", "Goodbye.")),
]


@given(st.lists(st.sampled_from(TALKS), min_size=1, unique_by=lambda talk: min(talk[0])))
def test_judgements_of_domains_are_independent(talks: list[tuple[Any, Any]]) -> None:
    goals = {domain: part for goal, _ in talks for domain, part in goal.items()}
    together = judged(goals, talk(*(text for _, texts in talks for text in texts)))
    for goal, texts in talks:
        alone = judged(goal, talk(*texts))
        for domain, before in alone.domains.items():
            after = together.domains[domain]
            for name in ("inform", "success", "venue"):
                assert getattr(after, name) == getattr(before, name)


NO_WISH = {"hotel": dict[str, str]()}
NORTHERN, OK = talk("A hotel in the north.", "OK.")
CALLED = called("find_hotel", {}, area="east")


@pytest.mark.parametrize(
    ("messages", "states"),
    [
        (
            talk("A cheap chinese restaurant.", "OK."),
            [{"restaurant": {"pricerange": "cheap", "food": "chinese"}}],
        ),
        (
            talk("I need a hotel with free wifi and parking.", "OK."),
            [{"hotel": {"internet": "yes", "parking": "yes"}}],
        ),
        (talk("A hotel in the north. Does it have wifi?", "OK."), [{"hotel": {"area": "north"}}]),
        (talk("I need a hotel. Parking does not matter.", "OK."), [NO_WISH]),
        (talk("I need a hotel.", "OK.", "Hello!", "OK."), [NO_WISH, NO_WISH]),
        # A later constraint replaces an earlier one.
        (
            talk("A hotel in the north.", "There is none.", "Then in the south.", "OK."),
            [{"hotel": {"area": "north"}}, {"hotel": {"area": "south"}}],
        ),
        # Calls take precedence over utterances.
        (
            [*talk("A hotel in the north."), *CALLED, *talk("", "OK.")[1:]],
            [{"hotel": {"area": "east"}}],
        ),
    ],
)
def test_belief_state_comes_from_calls_or_else_from_user_utterances(
    messages: list[dict[str, Any]], states: list[Any]
) -> None:
    transcript = read_transcript(read_messages(messages), Delexicalizer(sample_tables()), "2021")
    assert [exchange.state for exchange in transcript.exchanges] == states


@tabled
def test_domains_are_recognized_by_words(text: str, domains: tuple[str, ...]) -> None:
    assert domains_in(text) == domains


BLUE = "The Blue Lantern"
PHONE = "01223000001"
TAXI = {"info": {"departure": "blue lantern", "destination": "red kettle"}, "reqt": ["phone"]}


@tabled
def test_informed_and_requested_slots_are_counted(
    asked: str, answer: str, told: tuple[int, int, int], counts: tuple[float, float]
) -> None:
    goal = {**LANTERN, "reqt": asked.split(" and ")}
    row = judged({"restaurant": goal}, talk("I want a cheap Chinese restaurant.", answer)).row
    assert (row["found"], row["told"], row["asked"]) == told
    assert (row["precision"], row["recall"]) == counts


def test_goals_without_requests_have_no_recall() -> None:
    goal = {"restaurant": {"info": LANTERN["info"]}}
    row = judged(goal, talk("I want a cheap Chinese restaurant.", f"{BLUE}: {PHONE}.")).row
    assert (row["found"], row["told"], row["asked"]) == (0, 1, 0)
    assert "recall" not in row


def test_informed_taxi_details_are_counted() -> None:
    answer = "Your taxi from the Blue Lantern to the Red Kettle is a white honda, 07123456789."
    row = judged(
        {"taxi": TAXI}, talk("A taxi from the Blue Lantern to the Red Kettle.", answer)
    ).row
    assert (row["found"], row["told"], row["asked"]) == (1, 2, 1)
