"""What lexicalised responses say is found, and placeholders stand for it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.normalization.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.words.delexicalization import Delexicalizer, placeholder, placeholder_spans
from mwzeval.multiwoz.words.text import Delexicalized, Mention
from tests.multiwoz.worlds import Tables, sample_tables
from tests.work import calls

VENUE = {"area": "north", "pricerange": "cheap"}
TABLES: Tables = {
    "restaurant": [
        {
            **VENUE,
            "id": "1",
            "name": "the copper spoon",
            "address": "14 Weir Street City Centre",
            "food": "italian",
            "phone": "01632960590",
            "postcode": "qx13ss",
            "type": "restaurant",
        },
        {
            **VENUE,
            "id": "2",
            "name": "noodle heaven mill end",
            "address": "8 - 10 King's Parade",
            "food": "chinese",
            "phone": "01632960591",
            "postcode": "qx13st",
            "type": "restaurant",
        },
        {
            **VENUE,
            "id": "3",
            "name": "noodle heaven city centre",
            "address": "Weir Street City Centre",
            "food": "chinese",
            "phone": "01632960592",
            "postcode": "qx13su",
            "type": "restaurant",
        },
        {
            **VENUE,
            "id": "4",
            "name": "restaurant nine four",
            "address": "2G Otter Road",
            "food": "modern european",
            "phone": "01632960593",
            "postcode": "qx13sv",
            "type": "restaurant",
        },
        {
            **VENUE,
            "id": "5",
            "name": "saint brannoc's & co",
            "address": "",
            "food": "gastropub",
            "phone": "01632960599",
            "postcode": "qx13sz",
            "type": "restaurant",
        },
    ],
    "hotel": [
        {
            **VENUE,
            "id": "1",
            "name": "wexcombe guest house",
            "address": "weir street",
            "phone": "01632960594",
            "postcode": "qx13sw",
            "stars": "4",
            "type": "guesthouse",
        },
    ],
    "attraction": [
        {
            **VENUE,
            "id": "1",
            "name": "the place",
            "address": "unit 4, the old forge, weir street",
            "phone": "01632960595",
            "postcode": "qx13sx",
            "entrance fee": "2.50 pounds",
            "type": "theatre",
        },
    ],
    "train": [
        {
            "trainID": "TR1234",
            "leaveAt": "09:01",
            "arriveBy": "17:15",
            "departure": "pellingford",
            "destination": "cambridge",
            "day": "monday",
            "price": "10.10 pounds",
            "duration": "51 minutes",
        },
    ],
}
NAMES = {row["name"] for domain in ("restaurant", "hotel", "attraction") for row in TABLES[domain]}


@cache
def delexicalizer() -> Delexicalizer:
    return Delexicalizer(TABLES)


def dialogue(
    *responses: str, state: State | None = None, active: Sequence[str] = ()
) -> list[Delexicalized]:
    turns = len(responses)
    return delexicalizer().dialogue(responses, [state or {}] * turns, [tuple(active)] * turns)


def found(response: str, *active: str, state: State | None = None) -> list[Mention]:
    return list(dialogue(response, state=state, active=active)[0].mentions)


@pytest.mark.parametrize(
    ("slot", "value", "said"),
    [
        ("name", "the copper spoon", "The Copper Spoon"),
        ("name", "the copper spoon", "copper  spoon"),
        ("name", "the copper spoon", "Copper Spoon restaurant"),
        ("name", "the copper spoon", "The Cópper Spöon"),
        ("name", "restaurant nine four", "restaurant 9 4"),
        ("name", "restaurant nine four", "Restaurant 94"),
        ("name", "restaurant nine four", "Nine Four Restaurant"),
        ("name", "saint brannoc's & co", "Saint Brannoc 's and Co"),
        ("name", "saint brannoc's & co", "st. brannocs & co"),
        ("name", "wexcombe guest house", "wexcombe guesthouse"),
        ("name", "wexcombe guest house", "Wexcombe B&B"),
        ("name", "wexcombe guest house", "Wexcombe bed and breakfast"),
        ("name", "wexcombe guest house", "Wexcombe"),
        ("phone", "01632960594", "01632960594"),
        ("phone", "01632960594", "01632 960594"),
        ("phone", "01632960594", "01632-960-594"),
        ("phone", "01632960594", "0 1 6 3 2 9 6 0 5 9 4"),
        ("phone", "01632960594", "+44 1632 960594"),
        ("phone", "01632960594", "01632\N{NON-BREAKING HYPHEN}960\N{EN DASH}594"),
        ("phone", "01632960594", "０１６３２ ９６０５９４"),
        ("postcode", "qx13sw", "QX13SW"),
        ("trainid", "TR1234", "TR1234"),
        ("trainid", "TR1234", "tr 1234"),
        ("trainid", "TR1234", "train 1234"),
        ("food", "italian", "Italian"),
        ("food", "gastropub", "gastropubs"),
        ("food", "gastropub", "gastro pub"),
        ("area", "north", "north part of town"),
        ("pricerange", "cheap", "cheaply priced"),
        ("stars", "4", "four star"),
        ("stars", "4", "4-star"),
        ("type", "guesthouse", "guest houses"),
        ("entrancefee", "2.50 pounds", "2.50 pounds"),
        ("entrancefee", "2.50 pounds", "£2.5"),
        ("address", "14 Weir Street City Centre", "14 weir street"),
        ("address", "14 Weir Street City Centre", "14 Weir St"),
        ("address", "8 - 10 King's Parade", "8-10 kings parade"),
        (
            "address",
            "8 - 10 King's Parade",
            "8\N{EN DASH}10 King\N{RIGHT SINGLE QUOTATION MARK}s Parade",
        ),
        ("address", "2G Otter Road", "2 G Otter Rd"),
        ("address", "unit 4, the old forge, weir street", "the old forge"),
        ("leaveat", "09:01", "leaving at 9:01"),
        ("leaveat", "09:01", "leaves 9:01 a.m."),
        ("leaveat", "09:01", "a departure at 09:01am"),
        ("arriveby", "17:15", "arrives at 5:15 pm"),
        ("price", "10.10 pounds", "10.1 GBP"),
        ("price", "10.10 pounds", "£ 10.10"),
        ("duration", "51 minutes", "51 mins"),
        ("day", "monday", "Mondays"),
        ("departure", "pellingford", "from Pellingford"),
        ("destination", "cambridge", "to Cambridge"),
    ],
)
def test_usual_spellings_are_found(slot: str, value: str, said: str) -> None:
    active = {"entrancefee": "attraction", "area": "hotel", "pricerange": "hotel"}.get(
        slot, "train"
    )
    mentions = found(f"Well , I see {said} there .", active)
    assert [(m.slot, m.value, m.sure) for m in mentions] == [(slot, value, True)]
    assert all(m.venues for m in mentions)
    assert mentions[0].text in said
    assert found(f"well, i see {said.lower()}!", active)[0].value == value


@pytest.mark.parametrize(
    ("response", "active", "expected"),
    [
        (
            "How about Noodle Heaven Mill End in the north ? Their number is 01632960591 .",
            "restaurant",
            "How about [restaurant_name] in the [restaurant_area] ? Their number is "
            "[restaurant_phone] .",
        ),
        (
            "It is at unit 4, the old forge, Weir Street, postcode QX1 3SX",
            "attraction",
            "It is at [attraction_address], [attraction_address], [attraction_address], "
            "postcode [attraction_postcode]",
        ),
        (
            "Your reference number is : ABCDEFGH . Also 7GAWK763 , reference 00000123 .",
            "hotel",
            "Your reference number is : [hotel_reference] . Also [hotel_reference] , "
            "reference [hotel_reference] .",
        ),
        (
            "There are 11 trains. One leaves at 09:01 and costs 10.10 pounds.",
            "train",
            "There are [train_choice] trains. One leaves at [train_leaveat] and costs "
            "[train_price].",
        ),
        (
            "I booked a table for 7 people on Monday at 18:30. It is held for 15 minutes.",
            "restaurant",
            "I booked a table for [bookpeople] people on [bookday] at [booktime]. It is held "
            "for 15 minutes.",
        ),
        (
            "A red Toyota will take you from Wexcombe to The Copper Spoon .",
            "taxi",
            "A [taxi_type] will take you from [taxi_departure] to [taxi_destination] .",
        ),
        (
            "It has free parking and free wifi, and entrance is free.",
            "attraction",
            "It has free parking and free wifi, and entrance is [attraction_entrancefee].",
        ),
        (
            "How many people ? How expensive may the hotel be ? Feel free to ask for one .",
            "hotel",
            "How many people ? How expensive may the hotel be ? Feel free to ask for one .",
        ),
        ("The Copper Spoon's phone ?", "restaurant", "[restaurant_name]'s phone ?"),
        ("[restaurant_name] is a [value_food] place", "restaurant", None),
        (
            "How about [The Copper Spoon] at [14 weir street]?",
            "restaurant",
            "How about [[restaurant_name]] at [[restaurant_address]]?",
        ),
        (
            "[The Copper Spoon restaurant](https://example.org), [Phone] and [address]",
            "restaurant",
            "[[restaurant_name]](https://example.org), [Phone] and [address]",
        ),
        ("Its [area](https://example.org) is [odd name], [1] and []", "restaurant", None),
        ("", "restaurant", None),
        ("You are welcome, goodbye!", "restaurant", None),
    ],
)
def test_placeholders_stand_for_values(response: str, active: str, expected: str | None) -> None:
    (delexicalized,) = dialogue(response, active=[active])
    assert delexicalized.response == (response if expected is None else expected)


@pytest.mark.parametrize(
    ("response", "active", "slot", "text"),
    [
        ("call 01632999999 now", "restaurant", "phone", "01632999999"),
        ("the postcode is CB2 1ZZ .", "hotel", "postcode", "CB2 1ZZ"),
        ("the postcode is cb.21 zz", "hotel", "postcode", "cb.21 zz"),
        ("take TR9999 then", "train", "trainid", "TR9999"),
        ("it leaves at 10:59 then", "train", "leaveat", "10:59"),
        ("a ticket is 99.99 pounds", "train", "price", "99.99 pounds"),
        ("it serves Polynesian food", "restaurant", "food", "Polynesian"),
        ("it is at 99 Weir Street", "restaurant", "address", "99 Weir Street"),
        ("it is at 7 Acacia Avenue", "restaurant", "address", "7 Acacia Avenue"),
        ("try the Zanzibar Grill Restaurant", "restaurant", "name", "Zanzibar Grill Restaurant"),
        ("a 9 star place", "hotel", "stars", "9"),
    ],
)
def test_what_the_database_lacks_is_found_by_its_form(
    response: str, active: str, slot: str, text: str
) -> None:
    mentions = found(response, active)
    assert [(m.slot, m.text, m.value, m.venues) for m in mentions] == [(slot, text, None, ())]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("the Wexcome guest house", "wexcombe guest house"),
        ("the Coper Spoon", "the copper spoon"),
        ("Noodel Heaven Mill End", "noodle heaven mill end"),
        ("a good Italian Restaurant", None),
        ("a golden spool", None),
        ("the wextown guest house", None),
    ],
)
def test_near_misses_of_names_are_unsure_and_distant_ones_are_none(
    said: str, value: str | None
) -> None:
    names = [m for m in found(f"I like {said} a lot", "restaurant") if m.slot == "name"]
    assert [(m.value, m.sure) for m in names] == ([] if value is None else [(value, False)])


def test_a_value_of_several_domains_is_that_of_the_active_one() -> None:
    for domain, venues in (("restaurant", ("1", "3")), ("hotel", ("1",)), ("attraction", ("1",))):
        (mention,) = found("it is on Weir Street .", domain)
        assert (mention.domain, mention.venues) == (domain, venues)


def test_a_value_is_that_of_what_was_just_named() -> None:
    (name, address) = found("Wexcombe is on Weir Street .", "restaurant")
    assert (name.domain, address.domain, address.value) == ("hotel", "hotel", "weir street")
    first, second = dialogue(
        "How about Noodle Heaven City Centre ?", "It is on Weir Street .", active=["restaurant"]
    )
    assert first.mentions[0].value == "noodle heaven city centre"
    (address,) = second.mentions
    assert (address.value, address.venues, address.sure) == (
        "Weir Street City Centre",
        ("3",),
        True,
    )


def test_a_short_name_is_that_of_the_venue_named_before_or_asked_for() -> None:
    (mention,) = found("Noodle Heaven is nice", "restaurant")
    assert (set(mention.venues), mention.sure) == ({"2", "3"}, False)
    for name, venue in (("noodle heaven mill end", "2"), ("noodle heaven city centre", "3")):
        state = {"restaurant": {"name": name}}
        (mention,) = found("Noodle Heaven is nice", "restaurant", state=state)
        assert (mention.value, mention.venues, mention.sure) == (name, (venue,), True)
        _, later = dialogue(f"I found {name} .", "I booked Noodle Heaven .")
        assert [m.value for m in later.mentions] == [name]


def test_ordinary_words_are_names_only_where_they_are_written_so() -> None:
    assert found("that is the place you asked for", "attraction") == []
    assert [m.value for m in found("I love The Place !", "attraction")] == ["the place"]
    assert [m.value for m in found("I love the Place !", "attraction")] == ["the place"]
    state = {"attraction": {"name": "the place"}}
    assert [m.value for m in found("i love the place", state=state)] == ["the place"]


def test_a_capital_article_belongs_to_a_name() -> None:
    assert [m.text for m in found("The Copper Spoon or the Copper Spoon")] == [
        "The Copper Spoon",
        "Copper Spoon",
    ]


WORDS = st.sampled_from(
    [
        *NAMES,
        *("14 Weir Street", "01632960590", "01632 960590", "QX1 3SS", "TR1234", "AB12CD34"),
        *("9:01", "5 pm", "£10.10", "4-star", "free", "north side", "several", "one", "the", "a"),
        *("[restaurant_name]", "[", "]", ".", ",", "'", "'s", "and", "&", "is", "reference", "ref"),
        *("İ", "ﬁ", "\x00", "\n", "\t", "é", "٣", "𝟙", "-", "0", "cb", "tr", "+44", "how", "in"),
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=12).map(" ".join), st.lists(WORDS).map("".join), st.text(max_size=60)
)
STATES = st.sampled_from([{}, {"restaurant": {"name": "the copper spoon"}}, {"taxi": {}}])
DOMAINS = st.sampled_from([(), ("restaurant",), ("train",), ("taxi", "hotel"), ("attraction",)])


@given(TEXTS, STATES, DOMAINS)
def test_places_are_right_and_the_rest_of_the_text_stays(
    response: str, state: State, active: tuple[str, ...]
) -> None:
    (delexicalized,) = delexicalizer().dialogue([response], [state], [active])
    rebuilt, position = [], 0
    for mention in delexicalized.mentions:
        assert position <= mention.start < mention.end <= len(response)
        assert response[mention.start : mention.end] == mention.text
        assert (mention.value is None) or mention.domain is not None
        for start, end in placeholder_spans(mention):
            assert mention.start <= start < end <= mention.end
            assert mention.slot in PLACEHOLDERS
            assert placeholder(mention) in PLACEHOLDERS
            rebuilt += [response[position:start], f"[{placeholder(mention)}]"]
            position = end
    assert "".join([*rebuilt, response[position:]]) == delexicalized.response


@given(st.text(st.sampled_from("bdfghkqvxyz ,.!?'[]\n"), max_size=80))
def test_text_without_values_stays_as_it_is(response: str) -> None:
    assert dialogue(response) == [Delexicalized(response, ())]


@given(TEXTS, DOMAINS)
def test_nothing_is_left_to_be_found_in_placeholders(
    response: str, active: tuple[str, ...]
) -> None:
    (once,) = delexicalizer().dialogue([response], [{}], [active])
    (twice,) = delexicalizer().dialogue([once.response], [{}], [active])
    for mention in twice.mentions:
        assert "[" not in mention.text
    if not once.mentions:
        assert twice == once


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "[",
            "[a",
            "0",
            "0 ",
            "0-",
            "the ",
            "the copper ",
            "noodle heaven ",
            "' s",
            "tr ",
            "A",
        ),
        *("cb ", "14 weir ", "14 ", "£", "one ", "reference number is ", "Xyz ", "quite a ", "İ"),
        *(
            "unit 4 , ",
            "City Centre , ",
            "wexcom ",
            "restaurant nine ",
            "1,000",
            "12:",
            "12.",
            "ref#",
        ),
    ],
)
@pytest.mark.exhaustive(but=6)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    def work(size: int) -> int:
        text = unit * (size // len(unit))
        return calls(lambda: dialogue(text, active=["restaurant"]))

    work(1_000)
    short, long = work(1_000), work(10_000)
    # Ten times the text; a quadratic step would be a hundred times the work.
    assert long <= 12 * short


def test_copies_and_threads_give_the_same() -> None:
    tables = sample_tables()
    names = [
        row["name"] for domain in ("restaurant", "hotel", "attraction") for row in tables[domain]
    ]
    responses = [f"I recommend {name.title()} . Is that fine ?" for name in names]
    states: list[State] = [{}] * len(responses)
    active = [("restaurant",)] * len(responses)
    fresh = Delexicalizer(tables)
    expected = fresh.dialogue(responses, states, active)
    assert sum(len(turn.mentions) for turn in expected) >= len(names)
    copy = pickle.loads(pickle.dumps(fresh))
    assert copy.dialogue(responses, states, active) == expected
    shared = Delexicalizer(tables)
    with ThreadPoolExecutor(8) as pool:
        results = pool.map(lambda _: shared.dialogue(responses, states, active), range(16))
        assert all(result == expected for result in results)


def test_every_name_of_the_sample_is_found_as_its_own() -> None:
    tables = sample_tables()
    sample = Delexicalizer(tables)
    for domain in ("restaurant", "hotel", "attraction"):
        for row in tables[domain]:
            said = f"You could go to {row['name']} ."
            (turn,) = sample.dialogue([said], [{}], [(domain,)])
            assert [(m.slot, m.value) for m in turn.mentions] == [("name", row["name"])]
            assert row["id"] in turn.mentions[0].venues
