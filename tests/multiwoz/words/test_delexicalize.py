"""What lexicalised responses say is found, and placeholders stand for it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.words.delexicalize import Delexicalizer, placeholder, placeholder_spans
from mwzeval.multiwoz.words.text import Delexicalized, Mention
from tests.cases import tabled
from tests.multiwoz.worlds import Tables, sample_tables
from tests.work import calls


def rows_of(columns: str, *rows: str) -> list[dict[str, str]]:
    """Return rows of which each is a text, with its cells between bars."""
    return [dict(zip(columns.split(), row.split(" | "), strict=True)) for row in rows]


def venues(columns: str, *rows: str) -> list[dict[str, str]]:
    own = {"area": "north", "pricerange": "cheap"}
    names = f"id name address phone postcode type {columns}"
    return [{**own, **row} for row in rows_of(names, *rows)]


TABLES: Tables = {
    "restaurant": venues(
        "food",
        "1 | the copper spoon | 14 Weir Street City Centre | 01632960590 | qx13ss | restaurant"
        " | italian",
        "2 | noodle heaven mill end | 8 - 10 King's Parade | 01632960591 | qx13st | restaurant"
        " | chinese",
        "3 | noodle heaven city centre | Weir Street City Centre | 01632960592 | qx13su"
        " | restaurant | chinese",
        "4 | restaurant nine four | 2G Otter Road | 01632960593 | qx13sv | restaurant"
        " | modern european",
        "5 | saint brannoc's & co |  | 01632960599 | qx13sz | restaurant | gastropub",
    ),
    "hotel": venues(
        "stars", "1 | wexcombe guest house | weir street | 01632960594 | qx13sw | guesthouse | 4"
    ),
    "attraction": [
        {**row, "entrance fee": "2.50 pounds"}
        for row in venues(
            "",
            "1 | the place | unit 4, the old forge, weir street | 01632960595 | qx13sx | theatre",
        )
    ],
    "train": rows_of(
        "trainID leaveAt arriveBy departure destination day price duration",
        "TR1234 | 09:01 | 17:15 | pellingford | cambridge | monday | 10.10 pounds | 51 minutes",
    ),
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


@tabled
def test_usual_spellings_are_found(slot: str, value: str, said: str) -> None:
    active = {"entrancefee": "attraction", "area": "hotel", "pricerange": "hotel"}.get(
        slot, "train"
    )
    mentions = found(f"Well , I see {said} there .", active)
    assert [(m.slot, m.value, m.sure) for m in mentions] == [(slot, value, True)]
    assert all(m.venues for m in mentions)
    assert mentions[0].text in said
    assert found(f"well, i see {said.lower()}!", active)[0].value == value


@tabled
def test_placeholders_stand_for_values(response: str, active: str, expected: str | None) -> None:
    (delexicalized,) = dialogue(response, active=[active])
    assert delexicalized.response == (response if expected is None else expected)


@tabled
def test_what_the_database_lacks_is_found_by_its_form(
    response: str, active: str, slot: str, text: str
) -> None:
    mentions = found(response, active)
    assert [(m.slot, m.text, m.value, m.venues) for m in mentions] == [(slot, text, None, ())]


@tabled
def test_near_misses_of_names_are_unsure_and_distant_ones_are_none(
    said: str, value: str | None
) -> None:
    names = [m for m in found(f"I like {said} a lot", "restaurant") if m.slot == "name"]
    assert [(m.value, m.sure) for m in names] == ([] if value is None else [(value, False)])


def test_a_value_of_several_domains_is_that_of_the_active_one() -> None:
    for domain, venues in (("restaurant", ("1", "3")), ("hotel", ("1",)), ("attraction", ("1",))):
        (mention,) = found("it is on Weir Street .", domain)
        assert (mention.domain, mention.venues) == (domain, venues)


def test_the_price_of_a_train_is_not_the_fee_of_an_attraction() -> None:
    states: tuple[State, ...] = ({}, {"train": {"day": "monday"}})
    slots = {
        said: [found(said, "attraction", state=state)[-1].slot for state in states]
        for said in (
            "The price is 10.10 pounds.",
            "Take TR1234, the price is 10.10 pounds.",
            "The price is 2.50 pounds.",
            "The price is 99.99 pounds.",
            "The entrance fee is 10.10 pounds.",
        )
    }
    assert list(slots.values()) == [
        ["entrancefee", "price"],
        ["price", "price"],
        *[["entrancefee", "entrancefee"]] * 3,
    ]


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


UNITS = ("a", "[", "[a", "0", "0 ", "the copper ")
MORE_UNITS = (
    *("0-", "the ", "noodle heaven ", "' s", "tr ", "A", "cb ", "14 weir ", "14 ", "£", "one "),
    *("reference number is ", "Xyz ", "quite a ", "İ", "unit 4 , ", "City Centre , ", "wexcom "),
    *("restaurant nine ", "1,000", "12:", "12.", "ref#"),
)


@pytest.mark.parametrize(
    "units", [UNITS, pytest.param(MORE_UNITS, marks=pytest.mark.integration)], ids=["few", "more"]
)
def test_work_grows_no_faster_than_the_text(units: Sequence[str]) -> None:
    def work(unit: str, size: int) -> int:
        text = unit * (size // len(unit))
        return calls(lambda: dialogue(text, active=["restaurant"]))

    # Ten times the text; a quadratic step would be a hundred times the work. What the first
    # reading fills caches with is not counted.
    for unit in units:
        work(unit, 1_000)
    failed = [unit for unit in units if work(unit, 10_000) > 12 * work(unit, 1_000)]
    assert not failed


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
