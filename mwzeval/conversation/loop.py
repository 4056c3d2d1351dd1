"""One dialogue: a user and an agent take turns until the user stops, a limit is met, or one fails.

Turns may be anything: this loop does not look into them. What is kept of them is up to the side
that takes part, so that nothing is lost when a later turn fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mwzeval.conversation.protocols import (
    AGENT_ERROR,
    FAILURES,
    INFRASTRUCTURE,
    LIMIT,
    USER_ERROR,
    USER_STOP,
    End,
    Heard,
    InfrastructureError,
    LimitError,
    Partner,
    Said,
    User,
    described,
)

USER_TURNS = 21
"""Turns of the user, the farewell among them, unless it is said otherwise. Source: the calls after
which ConvLab-2's agenda user has said goodbye."""


class Ending(NamedTuple):
    """How a dialogue has ended, after how many turns of the user, and what was wrong."""

    end: End
    user_turns: int
    problem: str | None = None


Note = Callable[[Ending], object]
"""Is told before each call what the dialogue comes to if that call never returns."""


def converse(
    make_user: Callable[[], User[Said, Heard]],
    make_partner: Callable[[], Partner[Said, Heard]],
    *,
    user_turns: int = USER_TURNS,
    note: Note | None = None,
    failures: tuple[type[BaseException], ...] = FAILURES,
) -> Ending:
    """Hold a dialogue of a user with an agent; return how it has ended.

    Nothing that a user or agent does is an error here: a dialogue in which one of them raises ends
    with that and says so. The last message of a user is answered, too, because an agent may still
    do something then; but whether that fails does not matter any more.

    `failures` are the exceptions that end a dialogue; all others are raised as they are.
    """
    turns = 0
    if note is not None:
        note(Ending(USER_ERROR, turns))
    try:
        user = make_user()
    except failures as error:
        return failed(USER_ERROR, turns, error)
    if note is not None:
        note(Ending(AGENT_ERROR, turns))
    try:
        partner = make_partner()
    except failures as error:
        return failed(AGENT_ERROR, turns, error)
    heard: Heard | None = None
    while turns < user_turns:
        if note is not None:
            note(Ending(USER_ERROR, turns))
        try:
            said = user.begin() if heard is None else user.answer(heard)
            is_done = user.is_done
        except failures as error:
            return failed(USER_ERROR, turns, error)
        turns += 1
        if note is not None:
            note(Ending(USER_STOP if is_done else AGENT_ERROR, turns))
        try:
            heard = partner.answer(said)
        except failures as error:
            return Ending(USER_STOP, turns) if is_done else failed(AGENT_ERROR, turns, error)
        if is_done:
            return Ending(USER_STOP, turns)
    return Ending(LIMIT, turns, f"{user_turns} turns of the user")


def failed(whose: End, turns: int, error: BaseException) -> Ending:
    """Return how a dialogue ends when something is raised by one side."""
    if isinstance(error, InfrastructureError):
        whose = INFRASTRUCTURE
    elif isinstance(error, LimitError):
        whose = LIMIT
    return Ending(whose, turns, described(error))
