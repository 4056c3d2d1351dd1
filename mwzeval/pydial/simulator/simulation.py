"""Dialogues between a simulated user and a system that provides acts or actions.

Source: Casanueva et al. (2017); the order of events in a turn follows the published program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mwzeval.errors import DataError, UsageError
from mwzeval.pydial.acts import BYE, Act
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.channel import Confusion, transmit
from mwzeval.pydial.simulator.codes import Codes
from mwzeval.pydial.simulator.goals import (
    FEWEST_MATCHES,
    MOST_MATCHES,
    TRIES,
    achieved,
    draw_goal,
    draw_parameters,
    prepare_user,
)
from mwzeval.pydial.simulator.layout import Dialogue, DialogueRecord, Shared, dialogue_fields
from mwzeval.pydial.simulator.native import let_user_answer
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.system import say, say_action, summarize
from mwzeval.pydial.simulator.tables import Switches, put_user_model, shared_record
from mwzeval.pydial.simulator.tracker import begin_belief, track
from mwzeval.pydial.simulator.user import answer
from mwzeval.pydial.simulator.view import Belief, View
from mwzeval.pydial.tasks import Task
from mwzeval.pydial.user_parameters import UserModel, user_model

HEARD_BYE = 0.8
"""If the user's goodbye is more probable than this, the system says goodbye instead of its act."""


def begin(t: Shared, d: Dialogue) -> None:
    """Start a dialogue of a user with a goal: the system says hello, and the user answers."""
    if not t.keep_alternatives:
        d.alternative_awaited = False
    begin_belief(t, d)
    d.exchange = 0
    d.ended = d.success = d.out_of_time = False
    d.again_act, d.again_items = c.NULL, 0
    say(d, c.HELLO)
    d.system_act[d.now], d.system_items[d.now] = c.NULL, 0
    d.now = 1 - d.now
    let_user_answer(t, d)
    _listen(t, d)


def start(t: Shared, d: Dialogue) -> bool:
    """Draw a user and start a dialogue; return whether a goal was found."""
    draw_parameters(t, d)
    if not draw_goal(t, d):
        return False
    prepare_user(t, d)
    begin(t, d)
    return True


def _listen(t: Shared, d: Dialogue) -> bool:
    """Process the user act; return False if the maximum number of turns is exceeded."""
    if d.exchange == t.max_exchanges:
        return False
    d.exchange += 1
    transmit(t, d)
    if track(t, d) or d.exchange == 1:
        summarize(t, d)
    return True


def take(t: Shared, d: Dialogue, action: int) -> float:
    """Carry out a summary action, and continue the dialogue as in `go_on`."""
    say_action(t, d, action)
    return go_on(t, d)


def go_on(t: Shared, d: Dialogue) -> float:
    """Output the system's next act (a goodbye if the user probably said goodbye), and let the user
    answer.

    Return the reward for this turn of the dialogue. The dialogue ends after a goodbye or the
    maximum number of turns.
    """
    if d.discourse[c.SAID_BYE] > HEARD_BYE:
        say(d, c.BYE)
    if d.user_act != c.BYE and d.system_act[1 - d.now] != c.BYE:
        d.now = 1 - d.now
        let_user_answer(t, d)
        if _listen(t, d):
            return t.exchange_reward
        d.out_of_time = True
    success = achieved(t, d)
    d.ended = True
    d.success = success
    return last_reward(t, success)


def last_reward(t: Shared, success: bool) -> float:
    """Return the reward of the last turn, which includes the reward for success."""
    return t.exchange_reward + success * t.success_reward


@dataclass(slots=True)
class UserState:
    """The state of a user at the start of a dialogue; `rng` is the dialogue's generator."""

    domain: Domain
    goal: Goal
    rng: Rng


class User:
    """The interface of a user in one dialogue."""

    __slots__ = ("state",)

    def __init__(self, state: UserState) -> None:
        self.state = state

    @property
    def goal(self) -> Goal:
        """The current goal, which determines success."""
        return self.state.goal

    def answer(self, system: Act) -> Act:
        """Return the user's answer to a system act. The act `bye()` ends the dialogue."""
        raise NotImplementedError


MakeUser = Callable[[UserState], User]


class Result(NamedTuple):
    """The result of a system act: its reward and whether and how the dialogue ended.

    `success` and `out_of_time` are False before the end of the dialogue.
    """

    reward: float
    ended: bool
    success: bool = False
    out_of_time: bool = False


class Simulation:
    """A sequence of dialogues in a task with user, channel and tracker, but without a policy.

    The confusion table is drawn once, with the seed `confusion_seed`. The course of a dialogue
    depends only on its random numbers and the system's answers. In `legacy`, the course of a
    dialogue also depends on earlier dialogues, because the tracker remembers an offer until
    `forget` is called. `t` and `d` are the shared record and the dialogue record, which `layout`
    defines.
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        *,
        legacy: bool = False,
        confusion_seed: int = 0,
        switches: Switches | None = None,
    ) -> None:
        self.domain = domain
        self.task = task
        self.legacy = legacy
        self.codes = Codes(domain)
        perfect = task.error_set is None
        self.confusion = None if perfect else Confusion(domain, Rng(confusion_seed))
        self.switches = switches or Switches(legacy)
        self.t, sizes = shared_record(self.codes, task, self.confusion, self.switches)
        self.set_user_model(user_model(task.user_model))
        self.d = DialogueRecord(dialogue_fields(sizes))
        self.d.ended, self.d.rng, self.d.answer = True, Rng(0), answer
        self.view = View(self.codes, self.t, self.d)
        self._user: User | None = None

    def set_user_model(self, model: UserModel) -> None:
        """Set the ranges from which the behavior of users is drawn."""
        self.user_model = model
        put_user_model(self.t, model, self.legacy)

    @property
    def rng(self) -> Rng:
        """The random generator of the current dialogue."""
        rng: Rng = self.d.rng
        return rng

    @property
    def exchange(self) -> int:
        """The number of the turn, from 1."""
        return int(self.d.exchange)

    @property
    def ended(self) -> bool:
        """Whether the dialogue is over or has not begun."""
        return bool(self.d.ended)

    @property
    def belief(self) -> Belief:
        """The current belief, which changes with the next turn."""
        return Belief(self.view)

    @property
    def goal(self) -> Goal:
        """The current goal of the user."""
        return self.view.goal if self._user is None else self._user.goal

    def forget(self) -> None:
        """Clear the memory of earlier dialogues, so that a new run can start."""
        self.d.offered_before = self.d.alternative_awaited = False

    def draw_user(self, rng: Rng, goal: Goal | None = None) -> Goal:
        """Draw a simulated user, and return the goal of the user. The argument `goal` replaces the
        random goal.

        Raises `DataError` for a domain without goals.
        """
        t, d = self.t, self.d
        d.rng = rng
        self.view.forget()
        draw_parameters(t, d)
        if goal is not None:
            self.view.put_goal(goal)
        elif not draw_goal(t, d):
            raise no_goal(self.domain.name)
        prepare_user(t, d)
        return self.view.goal

    def begin(
        self,
        rng: Rng,
        talk: Rng | None = None,
        goal: Goal | None = None,
        make_user: MakeUser | None = None,
    ) -> Belief:
        """Start a dialogue with a user act, and return the belief after this act.

        `rng` draws the user and all acts. If the generator `talk` is given, it draws the acts, so
        that the same user can act differently. If a `goal` is given, no random goal is drawn.
        `make_user` creates a user that replaces the simulated user.
        """
        self.draw_user(rng, goal)
        self._user, self.d.answer = None, answer
        if make_user is not None:
            self._user = make_user(UserState(self.domain, self.view.goal, rng))
            self.d.answer = self._let_user_answer
        if talk is not None:
            rng.setstate(talk.getstate())
        begin(self.t, self.d)
        return self.belief

    def _let_user_answer(self, t: Shared, d: Dialogue) -> None:
        """Let the user that replaces the simulated user answer, and copy the goal of this user."""
        assert self._user is not None
        self.view.put_user(self._user.answer(self.view.system_act))
        self.view.put_goal(self._user.goal)

    def answer(self, act: Act) -> Result:
        """Carry out a system act, let the user answer, and return the result.

        The dialogue ends if the system or the user has said goodbye, or if the user's answer would
        exceed the maximum number of turns. An answer beyond the maximum is not counted as a turn.
        Raises `UsageError` if the dialogue is over or has not begun.
        """
        self._check()
        self.view.put_system(act)
        return self._result(go_on(self.t, self.d))

    def take(self, action: int) -> Result:
        """Carry out a summary action, and process the resulting system act as in `answer`."""
        self._check()
        return self._result(take(self.t, self.d, action))

    def act_of(self, action: int) -> Act:
        """Return the system act of a summary action in the present state, without performing the
        act.
        """
        self._check()
        say_action(self.t, self.d, action)
        return self.view.next_act

    def _check(self) -> None:
        if self.d.ended:
            raise UsageError(
                "the dialogue is over or has not begun: call `reset` first (for a simulation: "
                "`begin`)"
            )

    def _result(self, reward: float) -> Result:
        d = self.d
        return Result(reward, bool(d.ended), bool(d.success), bool(d.out_of_time))

    def success(self) -> bool:
        """Return whether the current goal of the user is met.

        All requests must be answered, and the recommended entity must satisfy the current goal. The
        values that the system answered are not compared with the entity.
        """
        return bool(achieved(self.t, self.d))

    def spoken(self, act: Act) -> Act:
        """Return the act, or a goodbye if the user has probably said goodbye."""
        return BYE if self.d.discourse[c.SAID_BYE] > HEARD_BYE else act


def no_goal(domain: str) -> DataError:
    """Return the error that is raised if no goal was found in a domain."""
    return DataError(
        f"{domain}: none of {TRIES:,} random goals is satisfied by {FEWEST_MATCHES} or "
        f"{MOST_MATCHES} entities; more entities of the domain must share values"
    )
