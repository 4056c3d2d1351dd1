"""Beam search equals greedy and exhaustive search; training sentences of the generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.normalization import words_of
from mwzeval.crosswoz.models.sclstm import (
    END,
    START,
    Example,
    Hypothesis,
    Vocabulary,
    beam_search,
    examples_of,
    features,
    highest,
    placeholder_values,
    tokens_of,
)
from mwzeval.crosswoz.protocols import USER
from tests.crosswoz.small_world import small_gold

STOP, TOKENS, LONGEST = 0, 3, 4
EVERYTHING = sum((TOKENS - 1) ** length for length in range(LONGEST + 1))
"""The number of sequences of up to `LONGEST` tokens without the end token."""
Prefixes = list[tuple[int, ...]]


class Toy:
    """Log-probabilities of the next token after each prefix, drawn from a seed."""

    def __init__(self, seed: int, forbidden: Sequence[int] = ()) -> None:
        self.seed, self.forbidden = seed, list(forbidden)

    def after(self, prefix: Sequence[int]) -> NDArray[np.float64]:
        draws = np.random.default_rng([self.seed, *(token + 1 for token in prefix)])
        logits = draws.normal(scale=2, size=TOKENS)
        logits -= np.log(np.exp(logits).sum())
        logits[self.forbidden] = -np.inf
        return logits

    def search(self, width: int) -> list[Hypothesis]:
        def following(state: Prefixes) -> NDArray[np.float64]:
            return np.array([self.after(prefix) for prefix in state])

        def extended(state: Prefixes, rows: Sequence[int], tokens: Sequence[int]) -> Prefixes:
            return [(*state[row], token) for row, token in zip(rows, tokens, strict=True)]

        begin: Prefixes = [()]
        return beam_search(begin, STOP, following, extended, width=width, longest=LONGEST)

    def greedy(self) -> tuple[int, ...]:
        prefix: tuple[int, ...] = ()
        while len(prefix) < LONGEST and (best := int(self.after(prefix).argmax())) != STOP:
            prefix = (*prefix, best)
        return prefix

    def exhaustive(self) -> dict[tuple[int, ...], float]:
        """Return the log-probability of every sequence that can end, in descending order."""
        others = [token for token in range(TOKENS) if token != STOP]
        found = {}
        for length in range(LONGEST + 1):
            for sequence in product(others, repeat=length):
                whole = (*sequence, STOP)
                total = sum(self.after(whole[:n])[token] for n, token in enumerate(whole))
                if total > -np.inf:
                    found[sequence] = total
        return dict(sorted(found.items(), key=lambda item: -item[1]))


@given(st.integers(0, 10**6), st.sampled_from([(), (1,), (STOP, 1)]))
def test_full_width_beam_search_equals_exhaustive_search(
    seed: int, forbidden: tuple[int, ...]
) -> None:
    toy = Toy(seed, forbidden)
    found = toy.search(EVERYTHING)
    expected = toy.exhaustive()
    if not expected:
        # No sequence can end, so the most probable sequence of maximum length is returned.
        assert [(path.is_complete, len(path.tokens)) for path in found] == [(False, LONGEST)]
        return
    assert [path.tokens for path in found] == list(expected)
    assert [path.log_probability for path in found] == pytest.approx(list(expected.values()))


@given(st.integers(0, 10**6), st.integers(1, EVERYTHING))
def test_beam_search_results_are_valid_distinct_and_sorted(seed: int, width: int) -> None:
    toy = Toy(seed)
    found = toy.search(width)
    expected = toy.exhaustive()
    assert 1 <= len(found) <= width
    assert len({path.tokens for path in found}) == len(found)
    assert all(path.is_complete for path in found)
    scores = [path.log_probability for path in found]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([expected[path.tokens] for path in found])
    assert toy.search(1)[0].tokens == toy.greedy()


def test_mean_log_probability_counts_the_end_token() -> None:
    assert Hypothesis((1, 2), -6.0, is_complete=True).mean == -2
    assert Hypothesis((1, 2), -6.0, is_complete=False).mean == -3
    assert Hypothesis((), 0.0, is_complete=False).mean == 0


@given(
    st.lists(st.sampled_from([-np.inf, -2.0, -1.5, -1.0, 0.0]), min_size=1, max_size=40),
    st.integers(1, 50),
)
def test_highest_matches_a_stable_sort(scores: list[float], width: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: -scores[place])[:width]
    assert highest(np.array(scores), width).tolist() == expected


NAME = "Recommend+餐馆+名称"
A, B = Act("Recommend", "餐馆", "名称", "全聚德"), Act("Recommend", "餐馆", "名称", "便宜坊")
LONG = Act("Recommend", "餐馆", "名称", "全聚德烤鸭店")
RATING = Act("Inform", "餐馆", "评分", "5分")
FIVE = Act("Inform", "酒店", "评分", "5分")
WIFI = Act("Inform", "酒店", "酒店设施-wifi", "是")
NO_PHONE = Act("Inform", "酒店", "电话", "无")


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        ((A, RATING), (NAME, "Inform+餐馆+评分")),
        ((A, B, LONG), (NAME, f"{NAME}2", f"{NAME}3")),
        ((WIFI, NO_PHONE), ("Inform+酒店+酒店设施+是", "Inform+酒店+电话+无")),
        ((), ()),
    ],
)
def test_repeated_feature_keys_are_numbered_from_the_second(
    acts: Acts, expected: tuple[str, ...]
) -> None:
    assert features(acts) == expected


@pytest.mark.parametrize(
    ("utterance", "acts", "expected"),
    [
        ("推荐全聚德。", (A,), ("推荐", f"[{NAME}]", "。")),
        # Placeholders are numbered in the order of the sentence; the longest value matches.
        ("便宜坊，全聚德", (A, B), (f"[{NAME}]", "，", f"[{NAME}2]")),
        ("全聚德烤鸭店和全聚德", (A, LONG), (f"[{NAME}]", "和", f"[{NAME}2]")),
        ("全聚德烤鸭店", (A, LONG), None),
        # A repeated value has one placeholder, unless two acts have the value.
        ("全聚德，全聚德", (A,), (f"[{NAME}]", "，", f"[{NAME}]")),
        ("全聚德，全聚德", (A, A), (f"[{NAME}]", "，", f"[{NAME}2]")),
        ("全聚德", (A, A), None),
        ("5分，5分", (RATING, FIVE), ("[Inform+餐馆+评分]", "，", "[Inform+酒店+评分]")),
        ("有wifi", (WIFI,), ("有", "[Inform+酒店+酒店设施+是]")),
        ("没有电话", (NO_PHONE,), ("没有", "电话")),
        ("推荐", (A,), None),
        ("", (), ()),
    ],
)
def test_utterances_are_tokenised_with_value_placeholders(
    utterance: str, acts: Acts, expected: tuple[str, ...] | None
) -> None:
    assert tokens_of(utterance, acts) == expected


def test_sentences_with_values_outside_their_acts_are_not_examples() -> None:
    dialogue = small_gold().fold.dialogues["2"]
    exchange = dialogue.exchanges[0]
    user = replace(exchange.user, utterance="全聚德评分5分，要3家", acts=(A, RATING))
    more = replace(dialogue, exchanges=(replace(exchange, user=user),))
    assert examples_of([more], USER) == []
    user = replace(user, utterance="全聚德评分5分")
    just = replace(dialogue, exchanges=(replace(exchange, user=user),))
    tokens = (f"[{NAME}]", "评分", "[Inform+餐馆+评分]")
    assert examples_of([just], USER) == [Example(("Inform+餐馆+评分", NAME), tokens)]


@given(st.text(max_size=12), st.lists(st.text(max_size=3), max_size=4))
@example("去全聚德和便宜坊", ["全聚德", "便宜坊"])
@example("去全聚德，全聚德好", ["全聚德"])
def test_arbitrary_texts_and_values_can_be_tokenised(text: str, values: list[str]) -> None:
    acts = tuple(A._replace(value=value) for value in values)
    tokens = tokens_of(text, acts)
    if not any(values):
        assert tokens == words_of(text)
    if tokens is not None and "[" not in text:
        said = {token for token in tokens if token in placeholder_values(acts)}
        assert len(said) == sum(1 for value in values if value and value != "无")
    if tokens is not None and len(values) == 1:
        spoken = "".join(placeholder_values(acts).get(token, token) for token in tokens)
        assert "".join(spoken.split()) == "".join(text.split())


def test_rare_words_are_not_in_the_vocabulary() -> None:
    examples = [Example(("b",), ("x", "y")), Example(("a", "b"), ("x", "x", "z"))]
    assert Vocabulary.of(examples, 2) == Vocabulary(("a", "b"), (START, END, "x"))
    assert Vocabulary.of(examples, 1).tokens == (START, END, "x", "y", "z")


@pytest.mark.parametrize(
    ("known", "tokens"),
    [
        (["a"], [START]),
        (["a"], [END, START]),
        (["a", "a"], [START, END]),
        (["a"], [START, END, "x", "x"]),
        ("a", [START, END]),
        (["a"], [START, END, 3]),
        (None, None),
    ],
)
def test_invalid_vocabularies_are_refused(known: object, tokens: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (what is raised has no place)
        Vocabulary.checked(known, tokens)
    assert Vocabulary.checked(["a"], [START, END, "x"]) == Vocabulary(("a",), (START, END, "x"))
