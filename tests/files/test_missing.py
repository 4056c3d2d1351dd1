"""All files that are missing are named at once, wherever they would be looked for."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.errors import DataError
from mwzeval.files.downloads import DataRoot, MissingError, PublicFile, all_there
from tests.places import ROOT

PUBLISHED = tuple(
    PublicFile(f"db/{name}.json", "owner/repository", "c0ffee", f"{name}.json", None)
    for name in ("hotel", "train")
)
DB = ("attraction", "restaurant", "hotel", "train")
OFFLINE = {
    "multiwoz": (
        ["evaluate", "--corpus", "2.2", str(ROOT / "predictions" / "sample-good.json")],
        [*(f"db/{each}_db.json" for each in DB), "test/dialogues_002.json", "dialog_acts.json"],
    ),
    "crosswoz": (
        ["crosswoz", "statistics"],
        ["test.json.zip", *(f"database/{e}_db.json" for e in (*DB[:3], "metro"))],
    ),
    "pydial": (
        ["pydial", "play", "CR-1"],
        ["ontology/CamRestaurants-rules.json", "db/CamRestaurants-dbase.db"],
    ),
}


def test_what_calls_miss_is_told_together(tmp_path: Path) -> None:
    root = DataRoot(tmp_path, "--data", PUBLISHED, sample="--corpus sample")
    asked = [partial(root.require, place) for place in ("db/hotel.json", "db/train.json", "own")]
    with pytest.raises(MissingError) as raised:
        all_there(lambda: 1, partial(all_there, *asked[:2]), *asked)
    first, *addresses, put, sample = str(raised.value).splitlines()
    assert first.endswith("(--data): db/hotel.json, db/train.json, own")
    assert [line.rpartition(" ")[2] for line in addresses] == [file.url for file in PUBLISHED]
    assert str(tmp_path) in put
    assert "--corpus sample" in sample
    again = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(again, DataError)
    assert str(again) == str(raised.value)


def test_what_another_folder_lacks_is_told_later(tmp_path: Path) -> None:
    one, other = (DataRoot(tmp_path / name, "--data") for name in ("one", "second"))
    with pytest.raises(MissingError, match=r"one \(--data\): a\n") as raised:
        all_there(partial(one.require, "a"), partial(other.require, "b"))
    assert "second" not in str(raised.value)


def test_other_errors_come_as_they_are(tmp_path: Path) -> None:
    def fails() -> None:
        raise DataError("damaged")

    with pytest.raises(DataError, match=r"^damaged$"):
        all_there(partial(DataRoot(tmp_path, "--data").require, "a"), fails)


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("benchmark", OFFLINE)
def test_without_network_a_command_names_all_that_it_lacks(
    benchmark: str,
    is_named: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    monkeypatch.setenv("MWZEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    (tmp_path / "empty").mkdir()
    words, files = OFFLINE[benchmark]
    assert main([*words, *(["--data", "empty"] if is_named else [])]) == 2
    said = capsys.readouterr().err
    assert all(f"/{file.rpartition('/')[2]}" in said for file in files)
    assert ("(--data)" in said) == is_named
    assert (f"mwzeval data download {benchmark}" in said) != is_named
