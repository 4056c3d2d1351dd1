"""The simulator compiled by numba, which is imported with this module.

Each function of the simulator is compiled as it stands, when it is first called, with what
`twister.py` has in place of `native.py`. What the entry points come to is kept on disk, next to the
modules or in the user's cache; where neither can be written it is compiled in each process.
A message says, once in a process, that this takes long.
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
from mwzeval.output import tell
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
"""The files that have the code, or constants in it."""
STEP, BEGIN, LOOK = range(3)
"""What to do with a dialogue: take an action, begin a new one, or only look at it."""
_numba: Any = required(
    "numba",
    "batched",
    'compiled dialogues need numba (vectorization_mode="sync" and `run` without --compiled do not)',
)


@cache
def functions() -> dict[str, Any]:
    """Return the functions of the simulator by their names, to be called by compiled code."""
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
    """Return what changes when code that is compiled, or a constant in it, changes."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for pattern in COMPILED_IN:
        for file in sorted(root.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def advance_function() -> Callable[..., int]:
    """Return the compiled function `advance`."""
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
        """Do with each dialogue what `what` says, and write rewards and what is seen.

        Returns the number of a dialogue whose user found no goal, else -1. Of a dialogue that ended
        the vector is zero and the mask stays as it was.
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
    """Compile a function that is called from Python, and keep what comes of it on disk.

    Numba looks only for changes of the function itself. A closure's values are part of what it
    compares, so functions take the digest into theirs. What they call are globals of a copy of the
    function: in a closure, compiled functions would be others in each process. With
    NUMBA_DISABLE_JIT=1 nothing is compiled: then it is Python that runs, much slower, and can be
    stepped through.
    """
    known = {**function.__globals__, **functions()}
    function = FunctionType(function.__code__, known, function.__name__, None, function.__closure__)
    if _numba.config.DISABLE_JIT:
        return _interpreted(function)
    try:
        made = _numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # nowhere to keep it
        made = _numba.njit(error_model="numpy")(function)
    _watched.add(made)
    return made


_events: Any = import_module("numba.core.event")
_watched: set[Any] = set()
"""Entry points; a message is printed when the first of them is compiled."""
_told: list[bool] = []


class _Compiling(_events.Listener):  # type: ignore[misc]
    """Hears of what numba compiles, which is not what it finds on disk."""

    def on_start(self, event: Any) -> None:
        """Print a message for the first entry point."""
        if not _told and event.data["dispatcher"] in _watched:
            _told.append(True)
            tell(
                "numba compiles the simulation of dialogues; this takes about a minute and "
                "is cached"
            )

    def on_end(self, event: Any) -> None:
        """Print nothing."""


_events.register("numba:compile", _Compiling())


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # generators multiply modulo 2**64
            return function(*map(_with_fields, arguments))

    return run


def _with_fields(argument: Any) -> Any:
    """Return an array of records with fields as attributes, as compiled code has them."""
    has_fields = isinstance(argument, np.ndarray) and argument.dtype.names
    return argument.view(np.recarray) if has_fields else argument
