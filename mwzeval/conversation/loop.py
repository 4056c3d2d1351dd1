"""One dialogue: a user and an agent take turns until the user stops, a limit is met, or one fails.

Turns may be anything: this loop does not look into them. What is kept of them is up to the side
that takes part, so that nothing is lost when a later turn fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple

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


class UserSide(Generic[Said, Heard]):
    """The user's side of a dialogue, turn by turn, whoever drives it: `converse`, or a harness.

    `make_user` is called at once; `next` returns what the user says, `ending` is how the dialogue
    has ended, None as long as it goes on. `failures` are the exceptions that end a dialogue.
    """

    def __init__(
        self,
        make_user: Callable[[], User[Said, Heard]],
        *,
        user_turns: int = USER_TURNS,
        note: Note | None = None,
        failures: tuple[type[BaseException], ...] = FAILURES,
    ) -> None:
        self._most = user_turns
        self._note = note
        self._failures = failures
        self._is_done = False
        self.turns = 0
        """How many turns the user has taken."""
        self.ending: Ending | None = None
        self.user: User[Said, Heard] | None = None
        """The user; None where it could not be made."""
        self._tell(USER_ERROR)
        try:
            self.user = make_user()
        except failures as error:
            self.ending = failed(USER_ERROR, 0, error)
            return
        self._tell(AGENT_ERROR)

    def next(self, heard: Heard | None = None) -> Said | None:
        """Return what the user says to a turn of the agent, None when the dialogue has ended.

        The user begins: `heard` is None for its first turn.
        """
        if self._is_done:
            self.ending = Ending(USER_STOP, self.turns)
        elif self.turns >= self._most:
            self.ending = Ending(LIMIT, self.turns, f"{self._most} turns of the user")
        if self.ending is not None or self.user is None:
            return None
        self._tell(USER_ERROR)
        try:
            said = self.user.begin() if heard is None else self.user.answer(heard)
            self._is_done = self.user.is_done
        except self._failures as error:
            self.ending = failed(USER_ERROR, self.turns, error)
            return None
        if said is None:
            self.ending = Ending(USER_STOP, self.turns)
            return None
        self.turns += 1
        self._tell(USER_STOP if self._is_done else AGENT_ERROR)
        return said

    def agent_failed(self, error: BaseException) -> Ending:
        """Return how the dialogue ends when the agent raises: after the user's last, as it was."""
        done = Ending(USER_STOP, self.turns)
        self.ending = done if self._is_done else failed(AGENT_ERROR, self.turns, error)
        return self.ending

    def _tell(self, end: End) -> None:
        if self._note is not None:
            self._note(Ending(end, self.turns))


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
    do something then; but whether that fails does not matter any more. To leave without a word is
    no turn.

    `failures` are the exceptions that end a dialogue; all others are raised as they are.
    """
    side = UserSide(make_user, user_turns=user_turns, note=note, failures=failures)
    if side.ending is not None:
        return side.ending
    try:
        partner = make_partner()
    except failures as error:
        return side.agent_failed(error)
    said = side.next()
    while side.ending is None:
        assert said is not None
        try:
            heard = partner.answer(said)
        except failures as error:
            return side.agent_failed(error)
        said = side.next(heard)
    return side.ending


def failed(whose: End, turns: int, error: BaseException) -> Ending:
    """Return how a dialogue ends when something is raised by one side."""
    if isinstance(error, InfrastructureError):
        whose = INFRASTRUCTURE
    elif isinstance(error, LimitError):
        whose = LIMIT
    return Ending(whose, turns, described(error))
