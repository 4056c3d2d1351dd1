"""Dialogues between a simulated user and whoever decides what the system says.

Source: Casanueva et al. (2017); the order of events is that of the published program.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

from mwzeval.errors import UsageError
from mwzeval.pydial.dialogue.acts import BYE, HELLO, NULL, Act
from mwzeval.pydial.dialogue.belief import SPOKEN_BYE, Belief
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.error_model import ErrorModel
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.rng import Rng
from mwzeval.pydial.dialogue.tracker import Hypotheses, Tracker
from mwzeval.pydial.dialogue.user import User, UserSimulator
from mwzeval.pydial.tasks import Task

HEARD_BYE = 0.8
"""The system says goodbye, whatever it was about to say, if the user did more probably than so."""


class Result(NamedTuple):
    """What came of a system act: its reward, whether the dialogue is over, and how it ended.

    `success` and `out_of_time` are False while it goes on.
    """

    reward: float
    ended: bool
    success: bool = False
    out_of_time: bool = False


class Simulation:
    """One dialogue after the other in a task: user, channel and tracker, but no policy.

    What sounds alike is drawn once, from `confusion_seed`. A dialogue depends on nothing but its
    draws and on what is answered, except that in `legacy` the tracker remembers across dialogues
    that an offer was made (until `forget`).
    """

    def __init__(
        self, domain: Domain, task: Task, *, legacy: bool = False, confusion_seed: int = 0
    ) -> None:
        self.domain = domain
        self.task = task
        self.legacy = legacy
        self.tracker = Tracker(domain, legacy=legacy)
        self.users = UserSimulator(domain, task.user_model, legacy=legacy)
        self.channel = ErrorModel(domain, task, Rng(confusion_seed), legacy=legacy)
        self.rng = Rng(0)
        self.exchange = 0
        self.ended = True
        self.user: User | None = None
        self.system_act = self.said = NULL
        self.heard: Hypotheses = ()

    def sibling(self) -> Simulation:
        """Return a simulation of other dialogues that shares all that was prepared."""
        other = copy(self)
        other.tracker = self.tracker.sibling()
        other.rng = Rng(0)
        other.exchange, other.ended, other.user = 0, True, None
        return other

    @property
    def belief(self) -> Belief:
        """What the tracker believes now; the next exchange changes it."""
        return self.tracker.belief

    def forget(self) -> None:
        """Begin a new run: nothing is remembered of the dialogues before."""
        self.tracker.offered_before = False

    def begin(self, rng: Rng, talk: Rng | None = None, goal: Goal | None = None) -> Belief:
        """Start a dialogue, up to the first act of the user; return what is believed then.

        The user and all that is said are drawn from `rng`; what is said from where `talk` is, if
        that is given, so that the same user talks differently. With a `goal` none is drawn.
        """
        self.rng = rng
        self.tracker.begin()
        self.user = self.users.begin(rng, goal)
        if talk is not None:
            rng.setstate(talk.getstate())
        self.exchange = 0
        self.ended = False
        self._go_on(HELLO)
        return self.belief

    def answer(self, act: Act) -> Result:
        """Say a system act, hear what the user answers, and return what came of it.

        The act is rewarded, and then the dialogue may be over: because one of both said goodbye, or
        because the user's answer would be one too many (that exchange is not counted). Raises
        `UsageError` when there is no dialogue.
        """
        user = self.user
        if self.ended or user is None:
            raise UsageError(
                "the dialogue is over, or was never begun: call `reset` first (of a simulation: "
                "`begin`)"
            )
        task = self.task
        reward = task.exchange_reward
        act = self.spoken(act)
        out_of_time = False
        if self.said.name != "bye" and act.name != "bye":
            if self._go_on(act):
                return Result(reward, False)
            out_of_time = True
        self.system_act = act
        self.ended = True
        success = user.success()
        return Result(reward + success * task.success_reward, True, success, out_of_time)

    def spoken(self, act: Act) -> Act:
        """Return what the system says in place of an act: goodbye, if the user probably did."""
        return BYE if self.belief.discourse_acts.get(SPOKEN_BYE, 0.0) > HEARD_BYE else act

    def _go_on(self, act: Act) -> bool:
        """Let the user answer an act; tell whether there was time for it."""
        assert self.user is not None
        self.system_act = act
        self.said = self.user.answer(act)
        if self.exchange == self.task.max_exchanges:
            return False
        self.exchange += 1
        self.heard = self.channel.nbest(self.said, self.rng)
        self.tracker.update(act, self.heard)
        return True
