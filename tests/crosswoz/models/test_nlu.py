"""The character tagger and a tiny random BERT: learning, context and external encoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.folds import corpus_root, load_fold
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.models.nlu import (
    BertNetwork,
    JointNlu,
    Labels,
    Utterance,
    load_nlu,
    train_nlu,
    utterances,
)
from mwzeval.crosswoz.training import NluSettings
from mwzeval.errors import InputError, UsageError
from tests.crosswoz.models.tiny_bert import tiny_bert
from tests.crosswoz.real_data import fold
from tests.places import read_json

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")
LEARNED_RECALL = 0.98
"""Share of gold acts that gold labels reproduce, see `test_nlu_examples.py`."""
SMALL = NluSettings(embedding=16, hidden=16, epochs=3, learning_rate=0.01, batch_size=8)
BRIEF = replace(SMALL, epochs=1)
both_kinds = pytest.mark.parametrize("kind", ["characters", "bert"])


def some(count: int = 6) -> list[Dialogue]:
    return list(fold("val").dialogues.values())[:count]


def trained(
    folder: Path, settings: NluSettings = BRIEF, *, kind: str = "characters", count: int = 1
) -> JointNlu:
    body = tiny_bert(folder / "bert") if kind == "bert" else None
    return train_nlu(some(count), folder / "model", settings, encoder=body)


@both_kinds
def test_unusual_utterances_are_accepted(tmp_path: Path, kind: str) -> None:
    nlu = trained(tmp_path, SMALL, kind=kind)
    for text in ("", " ", "\n", "好", "x" * 2000, "\U0001f600", "[SEP]", "é́"):
        assert isinstance(nlu.understand(text, ["", "好\n", "y" * 999, "再"], "system"), tuple)


def test_tagger_overfits_ten_dialogues(tmp_path: Path) -> None:
    settings = NluSettings(
        embedding=32, hidden=48, epochs=40, learning_rate=0.01, dropout=0.0, varied=0.0
    )
    nlu = trained(tmp_path, settings, count=10)
    common = both = 0
    for dialogue in some(10):
        said = utterances(dialogue)
        for acts, (_, gold) in zip(nlu.predict([u for u, _ in said]), said, strict=True):
            wanted, found = {comparable(act) for act in gold}, {comparable(act) for act in acts}
            common, both = common + len(wanted & found), both + len(wanted) + len(found)
    # Labels cannot represent all acts, for example values that are not in the utterance.
    assert 2 * common / both > 2 * LEARNED_RECALL / (1 + LEARNED_RECALL) - 0.01


@both_kinds
@pytest.mark.parametrize("reads_context", [True, False])
def test_only_models_with_context_depend_on_previous_utterances(
    tmp_path: Path, kind: str, reads_context: bool
) -> None:
    trained(tmp_path, replace(BRIEF, context=reads_context), kind=kind, count=2)
    nlu = load_nlu(tmp_path / "model")
    nlu.network.eval()
    logits = []
    for history in [(), ("",), ("你好",), ("故宫怎么样？", "好"), ("\ud800", "x" * 400, "\n")]:
        batch = [Utterance("它的电话是多少？", history, "user")]
        logits.append(torch.cat([part.flatten() for part in nlu.network(batch)]).tolist())
    assert all(row == logits[0] for row in logits) is not reads_context


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": ["\\ud800", null]}'])
def test_encoders_with_damaged_files_are_refused(tmp_path: Path, file: str, content: bytes) -> None:
    body = tiny_bert(tmp_path / "bert")
    (body / file).write_bytes(content)
    with pytest.raises(UsageError, match=body.name):
        train_nlu(some(1), tmp_path / "model", SMALL, encoder=body)


def pickled(body: Path) -> None:
    (body / "model.safetensors").rename(body / "pytorch_model.bin")


def described(**changed: Any) -> Callable[[Path], None]:
    def change(body: Path) -> None:
        config = read_json(body / "config.json")
        (body / "config.json").write_text(json.dumps({**config, **changed}), "utf-8")

    return change


def shrunk(body: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = {**read_json(body / "config.json"), "vocab_size": 20}
    transformers.BertModel(transformers.BertConfig(**config)).save_pretrained(body)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("nothing", None, "config.json, no model.safetensors, no vocab.txt"),
        ("bert-base-chinese", None, "bert-base-chinese"),
        ("bert", pickled, "no model.safetensors"),
        ("bert", described(vocab_size=20), "bert"),
        ("bert", described(num_hidden_layers=2), "16"),
        ("bert", described(model_type="gpt2"), '"gpt2"'),
        ("bert", shrunk, "bert"),
    ],
)
def test_incomplete_or_inconsistent_encoders_are_refused(
    tmp_path: Path, name: str, change: Callable[[Path], None] | None, reason: str
) -> None:
    if change is not None:
        change(tiny_bert(tmp_path / name))
    with pytest.raises(UsageError, match=reason):
        train_nlu(some(1), tmp_path / "model", SMALL, encoder=tmp_path / name)
    assert not (tmp_path / "model").exists()


def test_vocabulary_file_suffices_as_tokenizer(tmp_path: Path) -> None:
    with_tokenizer = trained(tmp_path, kind="bert")
    body = tmp_path / "bert"
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (body / name).unlink()
    nlu = train_nlu(some(1), tmp_path / "two", BRIEF, encoder=body)
    said = [utterance for utterance, _ in utterances(some(2)[1])]
    assert nlu.predict(said) == with_tokenizer.predict(said)


def test_a_trained_bert_with_another_vocabulary_is_refused(tmp_path: Path) -> None:
    trained(tmp_path, kind="bert")
    file = tmp_path / "model" / "tokenizer.json"
    tokenizer = read_json(file)
    pieces = tokenizer["model"]["vocab"]
    first, second = list(pieces)[5:7]
    pieces[first], pieces[second] = pieces[second], pieces[first]
    file.write_text(json.dumps(tokenizer), "utf-8")
    with pytest.raises(InputError, match="vocabulary"):
        load_nlu(tmp_path / "model")


def test_training_does_not_resume_with_another_encoder(tmp_path: Path) -> None:
    trained(tmp_path, kind="bert")
    with pytest.raises(UsageError, match="model"):
        train_nlu(some(1), tmp_path / "model", BRIEF, encoder=tiny_bert(tmp_path / "two", seed=1))


def test_characters_get_the_logits_of_their_word_piece(tmp_path: Path) -> None:
    """Oracle: BERT itself. Blanks, control characters and lone surrogates have no word piece."""
    transformers = pytest.importorskip("transformers")
    folder = tiny_bert(tmp_path / "bert")
    body = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    labels = Labels(("O", "B-a", "I-a"), ("General+thank+none+none",))
    network = BertNetwork(body, tokenizer, labels, SMALL).eval()
    text, context = "去 A\u0000店\ud800吗", ("你好", "好")
    before, pieces, there = ["用", *"你好|好"], ["去", "a", "店", "吗"], [0, 2, 4, 6]
    known = tokenizer.get_vocab()
    line = ["[CLS]", *before, "[SEP]", *pieces, "[SEP]"]
    numbers = [known.get(name, known["[UNK]"]) for name in line]
    first = len(before) + 2
    with torch.inference_mode():
        states = body(
            input_ids=torch.tensor([numbers]),
            token_type_ids=torch.tensor([[0] * first + [1] * (len(pieces) + 1)]),
        ).last_hidden_state[0]
        tags, classes = network(
            [Utterance(text, context, "user"), Utterance("好" * 30, ("长" * 20,), "system")]
        )
        expected = network.tags(torch.zeros(len(text), states.shape[1]))
        expected[there] = network.tags(states[first : first + len(pieces)])
        torch.testing.assert_close(tags[0, : len(text)], expected)
        torch.testing.assert_close(classes[0], network.classes(states[0]))


def test_utterances_in_a_batch_are_independent(tmp_path: Path) -> None:
    nlu = trained(tmp_path, count=2)
    nlu.network.eval()
    said = [Utterance(text, ("你好",), "user") for text in ("好", "去故宫吧", "x" * 100)]
    with torch.inference_mode():
        together = nlu.network(said)
        for row, utterance in enumerate(said):
            tags, classes = nlu.network([utterance])
            torch.testing.assert_close(together[0][row, : tags.shape[1]], tags[0])
            torch.testing.assert_close(together[1][row], classes[0])


def test_models_trained_without_context_predict_without_context(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = str(tmp_path / "nlu"), tmp_path / "predictions.json"
    fixed = ("--revision", "sample", "-o")
    quick = ("--fold", "val", "--epochs", "1", "--hidden", "8", "--batch-size", "8")
    assert main(["crosswoz", "nlu", "train", "--no-context", *quick, *fixed, folder]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["crosswoz", "nlu", "predict", folder, *fixed, str(file)]) == 0
    predicted = read_json(file)
    assert predicted["_meta"]["track"] == "nlu"
    nlu = load_nlu(folder)

    def understood(text: str, side: Any) -> list[list[str]]:
        return [list(act) for act in nlu.understand(text, ("别的话",), side)]

    for name, dialogue in load_fold(corpus_root("sample"), "test", "sample").dialogues.items():
        assert predicted[name] == [
            {
                "turn": turn,
                "user_acts": understood(exchange.user.utterance, "user"),
                "system_acts_nlu": understood(exchange.system.utterance, "system"),
            }
            for turn, exchange in enumerate(dialogue.exchanges)
        ]
