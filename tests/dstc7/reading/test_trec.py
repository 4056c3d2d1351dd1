"""To TREC's formats and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.reading.submission import read_submission, write_submission
from mwzeval.dstc7.reading.targets import write_targets
from mwzeval.dstc7.reading.tracks import track_of
from mwzeval.dstc7.reading.trec import read_qrels, read_run, to_qrels, to_run
from mwzeval.dstc7.scoring.evaluation import Gold, Options, evaluate, plain_metrics
from mwzeval.errors import InputError, UsageError
from tests.dstc7.cases import SEVERAL, UBUNTU, Folder, kinds, loaded, submission_of, targets_of
from tests.places import ROOT, shared


def test_a_run_has_six_columns_and_falling_scores() -> None:
    inputs = loaded(submission_of({"1": "A B B C"}), "1\tA\n")
    assert to_run(inputs.submission, tag="mine") == (
        "1 Q0 A 1 -1 mine\n1 Q0 B 2 -2 mine\n1 Q0 C 3 -3 mine\n"
    )


def test_qrels_have_four_columns() -> None:
    assert to_qrels({"1": ("A", "B", "A")}) == "1 0 A 1\n1 0 B 1\n"


@pytest.mark.parametrize("order", ["list", "confidence"])
def test_the_way_there_and_back_keeps_the_scores(order: Any, tmp_path: Path) -> None:
    folder, options = Folder(tmp_path), Options(order=order)
    raw = submission_of({"1": [("A", 0.2), ("B", 0.9), ("C", 0.9)], "2": "D E"})
    correct = {"1": "C,A", "2": "Q", "3": "R"}
    before = folder.evaluated(raw, targets_of(correct), SEVERAL, options)
    run = folder.write("a.run", to_run(before.loaded.submission, options))
    qrels = folder.write("a.qrels", to_qrels(before.loaded.targets))
    write_submission(tmp_path / SEVERAL.file_name, read_run(run))
    targets = folder.write("back.tsv", write_targets(read_qrels(qrels)))
    after = evaluate(tmp_path / SEVERAL.file_name, Gold(targets), SEVERAL)
    assert plain_metrics(after) == plain_metrics(before)


def test_trec_eval_gives_the_same_scores_for_what_was_converted(tmp_path: Path) -> None:
    ir_measures: Any = pytest.importorskip("ir_measures", reason="the dev extra has it")
    track = track_of("dstc7-advising-3")
    submission = read_submission(ROOT / "predictions" / "dstc7-overlap" / track.file_name)
    gold = ROOT / "data" / "dstc7" / "advising_responses_subtask_3.tsv"
    evaluated = evaluate(ROOT / "predictions" / "dstc7-overlap" / track.file_name, Gold(gold))
    run = Folder(tmp_path).write("a.run", to_run(submission))
    qrels = Folder(tmp_path).write("a.qrels", to_qrels(evaluated.loaded.targets))
    names = {"RR": "mrr", "AP": "map", "Success@10": "recall@10", "R@10": "set_recall@10"}
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.calc_aggregate(
        measures,
        list(ir_measures.read_trec_qrels(str(qrels))),
        list(ir_measures.read_trec_run(str(run))),
    )
    ours = {s.name: s.value for s in evaluated.report().scores}
    for measure in measures:
        assert ours[names[str(measure)]] == pytest.approx(theirs[measure], abs=1e-6)


@pytest.mark.parametrize(
    ("read", "text", "kind", "place"),
    [
        (read_run, "1 Q0 A 1 -1\n", "malformed-trec", "line 1"),
        (read_run, "1 Q0 A 1 high x\n", "malformed-trec", "line 1"),
        (read_run, "1 Q0 A 1 inf x\n", "malformed-trec", "line 1"),
        (read_run, "1 Q0 A 1 -1 x\n1 Q0 a 2 -2 x\n", "duplicate-candidate", "line 2"),
        (read_run, "", "empty-file", None),
        (read_qrels, "1 0 A\n", "malformed-trec", "line 1"),
        (read_qrels, "1 0 A x\n", "malformed-trec", "line 1"),
        (read_qrels, "1 0 A 0\n", "malformed-targets", None),
    ],
)
def test_malformed_files(
    read: Any, text: str, kind: str, place: str | None, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=place) as caught:
        read(Folder(tmp_path).write("a.txt", text))
    assert kinds(caught.value.problems) == [kind]


def test_an_id_with_a_blank_has_no_place_in_columns() -> None:
    inputs = loaded(submission_of({"1": [("A B", 1.0)]}), "1\tA\n", UBUNTU)
    with pytest.raises(UsageError, match="A B"):
        to_run(inputs.submission)


@pytest.mark.integration
def test_a_thousand_rankings_go_there_and_back(tmp_path: Path) -> None:
    source = shared("golden", "dstc7", "large_predictions.json.gz")
    submission = read_submission(source)
    run = Folder(tmp_path).write("a.run", to_run(submission))
    again = {example: [c for c, _ in ranking] for example, ranking in read_run(run)}
    assert again == {example: list(ranking.ids) for example, ranking in submission.items()}
