"""MultiWOZ 2.3 in the layout of its archive: labels and coreferences, but no lists of folds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot, embedded, public_files
from mwzeval.multiwoz.choices import FOLDS
from mwzeval.multiwoz.corpus import CORPORA, corpus_root, load_fold, places
from mwzeval.multiwoz.evaluator import Evaluator
from tests.places import ROOT

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


def write_zip(path: Path, contents: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the archive of 2.3, whose labels are not those of 2.1 there."""
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "root"
    shutil.copytree(ROOT / "data" / "sample" / "db", folder / "db")
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


@pytest.mark.parametrize(
    "listed",
    ["data/MultiWOZ_2.1", "data/MultiWOZ2_3"],
    ids=["in the folder of 2.1", "beside data.json"],
)
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
