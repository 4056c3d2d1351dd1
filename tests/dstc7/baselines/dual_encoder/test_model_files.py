from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load as read
from safetensors.numpy import save

from mwzeval.dstc7.baselines.dual_encoder.model import MODEL_FILE, DualEncoder
from mwzeval.dstc7.baselines.dual_encoder.training import train_dual_encoder
from mwzeval.errors import InputError
from mwzeval.neural.state import read_arrays, write_arrays
from mwzeval.neural.training import CHECKPOINT_FILE
from tests.dstc7.baselines.conversations import SMALL, conversations

TRAINING, DEV = conversations(64, seed=1), conversations(10, seed=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "trained"
    train_dual_encoder(TRAINING, DEV, folder, SMALL)
    return folder


class Malicious:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("how", ["pickle", "torch", "torch, old format"])
@pytest.mark.parametrize("file", [MODEL_FILE, CHECKPOINT_FILE])
def test_pickles_are_refused_unopened(file: str, how: str, tmp_path: Path) -> None:
    trace, path = tmp_path / "was-run", tmp_path / file
    if how == "pickle":
        path.write_bytes(pickle.dumps(Malicious(trace)))
    else:
        torch.save(Malicious(trace), path, _use_new_zipfile_serialization=how == "torch")
    load: dict[str, Callable[[], object]] = {
        MODEL_FILE: lambda: DualEncoder.load(tmp_path),
        CHECKPOINT_FILE: lambda: train_dual_encoder(TRAINING, DEV, tmp_path, SMALL),
    }
    with pytest.raises(InputError, match="can run code"):
        load[file]()
    assert not trace.exists()


def test_a_pickle_of_protocol_0_is_refused_as_well(tmp_path: Path) -> None:
    trace, path = tmp_path / "was-run", tmp_path / MODEL_FILE
    path.write_bytes(pickle.dumps(Malicious(trace), protocol=0))
    with pytest.raises(InputError, match="not a safetensors file"):
        DualEncoder.load(path)
    assert not trace.exists()


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 100, -1])
def test_a_cut_model_is_refused(kept: int, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / MODEL_FILE
    path.write_bytes((folder / MODEL_FILE).read_bytes()[:kept])
    with pytest.raises(InputError, match="not a safetensors file"):
        DualEncoder.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dense_scale": np.zeros(3, np.float32)}, "dense_scale"),
        ({"dense_scale": np.zeros((), np.float64)}, "float64"),
        ({"dense_scale": np.array(np.nan, np.float32)}, "not finite"),
        ({"more": np.zeros(3, np.float32)}, "unknown: more"),
        ({"vocabulary": np.array([255], np.uint8)}, "damaged"),
        ({"vocabulary": np.zeros(0, np.uint8)}, "word_vectors|dense_words"),
    ],
)
def test_a_model_with_wrong_weights_is_refused(
    change: dict[str, np.ndarray], message: str, folder: Path, tmp_path: Path
) -> None:
    raw = (folder / MODEL_FILE).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    path = tmp_path / MODEL_FILE
    path.write_bytes(save({**read(raw), **change}, metadata=header["__metadata__"]))
    with pytest.raises(InputError, match=message):
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


def test_a_checkpoint_is_no_model(folder: Path) -> None:
    with pytest.raises(InputError, match="expected a dual encoder"):
        DualEncoder.load(folder / CHECKPOINT_FILE)


def test_a_checkpoint_without_a_weight_is_refused(folder: Path, tmp_path: Path) -> None:
    raw = (folder / CHECKPOINT_FILE).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    arrays = read(raw)
    del arrays["weight:dense_scale"]
    (tmp_path / CHECKPOINT_FILE).write_bytes(save(arrays, metadata=header["__metadata__"]))
    with pytest.raises(InputError, match="state is damaged"):
        train_dual_encoder(TRAINING, DEV, tmp_path, SMALL)


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.safetensors: cannot be read"):
        DualEncoder.load(tmp_path)


def test_a_loaded_model_ranks_as_the_trained_one(folder: Path, tmp_path: Path) -> None:
    model = DualEncoder.load(folder)
    contexts = model.contexts([query.messages for query in DEV])
    again = DualEncoder.load(model.save(tmp_path)).contexts([query.messages for query in DEV])
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
