"""TRADE from the command line: on any fold that is there, and never on the same one twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz.trade.conventions import CONVENTIONS
from mwzeval.crosswoz.trade.model import MODEL_FILE
from tests.crosswoz.small_world import write_world

pytest.importorskip("torch")
SMALL = ("--epochs", "2", "--hidden", "8", "--batch-size", "4")


def dst(*arguments: str | Path) -> int:
    return main(["crosswoz", "dst", *map(str, arguments)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with a training and a validation fold, without a test fold."""
    folder = write_world(tmp_path / "data")
    fold = (folder / "test.json").read_bytes()
    (folder / "test.json").unlink()
    (folder / "train.json").write_bytes(fold)
    (folder / "val.json").write_bytes(fold)
    return folder


def test_the_training_fold_is_learned_where_it_is(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, output = tmp_path / "model", tmp_path / "states.json"
    assert dst("train", "--data", data, "-o", model, "--characters", *SMALL) == 0
    curve = capsys.readouterr().out.splitlines()
    assert curve[0].split() == ["epoch", "loss", "joint", "accuracy"]
    assert [line.split()[0] for line in curve[1:]] == ["1", "2"]
    assert dst("predict", model, "--data", data, "--fold", "val", "-o", output) == 0
    plain = json.loads(output.read_text(encoding="utf-8"))
    about = plain.pop("_meta")
    assert (about["split"], about["track"]) == ("val", "dst")
    assert about["conditioning"] == "predicted_history"
    assert about["learned_from"] == ["train", "val"]
    assert {name: len(turns) for name, turns in plain.items()} == {"1": 4, "2": 1}
    scored = ("--benchmark", "crosswoz", "--data", str(data), "-o", str(tmp_path / "scores.json"))
    assert main(["evaluate", str(output), *scored]) == 0
    assert "has seen the val fold in training" in capsys.readouterr().err
    assert dst("conventions", output, "--data", data, "--fold", "val") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["total", "S", "CM"]
    assert len(lines) == 1 + len(CONVENTIONS)


def test_without_the_training_fold_part_of_val_is_held_out(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "train.json").unlink()
    train = ("train", "--data", data, "-o", tmp_path / "model", *SMALL)
    assert dst(*train) == 2
    assert "train.json" in capsys.readouterr().err
    assert dst(*train, "--fold", "val") == 2
    assert "--hold-out" in capsys.readouterr().err
    assert dst(*train, "--fold", "val", "--hold-out", "2") == 2
    assert "between 1 and 1" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    assert dst(*train, "--fold", "val", "--hold-out", "1") == 0
    assert (tmp_path / "model" / MODEL_FILE).is_file()
    note = tmp_path / "model" / "learned_from.json"
    assert json.loads(note.read_text())["learned_from"] == ["val"]
    note.write_text('{"learned_from": "val"}')
    capsys.readouterr()
    predict = ("predict", tmp_path / "model", "--data", data, "--fold", "val")
    assert dst(*predict, "-o", tmp_path / "out.json") == 2
    assert "no list learned_from" in capsys.readouterr().err


def test_what_is_no_tracker_is_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / MODEL_FILE).write_bytes(b"PK\x03\x04")
    call = ("predict", tmp_path, "--data", data, "--fold", "val", "-o", tmp_path / "out.json")
    assert dst(*call) == 2
    assert "not opened" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
