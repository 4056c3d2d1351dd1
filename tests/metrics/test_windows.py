"""Windows counted in parts are the windows of the whole text."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.libraries import import_without_setuptools
from mwzeval.metrics.richness import WindowTypes, types_of_windows

lex_div = import_without_setuptools("lexical_diversity.lex_div")
words = st.lists(st.sampled_from("abcdefg"), max_size=60)
sizes = st.integers(1, 9)


def of(text: Sequence[str], window: int) -> WindowTypes:
    counted = WindowTypes(window)
    counted.update(text)
    return counted


@given(words, sizes)
def test_every_window_has_its_distinct_words(text: list[str], window: int) -> None:
    expected = [len(set(text[at : at + window])) for at in range(len(text) - window + 1)]
    assert types_of_windows(text, window).tolist() == expected


@given(st.lists(words, max_size=6), sizes, st.data())
def test_parts_merged_in_any_nesting_are_one_pass(
    parts: list[list[str]], window: int, data: st.DataObject
) -> None:
    text = [word for part in parts for word in part]
    counted = [of(part, window) for part in parts] or [WindowTypes(window)]
    while len(counted) > 1:
        # Neighbours in any order: merging is associative.
        left = data.draw(st.integers(0, len(counted) - 2))
        counted[left].merge(counted.pop(left + 1))
    whole = counted[0]
    starts = range(0, len(text) - window + 1, window)
    assert whole.words == len(text)
    assert whole.windows() == len(starts)
    assert whole.types() == sum(len(set(text[at : at + window])) for at in starts)


@given(words, words, sizes)
def test_updating_is_merging(first: list[str], second: list[str], window: int) -> None:
    updated = of(first, window)
    updated.update(second)
    merged = of(first, window)
    merged.merge(of(second, window))
    more = of(["x", "y"], window)
    for counted in (updated, merged):
        counted.merge(more)
    assert [getattr(updated, name) for name in WindowTypes.__slots__] == [
        getattr(merged, name) for name in WindowTypes.__slots__
    ]


@given(st.lists(st.sampled_from("abcdefghijkl"), min_size=51, max_size=400))
def test_the_ratio_is_that_of_the_library(text: list[str]) -> None:
    counted = of(text, 50)
    expected = lex_div.msttr(text, 50)
    assert counted.types() / (50 * counted.windows()) == pytest.approx(expected, rel=1e-12)


def test_what_is_kept_does_not_grow() -> None:
    counted = WindowTypes(50)
    sizes = []
    for _ in range(4):
        for number in range(500):
            counted.update([f"word{(number * 7) % 90}"] * 3)
        sizes.append(len(pickle.dumps(counted)))
    assert max(sizes) - min(sizes) < 200


def test_windows_of_different_sizes_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="one size"):
        WindowTypes(5).merge(WindowTypes(6))
