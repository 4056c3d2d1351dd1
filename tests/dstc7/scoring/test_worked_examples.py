"""The examples that the specification works out by hand, from files to scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.scoring.evaluation import Options, Track, per_example
from mwzeval.errors import InputError
from tests.dstc7.cases import (
    SEVERAL,
    UBUNTU,
    WITH_NONE,
    Folder,
    kinds,
    scores,
    submission_of,
    targets_of,
)

LENIENT, STRICT = Options(), Options(strict=True)
TENTH = " ".join([*(f"X{n}" for n in range(9)), "C"])
ELEVENTH = " ".join([*(f"X{n}" for n in range(10)), "C"])

RANKED: dict[str, tuple[Track, dict[str, str], dict[str, str], dict[str, float]]] = {
    "W1": (
        UBUNTU,
        {"1": "A B C D", "2": "E F G H"},
        {"1": "A", "2": "H"},
        {
            **{"recall@1": 0.5, "recall@2": 0.5, "recall@5": 1, "recall@10": 1},
            **{"mrr": 0.625, "map": 0.625, "final": 0.8125},
        },
    ),
    "W2": (
        SEVERAL,
        {"1": "A X B"},
        {"1": "A,B"},
        {"recall@1": 1, "set_recall@1": 0.5, "map": (1 + 2 / 3) / 2},
    ),
    "W2, the targets in another order": (
        SEVERAL,
        {"1": "A X B"},
        {"1": "B,A"},
        {"recall@1": 1, "set_recall@1": 0.5, "map": (1 + 2 / 3) / 2},
    ),
    "W3, both found": (SEVERAL, {"1": "B A"}, {"1": "A,B"}, {"map": 1}),
    "W3, one found": (SEVERAL, {"1": "B X Y"}, {"1": "A,B"}, {"map": 0.5, "mrr": 1}),
    "W4": (
        SEVERAL,
        {"1": "A X B Y C"},
        {"1": "A,B,C"},
        {"map": (1 + 2 / 3 + 3 / 5) / 3, "set_recall@2": 1 / 3, "set_recall@5": 1},
    ),
    "W5": (
        WITH_NONE,
        {"1": "A NONE B", "2": "A B NONE", "3": "D E"},
        {"1": "A", "2": "NONE", "3": "C", "4": "Q"},
        {
            **{"recall@1": 0.25, "recall@2": 0.25, "recall@5": 0.5, "recall@10": 0.5},
            **{"mrr": (1 + 1 / 3) / 4, "final": ((1 + 1 / 3) / 4 + 0.5) / 2},
        },
    ),
    "W7, tenth": (UBUNTU, {"1": TENTH}, {"1": "C"}, {"recall@10": 1, "recall@5": 0}),
    "W7, eleventh": (UBUNTU, {"1": ELEVENTH}, {"1": "C"}, {"recall@10": 0, "recall@50": 1}),
}


@pytest.mark.parametrize("name", RANKED)
def test_rankings(name: str, tmp_path: Path) -> None:
    track, rankings, correct, expected = RANKED[name]
    evaluated = Folder(tmp_path).evaluated(submission_of(rankings), targets_of(correct), track)
    found = scores(evaluated)
    assert {key: found[key] for key in expected} == {
        key: pytest.approx(value, abs=1e-12) for key, value in expected.items()
    }


def test_w5_has_none_scores_and_a_view_of_the_answerable_examples(tmp_path: Path) -> None:
    track, rankings, correct, _ = RANKED["W5"]
    evaluated = Folder(tmp_path).evaluated(submission_of(rankings), targets_of(correct), track)
    found, answerable = scores(evaluated), scores(evaluated, "answerable")
    # NONE stands first nowhere. Without it, the first of the three answerable ones is right.
    assert [found[f"none.{name}"] for name in ("precision", "recall", "f1")] == [0, 0, 0]
    assert answerable["recall@1"] == pytest.approx(1 / 3)
    assert answerable["mrr"] == pytest.approx(1 / 3)


def test_none_above_the_right_candidate_is_taken_out_for_the_answerable_view(
    tmp_path: Path,
) -> None:
    evaluated = Folder(tmp_path).evaluated(
        submission_of({"1": "NONE A B", "2": "NONE C D"}),
        targets_of({"1": "A", "2": "NONE"}),
        WITH_NONE,
    )
    found, answerable = scores(evaluated), scores(evaluated, "answerable")
    assert (found["mrr"], answerable["mrr"]) == (0.75, 1)
    assert found["none.precision"] == 0.5
    assert found["none.recall"] == 1
    assert found["none.f1"] == pytest.approx(2 / 3)


def test_w6_repeats_are_an_error_or_taken_out(tmp_path: Path) -> None:
    raw, targets = submission_of({"1": "B B C"}), targets_of({"1": "C"})
    folder = Folder(tmp_path)
    assert "duplicate-candidate" in kinds(folder.problems(raw, targets, options=STRICT), "error")
    with pytest.raises(InputError):
        folder.evaluated(raw, targets, options=STRICT)
    evaluated = folder.evaluated(raw, targets)
    assert per_example(evaluated.loaded)[0].rank == 2
    assert scores(evaluated)["mrr"] == 0.5


@pytest.mark.parametrize(("order", "rank"), [("list", 3), ("confidence", 1)])
def test_w8_the_order_is_that_of_the_list_or_of_the_confidences(
    order: Any, rank: int, tmp_path: Path
) -> None:
    raw = submission_of({"1": [("A", 0.1), ("B", 0.2), ("C", 0.7)]})
    targets, options = targets_of({"1": "C"}), Options(order=order)
    folder = Folder(tmp_path)
    evaluated = folder.evaluated(raw, targets, options=options)
    assert per_example(evaluated.loaded)[0].rank == rank
    assert "not-sorted" in kinds(folder.problems(raw, targets, options=options), "warning")


@pytest.mark.parametrize(("answer", "rank"), [("B", 1), ("D", 2), ("A", 3), ("C", 4)])
def test_equal_confidences_keep_the_order_of_the_list(
    answer: str, rank: int, tmp_path: Path
) -> None:
    raw = submission_of({"1": [("D", 0.2), ("B", 0.4), ("A", 0.2), ("C", 0.2)]})
    evaluated = Folder(tmp_path).evaluated(
        raw, targets_of({"1": answer}), options=Options(order="confidence")
    )
    assert per_example(evaluated.loaded)[0].rank == rank


def choices(*probabilities: float) -> list[tuple[str, float]]:
    return [(chr(ord("A") + place), p) for place, p in enumerate(probabilities)]


F1 = choices(0.5, 0.3, 0.1, 0.05, 0.05, 0, 0, 0, 0, 0)
UNIFORM = choices(*[0.1] * 10)

COVERED: dict[str, tuple[dict[str, Any], dict[str, str], tuple[float, float, float]]] = {
    "F1": ({"1": F1}, {"1": "C"}, (1 / 3, 1, 0.5)),
    "F2, among the first nine": ({"1": UNIFORM}, {"1": "A"}, (1 / 9, 1, 0.2)),
    "F2, tenth": ({"1": UNIFORM}, {"1": "J"}, (0, 0, 0)),
    "F3, right": ({"1": choices(1.0)}, {"1": "A"}, (1, 1, 1)),
    "F3, wrong": ({"1": choices(1.0)}, {"1": "Z"}, (0, 0, 0)),
    "F4": (
        {"1": choices(0.95, 0.03, 0.02), "2": choices(0.4, 0.3, 0.25, 0.05)},
        {"1": "A", "2": "D", "3": "Q"},
        (1 / 4, 1 / 3, 2 / 7),
    ),
    "F5": (
        {"1": [("A", 0.4), ("X", 0.3), ("B", 0.2), ("C", 0.06), ("Y", 0.04)]},
        {"1": "A,B,C"},
        (2 / 3, 2 / 3, 2 / 3),
    ),
    "F6": ({"1": UNIFORM}, {"1": "A,B,C,D,E,F,G,H,I,J,K,L"}, (1, 9 / 12, 6 / 7)),
    "F7": ({"1": [("NONE", 0.5), ("A", 0.45), ("B", 0.05)]}, {"1": "A"}, (1 / 2, 1, 2 / 3)),
}


@pytest.mark.parametrize("name", COVERED)
def test_the_f_score_over_what_covers_ninety_percent(name: str, tmp_path: Path) -> None:
    rankings, correct, expected = COVERED[name]
    evaluated = Folder(tmp_path).evaluated(
        submission_of(rankings), targets_of(correct), WITH_NONE, Options(metric="fscore")
    )
    found = scores(evaluated)
    measured = (found["precision"], found["recall"], found["fscore@90"])
    assert measured == pytest.approx(expected, abs=1e-12)


def test_f4_has_a_macro_mean_that_is_labelled_as_ours(tmp_path: Path) -> None:
    rankings, correct, _ = COVERED["F4"]
    evaluated = Folder(tmp_path).evaluated(
        submission_of(rankings), targets_of(correct), WITH_NONE, Options(metric="fscore")
    )
    [macro] = [s for s in evaluated.report().scores if s.name == "macro.mean_f"]
    assert macro.value == pytest.approx(1 / 3)
    assert "ours" in macro.label


def test_the_best_hundred_of_a_pool_score_as_expected(tmp_path: Path) -> None:
    """Each of 1,000 places once, but only the first hundred are ranked."""
    best = " ".join(f"C{k}" for k in range(1, 101))
    rankings = dict.fromkeys((str(n) for n in range(1, 1_001)), best)
    correct = {str(n): f"C{n}" for n in range(1, 1_001)}
    pooled = Track("ubuntu", 2)
    found = scores(Folder(tmp_path).evaluated(submission_of(rankings), targets_of(correct), pooled))
    assert found["recall@10"] == pytest.approx(10 / 1_000)
    assert found["mrr"] == pytest.approx(sum(1 / k for k in range(1, 101)) / 1_000)


def test_random_rankings_of_a_hundred_score_as_expected(tmp_path: Path) -> None:
    """Each place once: exactly the mean over all places."""
    rankings = {str(n): " ".join(f"C{k}" for k in range(1, 101)) for n in range(1, 101)}
    correct = {str(n): f"C{n}" for n in range(1, 101)}
    evaluated = Folder(tmp_path).evaluated(submission_of(rankings), targets_of(correct))
    found = scores(evaluated)
    harmonic = sum(1 / k for k in range(1, 101))
    for k in (1, 2, 5, 10, 50, 100):
        assert found[f"recall@{k}"] == pytest.approx(k / 100)
    assert found["mrr"] == pytest.approx(harmonic / 100)
    assert found["final"] == pytest.approx((harmonic / 100 + 0.1) / 2)
