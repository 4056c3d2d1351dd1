"""The simulator compiled by numba. Importing this module also imports numba.

Each function of the simulator is compiled from its source on its first call. In compiled code,
functions of `twister.py` replace functions of `native.py`. Compiled entry points are cached on
disk, next to the modules or in the user's cache; if neither is writable, each process compiles them
again. A message that compilation takes long is printed once per process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from mwzeval.libraries import required
from mwzeval.output import notify
from mwzeval.pydial.simulator import (
    channel,
    codes,
    goals,
    native,
    step,
    system,
    tracker,
    twister,
    user,
)
from mwzeval.pydial.simulator.step import start, take
from mwzeval.pydial.simulator.system import write_mask, write_vector
from mwzeval.pydial.simulator.twister import next_seed, random, seed_twister

MODULES = codes, twister, goals, user, channel, tracker, system, step
COMPILED_IN = "simulator/*.py", "acts.py", "domain.py", "user_parameters.py"
"""The source files that contain the compiled code or constants of this code."""
STEP, BEGIN, LOOK = range(3)
"""What `advance` does with a dialogue: take an action, begin a new dialogue, or only observe."""
_numba: Any = required(
    "numba",
    "batched",
    'compiled dialogues need numba (vectorization_mode="sync" and `run` without --compiled do not)',
)


@cache
def functions() -> dict[str, Any]:
    """Return the functions of the simulator by name, for calls from compiled code."""
    spaces = {module.__name__: dict(vars(module)) for module in MODULES}
    compiled: dict[Any, Any] = {}
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                copy = FunctionType(value.__code__, spaces[module.__name__], name)
                compiled[value] = _numba.njit(
                    error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
                )(copy)
    for name, value in vars(native).items():
        if isinstance(value, FunctionType | type) and value is not vars(twister).get(name, value):
            compiled[value] = compiled.get(getattr(twister, name), getattr(twister, name))
    for space in spaces.values():
        for name, value in space.items():
            if isinstance(value, FunctionType | type) and value in compiled:
                space[name] = compiled[value]
    return {f.__name__: made for f, made in compiled.items() if isinstance(f, FunctionType)}


@cache
def _digest() -> str:
    """Return a digest of the compiled code and its constants."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for pattern in COMPILED_IN:
        for file in sorted(root.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def advance_function() -> Callable[..., int]:
    """Return the compiled form of the function `advance`."""
    digest = _digest()

    def advance(
        shared: Any,
        dialogues: Any,
        what: Any,
        actions: Any,
        vectors: Any,
        masks: Any,
        rewards: Any,
    ) -> int:
        """Process each dialogue as `what` specifies, and write its reward, vector and mask.

        Returns the index of a dialogue for which no goal was found, or -1 if all goals were found.
        If a dialogue is finished, its vector becomes zero and its mask does not change.
        """
        len(digest)
        t = shared[0]
        for index in range(len(what)):
            d = dialogues[index]
            rewards[index] = 0.0
            if what[index] == BEGIN:
                seed_twister(d, next_seed(d))
                if not start(t, d):
                    return index
            elif what[index] == STEP:
                rewards[index] = take(t, d, actions[index])
            vectors[index, :] = 0.0
            if not d.ended:
                write_vector(t, d, vectors[index])
                write_mask(t, d, masks[index])
        return -1

    return entry(advance)


@cache
def random_function() -> Callable[[Any, int], float]:
    """Return the compiled function that draws the next random number of a dialogue."""
    digest = _digest()

    def draw(dialogues: Any, place: int) -> float:
        len(digest)
        return random(dialogues[place])

    return entry(draw)


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that is called from Python, and cache the result on disk.

    Numba detects changes of this function, but does not detect changes of the functions that it
    calls. Numba's cache key includes the values in a closure, so a checksum of all code is put into
    the closure. The called functions become globals of a copy of the function, because compiled
    functions in a closure would differ between processes. With NUMBA_DISABLE_JIT=1, nothing is
    compiled: the code runs as plain Python, which is much slower but allows a debugger.
    """
    known = {**function.__globals__, **functions()}
    function = FunctionType(function.__code__, known, function.__name__, None, function.__closure__)
    if _numba.config.DISABLE_JIT:
        return _interpreted(function)
    try:
        made = _numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # no writable cache
        made = _numba.njit(error_model="numpy")(function)
    _watched.add(made)
    return made


_events: Any = import_module("numba.core.event")
_watched: set[Any] = set()
"""The entry points. A message is printed when the first of them is compiled."""
_told: list[bool] = []


class _Compiling(_events.Listener):  # type: ignore[misc]
    """Listens to numba's compilation events. Loading code from the cache causes no event."""

    def on_start(self, event: Any) -> None:
        """Print a message for the first entry point."""
        if not _told and event.data["dispatcher"] in _watched:
            _told.append(True)
            notify(
                "numba compiles the simulation of dialogues; this takes about a minute and "
                "is cached"
            )

    def on_end(self, event: Any) -> None:
        """Print nothing."""


_events.register("numba:compile", _Compiling())


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # multiplication modulo 2**64 is intended
            return function(*map(_with_fields, arguments))

    return run


def _with_fields(argument: Any) -> Any:
    """Return an array of records whose fields are attributes, as in compiled code."""
    has_fields = isinstance(argument, np.ndarray) and argument.dtype.names
    return argument.view(np.recarray) if has_fields else argument
