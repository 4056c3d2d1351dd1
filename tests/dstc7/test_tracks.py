"""Track names, file names, zip archives of several submissions, and TREC formats."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mwzeval.dstc7.dialogues import write_targets
from mwzeval.dstc7.evaluation import Gold, Options, evaluate, plain_metrics, validate
from mwzeval.dstc7.measures import CUTOFFS
from mwzeval.dstc7.submission import (
    read_submission,
    submission_text,
    tracks_in,
    write_submission,
)
from mwzeval.dstc7.tracks import TRACK_NAMES, Track, track_from, track_of, track_of_file
from mwzeval.dstc7.trec import read_qrels, read_run, to_qrels, to_run
from mwzeval.errors import InputError, UsageError
from tests.dstc7.cases import (
    SEVERAL,
    UBUNTU,
    Folder,
    kinds,
    loaded,
    scores,
    submission_of,
    targets_of,
)
from tests.places import ROOT


def test_track_names_are_the_evaluated_dataset_subtask_pairs() -> None:
    assert (
        *("dstc7-ubuntu-1", "dstc7-ubuntu-2", "dstc7-ubuntu-4", "dstc7-ubuntu-5"),
        *("dstc7-advising-1", "dstc7-advising-3", "dstc7-advising-4", "dstc7-advising-5"),
    ) == TRACK_NAMES
    for name in TRACK_NAMES:
        assert track_of(name).name == name
        assert track_of_file(track_of(name).file_name) == track_of(name)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        *[("dstc7-ubuntu-3", None), ("dstc7-advising-2", None), ("dstc7-ubuntu-6", None)],
        *[("dstc7-ubunto-1", '"dstc7-ubuntu-1"'), ("dstc7-ubuntu-1-case1", "advising")],
        *[("ubuntu", None), ("", None)],
    ],
)
def test_unknown_tracks_are_errors_with_suggestions(name: str, suggested: str | None) -> None:
    with pytest.raises(UsageError, match=suggested):
        track_of(name)


@pytest.mark.parametrize(
    ("file", "track"),
    [
        ("a/b/Ubuntu_subtask_1.json", Track("ubuntu", 1)),
        ("Advising_subtask_4.json.gz", Track("advising", 4)),
        ("Advising_subtask_1_case1.json", Track("advising", 1, "case1")),
        ("advising_SUBTASK_3_CASE2.json.zst", Track("advising", 3, "case2")),
        ("Ubuntu_subtask_3.json", None),
        ("Ubuntu_subtask_1_case1.json", None),
        ("Ubuntu_subtask_1.txt", None),
        ("myUbuntu_subtask_1.json", None),
        ("-", None),
    ],
)
def test_track_is_parsed_from_official_file_names(file: str, track: Track | None) -> None:
    assert track_of_file(file) == track


def test_file_name_sets_the_test_set_if_the_track_lacks_it() -> None:
    file = "Advising_subtask_1_case2.json"
    assert track_from("dstc7-advising-1", file).case == "case2"
    assert track_from("dstc7-advising-1-case1", file).case == "case1"
    assert track_from("dstc7-advising-3", file) == Track("advising", 3)


def zipped(path: Path, **examples: str) -> Path:
    """Write an archive of submissions, given name → ranking of the first example."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, ranking in examples.items():
            archive.writestr(f"{name}.json", json.dumps(submission_of({"1": ranking})))
    return path


def test_submissions_in_a_zip_are_selected_by_track(tmp_path: Path) -> None:
    names = {"team/Ubuntu_subtask_1": "A", "team/Advising_subtask_3_case1": "B", "team/notes": ""}
    path = zipped(tmp_path / "team.zip", **names)
    assert set(tracks_in(path)) == {UBUNTU, Track("advising", 3, "case1")}
    assert read_submission(path, track=SEVERAL)["1"].ids == ("B",)
    evaluated = evaluate(path, Folder(tmp_path).gold("1\tA\n"), UBUNTU)
    assert evaluated.report().metrics["ranking"]["mrr"] == 1
    with pytest.raises(UsageError, match=r"Ubuntu_subtask_4\.json"):
        read_submission(path, track=Track("ubuntu", 4))
    with pytest.raises(UsageError):
        read_submission(path)


def test_damaged_zips_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "team.zip", Ubuntu_subtask_1="A")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError) as caught:
        read_submission(path)
    assert kinds(caught.value.problems) == ["unreadable"]


@pytest.mark.parametrize("folder", ["../../", "/etc/", "x\\"])
def test_zips_with_unsafe_paths_are_read_without_extraction(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "in" / "team.zip"
    path.parent.mkdir()
    zipped(path, **{f"{folder}Ubuntu_subtask_1": "A"})
    problems = validate(path, Folder(tmp_path).gold("1\tA\n"), UBUNTU)
    assert kinds(problems) == ["too-few-candidates"]
    assert not list(tmp_path.rglob("Ubuntu_subtask_1.json"))


def test_duplicate_track_files_in_a_zip_are_errors(tmp_path: Path) -> None:
    names = {"a/Ubuntu_subtask_1": "A", "b/Ubuntu_subtask_1": "B"}
    with pytest.raises(UsageError, match=r"a/Ubuntu_subtask_1\.json, b/Ubuntu_subtask_1\.json"):
        read_submission(zipped(tmp_path / "team.zip", **names), track=UBUNTU)


def test_submissions_survive_a_write_and_read_round_trip(tmp_path: Path) -> None:
    rankings = [("1200001", [("TLSHF16Y4J4L", 0.61), ("NONE", 0.25)]), ("2", [("12", 1.0)])]
    write_submission(tmp_path / "s.json", rankings)
    submission = read_submission(tmp_path / "s.json")
    read = [
        (example, [*zip(r.ids, r.confidences, strict=True)]) for example, r in submission.items()
    ]
    assert read == rankings
    raw = json.loads((tmp_path / "s.json").read_text("utf-8"))
    assert raw[0]["example-id"] == 1200001
    assert raw[1]["candidate-ranking"][0]["candidate-id"] == 12


def test_writing_a_non_finite_confidence_is_an_error() -> None:
    with pytest.raises(ValueError, match="A is nan"):
        submission_text([("1", [("A", float("nan"))])])


def test_trec_runs_have_six_columns_and_falling_scores() -> None:
    inputs = loaded(submission_of({"1": "A B B C"}), "1\tA\n")
    assert to_run(inputs.submission) == (
        "1 Q0 A 1 -1 mwzeval\n1 Q0 B 2 -2 mwzeval\n1 Q0 C 3 -3 mwzeval\n"
    )


def test_trec_qrels_have_four_columns() -> None:
    assert to_qrels({"1": ("A", "B", "A")}) == "1 0 A 1\n1 0 B 1\n"


@pytest.mark.parametrize("order", ["list", "confidence"])
def test_trec_round_trip_preserves_scores(order: Any, tmp_path: Path) -> None:
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


def test_trec_eval_scores_of_converted_files_equal_ours(tmp_path: Path) -> None:
    ir_measures: Any = pytest.importorskip("ir_measures", reason="the dev extra has it")
    gold = ROOT / "data" / "dstc7" / "advising_responses_subtask_3.tsv"
    evaluated = evaluate(ROOT / "predictions" / "dstc7-overlap" / SEVERAL.file_name, Gold(gold))
    run = Folder(tmp_path).write("a.run", to_run(evaluated.loaded.submission))
    qrels = Folder(tmp_path).write("a.qrels", to_qrels(evaluated.loaded.targets))
    names = {
        "RR": "mrr",
        "AP": "map",
        **{f"Success@{k}": f"recall@{k}" for k in CUTOFFS},
        **{f"R@{k}": f"set_recall@{k}" for k in CUTOFFS},
    }
    measures = {name: ir_measures.parse_measure(name) for name in names}
    read = ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
    theirs = ir_measures.calc_aggregate([*measures.values()], *map(list, read))
    ours = scores(evaluated)
    shown = {name: ours[names[name]] for name in names if names[name] in ours}
    assert {"RR", "AP", "Success@10", "R@10"} <= shown.keys()
    assert shown == pytest.approx({name: theirs[measures[name]] for name in shown}, abs=1e-6)


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
def test_malformed_trec_files_are_errors(
    read: Any, text: str, kind: str, place: str | None, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=place) as caught:
        read(Folder(tmp_path).write("a.txt", text))
    assert kinds(caught.value.problems) == [kind]


def test_ids_with_spaces_cannot_be_written_to_trec_runs() -> None:
    inputs = loaded(submission_of({"1": [("A B", 1.0)]}), "1\tA\n", UBUNTU)
    with pytest.raises(UsageError, match="A B"):
        to_run(inputs.submission)
