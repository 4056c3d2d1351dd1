"""TF-IDF and BM25 against twins written out from the formulas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.dstc7.baselines.ranker import K1, B, bm25_vectors, tfidf_vectors
from mwzeval.dstc7.baselines.vectors import list_scores, pool_best

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


def words(text: str) -> list[str]:
    """Return words letter by letter, not with the expression of the code under test."""
    spaced = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in text)
    return spaced.split()


def bm25(contexts: Sequence[str], candidates: Sequence[str]) -> list[list[float]]:
    documents = [Counter(words(text)) for text in candidates]
    mean = sum(d.total() for d in documents) / len(documents)

    def idf(word: str) -> float:
        having = sum(word in d for d in documents)
        return math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))

    def score(context: str, document: Counter[str]) -> float:
        return sum(
            idf(word)
            * document[word]
            / (document[word] + K1 * (1 - B + B * document.total() / mean))
            for word in words(context)
            if word in document
        )

    return [[score(context, d) for d in documents] for context in contexts]


def cosine(contexts: Sequence[str], candidates: Sequence[str]) -> list[list[float]]:
    documents = [Counter(words(text)) for text in candidates]
    known = {word for document in documents for word in document}

    def weights(text: str) -> dict[str, float]:
        counts = Counter(word for word in words(text) if word in known)
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


TWINS = [
    pytest.param(bm25_vectors, bm25, id="bm25"),
    pytest.param(tfidf_vectors, cosine, id="tfidf"),
]
Twin = Callable[[Sequence[str], Sequence[str]], list[list[float]]]
TEXTS = st.lists(st.text("ab c_Ä-9", max_size=12), min_size=1, max_size=6)


@pytest.mark.parametrize(("vectors", "twin"), TWINS)
def test_a_baseline_agrees_with_its_formula(vectors: Callable, twin: Twin) -> None:  # type: ignore[type-arg]
    check(vectors, twin, CONTEXTS, CANDIDATES)


@pytest.mark.parametrize(("vectors", "twin"), TWINS)
@given(contexts=TEXTS, candidates=TEXTS)
@settings(max_examples=60, deadline=None)
def test_a_baseline_agrees_with_its_formula_on_any_texts(
    vectors: Callable,  # type: ignore[type-arg]
    twin: Twin,
    contexts: list[str],
    candidates: list[str],
) -> None:
    if any(map(words, candidates)):
        check(vectors, twin, contexts, candidates)


@pytest.mark.parametrize(("vectors", "twin"), TWINS)
def test_candidates_without_words_score_nothing(vectors: Callable, twin: Twin) -> None:  # type: ignore[type-arg]
    contexts, candidates = vectors(["a b", ""], ["?!", ""])
    found = list_scores(contexts, candidates, [1, 1])
    assert [row.tolist() for row in found] == [[0.0], [0.0]]


def check(
    vectors: Callable,  # type: ignore[type-arg]
    twin: Twin,
    contexts: Sequence[str],
    candidates: Sequence[str],
) -> None:
    expected = twin(contexts, candidates)
    of_contexts, of_candidates = vectors(contexts, candidates)
    for context, found in enumerate(pool_best(of_contexts, of_candidates, len(candidates))):
        places, scores = found
        by_place = dict(zip(places.tolist(), scores.tolist(), strict=True))
        assert [by_place[place] for place in range(len(candidates))] == pytest.approx(
            expected[context], rel=1e-4, abs=1e-5
        )
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)
