"""Checkpoints: what goes in comes out, and nothing else is taken for one."""

from __future__ import annotations

import pickle
import resource
import signal
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.errors import InputError, MwzevalError
from mwzeval.pydial.policies.learner import Memory
from mwzeval.pydial.runs.checkpoints import (
    Checkpoint,
    Origin,
    read_checkpoint,
    write_checkpoint,
)

ORIGIN = Origin("dqn", "CR-1", 3, False, {"hidden": [300, 100], "discount": 0.99})
ARRAYS: dict[str, NDArray[Any]] = {
    "dense": np.arange(12, dtype=np.float32).reshape(3, 4),
    "sparse": np.eye(50, dtype=np.float64),
    "none": np.zeros((0, 7)),
    "one": np.array(5),
    "masks": np.array([[True, False]]),
}
GENERATOR = np.random.default_rng(7).bit_generator.state
CHECKPOINT = Checkpoint(ORIGIN, 40, True, Memory(ARRAYS, {"generator": GENERATOR}), {"left": True})


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a.npz", CHECKPOINT)
    write_checkpoint(tmp_path / "b.npz", CHECKPOINT)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    found = read_checkpoint(tmp_path / "a.npz", ORIGIN)
    assert replace(found, memory=CHECKPOINT.memory) == CHECKPOINT
    assert found.memory.about == CHECKPOINT.memory.about
    assert found.memory.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found.memory.arrays[name].dtype == array.dtype
        assert np.array_equal(found.memory.arrays[name], array)


def test_numpy_reads_a_checkpoint_without_pickles(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a.npz", CHECKPOINT)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["dense"], ARRAYS["dense"])


def test_part_of_an_array_is_written_without_a_copy_of_it(tmp_path: Path) -> None:
    part = np.random.default_rng(1).random((7000, 1250))[:, :1000]
    memory = Memory({"part": part, "columns": ARRAYS["dense"].T}, {})
    tracemalloc.start()
    write_checkpoint(tmp_path / "a.npz", replace(CHECKPOINT, memory=memory))
    assert tracemalloc.get_traced_memory()[1] < 2 * part.nbytes
    tracemalloc.stop()
    found = read_checkpoint(tmp_path / "a.npz").memory.arrays
    assert np.array_equal(found["part"], part)
    rows = Memory({name: array.copy() for name, array in memory.arrays.items()}, {})
    write_checkpoint(tmp_path / "b.npz", replace(CHECKPOINT, memory=rows))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_all_that_is_other_about_a_checkpoint_is_told(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a.npz", CHECKPOINT)
    expected = replace(ORIGIN, task="LAP-6", settings={"discount": 1.0})
    with pytest.raises(InputError) as error:
        read_checkpoint(tmp_path / "a.npz", expected)
    task, settings = error.value.problems
    assert "LAP-6" in task.message
    assert "discount" in settings.message


def assert_bad(file: Path) -> None:
    """Check that a file is refused as no checkpoint."""
    with pytest.raises(InputError) as error:
        read_checkpoint(file)
    (problem,) = error.value.problems
    assert (problem.kind, problem.file) == ("bad-checkpoint", str(file))


class _Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("it was run",)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an archive",
        pickle.dumps({"a": 1}),
        pickle.dumps(_Harmful()),
    ],
    ids=["empty", "text", "pickle", "harmful"],
)
def test_other_files_are_refused_unopened(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    assert_bad(tmp_path / "a.npz")


def test_arrays_of_objects_and_foreign_archives_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", description=np.array([_Harmful()], dtype=object))
    np.savez(tmp_path / "foreign.npz", weights=np.ones(3))
    for name in ("objects.npz", "foreign.npz"):
        assert_bad(tmp_path / name)


@pytest.mark.parametrize("kept", [10, 200, -1])
def test_half_a_checkpoint_is_refused(kept: int, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a.npz", CHECKPOINT)
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[:kept])
    assert_bad(tmp_path / "a.npz")


def test_a_missing_checkpoint_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.npz"):
        read_checkpoint(tmp_path / "a.npz")


def test_a_write_that_fails_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a.npz", CHECKPOINT)
    before = (tmp_path / "a.npz").read_bytes()
    larger = Memory({"noise": np.random.default_rng(0).random(100_000)}, {})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(MwzevalError, match=r"a\.npz"):
            write_checkpoint(tmp_path / "a.npz", replace(CHECKPOINT, memory=larger))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]
    assert (tmp_path / "a.npz").read_bytes() == before
