"""The examples that the specification works out by hand, from files to scores."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.evaluation import Options, Track
from mwzeval.errors import InputError
from tests.dstc7.cases import (
    SEVERAL,
    UBUNTU,
    WITH_NONE,
    Folder,
    kinds,
    ranks,
    scores,
    submission_of,
    targets_of,
)

LENIENT, STRICT = Options(), Options(strict=True)

Example = tuple[Track, dict[str, Any], dict[str, str], dict[str, float]]


def by_number(text: str) -> dict[str, str]:
    """Read `1 A B; 2 C` as what belongs to each example or score."""
    return dict(part.split(" ", 1) for part in text.split("; "))


def read_examples() -> dict[str, Example]:
    """Return track, rankings, right answers and scores of each worked example by its name."""
    examples: dict[str, Example] = {}
    lines = (Path(__file__).parent / "worked_examples.tsv").read_text("utf-8").splitlines()[1:]
    for name, track, rankings, answers, expected in (line.split("\t") for line in lines):
        ranked: dict[str, Any] = dict(by_number(rankings))
        if track == "fscore":
            for example, text in ranked.items():
                pairs = [entry.split("=") for entry in text.split()]
                ranked[example] = [(identity, float(p)) for identity, p in pairs]
        values = {key: float(Fraction(value)) for key, value in by_number(expected).items()}
        of = WITH_NONE if track == "fscore" else TRACKS[track]
        examples[name] = of, ranked, by_number(answers), values
    return examples


TRACKS = {"ubuntu 1": UBUNTU, "ubuntu 4": WITH_NONE, "advising 3": SEVERAL}
EXAMPLES = read_examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str, tmp_path: Path) -> None:
    track, rankings, correct, expected = EXAMPLES[name]
    options = Options(metric="fscore" if name.startswith("F") else "ranking")
    raw, targets = submission_of(rankings), targets_of(correct)
    found = scores(Folder(tmp_path).evaluated(raw, targets, track, options))
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12)


def test_w5_has_none_scores_and_a_view_of_the_answerable_examples(tmp_path: Path) -> None:
    track, rankings, correct, _ = EXAMPLES["W5"]
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
    assert ranks(evaluated)[0] == 2
    assert scores(evaluated)["mrr"] == 0.5


@pytest.mark.parametrize(("order", "rank"), [("list", 3), ("confidence", 1)])
def test_w8_the_order_is_that_of_the_list_or_of_the_confidences(
    order: Any, rank: int, tmp_path: Path
) -> None:
    raw = submission_of({"1": [("A", 0.1), ("B", 0.2), ("C", 0.7)]})
    targets, options = targets_of({"1": "C"}), Options(order=order)
    folder = Folder(tmp_path)
    evaluated = folder.evaluated(raw, targets, options=options)
    assert ranks(evaluated)[0] == rank
    assert "not-sorted" in kinds(folder.problems(raw, targets, options=options), "warning")


@pytest.mark.parametrize(("answer", "rank"), [("B", 1), ("D", 2), ("A", 3), ("C", 4)])
def test_equal_confidences_keep_the_order_of_the_list(
    answer: str, rank: int, tmp_path: Path
) -> None:
    raw = submission_of({"1": [("D", 0.2), ("B", 0.4), ("A", 0.2), ("C", 0.2)]})
    evaluated = Folder(tmp_path).evaluated(
        raw, targets_of({"1": answer}), options=Options(order="confidence")
    )
    assert ranks(evaluated)[0] == rank


def test_f4_has_a_macro_mean_that_is_labelled_as_ours(tmp_path: Path) -> None:
    _, rankings, correct, _ = EXAMPLES["F4"]
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
