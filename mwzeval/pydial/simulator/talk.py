"""Dialogues of a simulation in the conversation loop that all benchmarks share.

A `Belief` represents a user turn, as seen after the channel and the tracker; an `Act` represents a
system turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from mwzeval.conversation.loop import Note, converse
from mwzeval.conversation.protocols import FAILURES, LIMIT, USER_STOP, Ending
from mwzeval.conversation.trajectory import Record
from mwzeval.pydial.acts import BYE, HELLO, Act
from mwzeval.pydial.goals import Goal, plain_goal
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation, last_reward
from mwzeval.pydial.simulator.view import Belief, View

SAID, HEARD = "said", "heard"
"""Keys of a turn in a record: the user act and its N-best list."""
SUCCESS, EXCHANGES, REWARD, FINAL_GOAL = "success", "exchanges", "reward", "final_goal"
"""Keys under which a line stores the result of a dialogue."""
Answer = Callable[[Belief], Act]
"""Chooses the system act."""


class Outcome(NamedTuple):
    """The outcome of a dialogue. A dialogue in which one side failed is not a success."""

    success: bool
    exchanges: int
    reward: float
    out_of_time: bool = False


def keep_user_turn(record: Record, view: View) -> None:
    """Store the last user act and its N-best list."""
    heard = [[str(act), confidence] for act, confidence in view.hypotheses]
    record.said({SAID: str(view.user_act), HEARD: heard})


def turns_of(exchanges: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the turns of a record in the format of episode files: the system act, the user's
    answer, and the N-best list of this answer.
    """
    turns: list[dict[str, Any]] = []
    system = str(HELLO)
    for exchange in exchanges:
        if not (isinstance(exchange, list | tuple) and len(exchange) == 2):
            continue  # the validation of the file reports this error
        user, answered = exchange
        if isinstance(user, Mapping):
            turns.append({"system": system, "user": user.get(SAID), HEARD: user.get(HEARD)})
        system = answered if isinstance(answered, str) else ""
    return [*turns, {"system": system}] if system else turns


class SimulatedUser:
    """The simulated user in one dialogue, drawn from `rng`; `talk` is explained in
    `Simulation.begin`.

    `is_done` is True after a goodbye or after the maximum number of turns.
    """

    def __init__(
        self,
        simulation: Simulation,
        rng: Rng,
        record: Record | None = None,
        talk: Rng | None = None,
    ) -> None:
        self.simulation = simulation
        self._drawn = rng, talk
        self._record = record
        self._reward = 0.0
        self._outcome: Outcome | None = None
        self._has_begun = self.is_done = False

    def begin(self) -> Belief:
        """Return the belief after the first user act."""
        belief = self.simulation.begin(*self._drawn)
        self._has_begun = True
        self.is_done = self.simulation.d.user_act == c.BYE
        if self._record is not None:
            self._keep(self._record)
        return belief

    def answer(self, act: Act, /) -> Belief:
        """Return the belief after the user's answer to an act."""
        simulation = self.simulation
        result = simulation.answer(act)
        self._reward += result.reward
        self.is_done = result.ended or simulation.d.user_act == c.BYE
        if result.ended:
            self._outcome = Outcome(
                result.success, simulation.exchange, self._reward, result.out_of_time
            )
        elif self._record is not None:
            self._keep(self._record)
        return simulation.belief

    @property
    def goal(self) -> Goal | None:
        """The current goal of the user, or None before the dialogue."""
        return self.simulation.goal if self._has_begun else None

    def outcome(self) -> Outcome:
        """Return the outcome of the dialogue under the assumption that no further act follows.

        An unfinished dialogue counts as out of time. After the user's goodbye, the system's answer
        has no effect.
        """
        if self._outcome is not None:
            return self._outcome
        simulation, task = self.simulation, self.simulation.task
        if self.is_done:
            success = simulation.success()
            reward = self._reward + last_reward(simulation.t, success)
            return Outcome(success, simulation.exchange, reward)
        return Outcome(False, task.max_exchanges, task.max_exchanges * task.exchange_reward)

    def _keep(self, record: Record) -> None:
        keep_user_turn(record, self.simulation.view)


class System:
    """The system, which answers until the user is done."""

    def __init__(self, user: SimulatedUser, answer: Answer, record: Record | None) -> None:
        self._user = user
        self._answer = answer
        self._record = record

    def answer(self, belief: Belief, /) -> Act:
        """Return the system act in reply to a belief."""
        user = self._user
        if user.is_done and user.simulation.ended:
            return BYE
        act = self._answer(belief)
        if self._record is not None:
            self._record.heard(str(user.simulation.spoken(act)))
        if user.is_done:  # answering a goodbye ends the dialogue
            user.answer(act)
        return act


def hold_dialogue(
    user: SimulatedUser,
    make_answer: Callable[[], Answer],
    record: Record | None = None,
    *,
    note: Note | None = None,
    failures: tuple[type[BaseException], ...] = FAILURES,
) -> Ending:
    """Run a dialogue of a simulation and return how it ended.

    `note` and `failures` are passed to `converse`. After the dialogue, its result is in the user's
    attribute `outcome`.
    """
    task = user.simulation.task
    ending = converse(
        lambda: user,
        lambda: System(user, make_answer(), record),
        user_turns=task.max_exchanges + 1,  # in the last turn, the user detects the end
        note=note,
        failures=failures,
    )
    exchanges = user.simulation.exchange
    if ending.end == USER_STOP and user.outcome().out_of_time:
        return Ending(LIMIT, exchanges, f"{exchanges} exchanges")
    return ending._replace(user_turns=min(ending.user_turns, exchanges))


def facts_of(user: SimulatedUser) -> dict[str, Any]:
    """Return the fields for a dialogue's line in a file, except for the turns and the ending."""
    outcome = user.outcome()
    facts: dict[str, Any] = {
        SUCCESS: outcome.success,
        EXCHANGES: outcome.exchanges,
        REWARD: outcome.reward,
    }
    return facts if user.goal is None else facts | {FINAL_GOAL: plain_goal(user.goal)}
