"""One spelling for slots, values and responses, whatever comes in."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.multiwoz.choices import RULES, Rules
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.placeholders import (
    CANONICAL,
    PLACEHOLDERS,
    canonical_response,
    normalize_response,
    placeholders_of,
)
from mwzeval.multiwoz.predictions.census import COUNTED
from tests.examples import examples
from tests.multiwoz import specification, worlds
from tests.places import SAMPLE_SYSTEMS, sample_predictions

MARKERS = ("NAME", "TRAINID", "PHONE", "ADDRESS", "POST", "REFERENCE")
SLOTS = (
    *("name", "destination", "departure", "type", "food", "arrive", "leave", "arriveby", "leaveat"),
    *("time", "parking", "internet", "area", "stars", "bookday", ""),
)
rules_ = st.sampled_from(RULES)


def test_placeholder_names_are_those_of_the_rules() -> None:
    assert PLACEHOLDERS == specification.PLACEHOLDERS


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("slot", SLOTS)
def test_aliases_and_odd_times_come_out_by_the_rules(slot: str, rules: Rules) -> None:
    for value in (*worlds.ALIASES, *worlds.ODD_TIMES, *worlds.GARBAGE, "free", "Free"):
        for spelled in (value, value.upper(), f" {value}  ", value.replace(" and ", " & ")):
            expected = specification.normal_value(slot, spelled, rules)
            assert normalize_value(slot, spelled, rules) == expected, spelled


@examples(500)
@given(
    st.sampled_from(SLOTS),
    worlds.anything(st.sampled_from(["bed and breakfast", "curry garden", "17:45"])),
    rules_,
)
def test_any_value_comes_out_by_the_rules_and_always_the_same(
    slot: str, value: str, rules: Rules
) -> None:
    normal = normalize_value(slot, value, rules)
    assert normal == specification.normal_value(slot, value, rules)
    assert normalize_value(slot, value, rules) == normal


@pytest.mark.parametrize(
    ("slot", "value", "expected"),
    [
        ("time", "by 10:15", "10:15"),
        ("time", "by10:15", "00:15"),
        ("leave", "after 9:00", "09:00"),
        ("arrive", "afer 14:00", "14:00"),
        ("arrive", "5:15 pm", "17:15"),
        ("arrive", "5 p.m.", "17:00"),
        ("arrive", "12 pm", "24:00"),
        ("arrive", "10 am", "10:00"),
        ("arrive", "soon pm", "soon"),
        ("arrive", "1:2:3 pm", "1:2:3"),
        ("arrive", "", "00:00"),
        ("arrive", "am", "00:00"),
        ("arrive", "1130.", "11:30"),
        ("arrive", "9", "09:00"),
        ("arrive", "9: 30", "09:30"),
        ("arrive", "one o'clock p.m. please", "13:00"),
        ("arrive", "seven o'clock tomorrow evening", "07:00"),
        ("name", " Nando's ", "nandos"),
        ("name", "Pizza&Pasta", "pizza and pasta"),
        ("name", "rosa 's", "rosas bed and breakfast"),
        ("destination", "the junction", "junction theatre"),
        ("type", "Guest House", "Guest House"),
        ("type", "guest house", "guesthouse"),
        ("food", " English ", "british"),
        ("parking", "free", "yes"),
        ("internet", "Free", "Free"),
        ("area", " Centre ", " Centre "),
    ],
)
def test_values_worth_a_line_of_their_own(slot: str, value: str, expected: str) -> None:
    assert normalize_value(slot, value, "2021") == expected


def test_the_rules_of_2023_spell_guesthouses_anew() -> None:
    for value, of_2021, of_2023 in [
        ("rosa's bed and breakfast", "rosa's bed and breakfast", "rosa's b and b"),
        ("A & B Guest House", "a and b guest house", "a and b guesthouse"),
        ("acorn guesthouse", "acorn guesthouse", "acorn guest house"),
        ("nando's", "nandos", "nandos"),
    ]:
        assert normalize_value("name", value, "2021") == of_2021
        assert normalize_value("name", value, "2023") == of_2023
        assert normalize_value("food", value, "2021") == normalize_value("food", value, "2023")


@given(st.one_of(st.sampled_from(["arriveBy", "Leave At", "book  day", "LEAVE"]), st.text()))
def test_slots_lose_case_and_blanks(slot: str) -> None:
    assert normalize_slot(slot) == specification.normal_slot(slot)


@examples(500)
@given(worlds.responses)
@example("[restaurant_name]s, [train_id]-es; [hotel_phone]es")
@example("[name][phone]-s-ly[train id] [train_id] &#91;name&#93;")
@example("the \x00[\x01name\x02] ... DOTMULTI")
def test_a_response_keeps_its_markers_through_moses(response: str) -> None:
    # Inform and Success look at the response before Moses has spaced it.
    before, after = canonical_response(response), normalize_response(response)
    assert [m for m in MARKERS if m in before] == [m for m in MARKERS if m in after]


@examples(400)
@given(st.one_of(worlds.responses, st.text()))
def test_a_response_comes_out_by_the_rules(response: str) -> None:
    assert canonical_response(response) == specification.canonical_response(response)
    assert normalize_response(response) == specification.normal_response(response)
    assert normalize_response(response) == normalize_response(response)


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_responses_of_a_system_come_out_by_the_rules(system: str) -> None:
    distinct = {t["response"] for turns in sample_predictions(system).values() for t in turns}
    for response in sorted(distinct)[::7]:
        assert normalize_response(response) == specification.normal_response(response)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("[restaurant_name] is [hotel_pricerange] .", "NAME is PRICE."),
        ("[Price Range] [arrive by]", "PRICE TIME"),
        ("[value_type]s and [type]-s and [type]es", "TYPE and TYPE and TYPE"),
        ("[nonsense] here", "here"),
        ("[value_name", "[value _ name"),
        ("moderate -ly hotel -s", "moderate hotel"),
        ("well-served", "wellerved"),
        ("it 's 5 , please ?", "it 's 5, please?"),
        ("", ""),
    ],
)
def test_responses_worth_a_line_of_their_own(response: str, expected: str) -> None:
    assert normalize_response(response) == expected


def test_names_of_placeholders_are_those_in_the_text() -> None:
    """However many stand side by side, they make no further name."""
    for three in product(CANONICAL, repeat=3):
        response = "".join(f"[{CANONICAL[name][0]}]" for name in three)
        found = placeholders_of(response)
        assert found.text == "".join(three)
        assert {name for name in COUNTED if name in found.text} == found.names & set(COUNTED)
        assert found.known == found.names == set(three)
    linked = placeholders_of("[Phone](tel:1) [phone]s(x) [name] [odd] [more](y)")
    assert linked.known == {"PHONE", "NAME"}
    alone = placeholders_of("[phone](tel:1)")
    assert (alone.names, alone.known, alone.unknown) == (frozenset({"PHONE"}), frozenset(), ())
    assert linked.unknown == ("odd",)
