"""Data sets of dialogues in Minari's format: a folder BEHAVIOUR/TASK-v0 with HDF5 and JSON.

Source: Minari 0.5, "Dataset Standards". They are written with Minari (extra `offline`) and read
with h5py alone, so that nothing that a file describes is made or run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.files.reading import read_json, read_model, size_limit, too_large
from mwzeval.files.writing import folder_written_atomically
from mwzeval.libraries import required
from mwzeval.pydial.environments.gymnasium_environments import spaces_of
from mwzeval.pydial.environments.registration import environment_ids, register_with_gymnasium
from mwzeval.pydial.offline.behaviour import MIXED, Behaviour, Recording, recordings
from mwzeval.pydial.policies.learner import Exchange
from mwzeval.pydial.tasks import Task
from mwzeval.version import __version__

EXTRA = "offline"
DATA = "data"
ARRAYS, METADATA = "main_data.hdf5", "metadata.json"
READABLE_FROM = "0.5.0"
"""Minari refuses data sets of later versions than itself; the format is the same since this one."""
OWN_KEY = "mwzeval"
"""What metadata say under this key: task, policy, seed, goodbye, model."""
READ = (
    *("observations", "infos/action_mask", "actions", "rewards"),
    *("terminations", "truncations"),
)
"""What is read of a dialogue."""
AT_A_TIME = 200
AROUND = 2**15
"""Bytes of what HDF5 writes around the arrays of a dialogue, at most."""
GREATEST = 1e6
"""No observation or reward of PyDial comes near it."""
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


@dataclass(frozen=True, slots=True)
class Dataset:
    """Dialogues to learn from; `source` is what they are of: task, policy, seed, goodbye, model."""

    folder: Path
    source: dict[str, Any]
    dialogues: tuple[tuple[Exchange, ...], ...]


def read_dataset(
    folder: str | Path, task: str, size: int, actions: int, dialogues: int | None = None
) -> Dataset:
    """Return the data set of a task, or its first `dialogues`; `folder` is that of a behaviour.

    `size` is that of an observation, `actions` the number of actions. Raises `UsageError` where
    there is none or it has too few, `InputError` for one that is damaged or of something else, and
    `DependencyError` without h5py.
    """
    place, source, wanted = source_of(folder, task, dialogues)
    file = place / DATA / ARRAYS
    h5py = required("h5py", EXTRA, "data sets need h5py")
    try:
        with h5py.File(BytesIO(read_model(file)), "r") as groups:
            read = tuple(_dialogues(groups, file, size, actions, wanted))
    except InputError:
        raise
    except Exception as error:  # of HDF5 or what is in it
        raise _damaged(file, error) from None
    return Dataset(place, source, read)


class DatasetError(ValueError):
    """What is wrong with a data set, and where, in words for users."""


def source_of(
    folder: str | Path, task: str, dialogues: int | None = None
) -> tuple[Path, dict[str, Any], int]:
    """Return where the data set of a task is, what it is of, and how many dialogues are wanted.

    That is said by its metadata alone. Raises `UsageError` and `InputError` as `read_dataset`.
    """
    place = Path(folder, dataset_name(task))
    if not place.is_dir():
        raise UsageError(
            f"{place}: there is no data set of {task} (`mwzeval pydial record {task} -o FOLDER` "
            "makes FOLDER/POLICY, which is the folder to name)"
        )
    metadata = place / DATA / METADATA
    try:
        source, held = _source(read_json(metadata), task)
    except InputError:
        raise
    except Exception as error:  # whatever is in it
        raise _damaged(metadata, error) from None
    wanted = held if dialogues is None else dialogues
    if wanted > held:
        raise UsageError(
            f"{place} has {held} dialogues, and {wanted} are to be learned from: say a smaller "
            "--dialogues, or record more"
        )
    return place, source, wanted


def _damaged(file: Path, error: Exception) -> InputError:
    # Of other errors than ours the text is one of a library, which says nothing to users.
    reason = f" ({shorten(str(error), 200)})" if type(error) is DatasetError else ""
    message = f"expected a data set that `mwzeval pydial record` wrote{reason}: record it again"
    return InputError([Problem("bad-dataset", message, file=str(file))])


def _dialogues(
    groups: Any, file: Path, size: int, actions: int, wanted: int
) -> Iterator[tuple[Exchange, ...]]:
    """Yield dialogues; raises all sorts of errors where there are none."""
    limit = size_limit()
    for index in range(wanted):
        group = groups[f"episode_{index}"]
        limit -= sum(group[key].nbytes for key in READ)
        if limit < 0:
            raise too_large(str(file), "what it holds")
        yield _dialogue(group, size, actions)


def _source(plain: Any, task: str) -> tuple[dict[str, Any], int]:
    """Return of what metadata are, and of how many dialogues; raises all sorts of errors."""
    source, held = plain[OWN_KEY], plain["total_episodes"]
    if not isinstance(source, dict) or type(held) is not int:
        raise DatasetError(f"{OWN_KEY} is not an object, or total_episodes is not a number")
    if source["task"] != task:
        raise DatasetError(f"it is of task {source['task']}")
    return source, held


def _dialogue(group: Any, size: int, actions: int) -> tuple[Exchange, ...]:
    """Return a dialogue; raises all sorts of errors for what is none."""
    states, masks, taken, rewards, ended, cut = (group[key][()] for key in READ)
    number = len(taken)
    for name, array, kinds, shape in (
        ("observations", states, "f", (number + 1, size)),
        ("action_mask", masks, "biu", (number + 1, actions)),
        ("actions", taken, "iu", (number,)),
        ("rewards", rewards, "f", (number,)),
        ("terminations", ended, "b", (number,)),
        ("truncations", cut, "b", (number,)),
    ):
        if array.dtype.kind not in kinds or array.shape != shape:
            raise DatasetError(f"{group.name}/{name} is {array.dtype} of shape {array.shape}")
        # Policies compute with numbers of 32 bits.
        if np.isnan(array).any() or np.abs(array, dtype=np.float64).max(initial=0) > GREATEST:
            raise DatasetError(f"{group.name}/{name} has what is no number, or beyond all measure")
    if not number or cut.any() or not ended[-1] or ended[:-1].any():
        raise DatasetError(f"{group.name} does not end as a dialogue")
    allowed = masks.astype(np.bool_)
    if taken.min() < 0 or taken.max() >= actions or not _taken_of(allowed, taken).all():
        raise DatasetError(f"{group.name}/actions has what is masked, or no action")
    return tuple(
        Exchange(*each)
        for each in zip(
            states[:-1].astype(np.float32),
            allowed[:-1],
            taken.tolist(),
            rewards.tolist(),
            strict=True,
        )
    )


def _taken_of(values: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
    of_taken: NDArray[Any] = values[np.arange(len(actions)), actions]
    return of_taken
