"""SC-LSTM: what it learns, its files, and going on after an interruption."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.sclstm.generator import KIND, MODEL_FILE, SclstmNlg, load_sclstm, slot_errors
from mwzeval.crosswoz.sclstm.sentences import END, START, examples_of, features
from mwzeval.crosswoz.sclstm.training import SclstmSettings, train_sclstm
from mwzeval.crosswoz.scoring.slot_errors import redundant, value_counts, venue_names
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, SeededRng, Side
from mwzeval.crosswoz.systems.templates import SIDES, turns_of
from mwzeval.errors import InputError, UsageError
from mwzeval.neural.state import read_arrays, write_arrays
from mwzeval.neural.training import CHECKPOINT_FILE, Point
from tests.crosswoz.real_data import fold

pytest.importorskip("torch")
pytest.importorskip("jieba")
SMALL = SclstmSettings(hidden=12, epochs=3, batch_size=16, rarest=1)
RNG = SeededRng(0)
THANKS = Act("General", "thank", "none", "none")


class Interrupted(Exception):  # noqa: N818
    """Stands for the end of a process."""


def some(start: int = 0, end: int = 6) -> list[Dialogue]:
    return list(fold("val").dialogues.values())[start:end]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sclstm")
    train_sclstm(some(), some(6, 8), folder, SMALL)
    return folder


@pytest.mark.exhaustive
def test_ten_dialogues_are_learned_by_heart(tmp_path: Path) -> None:
    learned = some(0, 10)
    settings = SclstmSettings(hidden=100, epochs=50, learning_rate=0.01, dropout=0.0, rarest=1)
    nlg = train_sclstm(learned, learned, tmp_path / "model", settings)
    names = venue_names(learned)
    for side in SIDES:
        known: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        for example in examples_of(learned, side):
            known.setdefault(example.features, set()).add(example.tokens)
        model = nlg.sides[side]
        said = {of: model.tokens(of) for of in known}
        assert np.mean([said[of] in sentences for of, sentences in known.items()]) > 0.95
        values = missing = beside = 0
        for turn in (turn for dialogue in learned for turn in turns_of(dialogue, side)):
            if tuple(sorted(features(turn.acts))) in known:
                text = nlg.say(turn.acts, side, RNG) or ""
                counts = value_counts(text, turn.acts)
                values, missing = values + counts[0], missing + counts[1]
                beside += redundant(text, turn.acts, names)
        assert values > 50
        assert (missing + beside) / values < 0.02


@pytest.mark.parametrize("stop", [(USER, 2), (SYSTEM, 1)])
def test_a_run_that_was_interrupted_ends_with_the_same_bytes(
    tmp_path: Path, trained: Path, stop: tuple[Side, int]
) -> None:
    def interrupt(side: Side, point: Point) -> None:
        if (side, point.epoch) == stop:
            raise Interrupted

    parts = tmp_path / "parts"
    with pytest.raises(Interrupted):
        train_sclstm(some(), some(6, 8), parts, SMALL, interrupt)
    curve: list[tuple[Side, int]] = []
    train_sclstm(
        some(), some(6, 8), parts, SMALL, lambda side, point: curve.append((side, point.epoch))
    )
    whole = [(side, epoch) for side in SIDES for epoch in (1, 2, 3)]
    assert curve == whole[whole.index(stop) + 1 :]
    for side in SIDES:
        for name in (MODEL_FILE, CHECKPOINT_FILE):
            assert (parts / side / name).read_bytes() == (trained / side / name).read_bytes()


def test_another_seed_or_other_data_is_another_run(tmp_path: Path, trained: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    again = partial(train_sclstm, folder=folder)
    with pytest.raises(UsageError, match="other settings or data"):
        again(some(), some(6, 8), settings=SclstmSettings(hidden=12, epochs=3, seed=1))
    with pytest.raises(UsageError, match="other settings or data"):
        again(some(1, 7), some(6, 8), settings=SMALL)
    with pytest.raises(InputError, match="training dialogues have no sentence of the user"):
        again([], some(6, 8), settings=SMALL)
    with pytest.raises(InputError, match="validation dialogues have no sentence of the user"):
        again(some(), [], settings=SMALL)
    with pytest.raises(UsageError, match="dropout cannot be 2"):
        SclstmSettings(dropout=2.0)


def test_half_a_surrogate_pair_is_not_learned(tmp_path: Path) -> None:
    (dialogue,) = some(0, 1)
    exchange = dialogue.exchanges[0]
    user = replace(exchange.user, utterance="\ud800", acts=(THANKS,))
    odd = replace(dialogue, exchanges=(replace(exchange, user=user),))
    for training, validation in (([odd], [dialogue]), ([dialogue], [odd])):
        with pytest.raises(InputError, match=r"turn 0: .*surrogate"):
            train_sclstm(training, validation, tmp_path / "new", SMALL)
    assert not (tmp_path / "new").exists()


def test_a_beam_of_one_takes_the_likeliest_token_each_time(trained: Path) -> None:
    import torch

    from mwzeval.crosswoz.sclstm.generator import multi_hot
    from mwzeval.crosswoz.sclstm.network import begin, cell, log_probabilities, token_parts

    model = load_sclstm(trained, beam=1).sides[USER]
    tokens = model.vocabulary.tokens
    for example in examples_of(some(), USER)[:20]:
        of = example.features
        said: list[str] = []
        with torch.no_grad():
            state = begin(model.weights, multi_hot([of], model.vocabulary))
            last = START
            while len(said) < 100:
                embedded = model.weights["embedding"][[tokens.index(last)]]
                state = cell(model.weights, state, token_parts(model.weights, embedded))
                scores = log_probabilities(model.weights, state.hidden)[0].tolist()
                may = [
                    token == END or (token != START and (token[0] != "[" or token[1:-1] in of))
                    for token in tokens
                ]
                last = max(zip(scores, may, tokens, strict=True), key=lambda x: (x[1], x[0]))[2]
                if last == END:
                    break
                said.append(last)
        assert model.tokens(of) == tuple(said)


def test_sentences_have_the_values_of_their_acts(trained: Path) -> None:
    nlg = load_sclstm(trained)
    price = Act("Inform", "餐馆", "人均消费", "50-100元")
    texts = {nlg.say((price._replace(value=v),), USER, RNG) for v in ("50-100元", "[x]", "\ud800")}
    masked = {
        (text or "").replace("50-100元", "_").replace("[x]", "_").replace("\ud800", "_")
        for text in texts
    }
    assert len(masked) == 1
    assert nlg.say((THANKS,), USER, RNG) == nlg.say((THANKS,), USER, SeededRng(1))
    assert isinstance(nlg.say((), SYSTEM, RNG), str | None)
    assert nlg.say((Act("Inform", "酒店", "没有", "x"),), SYSTEM, RNG) is None
    unknown = Act("Inform", "酒店", "没有", "x")
    assert nlg.say((THANKS, unknown), USER, RNG) == nlg.say((THANKS,), USER, RNG)
    many = tuple(Act("Inform", "餐馆", "推荐菜", str(n)) for n in range(300))
    assert isinstance(nlg.say(many, SYSTEM, RNG), str)


@pytest.mark.parametrize(
    ("tokens", "errors"),
    [(["a", "[x]", "[y]"], 0), (["[x]", "[x]"], 2), ([], 2), (["[x]", "[y]", "[y]", "[y]"], 2)],
)
def test_slot_errors_of_a_sentence(tokens: list[str], errors: int) -> None:
    assert slot_errors(tokens, frozenset({"[x]", "[y]"})) == errors


Change = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, about: arrays.pop("acts"),
        lambda arrays, about: arrays.update(acts=arrays["acts"][:, :-1]),
        lambda arrays, about: arrays.update(acts=arrays["acts"] * np.nan),
        lambda arrays, about: about.pop("settings"),
        lambda arrays, about: about.update(settings=[]),
        lambda arrays, about: about["settings"].update(hidden=10**9),
        lambda arrays, about: about["settings"].update(hidden=True),
        lambda arrays, about: about["settings"].update(seed="1"),
        lambda arrays, about: about["tokens"].pop(),
        lambda arrays, about: about["tokens"].reverse(),
        lambda arrays, about: about["features"].append(about["features"][0]),
        lambda arrays, about: about.update(features=3),
    ],
)
def test_a_damaged_model_is_refused(tmp_path: Path, trained: Path, change: Change) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    file = folder / USER / MODEL_FILE
    arrays, about = read_arrays(file, KIND)
    change(arrays, about)
    write_arrays(file, KIND, arrays, about)
    with pytest.raises(InputError, match="the model is damaged"):
        load_sclstm(folder)


def test_other_files_are_refused(tmp_path: Path, trained: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    file = folder / SYSTEM / MODEL_FILE
    content = file.read_bytes()
    for damaged in (content[:-100], b"", pickle.dumps({}), json.dumps({}).encode()):
        file.write_bytes(damaged)
        with pytest.raises(InputError):
            load_sclstm(folder)
    file.unlink()
    with pytest.raises(InputError):
        load_sclstm(folder)
    (folder / USER / CHECKPOINT_FILE).write_bytes(content)
    with pytest.raises(InputError, match="expected a training state"):
        train_sclstm(some(), some(6, 8), folder, SMALL)


def test_a_loaded_generator_says_what_the_trained_one_says(trained: Path, tmp_path: Path) -> None:
    nlg: SclstmNlg = train_sclstm(some(), some(6, 8), tmp_path / "again", SMALL)
    loaded = load_sclstm(trained)
    for side in SIDES:
        for turn in turns_of(some()[0], side):
            assert loaded.say(turn.acts, side, RNG) == nlg.say(turn.acts, side, RNG)
