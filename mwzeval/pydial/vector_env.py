"""Vector environments for Gymnasium. Gymnasium is imported when an environment is created."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError, shorten
from mwzeval.pydial.decision_process import DecisionProcess, Info, Mask, Vector
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.envs import (
    ANSI,
    check_options,
    check_render_mode,
    is_whole,
    make_process,
    require_gymnasium,
    restored,
    spaces_of,
)
from mwzeval.pydial.simulator.compiled import ManyDialogues
from mwzeval.pydial.tasks import Task

if TYPE_CHECKING:
    import gymnasium

RESET_MASK = "reset_mask"


def make_vector_environment(
    task: str | Task,
    *,
    num_envs: int = 1,
    autoreset_mode: Any = None,
    render_mode: str | None = None,
    domain: Domain | None = None,
    data: str | Path | None = None,
    legacy: bool = False,
    goodbye: str | None = None,
    strict_masks: bool = False,
    confusion_seed: int = 0,
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return a vector environment with `num_envs` dialogues of a task; actions are summary actions.

    Compiled code simulates all dialogues in parallel. The i-th environment plays the same dialogues
    as a single environment after a reset with the i-th seed (`seed + i` if `seed` is a number).
    `autoreset_mode` is a mode of Gymnasium. If the mode is NEXT_STEP, the step after the end of a
    dialogue starts a new dialogue and ignores the action. With SAME_STEP, the step that ends a
    dialogue also starts a new dialogue (`info["final_obs"]` and `info["final_info"]` describe the
    end). With DISABLED, `reset` with `options["reset_mask"]` starts new dialogues.
    `info["action_mask"]` and `action_masks()` have shape (environments, actions). The other
    arguments are explained in `make_environment`.

    Raises `UsageError` if `num_envs` is below 1 or `autoreset_mode` is unknown, `DependencyError`
    without Gymnasium or numba, and the errors of `make_environment`: `RenderModeError`,
    `DataError` and `InputError`.
    """
    require_gymnasium()
    check_render_mode(render_mode, [ANSI])
    if not is_whole(num_envs, 1):
        raise UsageError(
            f"the number of environments must be 1 or more, not {shorten(repr(num_envs))}"
        )
    process = make_process(
        task,
        domain=domain,
        data=data,
        legacy=legacy,
        goodbye=goodbye,
        strict_masks=strict_masks,
        confusion_seed=confusion_seed,
    )
    environment: gymnasium.vector.VectorEnv[Any, Any, Any] = vector_class()(
        process, num_envs, render_mode, _autoreset_mode(autoreset_mode)
    )
    return environment


def _autoreset_mode(mode: Any) -> Any:
    from gymnasium.vector import AutoresetMode

    try:
        return AutoresetMode.NEXT_STEP if mode is None else AutoresetMode(mode)
    except ValueError as error:
        known = ", ".join(known.name for known in AutoresetMode)
        raise UsageError(f"unknown autoreset mode {shorten(repr(mode))} ({known})") from error


@cache
def vector_class() -> Any:
    """Return the class of the vector environments, a `gymnasium.vector.VectorEnv`."""
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    class DialogueVectorEnvironment(VectorEnv[Vector, Any, NDArray[Any]]):
        """Parallel dialogues; see `make_vector_environment`."""

        def __init__(
            self,
            process: DecisionProcess,
            number: int,
            render_mode: str | None,
            autoreset_mode: Any,
        ) -> None:
            self.autoreset_mode = autoreset_mode
            self.metadata = {
                "render_modes": [ANSI],
                "render_fps": 1,
                "autoreset_mode": self.autoreset_mode,
            }
            self.batch = ManyDialogues(process, number)
            self.num_envs = number
            self.render_mode = render_mode
            self.single_observation_space, self.single_action_space = spaces_of(process)
            self.observation_space = batch_space(self.single_observation_space, number)
            self.action_space = batch_space(self.single_action_space, number)
            self.batch.seed(range(number), _generators([None] * number))
            self._begun = False

        def reset(
            self,
            *,
            seed: int | Sequence[int | None] | None = None,
            options: dict[str, Any] | None = None,
        ) -> tuple[Vector, Info]:
            """Start a dialogue in each environment, or where `options["reset_mask"]` is true."""
            number = self.num_envs
            which = _reset_mask(options, number)
            seeds = _seeds_of(seed, number)
            seeded = [place for place in np.flatnonzero(which).tolist() if seeds[place] is not None]
            self.batch.seed(seeded, _generators([seeds[place] for place in seeded]))
            self.batch.begin(which)
            self._begun = True
            return self.batch.vectors, self._info(which)

        def step(
            self, actions: Any
        ) -> tuple[Vector, NDArray[Any], NDArray[Any], NDArray[Any], Info]:
            """Take one step in each environment. Raises `UsageError` for an invalid action."""
            batch, number = self.batch, self.num_envs
            over = batch.flags("ended")
            if over.any() and (self.autoreset_mode == AutoresetMode.DISABLED or not self._begun):
                raise UsageError(
                    f"dialogue {np.flatnonzero(over)[0]} is over or has not begun: call `reset` "
                    f'first (in mode DISABLED with `options["{RESET_MASK}"]`)'
                )
            batch.step(self._checked(actions, over), over)
            ended, rewards = batch.flags("ended"), batch.rewards
            info = self._info(np.ones(number, dtype=np.bool_))
            if self.autoreset_mode == AutoresetMode.SAME_STEP and ended.any():
                last = batch.vectors
                batch.begin(ended)
                info = self._final(last, info, ended)
            return batch.vectors, rewards, ended, np.zeros(number, dtype=np.bool_), info

        def action_masks(self) -> NDArray[np.bool_]:
            """Return a mask of the allowed actions, shape (environments, actions)."""
            masks: NDArray[np.bool_] = self.batch.masks.copy()
            return masks

        def get_action_meanings(self) -> list[str]:
            """Return the names of the summary actions, in the order of their indices."""
            return list(self.batch.process.actions)

        def render(self) -> tuple[str, ...] | None:
            """Return the current turns as texts in render mode "ansi", otherwise None."""
            if not self.render_mode:
                return None
            return tuple(self.batch.view(place).text() for place in range(self.num_envs))

        def _checked(self, actions: Any, over: Mask) -> NDArray[np.int64]:
            """Return the actions as an array. Raises `UsageError` for an invalid action."""
            number, process = self.num_envs, self.batch.process
            if not hasattr(actions, "__len__") or len(actions) != number:
                given = shorten(repr(actions))
                raise UsageError(f"{number} environments need {number} actions, not {given}")
            numbers = actions if isinstance(actions, np.ndarray) else np.array(None)
            fine = np.zeros(number, dtype=np.bool_)
            if numbers.shape == (number,) and numbers.dtype.kind in "iu":
                fine = (numbers >= 0) & (numbers < len(process.actions))
                if process.strict_masks:
                    fine &= self.batch.masks[np.arange(number), np.where(fine, numbers, 0)]
            if fine.all():
                return numbers.astype(np.int64)
            checked = np.zeros(number, dtype=np.int64)
            for place in np.flatnonzero(~over):
                process.mask = self.batch.masks[place]
                checked[place] = process.action_number(actions[place])
            return checked

        def _info(self, shown: Mask) -> Info:
            """Return the info of all environments; the mask `shown` becomes the `_key` entries."""
            batch = self.batch
            info: Info = {
                "exchange": np.where(shown, batch.dialogues["exchange"], 0),
                "action_mask": (batch.masks & shown[:, None]).astype(np.int8),
                "success": batch.flags("success") & shown,
                "is_success": batch.flags("success") & shown,
                "out_of_time": batch.flags("out_of_time") & shown,
            }
            return info | {f"_{key}": shown.copy() for key in info}

        def _final(self, last: Vector, final: Info, ended: Mask) -> Info:
            """Return the info of new dialogues, with `final_…` entries for ended dialogues."""
            info = self._info(np.ones(self.num_envs, dtype=np.bool_))
            observations = np.full(self.num_envs, None, dtype=object)
            for place in np.flatnonzero(ended):
                observations[place] = last[place]
            keys = [key for key in final if not key.startswith("_")]
            of_final: Info = {}
            for key in keys:
                values = final[key]
                of_final[key] = np.where(ended.reshape(-1, *[1] * (values.ndim - 1)), values, 0)
                of_final[key] = of_final[key].astype(values.dtype)
                of_final[f"_{key}"] = ended.copy()
            info |= {"final_obs": observations, "final_info": of_final}
            return info | {"_final_obs": ended.copy(), "_final_info": ended.copy()}

        def __reduce__(self) -> tuple[Any, ...]:
            return restored, (vector_class, self.__dict__)

    return DialogueVectorEnvironment


def _reset_mask(options: dict[str, Any] | None, number: int) -> Mask:
    """Return the reset mask, by default all True. Raises `UsageError` for an invalid mask."""
    check_options(options, RESET_MASK)
    if not options:
        return np.ones(number, dtype=np.bool_)
    which = options[RESET_MASK]
    if not isinstance(which, np.ndarray) or which.dtype != np.bool_ or which.shape != (number,):
        raise UsageError(f'"{RESET_MASK}" must be an array of {number} booleans')
    if not which.any():
        raise UsageError(f'"{RESET_MASK}" selects no environment')
    return which


def _seeds_of(seed: Any, number: int) -> list[int | None]:
    """Return a seed for each environment, or None without a seed. Raises `UsageError`."""
    if is_whole(seed, 0):
        return [int(seed) + index for index in range(number)]
    seeds = [None] * number if seed is None else seed
    if (
        not isinstance(seeds, list | tuple | np.ndarray)
        or len(seeds) != number
        or not all(entry is None or is_whole(entry, 0) for entry in seeds)
    ):
        raise UsageError(
            f"{number} environments need a seed from 0, or a list of {number} seeds, not "
            f"{shorten(repr(seed))}"
        )
    return [None if entry is None else int(entry) for entry in seeds]


def _generators(seeds: Sequence[int | None]) -> list[np.random.Generator]:
    from gymnasium.utils.seeding import np_random

    return [np_random(seed)[0] for seed in seeds]
