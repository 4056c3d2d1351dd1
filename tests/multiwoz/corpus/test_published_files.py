"""Whether a corpus is read from the files that were published."""

from __future__ import annotations

from pathlib import Path

from mwzeval.multiwoz.corpus.corpora import corpus_root, load_fold
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
    assert ": not the published content" in warning.message
    assert f"corpus:multiwoz-2.2@{other.checksum}" in warning.message


def test_few_of_many_files_are_named() -> None:
    findings = Findings()
    findings.other_files("c", "12345678", [f"db/{number}.json" for number in range(5)])
    (warning,) = findings.warnings
    assert warning.message.startswith("db/0.json, db/1.json, db/2.json and 2 more: not the")
