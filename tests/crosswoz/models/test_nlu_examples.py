"""Labels of utterances and acts out of labels, other values, and the likeliest tags."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import Act, general
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.models.nlu import (
    Labels,
    Utterance,
    best_tags,
    class_weights,
    example_of,
    examples_of,
    is_tagged,
    lowered,
    spans,
    values_of,
    varied,
)
from tests.crosswoz.real_data import database, fold


def told(text: str) -> Utterance:
    return Utterance(text, (), "user")


def test_values_are_tagged_and_other_acts_are_classes() -> None:
    acts = (Act("Inform", "餐馆", "名称", "AB店"), Act("Request", "餐馆", "电话", ""))
    example = example_of(told("去ab店"), acts)
    kind = "Inform+餐馆+名称"
    assert example.tags == ("O", f"B-{kind}", f"I-{kind}", f"I-{kind}")
    assert example.classes == ("Request+餐馆+电话+",)
    assert Labels.of([example]).tags == ("O", f"B-{kind}", f"I-{kind}")


@pytest.mark.parametrize(
    ("text", "values", "found"),
    [
        ("故宫餐厅和故宫", ("故宫", "故宫餐厅"), {"故宫", "故宫餐厅"}),
        ("只去故宫餐厅", ("故宫", "故宫餐厅"), {"故宫餐厅"}),
        ("甲乙", ("甲", "乙"), {"甲", "乙"}),
        ("没有", ("甲",), set()),
    ],
)
def test_of_values_inside_each_other_the_longest_is_tagged(
    text: str, values: tuple[str, ...], found: set[str]
) -> None:
    example = example_of(told(text), tuple(Act("Inform", "景点", "名称", v) for v in values))
    labels = Labels.of([example])
    numbers = [labels.tags.index(tag) for tag in example.tags]
    assert {act.value for act in labels.acts(text, numbers, [])} == found


@pytest.mark.integration
def test_gold_labels_give_nearly_all_gold_acts_back() -> None:
    dialogues = list(fold("val").dialogues.values())
    examples = examples_of(dialogues)
    labels = Labels.of(examples)
    tags = {tag: number for number, tag in enumerate(labels.tags)}
    classes = {name: number for number, name in enumerate(labels.classes)}
    gold = [t.acts for d in dialogues for e in d.exchanges for t in (e.user, e.system)]
    common = all_gold = spurious = 0
    for example, acts in zip(examples, gold, strict=True):
        back = labels.acts(
            example.utterance.text,
            [tags[tag] for tag in example.tags],
            [classes[name] for name in example.classes],
        )
        wanted, found = {comparable(act) for act in acts}, {comparable(act) for act in back}
        common, all_gold = common + len(wanted & found), all_gold + len(wanted)
        spurious += len(found - wanted)
    assert common / all_gold > 0.97
    assert spurious == 0


@given(st.lists(st.integers(0, 4), max_size=8))
def test_any_tags_are_read(numbers: list[int]) -> None:
    labels = Labels(("O", "B-Inform+景点+名称", "I-Inform+景点+名称", "B-Inform+景点+评分",
                     "I-Inform+景点+评分"), ())  # fmt: skip
    text = "甲乙丙丁戊己庚辛"[: len(numbers)]
    acts = labels.acts(text, numbers, [])
    assert all(act.value and act.value in text for act in acts)
    assert bool(acts) == any(numbers)


def test_lower_case_keeps_the_length() -> None:
    assert lowered("WiFi İ") == "wifi İ"


def test_rare_classes_count_more() -> None:
    thanks = example_of(told("谢"), (general("thank"),))
    examples = [thanks, *([example_of(told("好"), ())] * 999)]
    assert class_weights(examples, Labels.of(examples)) == pytest.approx([2.99957], abs=1e-4)
    assert class_weights([thanks], Labels.of([thanks])) == [1.0]
    assert not is_tagged(general("thank"))


def draws(seed: int = 0) -> Iterator[float]:
    rng = random.Random(seed)
    while True:
        yield rng.random()


def test_values_are_replaced_with_their_tags() -> None:
    acts = (Act("Inform", "景点", "名称", "故宫"), Act("Inform", "景点", "评分", "5分"))
    example = example_of(Utterance("去故宫吧，要5分的", ("你好",), "user"), acts)
    values = {("景点", "名称"): ("天坛公园",), ("景点", "评分"): ("4.5分以上",)}
    both = varied(example, values, 1.0, draws())
    assert both.utterance == Utterance("去天坛公园吧，要4.5分以上的", ("你好",), "user")
    name, rating = "Inform+景点+名称", "Inform+景点+评分"
    assert list(spans(both.tags)) == [(1, 5, name), (8, 14, rating)]
    assert both.classes == example.classes
    assert varied(example, values, 0.0, draws()) is example


@pytest.mark.integration
def test_what_is_replaced_stands_in_its_slot_and_the_rest_stays() -> None:
    examples = examples_of(list(fold("val").dialogues.values())[:30])
    labels, values = Labels.of(examples), values_of(examples, database())
    numbers = {tag: number for number, tag in enumerate(labels.tags)}
    draw, changed = draws(), 0
    for example in examples:
        other = varied(example, values, 0.5, draw)
        text = other.utterance.text
        assert len(text) == len(other.tags)
        assert outside(example.utterance.text, example.tags) == outside(text, other.tags)
        kinds = [kind for _, _, kind in spans(other.tags)]
        assert kinds == [kind for _, _, kind in spans(example.tags)]
        for act in labels.acts(text, [numbers[tag] for tag in other.tags], []):
            assert act.value in values[act.domain, act.slot]
        changed += text != example.utterance.text
    tagged = sum(any(spans(example.tags)) for example in examples)
    assert tagged / 2 < changed <= tagged


def outside(text: str, tags: tuple[str, ...]) -> str:
    return "".join(char for char, tag in zip(text, tags, strict=True) if tag == "O")


@pytest.mark.integration
def test_open_slots_have_the_values_of_the_database_too() -> None:
    examples = examples_of(list(fold("val").dialogues.values())[:5])
    own, both = values_of(examples), values_of(examples, database())
    hotels = {entity.name for entity in database().entities("酒店")}
    assert hotels <= set(both["酒店", "名称"])
    assert hotels <= set(both["餐馆", "周边酒店"])
    assert hotels <= set(both["出租", "目的地"])
    assert both["餐馆", "人均消费"] == own["餐馆", "人均消费"]


TAGS = ("O", "B-a", "I-a", "B-b", "I-b")


def goes_together(tags: tuple[str, ...]) -> bool:
    return all(
        not after.startswith("I-") or before[2:] == after[2:]
        for before, after in pairwise(("O", *tags))
    )


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_no_other_sequence_is_likelier(seed: int, lengths: list[int]) -> None:
    logits = np.random.default_rng(seed).normal(size=(len(lengths), max(lengths), len(TAGS)))
    found = best_tags(logits, lengths, TAGS)
    shares = np.log(np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True))
    for row, length in enumerate(lengths):
        possible = [
            numbers
            for numbers in product(range(len(TAGS)), repeat=length)
            if goes_together(tuple(TAGS[number] for number in numbers))
        ]
        sums = [shares[row, range(length), numbers].sum() for numbers in possible]
        assert tuple(found[row].tolist()) == possible[int(np.argmax(sums))]


@pytest.mark.parametrize("tags", [("O",), ("O", "I-a"), ("I-a", "O", "B-a")])
def test_any_list_of_tags_is_read(tags: tuple[str, ...]) -> None:
    found = best_tags(np.zeros((2, 3, len(tags))), [3, 1], tags)
    assert [len(row) for row in found] == [3, 1]
