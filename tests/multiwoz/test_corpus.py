"""A corpus is read from the files that were published, in every accepted layout."""

from __future__ import annotations

import gzip
import json
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
from mwzeval.multiwoz.annotations import annotations_of, annotations_of_version_22
from mwzeval.multiwoz.choices import FOLDS
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
from tests.places import shared


def linked(folder: Path, changed: str) -> Path:
    """Return a folder with the real data, in which one file has a blank more."""
    data = shared("data", "multiwoz")
    for file in data.rglob("*"):
        place = folder / file.relative_to(data)
        if file.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif file.relative_to(data).as_posix() == changed:
            place.write_bytes(file.read_bytes() + b" ")
        elif file.parts[-2] != "predictions":
            place.symlink_to(file)
    return folder


@pytest.mark.integration
def test_a_file_with_other_content_is_told_and_changes_the_digits(tmp_path: Path) -> None:
    published = load_fold(
        "multiwoz-2.2",
        "test",
        corpus_root("multiwoz-2.2", shared("data", "multiwoz"), offline=True),
    )
    data = linked(tmp_path, "db/hotel_db.json")
    other = load_fold("multiwoz-2.2", "test", corpus_root("multiwoz-2.2", data, offline=True))
    assert set(other.other_files) - set(published.other_files) == {"db/hotel_db.json"}
    assert other.checksum != published.checksum
    name, gold = next(iter(other.dialogues.items()))
    turns = [{"response": "", "state": {}} for _ in gold.references]
    evaluator = Evaluator(success=True, corpus="multiwoz-2.2", data=data)
    warnings = evaluator.score({name: turns}).report().warnings
    (warning,) = [w for w in warnings if w.kind == "other-corpus-files"]
    assert f"corpus:multiwoz-2.2@{other.checksum}" in warning.message


@pytest.mark.parametrize("values", [None, [None], [["north"]], "north", [5]])
def test_values_of_version_22_that_are_no_texts_are_named(values: object) -> None:
    frame = {"state": {"slot_values": {"hotel-area": values}}}
    turns: list[dict[str, object]] = [
        {"speaker": "USER", "utterance": "hi", "turn_id": "0", "frames": [frame]},
        {"speaker": "SYSTEM", "utterance": "hello", "turn_id": "1", "frames": []},
    ]
    dialogues = [{"dialogue_id": "SNG1.json", "turns": turns}]
    with pytest.raises(DataError, match=r"dialogues_001\.json: dialogue 0"):
        dict(annotations_of_version_22(dialogues, {}, "dialogues_001.json"))


@pytest.mark.parametrize("name", [None, 5, ["a"], " ", "(!)"])
@pytest.mark.parametrize("domain", ["restaurant", "hotel", "attraction", "train", "hospital"])
def test_a_venue_without_a_name_is_refused(domain: str, name: object, tmp_path: Path) -> None:
    key = {"train": "trainID", "hospital": "department"}.get(domain, "name")
    shutil.copytree(embedded("sample") / "db", tmp_path / "db")
    file = tmp_path / "db" / f"{domain}_db.json"
    rows = json.loads(file.read_text(encoding="utf-8"))
    rows[1][key] = name
    file.write_text(json.dumps(rows), encoding="utf-8")
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
def test_a_damaged_file_of_a_corpus_is_named_with_the_place_of_the_damage(
    content: bytes, place: str, tmp_path: Path
) -> None:
    file = tmp_path / "hotel_db.json"
    file.write_bytes(content)
    with pytest.raises(DataError, match=rf"hotel_db\.json.*{place}") as caught:
        read_data(file)
    assert "codec" not in str(caught.value)
    assert "sys." not in str(caught.value)


@pytest.mark.parametrize("utterance", [None, ["hi"], 5])
@pytest.mark.parametrize("speaker", [0, 1])
def test_utterances_that_are_no_texts_are_named(utterance: object, speaker: int) -> None:
    turns: list[dict[str, object]] = [
        {"speaker": name, "utterance": "hi", "turn_id": "0", "frames": []}
        for name in ("USER", "SYSTEM")
    ]
    turns[speaker]["utterance"] = utterance
    dialogues = [{"dialogue_id": "SNG1.json", "turns": turns}]
    with pytest.raises(DataError, match=r"dialogues_001\.json: dialogue 0"):
        dict(annotations_of_version_22(dialogues, {}, "dialogues_001.json"))
    log: list[dict[str, object]] = [{"text": "hi", "metadata": {}}, {"text": "hi", "metadata": {}}]
    log[speaker]["text"] = utterance
    with pytest.raises(TypeError):
        annotations_of(log)


def test_few_of_many_files_are_named() -> None:
    findings = Findings()
    findings.other_files("c", "12345678", [f"db/{number}.json" for number in range(5)])
    (warning,) = findings.warnings
    named = [number for number in range(5) if f"db/{number}.json" in warning.message]
    assert named == [0, 1, 2]


# MultiWOZ 2.3 in the layout of its archive: labels and coreferences, but no lists of folds

ARCHIVE = "data/MultiWOZ2_3.zip"
LISTS = {"testListFile.txt": "MUL0001.json\n", "valListFile.txt": "MUL0002.json\n"}
OF_FOLD = {"test": ["mul0001"], "dev": ["mul0002"], "train": ["sng0003"]}


def turns(area: str, destination: str) -> list[dict[str, Any]]:
    """The log of a dialogue: a restaurant, and a taxi to it, which 2.3 knows to be the same."""
    restaurant = {
        "book": {"booked": [], "day": "", "people": "", "time": ""},
        "semi": {"area": area, "food": "thai", "name": "red kettle", "pricerange": "not mentioned"},
    }
    taxi = {"book": {"booked": []}, "semi": {"destination": destination, "leaveAt": "17:00"}}
    spans = [["Restaurant-Inform", "Phone", "01223000002", 3, 3]]
    coreference = {"Taxi-Inform": [["Dest", "the restaurant", "red kettle", 1, "2-3"]]}
    log: list[dict[str, Any]] = [
        {"text": "the red kettle, please", "metadata": {}, "dialog_act": {}},
        {
            "text": "Its phone is 01223000002 .",
            "metadata": {"restaurant": restaurant},
            "span_info": spans,
        },
        {"text": "a taxi to the restaurant", "metadata": {}, "coreference": coreference},
        {"text": "It is booked.", "metadata": {"restaurant": restaurant, "taxi": taxi}},
    ]
    return [{**turn, "turn_id": number} for number, turn in enumerate(log)]


def data_json(area: str, destination: str) -> str:
    goal = {"restaurant": {"info": {"name": "red kettle"}, "reqt": ["phone"]}, "taxi": {}}
    new_goal = {"restaurant": {"info": {"name": ["red kettle"]}, "reqt": ["phone"]}}
    dialogue = {"goal": goal, "new_goal": new_goal, "log": turns(area, destination)}
    return json.dumps(
        dict.fromkeys(("MUL0001.json", "MUL0002.json", "SNG0003.json"), dialogue), indent=1
    )


def write_zip(path: Path, contents: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the archive of 2.3, whose labels are not those of 2.1 there."""
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "root"
    shutil.copytree(embedded("sample") / "db", folder / "db")
    published = {
        "MultiWOZ2_3/data.json": data_json("north", "red kettle"),
        "MultiWOZ2_3/dialogue_acts.json": "{}",
        "MultiWOZ2_3/ontology.json": "{}",
        "__MACOSX/MultiWOZ2_3/._data.json": "\0",
    }
    write_zip(folder / ARCHIVE, published)
    return folder


def write_21(root: Path) -> None:
    contents = {"data.json": data_json("centre", "the restaurant"), **LISTS}
    write_zip(
        root / "data" / "MultiWOZ_2.1.zip",
        {f"MultiWOZ_2.1/{name}": text for name, text in contents.items()},
    )


def dialogues(root: Path, fold: Any, corpus: str = "multiwoz-2.3") -> Any:
    return load_fold(corpus, fold, corpus_root(corpus, root, offline=True)).dialogues


def test_labels_are_of_23_and_folds_are_those_of_21(root: Path) -> None:
    write_21(root)
    for fold in FOLDS:
        found = dialogues(root, fold)
        assert list(found) == OF_FOLD[fold]
        (dialogue,) = found.values()
        restaurant = {"area": "north", "food": "thai", "name": "red kettle"}
        taxi = {"destination": "red kettle", "leaveAt": "17:00"}
        assert dialogue.states == (
            {"restaurant": restaurant},
            {"restaurant": restaurant, "taxi": taxi},
        )
        assert dialogue.references[0] == "its phone is PHONE."
        assert dialogue.goal["restaurant"].informable == {"name": "red kettle"}


@pytest.mark.parametrize("listed", ["data/MultiWOZ_2.1", "data/MultiWOZ2_3"])
def test_lists_may_be_files_of_their_own(root: Path, listed: str) -> None:
    with ZipFile(root / ARCHIVE) as archive:
        archive.extractall(root / "data")
    (root / ARCHIVE).unlink()
    (root / listed).mkdir(exist_ok=True)
    for name, text in LISTS.items():
        (root / listed / name).write_text(text)
    assert [list(dialogues(root, fold)) for fold in FOLDS] == [OF_FOLD[fold] for fold in FOLDS]


def test_without_lists_it_is_said_where_they_are_looked_for(root: Path) -> None:
    with pytest.raises(DataError, match="testListFile"):
        dialogues(root, "test")


def test_states_are_scored_against_the_labels_of_the_version(root: Path) -> None:
    write_21(root)
    restaurant = {"area": "north", "food": "thai", "name": "red kettle"}
    taxi = {"destination": "red kettle", "leave": "17:00"}
    states = [{"restaurant": restaurant}, {"restaurant": restaurant, "taxi": taxi}]
    predictions = {"mul0001": [{"state": state} for state in states]}
    found = {}
    for corpus in ("multiwoz-2.1", "multiwoz-2.3"):
        report = (
            Evaluator(corpus=corpus, data=root, dst_rules="exact").evaluate(predictions).to_dict()
        )
        found[corpus] = report["dst_rules"]["exact"]["joint_goal_accuracy"]["total"]
        signature = report["meta"]["signatures"]["dst.exact.joint_goal_accuracy"]
        assert signature.startswith(f"dst|corpus:{corpus}@")
    assert found == {"multiwoz-2.1": 0, "multiwoz-2.3": 100}


def test_a_download_fetches_the_lists_as_well() -> None:
    root = DataRoot(Path("nowhere"), "cache", public_files(embedded("public_files.tsv")))
    fetched = {file.local for file in root.published_matching(places(CORPORA["multiwoz-2.3"]))}
    assert {local for local in fetched if not local.startswith("db/")} == {
        ARCHIVE,
        "data/MultiWOZ_2.1.zip",
    }


# A set of ids kept as bits is a set of ids

names = st.sampled_from(
    ["a", "a#0", "a#1", "a#12", "a#999999", "a#b", "a#01", "#1", "a#1#2", "b", "b\n#3", "a#1000000"]
)


def seen(*ids: str) -> Seen:
    found = Seen()
    for name in ids:
        found.add(name)
    return found


@given(st.lists(names, max_size=20))
def test_dialogues_and_their_rollouts_are_counted_once(ids: list[str]) -> None:
    known, found = {*ids}, seen(*ids)
    dialogues = {dialogue_of(name) for name in ids}
    assert set(found) == dialogues
    assert len(found) == len(dialogues)
    for dialogue in dialogues:
        assert found.rollouts(dialogue) == sum(dialogue_of(name) == dialogue for name in known)


@given(st.sets(names), st.sets(names))
def test_what_two_sets_share_is_told_before_they_are_one(mine: set[str], theirs: set[str]) -> None:
    found, other = seen(*mine), pickle.loads(pickle.dumps(seen(*theirs)))
    assert sorted(found.common(other)) == sorted(mine & theirs)
    found.merge(other)
    assert sorted(found.common(seen(*mine, *theirs))) == sorted(mine | theirs)
    assert sorted(other.common(seen(*mine, *theirs))) == sorted(theirs)


@pytest.mark.parametrize(
    ("name", "dialogue"),
    [
        *(("sng0073", "sng0073"), ("sng0073#0", "sng0073"), ("sng0073#999999", "sng0073")),
        *((name, name) for name in ("sng0073#1000000", "sng0073#01", "sng0073#", "#3")),
        ("sng0073#1#2", "sng0073#1"),
    ],
)
def test_a_rollout_is_a_dialogue_and_a_number(name: str, dialogue: str) -> None:
    assert dialogue_of(name) == dialogue


@pytest.mark.integration
def test_a_hundred_thousand_rollouts_are_a_bit_each() -> None:
    found = seen(*(f"smp{number % 10:04}#{number // 10}" for number in range(100_000)))
    assert sum(found.rollouts(dialogue) for dialogue in found) == 100_000
    assert len(pickle.dumps(found)) < 5_000
    # Far-off rollouts are few bits far up.
    assert len(pickle.dumps(seen(*(f"smp{n:04}#999999" for n in range(1000))))) < 600_000
