from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.dstc7.baselines.query import Ranking
from mwzeval.dstc7.baselines.ranker import insert_none, tune
from mwzeval.dstc7.reading.tracks import NONE

SCORES = st.lists(st.integers(-3, 6).map(float), min_size=1, max_size=14)


def ranking(scores: list[float]) -> Ranking:
    ordered = sorted(scores, reverse=True)
    return Ranking("1", tuple((f"C{place}", score) for place, score in enumerate(ordered)))


def final_score(rankings: list[Ranking], correct: list[str], threshold: float) -> float:
    """Return (MRR + Recall@10) / 2 with NONE put where its score says, as by the specification."""
    total = 0.0
    for before, right in zip(rankings, correct, strict=True):
        entries = sorted([*before.entries, (NONE, threshold)], key=lambda e: (-e[1], e[0] == NONE))
        names = [name for name, _ in entries]
        rank = names.index(right) + 1 if right in names else 0
        total += ((1 / rank if rank else 0.0) + (1 <= rank <= 10)) / 2
    return total / len(rankings)


@given(st.lists(st.tuples(SCORES, st.integers(-1, 14)), min_size=1, max_size=8))
def test_no_threshold_is_better_than_the_tuned_one(cases: list[tuple[list[float], int]]) -> None:
    rankings = [ranking(scores) for scores, _ in cases]
    correct = [NONE if which < 0 else f"C{which}" for _, which in cases]
    tuned = tune(rankings, [{right} for right in correct])
    thresholds = [half / 2 for half in range(-10, 18)]
    best = max(final_score(rankings, correct, threshold) for threshold in thresholds)
    assert tuned.final_score == pytest.approx(best, abs=1e-12)
    assert final_score(rankings, correct, tuned.score) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (9.0, [NONE, "C0", "C1", "C2"]),
        (3.0, ["C0", NONE, "C1", "C2"]),
        (2.0, ["C0", "C1", "C2", NONE]),  # those of its score stay above
        (-1.0, ["C0", "C1", "C2", NONE]),
    ],
)
def test_none_stands_where_its_score_says(score: float, expected: list[str]) -> None:
    result = insert_none(ranking([5.0, 2.0, 2.0]), score)
    assert [name for name, _ in result.entries] == expected


@pytest.mark.parametrize("right", ["C0", NONE])
def test_what_is_always_right_stays_on_top(right: str) -> None:
    before = ranking([4.0, 1.0])
    result = insert_none(before, tune([before], [{right}]).score)
    assert result.entries[0][0] == right


def test_an_answer_that_is_not_listed_moves_no_threshold() -> None:
    before = ranking([4.0, 1.0])
    assert tune([before], [{"elsewhere"}]).final_score == 0.0
    with_other = tune([before, before], [{"elsewhere"}, {NONE}])
    assert insert_none(before, with_other.score).entries[0][0] == NONE


def test_nothing_to_tune_on_is_refused() -> None:
    with pytest.raises(ValueError, match="examples"):
        tune([], [])
