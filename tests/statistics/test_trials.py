"""pass^k and flips against published figures, enumeration and simulation; trials of an item."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.scores.table import Table
from mwzeval.statistics.trials import Trials, all_succeed, item_and_trial, some_differ, trial_name

outcomes = st.lists(st.booleans(), min_size=1, max_size=9)


@given(won=outcomes, data=st.data())
def test_choices_of_trials_are_counted(won: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(won)))
    chosen = list(itertools.combinations(won, k))
    successes, trials = sum(won), len(won)
    assert all_succeed(successes, trials, k) == sum(map(all, chosen)) / len(chosen)
    assert some_differ(successes, trials, k) == pytest.approx(
        sum(any(each) and not all(each) for each in chosen) / len(chosen)
    )
    # pass@k, by its published formula, is another thing.
    some_succeed = sum(map(any, chosen)) / len(chosen)
    assert some_succeed == pytest.approx(1 - all_succeed(trials - successes, trials, k))


@pytest.mark.parametrize(
    ("name", "item", "trial"),
    [
        ("sng0073#2", "sng0073", 2),
        ("sng0073", "sng0073", None),
        ("a#b#12", "a#b", 12),
        ("a#b", "a#b", None),
        ("#1", "#1", None),
        ("sng0073#", "sng0073#", None),
        ("sng0073#²", "sng0073#²", None),
        ("sng0073#1234567890", "sng0073#1234567890", None),
    ],
)
def test_the_number_of_a_trial_follows_its_item(name: str, item: str, trial: int | None) -> None:
    assert item_and_trial(name) == (item, trial)
    assert trial_name(item, trial) == name


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), max_size=12))
def test_an_item_counts_once_however_many_trials_it_has(rows: list[tuple[str, int]]) -> None:
    values = np.array([[number] for _, number in rows], dtype=float).reshape(len(rows), 1)
    units = tuple(f"{item}#{index}" for index, (item, _) in enumerate(rows))
    trials = Trials.of(Table(units, ("x",), values))
    table = trials.by_item()
    grouped = {item: [n for each, n in rows if each == item] for item, _ in rows}
    assert table.units == tuple(grouped)
    assert trials.counts.tolist() == [len(numbers) for numbers in grouped.values()]
    assert table.column("x").tolist() == [sum(n) / len(n) for n in grouped.values()]
    for usual in range(1, 13):
        enough = sum(len(numbers) >= usual for numbers in grouped.values())
        assert (usual <= trials.usual) == (2 * enough >= len(grouped) > 0)
