"""Trained models as files: arrays with a description in one safetensors file.

Reading one runs nothing of it. Nothing here knows a benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import InputError, Problem
from mwzeval.files.reading import read_model
from mwzeval.files.writing import write_atomically
from mwzeval.libraries import required

Arrays = dict[str, NDArray[Any]]
DESCRIPTION = "mwzeval"
"""The key of the file's metadata that holds the description, as JSON."""
FORMAT = 1
PICKLES = (b"PK\x03\x04", b"\x80")
"""With these begin what `torch.save` and `pickle.dump` write."""
HEADER = 8
"""Bytes before the header: its length."""


def write_arrays(path: str | Path, kind: str, arrays: Mapping[str, Any], about: Any) -> None:
    """Write arrays and what is said `about` them (plain values), whole or not at all.

    The same arrays give the same bytes. Raises `DependencyError` without safetensors,
    `MwzevalError` when the place cannot be written.
    """
    description = json.dumps(
        {"format": FORMAT, "kind": kind, "about": about}, sort_keys=True, ensure_ascii=False
    )
    ordered = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    content = required("safetensors.numpy").save(ordered, metadata={DESCRIPTION: description})
    write_atomically(path, content)


def read_arrays(path: str | Path, kind: str) -> tuple[Arrays, Any]:
    """Return the arrays of a file and what is said about them.

    Only safetensors are read, which can hold nothing but numbers; a pickle, which runs whatever it
    holds, is refused unopened. Raises `InputError` for anything that is not such a file of this
    kind, `DependencyError` without safetensors.
    """
    safetensors = required("safetensors")
    raw = read_model(path)
    # The length of a safetensors header may begin with the same byte; its text follows it.
    if raw.startswith(PICKLES) and raw[HEADER : HEADER + 1] != b"{":
        what = "a pickle or PyTorch archive, which can run code when it is loaded: not opened"
        raise refused(path, f"{what}. Models are safetensors files, as training writes them")
    try:
        arrays: Arrays = required("safetensors.numpy").load(raw)
        length = int.from_bytes(raw[:HEADER], "little")
        header = json.loads(raw[HEADER : HEADER + length])
        description = json.loads(header["__metadata__"][DESCRIPTION])
        found = description["format"], description["kind"]
        about = description["about"]
    except MemoryError:
        raise refused(path, f"its {len(raw):,} bytes do not fit into memory twice") from None
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise refused(path, f"not a safetensors file of this program ({error!r})") from None
    if found != (FORMAT, kind):
        raise refused(path, f"expected a {kind} of format {FORMAT}, found {found[1]} {found[0]}")
    return arrays, about


def refused(path: str | Path, reason: str) -> InputError:
    """Return the error of a model file that is not loaded."""
    return InputError([Problem("bad-model", reason, file=str(path))])
