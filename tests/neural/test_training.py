"""Array files and the shared training loop, with a linear regression as the model."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.errors import InputError, MwzevalError, UsageError
from mwzeval.neural import (
    CHECKPOINT_FILE,
    KIND,
    Learner,
    Point,
    TrainingSettings,
    by_length,
    read_arrays,
    reproducible,
    train,
    weights_of,
    write_arrays,
)

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")
SETTINGS = TrainingSettings(learning_rate=0.05, batch_size=4, epochs=5, seed=3)


@dataclass(frozen=True, slots=True)
class OddSettings(TrainingSettings):
    dropout: float = 0.0
    shared: bool = True


class Line(Learner):
    """Fits y = 2x + 1 with dropout of points; its validation quality is given in advance."""

    model_file = "line.safetensors"
    data = ("ten points",)
    examples = 10

    def __init__(self, qualities: Mapping[int, float] | None = None) -> None:
        self.settings = SETTINGS
        self.weights = {name: torch.zeros(1, requires_grad=True) for name in ("slope", "start")}
        self.optimizers = (torch.optim.Adam(self.weights.values(), lr=0.05),)
        self.qualities = qualities
        self.batches: list[list[int]] = []
        self._step = 0

    def loss(self, chosen: np.ndarray) -> Any:
        self.batches.append(chosen.tolist())
        x = torch.from_numpy(chosen.astype(np.float32))
        kept = torch.nn.functional.dropout(torch.ones(len(chosen)), 0.3)
        error = self.weights["slope"] * x + self.weights["start"] - (2 * x + 1)
        return (kept * error**2).mean()

    def evaluate(self) -> tuple[Mapping[str, float], float | None]:
        if self.qualities is None:
            return {}, None
        quality = self.qualities[self._evaluations]
        self._evaluations += 1
        return {"told": quality}, quality

    _evaluations = 0

    def save(self, folder: Path, point: Point) -> None:
        write_arrays(folder / self.model_file, "line", weights_of(self.weights), point.step)


class Killed(BaseException):
    pass


def trained(folder: Path, **changed: object) -> tuple[Line, list[Point]]:
    line = Line()
    for name, value in changed.items():
        setattr(line, name, value)
    return line, list(train(line, folder))


def test_each_epoch_uses_every_example_once_in_a_new_order(tmp_path: Path) -> None:
    before = torch.get_num_threads(), torch.get_rng_state().numpy().copy()
    line, curve = trained(tmp_path, settings=replace(SETTINGS, threads=2))
    assert torch.get_num_threads() == before[0]
    assert not torch.are_deterministic_algorithms_enabled()
    assert (torch.get_rng_state().numpy() == before[1]).all()
    assert saved_at(tmp_path) == 15, "without validation data, the last model is saved"
    epochs = [list(chain(*line.batches[3 * n : 3 * n + 3])) for n in range(5)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 5
    assert [(p.step, p.epoch, p.examples) for p in curve] == [
        (3 * n, n, 10 * n) for n in range(1, 6)
    ]


@pytest.mark.parametrize(("every", "stop"), [(None, 1), (None, 2), (1, 2), (2, 1), (7, 1)])
def test_a_killed_and_resumed_run_gives_identical_model_files(
    tmp_path: Path, every: int | None, stop: int
) -> None:
    """This includes runs killed within an epoch, whose random state is restored."""

    def kill(point: Point) -> None:
        if len(seen) == stop:
            raise Killed
        seen.append(point)

    _, curve = trained(tmp_path / "whole", evaluate_every=every)
    seen: list[Point] = []
    line = Line()
    line.evaluate_every = every
    with pytest.raises(Killed):
        train(line, tmp_path / "parts", kill)
    _, again = trained(tmp_path / "parts", evaluate_every=every)
    assert again == curve
    for file in (Line.model_file, CHECKPOINT_FILE):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_examples_of_similar_length_share_a_batch(tmp_path: Path) -> None:
    """An epoch uses each example once; the order of batches and of ties changes by epoch."""
    lengths = np.array([3, 1, 9, 2, 8, 1, 7, 2, 9, 3])
    line, _ = trained(tmp_path, lengths=lengths)
    epochs = [line.batches[3 * n : 3 * n + 3] for n in range(5)]
    for epoch in epochs:
        assert sorted(chain(*epoch)) == list(range(10))
        assert [len(batch) for batch in epoch] == [4, 4, 2]
        first, second = sorted(epoch[:2], key=lambda batch: max(lengths[batch]))
        assert max(lengths[first]) <= min(lengths[second])
    assert len({str(epoch) for epoch in epochs}) == 5


@pytest.mark.parametrize(("size", "batch_size"), [(0, 4), (3, 4), (4, 4), (200, 4), (203, 4)])
def test_batching_by_length_keeps_every_example_for_any_size(size: int, batch_size: int) -> None:
    generator = np.random.default_rng(0)
    order = generator.permutation(size)
    sorted_order = by_length(order, np.arange(size) // 3, batch_size, generator)
    assert sorted(sorted_order.tolist()) == list(range(size))
    left = size % batch_size
    assert sorted_order[size - left :].tolist() == order[size - left :].tolist()


def saved_at(folder: Path) -> int:
    step = read_arrays(folder / Line.model_file, "line")[1]
    assert isinstance(step, int)
    return step


@pytest.mark.parametrize(
    ("qualities", "patience", "points", "kept"),
    [
        ((0.2, 0.5, 0.4, 0.5, 0.1), None, 5, 2),  # the first of two equal qualities
        ((0.2, 0.5, 0.4, 0.5, 0.1), 2, 4, 2),
        ((0.2, 0.1, 0.4, 0.5, 0.6), 1, 2, 1),
        ((float("nan"), -3.0, -2.0, -2.5, -4.0), None, 5, 3),
    ],
)
def test_the_best_model_is_saved_and_patience_stops_training(
    tmp_path: Path, qualities: tuple[float, ...], patience: int | None, points: int, kept: int
) -> None:
    line = Line(dict(enumerate(qualities)))
    line.patience = patience
    curve = train(line, tmp_path)
    assert [point.scores["told"] for point in curve] == pytest.approx(
        qualities[:points], nan_ok=True
    )
    assert saved_at(tmp_path) == 3 * kept


def test_evaluation_before_training_and_complete_batches_are_supported(tmp_path: Path) -> None:
    line, curve = trained(tmp_path, evaluate_first=True, complete_batches=True)
    assert (curve[0].step, curve[0].loss) == (0, None)
    assert [point.step for point in curve] == [0, 2, 4, 6, 8, 10]
    assert [len(batch) for batch in line.batches] == [4] * 10


def test_a_nan_loss_stops_training(tmp_path: Path) -> None:
    line = Line()
    line.weights["slope"].data += float("nan")
    with pytest.raises(MwzevalError, match="nan"):
        train(line, tmp_path)
    assert line.batches == [line.batches[0]]
    assert not (tmp_path / Line.model_file).exists()


@pytest.mark.parametrize(
    "changed", [{"settings": replace(SETTINGS, seed=4)}, {"data": ("other points",)}]
)
def test_a_run_with_other_settings_or_data_is_not_resumed(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    trained(tmp_path)
    with pytest.raises(UsageError, match=tmp_path.name):
        trained(tmp_path, **changed)


def test_insufficient_memory_for_pytorch_raises_memory_error() -> None:
    with pytest.raises(MemoryError), reproducible(SETTINGS):
        torch.empty(2**58)


def test_training_folders_with_missing_files_are_rejected(tmp_path: Path) -> None:
    for name, message in ((CHECKPOINT_FILE, None), (Line.model_file, r"line\.safetensors")):
        folder = tmp_path / f"without {name}"
        trained(folder)
        (folder / name).unlink()
        with pytest.raises(UsageError, match=message):
            trained(folder)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file"):
        trained(tmp_path / "file")


SINGLE = np.float32
DAMAGES: list[tuple[str, np.ndarray | None]] = [
    *(("weight:slope", array) for array in (None, np.zeros(2, SINGLE), np.full(1, np.nan, SINGLE))),
    *(("exp_avg:slope", array) for array in (None, np.zeros(2, SINGLE))),
    *(("generator", array) for array in (None, np.zeros(3, np.uint8))),
]
CURVES: tuple[object, ...] = (None, 3, "x", [3], [{}], [{"step": "3"}])


def test_damaged_checkpoints_are_rejected(tmp_path: Path) -> None:
    trained(tmp_path)
    arrays, about = read_arrays(tmp_path / CHECKPOINT_FILE, KIND)
    damaged = [
        ({key: kept for key, kept in (arrays | {name: array}).items() if kept is not None}, about)
        for name, array in DAMAGES
    ]
    damaged += [(arrays, {**about, "curve": curve}) for curve in CURVES]
    for changed, described in damaged:
        write_arrays(tmp_path / CHECKPOINT_FILE, KIND, changed, described)
        with pytest.raises(InputError, match=CHECKPOINT_FILE):
            trained(tmp_path)
    (tmp_path / CHECKPOINT_FILE).write_bytes(b"cut")
    with pytest.raises(InputError, match="delete its folder"):
        trained(tmp_path)


WRONG: dict[str, tuple[object, ...]] = {
    **{"learning_rate": (0.0, float("nan"), 1.0), "batch_size": (0,), "epochs": (True,)},
    **{"dropout": (1.0,), "shared": (1,), "seed": (-1, 2**63), "threads": (1.5, 10**6)},
}


def test_invalid_settings_are_refused() -> None:
    for name, values in WRONG.items():
        for value in values:
            with pytest.raises(UsageError, match=name):
                OddSettings(**{name: value})  # type: ignore[arg-type]
    with reproducible(TrainingSettings(seed=2**63 - 1)):
        assert torch.initial_seed() == 2**63 - 1


ARRAYS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3).T, "a": np.array(7, dtype=np.int64)}


def test_arrays_and_descriptions_survive_writing_and_reading(tmp_path: Path) -> None:
    about = {"名称": ["甲"], "n": 1}
    file = tmp_path / "x.safetensors"
    write_arrays(file, "thing", ARRAYS, about)
    arrays, read_about = read_arrays(file, "thing")
    assert read_about == about
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    again = tmp_path / "y.safetensors"
    write_arrays(again, "thing", dict(reversed(ARRAYS.items())), about)
    assert again.read_bytes() == file.read_bytes()
    with pytest.raises(InputError, match=r"other .*thing"):
        read_arrays(file, "other")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InputError, match="safetensors"):
        read_arrays(file, "thing")


class Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle was opened",))


@pytest.mark.parametrize(
    "content",
    [pickle.dumps(Trap()), b"PK\x03\x04 a torch archive", b"", b"\x10\0\0\0\0\0\0\0{}", None],
)
def test_invalid_array_files_are_rejected_without_unpickling(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "x"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_arrays(file, "thing")
    assert error.value.problems[0].file == str(file)
