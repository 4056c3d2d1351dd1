"""Values are recognized as people and models write them, and replaced with placeholders."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.words.delexicalize import Delexicalizer, placeholder, placeholder_spans
from mwzeval.multiwoz.words.recognition import has_amenity
from mwzeval.multiwoz.words.text import Delexicalized, Mention, Tokens
from tests.cases import tabled
from tests.multiwoz.worlds import Tables, read_tables, sample_tables
from tests.places import ROOT, shared
from tests.work import calls

VENUES = ("restaurant", "hotel", "attraction")


def rows_of(columns: str, *rows: str) -> list[dict[str, str]]:
    """Return rows of a table; the cells of a row are separated by ` | `."""
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
NAMES = [row["name"] for domain in VENUES for row in TABLES[domain]]


@cache
def delexicalizer(town: str = "small") -> Delexicalizer:
    return Delexicalizer(TOWNS[town])


def dialogue(
    *responses: str, state: State | None = None, active: Sequence[str] = (), town: str = "small"
) -> list[Delexicalized]:
    turns = len(responses)
    return delexicalizer(town).dialogue(responses, [state or {}] * turns, [tuple(active)] * turns)


def found(
    response: str, *active: str, state: State | None = None, town: str = "small"
) -> list[Mention]:
    (turn,) = dialogue(response, state=state, active=active, town=town)
    return list(turn.mentions)


@tabled
def test_common_spellings_are_recognized(slot: str, value: str, said: str) -> None:
    active = {"entrancefee": "attraction", "area": "hotel", "pricerange": "hotel"}.get(
        slot, "train"
    )
    mentions = found(f"Well , I see {said} there .", active)
    assert [(m.slot, m.value, m.sure) for m in mentions] == [(slot, value, True)]
    assert all(m.venues for m in mentions)
    assert mentions[0].text in said
    assert found(f"well, i see {said.lower()}!", active)[0].value == value


@tabled
def test_values_are_replaced_by_placeholders(
    response: str, active: str, expected: str | None
) -> None:
    (delexicalized,) = dialogue(response, active=[active])
    assert delexicalized.response == (response if expected is None else expected)


@tabled
def test_values_missing_from_the_database_are_recognized_by_form(
    response: str, active: str, slot: str, text: str
) -> None:
    mentions = found(response, active)
    assert [(m.slot, m.text, m.value, m.venues) for m in mentions] == [(slot, text, None, ())]


@tabled
def test_similar_names_are_uncertain_and_dissimilar_names_are_ignored(
    said: str, value: str | None
) -> None:
    names = [m for m in found(f"I like {said} a lot", "restaurant") if m.slot == "name"]
    assert [(m.value, m.sure) for m in names] == ([] if value is None else [(value, False)])


def test_ambiguous_values_belong_to_the_active_domain() -> None:
    for domain, ids in (("restaurant", ("1", "3")), ("hotel", ("1",)), ("attraction", ("1",))):
        (mention,) = found("it is on Weir Street .", domain)
        assert (mention.domain, mention.venues) == (domain, ids)


@pytest.mark.parametrize(
    ("response", "alone", "with_train"),
    [
        ("The price is 10.10 pounds.", "entrancefee", "price"),
        ("Take TR1234, the price is 10.10 pounds.", "price", "price"),
        ("The price is 2.50 pounds.", "entrancefee", "entrancefee"),
        ("The price is 99.99 pounds.", "entrancefee", "entrancefee"),
        ("The entrance fee is 10.10 pounds.", "entrancefee", "entrancefee"),
    ],
)
def test_train_prices_are_distinguished_from_entrance_fees(
    response: str, alone: str, with_train: str
) -> None:
    for state, slot in (({}, alone), ({"train": {"day": "monday"}}, with_train)):
        assert found(response, "attraction", state=state)[-1].slot == slot


def test_values_belong_to_the_venue_mentioned_last() -> None:
    (name, address) = found("Wexcombe is on Weir Street .", "restaurant")
    assert (name.domain, address.domain, address.value) == ("hotel", "hotel", "weir street")
    first, second = dialogue(
        "How about Noodle Heaven City Centre ?", "It is on Weir Street .", active=["restaurant"]
    )
    assert first.mentions[0].value == "noodle heaven city centre"
    (address,) = second.mentions
    assert (address.value, address.venues) == ("Weir Street City Centre", ("3",))
    assert address.sure


def test_short_names_match_the_venue_in_the_state_or_a_previous_turn() -> None:
    (mention,) = found("Noodle Heaven is nice", "restaurant")
    assert (set(mention.venues), mention.sure) == ({"2", "3"}, False)
    for name, venue in (("noodle heaven mill end", "2"), ("noodle heaven city centre", "3")):
        state = {"restaurant": {"name": name}}
        (mention,) = found("Noodle Heaven is nice", "restaurant", state=state)
        assert (mention.value, mention.venues, mention.sure) == (name, (venue,), True)
        _, later = dialogue(f"I found {name} .", "I booked Noodle Heaven .")
        assert [m.value for m in later.mentions] == [name]


def test_common_words_are_names_only_if_capitalized_or_in_the_state() -> None:
    assert found("that is the place you asked for", "attraction") == []
    wanted = {"attraction": {"name": "the place"}}
    for response, state in (
        ("I love The Place !", {}),
        ("I love the Place !", {}),
        ("i love the place", wanted),
    ):
        assert [m.value for m in found(response, "attraction", state=state)] == ["the place"]
    # A capitalized article is part of the name.
    texts = [m.text for m in found("The Copper Spoon or the Copper Spoon")]
    assert texts == ["The Copper Spoon", "Copper Spoon"]


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
def test_mention_spans_are_exact_and_other_text_is_unchanged(
    response: str, state: State, active: tuple[str, ...]
) -> None:
    (delexicalized,) = dialogue(response, state=state, active=active)
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
    # Placeholders are not recognized as values.
    (twice,) = dialogue(delexicalized.response, active=active)
    assert all("[" not in mention.text for mention in twice.mentions)


@given(st.text(st.sampled_from("bdfghkqvxyz ,.!?'[]\n"), max_size=80))
def test_text_without_values_is_unchanged(response: str) -> None:
    assert dialogue(response) == [Delexicalized(response, ())]


UNITS = ("a", "[", "[a", "0", "0 ", "the copper ", "**a", "[a](", "| a ", "\n- ")
MORE_UNITS = (
    *("_a_ ", "<b", "&amp", "\n| a |", "`", "***", "\\"),
    *("0-", "the ", "noodle heaven ", "' s", "tr ", "A", "cb ", "14 weir ", "14 ", "£", "one "),
    *("reference number is ", "Xyz ", "quite a ", "İ", "unit 4 , ", "City Centre , ", "wexcom "),
    *("restaurant nine ", "1,000", "12:", "12.", "ref#"),
)


@pytest.mark.parametrize(
    "units", [UNITS, pytest.param(MORE_UNITS, marks=pytest.mark.integration)], ids=["few", "more"]
)
def test_recognition_cost_is_linear_in_response_length(units: Sequence[str]) -> None:
    def work(unit: str, size: int) -> int:
        text = unit * (size // len(unit))
        return calls(lambda: dialogue(text, active=["restaurant"]))

    # With ten times the text, a quadratic step would take a hundred times the work. The first
    # calls fill the caches.
    for unit in units:
        work(unit, 500)
    failed = [unit for unit in units if 12 * work(unit, 1_000) < work(unit, 10_000)]
    assert not failed


def test_pickled_and_threaded_delexicalizers_find_sample_names() -> None:
    tables = sample_tables()
    rows = [(domain, row) for domain in VENUES for row in tables[domain]]
    responses = [f"You could go to {row['name']} ." for _, row in rows]
    states: list[State] = [{}] * len(rows)
    active = [(domain,) for domain, _ in rows]
    fresh, other = Delexicalizer(tables), Delexicalizer(tables)
    expected = fresh.dialogue(responses, states, active)
    for (_, row), turn in zip(rows, expected, strict=True):
        assert [(m.slot, m.value) for m in turn.mentions] == [("name", row["name"])]
        assert row["id"] in turn.mentions[0].venues
    copy = pickle.loads(pickle.dumps(fresh))
    assert copy.dialogue(responses, states, active) == expected
    with ThreadPoolExecutor(8) as pool:
        results = pool.map(lambda _: other.dialogue(responses, states, active), range(16))
        assert all(result == expected for result in results)


# Spellings of values

LATE = {
    **{"trainID": "TR5678", "leaveAt": "12:07", "arriveBy": "24:08", "departure": "cambridge"},
    **{"destination": "pellingford", "day": "thursday", "price": "23.60 pounds"},
    "duration": "88 minutes",
}
AMENITIES = {"internet": "yes", "parking": "no", "price": {"single": "50", "double": "70"}}
HOTELS = [
    {**TABLES["hotel"][0], **AMENITIES, "area": area, "pricerange": price, "stars": n, "id": n}
    for area, price, n in (
        ("north", "cheap", "4"),
        ("centre", "moderate", "0"),
        ("south", "expensive", "3"),
    )
]


def mentions_in(response: str, active: str) -> list[Mention]:
    return found(response, active, town="rooms")


@tabled
def test_spellings_are_read_as_the_expected_values(
    slot: str, values: list[str | None], active: str, response: str
) -> None:
    assert [
        mention.value for mention in mentions_in(response, active) if mention.slot == slot
    ] == values


@tabled
def test_values_that_describe_no_venue_have_no_domain(
    slot: str, active: str, response: str
) -> None:
    assert [(m.slot, m.domain) for m in mentions_in(response, active)] == [(slot, None)]


@tabled
def test_unknown_cuisines_are_recognized_by_form(response: str, cuisine: str | None) -> None:
    found = [
        m.text for m in mentions_in(response, "restaurant") if m.slot == "food" and not m.written
    ]
    assert found == ([cuisine] if cuisine else [])


@tabled
def test_room_prices_are_recognized_by_adjacent_words(response: str, is_room: bool) -> None:
    prices = [m.domain for m in mentions_in(response, "hotel") if m.slot == "price"]
    assert set(prices) == ({"hotel"} if is_room else {None})


@pytest.mark.parametrize(
    ("response", "domain", "domains"),
    [
        # A family ticket is no room, and vegetarian dishes are no cuisine.
        ("A family ticket is £4.", "attraction", ["attraction"]),
        ("It has vegetarian dishes.", "restaurant", [None]),
        ("It has vegetarian cuisine.", "restaurant", ["restaurant"]),
    ],
)
def test_domain_of_a_value_depends_on_its_wording(
    response: str, domain: str, domains: list[str | None]
) -> None:
    assert [m.domain for m in mentions_in(response, domain)] == domains


def test_dash_ends_a_venue_name() -> None:
    response = f"{HOTELS[0]['name'].title()} – Hotel, 4 stars"
    assert [m.slot for m in mentions_in(response, "hotel")] == ["name", "type", "stars"]


@pytest.mark.parametrize(
    "response",
    ["It has free internet.", "There is no parking.", "There is no entrance fee.", "No stars"],
)
def test_claims_without_a_written_value_are_not_delexicalized(response: str) -> None:
    (turn,) = dialogue(response, active=("hotel", "attraction"), town="rooms")
    assert turn.response == response
    assert [mention.written for mention in turn.mentions] == [False]


def test_phone_numbers_with_brackets_are_replaced_completely() -> None:
    response = "Call (01632) 960594 or +44 1632 960594."
    (turn,) = dialogue(response, active=["hotel"], town="rooms")
    assert turn.response == "Call [hotel_phone] or [hotel_phone]."


@tabled
def test_statements_about_parking_are_recognized(text: str, answer: str | None) -> None:
    words = Tokens(text).words
    at = words.index("parking")
    amenity = has_amenity(words, at, at + 1)
    assert (amenity[1] if amenity else None) == answer


def test_amenity_statements_include_the_answer_after_the_colon() -> None:
    words = ["parking", ":", "yes", ",", "wifi", ":", "no"]
    assert has_amenity(words, 0, 1) == (3, "yes")
    assert has_amenity(words, 4, 5) == (7, "no")


# Times and places of trains

TAGS = {
    "{D}": ("departure", "Pellingford"),
    "{T}": ("destination", "Quarrow End"),
    "{L}": ("leaveat", "09:01"),
    "{A}": ("arriveby", "17:15"),
    "{M}": ("leaveat", "10:01"),
    "{B}": ("arriveby", "18:15"),
}
ENDS = {slot for slot, _ in TAGS.values()}


def ends(response: str) -> list[Mention]:
    return [mention for mention in found(response, "train", town="trains") if mention.slot in ENDS]


@tabled
def test_stations_and_times_of_journeys_are_recognized(template: str) -> None:
    tags = re.findall(r"\{.\}", template)
    response = re.sub(r"\{.\}", lambda tag: TAGS[tag[0]][1], template)
    expected = [TAGS[tag] for tag in tags]
    assert [(mention.slot, mention.text) for mention in ends(response)] == expected


@tabled
def test_the_town_is_a_station_in_descriptions_of_journeys(said: str) -> None:
    response = f"| From | To |\n|--|--|\n{said}" if said[0] == "|" else said
    stations = {m.slot: m.value for m in ends(response) if m.slot in ("departure", "destination")}
    assert stations == {"departure": "quarrow end", "destination": "cambridge"}


@pytest.mark.parametrize(
    ("said", "sure"),
    [
        *(("TR1234 at 09:01", False), ("TR1234 leaves at 09:01", True)),
        *(("It arrives at 17:15 if you take TR1234 at 09:01", False), ("due at 17:15", True)),
    ],
)
def test_times_without_a_verb_are_uncertain(said: str, sure: bool) -> None:
    assert ends(said)[-1].sure is sure


@tabled
def test_unknown_stations_are_recognized(said: str, slot: str | None) -> None:
    unknown = [m for m in ends(said) if m.value is None]
    assert [m.slot for m in unknown] == ([slot] if slot else [])
    assert not any(m.written for m in unknown)


# An address is a single mention, even if it is incomplete

ADDRESSES: Tables = {
    "restaurant": rows_of(
        "id name address",
        "1 | the copper spoon | 14 Weir Street City Centre",
        "2 | noodle heaven | 8 - 10 King's Parade Marsham",
        "3 | soup and salt | Weir Street City Centre",
        "4 | otter grill | The Old Tannery 2G Otter Road Marsham Marsham",
    ),
    "hotel": rows_of("id name address", "1 | wexcombe guest house | 40517 weir street"),
    "attraction": rows_of(
        "id name address type",
        "1 | the candle works | unit su4, candle arcade, saint anne's passage | park",
        "2 | wexcombe country park | wexcombe country park, wexcombe | park",
        "3 | marsh pools | pool way, off otter road | park",
    ),
    "train": [],
}


def after_name(name: str, words: str, domain: str = "restaurant") -> list[Mention]:
    """Return the mentions in a text after the name of a venue."""
    return found(f"{name.title()} is at {words} .", domain, town="addresses")[1:]


@tabled
def test_complete_and_partial_addresses_match_their_venue(name: str, said: str) -> None:
    for words in (said, said.lower()):
        (mention,) = after_name(name, words)
        (row,) = (row for row in ADDRESSES["restaurant"] if row["name"] == name)
        text = words.removeprefix("the ")
        assert (mention.slot, mention.text, mention.value) == ("address", text, row["address"])
        assert row["id"] in mention.venues


def test_addresses_may_add_a_district_missing_from_the_database() -> None:
    (mention,) = after_name("wexcombe guest house", "40517 Weir Street, Marsham", "hotel")
    assert (mention.text, mention.value) == ("40517 Weir Street, Marsham", "40517 weir street")


@tabled
def test_unknown_addresses_are_recognized_as_one_mention(said: str) -> None:
    (mention,) = after_name("the copper spoon", said)
    assert (mention.slot, mention.text) == ("address", said)
    assert (mention.domain, mention.value, mention.venues) == ("restaurant", None, ())


def test_misspelt_streets_match_only_with_the_correct_number() -> None:
    (known,) = after_name("otter grill", "2G Ottter Road")
    assert (known.value, known.sure) == (ADDRESSES["restaurant"][3]["address"], False)
    (wrong,) = after_name("otter grill", "3G Ottter Road")
    assert wrong.value is None


@tabled
def test_text_next_to_an_address_is_not_part_of_it(said: str, texts: list[str]) -> None:
    assert [mention.text for mention in after_name("the copper spoon", said)] == texts


def test_name_is_part_of_an_address_only_after_its_first_mention() -> None:
    park = "wexcombe country park"
    (first, *_) = found(f"Try {park}, wexcombe.", "attraction", town="addresses")
    assert (first.slot, first.text) == ("name", park)
    (mention,) = after_name(park, f"{park}, wexcombe", "attraction")
    assert (mention.slot, mention.value) == ("address", f"{park}, wexcombe")


@tabled
def test_landmarks_are_neither_names_nor_addresses(said: str, landmarks: list[str]) -> None:
    mentions = after_name("the copper spoon", f"a place {said}")
    assert [m.text for m in mentions if m.slot == "landmark"] == landmarks
    (turn,) = dialogue(f"It is {said}", active=["restaurant"], town="addresses")
    assert all(landmark in turn.response for landmark in landmarks)


def test_town_name_matches_all_of_its_stations() -> None:
    for said, trains in (
        ("London", {"TR0", "TR1"}),
        ("London Liverpool", {"TR1"}),
        ("Liverpool St", {"TR1"}),
    ):
        mentions = found(f"It leaves from {said} .", "train", town="stations")
        assert [(m.slot, set(m.venues)) for m in mentions] == [("departure", trains)]


def test_each_part_of_an_address_has_its_own_placeholder() -> None:
    text = "The Candle Works is at unit su4 , candle arcade , saint anne 's passage ."
    (turn,) = dialogue(text, active=["attraction"], town="addresses")
    address = "[attraction_address]"
    assert turn.response == f"[attraction_name] is at {address} , {address} , {address} ."


def spellings(address: str) -> set[str]:
    plain = address.rstrip(", ")
    without = re.sub(r"\s*,\s*", " ", plain)
    return {form for words in (plain, without) for form in (words, words.lower(), words.title())}


@pytest.mark.parametrize(
    "database",
    [
        lambda: ROOT / "data" / "sample" / "db",
        pytest.param(lambda: shared("data", "multiwoz", "db"), marks=pytest.mark.integration),
    ],
    ids=["sample", "real"],
)
def test_database_addresses_match_only_their_venues(database: Callable[[], Path]) -> None:
    tables = read_tables(database())
    whole = Delexicalizer(tables)

    def addresses(domain: str, name: str, address: str) -> Iterator[tuple[str, list[Mention]]]:
        for form in spellings(address):
            text = f"{name} : the address is {form} ."
            (turn,) = whole.dialogue([text], [{}], [(domain,)])
            yield form, [m for m in turn.mentions if m.start >= text.index(" : ")]

    for domain in VENUES:
        for row in filter(lambda row: row.get("address"), tables[domain]):
            address: str = row["address"]
            for form, mentions in addresses(domain, row["name"], address):
                text = form if form[0] == "T" else form.removeprefix("the ")
                assert [(m.slot, m.text) for m in mentions] == [("address", text)], form
                assert row["id"] in mentions[0].venues, form
            for number in re.finditer(r"\d+", address):
                other = f"{int(number[0]) + 1000}".join(
                    [address[: number.start()], address[number.end() :]]
                )
                for form, mentions in addresses(domain, row["name"], other):
                    assert {m.slot for m in mentions} == {"address"}, form
                    assert all(row["id"] not in m.venues for m in mentions), form


TOWNS: dict[str, Tables] = {
    "small": TABLES,
    "rooms": {**TABLES, "train": [*TABLES["train"], LATE], "hotel": HOTELS},
    "trains": {
        **{domain: [] for domain in VENUES},
        "train": rows_of(
            "trainID leaveAt arriveBy day departure destination price duration",
            "TR1234 | 09:01 | 17:15 | monday | pellingford | quarrow end | 10.10 pounds"
            " | 51 minutes",
            "TR5678 | 10:01 | 18:15 | monday | quarrow end | cambridge | 10.10 pounds | 51 minutes",
        ),
    },
    "addresses": ADDRESSES,
    "stations": {
        **ADDRESSES,
        "train": rows_of(
            "trainID departure destination",
            "TR0 | london kings cross | cambridge",
            "TR1 | london liverpool street | cambridge",
            "TR2 | ely | cambridge",
        ),
    },
}
