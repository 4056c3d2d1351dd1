"""A task as a decision process with observation vectors, actions and masks; Gymnasium is not
needed.

Source: Casanueva et al. (2017), sections 3 and 4.
"""

from __future__ import annotations

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
"""In `legacy`, the next dialogue inherits these fields of the dialogue record."""
Level = Literal["summary", "act"]
LEVELS: tuple[Level, ...] = ("summary", "act")
SYSTEM_ACTS = frozenset(
    {"hello", "request", "confirm", "select", "inform", "reqmore", "repeat", "bye"}
)
"""Acts that users understand; at level "act", any other act reduces their patience."""
Info = dict[str, Any]


class Transition(NamedTuple):
    """The result of an action.

    After the last action of a dialogue, the observation is all zeros.
    """

    observation: Vector
    reward: float
    ended: bool
    info: Info


class DecisionProcess:
    """A sequence of dialogues from the perspective of a learner.

    At level "summary", an action is the index of a summary action. At level "act", an action is a
    system act or its text. With `strict_masks`, a masked action or a text that users do not
    understand raises `UsageError`; otherwise, the action is carried out as in the benchmark.

    Masks depend on whether the user waits for an alternative, that is, has requested one since the
    last offer. A new dialogue resets this state. With `keep_alternatives`, as in the published
    neural policies, a new dialogue keeps this state. If `looks_again` is true, masks are computed
    again when a turn is recorded, as in the published DQN program; a new request for an alternative
    then sets the state again. If `goodbye` is "user", the action "bye" is masked even in
    environments without other masks. The actions "repeat" and "restart" are always masked.

    `actions` has the names of the summary actions, and `names` has the names of the vector
    components. With `kernel`, observations are vectors for GP-SARSA (`kernel_vector`).
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
                f"confusion_seed must be a whole number, not {shorten(repr(confusion_seed))}"
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
        """The side, user or policy, that ends dialogues in environments without masks."""
        return self.simulation.switches.goodbye

    @property
    def carried_over(self) -> dict[str, Any]:
        """The values of `CARRIED_OVER`, which can be set."""
        return {name: getattr(self.simulation.d, name) for name in CARRIED_OVER}

    @carried_over.setter
    def carried_over(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self.simulation.d, name, value)

    @property
    def view(self) -> View:
        """A readable view of the current dialogue."""
        return self.simulation.view

    def start(self, generator: np.random.Generator) -> tuple[Rng, Vector]:
        """Start a dialogue; return its generator (seeded by `generator`) and first observation."""
        rng = rng_from(generator)
        return rng, self.begin(rng)[0]

    def begin(self, rng: Rng, goal: Goal | None = None) -> tuple[Vector, Info]:
        """Start a dialogue; return the first observation, shape (size,), and further information.

        The default for `goal` is a random goal.
        """
        self.simulation.begin(rng, goal=goal)
        return self.observed(), self._info()

    def step(self, action: Any) -> Transition:
        """Carry out an action. Raises `UsageError` if the action is invalid or strictly masked."""
        if self.level == "act":
            result = self.simulation.answer(self._given_act(action))
        else:
            result = self.simulation.take(self.action_number(action))
        if result.ended:
            nowhere = np.zeros(len(self.names), dtype=np.float32)
            return Transition(nowhere, result.reward, True, self._info(result))
        return Transition(self.observed(), result.reward, False, self._info())

    def kernel_vector(self, *, choosing: bool = True) -> NDArray[np.float64]:
        """Return the GP-SARSA vector for choosing or for learning (different in `legacy`)."""
        return self.simulation.view.kernel_vector(choosing=choosing)

    def observed(self) -> Vector:
        """Update the mask from the current belief and return the observation."""
        t, d = self.simulation.t, self.simulation.d
        mask = [False] * len(self.actions)
        write_mask(t, d, mask)
        self.mask = np.array(mask, dtype=np.bool_)
        return self.kernel_vector() if self._kernel else self.neural_vector()

    def neural_vector(self) -> Vector:
        """Return the observation vector of neural policies, shape (size,)."""
        vector = [0.0] * len(self.names)
        write_vector(self.simulation.t, self.simulation.d, vector)
        return np.fromiter(vector, dtype=np.float32, count=len(vector))

    def _info(self, result: Result | None = None) -> Info:
        info: Info = {"exchange": self.simulation.exchange}
        if self.level == "summary":
            info["action_mask"] = self.mask.astype(np.int8)  # a copy, because callers may change it
        if result is not None:
            # stable-baselines3 computes its success rate from `is_success` at the end of episodes.
            info |= dict.fromkeys(("success", "is_success"), result.success)
            info["out_of_time"] = result.out_of_time
        return info

    def action_number(self, action: Any) -> int:
        """Return the index of a summary action.

        Raises `UsageError` if the action is invalid or strictly masked.
        """
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
