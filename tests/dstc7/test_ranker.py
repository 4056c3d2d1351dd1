"""Text scores equal plain implementations of their formulas; rankings by scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from mwzeval.dstc7.baselines.query import (
    BLOCK,
    Vectors,
    best,
    list_scores,
    order,
    pool_best,
)
from mwzeval.dstc7.baselines.ranker import (
    K1,
    B,
    at_random,
    bm25_vectors,
    insert_none,
    tfidf_vectors,
    tune,
)
from mwzeval.dstc7.submission import Ranked
from mwzeval.dstc7.tracks import NONE

CANDIDATES = [
    "try sudo apt-get install grub",
    "grub grub, GRUB!",
    "ok thanks",
    "",
    "did you install it with apt ?",
    "ok thanks",
    "…",
]
CONTEXTS = ["how do I install grub ? grub 2", "thanks", "unheard of", ""]


def plain_words(text: str) -> list[str]:
    """Split a text into words without the regular expression of the code under test."""
    spaced = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in text)
    return spaced.split()


def bm25(contexts: Sequence[str], candidates: Sequence[str]) -> list[list[float]]:
    documents = [Counter(plain_words(text)) for text in candidates]
    mean = sum(d.total() for d in documents) / len(documents)

    def idf(word: str) -> float:
        having = sum(word in d for d in documents)
        return math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))

    def score(context: str, document: Counter[str]) -> float:
        return sum(
            idf(word)
            * document[word]
            / (document[word] + K1 * (1 - B + B * document.total() / mean))
            for word in plain_words(context)
            if word in document
        )

    return [[score(context, d) for d in documents] for context in contexts]


def cosine(contexts: Sequence[str], candidates: Sequence[str]) -> list[list[float]]:
    documents = [Counter(plain_words(text)) for text in candidates]
    known = {word for document in documents for word in document}

    def weights(text: str) -> dict[str, float]:
        counts = Counter(word for word in plain_words(text) if word in known)
        raw = {
            word: count
            * (1 + math.log((1 + len(documents)) / (1 + sum(word in d for d in documents))))
            for word, count in counts.items()
        }
        length = math.hypot(*raw.values())
        return {word: weight / length for word, weight in raw.items()}

    def product(left: dict[str, float], right: dict[str, float]) -> float:
        return sum(weight * right.get(word, 0.0) for word, weight in left.items())

    of_candidates = [weights(text) for text in candidates]
    return [[product(weights(c), other) for other in of_candidates] for c in contexts]


Twin = Callable[[Sequence[str], Sequence[str]], list[list[float]]]
Maker = Callable[[Sequence[str], Sequence[str]], tuple[Vectors, Vectors]]
of_both = pytest.mark.parametrize(
    ("vectors", "twin"),
    [
        pytest.param(bm25_vectors, bm25, id="bm25"),
        pytest.param(tfidf_vectors, cosine, id="tfidf"),
    ],
)
TEXTS = st.lists(st.text("ab c_Ä-9", max_size=12), min_size=1, max_size=6)


@of_both
@example(CONTEXTS, CANDIDATES)
@given(contexts=TEXTS, candidates=TEXTS)
def test_baseline_scores_equal_the_formula(
    vectors: Maker, twin: Twin, contexts: list[str], candidates: list[str]
) -> None:
    if not any(map(plain_words, candidates)):
        return
    expected = twin(contexts, candidates)
    found = pool_best(*vectors(contexts, candidates), len(candidates))
    for of_context, (places, scores) in zip(expected, found, strict=True):
        by_place = [score for _, score in sorted(zip(places, scores, strict=True))]
        assert by_place == pytest.approx(of_context, rel=1e-4, abs=1e-5)
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)


@of_both
def test_candidates_without_words_have_score_zero(vectors: Maker, twin: Twin) -> None:
    found = list_scores(*vectors(["a b", ""], ["?!", ""]), [1, 1])
    assert [row.tolist() for row in found] == [[0.0], [0.0]]


FEW_SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=1, max_size=30)


@given(FEW_SCORES, st.integers(1, 35))
def test_best_candidates_are_the_first_of_the_full_ranking(scores: list[float], most: int) -> None:
    array = np.array(scores, dtype=np.float32)
    places, values = best(array, most)
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:most]
    assert places.tolist() == expected
    assert values.tolist() == [scores[place] for place in expected]
    assert order(array).tolist()[:most] == expected


def random_vectors(rows: int, seed: int, *, with_dense: bool) -> tuple[Vectors, np.ndarray]:
    """Return random vectors, and the same values as a single dense matrix."""
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 3, (rows, 12)).astype(np.float32)
    dense = generator.standard_normal((rows, 4)).astype(np.float32) if with_dense else None
    whole = words if dense is None else np.hstack([words, dense])
    return Vectors(sparse.csr_matrix(words), dense), whole


@pytest.mark.parametrize("with_dense", [False, True])
def test_pool_and_list_scores_are_dot_products(with_dense: bool) -> None:
    contexts, whole_contexts = random_vectors(2 * BLOCK + 3, 3, with_dense=with_dense)
    pool, whole_pool = random_vectors(200, 4, with_dense=with_dense)
    products = whole_contexts @ whole_pool.T
    found = pool_best(contexts, pool, 10)
    assert len(found) == len(products)
    for (places, scores), row in zip(found, products, strict=True):
        assert scores.tolist() == pytest.approx(np.sort(row)[::-1][:10].tolist(), abs=1e-4)
        assert row[places].tolist() == pytest.approx(scores.tolist(), abs=1e-4)
        assert len(set(places.tolist())) == 10
    # With `list_scores`, each context has its own list of candidates.
    sizes = [3, 0, 5, *[1] * (2 * BLOCK)]
    candidates, whole_candidates = random_vectors(sum(sizes), 2, with_dense=with_dense)
    of_lists = np.split(whole_candidates, np.cumsum(sizes)[:-1])
    scores_of_lists = list_scores(contexts, candidates, sizes)
    for context, of_list, row in zip(whole_contexts, of_lists, scores_of_lists, strict=True):
        assert row.tolist() == pytest.approx((of_list @ context).tolist(), rel=1e-5, abs=1e-5)


SCORES = st.lists(st.integers(-3, 6).map(float), min_size=1, max_size=14)


def ranking(scores: list[float]) -> Ranked:
    ordered = sorted(scores, reverse=True)
    return Ranked("1", tuple((f"C{place}", score) for place, score in enumerate(ordered)))


def final_score(rankings: list[Ranked], correct: list[str], threshold: float) -> float:
    """Return (MRR + Recall@10) / 2 with NONE ranked by the threshold as its score."""
    total = 0.0
    for before, right in zip(rankings, correct, strict=True):
        entries = sorted([*before.entries, (NONE, threshold)], key=lambda e: (-e[1], e[0] == NONE))
        names = [name for name, _ in entries]
        rank = names.index(right) + 1 if right in names else 0
        total += ((1 / rank if rank else 0.0) + (1 <= rank <= 10)) / 2
    return total / len(rankings)


@given(st.lists(st.tuples(SCORES, st.integers(-1, 14)), min_size=1, max_size=8))
def test_tuned_none_threshold_maximizes_the_final_score(
    cases: list[tuple[list[float], int]],
) -> None:
    rankings = [ranking(scores) for scores, _ in cases]
    correct = [NONE if which < 0 else f"C{which}" for _, which in cases]
    tuned = tune(rankings, [{right} for right in correct])
    thresholds = [half / 2 for half in range(-10, 18)]
    best = max(final_score(rankings, correct, threshold) for threshold in thresholds)
    assert final_score(rankings, correct, tuned) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (9.0, [NONE, "C0", "C1", "C2"]),
        (3.0, ["C0", NONE, "C1", "C2"]),
        (2.0, ["C0", "C1", "C2", NONE]),  # candidates with an equal score are ranked above NONE
        (-1.0, ["C0", "C1", "C2", NONE]),
    ],
)
def test_none_is_inserted_by_its_score(score: float, expected: list[str]) -> None:
    result = insert_none(ranking([5.0, 2.0, 2.0]), score)
    assert [name for name, _ in result.entries] == expected


IDS = tuple(f"C{place:03d}" for place in range(100))


def shuffled(examples: Iterable[int], seed: int) -> list[list[str]]:
    rankings = (at_random(str(number), IDS, seed) for number in examples)
    return [[name for name, _ in ranking.entries] for ranking in rankings]


def test_random_rankings_have_the_expected_scores() -> None:
    """Recall@k = k/100 and MRR = H(100)/100 = 0.0519 for one right answer among 100."""
    count, places = 4_000, np.arange(1.0, 101.0)
    ranks = np.array([1 + names.index("C042") for names in shuffled(range(count), 1)])
    kinds = [1 / places, *((places <= k).astype(float) for k in (1, 2, 5, 10, 50, 100))]
    for scores in kinds:
        error = float(np.std(scores)) / math.sqrt(count)
        assert np.mean(scores[ranks - 1]) == pytest.approx(np.mean(scores), abs=4 * error)


def test_random_rankings_depend_only_on_seed_and_example() -> None:
    first = shuffled(range(5), 1)
    assert shuffled(range(4, -1, -1), 1) == first[::-1]
    assert shuffled(range(5), 2) != first
    assert len(set(map(tuple, first))) == 5


def test_random_rankings_contain_each_candidate_once_by_falling_score() -> None:
    names, scores = zip(*at_random("1", (*IDS, NONE), seed=1).entries, strict=True)
    assert sorted(names) == sorted((*IDS, NONE))
    assert list(scores) == sorted({*scores}, reverse=True)
    assert 0 < scores[-1] < scores[0] == 1


def test_random_pool_samples_are_distinct_and_uniform() -> None:
    pool = [f"P{place}" for place in range(1000)]
    drawn = [[n for n, _ in at_random(str(at), pool, 3, 100).entries] for at in range(400)]
    assert {(len(names), len({*names})) for names in drawn} == {(100, 100)}
    counts = Counter(name for names in drawn for name in names)
    # Each candidate is drawn with probability 0.1: 40 of 400 times, standard deviation 6.
    assert all(40 - 6 * 5 < counts[name] < 40 + 6 * 5 for name in pool)
    assert len(at_random("1", pool[:7], 3, 100).entries) == 7
