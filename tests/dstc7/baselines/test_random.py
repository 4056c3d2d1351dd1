from __future__ import annotations

import math

import pytest

from mwzeval.dstc7.baselines.query import Query
from mwzeval.dstc7.baselines.ranker import draw_from_pool, rank_at_random
from mwzeval.dstc7.reading.tracks import NONE

IDS = tuple(f"C{place:03d}" for place in range(100))


def queries(count: int) -> list[Query]:
    return [Query(str(number), ("hi",), IDS, IDS) for number in range(count)]


@pytest.mark.exhaustive
def test_random_rankings_have_the_expected_scores() -> None:
    """Recall@k = k/100 and MRR = H(100)/100 = 0.0519 for one right answer among 100."""
    count = 20_000
    ranks = [
        1 + [name for name, _ in ranking.entries].index("C042")
        for ranking in rank_at_random(queries(count), seed=1)
    ]
    for k in (1, 2, 5, 10, 50, 100):
        expected = k / 100
        error = math.sqrt(expected * (1 - expected) / count)
        assert sum(rank <= k for rank in ranks) / count == pytest.approx(expected, abs=4 * error)
    harmonic = sum(1 / rank for rank in range(1, 101)) / 100
    squares = sum(1 / rank**2 for rank in range(1, 101)) / 100
    error = math.sqrt((squares - harmonic**2) / count)
    assert harmonic == pytest.approx(0.0519, abs=5e-5)
    assert sum(1 / rank for rank in ranks) / count == pytest.approx(harmonic, abs=4 * error)


def test_an_order_depends_on_seed_and_example_alone() -> None:
    first = rank_at_random(queries(5), seed=1)
    assert rank_at_random(queries(5)[::-1], seed=1) == first[::-1]
    assert rank_at_random(queries(5), seed=2) != first
    assert len({ranking.entries for ranking in first}) == 5


def test_scores_fall_and_every_candidate_is_there_once() -> None:
    ranking = rank_at_random(queries(1), seed=1, extra=(NONE,))[0]
    assert sorted(name for name, _ in ranking.entries) == sorted((*IDS, NONE))
    scores = [score for _, score in ranking.entries]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 101
    assert 0 < scores[-1] < scores[0] == 1


def test_a_pool_gives_different_candidates_each_as_often() -> None:
    pool = [f"P{place}" for place in range(1000)]
    drawn = draw_from_pool(queries(400), pool, 100, seed=3)
    counts = dict.fromkeys(pool, 0)
    for ranking in drawn:
        names = [name for name, _ in ranking.entries]
        assert len(set(names)) == len(names) == 100
        for name in names:
            counts[name] += 1
    # Each is drawn with probability 0.1: 40 of 400 times, standard deviation 6.
    assert all(40 - 6 * 5 < count < 40 + 6 * 5 for count in counts.values())
    assert [len(r.entries) for r in draw_from_pool(queries(1), pool[:7], 100, seed=3)] == [7]
