"""n-gram scores of resampled and omitted units equal a new count of their words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.metrics.types import TypeCounts
from mwzeval.multiwoz.scoring.richness import conditional_entropy, distinct, entropy
from mwzeval.statistics.bootstrap import ScoreFunction
from tests.tables import jackknife

Units = dict[str, list[list[str]]]


def texts_of(random: np.random.Generator, units: int, vocabulary: int) -> Units:
    """Return units with three texts each, the last of which is empty."""
    return {
        f"u{unit:02}": [
            [f"w{word}" for word in random.zipf(1.6, length) % vocabulary] for length in (17, 9, 0)
        ]
        for unit in range(units)
    }


def ngrams(texts: list[list[str]], order: int) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(text[at : at + order]) for text in texts for at in range(len(text) - order + 1)
    )


def word_entropy(texts: list[list[str]]) -> float:
    counts = ngrams(texts, 1)
    return -math.fsum(n / counts.total() * math.log2(n / counts.total()) for n in counts.values())


def entropy_after(texts: list[list[str]]) -> float:
    counts, pairs = ngrams(texts, 1), ngrams(texts, 2)
    logs = (n * math.log2(n / counts[pair[:1]]) for pair, n in pairs.items())
    return -math.fsum(logs) / counts.total()


SCORES: dict[ScoreFunction, Callable[[list[list[str]]], float]] = {
    partial(distinct, 1): lambda texts: len(ngrams(texts, 1)),
    partial(distinct, 2): lambda texts: len(ngrams(texts, 2)),
    partial(distinct, 3): lambda texts: len(ngrams(texts, 3)),
    entropy: word_entropy,
    conditional_entropy: entropy_after,
}


def of_chosen(
    texts: Units, score: Callable[[list[list[str]]], float], which: NDArray[np.float64]
) -> float:
    used = (unit for unit, is_used in zip(texts.values(), which, strict=True) if is_used)
    return score([text for unit in used for text in unit])


def test_jackknife_counts_equal_counts_without_the_left_out_unit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mwzeval.metrics.types.DENSE_CELLS", 300)
    texts = texts_of(np.random.default_rng(3), 14, 50)
    texts["u05"] = []
    found = TypeCounts.of(texts.items()).jackknives(list(SCORES))
    for mine, score in zip(found, SCORES.values(), strict=True):
        expected = jackknife(partial(of_chosen, texts, score), len(texts))
        assert mine.value == pytest.approx(expected.value, rel=1e-12)
        assert mine.left_out == pytest.approx(expected.left_out, rel=1e-12)


def test_selected_type_counts_equal_counts_of_the_selected_units() -> None:
    texts = texts_of(np.random.default_rng(5), 9, 40)
    texts["u03"] = []
    chosen = ["u07", "u03", "u00"]
    found = TypeCounts.of(texts.items()).select(chosen)
    expected = TypeCounts.of((unit, texts[unit]) for unit in chosen)
    assert found.units == expected.units == tuple(chosen)
    for mine, theirs in zip(
        *(counts.jackknives(list(SCORES)) for counts in (found, expected)), strict=True
    ):
        assert mine.left_out == pytest.approx(theirs.left_out, rel=1e-12)
    with pytest.raises(KeyError):
        found.select(["u01"])
