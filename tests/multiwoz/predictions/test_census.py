"""Counts of parts add up to those of the whole, and decide what the turns decide."""

from __future__ import annotations

from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.census import Census, Wording
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.scoring.scorer import Sources
from tests.examples import examples

turns = st.builds(
    Turn,
    st.sampled_from(
        ["", "hello", "call 01223456789", "[hotel_phone]", "[odd] and [odder] at [odd]"]
    ),
    st.sampled_from([None, {}, {"hotel": {"area": "north"}}]),
    st.sampled_from([None, (), ("hotel",)]),
)
names = [f"smp{number:04}" for number in range(20, 26)]
few = st.dictionaries(
    st.sampled_from(names), st.lists(turns, min_size=1, max_size=2), min_size=1, max_size=3
)
inputs = st.dictionaries(st.sampled_from(names), st.lists(turns, min_size=1, max_size=4))


def census(evaluator: Evaluator, dialogues: dict[str, list[Turn]]) -> Census:
    scorer = evaluator.scorer("sample")
    return Census.of(dialogues, scorer.reference_sets, scorer.gold)


@examples(40)
@given(inputs, st.integers(0, 6))
def test_parts_add_up(evaluator: Evaluator, dialogues: dict[str, list[Turn]], place: int) -> None:
    items = list(dialogues.items())
    total = census(evaluator, dict(items[:place]))
    total.merge(census(evaluator, dict(items[place:])))
    whole = census(evaluator, dialogues)
    for field in fields(Census):
        if field.name != "seen":
            assert getattr(total, field.name) == getattr(whole, field.name)
    assert sorted(total.seen) == sorted(whole.seen) == sorted(dialogues)


@examples(40)
@given(st.lists(few, min_size=1, max_size=3))
def test_sources_are_what_all_turns_have(
    evaluator: Evaluator, parts: list[dict[str, list[Turn]]]
) -> None:
    turns = [turn for part in parts for dialogue in part.values() for turn in dialogue]
    total = Census()
    for part in parts:
        total.merge(census(evaluator, part))
    assert Sources.of_census(total) == Sources(
        all(turn.state is not None for turn in turns),
        all(turn.active_domains is not None for turn in turns),
        Wording.of(turn.response or "" for turn in turns).lexicalized,
    )
