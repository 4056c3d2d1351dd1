"""Learned policies as files: arrays and plain values in one NumPy archive, without pickles.

A file says of what policy, task and hyperparameters it is, so that none is taken for another. It is
written whole or not at all: what is there is always the last one that was complete.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.dialogue_management.policies.learner import Arrays, Memory
from mwzeval.errors import InputError, Problem
from mwzeval.files import write_atomically

FORMAT = 1
DESCRIPTION = "description"
SPARSE_BELOW = 0.25
"""Arrays with a smaller share of numbers that are not 0 are worth compressing."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Of what a checkpoint is; `settings` are the hyperparameters as plain values."""

    policy: str
    task: str
    seed: int
    legacy: bool
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A policy after some training dialogues, with whatever else belongs to it.

    `whole` tells whether training can go on from it, or only tests.
    """

    origin: Origin
    dialogues: int
    whole: bool
    memory: Memory
    more: Mapping[str, Any]


def write_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; the same one gives the same bytes.

    Raises `MwzevalError` when it cannot be written; the file that was there is then as before.
    """
    origin = checkpoint.origin
    description = {
        "format": FORMAT,
        "policy": origin.policy,
        "task": origin.task,
        "seed": origin.seed,
        "legacy": origin.legacy,
        "settings": dict(origin.settings),
        "dialogues": checkpoint.dialogues,
        "whole": checkpoint.whole,
        "about": checkpoint.memory.about,
        "more": dict(checkpoint.more),
    }
    text = json.dumps(description, sort_keys=True, ensure_ascii=False).encode()
    arrays = {DESCRIPTION: np.frombuffer(text, dtype=np.uint8), **checkpoint.memory.arrays}
    content = BytesIO()
    with zipfile.ZipFile(content, "w", allowZip64=True) as archive:
        for name in sorted(arrays):
            array = np.ascontiguousarray(arrays[name]).reshape(np.shape(arrays[name]))
            entry = zipfile.ZipInfo(f"{name}.npy")
            if array.size and np.count_nonzero(array) < SPARSE_BELOW * array.size:
                entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
    write_atomically(path, content.getvalue())


def read_checkpoint(path: str | Path, origin: Origin | None = None) -> Checkpoint:
    """Return a checkpoint, which has to be of `origin` where that is given.

    Nothing in the file is run. Raises `InputError` for anything else than a checkpoint, for one of
    another version, and with every way in which it is of something else.
    """
    try:
        raw = Path(path).read_bytes()
        with np.load(BytesIO(raw), allow_pickle=False) as archive:
            arrays: Arrays = {name: archive[name] for name in archive.files}
        description = json.loads(arrays.pop(DESCRIPTION).tobytes())
        version = description["format"]
        found = Origin(*(description[key] for key in Origin.__dataclass_fields__))
        checkpoint = Checkpoint(
            found,
            int(description["dialogues"]),
            bool(description["whole"]),
            Memory(arrays, description["about"]),
            description["more"],
        )
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, RecursionError) as error:
        raise _refused(path, f"no checkpoint of this program ({error})") from None
    if version != FORMAT:
        raise _refused(path, f"a checkpoint of format {version}, this version reads {FORMAT}")
    if origin is not None and (problems := _differences(path, found, origin)):
        raise InputError(problems)
    return checkpoint


def _differences(path: str | Path, found: Origin, expected: Origin) -> list[Problem]:
    return [
        Problem(
            "other-checkpoint",
            f"a checkpoint of {key} {getattr(found, key)}, expected {getattr(expected, key)}",
            file=str(path),
        )
        for key in Origin.__dataclass_fields__
        if getattr(found, key) != getattr(expected, key)
    ]


def _refused(path: str | Path, reason: str) -> InputError:
    return InputError([Problem("bad-checkpoint", reason, file=str(path))])
