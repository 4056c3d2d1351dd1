"""TRADE: its network against other ways to compute the same, learning, files, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.cli import main
from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.dialogues import Dialogue, dialogue_from_json
from mwzeval.crosswoz.models.trade import (
    END,
    FILLED,
    MODEL_FILE,
    PADDING,
    SLOTS,
    SPECIAL,
    SYSTEM,
    UNKNOWN,
    USER,
    Example,
    TradeNetwork,
    TradeTracker,
    train_trade,
)
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.training import TradeSettings
from mwzeval.errors import InputError
from mwzeval.neural import reproducible
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import DEPENDENT, small_gold, write_world
from tests.places import read_json

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")
save = pytest.importorskip("safetensors.numpy").save
DIALOGUES = list(small_gold().fold.dialogues.values())
SMALL = TradeSettings(hidden=8, characters=True, epochs=3, batch_size=2)
BY_HEART = replace(SMALL, hidden=32, dropout=0.0, epochs=50, learning_rate=0.02)


class Interrupted(Exception):  # noqa: N818
    """Stands for the end of a process."""


def trained(folder: Path, settings: TradeSettings = SMALL) -> TradeTracker:
    return train_trade(DIALOGUES, DIALOGUES, folder, settings)[0]


def with_words(utterance: str) -> Dialogue:
    """Return a dialogue whose user begins with other words."""
    plain: dict[str, Any] = json.loads(json.dumps(DEPENDENT))
    plain["messages"][0]["content"] = utterance
    return dialogue_from_json("odd", plain)


def states(dialogue: Dialogue) -> list[dict[str, dict[str, str]]]:
    return [sparse(exchange.system.first_query) for exchange in dialogue.exchanges]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> TradeTracker:
    """Return a tracker that knows the dialogues by heart."""
    return trained(tmp_path_factory.mktemp("learned"), BY_HEART)


def test_states_are_learned_by_heart(learned: TradeTracker) -> None:
    assert [learned.track(dialogue) for dialogue in DIALOGUES] == list(map(states, DIALOGUES))


@pytest.mark.slow
def test_ten_real_dialogues_are_learned_by_heart(tmp_path: Path) -> None:
    dialogues = sorted(fold("val").dialogues.values(), key=lambda each: len(each.exchanges))[:10]
    settings = TradeSettings(
        hidden=64, dropout=0.0, batch_size=2, epochs=70, learning_rate=0.003, seed=1
    )
    tracker, _ = train_trade(dialogues, dialogues, tmp_path, settings)
    assert [tracker.track(dialogue) for dialogue in dialogues] == list(map(states, dialogues))


def test_gold_states_of_what_is_tracked_are_not_looked_at(learned: TradeTracker) -> None:
    blind = json.loads(json.dumps(DEPENDENT))
    for message in blind["messages"][1::2]:
        for query in ("sys_state", "sys_state_init"):
            for slots in message[query].values():
                slots.update({slot: "" for slot in slots if slot != "selectedResults"})
    assert learned.track(dialogue_from_json("1", blind)) == learned.track(DIALOGUES[0])


def test_predictions_are_scored_as_full_joint_accuracy(learned: TradeTracker) -> None:
    about = {"dataset": "crosswoz", "track": "dst", "conditioning": "predicted_history"}
    plain = {"_meta": about, **{of.name: learned.exchanges(of) for of in DIALOGUES}}
    report = evaluate(plain, small_gold(), Options()).report()
    scores = {(score.name, score.scope): score.value for score in report.scores}
    assert scores["dst.joint_full", "total"] == 100


def test_neither_threads_nor_batches_change_what_is_tracked(learned: TradeTracker) -> None:
    found = []
    for threads, size in product((1, 2, 5), (1, 3, 64)):
        with reproducible(replace(SMALL, threads=threads)):
            found.append([*map(replace(learned, batch_size=size).exchanges, DIALOGUES)])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("text", ["", " ", "\n", "x" * 3000, "\U0001f600", "\0", "é́ 1小时 - 2小时"])
def test_odd_words_are_tracked_somehow(learned: TradeTracker, text: str) -> None:
    found = learned.track(with_words(text))
    assert len(found) == 4
    json.dumps(found, ensure_ascii=False).encode()


def test_half_a_surrogate_pair_is_refused(learned: TradeTracker, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='dialogue "odd", turn 0'):
        learned.track(with_words("去\ud800"))
    with pytest.raises(InputError, match='dialogue "odd"'):
        train_trade([with_words("\udfff")], DIALOGUES, tmp_path / "new", SMALL)
    assert not (tmp_path / "new").exists()


OPTIONS = ("--epochs", "2", "--hidden", "8", "--batch-size", "4")


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
    assert dst("train", "--data", data, "-o", model, "--characters", *OPTIONS) == 0
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
    capsys.readouterr()
    warnings = read_json(tmp_path / "scores.json")["meta"]["warnings"]
    assert "seen-in-training" in {warning["kind"] for warning in warnings}
    assert dst("conventions", output, "--data", data) == 2
    assert "docs/crosswoz.md" in capsys.readouterr().err


def test_without_the_training_fold_part_of_val_is_held_out(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "train.json").unlink()
    train = ("train", "--data", data, "-o", tmp_path / "model", *OPTIONS)
    assert dst(*train) == 2
    assert "train.json" in capsys.readouterr().err
    assert dst(*train, "--fold", "val") == 2
    assert "--hold-out" in capsys.readouterr().err
    assert dst(*train, "--fold", "val", "--hold-out", "2") == 2
    assert "hold-out" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    assert dst(*train, "--fold", "val", "--hold-out", "1") == 0
    assert (tmp_path / "model" / MODEL_FILE).is_file()
    note = tmp_path / "model" / "learned_from.json"
    assert json.loads(note.read_text())["learned_from"] == ["val"]
    note.write_text('{"learned_from": "val"}')
    capsys.readouterr()
    predict = ("predict", tmp_path / "model", "--data", data, "--fold", "val")
    assert dst(*predict, "-o", tmp_path / "out.json") == 2
    assert "learned_from" in capsys.readouterr().err


def test_what_is_no_tracker_is_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / MODEL_FILE).write_bytes(b"PK\x03\x04")  # a pickle of PyTorch
    call = ("predict", tmp_path, "--data", data, "--fold", "val", "-o", tmp_path / "out.json")
    assert dst(*call) == 2
    assert MODEL_FILE in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


VOCABULARY = SPECIAL + 4
SETTINGS = TradeSettings(hidden=6, dropout=0.0, longest_value=7)


def example(words: Sequence[int], **values: Sequence[int]) -> Example:
    """Return an example; `s3` are the words of slot 3."""
    slots = {int(name[1:]): tuple(of) for name, of in values.items()}
    unknown = tuple(f"unknown {n}" for n in range(max(0, max(words) + 1 - VOCABULARY)))
    return Example(np.array(words, dtype=np.int32), unknown, slots)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads cost more than they bring with so few numbers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


EXAMPLES = [
    example([USER, 5, 6, 9, 10, 9], s0=(9, 10), s7=(5,), s25=(8, 9, 6)),
    example([USER, 5, 9, SYSTEM, 7, 7, 8, USER, 6, 6, 5], s3=(9,), s0=(7, 7)),
    example([USER]),
]


def network(seed: int = 1, scale: float = 3.0) -> Any:
    """Return a network of double precision whose weights are large enough to tell words apart."""
    torch.manual_seed(seed)
    made = TradeNetwork(VOCABULARY, SETTINGS).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(scale)
        made.words.weight[PADDING] = 0
        made.gate.bias[FILLED] += scale
    return made


def test_the_encoder_is_a_bidirectional_layer() -> None:
    """PyTorch's own, over packed histories, with the same weights; directions are summed."""
    made = network()
    oracle = torch.nn.GRU(6, 6, batch_first=True, bidirectional=True).double()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(oracle, f"{name}_l0").data = getattr(made.forwards, f"{name}_l0").data
        getattr(oracle, f"{name}_l0_reverse").data = getattr(made.backwards, f"{name}_l0").data
    histories, encoded, whole = made.encode(EXAMPLES)
    for row, each in enumerate(EXAMPLES):
        length = len(each.words)
        assert histories[row, :length].tolist() == each.words.tolist()
        assert (histories[row, length:] == PADDING).all()
        known = torch.from_numpy(np.where(each.words < VOCABULARY, each.words, UNKNOWN))
        states, last = oracle(made.words(known).unsqueeze(0))
        torch.testing.assert_close(encoded[row, :length], states[0, :, :6] + states[0, :, 6:])
        torch.testing.assert_close(whole[row], last.sum(dim=0)[0])


def plain_gru(layer: Any, value: Any, state: Any) -> Any:
    """Return the next state of a recurrent layer, by its definition (Cho et al., 2014)."""
    of = {name: weight.detach().numpy() for name, weight in layer.named_parameters()}
    mine = of["weight_ih_l0"] @ value + of["bias_ih_l0"]
    theirs = of["weight_hh_l0"] @ state + of["bias_hh_l0"]
    reset, update = (1 / (1 + np.exp(-(mine[i : i + 6] + theirs[i : i + 6]))) for i in (0, 6))
    new = np.tanh(mine[12:] + reset * theirs[12:])
    return (1 - update) * new + update * state


def softmax(scores: Any) -> Any:
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def plain_loss(made: Any, each: Example) -> float:
    """Return the negative log-likelihood of a state, slot by slot, word by word."""
    words = made.words.weight.detach().numpy()
    known = np.where(each.words < VOCABULARY, each.words, UNKNOWN)
    ahead, back = [np.zeros(6)], [np.zeros(6)]
    for number in known:
        ahead.append(plain_gru(made.forwards, words[number], ahead[-1]))
    for number in known[::-1]:
        back.append(plain_gru(made.backwards, words[number], back[-1]))
    encoded = np.array(ahead[1:]) + np.array(back[:0:-1])
    whole = ahead[-1] + back[-1]
    names = list(dict.fromkeys(slot for _, slot in SLOTS))
    domains = list(dict.fromkeys(domain for domain, _ in SLOTS))
    total = 0.0
    for number, (domain, name) in enumerate(SLOTS):
        value = made.domains.weight[domains.index(domain)] + made.slots.weight[names.index(name)]
        value = value.detach().numpy()
        state = plain_gru(made.decoder, value, whole)
        seen = softmax(encoded @ state) @ encoded
        of_gate = made.gate.weight.detach().numpy() @ np.concatenate([state, seen])
        gate = softmax(of_gate + made.gate.bias.detach().numpy())
        total -= np.log(gate[FILLED if number in each.values else 1 - FILLED])
        for word in (*each.values[number], END) if number in each.values else ():
            looks = softmax(encoded @ state)
            seen = looks @ encoded
            given = np.concatenate([state, seen, value])
            score = made.switch.weight.detach().numpy()[0] @ given + made.switch.bias.item()
            share = 1 / (1 + np.exp(-score))
            chance = (1 - share) * looks[each.words == word].sum()
            if word < VOCABULARY:
                chance += share * softmax(words @ state)[word]
            total -= np.log(chance)
            value = words[word if word < VOCABULARY else UNKNOWN]
            state = plain_gru(made.decoder, value, state)
    return total


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_loss_is_the_likelihood_of_the_state(scale: float) -> None:
    made = network(scale=scale)
    losses = [plain_loss(made, each) for each in EXAMPLES]
    assert made.loss(EXAMPLES).item() == pytest.approx(sum(losses) / 3, rel=1e-9)
    for each, loss in zip(EXAMPLES, losses, strict=True):
        assert made.loss([each]).item() == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [-30.0, 0.0, 30.0])
def test_what_is_written_is_the_likeliest_word_by_word(seed: int, share: float) -> None:
    """Every word is the best of all by the likelihood that training uses, given those before.

    Also where everything is copied, or nothing.
    """
    made = network(seed, scale=4.0)
    made.switch.bias.data.fill_(share)
    for each in EXAMPLES[:2]:  # the third has nothing to copy
        with torch.inference_mode():
            histories, encoded, whole = made.encode([each])
            inputs, states = made.begin(whole)
            _, seen = made.attend(states, encoded, histories)
            filled = made.gate(torch.cat([states, seen], dim=2)).argmax(dim=2)[0] == FILLED
            (found,) = made.states([each])
            assert set(found) <= set(filled.nonzero().flatten().tolist())
            for slot, value in found.items():
                first = inputs[:, slot], states[:, slot], encoded, histories
                assert len(value) <= SETTINGS.longest_value
                assert share >= 0 or set(value) <= set(each.words.tolist())
                assert share <= 0 or max(value) < VOCABULARY
                choices = [END, *range(SPECIAL, VOCABULARY + len(each.unknown))]
                complete = [*value, END][: SETTINGS.longest_value]
                for place, word in enumerate(complete):
                    chances = {}
                    for choice in choices:
                        begun = [*value[:place], choice]
                        chances[choice] = made.likelihoods([begun], *first)[place].item()
                    assert word == max(chances, key=lambda choice: chances[choice])


def test_examples_do_not_change_each_other() -> None:
    made = network(2, scale=4.0)
    with torch.inference_mode():
        together = made.states(EXAMPLES)
        assert together == [made.states([each])[0] for each in EXAMPLES]
    assert any(together)


def test_words_are_read_as_unknown_only_in_training() -> None:
    made = TradeNetwork(VOCABULARY, TradeSettings(hidden=6, dropout=0.5))
    torch.manual_seed(0)
    assert made.loss(EXAMPLES).item() != made.loss(EXAMPLES).item()
    made.eval()
    assert made.loss(EXAMPLES).item() == made.loss(EXAMPLES).item()
