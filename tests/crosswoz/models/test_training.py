"""Training of all models: resuming, refused inputs and model files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.models import nlu, sclstm, trade
from mwzeval.crosswoz.systems import sl_policy
from mwzeval.crosswoz.training import NluSettings, PolicySettings, SclstmSettings, TradeSettings
from mwzeval.errors import InputError, UsageError
from mwzeval.neural import CHECKPOINT_FILE, Point, TrainingSettings, read_arrays, write_arrays
from tests.crosswoz.models.tiny_bert import tiny_bert
from tests.crosswoz.real_data import database, fold

pytestmark = pytest.mark.integration

Dialogues = Sequence[Dialogue]
Watch = Callable[[Point], None]


@dataclass(frozen=True)
class Model:
    """The functions that train and load a model; `file` is its path in the run folder."""

    train: Callable[[Dialogues, Dialogues, Path, Any, Watch | None], object]
    load: Callable[[Path], object]
    file: str
    kind: str
    settings: TrainingSettings

    def trained(self, folder: Path, watch: Watch | None = None, **changed: Any) -> None:
        dialogues = list(fold("val").dialogues.values())
        start = changed.pop("start", 0)
        settings = replace(self.settings, **changed)
        self.train(dialogues[start : start + 6], dialogues[6:8], folder, settings, watch)

    @property
    def files(self) -> list[str]:
        return [self.file, str(Path(self.file).with_name(CHECKPOINT_FILE))]


def train_bert(
    learns: Dialogues, _: Dialogues, folder: Path, settings: Any, watch: Watch | None
) -> object:
    body = tiny_bert(folder.with_name(f"{folder.name}-body"))
    return nlu.train_nlu(learns, folder, settings, watch, encoder=body)


def train_policy(learns: Dialogues, checks: Dialogues, *rest: Any) -> object:
    vocabulary = sl_policy.Vocabulary.mined(fold("val").dialogues.values())
    return sl_policy.train_policy(learns, checks, database(), vocabulary, *rest)


def train_sclstm(
    learns: Dialogues, checks: Dialogues, folder: Path, settings: Any, watch: Watch | None
) -> object:
    both = None if watch is None else lambda side, point: watch(point)
    return sclstm.train_sclstm(learns, checks, folder, settings, both)


TAGGER = NluSettings(embedding=16, hidden=16, epochs=3, learning_rate=0.01, batch_size=8)
MODELS = {
    "tagger": Model(
        lambda learns, _, *rest: nlu.train_nlu(learns, *rest),
        nlu.load_nlu,
        nlu.MODEL_FILE,
        nlu.CharacterNetwork.kind,
        TAGGER,
    ),
    "bert": Model(train_bert, nlu.load_nlu, nlu.MODEL_FILE, nlu.BertNetwork.kind, TAGGER),
    "trade": Model(
        trade.train_trade,
        trade.TradeTracker.load,
        trade.MODEL_FILE,
        trade.KIND,
        TradeSettings(hidden=8, characters=True, epochs=3, batch_size=8),
    ),
    "sclstm": Model(
        train_sclstm,
        sclstm.load_sclstm,
        f"user/{sclstm.MODEL_FILE}",
        sclstm.KIND,
        SclstmSettings(hidden=12, epochs=3, batch_size=16, rarest=1),
    ),
    "policy": Model(
        train_policy,
        sl_policy.SlPolicy.load,
        sl_policy.MODEL_FILE,
        sl_policy.KIND,
        PolicySettings(hidden=12, epochs=3),
    ),
}
of_every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Train each model; return model → folder."""
    top = tmp_path_factory.mktemp("trained")
    for name, model in MODELS.items():
        model.trained(top / name)
    return {name: top / name for name in MODELS}


@pytest.fixture
def folder(tmp_path: Path, folders: dict[str, Path], name: str) -> Path:
    """Return a copy of the folder of a trained model."""
    return shutil.copytree(folders[name], tmp_path / "model")


class Interrupted(Exception):  # noqa: N818
    """Simulates the end of a process."""


@of_every_model
def test_resumed_training_produces_identical_files(
    tmp_path: Path, folders: dict[str, Path], name: str
) -> None:
    def interrupt(point: Point) -> None:
        if point.epoch == 2:
            raise Interrupted

    model, parts, later = MODELS[name], tmp_path / "parts", list[int]()
    with pytest.raises(Interrupted):
        model.trained(parts, interrupt)
    model.trained(parts, lambda point: later.append(point.epoch))
    assert later[0] == 3
    model.load(parts)
    for file in model.files:
        assert (parts / file).read_bytes() == (folders[name] / file).read_bytes()


@of_every_model
def test_training_does_not_resume_with_another_seed_or_other_data(folder: Path, name: str) -> None:
    others: list[dict[str, Any]] = [{"seed": 1}, {"start": 1}]
    for other in others:
        with pytest.raises(UsageError, match="model"):
            MODELS[name].trained(folder, **other)
    (folder / MODELS[name].files[1]).unlink()
    with pytest.raises(UsageError, match="model"):
        MODELS[name].trained(folder)


@of_every_model
def test_training_without_dialogues_is_refused(tmp_path: Path, name: str) -> None:
    model, checks = MODELS[name], list(fold("val").dialogues.values())[:2]
    with pytest.raises(InputError):
        model.train([], checks, tmp_path / "new", model.settings, None)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["tagger", "bert", "trade", "sclstm"])
def test_training_data_with_lone_surrogates_is_refused(tmp_path: Path, name: str) -> None:
    model, (dialogue, other) = MODELS[name], list(fold("val").dialogues.values())[:2]
    exchange = dialogue.exchanges[0]
    for user in (
        replace(exchange.user, utterance="去\ud800"),
        replace(exchange.user, acts=(Act("Inform", "餐馆", "名称", "\udfff"),)),
    ):
        odd = replace(dialogue, exchanges=(replace(exchange, user=user),))
        with pytest.raises(InputError, match=f'dialogue "{odd.name}", turn 0'):
            model.train([other, odd], [other], tmp_path / "new", model.settings, None)
    assert not (tmp_path / "new").exists()


Change = Callable[[dict[str, Any], dict[str, Any]], object]


def settings(**changed: Any) -> Change:
    return lambda arrays, about: about["settings"].update(changed)


def described(**changed: Any) -> Change:
    """Return a function that replaces values of a description, or maps them with a function."""
    return lambda arrays, about: about.update(
        {key: value(about[key]) if callable(value) else value for key, value in changed.items()}
    )


def weights(name: str, change: Callable[[Any], Any]) -> Change:
    return lambda arrays, about: arrays.update({name: change(arrays[name])})


DAMAGES: list[tuple[str, Change]] = [
    ("tagger", described(classes=["a"])),
    ("tagger", described(tags=[[]])),
    ("tagger", described(settings=1)),
    ("tagger", described(characters=lambda known: known[1:])),
    ("tagger", described(tags=lambda tags: tags[::2])),
    ("tagger", described(tags=lambda tags: [*tags[:-1], tags[-2]])),
    ("tagger", described(tags=lambda tags: [*tags[1:], "B-a"])),
    ("tagger", described(tags=lambda tags: [*tags[:-1], "B-a"])),
    ("bert", described(vocabulary="other")),
    ("trade", described(words=lambda words: words[:-1])),
    ("trade", described(words=lambda words: [*words, "新"])),
    ("trade", described(settings={})),
    ("trade", settings(hidden=9)),
    ("trade", settings(hidden=40_000)),  # would need 100 GB of memory
    ("trade", settings(dropout="much")),
    ("trade", weights("words.weight", lambda array: array[:-1])),
    ("trade", weights("gate.bias", lambda array: array * np.nan)),
    ("sclstm", lambda arrays, about: arrays.pop("acts")),
    ("sclstm", weights("acts", lambda array: array[:, :-1])),
    ("sclstm", weights("acts", lambda array: array * np.nan)),
    ("sclstm", lambda arrays, about: about.pop("settings")),
    ("sclstm", described(settings=[])),
    ("sclstm", settings(hidden=10**9)),
    ("sclstm", settings(hidden=True)),
    ("sclstm", settings(seed="1")),
    ("sclstm", described(tokens=lambda tokens: tokens[:-1])),
    ("sclstm", described(features=3)),
    ("policy", weights("second.bias", lambda array: array[:-1])),
    ("policy", weights("second.bias", lambda array: array.astype(np.float64))),
    ("policy", weights("second.bias", lambda array: array * np.inf)),
    ("policy", lambda arrays, about: arrays.update(third=arrays.pop("second.bias"))),
    ("policy", lambda arrays, about: arrays.pop("first.bias")),
    ("policy", described(system=lambda acts: acts[1:])),
    *(
        ("policy", described(**{side: odd}))
        for side in ("user", "system")
        for odd in ([["a"]], ["a"], ["a+b+c+d"] * 2, "abcd", None)
    ),
]


@pytest.mark.parametrize(("name", "change"), DAMAGES)
def test_a_damaged_model_is_refused(folder: Path, name: str, change: Change) -> None:
    model = MODELS[name]
    file = folder / model.file
    arrays, about = read_arrays(file, model.kind)
    model.load(folder)
    change(arrays, about)
    write_arrays(file, model.kind, arrays, about)
    with pytest.raises(InputError, match=file.name) as found:
        model.load(folder)
    assert len(str(found.value)) < 600  # the message omits the long description


@of_every_model
def test_a_model_of_another_kind_is_refused(folder: Path, name: str) -> None:
    model = MODELS[name]
    file = folder / model.file
    write_arrays(file, "checkpoint", *read_arrays(file, model.kind))
    with pytest.raises(InputError, match="checkpoint"):
        model.load(folder)
    file.write_bytes(b"PK\x03\x04")  # the header of a PyTorch checkpoint
    with pytest.raises(InputError, match="safetensors"):
        model.load(folder)


@pytest.mark.parametrize("wrong", [{"dropout": 2.0}, {"hidden": 0}, {"seed": -1}, {"epochs": True}])
def test_invalid_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        NluSettings(**wrong)
