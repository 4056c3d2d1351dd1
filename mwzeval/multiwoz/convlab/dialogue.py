"""Dialogues in acts of the agenda user with a system, and what came of them.

The goal of a user is its own copy: what it has learnt stands in its report, and judging a dialogue
needs nothing but the line that is kept of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from mwzeval.conversation.loop import Ending
from mwzeval.conversation.messages import MOST_CHARACTERS
from mwzeval.conversation.protocols import AnswerError, User
from mwzeval.conversation.record import Planned, Record, hold
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import shorten
from mwzeval.multiwoz.convlab.act_database import ActDatabase
from mwzeval.multiwoz.convlab.acts import NONE, Act
from mwzeval.multiwoz.convlab.agenda_user import AgendaUser
from mwzeval.multiwoz.convlab.corrected import SaidBookings
from mwzeval.multiwoz.convlab.draws import SeededSystemDraws, SeededUserDraws, SystemDraws
from mwzeval.multiwoz.convlab.evaluator import PublicEvaluator
from mwzeval.multiwoz.convlab.resources import ActResources
from mwzeval.multiwoz.convlab.rule_policy import RulePolicy
from mwzeval.multiwoz.convlab.rule_tracker import RuleTracker
from mwzeval.multiwoz.convlab.said_values import SaidValues
from mwzeval.multiwoz.convlab.scores import Outcome
from mwzeval.multiwoz.goals.goals import ORDERING, Goal, begun

USER_CALLS = 21
"""Turns of the user, the last of which is its farewell: by then it has given up by itself."""
MOST_ACTS = 1_000
"""Acts of a turn: an answer may be a generator, and that may never end."""

BOOKS = frozenset({("Booking", "Book"), ("Train", "OfferBooked")})
"""Domain and intent of the acts that book."""
NO_BOOKING = Act("NoBook", "Booking", NONE, NONE)

Judge = Callable[[Goal, ActDatabase], PublicEvaluator]


class ActSystem(Protocol):
    """A system that hears and says dialogue acts, one dialogue long."""

    def answer(self, acts: Sequence[Act], /) -> Iterable[Act]:
        """Return what the system says to the acts of the user."""


class RuleSystem:
    """The rule tracker and the rule policy of ConvLab-2."""

    def __init__(self, resources: ActResources, draws: SystemDraws) -> None:
        self.tracker = RuleTracker(resources.spellings)
        self._policy = RulePolicy(resources.database, draws)

    def answer(self, acts: Sequence[Act], /) -> list[Act]:
        """Return what the policy says to the acts of the user."""
        self.tracker.update(acts)
        return self._policy.predict(self.tracker.semi, acts)


def rule_system(resources: ActResources, seed: int, item: str, trial: int) -> RuleSystem:
    """Return a rule system for one dialogue; what it draws follows from the other arguments."""
    return RuleSystem(resources, SeededSystemDraws(seed, item, trial))


class RefusedBookings:
    """A system whose bookings are refused where the user says what its goal has in `fail_book`.

    In place of all that the system says in such a turn the user hears that there is no booking.
    """

    def __init__(self, system: ActSystem, goal: Goal) -> None:
        self._system = system
        self._said = SaidBookings()
        self._domain = ""
        self._refused = {
            domain: {
                (slot, value)
                for slot, value in goal[domain].get("fail_book", {}).items()
                if goal[domain].get("book", {}).get(slot) != value
            }
            for domain in goal[ORDERING]
        }

    def answer(self, acts: Sequence[Act], /) -> Iterable[Act]:
        """Return what the system says, or that it could not book."""
        self._said.hear(acts)
        for act in acts:
            if act.domain.lower() in self._refused:
                self._domain = act.domain.lower()
        answer = checked_acts(self._system.answer(acts))
        said = self._said.of.get(self._domain, {}).items()
        is_refused = not self._refused.get(self._domain, set()).isdisjoint(said)
        if is_refused and any((act.domain, act.intent) in BOOKS for act in answer):
            return [NO_BOOKING]
        return answer


class ActUser:
    """The agenda user in a conversation of acts."""

    def __init__(self, goal: Goal, values: SaidValues, seed: int, item: str, trial: int) -> None:
        self._user = AgendaUser(goal, values, SeededUserDraws(seed, item, trial))

    def begin(self) -> list[Act]:
        """Return what the user says first."""
        return self._user.predict(())

    def answer(self, heard: Sequence[Act], /) -> list[Act]:
        """Return what the user says to the acts of the system."""
        return self._user.predict(heard)

    @property
    def is_done(self) -> bool:
        """Whether the user has said goodbye."""
        return self._user.over

    def report(self) -> dict[str, Any]:
        """Return whether the user believes to have everything, and its goal with the answers."""
        return {"complete": self._user.complete, "goal": self._user.goal}


class _Recorded:
    """A system whose answers are checked, and kept with what they answer."""

    def __init__(self, system: ActSystem, record: Record) -> None:
        self._system = system
        self._record = record

    def answer(self, said: list[Act], /) -> list[Act]:
        self._record.said(said)
        heard = checked_acts(self._system.answer(tuple(said)))
        self._record.heard(heard)
        return heard


def hold_in_acts(
    make_user: Callable[[], User[list[Act], list[Act]]],
    make_system: Callable[[], ActSystem],
    record: Record,
    *,
    user_turns: int = USER_CALLS,
) -> Ending:
    """Hold a dialogue in acts, and return how it has ended.

    What is said goes to the `record`, with the user's report. Nothing that the system does is an
    error here: see `conversation.loop.converse`.
    """
    return hold(make_user, lambda: _Recorded(make_system(), record), record, user_turns=user_turns)


def hold_dialogue(
    goal: Goal,
    make_system: Callable[[], ActSystem],
    resources: ActResources,
    *,
    seed: int,
    item: str,
    trial: int = 1,
) -> Trajectory:
    """Return a dialogue of the agenda user about a goal, with the user's report.

    `item` is the id of the goal; with `seed` and `trial` it decides all that the user draws.
    """
    record = Record()
    user = ActUser(goal, resources.said_values, seed, item, trial)
    ending = hold_in_acts(lambda: user, make_system, record)
    return record.trajectory(Planned(item, goal, trial, seed=seed), ending)


def judged(dialogue: Trajectory, database: ActDatabase, judge: Judge = PublicEvaluator) -> Outcome:
    """Return what came of a dialogue in acts.

    Without the user's report its goal is judged as if it had understood no answer. Raises
    `ValueError` for acts and goals that are none.
    """
    report = dialogue.more.get("user")
    final = report.get("goal") if isinstance(report, Mapping) else None
    try:
        evaluator = judge(begun(dialogue.goal) if final is None else final, database)
        heard: Sequence[Act] = ()
        # What the system says to the user's last turn is heard by nobody.
        for said, answer in dialogue.acts:
            evaluator.system(heard)
            evaluator.user(checked_acts(said))
            heard = checked_acts(answer)
        return evaluator.outcome()
    except AnswerError as error:
        raise ValueError(f'dialogue "{shorten(dialogue.name)}": {error}') from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f'dialogue "{shorten(dialogue.name)}": expected a goal of MultiWOZ, and acts such as '
            '["Inform", "Hotel", "Area", "north"]'
        ) from error


def checked_acts(said: Iterable[Any] | None) -> list[Act]:
    """Return what was said as acts; None is nothing.

    Raises `AnswerError` for what are no acts: sequences of four texts, intent, domain, slot, value.
    """
    if said is None:
        return []
    if isinstance(said, str | bytes | Mapping) or not isinstance(said, Iterable):
        raise AnswerError(f"expected a list of acts, found {shorten(repr(said))}")
    acts = [raw if type(raw) is Act else _act(raw) for raw in islice(said, MOST_ACTS + 1)]
    if len(acts) > MOST_ACTS:
        raise AnswerError(f"more than {MOST_ACTS:,} acts in one turn")
    try:
        # What is no text, and halves of surrogate pairs, could not be kept in a file.
        length = sum(len("".join(act).encode()) for act in acts)
    except (TypeError, UnicodeEncodeError):
        raise AnswerError("an act is four texts that can be written to a file") from None
    if length > MOST_CHARACTERS:
        raise AnswerError(f"acts of {length:,} characters: more than {MOST_CHARACTERS:,}")
    return acts


def _act(raw: Any) -> Act:
    if not isinstance(raw, list | tuple) or len(raw) != len(Act._fields):
        raise AnswerError(f"an act is four texts, found {shorten(repr(raw))}")
    return Act(*raw)
