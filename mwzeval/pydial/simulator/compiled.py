"""The simulator compiled by numba, which plays many dialogues of a task in parallel. Their results
are the same as those of dialogues played one by one. Importing this module also imports numba.

Each function of the simulator is compiled from its source on its first call. In compiled code,
functions of `twister.py` replace functions of `native.py`. Compiled entry points are cached on
disk, next to the modules or in the user's cache; if neither is writable, each process compiles them
again. A message that compilation takes long is printed once per process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.output import notify
from mwzeval.pydial.decision_process import (
    CARRIED_OVER,
    DecisionProcess,
    Mask,
    Transition,
    Vector,
)
from mwzeval.pydial.simulator import (
    channel,
    codes,
    goals,
    native,
    simulation,
    system,
    tracker,
    twister,
    user,
)
from mwzeval.pydial.simulator.layout import (
    DialogueRecord,
    as_array,
    dialogue_fields,
    shared_fields,
)
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import no_goal, start, take
from mwzeval.pydial.simulator.system import write_mask, write_vector
from mwzeval.pydial.simulator.tables import put_user_model, shared_record
from mwzeval.pydial.simulator.twister import next_seed, random, seed_twister
from mwzeval.pydial.simulator.view import View

MODULES = codes, native, twister, goals, user, channel, tracker, system, simulation
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
                function = FunctionType(value.__code__, spaces[module.__name__], name)
                compiled[value] = _numba.njit(
                    error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
                )(function)
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


class ManyDialogues:
    """Parallel dialogues of a decision process; dialogues at the same index are played in sequence.

    `vectors`, shape (dialogues, size), and `masks`, shape (dialogues, actions), are the last
    observations. A finished dialogue has a zero vector and the mask of the last action. `rewards`
    are the rewards of the last step, one for each dialogue. Each index has a NumPy generator
    (`seed`), which seeds the dialogues there in the same way as `rng_from`.
    """

    def __init__(self, process: DecisionProcess, number: int) -> None:
        """Allocate the records. Call `seed` and then `begin` before the first step.

        Raises `DependencyError` without numba.
        """
        self.process = process
        simulation = process.simulation
        self._t, sizes = shared_record(
            simulation.codes,
            simulation.task,
            simulation.confusion,
            simulation.switches,
            compiled=True,
        )
        put_user_model(self._t, simulation.user_model, simulation.legacy)
        self.shared = as_array(self._t, shared_fields(sizes))
        self.number = number
        self.dialogues = _zeros(number, np.dtype(dialogue_fields(sizes), align=True))
        self.vectors = np.zeros((number, len(process.names)), dtype=np.float32)
        self.masks = np.ones((number, len(process.actions)), dtype=np.bool_)
        self.rewards = np.zeros(number)
        self.dialogues["ended"] = True

    def flags(self, name: str) -> Mask:
        """Return a mask of the dialogues with the flag "ended", "success" or "out_of_time"."""
        flags: Mask = self.dialogues[name] != 0
        return flags

    def view(self, place: int) -> View:
        """Return the readable view of a dialogue."""
        d: Any = DialogueRecord([])
        for name in self.dialogues.dtype.fields or ():
            setattr(d, name, self.dialogues[name][place].tolist())
        return View(self.process.simulation.codes, self._t, d)

    def load(self) -> None:
        """Compile the code, or load it from the cache, before the first dialogue begins."""
        self.begin(np.zeros(self.number, dtype=np.bool_))
        PlaceRng(self, 0).random()

    def seed(
        self,
        places: Sequence[int],
        generators: Sequence[np.random.Generator],
        *,
        forget: bool = True,
    ) -> None:
        """Seed the next dialogues at some indices. If `forget` is true, the memory of earlier
        dialogues is cleared.

        The given generators do not advance.
        """
        for place, generator in zip(places, generators, strict=True):
            self.dialogues["seeder"][place] = _seeder_state(generator)
            if forget:
                self.dialogues["offered_before"][place] = False
                self.dialogues["alternative_awaited"][place] = False

    def begin(self, which: Mask) -> None:
        """Begin a new dialogue at each index where `which` is True.

        Raises `DataError` for a domain without goals.
        """
        no_actions = np.zeros(self.number, dtype=np.int64)
        self._advance(np.where(which, BEGIN, LOOK), no_actions)

    def step(self, actions: NDArray[np.int64], begin: Mask | None = None) -> None:
        """Take an action in each unfinished dialogue; begin a new dialogue where `begin` is True.

        Raises `DataError` for a domain without goals.
        """
        what = np.where(self.flags("ended"), LOOK, STEP)
        if begin is not None:
            what[begin] = BEGIN
        self._advance(what, actions)

    def _advance(self, what: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        self.rewards = np.zeros(self.number)
        # Arrays from earlier steps must not change.
        self.vectors = np.empty_like(self.vectors)
        failed = advance_function()(
            self.shared,
            self.dialogues,
            what,
            actions,
            self.vectors,
            self.masks,
            self.rewards,
        )
        if failed >= 0:
            raise no_goal(self.process.simulation.domain.name)


def _zeros(number: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return records of zeros, in huge pages if the system supports them.

    Huge pages are faster, because a step accesses a small part of every record. Of NumPy's
    functions, only `empty` requests huge pages.
    """
    records = np.empty(number, dtype=kind)
    records.view(np.uint8)[:] = 0
    return records


class PlaceRng(Rng):
    """The random generator of the dialogue at one index, for policies that sample actions."""

    def __init__(self, batch: ManyDialogues, place: int) -> None:
        super().__init__(0)
        self._batch, self._place = batch, place
        self._draw = random_function()

    def random(self) -> float:
        """Return a number in the interval [0, 1)."""
        return self._draw(self._batch.dialogues, self._place)


def _seeder_state(generator: np.random.Generator) -> tuple[int, int, int, int]:
    """Return the state of a PCG64 generator: the high and low halves of state and increment."""
    if not isinstance(generator.bit_generator, np.random.PCG64):
        kind = type(generator.bit_generator).__name__
        raise UsageError(f"the NumPy generator that seeds dialogues must be PCG64, not {kind}")
    state = generator.bit_generator.state["state"]
    low = 2**64 - 1
    return state["state"] >> 64, state["state"] & low, state["inc"] >> 64, state["inc"] & low


_ONE = np.ones(1, dtype=np.bool_)


class CompiledProcess(DecisionProcess):
    """A decision process in compiled code, with the same results as in plain Python."""

    def __init__(self, process: DecisionProcess) -> None:
        """Compile the simulation of a process. Raises `DependencyError` without numba."""
        vars(self).update(vars(process))
        self._many = ManyDialogues(process, 1)
        self._many.load()

    @property
    def view(self) -> View:
        """A readable view of the dialogue, with decoded acts, beliefs and goals."""
        return self._many.view(0)

    @property
    def carried_over(self) -> dict[str, Any]:
        """The values of `CARRIED_OVER`, which can be set."""
        return {name: self._many.dialogues[name].copy() for name in CARRIED_OVER}

    @carried_over.setter
    def carried_over(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self._many.dialogues[name] = value

    def start(self, generator: np.random.Generator) -> tuple[Rng, Vector]:
        """Start a dialogue; return its generator (seeded by `generator`) and first observation."""
        self._many.seed([0], [generator], forget=False)
        self._many.begin(_ONE)
        self.mask = self._many.masks[0].copy()
        return PlaceRng(self._many, 0), self._many.vectors[0]

    def step(self, action: Any) -> Transition:
        """Carry out an action and return the transition."""
        many = self._many
        many.step(np.array([action]))
        self.mask = many.masks[0].copy()
        dialogue = many.dialogues[0]
        info = {"success": bool(dialogue["success"]), "exchange": int(dialogue["exchange"])}
        reward, ended = float(many.rewards[0]), bool(dialogue["ended"])
        return Transition(many.vectors[0], reward, ended, info)
