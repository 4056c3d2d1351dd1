"""Checkpoints: what goes in comes out, and nothing else is taken for one."""

from __future__ import annotations

import pickle
import resource
import signal
import tracemalloc
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mwzeval.errors import InputError, MwzevalError
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.policies.gaussian.gp_temporal_difference import SparseTemporalDifference
from mwzeval.pydial.policies.learner import Memory
from mwzeval.pydial.runs.checkpoints import (
    Checkpoint,
    Origin,
    read_checkpoint,
    write_checkpoint,
)
from mwzeval.pydial.runs.episodes import rng_of
from mwzeval.pydial.runs.job import Job, run_job
from mwzeval.pydial.runs.play import ActionPolicyAdapter, adapter_for
from mwzeval.pydial.studies.cross_environment import cross
from mwzeval.pydial.studies.sweep import sweep
from mwzeval.pydial.studies.watched import watched
from mwzeval.pydial.tasks import task_named

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


def _archived(path: Path, arrays: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            archive.writestr(name, content)


def _header(shape: str) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode().ljust(117) + b"\n"


def test_archives_that_claim_more_than_there_is_are_refused(tmp_path: Path) -> None:
    for shape in ("(10000000000000,)", "(-5,)", "((((", "'x'"):
        _archived(tmp_path / "a.npz", {"a.npy": _header(shape)})
        assert_bad(tmp_path / "a.npz")
    _archived(tmp_path / "a.npz", {"description": b"{}"})
    assert_bad(tmp_path / "a.npz")


def test_an_archive_that_unpacks_to_too_much_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(_header(f"({2**17},)"))
        for _ in range(2**10):
            stream.write(bytes(2**10))
    monkeypatch.setenv("MWZEVAL_MAX_SIZE", "500KB")
    with pytest.raises(InputError, match="1,048,704"):
        read_checkpoint(tmp_path / "a.npz")


def test_a_checkpoint_damaged_anywhere_is_refused_or_as_it_was(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a.npz", CHECKPOINT)
    whole = (tmp_path / "a.npz").read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x41
        (tmp_path / "a.npz").write_bytes(damaged)
        try:
            found = read_checkpoint(tmp_path / "a.npz")
        except InputError:
            continue
        assert replace(found, memory=CHECKPOINT.memory) == CHECKPOINT
        for name, array in found.memory.arrays.items():
            assert np.array_equal(array, ARRAYS[name])


@pytest.mark.parametrize(
    "wrong",
    [
        replace(CHECKPOINT, dialogues=-3),
        replace(CHECKPOINT, dialogues=1.5),  # type: ignore[arg-type]
        replace(CHECKPOINT, whole="yes"),  # type: ignore[arg-type]
        replace(CHECKPOINT, origin=replace(ORIGIN, policy=None)),  # type: ignore[arg-type]
        replace(CHECKPOINT, origin=replace(ORIGIN, task=["CR-1"])),  # type: ignore[arg-type]
        replace(CHECKPOINT, origin=replace(ORIGIN, seed=-1)),
        replace(CHECKPOINT, memory=Memory(ARRAYS, None)),  # type: ignore[arg-type]
        replace(CHECKPOINT, memory=Memory({"a": np.array([np.nan])}, {})),
        replace(CHECKPOINT, memory=Memory({"a": np.array(["text"])}, {})),
    ],
)
def test_descriptions_and_arrays_of_other_kinds_are_refused(
    wrong: Checkpoint, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path / "a.npz", wrong)
    assert_bad(tmp_path / "a.npz")


def _points(number: int, **other: Any) -> dict[str, Any]:
    arrays = {
        "points": np.eye(number, 5),
        "owners": np.arange(number) % 3,
        "means": np.ones(number),
        "covariance": np.eye(number),
    }
    return {**arrays, **other}


@pytest.mark.parametrize(
    "other",
    [
        {"points": np.eye(4, 6)},
        {"owners": np.full(4, 10**12)},
        {"owners": np.full(4, -1)},
        {"owners": np.full(4, 0.5)},
        {"means": np.ones(3)},
        {"covariance": np.eye(3)},
        {"covariance": np.array(1.0)},
        {"covariance": None, "squares": np.ones(5)},
        {"covariance": None},
    ],
)
def test_points_that_do_not_belong_together_are_refused(other: dict[str, Any]) -> None:
    process = SparseTemporalDifference(5, 3, discount=1.0, noise=5.0, threshold=0.001)
    process.restore(**_points(4))
    with pytest.raises(ValueError, match="shapes"):
        process.restore(**_points(4, **other))


@pytest.mark.integration
def test_training_does_not_go_on_from_what_is_for_tests_only(tmp_path: Path) -> None:
    job = Job("Demo-CR-3", "gp-sarsa", 1, (12, 30), tests=2)
    run_job(job, tmp_path)
    job.model_file(tmp_path, 30).replace(job.folder(tmp_path) / "progress.npz")
    with pytest.raises(InputError, match=r"progress\.npz"):
        run_job(replace(job, checkpoints=(12, 30, 31)), tmp_path)


def _overflow(file: Path) -> None:
    """Make the weights of a checkpoint so large that scores overflow."""
    found = read_checkpoint(file)
    huge = {
        name: np.full_like(array, 1e38) if name.startswith("network.") else array
        for name, array in found.memory.arrays.items()
    }
    write_checkpoint(file, replace(found, memory=Memory(huge, found.memory.about)))


@pytest.mark.integration
@pytest.mark.parametrize("policy", ["acer", "a2c", "enac", "ppo", "ppo-recurrent", "ppo-shared"])
def test_weights_that_overflow_are_told_with_their_file(policy: str, tmp_path: Path) -> None:
    job = Job("Demo-CR-1", policy, 1, (2,), tests=1)
    run_job(job, tmp_path)
    progress = job.folder(tmp_path) / "progress.npz"
    _overflow(progress)
    with np.errstate(all="ignore"), pytest.raises(InputError, match=r"progress\.npz"):
        run_job(replace(job, checkpoints=(2, 20)), tmp_path)


@pytest.mark.integration
def test_whoever_lets_such_weights_act_names_their_file(tmp_path: Path) -> None:
    job = Job("Demo-CR-1", "ppo", 1, (2,), tests=1)
    run_job(job, tmp_path)
    model = job.model_file(tmp_path, 2)
    _overflow(model)
    task = task_named(job.task)
    place = adapter_for(model, load_domain(task.domain), task)
    assert isinstance(place, ActionPolicyAdapter)
    place.process.begin(rng_of(1, 0))
    for act in (lambda: place.choose(rng_of(1, 1)), lambda: watched(job, tmp_path, range(1))):
        with np.errstate(all="ignore"), pytest.raises(InputError) as raised:
            act()
        (problem,) = raised.value.problems
        assert (problem.kind, problem.file) == ("diverged", str(model))


@pytest.mark.integration
def test_studies_test_all_others_before_they_tell_what_is_damaged(tmp_path: Path) -> None:
    bad, good = (Job("Demo-CR-1", policy, 1, (2,), tests=1) for policy in ("enac", "ppo"))
    for job in (bad, good):
        run_job(job, tmp_path)
    bad.model_file(tmp_path, 2).write_bytes(b"PK")
    for study in (sweep, cross):
        with pytest.raises(InputError) as raised:
            study(tmp_path, [bad, good], tests=1)
        (problem,) = raised.value.problems
        assert problem.file == str(bad.model_file(tmp_path, 2))
    tested = {file.parent.name for file in tmp_path.glob("cross/ppo/*/*.jsonl")}
    assert {"Demo-CR-1-in-Demo-CR-1@errors=50", "Demo-CR-1-in-Demo-CR-6"} < tested
