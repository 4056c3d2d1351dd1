"""Whether a corpus is read from the files that were published."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import read_data
from mwzeval.multiwoz.annotations import annotations_of, annotations_of_version_22
from mwzeval.multiwoz.choices import SAMPLE
from mwzeval.multiwoz.corpus import corpus_root, load_fold, read_tables
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


def changed(folder: Path, place: str, change: Callable[[Any], object]) -> Path:
    """Return a copy of the sample corpus in which a value of one file is another."""
    shutil.copytree(corpus_root(SAMPLE, None, offline=True).path, folder, dirs_exist_ok=True)
    file = folder / place
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("values", [None, [None], [["north"]], "north", [5]])
def test_values_of_version_22_that_are_no_texts_are_named(values: object) -> None:
    frame = {"state": {"slot_values": {"hotel-area": values}}}
    turns = [
        {"speaker": "USER", "utterance": "hi", "turn_id": "0", "frames": [frame]},
        {"speaker": "SYSTEM", "utterance": "hello", "turn_id": "1", "frames": []},
    ]
    dialogues = [{"dialogue_id": "SNG1.json", "turns": turns}]
    with pytest.raises(DataError, match="dialogues_001"):
        dict(annotations_of_version_22(dialogues, {}, "dialogues_001.json"))


@pytest.mark.parametrize("name", [None, 5, ["a"], " ", "(!)"])
@pytest.mark.parametrize(
    ("domain", "key"),
    [
        ("restaurant", "name"),
        ("hotel", "name"),
        ("attraction", "name"),
        ("train", "trainID"),
        ("hospital", "department"),
    ],
)
def test_a_venue_without_a_name_is_refused(
    domain: str, key: str, name: object, tmp_path: Path
) -> None:
    place = f"db/{domain}_db.json"
    folder = changed(tmp_path, place, lambda rows: rows[1].update({key: name}))
    with pytest.raises(DataError, match=f'{domain}_db.json.*"{key}"'):
        read_tables(DataRoot(folder, "--data"))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'[\n"\xff"]', "line 2, byte 2 "),
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
