"""Scores equal brute-force results and the worked examples of the specification."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.dstc7.evaluation import Options, ScoredSubmission
from mwzeval.dstc7.measures import (
    CUTOFFS,
    covering,
    ranking_columns,
    selection_columns,
)
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

IDS = [f"c{number:03d}" for number in range(30)]


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Draw a ranking without duplicates and relevant ids, which the ranking may lack."""
    ranking = draw(st.permutations(IDS))[: draw(st.integers(0, 30))]
    relevant = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=6, unique=True))
    return list(ranking), relevant


def by_definition(ranking: Sequence[str], relevant: Sequence[str]) -> dict[str, float]:
    """Return the scores of an example by their definitions, in exact fractions."""
    hits = [place for place, item in enumerate(ranking, start=1) if item in relevant]
    precisions = [Fraction(nth, place) for nth, place in enumerate(hits, start=1)]
    row = {
        "examples": 1.0,
        "reciprocal_rank": float(Fraction(1, hits[0])) if hits else 0.0,
        "average_precision": float(sum(precisions, Fraction(0)) / len(relevant)),
    }
    for k in CUTOFFS:
        top = set(ranking[:k]) & set(relevant)
        row[f"hit@{k}"] = float(bool(top))
        row[f"set_recall@{k}"] = float(Fraction(len(top), len(relevant)))
    return row


@given(st.lists(rankings(), min_size=1, max_size=5))
def test_ranking_scores_equal_their_definitions(pairs: list[tuple[list[str], list[str]]]) -> None:
    ranked, relevant = zip(*pairs, strict=True)
    columns = ranking_columns(ranked, relevant)
    for index, pair in enumerate(pairs):
        row = {name: column[index] for name, column in columns.items()}
        assert row == pytest.approx(by_definition(*pair), abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "coverage", "chosen"),
    [
        ([0.5, 0.3, 0.1, 0.05, 0.05], 0.9, [0, 1, 2]),
        ([0.3, 0.3, 0.3, 0.1], 0.9, [0, 1, 2]),
        ([0.1] * 10, 0.9, list(range(9))),
        ([0.05, 0.15, 0.8], 0.9, [2, 1]),
        ([0.8, 0.1, 0.1], 0.9, [0, 1]),
        ([8, 1, 1], 0.9, [0, 1]),
        ([0.85, 0.15, 0], 1.0, [0, 1]),
        ([0, 0], 0.9, []),
        ([], 0.9, []),
        ([1e-300, 1e-301], 0.9, [0]),
    ],
)
def test_selection_is_the_shortest_prefix_that_reaches_coverage(
    weights: list[float], coverage: float, chosen: list[int]
) -> None:
    assert covering(weights, coverage) == chosen


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=10),
    st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
)
def test_selection_reaches_coverage_and_is_minimal(numbers: list[int], coverage: Fraction) -> None:
    chosen = covering([number / 1000 for number in numbers], float(coverage))
    total = sum(numbers)
    if not total:
        assert chosen == []
        return
    reached = [sum(Fraction(numbers[i], total) for i in chosen[:n]) for n in range(len(chosen) + 1)]
    assert reached[-1] >= coverage
    assert reached[-2] < coverage
    assert all(numbers[index] for index in chosen)
    assert [numbers[index] for index in chosen] == sorted(numbers, reverse=True)[: len(chosen)]


def test_selection_scores_are_0_without_correct_selections() -> None:
    columns = selection_columns([("A", "B", "C"), (), ("D", "E")], [("A", "C", "F", "G"), "A", "F"])
    assert columns["correct_selected"].tolist() == [2, 0, 0]
    for name, value in (("precision", 2 / 3), ("recall", 1 / 2), ("f_score", 4 / 7)):
        assert columns[name].tolist() == pytest.approx([value, 0, 0])
    assert columns["examples"].tolist() == [1, 1, 1]
    assert {len(column) for column in selection_columns([], []).values()} == {0}


TRACKS = {"ubuntu 1": UBUNTU, "ubuntu 4": WITH_NONE, "advising 3": SEVERAL, "fscore": WITH_NONE}


def by_number(text: str) -> dict[str, Any]:
    """Parse `1 A B; 2 C` to a dictionary."""
    return dict(part.split(" ", 1) for part in text.split("; "))


def with_confidences(ranking: str) -> list[tuple[str, float]]:
    pairs = (entry.split("=") for entry in ranking.split())
    return [(identity, float(confidence)) for identity, confidence in pairs]


LINES = (Path(__file__).parent / "worked_examples.tsv").read_text("utf-8").splitlines()[1:]
EXAMPLES = {name: rest for name, *rest in (line.split("\t") for line in LINES)}


def worked_example(name: str, folder: Path) -> tuple[ScoredSubmission, dict[str, str]]:
    """Return an evaluated worked example and its expected scores by name."""
    track, rankings, answers, expected = EXAMPLES[name]
    ranked, options = by_number(rankings), Options()
    if track == "fscore":
        ranked = {example: with_confidences(text) for example, text in ranked.items()}
        options = Options(metric="fscore")
    given = submission_of(ranked), targets_of(by_number(answers)), TRACKS[track], options
    return Folder(folder).evaluated(*given), by_number(expected)


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str, tmp_path: Path) -> None:
    evaluated, expected = worked_example(name, tmp_path)
    values = {key: float(Fraction(value)) for key, value in expected.items()}
    found = scores(evaluated)
    assert {key: found[key] for key in values} == pytest.approx(values, abs=1e-12)


def test_w5_reports_none_scores_and_scores_of_answerable_examples(tmp_path: Path) -> None:
    evaluated, _ = worked_example("W5", tmp_path)
    found, answerable = scores(evaluated), scores(evaluated, "answerable")
    # NONE is never ranked first; without NONE, one of three answerable examples is right.
    assert [found[f"none.{name}"] for name in ("precision", "recall", "f1")] == [0, 0, 0]
    assert answerable["recall@1"] == pytest.approx(1 / 3)
    assert answerable["mrr"] == pytest.approx(1 / 3)


def test_none_is_removed_from_rankings_of_answerable_examples(
    tmp_path: Path,
) -> None:
    evaluated = Folder(tmp_path).evaluated(
        submission_of({"1": "NONE A B", "2": "NONE C D"}),
        targets_of({"1": "A", "2": "NONE"}),
        WITH_NONE,
    )
    found, answerable = scores(evaluated), scores(evaluated, "answerable")
    assert (found["mrr"], answerable["mrr"]) == (0.75, 1)
    of_none = [found[f"none.{name}"] for name in ("precision", "recall", "f1")]
    assert of_none == pytest.approx([0.5, 1, 2 / 3])


def test_w6_repeated_candidates_are_errors_or_removed(tmp_path: Path) -> None:
    given = submission_of({"1": "B B C"}), "1\tC\n", UBUNTU
    with pytest.raises(InputError) as caught:
        Folder(tmp_path).evaluated(*given, Options(strict=True))
    assert "duplicate-candidate" in kinds(caught.value.problems)
    evaluated = Folder(tmp_path).evaluated(*given)
    assert ranks(evaluated) == [2]
    assert scores(evaluated)["mrr"] == 0.5


@pytest.mark.parametrize(("order", "rank"), [("list", 3), ("confidence", 1)])
def test_w8_ranking_order_follows_list_or_confidence(order: Any, rank: int, tmp_path: Path) -> None:
    raw = submission_of({"1": [("A", 0.1), ("B", 0.2), ("C", 0.7)]})
    targets, options = targets_of({"1": "C"}), Options(order=order)
    folder = Folder(tmp_path)
    evaluated = folder.evaluated(raw, targets, options=options)
    assert ranks(evaluated)[0] == rank
    assert "not-sorted" in kinds(folder.problems(raw, targets, options=options), "warning")


def test_equal_confidences_keep_list_order(tmp_path: Path) -> None:
    ranking = [("D", 0.2), ("B", 0.4), ("A", 0.2), ("C", 0.2)]
    raw, targets = submission_of(dict.fromkeys("1234", ranking)), "1\tA\n2\tB\n3\tC\n4\tD\n"
    evaluated = Folder(tmp_path).evaluated(raw, targets, options=Options(order="confidence"))
    assert ranks(evaluated) == [3, 1, 4, 2]


def test_f4_macro_mean_is_labelled_as_unofficial(tmp_path: Path) -> None:
    evaluated, _ = worked_example("F4", tmp_path)
    [macro] = [s for s in evaluated.report().scores if s.name == "macro.mean_f"]
    assert macro.value == pytest.approx(1 / 3)
    assert "ours" in macro.label
