"""Learned policies as files: arrays and plain values in one NumPy archive, without pickles.

A file says of what policy, task and hyperparameters it is, so that none is taken for another. It is
written whole or not at all: what is there is always the last one that was complete.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.files.reading import read_model, size_limit
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.policies.learner import Arrays, DivergedError, Memory

FORMAT = 1
DESCRIPTION = "description"
ARCHIVE = b"PK"
"""How an archive begins."""
SPARSE_BELOW = 0.25
"""Arrays with a smaller share of numbers that are not 0 are worth compressing."""
AT_ONCE = 2
"""Arrays in memory may have so many times the bytes that a file may have."""
NUMBERS = "biuf"
"""Kinds of arrays: true or false, whole numbers, others."""
KINDS: Mapping[str, type[Any]] = {
    "policy": str,
    "task": str,
    "seed": int,
    "legacy": bool,
    "settings": dict,
    "dialogues": int,
    "whole": bool,
    "about": dict,
    "more": dict,
}
"""What a description says beside its format."""


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
            array = arrays[name]
            if array.flags.fnc:  # columns would be written as such; a part of rows needs no copy
                array = np.ascontiguousarray(array)
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
        raw = read_model(path)
        if not raw.startswith(ARCHIVE):
            raise ValueError("it is no NumPy archive")
        arrays = _arrays(raw)
        description = json.loads(arrays.pop(DESCRIPTION).tobytes())
        version = description["format"]
        for key, kind in KINDS.items():
            if type(description[key]) is not kind:
                raise TypeError(f"{key}: {description[key]!r}")
        if min(description["dialogues"], description["seed"]) < 0:
            raise ValueError("a number below 0")
        found = Origin(*(description[key] for key in Origin.__dataclass_fields__))
        checkpoint = Checkpoint(
            found,
            description["dialogues"],
            description["whole"],
            Memory(arrays, description["about"]),
            description["more"],
        )
    except InputError:
        raise
    except Exception as error:  # of archive, compression, array or JSON: whatever a file provokes
        reason = shorten(str(error), 200)
        raise _refused(path, f"no checkpoint of this program ({reason})") from None
    if version != FORMAT:
        raise _refused(path, f"a checkpoint of format {version}, this version reads {FORMAT}")
    if origin is not None and (problems := _differences(path, found, origin)):
        raise InputError(problems)
    return checkpoint


def _arrays(raw: bytes) -> Arrays:
    """Return the arrays of numbers in an archive. Raises all sorts of errors for anything else."""
    arrays: Arrays = {}
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > AT_ONCE * size_limit():
            raise ValueError(f"it would unpack to {size:,} bytes")
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                array = np.lib.format.read_array(stream, allow_pickle=False)
            name = entry.filename.removesuffix(".npy")
            if array.dtype.kind not in NUMBERS or not np.isfinite(array).all():
                raise ValueError(f"{name} has what is no number")
            arrays[name] = array
    return arrays


@contextmanager
def fitting(path: str | Path, advice: str) -> Iterator[None]:
    """Refuse a checkpoint with `InputError` if what is done with its arrays shows that they do not
    fit. All that is wrong with it is told with an `advice` what to do about it."""
    try:
        with _converted(path):
            yield
    except InputError as error:
        problems = (replace(p, message=f"{p.message}. {advice}") for p in error.problems)
        raise InputError(problems) from None


@contextmanager
def _converted(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        reason = shorten(str(e), 200)
        raise _refused(path, f"a checkpoint that does not fit ({reason})") from None


@contextmanager
def diverging(path: str | Path, advice: str) -> Iterator[None]:
    """Raise `InputError`, with an `advice` what to do, where the policy of a checkpoint has weights
    from which no action follows: that shows only when it acts."""
    try:
        yield
    except DivergedError as error:
        raise InputError([Problem("diverged", f"{error}. {advice}", file=str(path))]) from None


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
