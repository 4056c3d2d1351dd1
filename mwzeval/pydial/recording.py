"""Record dialogues as data sets BEHAVIOUR/TASK-v0 in Minari's format, which consists of HDF5 and
JSON files.

A dialogue depends only on its number and the seed of the data set. The random choices of the user
and the channel come from one generator, whose seed is recorded. The policy has a separate random
generator. Therefore, an environment that is reset with the recorded seed and receives the same
actions reproduces the observations.

Source: Minari 0.5, "Dataset Standards". Data sets are written with Minari (extra `offline`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.files.reading import read_model
from mwzeval.files.writing import folder_written_atomically
from mwzeval.libraries import required
from mwzeval.pydial import environment_ids, register_with_gymnasium
from mwzeval.pydial.decision_process import DecisionProcess, Mask
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.envs import as_numpy, spaces_of
from mwzeval.pydial.play import adapter_for
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.presets import HANDCRAFTED, RANDOM
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import Task
from mwzeval.version import __version__

MIXED = "mixed"
BEHAVIOURS = (RANDOM, HANDCRAFTED, MIXED)
USERS, POLICY = 2, 3
"""The phases of the random generators. Training has phase 0, and tests have phase 1."""


def handcrafted_action(belief: Belief, mask: Mask, rng: Rng) -> int:
    """Return the index of the summary action that corresponds to the handcrafted policy's act.

    If this action does not exist or is not allowed by `mask`, shape (actions,), the result is a
    random allowed action.
    """
    # Random choices within the act are not used.
    action = HandcraftedPolicy().action(belief, Rng(0))
    if action >= 0 and mask[action]:
        return action
    return RandomPolicy().act(None, mask, rng)


Choose = Callable[[Rng], int]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A policy, or several alternating policies, in a task.

    `policies` has a name and a function for each policy; the function chooses an action in the
    `process`. Dialogue i uses policy i modulo the number of policies. `model` is a checksum of the
    checkpoint file, or None if there is no such file.
    """

    name: str
    process: DecisionProcess
    policies: tuple[tuple[str, Choose], ...]
    model: str | None = None

    @property
    def dataset(self) -> str:
        """The name of the data set to which dialogues are recorded."""
        return f"{self.name}/{dataset_name(self.process.simulation.task.name)}"


def behaviour_named(
    policy: str | Path, domain: Domain, task: Task, *, confusion_seed: int = 0
) -> Behaviour:
    """Return "random", "handcrafted", "mixed" or the policy in a checkpoint file, in a task.

    "mixed" is handcrafted in dialogues with an even number and random in dialogues with an odd
    number. Raises `UsageError` if the name is unknown, and `InputError` if the file is not a
    checkpoint for this domain.
    """
    name = str(policy)
    place = adapter_for(
        RANDOM if name in BEHAVIOURS else name, domain, task, confusion_seed=confusion_seed
    )
    process = place.process
    simulation = process.simulation
    if place.preset is not None:
        name, digest = place.preset.name, sha256(read_model(name)).hexdigest()
        return Behaviour(name, process, ((name, place.choose),), digest)
    known: dict[str, Choose] = {
        HANDCRAFTED: lambda rng: handcrafted_action(simulation.belief, process.mask, rng),
        RANDOM: lambda rng: RandomPolicy().act(None, process.mask, rng),
    }
    return Behaviour(
        name, process, tuple(known.items() if name == MIXED else [(name, known[name])])
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """A dialogue of n turns as arrays, in the terms of a Gymnasium environment.

    `seed` is the seed with which the environment is reset. `observations` has shape (n + 1, size),
    and its last row is all zeros; `actions` and `rewards` have shape (n,). Each array in `infos`
    has n + 1 rows.
    """

    seed: int
    policy: str
    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    infos: dict[str, NDArray[Any]]


def recordings(behaviour: Behaviour, seed: int, dialogues: int) -> Iterator[Recording]:
    """Yield the dialogues of a data set, numbered from 0."""
    process = behaviour.process
    for index in range(dialogues):
        policy, choose = behaviour.policies[index % len(behaviour.policies)]
        drawn = user_seed(seed, index)
        rng = rng_from(np.random.default_rng((seed, POLICY, index)))
        process.simulation.forget()
        _, info = process.begin(rng_from(np.random.default_rng(drawn)))
        observations, infos = [process.neural_vector()], [as_numpy(info)]
        actions, rewards, ended = [], [], False
        while not ended:
            actions.append(choose(rng))
            _, reward, ended, info = process.step(actions[-1])
            seen = np.zeros_like(observations[0]) if ended else process.neural_vector()
            observations.append(seen)
            rewards.append(reward)
            infos.append(as_numpy(info))
        yield Recording(
            drawn,
            policy,
            np.stack(observations),
            np.array(actions, dtype=np.int64),
            np.array(rewards),
            {key: np.stack([entry[key] for entry in infos]) for key in infos[0]},
        )


def user_seed(seed: int, index: int) -> int:
    """Return the seed of user and channel in a dialogue; seeds are below 2**63."""
    words = np.random.SeedSequence((seed, USERS, index)).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


EXTRA = "offline"
DATA = "data"
ARRAYS = "main_data.hdf5"
READABLE_FROM = "0.5.0"
"""The version in data sets: Minari rejects newer versions, and the format has not changed since."""
OWN_KEY = "mwzeval"
"""The metadata key for task, policy, seed, goodbye and model."""
AT_A_TIME = 200
AROUND = 2**15
"""Maximum number of bytes that HDF5 adds to the arrays of a dialogue."""
VERSION = 0
"""This number is increased when the same call would record other dialogues."""
NOT_IN_IDS = re.compile(r"[^\w-]")


def dataset_name(task: str) -> str:
    """Return the name of a task's data set within the folder of a behavior: `CR-3-v0`."""
    return f"{NOT_IN_IDS.sub('-', task)}-v{VERSION}"


def write_dataset(output: str | Path, behaviour: Behaviour, seed: int, dialogues: int) -> Path:
    """Record the dialogues of a policy, and return the folder of the data set below `output`.

    With `MINARI_DATASETS_PATH=OUTPUT`, `minari.load_dataset("BEHAVIOUR/TASK-v0")` loads them. The
    data set is written completely or not at all. Raises `UsageError` if the data set exists,
    `DependencyError` without Minari, and `MwzevalError` if the data set cannot be written.
    """
    if dialogues < 1:
        raise UsageError(f"the number of dialogues must be 1 or more, not {dialogues}")
    required("h5py", EXTRA, "data sets need h5py")
    required("minari", EXTRA, "data sets need Minari")
    from minari.dataset.minari_storage import MinariStorage

    task, name = behaviour.process.simulation.task, behaviour.dataset
    folder = Path(output, name)
    check_new(output, [behaviour])
    specification = _specification(task, behaviour, seed)
    observations, actions = spaces_of(behaviour.process)
    with folder_written_atomically(folder) as made:
        # With a relative path, Minari does not find its own files.
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
            # HDF5 crashes if the disk is full.
            _reserve(made / DATA / ARRAYS, sum(map(_size, some)))
            storage.update_episodes(map(_buffer, some))
            numbers = range(first, first + len(some))
            policies = [{"policy": recording.policy} for recording in some]
            storage.update_episode_metadata(policies, numbers)
            first += len(some)
    return folder


def _reserve(file: Path, size: int) -> None:
    """Raise `OSError` if the disk has no space for `file` to grow by `size` bytes.

    The check is needed for libraries that do not recover from a full disk.
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
    """Raise `UsageError` if data sets of these policies exist; the error lists all of them."""
    folders = [Path(output, behaviour.dataset) for behaviour in behaviours]
    there = [str(folder) for folder in folders if folder.exists()]
    if there:
        verb, them = ("exists", "it") if len(there) == 1 else ("exist", "them")
        raise UsageError(
            f"{', '.join(there)} {verb} already: remove {them}, or name another folder"
        )


def _size(recording: Recording) -> int:
    """Return the maximum number of bytes of a dialogue in a file."""
    arrays: list[NDArray[Any]] = [recording.observations, recording.actions, recording.rewards]
    return AROUND + 2 * sum(array.nbytes for array in [*arrays, *recording.infos.values()])


def _specification(task: Task, behaviour: Behaviour, seed: int) -> Any:
    """Return the Gymnasium specification of the environment, or None in a custom domain."""
    gymnasium = required("gymnasium", EXTRA, "data sets need Gymnasium")
    register_with_gymnasium()
    ids = [name for name, known in environment_ids().items() if known == (task.name, False)]
    if not ids:
        return None
    registered = gymnasium.spec(ids[0])  # Gymnasium's registered instance, which others copy
    arguments = {"confusion_seed": seed, "goodbye": behaviour.process.goodbye}
    return replace(registered, kwargs=registered.kwargs | arguments)


def _metadata(name: str, task: Task, behaviour: Behaviour, seed: int) -> dict[str, Any]:
    turns = " (handcrafted and random, in alternate dialogues)" * (behaviour.name == MIXED)
    return {
        "dataset_id": name,
        "minari_version": READABLE_FROM,
        "algorithm_name": behaviour.name,
        "author": {"mwzeval"},
        "description": (
            f"Dialogues in PyDial's task {task.name} with the policy {behaviour.name}{turns}, "
            f"recorded with seed {seed}; infos contain the masks."
        ),
        "requirements": [f"mwzeval>={__version__}", "gymnasium>=1.1"],
        OWN_KEY: {
            "task": task.name,
            "policy": behaviour.name,
            "model": behaviour.model,
            "seed": seed,
            "goodbye": behaviour.process.goodbye,
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
