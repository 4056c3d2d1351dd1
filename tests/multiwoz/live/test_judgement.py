"""What became of live dialogues in the small town, rule by rule, and reason by reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.live.judgement import Judge, Judgement
from tests.multiwoz.towns import TOWN
from tests.multiwoz.words.cases import tabled

HOSPITAL = [
    {"department": "oncology", "phone": "01223216314", "id": "0"},
    {"department": "paediatrics", "phone": "01223217250", "id": "1"},
]
POLICE = [{"name": "Parkside", "address": "Parkside, Cambridge", "phone": "01223358966", "id": "0"}]
JUDGE = Judge({**TOWN, "hospital": HOSPITAL, "police": POLICE})

LANTERN = {"info": {"food": "chinese", "pricerange": "cheap"}, "reqt": ["phone"]}
BOOK = {"day": "monday", "people": "2", "time": "18:00"}
TABLE = {"info": {"food": "chinese", "pricerange": "cheap"}, "book": BOOK}
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
    return JUDGE.judge({"domain_ordering": [*goal], **goal}, messages, bookings)


def codes(judgement: Judgement) -> list[str]:
    return [reason.code for reason in judgement.reasons]


@pytest.mark.parametrize(
    ("answer", "inform", "success", "code"),
    [
        ("The Blue Lantern is at 01223000001.", True, True, None),
        ("The Blue Lantern is nice.", True, False, "never-said:phone"),
        ("The Blue Lantern is at 01223000002.", True, False, "said-wrong:phone"),
        ("The Red Kettle is at 01223000002.", False, False, "named-wrong"),
        ("I recommend the Purple Frog, a cheap restaurant.", False, False, "named-unknown"),
        ("There is a cheap one in the north, at 01223000001.", False, False, "named-nothing"),
    ],
)
def test_the_right_venue_is_named_and_its_phone_told(
    answer: str, inform: bool, success: bool, code: str | None
) -> None:
    judgement = judged({"restaurant": LANTERN}, said(ASK, answer))
    domain = judgement.domains["restaurant"]
    assert (domain.inform, domain.success, domain.booking) == (inform, success, None)
    assert judgement.success is (success and inform)
    assert codes(judgement) == ([code] if code else [])


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


def test_a_venue_that_only_the_user_names_is_not_named() -> None:
    goal = {"restaurant": {"info": {"name": "blue lantern"}, "reqt": ["phone"]}}
    ask = "Tell me about the restaurant Blue Lantern."
    assert codes(judged(goal, said(ask, "Let me see."))) == ["named-nothing"]
    assert judged(goal, said(ask, "Its phone number is 01223000001.")).success


def test_a_venue_that_the_user_names_is_confirmed_by_what_is_told_of_it() -> None:
    goal = {"restaurant": {"info": {"name": "blue lantern"}, "reqt": ["phone"]}}
    messages = [
        {"role": "user", "content": "The phone number of the Blue Lantern, a restaurant?"},
        *called("find_restaurant", {"count": 1}, name="blue lantern"),
        {"role": "assistant", "content": "It is 01223000001."},
    ]
    assert judged(goal, messages).success
    assert judged(goal, [*messages[:-1], {"role": "assistant", "content": "Yes."}]).reasons


def test_what_the_user_wanted_first_is_forgotten() -> None:
    goal = {"restaurant": {**LANTERN, "fail_info": {"food": "british", "pricerange": "cheap"}}}
    messages = said(
        "A cheap British restaurant?",
        "The Old Mill is cheap.",
        "What about Chinese food?",
        "The Blue Lantern, phone 01223000001.",
    )
    assert judged(goal, messages).success


@pytest.mark.parametrize(
    ("answer", "success"),
    [
        # The last that is said of a venue counts, and another venue's value is no error.
        (("Phone 01223000002.", "Sorry: 01223000001."), True),
        (("Phone 01223000001.", "Sorry: 01223000002."), False),
        (
            (
                "Phone 01223000001.",
                "As told. The Red Kettle has 01223000002, the Blue Lantern not.",
            ),
            True,
        ),
    ],
)
def test_the_last_value_said_of_a_venue_counts(answer: tuple[str, str], success: bool) -> None:
    messages = said(ASK, f"The Blue Lantern. {answer[0]}", "The Blue Lantern?", answer[1])
    assert judged({"restaurant": LANTERN}, messages).domains["restaurant"].success is success


def test_what_the_database_does_not_know_need_not_be_told() -> None:
    mill = {"info": {"food": "british"}, "reqt": ["postcode"]}
    assert judged({"restaurant": mill}, said("A British restaurant.", "The Old Mill.")).success


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


RIDE = {"info": {"leaveAt": "09:15", "departure": "the museum"}, "reqt": ["car type", "phone"]}


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


def test_a_taxi_in_words_alone() -> None:
    asked = "I need a taxi. Can it leave the museum at 9:15?"
    right = "A red Toyota is booked, the contact number is 07123456789."
    assert judged({"taxi": RIDE}, said(asked, right)).success
    untold = judged({"taxi": RIDE}, said("I need a taxi from the museum.", right))
    assert codes(untold) == ["ride-untold:leave"]
    answered = said("I need a taxi.", "When should the taxi leave?", "The museum at 09:15.", right)
    assert judged({"taxi": RIDE}, answered).success


def test_services() -> None:
    ward = {"info": {"department": "oncology"}, "reqt": ["phone", "postcode"]}
    right = "The phone number is 01223 216314, the postcode CB2 0QQ."
    assert judged({"hospital": ward}, said("The hospital's oncology department?", right)).success
    wrong = "The phone number is 01223217250, the postcode CB20QQ."
    judgement = judged({"hospital": ward}, said("The hospital's oncology department?", wrong))
    assert codes(judgement) == ["said-wrong:phone"]
    police = {"info": {}, "reqt": ["address"]}
    assert judged({"police": police}, said("The police?", "It is in Parkside, Cambridge.")).success


TRAIN = {"info": {"departure": "ely", "destination": "cambridge", "leaveAt": "10:00"}}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("TR0002 leaves at 11:00.", None),
        ("TR0001 leaves at 09:00.", "named-wrong"),
        # Without its id a train is told by its times.
        ("The train leaves at 11:00 and takes 20 minutes.", None),
        ("The train leaves at 09:00 and takes 20 minutes.", "named-nothing"),
        ("There are trains.", "named-nothing"),
    ],
)
def test_trains(answer: str, code: str | None) -> None:
    goal = {"train": {**TRAIN, "reqt": ["duration"]}}
    judgement = judged(goal, said("A train from Ely to Cambridge after 10:00.", answer))
    assert [c for c in codes(judgement) if not c.endswith("duration")] == ([code] if code else [])


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
    assert "consistent.total" not in row
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


def test_the_log_of_tools_counts_where_asked() -> None:
    messages = [
        {"role": "user", "content": "A table at a cheap Chinese restaurant."},
        *booked(),
        {"role": "assistant", "content": "I have booked the Blue Lantern: 7GAWK763."},
    ]
    with_log = Judge(TOWN, with_log=True).judge({"restaurant": TABLE}, messages)
    without = judged({"restaurant": TABLE}, messages)
    assert with_log.row["logged.total"] == with_log.row["logged_right.total"] > 0
    assert "logged.total" not in without.row
    assert with_log.domains == without.domains


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
