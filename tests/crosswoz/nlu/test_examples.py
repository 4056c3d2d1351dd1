"""Labels of utterances, and acts out of labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.crosswoz.corpus.acts import Act, general
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.nlu.examples import (
    Labels,
    Utterance,
    class_weights,
    example_of,
    examples_of,
    is_tagged,
    lowered,
)
from tests.crosswoz.real_data import fold


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


@pytest.mark.exhaustive
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
