"""A corpus is read from the published files in every accepted layout."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot, embedded, public_files
from mwzeval.files.reading import read_data
from mwzeval.multiwoz import FOLDS, Fold
from mwzeval.multiwoz.annotations import annotations_of, annotations_of_version_22
from mwzeval.multiwoz.corpus import (
    CORPORA,
    Seen,
    corpus_root,
    dialogue_of,
    load_fold,
    places,
    read_tables,
)
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.findings import Findings
from tests.places import read_json, shared, write_json


@pytest.mark.integration
def test_changed_corpus_files_are_reported_and_change_the_checksum(tmp_path: Path) -> None:
    real, data = shared("data", "multiwoz"), tmp_path / "data"
    shutil.copytree(
        real, data, copy_function=os.symlink, ignore=shutil.ignore_patterns("predictions")
    )
    file = data / "db" / "hotel_db.json"
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content + b" ")
    published, other = (
        load_fold("multiwoz-2.2", "test", corpus_root("multiwoz-2.2", folder, offline=True))
        for folder in (real, data)
    )
    assert set(other.other_files) - set(published.other_files) == {"db/hotel_db.json"}
    assert other.checksum != published.checksum
    name, gold = next(iter(other.dialogues.items()))
    turns = [{"response": "", "state": {}} for _ in gold.references]
    evaluator = Evaluator(success=True, corpus="multiwoz-2.2", data=data)
    warnings = evaluator.score({name: turns}).report().warnings
    (warning,) = [w for w in warnings if w.kind == "other-corpus-files"]
    assert f"corpus:multiwoz-2.2@{other.checksum}" in warning.message


def annotated(values: object = (), user: object = "hi", system: object = "hello") -> Any:
    """Return a dialogue of MultiWOZ 2.2."""
    frame = {"state": {"slot_values": {"hotel-area": values} if values != () else {}}}
    turns = [
        {"speaker": "USER", "utterance": user, "turn_id": "0", "frames": [frame]},
        {"speaker": "SYSTEM", "utterance": system, "turn_id": "1", "frames": []},
    ]
    return {"dialogue_id": "SNG1.json", "turns": turns}


@pytest.mark.parametrize(
    "dialogue",
    [
        *(annotated(values) for values in (None, [None], [["north"]], "north", [5])),
        *(annotated(user=utterance) for utterance in (None, ["hi"], 5)),
        *(annotated(system=utterance) for utterance in (None, ["hi"], 5)),
    ],
)
def test_non_string_values_and_utterances_are_errors(dialogue: Any) -> None:
    with pytest.raises(DataError, match=r"dialogues_001\.json: dialogue 0"):
        dict(annotations_of_version_22([dialogue], {}, "dialogues_001.json"))
    texts = [turn["utterance"] for turn in dialogue["turns"]]
    if texts != ["hi", "hello"]:
        with pytest.raises(TypeError):
            annotations_of([{"text": text, "metadata": {}} for text in texts])


@pytest.mark.parametrize("name", [None, 5, ["a"], " ", "(!)"])
@pytest.mark.parametrize("domain", ["restaurant", "hotel", "attraction", "train", "hospital"])
def test_venues_without_a_valid_name_are_errors(domain: str, name: object, tmp_path: Path) -> None:
    key = {"train": "trainID", "hospital": "department"}.get(domain, "name")
    shutil.copytree(embedded("sample") / "db", tmp_path / "db")
    file = tmp_path / "db" / f"{domain}_db.json"
    rows = read_json(file)
    rows[1][key] = name
    write_json(file, rows)
    with pytest.raises(DataError, match=f'{domain}_db.json.*"{key}"'):
        read_tables(DataRoot(tmp_path, "--data"))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'[\n"\xff"]', "line 2, byte 2"),
        (b'[\n"a" "b"]', "line 2, column 5"),
        (b"[\n" + b"9" * 5000 + b"]", "digits"),
        (b"[" * 10**5, "nested too deeply"),
        (gzip.compress(b"[]", mtime=0)[:-3] + b"xxx", "damaged"),
    ],
)
def test_damaged_json_files_are_errors_with_a_position(
    content: bytes, place: str, tmp_path: Path
) -> None:
    file = tmp_path / "hotel_db.json"
    file.write_bytes(content)
    with pytest.raises(DataError, match=rf"hotel_db\.json.*{place}"):
        read_data(file)


def test_warning_names_at_most_three_changed_files() -> None:
    findings = Findings()
    findings.other_files("c", "12345678", [f"db/{number}.json" for number in range(5)])
    (warning,) = findings.warnings
    named = [number for number in range(5) if f"db/{number}.json" in warning.message]
    assert named == [0, 1, 2]


# MultiWOZ 2.3 in the layout of its archive, which has no fold lists

ARCHIVE = "data/MultiWOZ2_3.zip"
LISTS = {"testListFile.txt": "MUL0001.json\n", "valListFile.txt": "MUL0002.json\n"}
DIALOGUE: dict[Fold, str] = {"test": "mul0001", "dev": "mul0002", "train": "sng0003"}


def data_json(area: str, destination: str) -> str:
    """Return a data.json with three copies of a dialogue: a restaurant, and a taxi to it."""
    constraints = {"area": area, "food": "thai", "name": "red kettle"}
    restaurant = {
        "book": {"booked": [], "day": "", "people": "", "time": ""},
        "semi": {**constraints, "pricerange": "not mentioned"},
    }
    taxi = {"book": {"booked": []}, "semi": {"destination": destination, "leaveAt": "17:00"}}
    log: list[dict[str, Any]] = [
        {"text": "the red kettle, please", "metadata": {}, "dialog_act": {}},
        {
            "text": "Its phone is 01223000002 .",
            "metadata": {"restaurant": restaurant},
            "span_info": [["Restaurant-Inform", "Phone", "01223000002", 3, 3]],
        },
        {
            "text": "a taxi to the restaurant",
            "metadata": {},
            "coreference": {"Taxi-Inform": [["Dest", "the restaurant", "red kettle", 1, "2-3"]]},
        },
        {"text": "It is booked.", "metadata": {"restaurant": restaurant, "taxi": taxi}},
    ]
    dialogue = {
        "goal": {"restaurant": {"info": {"name": "red kettle"}, "reqt": ["phone"]}, "taxi": {}},
        "new_goal": {"restaurant": {"info": {"name": ["red kettle"]}, "reqt": ["phone"]}},
        "log": [{**turn, "turn_id": number} for number, turn in enumerate(log)],
    }
    return json.dumps({f"{name.upper()}.json": dialogue for name in DIALOGUE.values()}, indent=1)


def write_zip(path: Path, contents: dict[str, str]) -> None:
    path.parent.mkdir(exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the archive of MultiWOZ 2.3 and the database."""
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "root"
    shutil.copytree(embedded("sample") / "db", folder / "db")
    published = {
        "MultiWOZ2_3/data.json": data_json("north", "red kettle"),
        "MultiWOZ2_3/dialogue_acts.json": "{}",
        "__MACOSX/MultiWOZ2_3/._data.json": "\0",
    }
    write_zip(folder / ARCHIVE, published)
    return folder


@pytest.fixture
def root_with_21(root: Path) -> Path:
    """The folder with an additional archive of MultiWOZ 2.1, which has other labels."""
    contents = {"data.json": data_json("centre", "the restaurant"), **LISTS}
    members = {f"MultiWOZ_2.1/{name}": text for name, text in contents.items()}
    write_zip(root / "data" / "MultiWOZ_2.1.zip", members)
    return root


def dialogues(root: Path, fold: Fold) -> Any:
    return load_fold(
        "multiwoz-2.3", fold, corpus_root("multiwoz-2.3", root, offline=True)
    ).dialogues


RESTAURANT = {"area": "north", "food": "thai", "name": "red kettle"}


def test_version_23_has_separate_labels_and_the_folds_of_21(root_with_21: Path) -> None:
    taxi = {"destination": "red kettle", "leaveAt": "17:00"}
    for fold in FOLDS:
        ((name, dialogue),) = dialogues(root_with_21, fold).items()
        assert name == DIALOGUE[fold]
        assert dialogue.states == (
            {"restaurant": RESTAURANT},
            {"restaurant": RESTAURANT, "taxi": taxi},
        )
        assert dialogue.references[0] == "its phone is PHONE."
        assert dialogue.goal["restaurant"].informable == {"name": "red kettle"}


@pytest.mark.parametrize("listed", ["data/MultiWOZ_2.1", "data/MultiWOZ2_3"])
def test_fold_lists_are_read_from_separate_files(root: Path, listed: str) -> None:
    with ZipFile(root / ARCHIVE) as archive:
        archive.extractall(root / "data")
    (root / ARCHIVE).unlink()
    (root / listed).mkdir(exist_ok=True)
    for name, text in LISTS.items():
        (root / listed / name).write_text(text)
    assert {fold: [*dialogues(root, fold)] for fold in FOLDS} == {
        fold: [name] for fold, name in DIALOGUE.items()
    }


def test_missing_fold_list_error_names_the_file(root: Path) -> None:
    with pytest.raises(DataError, match="testListFile"):
        dialogues(root, "test")


def test_states_are_scored_with_labels_of_the_corpus_version(root_with_21: Path) -> None:
    taxi = {"destination": "red kettle", "leave": "17:00"}
    states = [{"restaurant": RESTAURANT}, {"restaurant": RESTAURANT, "taxi": taxi}]
    predictions = {"mul0001": [{"state": state} for state in states]}
    found = {}
    for corpus in ("multiwoz-2.1", "multiwoz-2.3"):
        evaluator = Evaluator(corpus=corpus, data=root_with_21, dst_rules="exact")
        report = evaluator.evaluate(predictions).to_dict()
        found[corpus] = report["dst_rules"]["exact"]["joint_goal_accuracy"]["total"]
        signature = report["meta"]["signatures"]["dst.exact.joint_goal_accuracy"]
        assert signature.startswith(f"dst|corpus:{corpus}@")
    assert found == {"multiwoz-2.1": 0, "multiwoz-2.3": 100}


def test_version_23_download_includes_the_archive_of_21() -> None:
    root = DataRoot(Path("nowhere"), "cache", public_files(embedded("public_files.tsv")))
    fetched = {file.local for file in root.published_matching(places(CORPORA["multiwoz-2.3"]))}
    assert {local for local in fetched if not local.startswith("db/")} == {
        ARCHIVE,
        "data/MultiWOZ_2.1.zip",
    }


# Sets of rollout ids

ROLLOUTS = {
    **dict.fromkeys(("a", "a#0", "a#1", "a#12", "a#999999"), "a"),
    **{name: name for name in ("a#b", "a#01", "a#1000000", "a#", "#1", "b")},
    **{"a#1#2": "a#1", "b\n#3": "b\n"},
}
"""Rollout id → dialogue."""
ids = st.sets(st.sampled_from([*ROLLOUTS]))


def set_of(*ids: str) -> Seen:
    found = Seen()
    for name in ids:
        found.add(name)
    return found


@given(ids, ids)
def test_rollout_sets_support_counts_intersection_and_union(
    mine: set[str], theirs: set[str]
) -> None:
    found, other = set_of(*mine, *mine), pickle.loads(pickle.dumps(set_of(*theirs)))
    assert {name: dialogue_of(name) for name in ROLLOUTS} == ROLLOUTS
    listed = [ROLLOUTS[name] for name in mine]
    assert {name: found.rollouts(name) for name in found} == {
        name: listed.count(name) for name in listed
    }
    assert sorted(found.common(other)) == sorted(mine & theirs)
    found.merge(other)
    everything = set_of(*mine, *theirs)
    assert sorted(found.common(everything)) == sorted(mine | theirs)
    assert sorted(other.common(everything)) == sorted(theirs)


@pytest.mark.integration
def test_rollout_sets_use_compact_storage() -> None:
    found = set_of(*(f"smp{number % 10:04}#{number // 10}" for number in range(100_000)))
    assert sum(found.rollouts(dialogue) for dialogue in found) == 100_000
    assert len(pickle.dumps(found)) < 5_000
    # Sets with only high rollout numbers are also compact.
    assert len(pickle.dumps(set_of(*(f"smp{n:04}#999999" for n in range(1000))))) < 600_000
