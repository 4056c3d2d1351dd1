from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.commands.data import examples, file_states
from mwzeval.errors import DataError, UsageError
from mwzeval.files.downloads import DataRoot, Origin, PublicFile, embedded, public_files

CORPORA = {"old": ("db/*.json", "old.zip", "old.json"), "new": ("db/*.json", "new/*.json")}
CONTENT = b"published"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))


def root_with(folder: Path, contents: dict[str, bytes], origin: Origin = "--data") -> DataRoot:
    for local, content in contents.items():
        (folder / local).parent.mkdir(parents=True, exist_ok=True)
        (folder / local).write_bytes(content)
    blob = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
    places = ["unused.json", "old.zip", "new/2.json", "new/1.json", "db/hotel.json", "db/taxi.json"]
    published = tuple(PublicFile(place, "r", "c", place, blob) for place in places)
    return DataRoot(folder, origin, published, offline=True)


def test_every_file_of_the_corpora_has_a_state_and_those_who_read_it(tmp_path: Path) -> None:
    contents = {
        "db/hotel.json": CONTENT,
        "db/taxi.json": b"whatever",
        "new/1.json": b"mine",
        "new/3.json": b"also mine",
        "old.json": b"unpacked",
        "leaderboard.json": b"of no corpus",
        "unused.json": CONTENT,
        "new/.hidden.json": b"",
    }
    root = root_with(tmp_path / "data", contents)
    unverified = [
        replace(file, git_blob=None) if file.local == "db/taxi.json" else file
        for file in root.published
    ]
    root = replace(root, published=tuple(unverified))
    for reread in (False, True):
        states = file_states(root, CORPORA, reread=reread)
        assert [(row.local, row.state, row.corpora) for row in states] == [
            ("db/hotel.json", "published", ("old", "new")),
            ("db/taxi.json", "unverified", ("old", "new")),
            ("new/1.json", "different", ("new",)),
            ("new/2.json", "missing", ("new",)),
            ("new/3.json", "unlisted", ("new",)),
            ("old.json", "unlisted", ("old",)),
            ("old.zip", "missing", ("old",)),
        ]
        assert [row.is_foreign for row in states] == [False, False, True, False, True, True, False]


TABLES = {
    "multiwoz": "public_files.tsv",
    "crosswoz": "crosswoz/public_files.tsv",
    "pydial": "pydial/public_files.tsv",
}
OF_NO_CORPUS = ("predictions/", "references/", "data/MultiWOZ_2.2/schema.json")
"""Published responses, other references, a schema: files that no corpus is made of."""


def listed(shown: str) -> set[str]:
    return {line.split()[1] for line in shown.splitlines() if line.startswith("missing ")}


@pytest.mark.parametrize("name", [None, *TABLES])
def test_status_lists_every_public_file_of_every_benchmark(
    name: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    tables = list(TABLES.values()) if name is None else [TABLES[name]]
    files = {file.local for table in tables for file in public_files(embedded(*table.split("/")))}
    files = {file for file in files if not file.startswith(OF_NO_CORPUS)}
    assert main(["data", "status", *([name] if name else [])]) == 0
    shown = capsys.readouterr().out
    assert listed(shown) == files
    titles = [line.partition(":")[0] for line in shown.splitlines() if ": /" in line]
    assert titles == (["MultiWOZ", "CrossWOZ", "PyDial"] if name is None else titles[:1])


def test_verify_tells_a_foreign_file_of_any_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pydial" / "ontology").mkdir(parents=True)
    (tmp_path / "pydial" / "ontology" / "CamRestaurants-rules.json").write_text("{}")
    for name, code in (("pydial", 1), ("crosswoz", 0)):
        assert main(["data", "verify", name, "--data", str(tmp_path)]) == code
        assert ("different" in capsys.readouterr().out) is bool(code)
    assert main(["data", "verify", "--data", str(tmp_path)]) == 1


def test_a_download_of_one_benchmark_names_its_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    for name, file in (("pydial", "db/Laptops11-dbase.db"), ("crosswoz", "crosswoz/val.json.zip")):
        assert main(["data", "download", name]) == 2
        assert file in capsys.readouterr().err
    assert main(["data", "download", "pydail"]) == 2
    assert '"pydial"' in capsys.readouterr().err


def test_examples_are_copied_completely_and_never_overwrite(tmp_path: Path) -> None:
    source, destination = tmp_path / "source", tmp_path / "made" / "here"
    (source / "deep").mkdir(parents=True)
    (source / "a.json").write_text("a")
    (source / "deep" / "b.json").write_text("b")
    copies = [destination / "a.json", destination / "deep" / "b.json"]
    assert examples(destination, source) == copies
    assert [copy.read_text() for copy in copies] == ["a", "b"]
    copies[0].unlink()
    copies[1].write_text("mine")
    with pytest.raises(UsageError, match=r"b\.json"):
        examples(destination, source)
    assert not copies[0].exists()
    assert copies[1].read_text() == "mine"
    (tmp_path / "empty").mkdir()
    for folder, origin in ((tmp_path / "x", tmp_path / "empty"), (copies[1], source)):
        with pytest.raises(DataError):
            examples(folder, origin)
