"""Checkpoints that were damaged or made up are refused, whatever they do to what reads them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.errors import InputError
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.policies.gaussian.gp_temporal_difference import SparseTemporalDifference
from mwzeval.pydial.policies.learner import Memory
from mwzeval.pydial.runs.checkpoints import (
    Checkpoint,
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
from tests.pydial.runs.test_checkpoints import ARRAYS, CHECKPOINT, ORIGIN, assert_bad


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
