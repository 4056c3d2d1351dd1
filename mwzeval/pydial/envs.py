"""The tasks as Gymnasium environments; `vector_env.py` has many in one.

Gymnasium is imported when an environment is made.
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
    """Return whether a value is a whole number, of Python or NumPy, and at least `least`."""
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_number and bool(value >= least)


def check_options(options: Any, known: str) -> None:
    """Raise `UsageError` for options of `reset` that are no mapping or have other keys."""
    if options is not None and not isinstance(options, Mapping):
        raise UsageError(f"the options of reset are a dictionary, not {shorten(repr(options))}")
    for option in options or ():
        if option != known:
            raise UsageError(unknown("option", str(option), [known]))


def goal_of(options: Mapping[str, Any] | None, ontology: Ontology) -> Goal | None:
    """Return the goal that the options of `reset` give, None where there is none.

    Raises `UsageError` for a goal that is none in the domain, and for other options.
    """
    check_options(options, GOAL)
    plain = None if options is None else options.get(GOAL)
    return None if plain is None else goal_from(plain, ontology)


def as_numpy(info: Info) -> Info:
    """Return the info of an exchange with all its keys, and with NumPy's types.

    TorchRL, which makes tensors of them, takes no others. How a dialogue ended is False before.
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
    """A render mode that there is not.

    It is a `TypeError` because stable-baselines3, whose `make_vec_env` asks for pictures first,
    then makes do without them.
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

    Observations are vectors of probabilities (`docs/pydial_training.md`); actions are the numbers
    of summary actions, or at level "act" texts such as "request(area)". `info["action_mask"]` and
    `action_masks()` tell which actions are allowed. The reward is -1 for an exchange, and 20 more
    at the end of a dialogue that succeeds. `domain` is one's own, otherwise it is loaded from
    `data`. What sounds alike is drawn from `confusion_seed` and the same for all dialogues.
    `legacy` has the errors of the published program. `goodbye` says who ends dialogues where no
    mask does (environments 2 and 4): with "user", the default, "bye" is masked there, as for the
    learned policies of a run; with "policy", the default of `legacy`, it is allowed at any time.
    With `strict_masks` a masked action raises `UsageError`; `render_mode` is "ansi"
    (`render()` returns the exchange as text), "human" (it is printed as it comes) or None.

    An episode that reaches 25 exchanges is *terminated*, not truncated: it has failed or succeeded
    as any other, and `info["out_of_time"]` tells. Raises `DependencyError` without Gymnasium,
    `UsageError` (of which `RenderModeError` is one) for unknown names, and `DataError` and
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
    """Return the decision process of a task by name, in its domain or in one's own.

    Raises `UsageError` for unknown names, `DataError` and `InputError` for the files of a domain.
    """
    if goodbye == "user" and options.get("level") == "act":
        raise UsageError('at level "act" there are no action masks: leave out goodbye="user"')
    options |= {"legacy": legacy, "goodbye": goodbye_of(goodbye, legacy=legacy)}
    domain, task = domain_and_task(task, domain=domain, data=data)
    return DecisionProcess(domain, task, **options)


def domain_and_task(
    task: str | Task, *, domain: Domain | None, data: str | Path | None
) -> tuple[Domain, Task]:
    """Return the domain of a task by name, or one's own, and the task as it is called there.

    Raises `UsageError` for an unknown name, `DataError` and `InputError` for the files of a domain.
    """
    if isinstance(task, str):
        task = task_named(task)
    if not isinstance(task, Task) or not isinstance(domain, Domain | None):
        raise UsageError(
            "a task is a name or a `Task`, and a domain a `Domain`, not "
            f"{shorten(repr(task))} and {shorten(repr(domain))}"
        )
    if domain is None:
        return load_domain(task.domain, data), task
    if domain.name != DOMAIN_FILES.get(task.domain):
        # What is played in it is of another task than the one whose figures it has.
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
        """A task; see `make_environment`."""

        metadata = {"render_modes": RENDER_MODES, "render_fps": 1}  # noqa: RUF012

        def __init__(self, process: DecisionProcess, render_mode: str | None = None) -> None:
            self.process = process
            self.render_mode = render_mode
            self.observation_space, self.action_space = spaces_of(process)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Vector, Info]:
            """Start a dialogue; with a seed, a new run of them.

            `options={"goal": …}` gives the user a goal, plain as in files (`goal_from`). Raises
            `UsageError` for one that is none in the domain, and for other options.
            """
            goal = goal_of(options, self.process.simulation.domain.ontology)
            if seed is not None and not is_whole(seed, 0):
                raise UsageError(f"a seed is a number from 0, not {shorten(repr(seed))}")
            super().reset(seed=None if seed is None else int(seed))
            if seed is not None:
                self.process.simulation.forget()
            observation, info = self.process.begin(rng_from(self.np_random), goal)
            return self._shown(observation, info)

        def step(self, action: Any) -> tuple[Vector, float, bool, bool, Info]:
            """Say what an action stands for, and hear what the user answers."""
            observation, reward, ended, info = self.process.step(action)
            observation, info = self._shown(observation, info)
            return observation, reward, ended, False, info

        def _shown(self, observation: Vector, info: Info) -> tuple[Vector, Info]:
            """Return an observation and its info; in render mode "human" print the exchange."""
            if self.render_mode == HUMAN:
                print(self.process.simulation.view.text(), flush=True)
            return observation, as_numpy(info)

        def action_masks(self) -> NDArray[np.bool_]:
            """Return which actions are allowed now, shape (actions,)."""
            mask: NDArray[np.bool_] = self.process.mask.copy()
            return mask

        def get_action_meanings(self) -> list[str]:
            """Return the names of the summary actions, in the order of their numbers."""
            return list(self.process.actions)

        def render(self) -> str | None:
            """Return the current exchange as text, in render mode "ansi"."""
            return self.process.simulation.view.text() if self.render_mode == ANSI else None

        def __reduce__(self) -> tuple[Any, ...]:
            return restored, (environment_class, self.__dict__)

    return DialogueEnvironment


def restored(make_class: Callable[[], Any], attributes: dict[str, Any]) -> Any:
    """Return an environment that was pickled or copied, of a class that is made when needed."""
    kind = make_class()
    environment = kind.__new__(kind)
    environment.__dict__.update(attributes)
    return environment


OBSERVATIONS, MASK = "observations", "action_mask"
"""The keys of an observation, as RLlib calls them."""


def __getattr__(name: str) -> Any:
    if name == "MaskInObservation":
        return _mask_in_observation()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _mask_in_observation() -> Any:
    gymnasium = required("gymnasium", "rl", "the environments need Gymnasium")
    spaces, record = gymnasium.spaces, gymnasium.utils.RecordConstructorArgs

    class MaskInObservation(gymnasium.ObservationWrapper, record):  # type: ignore[misc, name-defined, valid-type]
        """An environment of a task whose observations have the mask, for RLlib and TorchRL.

        An observation is `{"observations", "action_mask"}`: the vector, shape (size,), and the
        mask, shape (actions,), with 1 for allowed actions. After the end it is that of the last
        exchange. Raises `UsageError` for an environment without masks.
        """

        def __init__(self, env: Any) -> None:
            """Wrap an environment."""
            record.__init__(self)
            super().__init__(env)
            actions = env.action_space
            if not isinstance(actions, spaces.Discrete):
                raise UsageError('only summary actions have masks, not level "act"')
            self.observation_space = spaces.Dict(
                {OBSERVATIONS: env.observation_space, MASK: spaces.MultiBinary(int(actions.n))}
            )

        def observation(self, observation: Any) -> dict[str, Any]:
            """Return the observation, with what is allowed now."""
            mask = self.env.get_wrapper_attr("action_masks")()
            return {OBSERVATIONS: observation, MASK: mask.astype(np.int8)}

    MaskInObservation.__qualname__ = "MaskInObservation"  # where it is found to be made again
    return MaskInObservation
