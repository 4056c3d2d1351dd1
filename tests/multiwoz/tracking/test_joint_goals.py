"""Conventions of state tracking: hand cases of each choice, properties, and corpora."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.corpus import corpus_root, load_fold
from mwzeval.multiwoz.predictions import Turn
from mwzeval.multiwoz.schema import FIVE_DOMAINS
from mwzeval.multiwoz.tracking import (
    CHOICES,
    PRESETS,
    Convention,
    JointGoals,
    parse_rules,
    slots_of,
    trade_labels,
)
from tests.multiwoz import worlds
from tests.places import ROOT, read_json, write_json

Slots = Mapping[str, Mapping[str, Sequence[str]]]


def gold_of(turns: Sequence[Slots]) -> GoldDialogue:
    """Return a dialogue with these annotated values."""
    texts = ("",) * len(turns)
    return GoldDialogue(
        goal={},
        booked=(frozenset(),) * len(turns),
        references=texts,
        tokenized_references=texts,
        user_utterances=texts,
        states=({},) * len(turns),
        alternatives=tuple({d: dict(slots) for d, slots in turn.items()} for turn in turns),
        system_utterances=texts,
    )


def row_of(rule: str, predicted: Sequence[Any], gold: Sequence[Slots]) -> dict[str, float]:
    """Return the counts under a rule; their names omit the rule."""
    (convention,) = parse_rules(rule)[1]
    goals = JointGoals(convention, "2021")
    turns = [Turn(None, state, None) for state in predicted]
    row = goals.row(goals.states("x", gold_of(gold), turns))
    return {name.removeprefix(f"{goals.prefix}."): number for name, number in row.items()}


def slots_in(text: str) -> dict[str, dict[str, str]]:
    """Parse `domain-slot=value; …`."""
    state: dict[str, dict[str, str]] = {}
    for part in filter(None, text.split("; ")):
        domain, slot, value = re.split("[-=]", part, maxsplit=2)
        state.setdefault(domain, {})[slot] = value
    return state


def gold_in(text: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Parse `domain-slot=value|value; …` with alternative values."""
    return {
        domain: {slot: tuple(value.split("|")) for slot, value in slots.items()}
        for domain, slots in slots_in(text).items()
    }


EVERY = " ".join(PRESETS)
CONSISTENT = [name for name in PRESETS if name != "trade-script"]
"""`trade-script` normalises the two sides differently, so a state may not match itself."""
BY_HAND = [
    # id, predicted, gold, rules; rules with ! do not accept the prediction
    ("booking slots are equal with and without the prefix book",
     "hotel-day=monday; hotel-book stay=2; hotel-bookpeople=3",
     "hotel-bookday=monday; hotel-bookstay=2; hotel-bookpeople=3", EVERY),
    ("train slots are equal with and without the prefix book and in all spellings",
     "train-day=monday; train-people=1; train-arrive by=09:00; train-leaveAt=08:00",
     "train-day=monday; train-bookpeople=1; train-arriveBy=09:00; train-leaveat=08:00", EVERY),
    ("case and blanks are ignored",
     "restaurant-food= Modern  European ", "restaurant-food=modern european", EVERY),
    ("empty and not mentioned slots are unfilled",
     "restaurant-food=; restaurant-area=not mentioned", "taxi-leave=not mentioned", EVERY),
    ("exact values are normalised, literal values are not",
     "hotel-type=guest house; train-leave=5:15 pm", "hotel-type=guesthouse; train-leave=17:15",
     "exact !mwz22 !trade exact+values=fuzzy95"),
    ("fuzzy values may lack a part",
     "hotel-name=cambridge belfry", "hotel-name=the cambridge belfry",
     "exact+values=fuzzy95 !exact"),
    ("all spellings of dontcare are equal", "hotel-area=do n't care", "hotel-area=dontcare", EVERY),
    ("dontcare is a value unless the rule treats it as absent",
     "", "hotel-area=dontcare", "!exact exact+dontcare=absent !trade !mwz22"),
    ("none may be no value", "hotel-area=none", "", "exact !exact+none=value trade mwz22"),
    ("an annotated none is missing if none is a value",
     "", "hotel-area=none", "exact !exact+none=value"),
    ("any alternative is right, or only the first",
     "hotel-area=north", "hotel-area=centre|north",
     "exact !exact+alternatives=first mwz22 !trade"),
    ("an alternative may be an omitted slot",
     "", "hotel-area=none|north", "exact !exact+none=value exact+alternatives=first"),
    ("the first alternative may be ignored",
     "hotel-area=north", "hotel-area=none|north", "exact !exact+alternatives=first"),
    ("bookings may be excluded",
     "hotel-day=monday; hotel-area=north", "hotel-bookday=friday; hotel-area=north",
     "!exact exact+booking=out trade+booking=out"),
    ("other domains may be excluded",
     "hospital-department=x; bus-day=monday", "", "!exact exact+slots=30 trade !mwz22"),
    ("unknown slots may be excluded",
     "taxi-area=north; boat-size=big", "", "!exact exact+slots=30"),
    ("labels are corrected on both sides",
     "hotel-type=guesthouse; hotel-area=center; hotel-internet=free",
     "hotel-type=guest house; hotel-area=cen; hotel-internet=yes", "trade !mwz22"),
    ("a corrected label may equal the prediction",
     "hotel-type=guest house", "hotel-type=guesthouse", "trade trade-script !trade-raw"),
    ("only annotated labels may be corrected",
     "hotel-type=guesthouse", "hotel-type=guesthouse", "trade !trade-script"),
    ("an invalid label becomes none, which trade-script counts as a slot",
     "hotel-area=none", "hotel-area=moderate", "trade !trade-script trade-script+none=absent"),
    ("a predicted none is no slot",
     "hotel-area=none", "", "trade-raw trade-script exact+none=annotated"),
    ("labels of another slot are removed",
     "", "hotel-area=moderate; hotel-type=centre; attraction-type=m", "trade !exact"),
    ("the correction of a label depends on its slot",
     "hotel-area=north", "hotel-area=no; hotel-bookday=no", "trade !exact"),
    ("any is dontcare if labels are corrected",
     "hotel-area=any", "hotel-area=dontcare", "trade !exact trade+dontcare=absent"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("predicted", "gold", "rules"), [pytest.param(*case[1:], id=case[0]) for case in BY_HAND]
)
def test_each_choice_matches_the_expected_values(predicted: str, gold: str, rules: str) -> None:
    for rule in rules.split():
        row = row_of(rule.removeprefix("!"), [slots_in(predicted)], [gold_in(gold)])
        assert bool(row["joint"]) is not rule.startswith("!"), rule


def test_the_trade_rule_has_thirty_slots_in_five_domains() -> None:
    slots = slots_of(Convention.of("trade"))
    assert tuple(slots) == FIVE_DOMAINS
    assert {domain: len(names) for domain, names in slots.items()} == {
        **{"restaurant": 7, "hotel": 10, "attraction": 3, "train": 6, "taxi": 4}
    }
    without = slots_of(Convention.of("trade", {"booking": "out"}))
    assert sum(map(len, without.values())) == 23


def test_label_corrections_are_not_chained_and_use_known_slots() -> None:
    by_slot = dict(trade_labels())
    anywhere = by_slot.pop("*")
    assert not anywhere.keys() & set(anywhere.values())
    slots = {f"{d}-{s}" for d, names in slots_of(Convention.of("trade")).items() for s in names}
    assert by_slot.keys() < slots
    for labels in by_slot.values():
        assert not labels.keys() & (anywhere.keys() | set(labels.values()))


def test_the_later_of_two_names_of_a_slot_sets_its_value() -> None:
    states = ["hotel-day=monday; hotel-bookday=friday", "hotel-bookday=friday; hotel-day=monday"]
    gold = ["hotel-bookday=friday", "hotel-bookday=monday"]
    assert row_of("exact", [*map(slots_in, states)], [*map(gold_in, gold)])["joint"] == 2


def test_turns_without_predictions_are_not_counted() -> None:
    gold = [gold_in("hotel-area=north")] * 2
    assert row_of("exact", [slots_in("hotel-area=north")], gold)["turns"] == 1


CHANGES = {
    choice: st.sampled_from(sorted({*values} - {"trade-labels"}))
    for choice, values in CHOICES.items()
    if choice != "none"
}
conventions = st.builds(
    Convention.of, st.sampled_from(CONSISTENT), st.fixed_dictionaries({}, optional=CHANGES)
)
texts = st.sampled_from(
    [
        *("dontcare", "do n't care", "none", "not mentioned", "any", "art", "centre", "center"),
        *("the cambridge belfry", "cambridge belfry", "guesthouse", "guest house", "moderate"),
        *("5:15 pm", "17:15", "no", "4", "free", "yes", " Monday"),
    ]
)
predicted_states = worlds.conversations(texts)
DOMAINS = st.sampled_from(["hotel", "restaurant", "train", "taxi", "hospital"])
SLOTS = st.sampled_from(["area", "name", "type", "bookday", "leaveat", "internet", "bookstay"])
gold_slots = st.dictionaries(SLOTS, st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=3)
gold_states = st.lists(st.dictionaries(DOMAINS, gold_slots, max_size=3), min_size=7, max_size=7)


@pytest.mark.parametrize(
    ("choice", "strict", "lax"), [("alternatives", "first", "any"), ("values", "exact", "fuzzy95")]
)
@given(convention=conventions, predicted=predicted_states, gold=gold_states)
def test_lenient_choices_never_lower_the_counts_of_correct_values(
    choice: str, strict: str, lax: str, convention: Convention, predicted: Any, gold: Any
) -> None:
    few, many = (
        row_of(
            Convention.of(convention.preset, {**dict(convention.choices), choice: chosen}).name,
            predicted,
            gold,
        )
        for chosen in (strict, lax)
    )
    for count in ("joint", "correct"):
        assert few.get(count, 0) <= many.get(count, 0)


@given(conventions, gold_states)
def test_the_first_gold_values_are_scored_as_correct(convention: Convention, gold: Any) -> None:
    predicted = [
        {d: {slot: values[0] for slot, values in slots.items()} for d, slots in turn.items()}
        for turn in gold
    ]
    row = row_of(convention.name, predicted, gold)
    assert row["joint"] == row["turns"] == len(gold)
    assert not {"missing", "spurious", "wrong"} & {name for name, number in row.items() if number}


PLACES = {
    "multiwoz-2.0": "MultiWOZ_2.0",
    "multiwoz-2.1": "MultiWOZ_2.1",
    "multiwoz-2.3": "MultiWOZ2_3",
    "multiwoz-2.4": "MULTIWOZ2.4",
}


@pytest.mark.parametrize(("corpus", "place"), PLACES.items())
def test_all_gold_values_in_data_json_corpora_are_read(
    corpus: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    area: Any = ["centre", "north"] if corpus == "multiwoz-2.4" else "centre|north"
    metadata = {
        "hotel": {
            "book": {"booked": [], "day": "monday", "stay": ""},
            "semi": {"area": area, "type": "dontcare", "name": "none", "stars": ""},
        },
        "restaurant": {"book": {}, "semi": {"food": "thai>chinese", "area": "not mentioned"}},
        "attraction": {"book": {}, "semi": {"type": "not mentioned|museum"}},
    }
    log = [{"text": "hello", "metadata": {}}, {"text": "hello", "metadata": metadata}]
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "root"
    shutil.copytree(ROOT / "data" / "sample" / "db", root / "db")
    (root / "data" / place).mkdir(parents=True)
    write_json(root / "data" / place / "test.json", {"MUL0001.json": {"goal": {}, "log": log}})
    fold = load_fold(corpus, "test", corpus_root(corpus, root, offline=True))
    dialogue = fold.dialogues["mul0001"]
    # The states for Inform, Success and fuzzy95.
    hotel = {"area": "centre", "type": "dontcare", "bookday": "monday"}
    assert dialogue.states == ({"hotel": hotel, "restaurant": {"food": "thai"}},)
    (found,) = dialogue.slot_values()
    several = {"area": ("centre", "north"), "name": ("none",)}
    assert {d: {s: tuple(values) for s, values in slots.items()} for d, slots in found.items()} == {
        "hotel": {**{slot: (value,) for slot, value in hotel.items()}, **several},
        "restaurant": {"food": ("thai", "chinese")},
        "attraction": {"type": ("museum",)},
    }


def test_all_gold_values_in_multiwoz_22_annotations_are_read() -> None:
    folder = ROOT / "data" / "sample"
    gold = load_fold("sample", "test", corpus_root("sample", folder, offline=True)).dialogues
    raw = read_json(folder / "data" / "MultiWOZ_2.2" / "test" / "dialogues_001.json")
    for dialogue in raw:
        annotated = gold[dialogue["dialogue_id"].split(".")[0].lower()]
        for user, found in zip(dialogue["turns"][::2], annotated.slot_values(), strict=True):
            expected = {
                name: values
                for frame in user["frames"]
                for name, values in frame["state"]["slot_values"].items()
            }
            assert expected == {
                f"{domain}-{slot}": list(values)
                for domain, slots in found.items()
                for slot, values in slots.items()
            }
