"""Data sets of dialogues in Minari's format: a folder BEHAVIOUR/TASK-v0 with HDF5 and JSON.

Source: Minari 0.5, "Dataset Standards". They are written with Minari (extra `offline`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.files.writing import folder_written_atomically
from mwzeval.libraries import required
from mwzeval.pydial.environments.gymnasium_environments import spaces_of
from mwzeval.pydial.environments.registration import environment_ids, register_with_gymnasium
from mwzeval.pydial.offline.behaviour import MIXED, Behaviour, Recording, recordings
from mwzeval.pydial.tasks import Task
from mwzeval.version import __version__

EXTRA = "offline"
DATA = "data"
ARRAYS = "main_data.hdf5"
READABLE_FROM = "0.5.0"
"""Minari refuses data sets of later versions than itself; the format is the same since this one."""
OWN_KEY = "mwzeval"
"""What metadata say under this key: task, policy, seed, goodbye, model."""
AT_A_TIME = 200
AROUND = 2**15
"""Bytes of what HDF5 writes around the arrays of a dialogue, at most."""
VERSION = 0
"""Grows when the same call would record other dialogues."""
NOT_IN_IDS = re.compile(r"[^\w-]")


def dataset_name(task: str) -> str:
    """Return what the data set of a task is called in the folder of a behaviour: `CR-3-v0`."""
    return f"{NOT_IN_IDS.sub('-', task)}-v{VERSION}"


def write_dataset(output: str | Path, behaviour: Behaviour, seed: int, dialogues: int) -> Path:
    """Record dialogues, and return the folder below `output` that they are in.

    With `MINARI_DATASETS_PATH=OUTPUT` it is what `minari.load_dataset("BEHAVIOUR/TASK-v0")` loads.
    It is there as a whole or not at all. Raises `UsageError` where it is there already,
    `DependencyError` without Minari, `MwzevalError` where it cannot be written.
    """
    if dialogues < 1:
        raise UsageError(f"the number of dialogues is 1 or more, not {dialogues}")
    required("h5py", EXTRA, "data sets need h5py")
    required("minari", EXTRA, "data sets need Minari")
    from minari.dataset.minari_storage import MinariStorage

    task, name = behaviour.process.simulation.task, _name(behaviour)
    folder = Path(output, name)
    check_new(output, [behaviour])
    specification = _specification(task, behaviour, seed)
    observations, actions = spaces_of(behaviour.process)
    with folder_written_atomically(folder) as made:
        # Minari does not find its own files below a relative path.
        storage = MinariStorage.new(
            made / DATA,
            observation_space=observations,
            action_space=actions,
            env_spec=specification,
            data_format="hdf5",
        )
        storage.update_metadata(_metadata(name, task, behaviour, seed))
        waiting = recordings(behaviour, seed, dialogues)
        first = 0
        while some := tuple(islice(waiting, AT_A_TIME)):
            # HDF5 crashes where a disk is full.
            _reserve(made / DATA / ARRAYS, sum(map(_size, some)))
            storage.update_episodes(map(_buffer, some))
            numbers = range(first, first + len(some))
            storage.update_episode_metadata([{"policy": each.policy} for each in some], numbers)
            first += len(some)
    return folder


def _reserve(file: Path, size: int) -> None:
    """Raise `OSError` if the disk has no space for `file` to grow by `size` bytes.

    That is for libraries which do not recover from a full disk.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    grown = file.stat().st_size if file.exists() else 0
    trial = file.with_name(f"{file.name}.tmp")
    try:
        with trial.open("wb") as stream:
            os.posix_fallocate(stream.fileno(), grown, size)
    finally:
        trial.unlink(missing_ok=True)


def check_new(output: str | Path, behaviours: Iterable[Behaviour]) -> None:
    """Raise `UsageError` that names all data sets of these behaviours that are there already."""
    folders = [Path(output, _name(behaviour)) for behaviour in behaviours]
    there = [str(folder) for folder in folders if folder.exists()]
    if there:
        verb, them = ("is", "it") if len(there) == 1 else ("are", "them")
        raise UsageError(
            f"{', '.join(there)} {verb} there already: remove {them}, or name another folder"
        )


def _name(behaviour: Behaviour) -> str:
    return f"{behaviour.name}/{dataset_name(behaviour.process.simulation.task.name)}"


def _size(recording: Recording) -> int:
    """Return the most bytes that a dialogue takes in a file."""
    arrays: list[NDArray[Any]] = [recording.observations, recording.actions, recording.rewards]
    return AROUND + 2 * sum(array.nbytes for array in [*arrays, *recording.infos.values()])


def _specification(task: Task, behaviour: Behaviour, seed: int) -> Any:
    """Return with what Gymnasium makes the environment; None in a domain of one's own."""
    gymnasium = required("gymnasium", EXTRA, "data sets need Gymnasium")
    register_with_gymnasium()
    ids = [name for name, known in environment_ids().items() if known == (task.name, False)]
    if not ids:
        return None
    registered = gymnasium.spec(ids[0])  # Gymnasium's own record, from which others make theirs
    arguments = {"confusion_seed": seed, "goodbye": behaviour.goodbye}
    return replace(registered, kwargs=registered.kwargs | arguments)


def _metadata(name: str, task: Task, behaviour: Behaviour, seed: int) -> dict[str, Any]:
    turns = " (dialogue by dialogue in turn: handcrafted, random)" * (behaviour.name == MIXED)
    return {
        "dataset_id": name,
        "minari_version": READABLE_FROM,
        "algorithm_name": behaviour.name,
        "author": {"mwzeval"},
        "description": (
            f"Dialogues in PyDial's task {task.name} with the policy {behaviour.name}{turns}, "
            f"recorded with seed {seed}; infos have the masks."
        ),
        "requirements": [f"mwzeval>={__version__}", "gymnasium>=1.1"],
        OWN_KEY: {
            "task": task.name,
            "policy": behaviour.name,
            "model": behaviour.model,
            "seed": seed,
            "goodbye": behaviour.goodbye,
        },
    }


def _buffer(recording: Recording) -> Any:
    from minari.data_collector import EpisodeBuffer

    ends = np.zeros(len(recording.actions), dtype=np.bool_)
    terminations = ends.copy()
    terminations[-1] = True
    return EpisodeBuffer(
        seed=recording.seed,
        observations=recording.observations,
        actions=recording.actions,
        rewards=recording.rewards,
        terminations=terminations,
        truncations=ends,
        infos=recording.infos,
    )
