"""The character tagger and a tiny random BERT: learning, files, going on after an interruption."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

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
from mwzeval.neural import Watch
from tests.crosswoz.models.tiny_bert import tiny_bert
from tests.crosswoz.real_data import fold

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")
LEARNED_RECALL = 0.98
"""Share of gold acts that labels give back, see `test_examples.py`."""
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


def train_bert(
    dialogues: Sequence[Dialogue], body: str | Path, folder: Path, settings: NluSettings
) -> JointNlu:
    return train_nlu(dialogues, folder, settings, encoder=body)


def trainer(tmp_path: Path, kind: str) -> Train:
    if kind == "characters":
        return train_nlu
    return partial(train_nlu, encoder=tiny_bert(tmp_path / "bert"))


@pytest.mark.parametrize("kind", ["characters", "bert"])
def test_odd_utterances_are_understood_as_something(tmp_path: Path, kind: str) -> None:
    train = trainer(tmp_path, kind)
    nlu = train(some(1), tmp_path / "model", SMALL, None)
    for text in ("", " ", "\n", "好", "x" * 2000, "\U0001f600", "[SEP]", "é́"):
        assert isinstance(nlu.understand(text, ["", "好\n", "y" * 999, "再"], "system"), tuple)


def test_a_tagger_learns_ten_dialogues(tmp_path: Path) -> None:
    settings = NluSettings(
        embedding=32, hidden=48, epochs=40, learning_rate=0.01, dropout=0.0, varied=0.0
    )
    nlu = train_nlu(some(10), tmp_path / "model", settings)
    # What the labels cannot say, such as values that do not stand in the utterance, is lost.
    sayable = 2 * LEARNED_RECALL / (1 + LEARNED_RECALL)
    assert act_f1(nlu, some(10)) > sayable - 0.01


@pytest.mark.parametrize("kind", ["characters", "bert"])
@pytest.mark.parametrize("reads_context", [True, False])
def test_only_a_model_with_context_reads_what_was_said_before(
    tmp_path: Path, kind: str, reads_context: bool
) -> None:
    train = trainer(tmp_path, kind)
    train(some(2), tmp_path / "model", replace(SMALL, epochs=1, context=reads_context), None)
    nlu = load_nlu(tmp_path / "model")
    nlu.network.eval()
    histories = [(), ("",), ("你好",), ("故宫怎么样？", "好"), ("\ud800", "x" * 400, "\n")]
    logits = []
    for history in histories:
        said = [Utterance("它的电话是多少？", history, "user")]
        logits.append(torch.cat([part.flatten() for part in nlu.network(said)]).tolist())
    assert all(each == logits[0] for each in logits) is not reads_context
    if not reads_context:
        for utterance, _ in utterances(some(3)[2]):
            alone = nlu.understand(utterance.text, (), utterance.side)
            assert nlu.understand(utterance.text, utterance.context, utterance.side) == alone


def test_predictions_have_the_form_of_a_file(tmp_path: Path) -> None:
    nlu = train_nlu(some(1), tmp_path / "model", SMALL)
    for dialogue in some(2):
        turns = nlu.exchanges(dialogue)
        assert len(turns) == len(dialogue.exchanges)
        assert all(set(turn) == {"user_acts", "system_acts_nlu"} for turn in turns)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": ["\\ud800", null]}'])
def test_a_body_with_damaged_files_is_refused(tmp_path: Path, file: str, content: bytes) -> None:
    body = tiny_bert(tmp_path / "bert")
    (body / file).write_bytes(content)
    with pytest.raises(UsageError, match=body.name):
        train_bert(some(1), body, tmp_path / "model", SMALL)


def test_an_encoder_needs_its_files(tmp_path: Path) -> None:
    body = tiny_bert(tmp_path / "bert")
    (body / "model.safetensors").rename(body / "pytorch_model.bin")
    for encoder, names in (
        (tmp_path / "nothing", "config.json, no model.safetensors, no vocab.txt"),
        ("bert-base-chinese", "bert-base-chinese"),
        (body, "no model.safetensors"),
    ):
        with pytest.raises(UsageError, match=names):
            train_bert(some(1), encoder, tmp_path / "model", SMALL)
    assert not (tmp_path / "model").exists()


def test_a_vocabulary_file_alone_is_enough(tmp_path: Path) -> None:
    body = tiny_bert(tmp_path / "bert")
    with_tokenizer = train_bert(some(1), body, tmp_path / "one", replace(SMALL, epochs=1))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (body / name).unlink()
    nlu = train_bert(some(1), body, tmp_path / "two", replace(SMALL, epochs=1))
    said = [utterance for utterance, _ in utterances(some(2)[1])]
    assert nlu.predict(said) == with_tokenizer.predict(said)


def test_foreign_encoders_are_refused(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    body = tiny_bert(tmp_path / "bert")
    config = json.loads((body / "config.json").read_text("utf-8"))

    def refuses(match: str) -> None:
        with pytest.raises(UsageError, match=match):
            train_bert(some(1), body, tmp_path / "model", SMALL)

    (body / "config.json").write_text(json.dumps({**config, "vocab_size": 20}), "utf-8")
    refuses("bert")
    (body / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}), "utf-8")
    refuses("16")
    (body / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}), "utf-8")
    refuses('"gpt2"')
    small = transformers.BertConfig(**{**config, "vocab_size": 20})
    transformers.BertModel(small).save_pretrained(body)
    refuses("bert")


def test_a_trained_bert_with_another_vocabulary_is_refused(tmp_path: Path) -> None:
    body, model = tiny_bert(tmp_path / "bert"), tmp_path / "model"
    train_bert(some(1), body, model, replace(SMALL, epochs=1))
    text = (model / "tokenizer.json").read_text("utf-8")
    tokenizer = json.loads(text)
    pieces = tokenizer["model"]["vocab"]
    first, second = (piece for piece in list(pieces)[5:7])
    pieces[first], pieces[second] = pieces[second], pieces[first]
    (model / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    with pytest.raises(InputError, match="vocabulary"):
        load_nlu(model)


def test_a_run_does_not_go_on_with_another_encoder(tmp_path: Path) -> None:
    model = tmp_path / "model"
    train_bert(some(1), tiny_bert(tmp_path / "one"), model, replace(SMALL, epochs=1))
    with pytest.raises(UsageError, match="model"):
        train_bert(some(1), tiny_bert(tmp_path / "two"), model, replace(SMALL, epochs=1))


def test_each_character_gets_the_logits_of_its_piece(tmp_path: Path) -> None:
    """Against BERT called by hand. Blanks, control characters and lone surrogates have no piece."""
    transformers = pytest.importorskip("transformers")
    folder = tiny_bert(tmp_path / "bert")
    body = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    labels = Labels(("O", "B-a", "I-a"), ("General+thank+none+none",))
    network = BertNetwork(body, tokenizer, labels, SMALL).eval()
    text, context = "去 A\u0000店\ud800吗", ("你好", "好")
    before = ["用", *"你好|好"]
    pieces = ["去", "a", "店", "吗"]
    there = [0, 2, 4, 6]
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


def test_neighbours_in_a_batch_change_nothing(tmp_path: Path) -> None:
    nlu = train_nlu(some(2), tmp_path / "model", replace(SMALL, epochs=1))
    nlu.network.eval()
    said = [Utterance(text, ("你好",), "user") for text in ("好", "去故宫吧", "x" * 100)]
    with torch.inference_mode():
        together = nlu.network(said)
        for row, utterance in enumerate(said):
            tags, classes = nlu.network([utterance])
            torch.testing.assert_close(together[0][row, : tags.shape[1]], tags[0])
            torch.testing.assert_close(together[1][row], classes[0])


SAMPLE = ("--revision", "sample")
QUICK = (*SAMPLE, "--fold", "val", "--epochs", "1", "--hidden", "8", "--batch-size", "8")


def run(*arguments: str | Path) -> int:
    return main(["crosswoz", "nlu", *map(str, arguments)])


def test_what_was_trained_without_context_predicts_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "nlu", tmp_path / "predictions.json"
    assert run("train", *QUICK, "--no-context", "-o", folder) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert run("predict", folder, *SAMPLE, "-o", file) == 0
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
    assert run("train", *QUICK, "--encoder", "no-such-bert", "-o", tmp_path / "nlu") == 2
    assert "no-such-bert" in capsys.readouterr().err
