"""Training examples with other values."""

from __future__ import annotations

import random
from collections.abc import Iterator

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.nlu.examples import Labels, Utterance, example_of, examples_of, spans
from mwzeval.crosswoz.nlu.variation import checksum, values_of, varied
from tests.crosswoz.real_data import database, fold


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


def test_open_slots_have_the_values_of_the_database_too() -> None:
    examples = examples_of(list(fold("val").dialogues.values())[:5])
    own, both = values_of(examples), values_of(examples, database())
    hotels = {entity.name for entity in database().entities("酒店")}
    assert hotels <= set(both["酒店", "名称"])
    assert hotels <= set(both["餐馆", "周边酒店"])
    assert hotels <= set(both["出租", "目的地"])
    assert both["餐馆", "人均消费"] == own["餐馆", "人均消费"]
    assert checksum(own) == checksum(values_of(examples)) != checksum(both)
