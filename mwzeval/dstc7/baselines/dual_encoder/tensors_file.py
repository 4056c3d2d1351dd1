"""Arrays with a description in one safetensors file: read without running anything of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dstc7.baselines.libraries import required
from mwzeval.errors import InputError, Problem
from mwzeval.files import write_atomically

Arrays = dict[str, NDArray[Any]]
DESCRIPTION = "mwzeval"
"""The key of the file's metadata that holds the description, as JSON."""
FORMAT = 1
PICKLES = (b"PK\x03\x04", b"\x80")
"""With these begin what `torch.save` and `pickle.dump` write."""


def write_arrays(path: str | Path, kind: str, arrays: Mapping[str, Any], about: Any) -> None:
    """Write arrays and what is said `about` them (plain values), whole or not at all."""
    numpy_files = required("safetensors.numpy", "neural")
    description = {"format": FORMAT, "kind": kind, "about": about}
    text = json.dumps(description, sort_keys=True)
    ordered = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    write_atomically(path, numpy_files.save(ordered, metadata={DESCRIPTION: text}))


def read_arrays(path: str | Path, kind: str) -> tuple[Arrays, Any]:
    """Return the arrays of a file and what is said about them.

    Only safetensors are read, which can hold nothing but numbers; a pickle, which runs whatever it
    holds, is refused unopened. Raises `InputError` for anything that is not such a file of this
    kind, `DependencyError` without safetensors.
    """
    safetensors = required("safetensors", "neural")
    numpy_files = required("safetensors.numpy", "neural")
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise refused(path, f"cannot be read: {error}") from None
    # The length of a safetensors header may begin with the same byte; its text follows at 8.
    if raw.startswith(PICKLES) and raw[8:9] != b"{":
        what = "a pickle or PyTorch archive, which can run code when it is loaded: not opened"
        raise refused(path, f"{what}. Models are safetensors files, as `train` writes them")
    try:
        arrays: Arrays = numpy_files.load(raw)
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
        description = json.loads(header["__metadata__"][DESCRIPTION])
        found = description["format"], description["kind"]
        about = description["about"]
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise refused(path, f"not a safetensors file of this program ({error!r})") from None
    if found != (FORMAT, kind):
        raise refused(path, f"expected a {kind} of format {FORMAT}, found {found[1]} {found[0]}")
    return arrays, about


def refused(path: str | Path, reason: str) -> InputError:
    """Return the error of a file that is not loaded."""
    return InputError([Problem("bad-model", reason, file=str(path))])
