"""Richness equals a brute-force count over all turns for every order of accumulation."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.libraries import import_without_setuptools
from mwzeval.multiwoz.scoring.richness import (
    Richness,
    WindowTypes,
    richness_rows,
    tokenize,
    types_of_windows,
)

lex_div = import_without_setuptools("lexical_diversity.lex_div")
words = st.sampled_from(
    ["the", "The", "NAME", "is", "in", "AREA", "don't", "e.g.", "...", "-", "&", "é", "!", "12:30"]
)
responses = st.one_of(st.lists(words, max_size=70).map(" ".join), st.text(max_size=15), st.just(""))
turns = st.lists(responses, max_size=6)


def twin(turns: list[str]) -> dict[str, float]:
    """Compute each measure from scratch by its definition."""
    tokenized = [lex_div.tokenize(turn) for turn in turns]
    ngrams = {
        n: [tuple(t[i : i + n]) for t in tokenized for i in range(len(t) - n + 1)]
        for n in (1, 2, 3)
    }
    everything = [word for tokens in tokenized for word in tokens]
    total = len(everything)
    unigrams, bigrams = Counter(ngrams[1]), Counter(ngrams[2])
    return {
        "entropy": -sum(c / total * math.log2(c / total) for c in unigrams.values()),
        "cond_entropy": -sum(
            c / total * math.log2(c / unigrams[bigram[:1]]) for bigram, c in bigrams.items()
        ),
        "avg_lengths": total / len(turns) if turns else 0.0,
        "msttr": lex_div.msttr(everything, 50) if everything else 0.0,
        "num_unigrams": len(set(ngrams[1])),
        "num_bigrams": len(set(ngrams[2])),
        "num_trigrams": len(set(ngrams[3])),
    }


def richness(turns: list[str]) -> Richness:
    return Richness([tokenize(turn) for turn in turns])


@given(turns)
def test_richness_scores_equal_a_reference_implementation(turns: list[str]) -> None:
    assert richness(turns).scores() == pytest.approx(twin(turns), rel=0, abs=1e-9)
    assert set(Richness().scores().values()) == {0}


@given(turns)
def test_merging_turns_equals_one_pass_and_keeps_the_parts_unchanged(
    turns: list[str],
) -> None:
    later, whole = richness(turns), Richness()
    for turn in turns:
        whole.merge(richness([turn]))
        whole.scores()
    assert whole.scores() == later.scores()
    whole.merge(later)
    whole.merge(richness(["and more"]))
    assert later.scores() == richness(turns).scores()


@given(st.text(st.sampled_from("aB S.Y'M,:;`?!()%/-_ \t\n\u00a0éİ漢[]"), max_size=15))
@example("S.YM and S'Y'M and S:YM")
@example("`'` ``'")
@example("")
def test_tokens_equal_those_of_the_lexical_diversity_library(text: str) -> None:
    assert list(tokenize(text)) == lex_div.tokenize(text)


texts = st.lists(st.sampled_from("abcdefg"), max_size=60)
sizes = st.integers(1, 9)


@given(st.lists(texts, min_size=1, max_size=6), sizes, st.data())
def test_window_types_merge_associatively_to_those_of_the_text(
    parts: list[list[str]], window: int, data: st.DataObject
) -> None:
    text = [word for part in parts for word in part]
    expected = [len(set(text[at : at + window])) for at in range(len(text) - window + 1)]
    assert types_of_windows(text, window).tolist() == expected
    counted = [WindowTypes(window, part) for part in parts]
    in_order = WindowTypes(window)
    for part in parts:
        in_order.merge(WindowTypes(window, part))
    while len(counted) > 1:
        # Merging neighbours is associative, so the order of merges does not matter.
        left = data.draw(st.integers(0, len(counted) - 2))
        counted[left].merge(counted.pop(left + 1))
    assert vars(counted[0]) == vars(in_order)
    assert in_order.words == len(text)
    assert in_order.windows() == len(expected[::window])
    assert in_order.types() == sum(expected[::window])


@given(st.lists(st.lists(st.lists(st.sampled_from("abc"), max_size=40), max_size=3), max_size=5))
def test_richness_rows_of_dialogues_add_up_to_the_totals(dialogues: list[list[list[str]]]) -> None:
    counted = [[tuple(turn) for turn in dialogue] for dialogue in dialogues]
    accumulator = Richness([turn for dialogue in counted for turn in dialogue])
    sums = dict.fromkeys(accumulator.totals(), 0.0)
    for row in richness_rows(counted):
        sums = {name: total + row[name] for name, total in sums.items()}
    assert sums == accumulator.totals()
