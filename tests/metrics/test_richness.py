"""Richness equals a brute-force count over all turns, however the turns are accumulated."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.libraries import import_without_setuptools
from mwzeval.metrics.richness import Richness, tokenize
from tests.multiwoz import specification
from tests.places import SAMPLE_SYSTEMS, sample_predictions

lex_div = import_without_setuptools("lexical_diversity.lex_div")
words = st.sampled_from(
    ["the", "The", "NAME", "is", "in", "AREA", "don't", "e.g.", "...", "-", "&", "é", "!", "12:30"]
)
responses = st.one_of(st.lists(words, max_size=70).map(" ".join), st.text(max_size=15), st.just(""))
turns = st.lists(responses, max_size=6)


def twin(turns: list[str]) -> dict[str, float]:
    """The measures as the specification defines them, each counted from scratch."""
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


def richness(*parts: list[str]) -> Richness:
    accumulators = []
    for part in parts:
        accumulator = Richness()
        accumulator.update(part)
        accumulators.append(accumulator)
    merged = Richness()
    for accumulator in accumulators:
        merged.merge(accumulator)
    return merged


def in_one_pass(turns: list[str]) -> Richness:
    accumulator = Richness()
    accumulator.update(turns)
    return accumulator


@given(turns)
def test_measures_equal_a_count_from_scratch(turns: list[str]) -> None:
    scores = dict(in_one_pass(turns).scores())
    expected = twin(turns)
    assert scores == pytest.approx(expected, rel=0, abs=1e-9)
    counts = [name for name in expected if name.startswith("num_")]
    assert [scores[name] for name in counts] == [expected[name] for name in counts]


@pytest.mark.parametrize("system", SAMPLE_SYSTEMS)
def test_measures_of_a_system_equal_a_count_from_scratch(system: str) -> None:
    turns = [
        specification.normal_response(turn["response"])
        for dialogue in sample_predictions(system).values()
        for turn in dialogue
    ]
    assert dict(in_one_pass(turns).scores()) == pytest.approx(twin(turns), rel=0, abs=1e-9)


@given(turns, st.data())
def test_merging_at_any_cuts_is_one_pass_to_the_last_bit(
    turns: list[str], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(turns)), max_size=3)))
    edges = [0, *cuts, len(turns)]
    parts = [turns[a:b] for a, b in pairwise(edges)]
    assert richness(*parts).scores() == in_one_pass(turns).scores()


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_parts_of_a_system_merged_in_order_are_one_pass_to_the_last_bit(parts: int) -> None:
    # Long enough for MSTTR to notice the order of the words.
    turns = [t["response"] for d in sample_predictions("good").values() for t in d]
    size = len(turns) // parts
    cut = [turns[start : start + size] for start in range(0, len(turns), size)]
    assert richness(*cut).scores() == in_one_pass(turns).scores()
    assert richness(*reversed(cut)).scores()["msttr"] != in_one_pass(turns).scores()["msttr"]


@given(turns)
def test_asking_for_scores_changes_nothing(turns: list[str]) -> None:
    asked = Richness()
    for turn in turns:
        asked.update([turn])
        asked.scores()
    assert asked.scores() == in_one_pass(turns).scores()


@given(turns)
def test_merging_leaves_the_later_one_alone(turns: list[str]) -> None:
    later = in_one_pass(turns)
    first = in_one_pass(["the NAME is here"])
    first.merge(later)
    first.update(["and more"])
    assert later.scores() == in_one_pass(turns).scores()


def test_without_turns_all_measures_are_zero() -> None:
    assert set(Richness().scores().values()) == {0}


def test_ngrams_do_not_cross_turns() -> None:
    scores = in_one_pass(["one two", "three four five"]).scores()
    assert (scores["num_unigrams"], scores["num_bigrams"], scores["num_trigrams"]) == (5, 3, 1)
    assert scores["avg_lengths"] == 2.5
    assert scores["entropy"] == pytest.approx(math.log2(5))


def test_a_turn_without_words_is_one_empty_word() -> None:
    scores = in_one_pass(["", "?!"]).scores()
    assert (scores["num_unigrams"], scores["avg_lengths"]) == (1, 1)


@given(st.text(st.sampled_from("aB S.Y'M,:;`?!()%/-_ \t\n\u00a0éİ漢[]"), max_size=15))
@example("S.YM and S'Y'M and S:YM")
@example("`'` ``'")
@example("")
def test_words_are_those_of_the_library(text: str) -> None:
    assert list(tokenize(text)) == lex_div.tokenize(text)
