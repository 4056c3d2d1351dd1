"""The course of a dialogue: its beginning, and its exchanges.

Source: Casanueva et al. (2017); the order of events is that of the published program.
"""

from __future__ import annotations

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.channel import transmit
from mwzeval.pydial.simulator.goals import achieved, draw_goal, draw_parameters, prepare_user
from mwzeval.pydial.simulator.layout import Dialogue, Shared
from mwzeval.pydial.simulator.native import let_user_answer
from mwzeval.pydial.simulator.system import say, say_action, summarize
from mwzeval.pydial.simulator.tracker import begin_belief, track

HEARD_BYE = 0.8
"""The system says goodbye, whatever it was about to say, if the user did more probably than so."""


def begin(t: Shared, d: Dialogue) -> None:
    """Start a dialogue of a user that has a goal: the system says hello, and the user answers."""
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
    """Draw a user, and begin a dialogue with it; return whether it has found a goal."""
    draw_parameters(t, d)
    if not draw_goal(t, d):
        return False
    prepare_user(t, d)
    begin(t, d)
    return True


def _listen(t: Shared, d: Dialogue) -> bool:
    """Hear what the user says; return whether there was time for it."""
    if d.exchange == t.max_exchanges:
        return False
    d.exchange += 1
    transmit(t, d)
    if track(t, d) or d.exchange == 1:
        summarize(t, d)
    return True


def take(t: Shared, d: Dialogue, action: int) -> float:
    """Carry out a summary action; otherwise as `go_on`."""
    say_action(t, d, action)
    return go_on(t, d)


def go_on(t: Shared, d: Dialogue) -> float:
    """Say the next act, or goodbye if the user probably did, and let the user answer.

    Return the reward. The dialogue ends after a goodbye, or if there is no time for the answer.
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
    """Return the reward of the last exchange."""
    return t.exchange_reward + success * t.success_reward
