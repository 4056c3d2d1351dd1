"""Labels of utterances, acts from labels, augmentation with other values, and best tags."""

from __future__ import annotations

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
from tests.crosswoz.real_data import fold
from tests.crosswoz.world import DATABASE

NAME, RATING = "Inform+景点+名称", "Inform+景点+评分"


def user_utterance(text: str) -> Utterance:
    return Utterance(text, (), "user")


def test_mentioned_values_are_tags_and_other_acts_are_classes() -> None:
    acts = (Act("Inform", "餐馆", "名称", "AB店"), Act("Request", "餐馆", "电话", ""))
    example = example_of(user_utterance("去ab店"), acts)
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
def test_longest_of_nested_values_is_tagged(
    text: str, values: tuple[str, ...], found: set[str]
) -> None:
    example = example_of(
        user_utterance(text), tuple(Act("Inform", "景点", "名称", v) for v in values)
    )
    labels = Labels.of([example])
    numbers = [labels.tags.index(tag) for tag in example.tags]
    assert {act.value for act in labels.acts(text, numbers, [])} == found


@pytest.mark.integration
def test_gold_labels_reproduce_nearly_all_gold_acts() -> None:
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
def test_arbitrary_tag_sequences_are_decoded_to_acts(numbers: list[int]) -> None:
    labels = Labels(("O", *(mark + kind for kind in (NAME, RATING) for mark in ("B-", "I-"))), ())
    text = "甲乙丙丁戊己庚辛"[: len(numbers)]
    acts = labels.acts(text, numbers, [])
    assert all(act.value and act.value in text for act in acts)
    assert bool(acts) == any(numbers)


def test_lowercasing_keeps_the_text_length() -> None:
    assert lowered("WiFi İ") == "wifi İ"


def test_rare_classes_have_higher_weights() -> None:
    thanks = example_of(user_utterance("谢"), (general("thank"),))
    examples = [thanks, *([example_of(user_utterance("好"), ())] * 999)]
    assert class_weights(examples, Labels.of(examples)) == pytest.approx([2.99957], abs=1e-4)
    assert class_weights([thanks], Labels.of([thanks])) == [1.0]
    assert not is_tagged(general("thank"))


@pytest.mark.parametrize(
    ("share", "draws", "text", "tagged"),
    [
        (1.0, [0.5, 0.1, 0.5, 0.9], "去天坛公园吧，要4.5分以上的", [(1, 5, NAME), (8, 14, RATING)]),
        (0.5, [0.6, 0.4, 0.1], "去故宫吧，要4分的", [(1, 3, NAME), (6, 8, RATING)]),
        (0.5, [0.4, 0.0, 0.6], "去天坛公园吧，要5分的", [(1, 5, NAME), (8, 10, RATING)]),
        (0.0, [0.0, 0.0], "去故宫吧，要5分的", [(1, 3, NAME), (6, 8, RATING)]),
    ],
)
def test_augmentation_replaces_values_and_their_tags(
    share: float, draws: list[float], text: str, tagged: list[tuple[int, int, str]]
) -> None:
    acts = (Act("Inform", "景点", "名称", "故宫"), Act("Inform", "景点", "评分", "5分"))
    example = example_of(Utterance("去故宫吧，要5分的", ("你好",), "user"), acts)
    values = {("景点", "名称"): ("天坛公园",), ("景点", "评分"): ("4分", "4.5分以上")}
    other = varied(example, values, share, iter(draws))
    assert other.utterance == Utterance(text, ("你好",), "user")
    assert list(spans(other.tags)) == tagged
    assert len(other.tags) == len(text)
    assert other.classes == example.classes


def test_open_slots_include_values_of_the_database() -> None:
    rated = (Act("Inform", "酒店", "名称", "甲店"), Act("Inform", "酒店", "评分", "4分"))
    found = values_of([example_of(user_utterance("甲店有4分"), rated)], DATABASE)
    hotels = ["Blue客栈", "星河饭店"]
    assert found["酒店", "名称"] == ["甲店"]
    assert found["酒店", "地址"] == ["丙路1号", "丙路2号"]
    assert found["餐馆", "周边酒店"] == hotels
    assert found["出租", "目的地"][:2] == hotels
    assert found["餐馆", "推荐菜"] == ["老字号", "豆花", "烤鱼", "豆花", "烤鱼"]
    assert found["酒店", "评分"] == ["4分"]


TAGS = ("O", "B-a", "I-a", "B-b", "I-b")
BROKEN = {(before, 2) for before in (0, 3, 4)} | {(before, 4) for before in (0, 1, 2)}
"""Invalid pairs of adjacent tags: an I tag must follow a B or I tag of its kind."""


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_best_tags_find_the_most_probable_valid_sequence(seed: int, lengths: list[int]) -> None:
    logits = np.random.default_rng(seed).normal(size=(len(lengths), max(lengths), len(TAGS)))
    found = best_tags(logits, lengths, TAGS)
    shares = np.log(np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True))
    for row, length in enumerate(lengths):
        possible = [
            numbers
            for numbers in product(range(len(TAGS)), repeat=length)
            if all((a, b) not in BROKEN for a, b in pairwise((0, *numbers)))
        ]
        sums = [shares[row, range(length), numbers].sum() for numbers in possible]
        assert tuple(found[row].tolist()) == possible[int(np.argmax(sums))]


@pytest.mark.parametrize("tags", [("O",), ("O", "I-a"), ("I-a", "O", "B-a")])
def test_best_tags_accept_incomplete_tag_sets(tags: tuple[str, ...]) -> None:
    found = best_tags(np.zeros((2, 3, len(tags))), [3, 1], tags)
    assert [len(row) for row in found] == [3, 1]
