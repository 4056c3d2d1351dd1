"""The character tagger and a tiny random BERT: learning, files, going on after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.nlu.bert import load_bert, train_bert
from mwzeval.crosswoz.nlu.examples import NluSettings, utterances
from mwzeval.crosswoz.nlu.model import KIND, MODEL_FILE, JointNlu, load_tagger
from mwzeval.crosswoz.nlu.training import train_tagger
from mwzeval.errors import InputError, UsageError
from mwzeval.neural.state import read_arrays, write_arrays
from mwzeval.neural.training import CHECKPOINT_FILE, Point, Watch
from tests.crosswoz.real_data import fold

pytest.importorskip("torch")
SMALL = NluSettings(embedding=16, hidden=16, epochs=3, learning_rate=0.01, batch_size=8)
Train = Callable[[Sequence[Dialogue], Path, NluSettings, Watch | None], JointNlu]


class Interrupted(Exception):  # noqa: N818
    """Stands for the end of a process."""


def some(count: int = 6) -> list[Dialogue]:
    return list(fold("val").dialogues.values())[:count]


def act_f1(nlu: JointNlu, dialogues: Sequence[Dialogue]) -> float:
    common = both = 0
    for dialogue in dialogues:
        said = utterances(dialogue)
        for acts, (_, gold) in zip(nlu.predict([u for u, _ in said]), said, strict=True):
            wanted, found = {comparable(act) for act in gold}, {comparable(act) for act in acts}
            common, both = common + len(wanted & found), both + len(wanted) + len(found)
    return 2 * common / both


def tiny_bert(folder: Path) -> Path:
    """Make a random BERT of a few thousand weights, with a vocabulary of the characters here."""
    transformers = pytest.importorskip("transformers")
    characters = sorted({c for d in some() for u, _ in utterances(d) for c in u.text.lower()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, *(char for char in characters if not char.isspace()), "|"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(words)), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(dict.fromkeys(words)),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def trainers(tmp_path: Path, kind: str) -> tuple[Train, Callable[[Path], JointNlu]]:
    if kind == "characters":
        return train_tagger, load_tagger
    body = tiny_bert(tmp_path / "bert")

    def train(
        dialogues: Sequence[Dialogue], folder: Path, settings: NluSettings, watch: Watch | None
    ) -> JointNlu:
        return train_bert(dialogues, body, folder, settings, watch)

    return train, load_bert


@pytest.mark.parametrize("kind", ["characters", "bert"])
@pytest.mark.exhaustive(but=1)
def test_a_run_that_was_interrupted_ends_with_the_same_bytes(tmp_path: Path, kind: str) -> None:
    train, load = trainers(tmp_path, kind)
    curve: list[Point] = []
    nlu = train(some(), tmp_path / "whole", SMALL, curve.append)
    assert [point.epoch for point in curve] == [1, 2, 3]
    losses = [point.loss or 0 for point in curve]
    assert losses[-1] < losses[0]

    def interrupt(point: Point) -> None:
        if point.epoch == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        train(some(), tmp_path / "parts", SMALL, interrupt)
    train(some(), tmp_path / "parts", SMALL, None)
    whole, parts = (tmp_path / name / MODEL_FILE for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()
    said = [utterance for utterance, _ in utterances(some()[0])]
    assert load(tmp_path / "whole").predict(said) == nlu.predict(said)
    alone = [nlu.understand(u.text, u.context, u.side) for u in said]
    assert alone == nlu.predict(said)


@pytest.mark.parametrize("kind", ["characters", "bert"])
def test_odd_utterances_are_understood_as_something(tmp_path: Path, kind: str) -> None:
    train, _ = trainers(tmp_path, kind)
    nlu = train(some(1), tmp_path / "model", SMALL, None)
    for text in ("", " ", "\n", "好", "x" * 2000, "\U0001f600", "[SEP]", "é́"):
        assert isinstance(nlu.understand(text, ["", "好\n", "y" * 999, "再"], "system"), tuple)


@pytest.mark.exhaustive
def test_a_tagger_learns_what_it_is_shown(tmp_path: Path) -> None:
    settings = NluSettings(
        embedding=32, hidden=32, epochs=40, learning_rate=0.01, batch_size=8, dropout=0.0
    )
    nlu = train_tagger(some(3), tmp_path / "model", settings)
    assert act_f1(nlu, some(3)) > 0.9


def test_predictions_have_the_form_of_a_file(tmp_path: Path) -> None:
    nlu = train_tagger(some(1), tmp_path / "model", SMALL)
    predicted = nlu.predictions(some(2))
    for dialogue in some(2):
        turns = predicted[dialogue.name]
        assert [turn["turn"] for turn in turns] == list(range(len(dialogue.exchanges)))
        assert all(set(turn) == {"turn", "user_acts", "system_acts_nlu"} for turn in turns)


def test_other_settings_and_folders_are_refused(tmp_path: Path) -> None:
    train_tagger(some(1), tmp_path / "model", SMALL)
    other = partial(train_tagger, some(1), tmp_path / "model")
    with pytest.raises(UsageError, match="other settings or data"):
        other(NluSettings(embedding=8, hidden=8, epochs=1))
    (tmp_path / "model" / CHECKPOINT_FILE).unlink()
    with pytest.raises(UsageError, match="finished model"):
        other(SMALL)
    with pytest.raises(InputError, match="no acts to learn from"):
        train_tagger([], tmp_path / "new", SMALL)
    with pytest.raises(UsageError, match="dropout cannot be 2"):
        NluSettings(dropout=2.0)


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    train_tagger(some(1), tmp_path / "model", SMALL)
    file = tmp_path / "model" / MODEL_FILE
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError):
        load_tagger(tmp_path / "model")
    train_tagger(some(1), tmp_path / "other", SMALL)
    arrays, about = read_arrays(tmp_path / "other" / MODEL_FILE, KIND)
    damages: list[dict[str, Any]] = [{"classes": ["a"]}, {"tags": [[]]}, {"settings": 1}]
    for odd in damages:
        write_arrays(file, KIND, arrays, {**about, **odd})
        with pytest.raises(InputError, match="damaged"):
            load_tagger(file)
    file.write_bytes(b"PK\x03\x04 a pickle of PyTorch")
    with pytest.raises(InputError, match="not opened"):
        load_tagger(file)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"x" * 100, b"[1]", b'{"a": ["\\ud800", null]}'])
def test_a_body_with_damaged_files_is_refused(tmp_path: Path, file: str, content: bytes) -> None:
    body = tiny_bert(tmp_path / "bert")
    (body / file).write_bytes(content)
    with pytest.raises(UsageError, match="cannot be loaded as a model"):
        train_bert(some(1), body, tmp_path / "model", SMALL)


def test_a_name_that_is_no_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(UsageError, match="cannot be loaded"):
        train_bert(some(1), tmp_path / "nothing", tmp_path / "model", SMALL)
