"""What became of live dialogues in the small town, rule by rule, and reason by reason."""

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
"""What cells name instead of a goal."""
ASK = "I want a cheap Chinese restaurant. What is its phone number?"


def said(*texts: str) -> list[dict[str, Any]]:
    """Messages of a dialogue, the user first."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def called(name: str, result: Any, /, **arguments: str) -> list[dict[str, Any]]:
    """A call and its result."""
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
def test_a_dialogue_in_words_is_judged(
    goal: str | dict[str, Any],
    texts: list[str],
    verdicts: dict[str, tuple[bool | None, ...]],
    reasons: list[str],
) -> None:
    judgement = judged(GOALS[goal] if isinstance(goal, str) else goal, said(*texts))
    found = {d: (one.inform, one.success, one.booking) for d, one in judgement.domains.items()}
    assert found == verdicts
    assert judgement.success is all(value is not False for value in sum(verdicts.values(), ()))
    assert codes(judgement) == reasons


def test_reasons_say_what_would_have_been_right() -> None:
    wrong = judged({"restaurant": LANTERN}, said(ASK, "The Red Kettle."))
    assert "pricerange=cheap" in wrong.reasons[0].text
    assert wrong.reasons[0].turn == 0
    told = judged({"restaurant": LANTERN}, said(ASK, "The Blue Lantern is at 01223000002."))
    assert "01223000001" in told.reasons[0].text


@tabled
def test_what_is_settled_on(texts: tuple[str, ...], venue: str | None) -> None:
    messages = said("I want a Chinese restaurant.", *texts)
    settled = judged({"restaurant": LANTERN}, messages).domains["restaurant"].venue
    named = settled.lower().removeprefix("the ") if settled else None
    assert named == venue


def test_a_venue_that_the_user_names_is_confirmed_by_what_is_told_of_it() -> None:
    goal = {"restaurant": {"info": {"name": "blue lantern"}, "reqt": ["phone"]}}
    messages = [
        {"role": "user", "content": "The phone number of the Blue Lantern, a restaurant?"},
        *called("find_restaurant", {"count": 1}, name="blue lantern"),
        {"role": "assistant", "content": "It is 01223000001."},
    ]
    assert judged(goal, messages).success
    assert judged(goal, [*messages[:-1], {"role": "assistant", "content": "Yes."}]).reasons


def booked(reference: str = "7GAWK763", **slots: str) -> list[dict[str, Any]]:
    arguments = {"name": "blue lantern", **BOOK, **slots}
    return called("book_restaurant", {"status": "booked", "reference": reference}, **arguments)


@pytest.mark.parametrize(
    ("calls", "answer", "code"),
    [
        (booked(), "Booked: 7GAWK763.", None),
        (booked(), "Booked.", "never-said:reference"),
        (booked(), "Booked, the reference is ABCD1234.", "invented:reference"),
        ([], "Fine, the Blue Lantern.", "not-booked"),
        (booked(people="3"), "Booked: 7GAWK763.", "booked-otherwise:people"),
        (booked(day="friday"), "Booked: 7GAWK763.", "booked-otherwise:day"),
        (booked("A1111111", people="3") + booked(), "Booked: 7GAWK763.", None),
        (
            booked() + called("book_restaurant", {"status": "failed"}, name="red kettle", **BOOK),
            "Booked: 7GAWK763.",
            None,
        ),
        (
            called("book_restaurant", {"error": "no table"}, name="blue lantern", **BOOK),
            "The Blue Lantern is full.",
            "not-booked",
        ),
    ],
)
def test_bookings(calls: list[dict[str, Any]], answer: str, code: str | None) -> None:
    messages = [
        {"role": "user", "content": "A table at a cheap Chinese restaurant."},
        *calls,
        {"role": "assistant", "content": answer},
    ]
    judgement = judged({"restaurant": TABLE}, messages)
    assert codes(judgement) == ([code] if code else [])
    assert judgement.domains["restaurant"].success is None
    assert judgement.success is (code is None)


def test_the_wrong_venue_is_booked() -> None:
    messages = [
        {"role": "user", "content": "A table at a cheap Chinese restaurant."},
        *booked(name="red kettle"),
        {"role": "assistant", "content": "Booked at the Red Kettle: 7GAWK763."},
    ]
    judgement = judged({"restaurant": TABLE}, messages)
    assert codes(judgement) == ["booked-wrong", "booked-wrong"]
    assert [reason.outcome for reason in judgement.reasons] == ["inform", "booking"]


def test_an_agent_with_tools_of_its_own_tells_its_bookings() -> None:
    messages = said("A table at a cheap Chinese restaurant.", "Booked, it is 7GAWK763.")
    slots = {"name": "Blue Lantern", "people": 2, "day": "Monday", "time": "18:00"}
    made = [{"domain": "restaurant", "slots": {**slots, "reference": "7gawk763"}}]
    assert judged({"restaurant": TABLE}, messages, made).success
    assert codes(judged({"restaurant": TABLE}, messages, [{"domain": 3}, "x"])) == [
        "named-nothing",
        "not-booked",
    ]


def test_records_of_bookings_may_have_names_of_their_own() -> None:
    goal = {"train": {**TRAIN, "book": {"people": "2"}}}
    messages = said("Two tickets from Ely to Cambridge.", "Booked: ab12cd34.")
    slots = {"refer_number": "ab12cd34", "trainID": "tr0002", "tickets": "2", "id": 132}
    assert judged(goal, messages, [{"domain": "train", "slots": slots}]).success


def test_a_taxi_that_is_called() -> None:
    def ride(leaveat: str, told: str) -> Judgement:
        result = {"status": "booked", "type": "red toyota", "phone": "07123456789"}
        arguments = {"departure": "museum", "destination": "grand hotel", "leaveat": leaveat}
        messages = [
            {"role": "user", "content": "A taxi from the museum to the Grand Hotel at 9:15."},
            *called("book_taxi", result, **arguments),
            {"role": "assistant", "content": told},
        ]
        return judged({"taxi": RIDE}, messages)

    right = "A red Toyota picks you up, call 07123456789."
    assert ride("09:15", right).success
    assert codes(ride("10:15", right)) == ["ride-wrong:leave"]
    assert codes(ride("09:15", "A red Toyota.")) == ["never-said:phone"]
    assert codes(ride("09:15", "A blue Volvo, call 07123456789.")) == ["invented:type"]


def test_every_domain_counts() -> None:
    goal = {"restaurant": LANTERN, "train": {**TRAIN, "reqt": ["duration"]}}
    messages = said(ASK, "The Blue Lantern is at 01223000001.", "And a train?", "Sorry, no.")
    judgement = judged(goal, messages)
    assert judgement.domains["restaurant"].done
    assert not judgement.success
    assert (judgement.turns, judgement.calls) == (2, 0)


def test_grounded_counts_stand_beside_the_verdicts() -> None:
    messages = said(ASK, "The Blue Lantern is at 01223000002.")
    row = judged({"restaurant": LANTERN}, messages).row
    # A name, a number: both known, and the number is another's.
    assert row["mentions.total"] == 2
    assert row["belonging.total"] == 1
    assert row["consistent.total"] == 0
    assert (row["grounded_inform.total"], row["grounded_success.total"]) == (1, 0)


def test_the_user_chooses_from_what_an_agent_with_tools_lists() -> None:
    found = {"count": 2, "results": [{"name": "blue lantern"}, {"name": "red kettle"}]}
    messages = [
        {"role": "user", "content": "A Chinese restaurant in the north?"},
        *called("find_restaurant", found, food="chinese", area="north"),
        {"role": "assistant", "content": "1. Red Kettle\n2. Blue Lantern"},
        {"role": "user", "content": "The cheap one. Its phone number?"},
        {"role": "assistant", "content": "It is 01223000001."},
    ]
    judgement = judged({"restaurant": LANTERN}, messages)
    assert judgement.success
    assert judgement.domains["restaurant"].venue == "Blue Lantern"


WORDS = st.sampled_from(
    [
        *("the Blue Lantern", "Red Kettle", "Purple Frog", "TR0001", "01223000001", "7GAWK763"),
        *("restaurant", "taxi", "train", "cheap", "the first one", "09:15", "I couldn't find any"),
        *("red toyota", "\n1. ", "\n2. ", ".", "?", "**", "booked", "reference", "\x00", "Ǆ"),
    ]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["find_restaurant", "book_restaurant", "book_taxi", "book_train", "f"])
CALLS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["1", "2"]) | ANYTHING,
        "function": st.fixed_dictionaries(
            {
                "name": NAMES | ANYTHING,
                "arguments": ANYTHING.map(json.dumps)
                | st.dictionaries(
                    st.sampled_from(["name", "people", "day", "time", "trainid", "leaveat"]),
                    TEXTS | ANYTHING,
                ),
            }
        )
        | ANYTHING,
    }
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | ANYTHING},
    optional={
        "content": TEXTS | ANYTHING,
        "tool_calls": st.lists(CALLS | ANYTHING, max_size=2) | ANYTHING,
        "tool_call_id": st.sampled_from(["1", "2"]) | ANYTHING,
    },
)
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
def test_any_messages_can_be_judged(messages: list[Any], domains: set[str], bookings: Any) -> None:
    goal = {domain: PARTS[domain] for domain in sorted(domains)}
    before = repr((goal, messages, bookings))
    judgement = judged(goal, messages, bookings)
    assert repr((goal, messages, bookings)) == before
    assert judged(goal, messages, bookings) == judgement
    assert set(judgement.domains) == domains
    for domain, one in judgement.domains.items():
        part = PARTS[domain]
        assert (one.success is None) == ("reqt" not in part)
        assert (one.booking is None) == (one.reference is None) == ("book" not in part)
        # Whatever is lost has a reason, and whatever has a reason is lost.
        lost = {reason.outcome for reason in judgement.reasons if reason.scope == domain}
        assert ("inform" in lost) == (not one.inform)
        assert ("booking" in lost) == (one.booking is False)
        if one.inform:
            assert ("success" in lost) == (one.success is False)
        if one.success or one.booking:
            assert one.inform


PARTS_OF_TALK: dict[str, tuple[dict[str, Any], tuple[tuple[str, ...], ...]]] = {
    "restaurant": (
        LANTERN,
        (
            (ASK, "The Blue Lantern is at 01223000001."),
            (ASK, "1. Blue Lantern\n2. Red Kettle", "The Red Kettle.", "It is at 01223000002."),
            (ASK, "Sorry, I couldn't find any restaurant called Blue Lantern."),
        ),
    ),
    "hotel": (
        {"info": {"area": "north"}, "reqt": ["postcode"]},
        (
            ("A hotel in the north, and its postcode.", "The Grand Hotel, postcode CB20AA."),
            ("I need a hotel.", "I'm sorry, I could not find any hotels.", "Oh.", "Sorry."),
        ),
    ),
    "train": (
        {**TRAIN, "reqt": ["duration"]},
        (
            ("A train from Ely to Cambridge after 10:00.", "TR0002 takes 20 minutes."),
            ("A train from Ely to Cambridge.", "TR0001 takes 20 minutes.", "Fine.", "Good."),
        ),
    ),
    "taxi": (
        RIDE,
        (
            ("I need a taxi from the museum at 9:15.", "A red Toyota, call 07123456789."),
            ("I need a taxi.", "When?", "Forget it.", "Goodbye."),
        ),
    ),
}


@given(st.data())
def test_what_is_said_of_one_domain_changes_no_other(data: st.DataObject) -> None:
    order = data.draw(st.permutations(sorted(PARTS_OF_TALK)))
    alone = {}
    texts: list[str] = []
    for domain in order:
        goal, talks = PARTS_OF_TALK[domain]
        talk = data.draw(st.sampled_from(talks))
        texts += talk
        alone[domain] = judged({domain: goal}, said(*talk)).domains[domain]
    goals = {domain: PARTS_OF_TALK[domain][0] for domain in order}
    together = judged(goals, said(*texts)).domains
    for domain, one in alone.items():
        before, after = one, together[domain]
        assert (after.inform, after.success, after.venue) == (
            before.inform,
            before.success,
            before.venue,
        )


def states_of(*messages: dict[str, Any]) -> list[Any]:
    transcript = read_transcript(read_messages(messages), Delexicalizer(sample_tables()), "2021")
    return [exchange.state for exchange in transcript.exchanges]


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("A cheap chinese restaurant.", {"restaurant": {"pricerange": "cheap", "food": "chinese"}}),
        (
            "I need a hotel with free wifi and parking.",
            {"hotel": dict.fromkeys(("internet", "parking"), "yes")},
        ),
        ("A hotel in the north, please. Does it have wifi?", {"hotel": {"area": "north"}}),
        ("I need a hotel. Parking does not matter.", {"hotel": {}}),
        ("I need a taxi.", {"taxi": {}}),
        ("Hello!", {}),
    ],
)
def test_without_calls_the_state_is_what_the_user_has_said(said: str, state: Any) -> None:
    assert states_of(
        {"role": "user", "content": said}, {"role": "assistant", "content": "Let me see."}
    ) == [state]


def test_a_later_wish_replaces_an_earlier_one() -> None:
    states = states_of(
        {"role": "user", "content": "A restaurant in the north."},
        {"role": "assistant", "content": "There is none."},
        {"role": "user", "content": "Then in the south."},
        {"role": "assistant", "content": "OK."},
    )
    assert [state["restaurant"]["area"] for state in states] == ["north", "south"]


def test_with_calls_the_state_is_what_they_were_told() -> None:
    function = {"name": "find_hotel", "arguments": json.dumps({"area": "east"})}
    call = {"id": "1", "type": "function", "function": function}
    states = states_of(
        {"role": "user", "content": "A hotel in the north."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "{}"},
        {"role": "assistant", "content": "OK."},
    )
    assert states == [{"hotel": {"area": "east"}}]


@tabled
def test_domains_are_told_by_words(text: str, domains: tuple[str, ...]) -> None:
    assert domains_in(text) == domains
