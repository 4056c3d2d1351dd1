"""Dialogues of a simulation, held by the loop that all benchmarks have in common.

What the user says reaches the system as belief, after the channel and the tracker: a `Belief` is a
turn of the user, an `Act` one of the system.
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
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.step import last_reward
from mwzeval.pydial.simulator.view import Belief, View

SAID, HEARD = "said", "heard"
"""What the user says, and the hypotheses of what that was, in an exchange of a record."""
SUCCESS, EXCHANGES, REWARD, FINAL_GOAL = "success", "exchanges", "reward", "final_goal"
"""The keys of a line that say what came of a dialogue."""
Answer = Callable[[Belief], Act]
"""Decides what the system says."""


class Outcome(NamedTuple):
    """What came of a dialogue. One that a side could not go on with is no success."""

    success: bool
    exchanges: int
    reward: float
    out_of_time: bool = False


def keep_user_turn(record: Record, view: View) -> None:
    """Keep what the user has said last, and what was heard of it."""
    heard = [[str(act), confidence] for act, confidence in view.hypotheses]
    record.said({SAID: str(view.user_act), HEARD: heard})


def turns_of(exchanges: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the exchanges of a record as lines of episode files have them: what the system said,
    what the user answered, and what was heard of that."""
    turns: list[dict[str, Any]] = []
    system = str(HELLO)
    for exchange in exchanges:
        if not (isinstance(exchange, list | tuple) and len(exchange) == 2):
            continue  # the check of the file reports it
        user, answered = exchange
        if isinstance(user, Mapping):
            turns.append({"system": system, "user": user.get(SAID), HEARD: user.get(HEARD)})
        system = answered if isinstance(answered, str) else ""
    return [*turns, {"system": system}] if system else turns


class SimulatedUser:
    """The user of a simulation in one dialogue, drawn from `rng`; `talk` is as in `begin` there.

    `is_done` says whether somebody has said goodbye, or the time is over.
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
        """Return what is believed of what the user says first."""
        belief = self.simulation.begin(*self._drawn)
        self._has_begun = True
        self.is_done = self.simulation.d.user_act == c.BYE
        if self._record is not None:
            self._keep(self._record)
        return belief

    def answer(self, act: Act, /) -> Belief:
        """Return what is believed of what the user answers, if it does."""
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
        """The goal as it is now; None before the dialogue."""
        return self.simulation.goal if self._has_begun else None

    def outcome(self) -> Outcome:
        """Return what the dialogue comes to if nobody says any more.

        Before its end, that is a dialogue whose time runs out. After the user's goodbye it does not
        matter what the system answers.
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
    """The system's side: it is asked as long as there is somebody to talk to."""

    def __init__(self, user: SimulatedUser, answer: Answer, record: Record | None) -> None:
        self._user = user
        self._answer = answer
        self._record = record

    def answer(self, belief: Belief, /) -> Act:
        """Return what the system says."""
        user = self._user
        if user.is_done and user.simulation.ended:
            return BYE
        act = self._answer(belief)
        if self._record is not None:
            self._record.heard(str(user.simulation.spoken(act)))
        if user.is_done:  # what answers a goodbye is the end
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
    """Hold a dialogue of a simulation; return how it has ended.

    `note` and `failures` are as in `converse`. What the dialogue comes to is the user's `outcome`.
    """
    task = user.simulation.task
    ending = converse(
        lambda: user,
        lambda: System(user, make_answer(), record),
        user_turns=task.max_exchanges + 1,  # the last is for the user to notice that time is over
        note=note,
        failures=failures,
    )
    exchanges = user.simulation.exchange
    if ending.end == USER_STOP and user.outcome().out_of_time:
        return Ending(LIMIT, exchanges, f"{exchanges} exchanges")
    return ending._replace(user_turns=min(ending.user_turns, exchanges))


def facts_of(user: SimulatedUser) -> dict[str, Any]:
    """Return what a line of a file says of a dialogue next to what was said and how it ended."""
    outcome = user.outcome()
    facts: dict[str, Any] = {
        SUCCESS: outcome.success,
        EXCHANGES: outcome.exchanges,
        REWARD: outcome.reward,
    }
    return facts if user.goal is None else facts | {FINAL_GOAL: plain_goal(user.goal)}
