"""States under conventions: each choice by hand, properties that must hold, and corpora."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.corpus import corpus_root, load_fold
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.schema import FIVE_DOMAINS
from mwzeval.multiwoz.tracking.joint_goals import JointGoals
from mwzeval.multiwoz.tracking.states import (
    CHOICES,
    PRESETS,
    Convention,
    parse_rules,
    slots_of,
    trade_labels,
)
from tests.multiwoz import worlds
from tests.places import ROOT, read_json

Slots = Mapping[str, Mapping[str, Sequence[str]]]


def gold_of(turns: Sequence[Slots]) -> GoldDialogue:
    """A dialogue with these values annotated: the first in the state, unless it is no value."""
    several = tuple({d: dict(slots) for d, slots in turn.items()} for turn in turns)
    return GoldDialogue(
        goal={},
        booked=tuple(frozenset[str]() for _ in turns),
        references=("",) * len(turns),
        tokenized_references=("",) * len(turns),
        user_utterances=("",) * len(turns),
        states=tuple({} for _ in turns),
        alternatives=several,
        system_utterances=("",) * len(turns),
    )


def row_of(rule: str, predicted: Sequence[Any], gold: Sequence[Slots]) -> dict[str, float]:
    """The counts under a rule, by their names without the rule's."""
    (convention,) = parse_rules(rule)[1]
    goals = JointGoals(convention, "2021")
    turns = [Turn(None, state, None) for state in predicted]
    row = goals.row(goals.states("x", gold_of(gold), turns))
    return {name.removeprefix(f"{goals.prefix}."): number for name, number in row.items()}


def is_joint(rule: str, predicted: Any, gold: Slots) -> bool:
    return bool(row_of(rule, [predicted], [gold])["joint"])


def one(domain: str, slot: str, *values: str) -> Slots:
    return {domain: {slot: values}}


EVERY = dict.fromkeys(PRESETS, True)
CONSISTENT = [name for name in PRESETS if name != "trade-script"]
"""`trade-script` reads the two sides differently, so that a state is not right of itself."""
NO_FUZZ = {"exact+values=fuzzy95": True, "exact": False}
BY_HAND: dict[str, tuple[Any, Slots, dict[str, bool]]] = {
    "booking slots are called so with and without book": (
        {"hotel": {"day": "monday", "book stay": "2", "bookpeople": "3"}},
        {"hotel": {"bookday": ("monday",), "bookstay": ("2",), "bookpeople": ("3",)}},
        EVERY,
    ),
    "slots of search and booking may have the same name in another domain": (
        {"train": {"day": "monday", "people": "1", "arrive by": "09:00", "leaveAt": "08:00"}},
        {
            "train": {"day": ("monday",), "bookpeople": ("1",), "arriveBy": ("09:00",),
                      "leaveat": ("08:00",)}
        },
        EVERY,
    ),
    "case and blanks say nothing": (
        {"restaurant": {"food": " Modern  European "}},
        one("restaurant", "food", "modern european"),
        EVERY,
    ),
    "an empty slot is not filled, in whichever words": (
        {"restaurant": {"food": "", "area": "not mentioned"}, "hotel": {}},
        one("taxi", "leave", "not mentioned"),
        EVERY,
    ),
    "exact values are normalised, literal ones are not": (
        {"hotel": {"type": "guest house"}, "train": {"leave": "5:15 pm"}},
        {"hotel": {"type": ("guesthouse",)}, "train": {"leave": ("17:15",)}},
        {"exact": True, "mwz22": False, "trade": False, "exact+values=fuzzy95": True},
    ),
    "fuzzy values may lack a part": (
        {"hotel": {"name": "cambridge belfry"}},
        one("hotel", "name", "the cambridge belfry"),
        NO_FUZZ,
    ),
    "spellings of dontcare are one": (
        {"hotel": {"area": "do n't care"}},
        one("hotel", "area", "dontcare"),
        EVERY,
    ),
    "dontcare is a value": (
        {},
        one("hotel", "area", "dontcare"),
        {"exact": False, "exact+dontcare=absent": True, "trade": False, "mwz22": False},
    ),
    "none is no value": (
        {"hotel": {"area": "none"}},
        {},
        {"exact": True, "exact+none=value": False, "trade": True, "mwz22": True},
    ),
    "none annotated is missed where it is a value": (
        {},
        one("hotel", "area", "none"),
        {"exact": True, "exact+none=value": False},
    ),
    "of alternatives any is right, or the first": (
        {"hotel": {"area": "north"}},
        one("hotel", "area", "centre", "north"),
        {"exact": True, "exact+alternatives=first": False, "mwz22": True, "trade": False},
    ),
    "an alternative may be to leave the slot out": (
        {},
        one("hotel", "area", "none", "north"),
        {"exact": True, "exact+none=value": False, "exact+alternatives=first": True},
    ),
    "the first alternative may be one that is left out": (
        {"hotel": {"area": "north"}},
        one("hotel", "area", "none", "north"),
        {"exact": True, "exact+alternatives=first": False},
    ),
    "bookings may be left out": (
        {"hotel": {"day": "monday", "area": "north"}},
        {"hotel": {"bookday": ("friday",), "area": ("north",)}},
        {"exact": False, "exact+booking=out": True, "trade+booking=out": True},
    ),
    "other domains may be left out": (
        {"hospital": {"department": "x"}, "bus": {"day": "monday"}},
        {},
        {"exact": False, "exact+slots=30": True, "trade": True, "mwz22": False},
    ),
    "slots that there are none of may be left out": (
        {"taxi": {"area": "north"}, "boat": {"size": "big"}},
        {},
        {"exact": False, "exact+slots=30": True},
    ),
    "labels are corrected on both sides": (
        {"hotel": {"type": "guesthouse", "area": "center", "internet": "free"}},
        {"hotel": {"type": ("guest house",), "area": ("cen",), "internet": ("yes",)}},
        {"trade": True, "mwz22": False},
    ),
    "a label may be corrected into what is predicted": (
        {"hotel": {"type": "guest house"}},
        one("hotel", "type", "guesthouse"),
        {"trade": True, "trade-script": True, "trade-raw": False},
    ),
    "a label that cannot be used stays a label that nothing can be": (
        {"hotel": {"area": "none"}},
        one("hotel", "area", "moderate"),
        {"trade": True, "trade-script": False, "trade-script+none=absent": True},
    ),
    "none that is predicted is no slot": (
        {"hotel": {"area": "none"}},
        {},
        {"trade-raw": True, "trade-script": True, "exact+none=annotated": True},
    ),
    "labels of another slot are taken away": (
        {},
        {"hotel": {"area": ("moderate",), "type": ("centre",)}, "attraction": {"type": ("m",)}},
        {"trade": True, "exact": False},
    ),
    "the same label is mended by slot": (
        {"hotel": {"area": "north"}},
        {"hotel": {"area": ("no",), "bookday": ("no",)}},
        {"trade": True, "exact": False},
    ),
    "any is dontcare where labels are corrected": (
        {"hotel": {"area": "any"}},
        one("hotel", "area", "dontcare"),
        {"trade": True, "exact": False, "trade+dontcare=absent": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "predicted", "gold", "expected"),
    [
        pytest.param(rule, predicted, gold, expected, id=f"{what} ({rule})")
        for what, (predicted, gold, by_rule) in BY_HAND.items()
        for rule, expected in by_rule.items()
    ],
)
def test_each_choice_by_hand(rule: str, predicted: Any, gold: Slots, expected: bool) -> None:
    assert is_joint(rule, predicted, gold) is expected


def test_the_thirty_slots_are_those_of_five_domains() -> None:
    slots = slots_of(Convention.of("trade"))
    assert tuple(slots) == FIVE_DOMAINS
    assert {domain: len(of) for domain, of in slots.items()} == {
        **{"restaurant": 7, "hotel": 10, "attraction": 3, "train": 6, "taxi": 4}
    }
    without = slots_of(Convention.of("trade", {"booking": "out"}))
    assert sum(map(len, without.values())) == 23


def test_corrections_of_labels_are_final_and_of_known_slots() -> None:
    by_slot = dict(trade_labels())
    anywhere = by_slot.pop("*")
    assert not anywhere.keys() & set(anywhere.values())
    slots = {f"{d}-{s}" for d, names in slots_of(Convention.of("trade")).items() for s in names}
    assert by_slot.keys() < slots
    for labels in by_slot.values():
        assert not labels.keys() & (anywhere.keys() | set(labels.values()))


def test_of_two_names_for_one_slot_the_later_counts_in_every_turn() -> None:
    states = [
        {"hotel": {"day": "monday", "bookday": "friday"}},
        {"hotel": {"bookday": "friday", "day": "monday"}},
    ]
    gold = [one("hotel", "bookday", "friday"), one("hotel", "bookday", "monday")]
    assert row_of("exact", states, gold)["joint"] == 2


def test_turns_that_are_not_predicted_are_not_counted() -> None:
    gold = [one("hotel", "area", "north"), one("hotel", "area", "north")]
    assert row_of("exact", [{"hotel": {"area": "north"}}], gold)["turns"] == 1


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


def counts(convention: Convention, predicted: Any, gold: Sequence[Slots]) -> tuple[float, float]:
    row = row_of(convention.name, predicted, gold)
    return row["joint"], row.get("correct", 0)


@pytest.mark.parametrize(
    ("choice", "strict", "lax"), [("alternatives", "first", "any"), ("values", "exact", "fuzzy95")]
)
@given(convention=conventions, predicted=predicted_states, gold=gold_states)
def test_a_lax_choice_is_never_stricter(
    choice: str, strict: str, lax: str, convention: Convention, predicted: Any, gold: Any
) -> None:
    few, many = (
        counts(
            Convention.of(convention.preset, {**dict(convention.choices), choice: chosen}),
            predicted,
            gold,
        )
        for chosen in (strict, lax)
    )
    assert all(a <= b for a, b in zip(few, many, strict=True))


@given(conventions, gold_states)
def test_the_first_gold_values_are_all_right(convention: Convention, gold: Any) -> None:
    predicted = [
        {domain: {slot: values[0] for slot, values in of.items()} for domain, of in turn.items()}
        for turn in gold
    ]
    row = row_of(convention.name, predicted, gold)
    assert row["joint"] == row["turns"] == len(gold)
    assert not {"missing", "spurious", "wrong"} & {name for name, number in row.items() if number}


PLACES = {
    "multiwoz-2.0": "data/MultiWOZ_2.0",
    "multiwoz-2.1": "data/MultiWOZ_2.1",
    "multiwoz-2.3": "data/MultiWOZ2_3",
    "multiwoz-2.4": "data/MULTIWOZ2.4",
}
ANNOTATED = {
    "hotel": {
        "book": {"booked": [], "day": "monday", "stay": ""},
        "semi": {"area": "centre|north", "type": "dontcare", "name": "none", "stars": ""},
    },
    "restaurant": {"book": {}, "semi": {"food": "thai>chinese", "area": "not mentioned"}},
    "attraction": {"book": {}, "semi": {"type": "not mentioned|museum"}},
}


@pytest.fixture
def own_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "root"
    shutil.copytree(ROOT / "data" / "sample" / "db", root / "db")
    return root


def write_data_json(folder: Path, metadata: Any) -> None:
    log = [{"text": "hello", "metadata": {}}, {"text": "hello", "metadata": metadata}]
    folder.mkdir(parents=True)
    dialogues = {"MUL0001.json": {"goal": {}, "log": log}}
    (folder / "test.json").write_text(json.dumps(dialogues))


@pytest.mark.parametrize(("corpus", "place"), PLACES.items())
def test_all_values_of_data_json_corpora_are_kept(own_root: Path, corpus: str, place: str) -> None:
    metadata: Any = json.loads(json.dumps(ANNOTATED))
    if corpus == "multiwoz-2.4":
        metadata["hotel"]["semi"]["area"] = ["centre", "north"]
    write_data_json(own_root / place, metadata)
    fold = load_fold(corpus, "test", corpus_root(corpus, own_root, offline=True))
    dialogue = fold.dialogues["mul0001"]
    # What Inform, Success and fuzzy95 see.
    assert dialogue.states == (
        {
            "hotel": {"area": "centre", "type": "dontcare", "bookday": "monday"},
            "restaurant": {"food": "thai"},
        },
    )
    assert [
        {domain: {slot: list(of) for slot, of in slots.items()} for domain, slots in turn.items()}
        for turn in dialogue.slot_values()
    ] == [
        {
            "hotel": {
                "area": ["centre", "north"],
                "type": ["dontcare"],
                "bookday": ["monday"],
                "name": ["none"],
            },
            "restaurant": {"food": ["thai", "chinese"]},
            "attraction": {"type": ["museum"]},
        }
    ]


def test_all_values_of_22_annotations_are_kept() -> None:
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
