"""Where the corpus is found, what is said when it is another, and the list of public files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.corpus.folds import (
    CONVLAB2,
    PUBLIC_FILES,
    RELEASE,
    corpus_root,
    load_gold,
)
from mwzeval.errors import DataError
from mwzeval.files.downloads import embedded, public_files, state_of
from tests.crosswoz.small_world import DEPENDENT, SINGLE, write_world
from tests.places import shared


def test_every_public_file_that_is_at_hand_is_the_published_one() -> None:
    root = corpus_root(data=shared("data", "crosswoz"))
    states = {file.local: state_of(root, file) for file in root.published}
    assert "different" not in states.values()
    there = {local for local, state in states.items() if state == "published"}
    assert {"crosswoz/test.json.zip", "convlab2_revision/test.json.zip"} < there
    assert {local for local in states if "train" in local} == {
        "crosswoz/train.json.zip",
        "convlab2_revision/train.json.zip",
    }
    listed = shared("data", "crosswoz", "public_files.tsv").read_text("utf-8").splitlines()[1:]
    blobs = {line.split("\t")[3] for line in listed}
    assert {file.git_blob for file in root.published} == blobs


def test_the_list_of_public_files_is_embedded() -> None:
    assert len(public_files(embedded(NAME, PUBLIC_FILES))) == 18


@pytest.mark.parametrize("revision", [RELEASE, CONVLAB2])
@pytest.mark.parametrize("place", [("data", "crosswoz"), ("data",)])
def test_both_revisions_are_found_in_their_folder_and_beside_other_benchmarks(
    revision: str, place: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_DATA", str(shared(*place)))
    root = corpus_root(revision)
    assert (root.path, root.origin) == (shared("data", "crosswoz"), "MWZEVAL_DATA")


@pytest.mark.exhaustive
def test_a_fold_is_loaded_with_what_is_known_beside_it() -> None:
    gold = load_gold(data=shared("data"))
    assert len(gold.fold.dialogues) == 500
    assert gold.system_vocabulary is not None
    assert len(gold.system_vocabulary) == 155
    assert list(gold.other_folds) == ["val"]
    assert len(gold.other_folds["val"]) == 500
    assert not gold.other_folds["val"] & gold.fold.dialogues.keys()


def test_a_user_may_have_a_corpus_of_her_own(tmp_path: Path) -> None:
    gold = load_gold(data=write_world(tmp_path))
    assert list(gold.fold.dialogues) == ["1", "2"]
    assert gold.system_vocabulary is None
    assert gold.database.named("景点", "小园") is not None


def test_a_fold_that_is_another_one_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "crosswoz"
    shutil.copytree(shared("data", "crosswoz", "crosswoz", "database"), folder / "database")
    shutil.copy(shared("data", "crosswoz", "crosswoz", "val.json.zip"), folder / "val.json.zip")
    # The archive's member keeps its name; a user renames both.
    content = shared("data", "crosswoz", "crosswoz", "val.json.zip").read_bytes()
    (folder / "test.json.zip").write_bytes(content)
    with pytest.raises(DataError, match=r"is not the test fold.*crosswoz/val\.json\.zip"):
        load_gold(data=tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps({"1": DEPENDENT}, ensure_ascii=False).encode("gbk"), "GBK"),
        (b"{", "cannot be read"),
        (b"[]", "expected an object"),
        (b'{"1": {"type": "?"}}', r'test\.json: dialogue "1": type: unknown type "\?"'),
        (json.dumps({"1": {**SINGLE, "messages": []}}).encode(), '"1": messages: user and system'),
    ],
)
def test_a_damaged_fold_is_told(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_gold(data=write_world(tmp_path, content))


def test_a_missing_fold_names_its_address(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"githubusercontent.*test\.json\.zip"):
        load_gold(data=tmp_path)
