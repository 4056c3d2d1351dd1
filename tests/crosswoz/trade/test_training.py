"""Learning states by heart, files of models, going on after an interruption."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.crosswoz.corpus.dialogues import Dialogue, dialogue_from_json
from mwzeval.crosswoz.predictions.checking import Options
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.trade.examples import TradeSettings
from mwzeval.crosswoz.trade.model import KIND, MODEL_FILE, TradeTracker
from mwzeval.crosswoz.trade.training import train_trade
from mwzeval.errors import InputError, UsageError
from mwzeval.neural.state import DESCRIPTION, FORMAT, read_arrays, write_arrays
from mwzeval.neural.training import CHECKPOINT_FILE, Point, reproducible
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import DEPENDENT, small_gold

pytest.importorskip("torch")
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


def test_a_run_that_was_interrupted_ends_with_the_same_bytes(tmp_path: Path) -> None:
    _, curve = train_trade(DIALOGUES, DIALOGUES, tmp_path / "whole", SMALL)

    def interrupt(point: Point) -> None:
        if point.epoch == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        train_trade(DIALOGUES, DIALOGUES, tmp_path / "parts", SMALL, interrupt)
    _, again = train_trade(DIALOGUES, DIALOGUES, tmp_path / "parts", SMALL)
    assert again == curve
    for file in (MODEL_FILE, CHECKPOINT_FILE):
        whole, parts = (tmp_path / name / file for name in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()


def test_gold_states_of_what_is_tracked_are_not_looked_at(learned: TradeTracker) -> None:
    blind = json.loads(json.dumps(DEPENDENT))
    for message in blind["messages"][1::2]:
        for query in ("sys_state", "sys_state_init"):
            for slots in message[query].values():
                slots.update({slot: "" for slot in slots if slot != "selectedResults"})
    assert learned.track(dialogue_from_json("1", blind)) == learned.track(DIALOGUES[0])


def test_predictions_are_scored_as_full_joint_accuracy(learned: TradeTracker) -> None:
    about = {"dataset": "crosswoz", "track": "dst", "conditioning": "predicted_history"}
    plain = {"_meta": about, **learned.predictions(DIALOGUES)}
    report = evaluate(plain, small_gold(), Options()).report()
    scores = {(score.name, score.scope): score.value for score in report.scores}
    assert scores["dst.joint_full", "total"] == 100


def test_neither_threads_nor_batches_change_what_is_tracked(learned: TradeTracker) -> None:
    found = []
    for threads, size in product((1, 2, 5), (1, 3, 64)):
        with reproducible(replace(SMALL, threads=threads)):
            found.append(replace(learned, batch_size=size).predictions(DIALOGUES))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("text", ["", " ", "\n", "x" * 3000, "\U0001f600", "\0", "é́ 1小时 - 2小时"])
def test_odd_words_are_tracked_somehow(learned: TradeTracker, text: str) -> None:
    found = learned.track(with_words(text))
    assert len(found) == 4
    json.dumps(found, ensure_ascii=False).encode()


def test_half_a_surrogate_pair_is_refused(learned: TradeTracker, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'dialogue "odd", turn 0: .*surrogate'):
        learned.track(with_words("去\ud800"))
    with pytest.raises(InputError, match="surrogate"):
        train_trade([with_words("\udfff")], DIALOGUES, tmp_path / "new", SMALL)
    assert not (tmp_path / "new").exists()


def test_other_settings_and_dialogues_are_refused(tmp_path: Path) -> None:
    trained(tmp_path)
    for settings in (replace(SMALL, hidden=9), replace(SMALL, characters=False)):
        with pytest.raises(UsageError, match="other settings or data"):
            trained(tmp_path, settings)
    for training, validation in ((DIALOGUES[:1], DIALOGUES), (DIALOGUES, DIALOGUES[:1])):
        with pytest.raises(UsageError, match="other settings or data"):
            train_trade(training, validation, tmp_path, SMALL)
    (tmp_path / CHECKPOINT_FILE).unlink()
    with pytest.raises(UsageError, match="finished model"):
        trained(tmp_path)


def test_dialogues_without_states_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no states to learn from"):
        train_trade([], [], tmp_path, SMALL)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    trained(tmp_path)
    file = tmp_path / CHECKPOINT_FILE
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="not a safetensors file"):
        trained(tmp_path)


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    trained(tmp_path)
    file = tmp_path / MODEL_FILE
    arrays, about = read_arrays(file, KIND)
    words = about["words"]
    damages: list[dict[str, Any]] = [
        {"words": words[:-1]},  # another vocabulary
        {"words": [*words, "新"]},
        {"words": [*words[:-1], words[0]]},
        {"words": None},
        {"settings": {}},
        {"settings": {**about["settings"], "hidden": 9}},
        {"settings": {**about["settings"], "dropout": "much"}},
    ]
    for damage in damages:
        write_arrays(file, KIND, arrays, {**about, **damage})
        with pytest.raises(InputError, match="damaged"):
            TradeTracker.load(tmp_path)
    half = {**about, "words": [*words[:-1], "\ud800"]}
    described = json.dumps({"format": FORMAT, "kind": KIND, "about": half})
    file.write_bytes(save(arrays, metadata={DESCRIPTION: described}))
    with pytest.raises(InputError, match=r"safetensors file of this program.*surrogates") as found:
        TradeTracker.load(tmp_path)
    assert len(str(found.value)) < 600  # without the description, which may be long
    write_arrays(file, KIND, arrays, {**about, "settings": {**about["settings"], "hidden": 40_000}})
    with pytest.raises(InputError, match="its width or the number"):  # no 100 GB of weights
        TradeTracker.load(tmp_path)
    name = next(iter(arrays))
    for odd in (np.full_like(arrays[name], np.nan), arrays[name][:-1]):
        write_arrays(file, KIND, {**arrays, name: odd}, about)
        with pytest.raises(InputError, match="damaged"):
            TradeTracker.load(file)
    write_arrays(file, "CrossWOZ character tagger", arrays, about)
    with pytest.raises(InputError, match="expected a CrossWOZ TRADE"):
        TradeTracker.load(file)
    file.write_bytes(b"PK\x03\x04 a pickle of PyTorch")
    with pytest.raises(InputError, match="not opened"):
        TradeTracker.load(file)
