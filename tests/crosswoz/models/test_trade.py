"""TRADE: the network compared with plain NumPy code, learning, files and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
from mwzeval.crosswoz.training import TradeSettings
from mwzeval.errors import InputError
from mwzeval.neural import reproducible
from tests.command_lines import Ran, Run
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import DEPENDENT, small_gold, write_folds
from tests.places import read_json

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")
DIALOGUES = list(small_gold().fold.dialogues.values())
SMALL = TradeSettings(hidden=8, characters=True, epochs=3, batch_size=2)
BY_HEART = replace(SMALL, hidden=32, dropout=0.0, epochs=50, learning_rate=0.02)


def trained(folder: Path, settings: TradeSettings = SMALL) -> TradeTracker:
    return train_trade(DIALOGUES, DIALOGUES, folder, settings)[0]


def with_words(utterance: str) -> Dialogue:
    """Return a dialogue with another first utterance."""
    plain: dict[str, Any] = json.loads(json.dumps(DEPENDENT))
    plain["messages"][0]["content"] = utterance
    return dialogue_from_json("odd", plain)


def states(dialogue: Dialogue) -> list[dict[str, dict[str, str]]]:
    return [sparse(exchange.system.first_query) for exchange in dialogue.exchanges]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> TradeTracker:
    """Return a tracker that is overfitted to the dialogues."""
    return trained(tmp_path_factory.mktemp("learned"), BY_HEART)


def test_tracker_overfits_small_world_dialogues(learned: TradeTracker) -> None:
    assert [learned.track(dialogue) for dialogue in DIALOGUES] == list(map(states, DIALOGUES))


@pytest.mark.slow
def test_tracker_overfits_ten_real_dialogues(tmp_path: Path) -> None:
    dialogues = sorted(fold("val").dialogues.values(), key=lambda d: len(d.exchanges))[:10]
    settings = TradeSettings(
        hidden=64, dropout=0.0, batch_size=2, epochs=70, learning_rate=0.003, seed=1
    )
    tracker, _ = train_trade(dialogues, dialogues, tmp_path, settings)
    assert [tracker.track(dialogue) for dialogue in dialogues] == list(map(states, dialogues))


def test_tracking_ignores_gold_states(learned: TradeTracker) -> None:
    blind = json.loads(json.dumps(DEPENDENT))
    for message in blind["messages"][1::2]:
        for query in ("sys_state", "sys_state_init"):
            for slots in message[query].values():
                slots.update({slot: "" for slot in slots if slot != "selectedResults"})
    assert learned.track(dialogue_from_json("1", blind)) == learned.track(DIALOGUES[0])


def test_threads_and_batch_size_do_not_change_tracked_states(learned: TradeTracker) -> None:
    found = []
    for threads, size in product((1, 2, 5), (1, 3, 64)):
        with reproducible(replace(SMALL, threads=threads)):
            found.append([*map(replace(learned, batch_size=size).exchanges, DIALOGUES)])
    assert all(result == found[0] for result in found)


@pytest.mark.parametrize("text", ["", " ", "\n", "x" * 3000, "\U0001f600", "\0", "é́ 1小时 - 2小时"])
def test_unusual_utterances_give_serialisable_states(learned: TradeTracker, text: str) -> None:
    found = learned.track(with_words(text))
    assert len(found) == 4
    json.dumps(found, ensure_ascii=False).encode()


def test_lone_surrogates_are_refused(learned: TradeTracker) -> None:
    with pytest.raises(InputError, match='dialogue "odd", turn 0'):
        learned.track(with_words("去\ud800"))


OPTIONS = ("--epochs", "2", "--hidden", "8", "--batch-size", "4")


def dst(run: Run, verb: str, *arguments: str | Path) -> Ran:
    return run("crosswoz", "dst", verb, *map(str, arguments))


def test_train_fold_is_used_when_available(tmp_path: Path, run: Run) -> None:
    data = write_folds(tmp_path / "data", train=["1", "2"], val=["1", "2"])
    model, output, scores = (tmp_path / name for name in ("model", "states.json", "scores.json"))
    ran = dst(run, "train", "--data", data, "-o", model, "--characters", *OPTIONS)
    head, *curve = ran.out.splitlines()
    assert head.split() == ["epoch", "loss", "joint", "accuracy"]
    assert [line.split()[0] for line in curve] == ["1", "2"]
    assert dst(run, "predict", model, "--data", data, "--fold", "val", "-o", output).code == 0
    plain = read_json(output)
    about = plain.pop("_meta")
    assert (about["split"], about["track"]) == ("val", "dst")
    assert about["conditioning"] == "predicted_history"
    assert about["learned_from"] == ["train", "val"]
    assert {name: len(turns) for name, turns in plain.items()} == {"1": 4, "2": 1}
    options = ("--benchmark", "crosswoz", "--data", str(data), "-o", str(scores))
    assert run("evaluate", str(output), *options).code == 0
    kinds = {warning["kind"] for warning in read_json(scores)["meta"]["warnings"]}
    assert "seen-in-training" in kinds
    former = dst(run, "conventions", output, "--data", data)
    assert former.code == 2
    assert "docs/crosswoz.md" in former.err


def test_without_a_train_fold_training_requires_val_and_a_hold_out(
    tmp_path: Path, run: Run
) -> None:
    data, model = write_folds(tmp_path / "data", val=["1", "2"]), tmp_path / "model"
    train = ("train", "--data", data, "-o", model, *OPTIONS)
    for options, reason in (
        ((), "train.json"),
        (("--fold", "val"), "--hold-out"),
        (("--fold", "val", "--hold-out", "2"), "hold-out"),
    ):
        ran = dst(run, *train, *options)
        assert ran.code == 2
        assert reason in ran.err
    assert not model.exists()
    assert dst(run, *train, "--fold", "val", "--hold-out", "1").code == 0
    assert (model / MODEL_FILE).is_file()
    note = model / "learned_from.json"
    assert read_json(note)["learned_from"] == ["val"]
    note.write_text('{"learned_from": "val"}')
    predict = ("predict", model, "--data", data, "--fold", "val")
    ran = dst(run, *predict, "-o", tmp_path / "out.json")
    assert ran.code == 2
    assert "learned_from" in ran.err


VOCABULARY = SPECIAL + 4
SETTINGS = TradeSettings(hidden=6, dropout=0.0, longest_value=7)


def example(words: Sequence[int], **values: Sequence[int]) -> Example:
    """Return an example; the argument `s3` has the words of slot 3."""
    slots = {int(name[1:]): tuple(value) for name, value in values.items()}
    unknown = tuple(f"unknown {n}" for n in range(max(0, max(words) + 1 - VOCABULARY)))
    return Example(np.array(words, dtype=np.int32), unknown, slots)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread, which is faster for arrays of this size."""
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
    """Return a network in double precision with large weights, so that predictions differ."""
    torch.manual_seed(seed)
    made = TradeNetwork(VOCABULARY, SETTINGS).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(scale)
        made.words.weight[PADDING] = 0
        made.gate.bias[FILLED] += scale
    return made


def plain_gru(layer: Any, value: Any, state: Any) -> Any:
    """Return the next state of a GRU by its definition (Cho et al., 2014)."""
    weights = {name: weight.detach().numpy() for name, weight in layer.named_parameters()}
    mine = weights["weight_ih_l0"] @ value + weights["bias_ih_l0"]
    theirs = weights["weight_hh_l0"] @ state + weights["bias_hh_l0"]
    reset, update = (1 / (1 + np.exp(-(mine[i : i + 6] + theirs[i : i + 6]))) for i in (0, 6))
    new = np.tanh(mine[12:] + reset * theirs[12:])
    return (1 - update) * new + update * state


def softmax(scores: Any) -> Any:
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def plain_loss(made: Any, sample: Example) -> float:
    """Return the negative log-likelihood of a state, computed slot by slot and word by word."""
    words = made.words.weight.detach().numpy()
    known = np.where(sample.words < VOCABULARY, sample.words, UNKNOWN)
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
        total -= np.log(gate[FILLED if number in sample.values else 1 - FILLED])
        for word in (*sample.values[number], END) if number in sample.values else ():
            looks = softmax(encoded @ state)
            seen = looks @ encoded
            given = np.concatenate([state, seen, value])
            score = made.switch.weight.detach().numpy()[0] @ given + made.switch.bias.item()
            share = 1 / (1 + np.exp(-score))
            chance = (1 - share) * looks[sample.words == word].sum()
            if word < VOCABULARY:
                chance += share * softmax(words @ state)[word]
            total -= np.log(chance)
            value = words[word if word < VOCABULARY else UNKNOWN]
            state = plain_gru(made.decoder, value, state)
    return total


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_loss_is_the_negative_log_likelihood_of_the_state(scale: float) -> None:
    made = network(scale=scale)
    losses = [plain_loss(made, sample) for sample in EXAMPLES]
    assert made.loss(EXAMPLES).item() == pytest.approx(sum(losses) / 3, rel=1e-9)
    for sample, loss in zip(EXAMPLES, losses, strict=True):
        assert made.loss([sample]).item() == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [-30.0, 0.0, 30.0])
def test_decoder_generates_the_most_probable_word_at_each_step(seed: int, share: float) -> None:
    """Each word maximizes the likelihood of the training loss, given the previous words.

    This includes networks that always or never copy.
    """
    made = network(seed, scale=4.0)
    made.switch.bias.data.fill_(share)
    for sample in EXAMPLES[:2]:  # the third example has no words to copy
        with torch.inference_mode():
            histories, encoded, whole = made.encode([sample])
            inputs, states = made.begin(whole)
            _, seen = made.attend(states, encoded, histories)
            filled = made.gate(torch.cat([states, seen], dim=2)).argmax(dim=2)[0] == FILLED
            (found,) = made.states([sample])
            assert set(found) <= set(filled.nonzero().flatten().tolist())
            for slot, value in found.items():
                first = inputs[:, slot], states[:, slot], encoded, histories
                assert len(value) <= SETTINGS.longest_value
                assert share >= 0 or set(value) <= set(sample.words.tolist())
                assert share <= 0 or max(value) < VOCABULARY
                choices = [END, *range(SPECIAL, VOCABULARY + len(sample.unknown))]
                complete = [*value, END][: SETTINGS.longest_value]
                for place, word in enumerate(complete):
                    chances = {}
                    for choice in choices:
                        begun = [*value[:place], choice]
                        chances[choice] = made.likelihoods([begun], *first)[place].item()
                    assert word == max(chances, key=lambda choice: chances[choice])


def test_examples_in_a_batch_are_independent() -> None:
    made = network(2, scale=4.0)
    with torch.inference_mode():
        together = made.states(EXAMPLES)
        assert together == [made.states([sample])[0] for sample in EXAMPLES]
    assert any(together)


def test_word_dropout_is_applied_only_in_training() -> None:
    made = TradeNetwork(VOCABULARY, TradeSettings(hidden=6, dropout=0.5))
    torch.manual_seed(0)
    assert made.loss(EXAMPLES).item() != made.loss(EXAMPLES).item()
    made.eval()
    assert made.loss(EXAMPLES).item() == made.loss(EXAMPLES).item()
