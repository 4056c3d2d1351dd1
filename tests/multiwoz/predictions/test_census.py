"""Counts of parts add up to the counts of the whole and determine the sources of scores."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.census import Census, Wording
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions import Turn
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
inputs = st.dictionaries(
    st.sampled_from(names), st.lists(turns, min_size=1, max_size=3), max_size=4
)


@examples(80)
@given(inputs, st.lists(st.integers(0, 4), max_size=2))
def test_census_of_parts_adds_up_to_the_census_of_the_whole(
    evaluator: Evaluator, dialogues: dict[str, list[Turn]], places: list[int]
) -> None:
    scorer = evaluator.scorer("sample")
    whole = Census.of(dialogues, scorer.reference_sets, scorer.gold)
    total = Census()
    for first, last in pairwise([0, *sorted(places), len(dialogues)]):
        part = dict(list(dialogues.items())[first:last])
        total.merge(Census.of(part, scorer.reference_sets, scorer.gold))
    for field in fields(Census):
        if field.name != "seen":
            assert getattr(total, field.name) == getattr(whole, field.name)
    assert sorted(total.seen) == sorted(whole.seen) == sorted(dialogues)
    turns = [turn for dialogue in dialogues.values() for turn in dialogue]
    assert Sources.of_census(total) == Sources(
        all(turn.state is not None for turn in turns),
        all(turn.active_domains is not None for turn in turns),
        Wording.of(turn.response or "" for turn in turns).lexicalized,
    )
