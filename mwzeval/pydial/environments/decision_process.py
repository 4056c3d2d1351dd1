"""A task as a decision process: vectors in, actions out, with masks. It needs no Gymnasium.

Source: Casanueva et al. (2017), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from mwzeval.errors import UsageError, printable, shorten
from mwzeval.pydial.dialogue.acts import Act, parse_act
from mwzeval.pydial.dialogue.domain import METHODS, Domain
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.simulation import Result, Simulation
from mwzeval.pydial.environments.actions import Mask, Masks, SummaryActions
from mwzeval.pydial.environments.features import KernelVector, NeuralVector, Summary, Vector
from mwzeval.pydial.tasks import Goodbye, Task

VISIBLE = 0.005
"""Less probable than this is not shown."""


def exchange_text(simulation: Simulation) -> str:
    """Return a few lines about the current exchange, "" before the first dialogue."""
    if simulation.user is None:
        return ""
    return "\n".join(map(printable, _lines(simulation))) + "\n"


def _lines(simulation: Simulation) -> Iterator[str]:
    belief = simulation.belief
    yield f"exchange {simulation.exchange}{' (the last)' if simulation.ended else ''}"
    yield f"  system   {simulation.system_act}"
    if simulation.ended:
        return
    yield f"  user     {simulation.said}"
    for act, score in simulation.heard:
        yield f"  heard    {score:.2f} {act}"
    for slot, believed in belief.slots.items():
        shown = _ranked(believed.values)
        if shown:
            yield f"  {slot:8} {shown}"
    yield f"  method   {_ranked(dict(zip(METHODS, belief.methods, strict=True)))}"
    for title, of in (("act", belief.discourse_acts), ("asked", belief.requested)):
        if shown := _ranked(of):
            yield f"  {title:8} {shown}"


def _ranked(of: Mapping[str, float]) -> str:
    ranked = sorted(of.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{value} {p:.2f}" for value, p in ranked if p >= VISIBLE)


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

    `masks` begins each dialogue anew; with `keep_alternatives` it does not, as with the published
    neural policies, which forget only by offering one that the last user waited for an alternative.
    `looks_again` and `goodbye` are those of `Masks`.
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
    ) -> None:
        if level not in LEVELS:
            raise UsageError(f'unknown level "{shorten(str(level))}" (summary, act)')
        self.simulation = Simulation(domain, task, legacy=legacy, confusion_seed=confusion_seed)
        self.actions = SummaryActions(domain, most_informed=task.max_informed_slots, legacy=legacy)
        self.neural = NeuralVector(domain.ontology)
        self.kernel = KernelVector(domain.ontology)
        self.level = level
        self.legacy = legacy
        self.strict_masks = strict_masks
        self.keep_alternatives = keep_alternatives
        self.looks_again = looks_again
        self.goodbye = goodbye
        self._nowhere = np.zeros(self.neural.size, dtype=np.float32)
        self._begin_alone()

    def _begin_alone(self) -> None:
        simulation = self.simulation
        self.masks = Masks(
            simulation.domain.ontology,
            simulation.task,
            legacy=self.legacy,
            looks_again=self.looks_again,
            goodbye=self.goodbye,
        )
        self.summary: Summary = self.actions.acts.summarizer(simulation.belief)
        self.mask: Mask = np.ones(len(self.actions.names), dtype=np.bool_)

    def sibling(self) -> DecisionProcess:
        """Return the same process for other dialogues; it shares all that was prepared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.simulation = self.simulation.sibling()
        other._begin_alone()
        return other

    def forget(self) -> None:
        """Begin a new run: nothing is remembered of the dialogues before."""
        self.simulation.forget()
        self.masks.begin()

    def prepare(self) -> None:
        """Make ready for a dialogue, which is about to begin."""
        if not self.keep_alternatives:
            self.masks.begin()

    def begin(self, rng: Rng, goal: Goal | None = None) -> tuple[Vector, Info]:
        """Start a dialogue; return the first observation, shape (size,), and what else is known.

        The user has this goal, or draws one.
        """
        self.prepare()
        self.simulation.begin(rng, goal=goal)
        return self.observed(), self._info()

    def step(self, action: Any) -> Transition:
        """Carry out an action. Raises `UsageError` for one that is none, or masked if strict."""
        result = self.simulation.answer(self.act(action))
        if result.ended:
            return Transition(self._nowhere.copy(), result.reward, True, self._info(result))
        return Transition(self.observed(), result.reward, False, self._info())

    def act(self, action: Any) -> Act:
        """Return the system act of an action that is carried out now. Raises as `step` does."""
        if self.level == "act":
            return self._given_act(action)
        number = self._number(action)
        act = self.actions.act(number, self.simulation.belief, self.simulation.rng)
        self.masks.took(number)
        return act

    def kernel_vector(self, *, choosing: bool = True) -> np.ndarray[tuple[int, ...], Any]:
        """Return what GP-SARSA sees: to choose an action, or (legacy: another) to learn from."""
        belief = self.simulation.belief
        return self.kernel(belief, self.summary, legacy=self.legacy and choosing)

    def observed(self) -> Vector:
        """Look at what is believed now; return the observation, and know what is masked."""
        belief = self.simulation.belief
        self.summary = self.actions.acts.summarizer(belief)
        self.mask = self.masks.allowed(belief, self.summary)
        return self.neural(belief, self.summary)

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
        names = self.actions.names
        try:
            number = int(action)
            known = number == action and 0 <= number < len(names)
        except (TypeError, ValueError, OverflowError):
            known = False
        if not known:
            raise UsageError(
                f"an action is a number from 0 to {len(names) - 1}, not {shorten(repr(action))}"
            )
        if self.strict_masks and not self.mask[number]:
            allowed = ", ".join(
                f"{index} {name}" for index, name in enumerate(names) if self.mask[index]
            )
            raise UsageError(f"action {number} ({names[number]}) is masked now; allowed: {allowed}")
        return number

    def _given_act(self, action: Any) -> Act:
        if isinstance(action, Act):
            return action
        act = parse_act(action) if isinstance(action, str) else None
        if act is None or (self.strict_masks and act.name not in SYSTEM_ACTS):
            raise UsageError(
                f'an action is an act such as "request(area)", not {shorten(repr(action))}; '
                f"acts: {', '.join(sorted(SYSTEM_ACTS))}"
            )
        return act
