"""The compiled step of many dialogues: begin them, or answer users with an action each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from mwzeval.pydial.batched.compiled import compiled, entry, sources_digest
from mwzeval.pydial.batched.kernel.actions import say, say_action
from mwzeval.pydial.batched.kernel.channel import transmit
from mwzeval.pydial.batched.kernel.handcrafted import say_handcrafted
from mwzeval.pydial.batched.kernel.rng import next_seed, seed_twister
from mwzeval.pydial.batched.kernel.summary import SAID_BYE, summarize, write_mask, write_vector
from mwzeval.pydial.batched.kernel.tracker import begin_belief, track
from mwzeval.pydial.batched.layout import BYE, HELLO, NULL
from mwzeval.pydial.batched.user.answers import answer
from mwzeval.pydial.batched.user.goals import achieved, draw_user
from mwzeval.pydial.dialogue.simulation import HEARD_BYE

STEP, BEGIN, LOOK = range(3)
"""What to do with a dialogue: take an action, begin a new one, or only look at it."""
HANDCRAFTED = -1
"""In place of an action: what the handcrafted policy says."""


@compiled
def _go_on(t: Any, d: Any) -> bool:
    """Let the user answer what the system says now; tell whether there was time for it."""
    answer(t, d)
    if d.exchange == t.max_exchanges:
        return False
    d.exchange += 1
    transmit(t, d)
    if track(t, d) or d.exchange == 1:
        summarize(t, d)
    return True


@compiled
def _begin(t: Any, d: Any) -> bool:
    """Begin a dialogue; tell whether its user found a goal."""
    if not t.keep_alternatives:
        d.alternative_awaited = False
    seed_twister(d, next_seed(d))
    begin_belief(t, d)
    if not draw_user(t, d):
        return False
    d.exchange = 0
    d.ended = d.success = d.out_of_time = False
    d.again_act, d.again_items = NULL, 0
    say(d, HELLO)
    d.system_act[d.now], d.system_items[d.now] = NULL, 0
    d.now = 1 - d.now
    _go_on(t, d)
    return True


@compiled
def _take(t: Any, d: Any, action: int) -> float:
    """Carry out an action; return its reward."""
    if action == HANDCRAFTED:
        say_handcrafted(t, d)
    else:
        say_action(t, d, action)
    if d.discourse[SAID_BYE] > HEARD_BYE:
        say(d, BYE)
    if d.said_act != BYE and d.system_act[1 - d.now] != BYE:
        d.now = 1 - d.now
        if _go_on(t, d):
            return t.exchange_reward
        d.out_of_time = True
    d.ended = True
    d.success = achieved(t, d)
    return t.exchange_reward + d.success * t.success_reward


@cache
def advance_function() -> Callable[..., int]:
    """Return the compiled function `advance`."""
    digest = sources_digest()

    def advance(
        shared: Any,
        dialogues: Any,
        what: Any,
        actions: Any,
        vectors: Any,
        masks: Any,
        rewards: Any,
        looks: bool,
    ) -> int:
        """Do with each dialogue what `what` says, and write rewards and, if `looks`, what is seen.

        Returns the number of a dialogue whose user found no goal, else -1. Of a dialogue that ended
        the vector is zero and the mask stays as it was.
        """
        len(digest)
        t = shared[0]
        for index in range(len(what)):
            d = dialogues[index]
            rewards[index] = 0.0
            if what[index] == BEGIN:
                if not _begin(t, d):
                    return index
            elif what[index] == STEP:
                rewards[index] = _take(t, d, actions[index])
            if looks:
                vectors[index, :] = 0.0
                if not d.ended:
                    write_vector(t, d, vectors[index])
                    write_mask(t, d, masks[index])
        return -1

    return entry(advance)
