"""Published results, and one's own among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.dstc7.board import CHANCE, boards_of, published_document, read_results
from mwzeval.dstc7.reading.tracks import TRACK_NAMES, track_of
from mwzeval.dstc7.scoring.evaluation import Options, ScoredSubmission, score
from mwzeval.errors import DataError, UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.report.boards import Entry
from mwzeval.report.formats import to_text
from tests.dstc7.cases import UBUNTU, Folder, loaded, submission_of
from tests.places import read_json, shared


def half_right() -> ScoredSubmission:
    rankings = {str(n): "A B" if n % 2 else "B A" for n in range(1, 101)}
    targets = "".join(f"{n}\tA\n" for n in range(1, 101))
    return score(loaded(submission_of(rankings), targets))


@pytest.mark.integration
def test_figures_are_those_of_their_sources() -> None:
    source = read_json(shared("data", "dstc7", "published_results.json"))
    results = read_results()
    rows = {
        (board.keys["track"], board.keys["case"], row.system): {
            name: figure.value for name, figure in row.figures.items()
        }
        for board in results.boards
        for row in board.rows
        if row.kind == "published"
    }
    best = [figures for (_, _, name), figures in rows.items() if name.startswith("best of")]
    official = source["official_best_scores"]["values"]
    assert len(best) == len(official) == 12
    expected = {(value["best_recall@10"], value["best_mrr"]) for value in official}
    assert {(figures["recall@10"], figures["mrr"]) for figures in best} == expected
    published = [
        {name: system[name] for name in figures}
        for system in (*source["systems"], *source["organisers_baseline"])
        for figures in rows.values()
        if all(system.get(name) == value for name, value in figures.items())
    ]
    assert len(published) >= len(rows) - 12


def test_every_source_is_named() -> None:
    results = read_results()
    used = {row.source for board in results.boards for row in board.rows if row.kind == "published"}
    assert used == set(results.sources)


@pytest.mark.parametrize("name", TRACK_NAMES)
def test_every_track_has_a_board(name: str) -> None:
    results = read_results()
    boards = boards_of(results, track_of(name), "test")
    assert {board.keys["case"] for board in boards} in ({None}, {"case1", "case2"})
    assert to_text(published_document(results, boards))


def test_a_submission_stands_in_its_place_with_its_interval() -> None:
    results = read_results()
    report = half_right().report(Resampling(samples=100))
    document = published_document(
        results, boards_of(results, UBUNTU, "test"), Entry.of("mine", report)
    )
    names = [row[0].text for row in document.sheets[0].rows]
    # Its Recall@10 is 1, above all others.
    assert names[:2] == ["» mine", "  95 % interval"]
    assert names[-1] == CHANCE
    assert [r["value"] for r in document.records if not r["published"]][:2] == [0.5, 1.0]


def test_a_submission_on_test_does_not_stand_among_results_on_dev() -> None:
    results = read_results()
    boards = boards_of(results, UBUNTU, "dev")
    document = published_document(results, boards, Entry.of("mine", half_right().report()))
    assert all(record["published"] for record in document.records)


def test_only_official_scores_are_placed() -> None:
    results = read_results()
    inputs = loaded(submission_of({"1": "A"}), "1\tA\n", options=Options(compat="2018"))
    with pytest.raises(UsageError, match="official"):
        published_document(results, results.boards, Entry.of("mine", score(inputs).report()))


def test_a_test_set_has_its_own_board() -> None:
    results = read_results()
    [board] = boards_of(results, track_of("dstc7-advising-3-case2"), "test")
    assert board.title == "dstc7-advising-3 case2 test"
    with pytest.raises(UsageError, match="train"):
        boards_of(results, track_of("dstc7-advising-3"), "train")


def test_a_file_that_holds_no_results(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.json"):
        read_results(Folder(tmp_path).write("x.json", {"tables": 1}))
