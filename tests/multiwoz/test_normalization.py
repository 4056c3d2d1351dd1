"""Normalisation of arbitrary slots, values, responses and active domains by the rules."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer

from mwzeval.multiwoz import RULES, Rules
from mwzeval.multiwoz.census import COUNTED
from mwzeval.multiwoz.normalization import (
    estimate_active_domains,
    normalize_slot,
    normalize_value,
)
from mwzeval.multiwoz.placeholders import (
    CANONICAL,
    PLACEHOLDERS,
    canonical_response,
    natural_spacing,
    normalize_response,
    placeholders_of,
)
from tests.examples import examples
from tests.multiwoz import specification, worlds
from tests.multiwoz.specification import State
from tests.places import GOOD

MARKERS = ("NAME", "TRAINID", "PHONE", "ADDRESS", "POST", "REFERENCE")
SLOTS = (
    *("name", "destination", "departure", "type", "food", "arrive", "leave", "arriveby", "leaveat"),
    *("time", "parking", "internet", "area", "stars", "bookday", ""),
)
rules_ = st.sampled_from(RULES)


def test_placeholder_names_equal_the_specification() -> None:
    assert PLACEHOLDERS == specification.PLACEHOLDERS


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("slot", SLOTS)
def test_aliases_and_unusual_times_are_normalized_by_the_specification(
    slot: str, rules: Rules
) -> None:
    others = ("free", "Free", "Guest House", "Pizza&Pasta", "rosa 's bed and breakfast")
    for value in (*worlds.ALIASES, *worlds.ODD_TIMES, *worlds.GARBAGE, *others):
        for spelled in (value, value.upper(), f" {value}  ", value.replace(" and ", " & ")):
            expected = specification.normal_value(slot, spelled, rules)
            assert normalize_value(slot, spelled, rules) == expected, spelled


@examples(500)
@given(
    st.sampled_from(SLOTS),
    worlds.anything(st.sampled_from(["bed and breakfast", "curry garden", "17:45"])),
    rules_,
)
def test_arbitrary_values_are_normalized_by_the_specification(
    slot: str, value: str, rules: Rules
) -> None:
    assert normalize_value(slot, value, rules) == specification.normal_value(slot, value, rules)


@given(st.one_of(st.sampled_from(["arriveBy", "Leave At", "book  day", "LEAVE"]), st.text()))
def test_slot_names_are_normalized_by_the_specification(slot: str) -> None:
    assert normalize_slot(slot) == specification.normal_slot(slot)


@examples(500)
@given(worlds.responses)
@example("[restaurant_name]s, [train_id]-es; [hotel_phone]es")
@example("[name][phone]-s-ly[train id] [train_id] &#91;name&#93;")
@example("the \x00[\x01name\x02] ... DOTMULTI")
def test_moses_normalization_preserves_response_markers(response: str) -> None:
    # Inform and Success use the response before Moses detokenization.
    before, after = canonical_response(response), normalize_response(response)
    assert [m for m in MARKERS if m in before] == [m for m in MARKERS if m in after]


@examples(400)
@given(st.one_of(worlds.responses, st.text()))
@example("[value_type]s and [type]-s and [type]es")
@example("[Price Range] [arrive by] [nonsense] here [value_name")
@example("moderate -ly hotel -s, well-served")
@example("it 's 5 , please ?")
def test_responses_are_normalized_by_the_specification(response: str) -> None:
    assert canonical_response(response) == specification.canonical_response(response)
    assert normalize_response(response) == specification.normal_response(response)


def test_placeholder_names_equal_those_in_the_text() -> None:
    """Adjacent placeholders do not form the name of another placeholder."""
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


pieces = st.sampled_from(
    [
        *("the", "no", "mr", "p.m", "A", "boys", "DOT"),
        *("MULTI", "is", "NAME", "12", "0", "é", "東"),
        *("'s", "'t", "n't", "'", "''", '"', "`", "``", "-", "--", "@-@", "&amp;", "&", "|", "<"),
        *(">", ".", "..", "...", ",", "?", "!", ":", ";", "%", "$", "(", ")", "[", "]", "{", "}"),
        *("/", " ", " ", "  ", " .", " ,", ", ", ". ", "\t", "\n", "\x00", "\u00a0", "_", "#"),
        *("*", "\\", "~"),
    ]
)
texts = st.one_of(st.lists(pieces, max_size=12).map("".join), st.text(max_size=12))


@given(texts)
def test_natural_spacing_equals_moses_detokenization(text: str) -> None:
    tokens = MosesTokenizer(lang="en").tokenize(text)
    assert natural_spacing(text) == MosesDetokenizer(lang="en").detokenize(tokens)


@pytest.mark.integration
def test_common_responses_are_scored_without_text_libraries() -> None:
    program = (
        "import sys\n"
        "from mwzeval.cli import main\n"
        f"assert main(['evaluate', '-bsr', '-i', {GOOD!r}, '-o', '/dev/null']) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stderr.decode().split())
    assert not loaded & {"sacremoses", "sacrebleu", "joblib", "tqdm", "lexical_diversity", "scipy"}


@examples(300)
@given(worlds.conversations())
def test_estimated_active_domains_equal_the_specification(states: list[State]) -> None:
    before = deepcopy(states)
    estimates = estimate_active_domains(states)
    assert [list(domains) for domains in estimates] == specification.active_domains(states)
    assert states == before


STATES: dict[str, State] = {
    "r": {"restaurant": {"food": "thai"}},
    "R": {"restaurant": {"food": "chinese"}},
    "h": {"hotel": {"area": "east"}},
    "H": {"hotel": {"area": "east", "stars": "4"}},
    "-": {"hotel": {}},
    "t": {"train": {"day": "monday"}},
}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("", ""),
        ("- - r", "- - restaurant"),  # a domain without slots is no change
        ("r r -", "restaurant restaurant restaurant"),
        ("r rh rh", "restaurant hotel hotel"),
        ("r Rh", "restaurant restaurant"),  # the current domain is kept if it changes
        ("rH", "hotel"),  # most changed slots
        ("rh rh rh", "restaurant hotel hotel"),  # of equal domains the first, then the second
        ("rht rht", "restaurant hotel"),
        ("rht rt", "restaurant train"),  # the second domain is not in the state
        ("rh r", "restaurant restaurant"),
        ("r h r", "restaurant hotel restaurant"),  # a restored value is a change
        ("H rH rh", "hotel restaurant restaurant"),  # a removed slot is no change
    ],
)
def test_active_domains_are_estimated_from_states(states: str, expected: str) -> None:
    merged = [
        {domain: slots for letter in letters for domain, slots in STATES[letter].items()}
        for letters in states.split()
    ]
    found = [" ".join(domains) or "-" for domains in estimate_active_domains(merged)]
    assert " ".join(found) == expected
