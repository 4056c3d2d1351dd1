"""Results from table rows: intervals, comparison, explanation, page and leaderboard table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.comparison import compare
from mwzeval.dstc7.evaluation import (
    Options,
    ScoredSubmission,
    evaluate,
    explain,
    mean_final,
    score,
)
from mwzeval.dstc7.leaderboard import CHANCE, published_document, read_results, tables_of
from mwzeval.dstc7.loading import Gold, gold_in, sample_gold
from mwzeval.dstc7.tracks import TRACK_NAMES, Track, track_of
from mwzeval.errors import DataError, InputError, UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.scores.explanation import explanation_text
from mwzeval.scores.report import Report
from mwzeval.scores.sheets import Document, to_text
from tests.dstc7.cases import (
    UBUNTU,
    WITH_NONE,
    Folder,
    loaded,
    ranks,
    sample_submission,
    scores,
    submission_of,
)
from tests.places import read_json, shared

WORDS = benchmark_named("dstc7").words


def sample(system: str, name: str = "dstc7-ubuntu-1") -> ScoredSubmission:
    track = track_of(name)
    return evaluate(sample_submission(track, system), sample_gold(track), track)


@pytest.mark.parametrize("name", TRACK_NAMES)
def test_overlap_baseline_scores_above_random_on_the_sample(name: str) -> None:
    track, final = track_of(name), []
    for system in ("overlap", "random"):
        submission, strict = sample_submission(track, system), Options(strict=True)
        evaluated = evaluate(submission, sample_gold(track), options=strict)
        assert evaluated.loaded.track == track
        assert {problem.kind for problem in evaluated.warnings} <= {"pool-size"}
        assert evaluated.report().meta["note"]
        final.append(scores(evaluated)["final"])
    assert final[0] > final[1]


def test_other_submissions_cannot_be_scored_on_the_sample(tmp_path: Path) -> None:
    path = Folder(tmp_path).write("Ubuntu_subtask_1.json", submission_of({"1200001": "A B"}))
    with pytest.raises(InputError, match="--targets"):
        evaluate(path, sample_gold(UBUNTU), UBUNTU)


def test_submissions_with_different_orders_cannot_be_compared() -> None:
    raw, targets = submission_of({"1": "A B"}), "1\tA\n"
    by_list = score(loaded(raw, targets)).scored_table
    by_confidence = score(loaded(raw, targets, options=Options(order="confidence"))).scored_table
    with pytest.raises(UsageError, match="order"):
        compare({"list": by_list, "confidence": by_confidence})


def test_example_order_does_not_change_scores() -> None:
    evaluated = sample("overlap", "dstc7-ubuntu-4")
    shuffled = dict(reversed(list(evaluated.loaded.submission.items())))
    again = score(replace(evaluated.loaded, submission=shuffled))
    assert again.report().metrics == evaluated.report().metrics


def test_mean_over_tracks_lists_the_covered_tracks() -> None:
    chosen = {name: sample("overlap", name) for name in ("dstc7-ubuntu-1", "dstc7-ubuntu-4")}
    mean, covered = mean_final(chosen)
    values = [scores(submission)["final"] for submission in chosen.values()]
    assert mean == pytest.approx(sum(values) / 2)
    assert covered == tuple(chosen)
    with pytest.raises(ValueError, match="submission"):
        mean_final({})


def test_explanation_shows_context_and_higher_ranked_candidates() -> None:
    evaluated = sample("overlap")
    rank = dict(zip(evaluated.units(), ranks(evaluated), strict=True))
    example = next(name for name, place in rank.items() if 1 < place <= 10)
    explanation = explain(evaluated.loaded, example)
    said = [message.utterance for message in evaluated.loaded.examples[example].messages]
    assert [turn.utterances[0].text for turn in explanation.turns[:-1]] == said
    ranked = explanation.turns[-1].facts
    assert [fact.label for fact in ranked[:10]] == [str(place) for place in range(1, 11)]
    assert ranked[rank[example] - 1].scope == "right"
    assert explanation.outcomes == {"total": {"recall@1": False, "recall@10": True}}
    [reason] = explanation.reasons
    assert (reason.outcome, reason.code.partition(":")[0]) == ("recall@1", "ranked-below")
    assert str(rank[example]) in reason.text
    assert said[0] in explanation_text(explanation, goal=WORDS.goal)


LOST = {
    "": ("A", {"1": "A B"}),
    "not-submitted": ("A", {}),
    "empty-ranking": ("A", {"1": ""}),
    "not-ranked": ("A", {"1": "B C"}),
    "no-none": ("NONE", {"1": "B C"}),
    "none-first": ("A", {"1": "NONE A"}),
    "none-below:2": ("NONE", {"1": "A NONE"}),
    "ranked-below:2": ("A", {"1": "B A"}),
    "ranked-below:3-5": ("A", {"1": "B C D E A"}),
    "ranked-below:over-100": ("A", {"1": " ".join([*(f"B{n}" for n in range(100)), "A"])}),
}


@pytest.mark.parametrize("code", LOST)
def test_each_failure_has_a_reason_code_and_success_has_none(code: str) -> None:
    answer, rankings = LOST[code]
    inputs = loaded(submission_of(rankings), f"1\t{answer}\n", WITH_NONE)
    explanation = explain(inputs, "1")
    assert {reason.code for reason in explanation.reasons} == ({code} if code else set())
    assert explanation.outcomes["total"]["recall@1"] is (code == "")


def test_f_score_explanation_marks_the_selected_candidates() -> None:
    raw = submission_of({"1": [("A", 0.7), ("B", 0.25), ("C", 0.05)]})
    inputs = loaded(raw, "1\tC\n", options=Options(metric="fscore"))
    explanation = explain(inputs, "1")
    assert explanation.outcomes["total"] == {"selected": False}
    assert explanation.reasons[0].code == "not-selected"
    marks = [fact.scope for fact in explanation.turns[-1].facts]
    assert marks == ["selected", "selected", "right"]


def test_explaining_an_unknown_example_is_an_error() -> None:
    with pytest.raises(UsageError, match='"92000'):
        explain(sample("overlap").loaded, "920001")


def test_gold_files_are_found_by_their_standard_names(tmp_path: Path) -> None:
    names = {
        "targets": "advising_responses_subtask_1.tsv",
        "case2 targets": "advising_responses_subtask_1_case2.tsv",
        "case2 dialogues": "advising_test_subtask_1_case2.json.gz",
        "dev dialogues": "ubuntu_dev_subtask_2.json",
        "pool": "ubuntu_subtask_2_candidates.tsv",
    }
    paths = {key: Folder(tmp_path).write(name, "") for key, name in names.items()}
    assert gold_in(tmp_path, Track("advising", 5)) == Gold(paths["targets"])
    second = Gold(paths["case2 targets"], paths["case2 dialogues"])
    assert gold_in(tmp_path, Track("advising", 1, "case2")) == second
    dev = Gold(None, paths["dev dialogues"], paths["pool"])
    assert gold_in(tmp_path, Track("ubuntu", 2), "dev") == dev
    with pytest.raises(DataError, match=r"ubuntu_responses_subtask_1\.tsv"):
        gold_in(tmp_path, UBUNTU)
    with pytest.raises(DataError, match=r"ubuntu_train_subtask_1\.json"):
        gold_in(tmp_path, UBUNTU, "train")
    with pytest.raises(UsageError, match="split"):
        gold_in(tmp_path, UBUNTU, "tests")


def half_right() -> ScoredSubmission:
    rankings = {str(n): "A B" if n % 2 else "B A" for n in range(1, 101)}
    targets = "".join(f"{n}\tA\n" for n in range(1, 101))
    return score(loaded(submission_of(rankings), targets))


@pytest.mark.integration
def test_published_results_equal_their_sources() -> None:
    source = read_json(shared("data", "dstc7", "published_results.json"))
    rows = [
        (row.system, {name: figure.value for name, figure in row.figures.items()})
        for table in read_results().tables
        for row in table.rows
        if row.kind == "published"
    ]
    best = [(f["recall@10"], f["mrr"]) for name, f in rows if name.startswith("best of")]
    official = source["official_best_scores"]["values"]
    assert len(best) == len(official) == 12
    assert {*best} == {(value["best_recall@10"], value["best_mrr"]) for value in official}
    systems = [*source["systems"], *source["organisers_baseline"]]
    published = [f for _, f in rows if any(f.items() <= system.items() for system in systems)]
    assert len(published) >= len(rows) - 12


def test_all_sources_are_cited_by_published_rows() -> None:
    results = read_results()
    used = {row.source for table in results.tables for row in table.rows if row.kind == "published"}
    assert used == set(results.sources)


@pytest.mark.parametrize("name", TRACK_NAMES)
def test_every_track_has_published_result_tables(name: str) -> None:
    results = read_results()
    tables = tables_of(results, track_of(name))
    cases = {table.keys["case"] for table in tables if table.keys["split"] == "test"}
    assert cases in ({None}, {"case1", "case2"})
    assert to_text(published_document(results, tables))


def placed(split: str, report: Report) -> Document:
    results = read_results()
    tables = [table for table in tables_of(results, UBUNTU) if table.keys["split"] == split]
    return published_document(results, tables, replace(report, name="mine"))


def test_submission_is_inserted_by_score_with_its_interval() -> None:
    document = placed("test", half_right().report(Resampling(samples=100)))
    names = [row[0].text for row in document.sheets[0].rows]
    # The submission has a Recall@10 of 1, more than all published systems.
    assert names[:2] == ["» mine", "  95 % interval"]
    assert names[-1] == CHANCE
    assert [r["value"] for r in document.records if not r["published"]][:2] == [0.5, 1.0]


def test_submissions_on_test_are_excluded_from_dev_tables() -> None:
    assert all(record["published"] for record in placed("dev", half_right().report()).records)


def test_unofficial_scores_cannot_be_placed_in_published_tables() -> None:
    inputs = loaded(submission_of({"1": "A"}), "1\tA\n", options=Options(compat="2018"))
    with pytest.raises(UsageError, match="official"):
        placed("test", score(inputs).report())


def test_each_test_set_has_a_separate_table() -> None:
    results = read_results()
    tables = tables_of(results, track_of("dstc7-advising-3-case2"))
    assert [table.title for table in tables if table.keys["split"] == "test"] == [
        "dstc7-advising-3 case2 test"
    ]
    with pytest.raises(UsageError, match="advising-3"):
        tables_of(replace(results, tables=()), track_of("dstc7-advising-3"))


def test_files_without_published_results_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.json"):
        read_results(Folder(tmp_path).write("x.json", {"tables": 1}))
