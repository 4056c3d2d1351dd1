"""The PyDial tasks as Gymnasium environments. Vector environments are in `vector_env.py`.

Gymnasium is imported when an environment is created.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError, shorten, unknown
from mwzeval.libraries import required
from mwzeval.pydial.decision_process import DecisionProcess, Info, Level, Vector
from mwzeval.pydial.domain import Domain, Ontology, load_domain
from mwzeval.pydial.goals import Goal, goal_from
from mwzeval.pydial.simulator.rng import rng_from
from mwzeval.pydial.tasks import DOMAIN_FILES, Task, goodbye_of, own_code, task_named

if TYPE_CHECKING:
    import gymnasium


GOAL = "goal"


def is_whole(value: Any, least: int) -> bool:
    """Return whether a value is a Python or NumPy integer and at least `least`."""
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_number and bool(value >= least)


def check_options(options: Any, known: str) -> None:
    """Raise `UsageError` if the options of `reset` are not a mapping or have unknown keys."""
    if options is not None and not isinstance(options, Mapping):
        raise UsageError(f"the options of reset must be a dictionary, not {shorten(repr(options))}")
    for option in options or ():
        if option != known:
            raise UsageError(unknown("option", str(option), [known]))


def goal_of(options: Mapping[str, Any] | None, ontology: Ontology) -> Goal | None:
    """Return the goal in the options of `reset`, or None if they contain no goal.

    Raises `UsageError` for a goal that is invalid in the domain, and for unknown options.
    """
    check_options(options, GOAL)
    plain = None if options is None else options.get(GOAL)
    return None if plain is None else goal_from(plain, ontology)


def as_numpy(info: Info) -> Info:
    """Return the information about a turn with all keys, and with NumPy types as values.

    TorchRL accepts only NumPy types, which it converts to tensors. Keys that describe the end of a
    dialogue have the value False before the end.
    """
    ends = ("success", "is_success", "out_of_time")
    return {
        **info,
        "exchange": np.int64(info["exchange"]),
        **{name: np.bool_(info.get(name, False)) for name in ends},
    }


LONGEST_ACT = 2000
ANSI, HUMAN = "ansi", "human"
RENDER_MODES = [ANSI, HUMAN]


class RenderModeError(UsageError, TypeError):
    """The error for an unknown render mode.

    The error is a `TypeError` because `make_vec_env` of stable-baselines3 first requests
    "rgb_array" and continues without rendering after a `TypeError`.
    """


def require_gymnasium() -> None:
    """Raise `DependencyError` if Gymnasium is not installed."""
    required("gymnasium", "rl", "the environments need Gymnasium")


def make_environment(
    task: str | Task,
    *,
    render_mode: str | None = None,
    domain: Domain | None = None,
    data: str | Path | None = None,
    legacy: bool = False,
    goodbye: str | None = None,
    level: Level = "summary",
    strict_masks: bool = False,
    confusion_seed: int = 0,
) -> gymnasium.Env[Vector, Any]:
    """Return the environment of a task ("CR-1", "Demo-LAP-6").

    Observations are vectors of probabilities (`docs/pydial_training.md`). Actions are indices of
    summary actions or, at level "act", texts such as "request(area)". `info["action_mask"]` and
    `action_masks()` have the allowed actions. The reward is -1 per turn, plus 20 at the end of a
    successful dialogue. `domain` is a custom domain; by default, the domain is loaded from `data`.
    All dialogues share one confusion table, which is drawn from `confusion_seed`. `legacy`
    reproduces the errors of the published program. `goodbye` selects whether the user or the policy
    ends dialogues in environments 2 and 4, which have no other masks. With "user" (the default),
    "bye" is masked, as for the learned policies of a run. With "policy" (the default with
    `legacy`), "bye" is allowed. With `strict_masks`, a masked action raises `UsageError`.
    `render_mode` is "ansi" (`render()` returns the turn as text), "human" (each turn is printed) or
    None.

    An episode that reaches 25 turns is *terminated*, not truncated: it is a success or a failure
    like any other, and `info["out_of_time"]` is True. Raises `DependencyError` without Gymnasium,
    `UsageError` (including its subclass `RenderModeError`) for unknown names, and `DataError` and
    `InputError` for the files of a domain.
    """
    require_gymnasium()
    check_render_mode(render_mode)
    process = make_process(
        task,
        domain=domain,
        data=data,
        legacy=legacy,
        goodbye=goodbye,
        level=level,
        strict_masks=strict_masks,
        confusion_seed=confusion_seed,
    )
    environment: gymnasium.Env[Vector, Any] = environment_class()(process, render_mode)
    return environment


def make_process(
    task: str | Task,
    *,
    domain: Domain | None,
    data: str | Path | None,
    legacy: bool,
    goodbye: str | None,
    **options: Any,
) -> DecisionProcess:
    """Return the decision process of a task; `domain` replaces the domain of the task.

    Raises `UsageError` if a name is unknown, and `DataError` or `InputError` if the files of the
    domain are missing or invalid.
    """
    if goodbye == "user" and options.get("level") == "act":
        raise UsageError('at level "act" there are no action masks: leave out goodbye="user"')
    options |= {"legacy": legacy, "goodbye": goodbye_of(goodbye, legacy=legacy)}
    domain, task = domain_and_task(task, domain=domain, data=data)
    return DecisionProcess(domain, task, **options)


def domain_and_task(
    task: str | Task, *, domain: Domain | None, data: str | Path | None
) -> tuple[Domain, Task]:
    """Return the domain and the task, which is renamed if the domain is a custom domain.

    Raises `UsageError` if a name is unknown, and `DataError` or `InputError` if the files of the
    domain are missing or invalid.
    """
    if isinstance(task, str):
        task = task_named(task)
    if not isinstance(task, Task) or not isinstance(domain, Domain | None):
        raise UsageError(
            "the task must be a name or a `Task`, and the domain a `Domain`, not "
            f"{shorten(repr(task))} and {shorten(repr(domain))}"
        )
    if domain is None:
        return load_domain(task.domain, data), task
    if domain.name != DOMAIN_FILES.get(task.domain):
        # The task is renamed, because dialogues in a custom domain differ from the published task.
        code = own_code(domain.name)
        task = replace(task, name=f"{code}-{task.environment}", domain=code)
    return domain, task


def check_render_mode(render_mode: str | None, known: Sequence[str] = RENDER_MODES) -> None:
    """Raise `RenderModeError` for an unknown mode."""
    if render_mode not in (None, *known):
        modes = ", ".join(known)
        raise RenderModeError(f'unknown render mode "{shorten(str(render_mode))}" ({modes})')


def spaces_of(process: DecisionProcess) -> tuple[Any, Any]:
    """Return the observation space and the action space."""
    from gymnasium import spaces

    observations = spaces.Box(0.0, 1.0, (len(process.names),), np.float32)
    if process.level == "summary":
        return observations, spaces.Discrete(len(process.actions))
    domain = process.simulation.domain
    texts = [value for values in domain.ontology.informable.values() for value in values]
    texts += [value for row in domain.table.rows for value in row.values()]
    letters = "".join(sorted(set(string.printable).union(*texts)))
    return observations, spaces.Text(LONGEST_ACT, min_length=0, charset=letters)


@cache
def environment_class() -> Any:
    """Return the class of the environments, a `gymnasium.Env`."""
    import gymnasium

    class DialogueEnvironment(gymnasium.Env[Vector, Any]):
        """The Gymnasium environment of a task (see `make_environment`)."""

        metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012

        def __init__(self, process: DecisionProcess, render_mode: str | None = None) -> None:
            self.process = process
            self.render_mode = render_mode
            self.observation_space, self.action_space = spaces_of(process)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Vector, Info]:
            """Start a dialogue. If a seed is given, a new sequence of dialogues starts.

            `options={"goal": …}` sets the goal of the user in JSON format (see `goal_from`). Raises
            `UsageError` for a goal that is invalid in the domain, and for unknown options.
            """
            goal = goal_of(options, self.process.simulation.domain.ontology)
            if seed is not None and not is_whole(seed, 0):
                raise UsageError(f"a seed must be 0 or more, not {shorten(repr(seed))}")
            super().reset(seed=None if seed is None else int(seed))
            if seed is not None:
                self.process.simulation.forget()
            observation, info = self.process.begin(rng_from(self.np_random), goal)
            return self._shown(observation, info)

        def step(self, action: Any) -> tuple[Vector, float, bool, bool, Info]:
            """Take an action and return the result of the user's answer."""
            observation, reward, ended, info = self.process.step(action)
            observation, info = self._shown(observation, info)
            return observation, reward, ended, False, info

        def _shown(self, observation: Vector, info: Info) -> tuple[Vector, Info]:
            """Return the observation and complete info. In render mode "human", print the turn."""
            if self.render_mode == HUMAN:
                print(self.process.simulation.view.text(), flush=True)
            return observation, as_numpy(info)

        def action_masks(self) -> NDArray[np.bool_]:
            """Return a mask of the allowed actions, shape (actions,)."""
            mask: NDArray[np.bool_] = self.process.mask.copy()
            return mask

        def get_action_meanings(self) -> list[str]:
            """Return the names of the summary actions, in the order of their indices."""
            return list(self.process.actions)

        def render(self) -> str | None:
            """Return the current turn as text if the render mode is "ansi", otherwise None."""
            return self.process.simulation.view.text() if self.render_mode == ANSI else None

        def __reduce__(self) -> tuple[Any, ...]:
            return restored, (environment_class, self.__dict__)

    return DialogueEnvironment


def restored(make_class: Callable[[], Any], attributes: dict[str, Any]) -> Any:
    """Return an environment after unpickling or copying; `make_class` returns its class."""
    kind = make_class()
    environment = kind.__new__(kind)
    environment.__dict__.update(attributes)
    return environment


OBSERVATIONS, MASK = "observations", "action_mask"
"""The keys of an observation; RLlib uses the same names."""


def __getattr__(name: str) -> Any:
    if name == "MaskInObservation":
        return _mask_in_observation()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _mask_in_observation() -> Any:
    gymnasium = required("gymnasium", "rl", "the environments need Gymnasium")
    spaces, record = gymnasium.spaces, gymnasium.utils.RecordConstructorArgs

    class MaskInObservation(gymnasium.ObservationWrapper, record):  # type: ignore[misc, name-defined, valid-type]
        """A wrapper that adds the action mask to observations, for RLlib and TorchRL.

        An observation is `{"observations", "action_mask"}`: the vector, shape (size,), and the
        mask, shape (actions,), with 1 for allowed actions. After the end of a dialogue, the mask of
        the last turn remains. Raises `UsageError` for an environment without masks.
        """

        def __init__(self, env: Any) -> None:
            """Wrap an environment."""
            record.__init__(self)
            super().__init__(env)
            actions = env.action_space
            if not isinstance(actions, spaces.Discrete):
                raise UsageError('only summary actions have masks: leave out level="act"')
            self.observation_space = spaces.Dict(
                {OBSERVATIONS: env.observation_space, MASK: spaces.MultiBinary(int(actions.n))}
            )

        def observation(self, observation: Any) -> dict[str, Any]:
            """Return the observation and the current mask."""
            mask = self.env.get_wrapper_attr("action_masks")()
            return {OBSERVATIONS: observation, MASK: mask.astype(np.int8)}

    MaskInObservation.__qualname__ = "MaskInObservation"  # for pickle
    return MaskInObservation
