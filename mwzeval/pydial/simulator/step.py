"""The course of a dialogue, that is, its start and its turns.

Source: Casanueva et al. (2017); the order of events follows the published program.
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
