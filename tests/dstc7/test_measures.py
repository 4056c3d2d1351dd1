"""Ranking scores against brute force, other tools, and figures worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.dstc7.measures import (
    CUTOFFS,
    Selection,
    covering,
    ranking_columns,
    selection_columns,
)

IDS = [f"c{number:03d}" for number in range(30)]


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """A ranking without repeats, and relevant ids, some of which it may lack."""
    ranking = draw(st.permutations(IDS))[: draw(st.integers(0, 30))]
    relevant = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=6, unique=True))
    return list(ranking), relevant


def columns_of(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> dict[str, np.ndarray]:
    ranked, relevant = zip(*pairs, strict=True)
    return ranking_columns(ranked, relevant)


def by_definition(ranking: Sequence[str], relevant: Sequence[str]) -> dict[str, float]:
    """The scores of one unit, straight from their definitions, in exact fractions."""
    hits = [place for place, item in enumerate(ranking, start=1) if item in relevant]
    precisions = [Fraction(nth, place) for nth, place in enumerate(hits, start=1)]
    row = {
        "examples": 1.0,
        "reciprocal_rank": float(Fraction(1, hits[0])) if hits else 0.0,
        "average_precision": float(sum(precisions, Fraction(0)) / len(relevant)),
    }
    for k in CUTOFFS:
        top = set(ranking[:k]) & set(relevant)
        row[f"hit@{k}"] = float(bool(top))
        row[f"set_recall@{k}"] = float(Fraction(len(top), len(relevant)))
    return row


@given(st.lists(rankings(), min_size=1, max_size=5))
def test_rows_are_those_of_the_definitions(pairs: list[tuple[list[str], list[str]]]) -> None:
    columns = columns_of(pairs)
    for index, pair in enumerate(pairs):
        row = {name: column[index] for name, column in columns.items()}
        assert row == pytest.approx(by_definition(*pair), abs=1e-12)


def test_scores_agree_with_those_of_trec_tools() -> None:
    ir_measures: Any = pytest.importorskip("ir_measures", reason="the dev extra has it")
    dice = random.Random(5)
    pairs = []
    for _ in range(60):
        ranking = dice.sample(IDS, dice.randint(1, 30))
        relevant = dice.sample(IDS, dice.randint(1, 5))
        if set(ranking) & set(relevant):  # these tools drop queries without a hit
            pairs.append((ranking, relevant))
    qrels = {f"q{n}": dict.fromkeys(relevant, 1) for n, (_, relevant) in enumerate(pairs)}
    # They sort by score themselves, in 32 bits: minus the rank is exact.
    run = {
        f"q{n}": {item: -float(place) for place, item in enumerate(ranking)}
        for n, (ranking, _) in enumerate(pairs)
    }
    names = {
        "RR": "reciprocal_rank",
        "AP": "average_precision",
        **{f"Success@{k}": f"hit@{k}" for k in CUTOFFS},
        **{f"R@{k}": f"set_recall@{k}" for k in CUTOFFS},
    }
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    columns = columns_of(pairs)
    for measure in measures:
        ours = columns[names[str(measure)]].mean()
        assert ours == pytest.approx(theirs[measure], abs=1e-6), measure


@pytest.mark.parametrize(
    ("weights", "coverage", "chosen"),
    [
        ([0.5, 0.3, 0.1, 0.05, 0.05], 0.9, [0, 1, 2]),
        ([0.3, 0.3, 0.3, 0.1], 0.9, [0, 1, 2]),
        ([0.1] * 10, 0.9, list(range(9))),
        ([0.05, 0.15, 0.8], 0.9, [2, 1]),
        ([0.8, 0.1, 0.1], 0.9, [0, 1]),
        ([8, 1, 1], 0.9, [0, 1]),
        ([0.85, 0.15, 0], 1.0, [0, 1]),
        ([0, 0], 0.9, []),
        ([], 0.9, []),
        ([1e-300, 1e-301], 0.9, [0]),
    ],
)
def test_the_shortest_prefix_that_covers_enough(
    weights: list[float], coverage: float, chosen: list[int]
) -> None:
    assert covering(weights, coverage) == chosen


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=10),
    st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
)
def test_what_is_covered_is_enough_and_nothing_more(numbers: list[int], coverage: Fraction) -> None:
    chosen = covering([number / 1000 for number in numbers], float(coverage))
    total = sum(numbers)
    if not total:
        assert chosen == []
        return
    reached = [sum(Fraction(numbers[i], total) for i in chosen[:n]) for n in range(len(chosen) + 1)]
    assert reached[-1] >= coverage
    assert reached[-2] < coverage
    assert all(numbers[index] for index in chosen)
    assert [numbers[index] for index in chosen] == sorted(numbers, reverse=True)[: len(chosen)]


def test_selections_have_scores_of_their_own_which_are_0_for_nothing() -> None:
    selections = [Selection(3, 2, 4), Selection(0, 0, 1), Selection(2, 0, 1)]
    columns = selection_columns(selections)
    assert columns["correct_selected"].tolist() == [2, 0, 0]
    for name, value in (("precision", 2 / 3), ("recall", 1 / 2), ("f_score", 4 / 7)):
        assert columns[name].tolist() == pytest.approx([value, 0, 0])
    assert columns["examples"].tolist() == [1, 1, 1]
    assert {len(column) for column in selection_columns([]).values()} == {0}
