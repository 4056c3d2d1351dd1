"""Learning, its files, and going on after an interruption; what is learned is what ranks."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load as read
from safetensors.numpy import save

from mwzeval.dstc7.baselines.dual_encoder.arrays import (
    Settings,
    candidate_bags,
    context_bags,
    shapes,
)
from mwzeval.dstc7.baselines.dual_encoder.model import (
    MODEL_FILE,
    DualEncoder,
    encode_candidates,
    encode_contexts,
)
from mwzeval.dstc7.baselines.dual_encoder.training import batch_scores, train_dual_encoder
from mwzeval.dstc7.baselines.dual_encoder.training_data import training_data
from mwzeval.dstc7.baselines.query import Query
from mwzeval.dstc7.baselines.vectors import list_scores
from mwzeval.errors import InputError, UsageError
from mwzeval.neural.state import read_arrays, write_arrays
from mwzeval.neural.training import CHECKPOINT_FILE, Point
from tests.dstc7.baselines.conversations import SMALL, conversations
from tests.places import ROOT

pytestmark = pytest.mark.integration

TRAINING, DEV = conversations(320, seed=1), conversations(40, seed=2)


def trained(folder: Path, settings: Settings = SMALL) -> bytes:
    train_dual_encoder(TRAINING, DEV, folder, settings)
    return (folder / MODEL_FILE).read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return trained(tmp_path_factory.mktemp("model") / "whole")


def test_training_finds_what_no_shared_word_tells(tmp_path: Path) -> None:
    settings = replace(SMALL, epochs=20, learning_rate=0.02)
    model, curve = train_dual_encoder(TRAINING, DEV, tmp_path, settings)
    assert curve[0].step == 0
    assert curve[0].scores["recall_at_1"] < 0.3  # chance is 0.05
    assert max(point.scores["recall_at_1"] for point in curve) > 0.8
    assert curve[-1].loss is not None
    assert curve[1].loss is not None
    assert curve[-1].loss < curve[1].loss
    assert set(model.vocabulary.words) >= {"ask7", "reply7"}


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_same_seed_gives_the_same_bytes_and_another_others(
    is_shared: bool, tmp_path: Path
) -> None:
    settings = replace(SMALL, shared=is_shared, epochs=2)
    first = trained(tmp_path / "first", settings)
    assert trained(tmp_path / "second", settings) == first
    assert trained(tmp_path / "third", replace(settings, seed=1)) != first


@pytest.mark.parametrize("points", [1, 7])
def test_killed_training_goes_on_to_the_same_bytes(
    points: int, tmp_path: Path, uninterrupted: bytes
) -> None:
    program = (
        "import sys, time\n"
        "from tests.dstc7.baselines.dual_encoder.test_training import DEV, SMALL, TRAINING\n"
        "from mwzeval.dstc7.baselines.dual_encoder.training import train_dual_encoder\n"
        "watch = lambda point: print(point.step, flush=True)\n"
        "train_dual_encoder(TRAINING, DEV, sys.argv[1], SMALL, watch)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert process.stdout is not None
    for _ in range(points):
        assert process.stdout.readline()
    time.sleep(0.003 * points)  # somewhere between two checkpoints
    process.kill()
    process.wait()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    steps: list[int] = []
    train_dual_encoder(TRAINING, DEV, tmp_path, SMALL, lambda point: steps.append(point.step))
    assert (tmp_path / MODEL_FILE).read_bytes() == uninterrupted
    assert points == 1 or steps[0] > SMALL.evaluate_every * (points - 1), "it began anew"


def test_a_finished_run_is_not_run_again(tmp_path: Path, uninterrupted: bytes) -> None:
    assert trained(tmp_path) == uninterrupted
    seen: list[Point] = []
    _, curve = train_dual_encoder(TRAINING, DEV, tmp_path, SMALL, seen.append)
    assert not seen
    assert len(curve) == 1 + SMALL.epochs * (len(TRAINING) // SMALL.batch_size) // 5


def test_what_is_right_for_another_pair_is_no_wrong_answer_of_it() -> None:
    """Pairs: two answers of one example, then two examples with the same words as an answer."""
    data = training_data(
        [
            Query("1", ("hi",), answers=("yes", "sure")),
            Query("2", ("a",), answers=("ok",)),
            Query("3", ("b",), answers=("OK!",)),
            Query("4", ("nobody knows",)),
        ],
        SMALL,
    )
    assert len(data) == 4
    assert np.argwhere(data.twins(np.arange(4))).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert np.argwhere(data.twins(np.array([3, 0, 2]))).tolist() == [[0, 2], [2, 0]]


def test_training_stops_when_dev_gets_no_better(tmp_path: Path) -> None:
    settings = replace(SMALL, learning_rate=1e-9, patience=3, epochs=100)
    _, curve = train_dual_encoder(TRAINING, DEV, tmp_path, settings)
    assert len(curve) == 4


def test_a_folder_of_another_run_is_left_alone(tmp_path: Path, uninterrupted: bytes) -> None:
    trained(tmp_path)
    for arguments in (
        (TRAINING, DEV, tmp_path, replace(SMALL, dimensions=9)),
        (TRAINING[:-1], DEV, tmp_path, SMALL),
        (TRAINING, DEV[:9], tmp_path, SMALL),
    ):
        with pytest.raises(UsageError):
            train_dual_encoder(*arguments)
    assert (tmp_path / MODEL_FILE).read_bytes() == uninterrupted
    (tmp_path / CHECKPOINT_FILE).unlink()
    with pytest.raises(UsageError):
        trained(tmp_path)


@pytest.mark.parametrize(("training", "dev"), [(TRAINING[:1], DEV), (TRAINING, [])])
def test_files_that_teach_nothing_are_refused(
    training: list[Query], dev: list[Query], tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        train_dual_encoder(training, dev, tmp_path, SMALL)


def test_dev_examples_without_lists_get_the_answers_of_others(tmp_path: Path) -> None:
    bare = [replace(query, candidate_ids=(), candidates=()) for query in DEV]
    _, curve = train_dual_encoder(TRAINING, bare, tmp_path, replace(SMALL, epochs=1))
    assert 0 <= curve[0].scores["recall_at_1"] < 0.3


SOME = TRAINING[:64]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "trained"
    train_dual_encoder(SOME, DEV[:10], folder, SMALL)
    return folder


class Malicious:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("how", ["pickle", "pickle, protocol 0", "torch", "torch, old format"])
@pytest.mark.parametrize("file", [MODEL_FILE, CHECKPOINT_FILE])
def test_pickles_are_refused_unopened(file: str, how: str, tmp_path: Path) -> None:
    trace, path = tmp_path / "was-run", tmp_path / file
    if how.startswith("pickle"):
        path.write_bytes(pickle.dumps(Malicious(trace), 0 if how.endswith("0") else None))
    else:
        torch.save(Malicious(trace), path, _use_new_zipfile_serialization=how == "torch")
    load: dict[str, Callable[[], object]] = {
        MODEL_FILE: lambda: DualEncoder.load(tmp_path),
        CHECKPOINT_FILE: lambda: train_dual_encoder(SOME, DEV[:10], tmp_path, SMALL),
    }
    with pytest.raises(InputError, match=file):
        load[file]()
    assert not trace.exists()


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 100, -1])
def test_a_cut_model_is_refused(kept: int, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / MODEL_FILE
    path.write_bytes((folder / MODEL_FILE).read_bytes()[:kept])
    with pytest.raises(InputError, match=MODEL_FILE):
        DualEncoder.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"dense_scale": np.zeros(3, np.float32)},
        {"dense_scale": np.zeros((), np.float64)},
        {"dense_scale": np.array(np.nan, np.float32)},
        {"more": np.zeros(3, np.float32)},
        {"vocabulary": np.array([255], np.uint8)},
        {"vocabulary": np.zeros(0, np.uint8)},
    ],
)
def test_a_model_with_wrong_weights_is_refused(
    change: dict[str, np.ndarray], folder: Path, tmp_path: Path
) -> None:
    raw = (folder / MODEL_FILE).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    path = tmp_path / MODEL_FILE
    path.write_bytes(save({**read(raw), **change}, metadata=header["__metadata__"]))
    with pytest.raises(InputError, match=MODEL_FILE):
        DualEncoder.load(path)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"mwzeval": "[]"},
        {"mwzeval": "{"},
        {"mwzeval": '{"format": 9, "kind": "dual encoder", "about": {}}'},
        {"mwzeval": '{"format": 1, "kind": "dual encoder", "about": {}}'},
        {"mwzeval": '{"format": 1, "kind": "dual encoder", "about": {"settings": {"x": 1}}}'},
    ],
)
def test_safetensors_of_something_else_are_refused(
    metadata: dict[str, str] | None, tmp_path: Path
) -> None:
    path = tmp_path / MODEL_FILE
    path.write_bytes(save({"vocabulary": np.zeros(1, np.uint8)}, metadata=metadata))
    with pytest.raises(InputError, match=MODEL_FILE):
        DualEncoder.load(path)


def test_a_checkpoint_is_no_model_nor_is_an_empty_folder(folder: Path, tmp_path: Path) -> None:
    for path in (folder / CHECKPOINT_FILE, tmp_path):
        with pytest.raises(InputError, match="safetensors"):
            DualEncoder.load(path)


def test_a_checkpoint_without_a_weight_is_refused(folder: Path, tmp_path: Path) -> None:
    raw = (folder / CHECKPOINT_FILE).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    arrays = read(raw)
    del arrays["weight:dense_scale"]
    (tmp_path / CHECKPOINT_FILE).write_bytes(save(arrays, metadata=header["__metadata__"]))
    with pytest.raises(InputError, match=CHECKPOINT_FILE):
        train_dual_encoder(SOME, DEV[:10], tmp_path, SMALL)


def test_a_loaded_model_ranks_as_the_trained_one(folder: Path, tmp_path: Path) -> None:
    model = DualEncoder.load(folder)
    contexts = model.contexts([query.messages for query in DEV[:10]])
    again = DualEncoder.load(model.save(tmp_path)).contexts([query.messages for query in DEV[:10]])
    assert (contexts.sparse != again.sparse).nnz == 0
    assert contexts.dense is not None
    assert (contexts.dense == again.dense).all()


def test_a_file_is_read_whatever_the_length_of_its_header(tmp_path: Path) -> None:
    """The length comes first: one of 128 begins like a pickle."""
    path, firsts = tmp_path / "arrays", set()
    for size in range(0, 256, 4):
        write_arrays(path, "test", {"x": np.arange(3)}, "y" * size)
        firsts.add(path.read_bytes()[0])
        arrays, about = read_arrays(path, "test")
        assert (arrays["x"].tolist(), about) == ([0, 1, 2], "y" * size)
    assert 0x80 in firsts


WORDS = 30
CONTEXTS: list[list[list[int]]] = [[[1, 2, 2], [3]], [[4], [], [5, 1]], [[]], [[9, 9, 9, 9]]]
CANDIDATES: list[list[int]] = [[1, 2], [5, 5, 7], [], [9, 29]]


@pytest.mark.parametrize("is_shared", [True, False])
def test_learning_and_ranking_see_the_same_scores(is_shared: bool) -> None:
    settings = replace(SMALL, shared=is_shared, ages=2)
    generator = np.random.default_rng(5)
    weights = {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in shapes(settings, WORDS).items()
    }
    contexts, candidates = context_bags(CONTEXTS, 40, 2), candidate_bags(CANDIDATES, 40)
    parameters = {name: torch.tensor(array) for name, array in weights.items()}
    learned = batch_scores(parameters, contexts, candidates, settings).numpy()
    # Every context with every candidate, as lists.
    everyone = candidate_bags(CANDIDATES * len(CONTEXTS), 40)
    ranked = list_scores(
        encode_contexts(contexts, weights, settings),
        encode_candidates(everyone, weights, settings),
        [len(CANDIDATES)] * len(CONTEXTS),
    )
    assert np.abs(learned).max() > 0.1
    np.testing.assert_allclose(learned, np.stack(ranked), rtol=1e-4, atol=1e-4)


def test_encoding_leaves_the_words_as_they_were() -> None:
    settings = replace(SMALL, ages=2)
    weights = {
        name: np.ones(shape, dtype=np.float32) for name, shape in shapes(settings, WORDS).items()
    }
    bags = context_bags([[[7, 1, 7, 3]]], 40, 2)
    first = encode_contexts(bags, weights, settings).sparse.toarray()
    assert bags.words.tolist() == [7, 1, 7, 3]
    assert (encode_contexts(bags, weights, settings).sparse.toarray() == first).all()
