"""Names of tracks and files, and zips of several submissions."""

from __future__ import annotations

import gzip
import json
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from mwzeval.dstc7.reading.submission import (
    read_submission,
    submission_text,
    tracks_in,
    write_submission,
)
from mwzeval.dstc7.reading.tracks import TRACK_NAMES, Track, track_from, track_of, track_of_file
from mwzeval.dstc7.scoring.evaluation import evaluate, validate
from mwzeval.errors import InputError, UsageError
from tests.dstc7.cases import UBUNTU, Folder, kinds, submission_of


def test_the_evaluated_pairs_are_these() -> None:
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
def test_unknown_tracks(name: str, suggested: str | None) -> None:
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
def test_official_names_say_the_track(file: str, track: Track | None) -> None:
    assert track_of_file(file) == track


def test_the_test_set_comes_from_the_name_when_the_track_does_not_say_it() -> None:
    file = "Advising_subtask_1_case2.json"
    assert track_from("dstc7-advising-1", file).case == "case2"
    assert track_from("dstc7-advising-1-case1", file).case == "case1"
    assert track_from("dstc7-advising-3", file) == Track("advising", 3)


def zipped(path: Path, **files: object) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"team/{name}.json", json.dumps(content))
    return path


def test_a_zip_has_a_submission_for_each_track(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "team.zip",
        Ubuntu_subtask_1=submission_of({"1": "A"}),
        Advising_subtask_3_case1=submission_of({"1": "B"}),
        notes={},
    )
    assert set(tracks_in(path)) == {Track("ubuntu", 1), Track("advising", 3, "case1")}
    assert read_submission(path, track=Track("advising", 3))["1"].ids == ("B",)
    evaluated = evaluate(path, Folder(tmp_path).gold("1\tA\n"), UBUNTU)
    assert evaluated.report().metrics["ranking"]["mrr"] == 1
    with pytest.raises(UsageError, match=r"Ubuntu_subtask_4\.json"):
        read_submission(path, track=Track("ubuntu", 4))
    with pytest.raises(UsageError):
        read_submission(path)


def test_damaged_zips_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "team.zip", Ubuntu_subtask_1=submission_of({"1": "A"}))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError) as caught:
        read_submission(path)
    assert kinds(caught.value.problems) == ["unreadable"]


def test_each_damage_to_a_zip_ends_in_a_located_problem_or_nothing(tmp_path: Path) -> None:
    content = [{"example-id": n, "candidate-ranking": []} for n in range(200)]
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        whole = tmp_path / "whole.zip"
        with zipfile.ZipFile(whole, "w", method) as archive:
            archive.writestr("Ubuntu_subtask_1.json", json.dumps(content))
        raw = whole.read_bytes()
        for place in range(4, len(raw), max(1, len(raw) // 40)):
            damaged = tmp_path / "damaged.zip"
            damaged.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
            with suppress(InputError, UsageError):
                read_submission(damaged, track=UBUNTU)


@pytest.mark.parametrize(
    "name",
    ["../../Ubuntu_subtask_1.json", "/etc/Ubuntu_subtask_1.json", "x\\Ubuntu_subtask_1.json"],
)
def test_a_zip_is_read_whatever_the_folders_in_it_and_never_unpacked(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "in" / "team.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, json.dumps(submission_of({"1": "A"})))
    problems = validate(path, Folder(tmp_path).gold("1\tA\n"), UBUNTU)
    assert kinds(problems) == ["too-few-candidates"]
    assert not list(tmp_path.rglob("Ubuntu_subtask_1.json"))


def test_compressed_files_in_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w") as archive:
        packed = gzip.compress(json.dumps(submission_of({"1": "A"})).encode())
        archive.writestr("Ubuntu_subtask_1.json.gz", packed)
    assert read_submission(path)["1"].ids == ("A",)


def test_two_files_of_one_track_in_a_zip_are_not_guessed_between(tmp_path: Path) -> None:
    path = tmp_path / "team.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/Ubuntu_subtask_1.json", json.dumps(submission_of({"1": "A"})))
        archive.writestr("b/Ubuntu_subtask_1.json", json.dumps(submission_of({"1": "B"})))
    with pytest.raises(UsageError, match=r"a/Ubuntu_subtask_1\.json, b/Ubuntu_subtask_1\.json"):
        read_submission(path, track=UBUNTU)


def test_a_written_submission_is_read_back(tmp_path: Path) -> None:
    rankings = [("1200001", [("TLSHF16Y4J4L", 0.61), ("NONE", 0.25)]), ("2", [("12", 1.0)])]
    write_submission(tmp_path / "s.json", rankings)
    submission = read_submission(tmp_path / "s.json")
    assert [
        (example, list(zip(r.ids, r.confidences, strict=True))) for example, r in submission.items()
    ] == rankings
    raw = json.loads((tmp_path / "s.json").read_text("utf-8"))
    assert raw[0]["example-id"] == 1200001
    assert raw[1]["candidate-ranking"][0]["candidate-id"] == 12


def test_a_confidence_that_is_not_finite_is_not_written() -> None:
    with pytest.raises(ValueError, match="A is nan"):
        submission_text([("1", [("A", float("nan"))])])
