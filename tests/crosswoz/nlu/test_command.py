"""`mwzeval crosswoz nlu train` and `predict`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz.corpus.folds import corpus_root, load_fold
from mwzeval.crosswoz.nlu.loading import load_nlu

SAMPLE = ("--revision", "sample")
QUICK = (*SAMPLE, "--fold", "val", "--epochs", "1", "--hidden", "8", "--batch-size", "8")


def nlu(*arguments: str | Path) -> int:
    return main(["crosswoz", "nlu", *map(str, arguments)])


def test_what_was_trained_without_context_predicts_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    folder, file = tmp_path / "nlu", tmp_path / "predictions.json"
    assert nlu("train", *QUICK, "--no-context", "-o", folder) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert nlu("predict", folder, *SAMPLE, "-o", file) == 0
    predicted = json.loads(file.read_text("utf-8"))
    assert predicted["_meta"]["track"] == "nlu"
    trained = load_nlu(folder)
    for name, dialogue in load_fold(corpus_root("sample"), "test", "sample").dialogues.items():
        for exchange, turn in zip(dialogue.exchanges, predicted[name], strict=True):
            acts = trained.understand(exchange.user.utterance, ("别的话",), "user")
            assert turn["user_acts"] == [list(act) for act in acts]


def test_an_encoder_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    assert nlu("train", *QUICK, "--encoder", "no-such-bert", "-o", tmp_path / "nlu") == 2
    assert "Nothing is downloaded" in capsys.readouterr().err
