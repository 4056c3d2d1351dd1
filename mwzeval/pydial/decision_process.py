"""A task as a decision process: vectors in, actions out, with masks. It needs no Gymnasium.

Source: Casanueva et al. (2017), sections 3 and 4.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError, shorten
from mwzeval.pydial.acts import Act, parse_act
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.simulation import Result, Simulation
from mwzeval.pydial.simulator.system import action_names, write_mask, write_vector
from mwzeval.pydial.simulator.tables import Switches, vector_names
from mwzeval.pydial.simulator.view import View, kernel_size
from mwzeval.pydial.tasks import Goodbye, Task

Vector = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
CARRIED_OVER = "offered_before", "alternative_awaited"
"""What one dialogue leaves to the next; it matters in `legacy`."""
Level = Literal["summary", "act"]
LEVELS: tuple[Level, ...] = ("summary", "act")
SYSTEM_ACTS = frozenset(
    {"hello", "request", "confirm", "select", "inform", "reqmore", "repeat", "bye"}
)
"""What users understand; at level "act" anything else costs them patience."""
Info = dict[str, Any]


class Transition(NamedTuple):
    """What follows an action: the observation is all zeros at the end of a dialogue."""

    observation: Vector
    reward: float
    ended: bool
    info: Info


class DecisionProcess:
    """One dialogue after the other, seen by a learner.

    At level "summary" an action is the number of a summary action; at level "act" it is a system
    act, or its text. With `strict_masks` a masked action raises `UsageError`, and so does a text
    that users do not understand; otherwise it is carried out as the benchmark does.

    A mask remembers that the user waits for an alternative: since the user asked for one, until one
    is given. Each dialogue begins anew; with `keep_alternatives` it does not, as with the published
    neural policies. With `looks_again`, as in the published program's DQN, masks are looked at once
    more when an exchange is recorded, so that it is remembered again where the user has just asked.
    With `goodbye` "user" a policy is never allowed to say it where no mask allows it. "repeat" and
    "restart" are never allowed.

    `actions` are the names of the summary actions, `names` what each number of a vector is. With
    `kernel` observations are those of GP-SARSA (`kernel_vector`).
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        *,
        level: Level = "summary",
        strict_masks: bool = False,
        legacy: bool = False,
        confusion_seed: int = 0,
        keep_alternatives: bool = False,
        looks_again: bool = False,
        goodbye: Goodbye = "policy",
        kernel: bool = False,
    ) -> None:
        if level not in LEVELS:
            raise UsageError(f'unknown level "{shorten(str(level))}" (summary, act)')
        if not isinstance(confusion_seed, int):
            raise UsageError(
                f"confusion_seed is a whole number, not {shorten(repr(confusion_seed))}"
            )
        switches = Switches(legacy, keep_alternatives, looks_again, goodbye)
        self.simulation = Simulation(
            domain, task, legacy=legacy, confusion_seed=confusion_seed, switches=switches
        )
        self.actions = action_names(domain.ontology)
        self.names = vector_names(self.simulation.codes)
        self.kernel_size = kernel_size(self.simulation.codes)
        self.level = level
        self.strict_masks = strict_masks
        self._kernel = kernel
        self.mask: Mask = np.ones(len(self.actions), dtype=np.bool_)

    @property
    def goodbye(self) -> Goodbye:
        """Who ends dialogues where no mask allows it."""
        return self.simulation.switches.goodbye

    def sibling(self) -> DecisionProcess:
        """Return the same process for other dialogues, which begin as those of this one do."""
        other = copy(self)
        other.simulation = self.simulation.sibling()
        for name in CARRIED_OVER:
            setattr(other.simulation.d, name, getattr(self.simulation.d, name))
        other.mask = np.ones(len(self.actions), dtype=np.bool_)
        return other

    @property
    def view(self) -> View:
        """The dialogue in words."""
        return self.simulation.view

    def start(self, generator: np.random.Generator) -> tuple[Rng, Vector]:
        """Start a dialogue seeded from a NumPy generator; return its own, and what is observed."""
        rng = rng_from(generator)
        return rng, self.begin(rng)[0]

    def begin(self, rng: Rng, goal: Goal | None = None) -> tuple[Vector, Info]:
        """Start a dialogue; return the first observation, shape (size,), and what else is known.

        The user has this goal, or draws one.
        """
        self.simulation.begin(rng, goal=goal)
        return self.observed(), self._info()

    def step(self, action: Any) -> Transition:
        """Carry out an action. Raises `UsageError` for one that is none, or masked if strict."""
        if self.level == "act":
            result = self.simulation.answer(self._given_act(action))
        else:
            result = self.simulation.take(self._number(action))
        if result.ended:
            nowhere = np.zeros(len(self.names), dtype=np.float32)
            return Transition(nowhere, result.reward, True, self._info(result))
        return Transition(self.observed(), result.reward, False, self._info())

    def kernel_vector(self, *, choosing: bool = True) -> NDArray[np.float64]:
        """Return what GP-SARSA sees: to choose an action, or (legacy: another) to learn from."""
        return self.simulation.view.kernel_vector(choosing=choosing)

    def observed(self) -> Vector:
        """Look at what is believed now; return the observation, and know what is masked."""
        t, d = self.simulation.t, self.simulation.d
        mask = [False] * len(self.actions)
        write_mask(t, d, mask)
        self.mask = np.array(mask, dtype=np.bool_)
        return self.kernel_vector() if self._kernel else self.neural_vector()

    def neural_vector(self) -> Vector:
        """Return what neural policies see, shape (size,)."""
        vector = [0.0] * len(self.names)
        write_vector(self.simulation.t, self.simulation.d, vector)
        return np.fromiter(vector, dtype=np.float32, count=len(vector))

    def _info(self, result: Result | None = None) -> Info:
        info: Info = {"exchange": self.simulation.exchange}
        if self.level == "summary":
            info["action_mask"] = self.mask.astype(np.int8)  # a copy, whoever keeps or changes it
        if result is not None:
            # stable-baselines3 reads `is_success` at the end of an episode for its success rate.
            info |= dict.fromkeys(("success", "is_success"), result.success)
            info["out_of_time"] = result.out_of_time
        return info

    def check(self, action: Any) -> None:
        """Raise `UsageError` for an action that is none, or masked if strict."""
        if self.level == "act":
            self._given_act(action)
        else:
            self._number(action)

    def _number(self, action: Any) -> int:
        names = self.actions
        try:
            number = int(action)
            known = number == action and 0 <= number < len(names)
        except (TypeError, ValueError, OverflowError):
            known = False
        if not known:
            raise UsageError(
                f"an action must be a number from 0 to {len(names) - 1}, not "
                f"{shorten(repr(action))}"
            )
        if self.strict_masks and not self.mask[number]:
            allowed = ", ".join(
                f"{index} {name}" for index, name in enumerate(names) if self.mask[index]
            )
            raise UsageError(
                f"action {number} ({names[number]}) is masked in this turn; allowed: {allowed}"
            )
        return number

    def _given_act(self, action: Any) -> Act:
        if isinstance(action, Act):
            return action
        act = parse_act(action) if isinstance(action, str) else None
        if act is None or (self.strict_masks and act.name not in SYSTEM_ACTS):
            raise UsageError(
                f'an action must be an act such as "request(area)", not {shorten(repr(action))}; '
                f"acts: {', '.join(sorted(SYSTEM_ACTS))}"
            )
        return act
