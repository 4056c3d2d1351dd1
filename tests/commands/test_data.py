from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.commands.data import format_states
from mwzeval.files.downloads import (
    DataRoot,
    Origin,
    PublicFile,
    embedded,
    file_states,
    public_files,
)

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


STATUS = """\
{root} (given by --data; nothing is downloaded into it)

state       file           corpora
published   db/hotel.json  old, new
unverified  db/taxi.json   old, new
different   new/1.json     new
              expected git blob 374c4065770179576e306a2e4a7772746f91f156
              found    git blob c7ad82cb7ae7fd2cde76c1bf23ecf25aa7a8693a
missing     new/2.json     new
unlisted    new/3.json     new
              expected git blob (not among the published files)
              found    git blob 1b356174a140883383b9ad35a2268af60e23fb5b
unlisted    old.json       old
              expected git blob (not among the published files)
              found    git blob 826a4ece885645319e72d56621f63c75f8a9f3f4
missing     old.zip        old

old  1 published, 1 unverified, 1 unlisted, 1 missing
new  1 published, 1 different, 1 unverified, 1 unlisted, 1 missing

Scores that are computed with other files are not scores on the published data; the checksum in \
their signature shows this."""
"""Git blob ids are those of `git hash-object`."""


@pytest.mark.parametrize("origin", ["--data", "cache"])
def test_every_file_of_the_corpora_has_a_state_and_those_who_read_it(
    tmp_path: Path, origin: Origin
) -> None:
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
    root = root_with(tmp_path / "data", contents, origin)
    unverified = [
        replace(file, git_blob=None) if file.local == "db/taxi.json" else file
        for file in root.published
    ]
    root = replace(root, published=tuple(unverified))
    expected = STATUS.format(root=root.path)
    if origin == "cache":
        first = "the user's cache; missing files are downloaded on first use"
        expected = expected.replace("given by --data; nothing is downloaded into it", first)
        expected += (
            "\nFiles in the cache that differ are not used; they are downloaded again when needed."
        )
    for reread in (False, True):
        assert format_states(root, file_states(root, CORPORA, reread=reread)) == expected


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


def test_examples_are_copied_completely_and_never_overwrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    destination = tmp_path / "made" / "here"
    destination.mkdir(parents=True)
    (destination / "other.txt").write_text("stays")
    assert main(["data", "examples", str(destination)]) == 0
    assert (destination / "other.txt").read_text() == "stays"
    source = embedded("predictions")
    copies = {path.relative_to(source): path for path in source.rglob("*") if path.is_file()}
    printed = [
        Path(line).relative_to(destination) for line in capsys.readouterr().out.split("\n")[:-1]
    ]
    assert printed == sorted(copies)
    assert all((destination / name).read_bytes() == copies[name].read_bytes() for name in copies)
    mine = destination / printed[0]
    mine.write_text("mine")
    for place in (destination, mine):
        assert main(["data", "examples", str(place)]) == 2
        assert str(place) in capsys.readouterr().err
    assert mine.read_text() == "mine"
