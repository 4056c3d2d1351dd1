"""BLEU with many references, against NLTK."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.metrics.multi_reference_bleu import MultiReferenceBleu, segment_counts

nltk_bleu = pytest.importorskip("nltk.translate.bleu_score")
BLEU = MultiReferenceBleu("bleu")
Segment = tuple[list[str], list[list[str]]]
TOKENS = st.lists(st.sampled_from("甲乙丙丁"), max_size=9)
SEGMENTS = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=4)), min_size=1)


def ours(segments: list[Segment]) -> float:
    rows = [BLEU.row(segment_counts([tokens], references)) for tokens, references in segments]
    sums = {name: np.array([sum(row[name] for row in rows)]) for name in BLEU.columns}
    return float(BLEU.score(sums)[0])


def theirs(segments: list[Segment]) -> float:
    return float(
        nltk_bleu.corpus_bleu(
            [references for _, references in segments],
            [tokens for tokens, _ in segments],
            smoothing_function=nltk_bleu.SmoothingFunction().method1,
        )
    )


@given(SEGMENTS)
def test_the_score_is_that_of_nltk(segments: list[Segment]) -> None:
    assert ours(segments) == pytest.approx(theirs(segments), abs=1e-12)


@pytest.mark.parametrize(
    ("segments", "score"),
    [
        ([(["a", "b", "c", "d"], [["a", "b", "c", "d"]])], 1.0),
        ([(["a"], [["b"]])], 0.0),
        ([([], [["b"]])], 0.0),
        # Shorter than the longest n-gram: counted for one that does not match.
        ([(["a"], [["a"]])], (0.1**3) ** 0.25),
    ],
)
def test_edges(segments: list[Segment], score: float) -> None:
    assert ours(segments) == pytest.approx(score)


@given(st.lists(TOKENS, min_size=1, max_size=5), st.lists(TOKENS, min_size=1, max_size=5))
def test_segments_that_share_references_count_as_they_do_alone(
    hypotheses: list[list[str]], references: list[list[str]]
) -> None:
    together = segment_counts(hypotheses, references)
    assert together == [segment_counts([tokens], references)[0] for tokens in hypotheses]
    assert together == segment_counts(hypotheses, references * 2)


def test_rows_add_up_in_whatever_parts() -> None:
    generator = random.Random(1)

    def tokens() -> list[str]:
        return generator.choices("abcdef", k=generator.randrange(1, 12))

    segments = [(tokens(), [tokens() for _ in range(3)]) for _ in range(40)]
    counts = [segment_counts([said], references)[0] for said, references in segments]
    whole, *parts = (BLEU.row(part) for part in (counts, counts[:7], counts[7:20], counts[20:]))
    assert whole == {name: sum(part[name] for part in parts) for name in BLEU.columns}


def test_scores_of_many_sums_come_at_once() -> None:
    segments = [(["a", "b", "c", "d", "e"], [["a", "b", "c", "d"]]), (["x"], [["y", "z"]])]
    rows = [BLEU.row(segment_counts([said], references)) for said, references in segments]
    sums = {name: np.array([row[name] for row in rows]) for name in BLEU.columns}
    assert BLEU.score(sums) == pytest.approx([theirs([segment]) for segment in segments])


def test_a_segment_needs_a_reference() -> None:
    with pytest.raises(ValueError, match="at least one reference"):
        segment_counts([["a"]], [])
