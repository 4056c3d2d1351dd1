"""Compiling with numba, which is imported with the modules that are compiled.

Functions are compiled when they are first called. What the entry points (`entry`) come to is kept
on disk, beside the modules or in the user's cache; where neither can be written it is compiled in
each process. Compiling takes long enough to be told, once in a process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from mwzeval.libraries import required
from mwzeval.output import tell

Function = TypeVar("Function", bound=Callable[..., Any])
COMPILED_IN = (
    *("batched/layout.py", "batched/kernel/*.py", "batched/user/*.py"),
    *("dialogue/*.py", "environments/features.py", "environments/actions.py"),
    *("policies/handcrafted.py",),
)
"""The modules that have the code, or constants in it."""
_numba: Any = required(
    "numba", "batched", 'dialogues in batches need numba (vectorization_mode="sync" does not)'
)


def compiled(function: Function) -> Function:
    """Compile a function, in whatever calls it."""
    return cast(
        "Function",
        _numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function),
    )


@cache
def sources_digest() -> str:
    """Return what changes when code that is compiled, or a constant in it, changes."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for pattern in COMPILED_IN:
        for file in sorted(root.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def entry(function: Function) -> Function:
    """Compile a function that is called from Python, and keep what comes of it on disk.

    Numba looks only for changes of the function itself. A closure's values are part of what it
    compares, so functions take `sources_digest` into theirs. With NUMBA_DISABLE_JIT=1 nothing is
    compiled: then it is Python that runs, a thousand times slower, and can be stepped through.
    """
    if _numba.config.DISABLE_JIT:
        return cast("Function", _interpreted(function))
    try:
        made = _numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # nowhere to keep it
        made = _numba.njit(error_model="numpy")(function)
    _watched.add(made)
    return cast("Function", made)


_events: Any = import_module("numba.core.event")
_watched: set[Any] = set()
"""Entry points of which it is told that they are compiled: until the first of them is."""


class _Compiling(_events.Listener):  # type: ignore[misc]
    """Hears of what numba compiles, which is not what it finds on disk."""

    def on_start(self, event: Any) -> None:
        """Tell of an entry point."""
        if event.data["dispatcher"] in _watched:
            _watched.clear()
            tell("numba compiles the simulation of dialogues: about a minute, then it is kept")

    def on_end(self, event: Any) -> None:
        """Tell nothing."""


_events.register("numba:compile", _Compiling())


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # generators multiply modulo 2**64
            return function(*map(_with_fields, arguments))

    return run


def _with_fields(argument: Any) -> Any:
    if isinstance(argument, np.ndarray) and argument.dtype.names:
        return _Records(argument)
    return argument


class _Records:
    """A structured array whose records have attributes, as they have in compiled code."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: int) -> _Record:
        return _Record(self._array[index])


class _Record:
    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        object.__setattr__(self, "_of", of)

    def __getattr__(self, name: str) -> Any:
        return self._of[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._of[name] = value
