"""Users whose wishes change during a dialogue, and users with an attitude.

A plan puts first wishes before some wishes of a goal. The agenda user turns from a first wish to
the next wish when nothing is found, as always, and also at the trigger of the plan. The trigger is
that a venue was named, that the booking was made, or that the user notices its own mistake. At the
latest, the user changes its wish before it says goodbye.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.acts import (
    ASIDE,
    CHANGE_OF_MIND,
    GENERAL,
    SLIP,
    Act,
    Draws,
    returning_to,
)
from mwzeval.multiwoz.goals import ORDERING, DomainGoal, Goal, Records
from mwzeval.multiwoz.live.stress import (
    ATTITUDE,
    CHANGES,
    IMPATIENT,
    Conditions,
    Stress,
    known_values,
    table,
)
from mwzeval.multiwoz.live.user import LiveUser, Manner, _ActiveDomain, fits
from mwzeval.multiwoz.schema import (
    BOOKING_SLOTS,
    DAYS,
    NAMED_BY,
    UNANSWERED,
    UNANSWERED_VALUES,
    minutes,
)

NOTHING, CHANGE, SLIPPED, REBOOK, LATE = "nothing", "change", "slip", "rebook", "late"
PASSIVE, RUSH = "passive", "rush"
CHANGED_SLOTS = {
    NOTHING: ("food", "stars", "pricerange", "area", "type"),
    **dict.fromkeys(
        (CHANGE, SLIPPED),
        ("area", "pricerange", "food", "type", "stars", "day", "leaveAt", "arriveBy"),
    ),
}
"""The slots of first wishes. For a first wish that finds nothing, they are tried in this order."""
MOST_VALUES = 10
"""The maximum number of values of a slot that are tried for a first wish."""
AFTER_BOOKING = 0.4
"""The probability that a user changes its mind after the booking, not when it knows the venue."""
UNLIMITED = 1_000
"""More constraints and questions than any domain of a goal has."""
JOINED = 0.3
"""The probability that a user in a rush opens the next domain in the same message."""
_DIFFERENCES = (60, -60, 120, -120)
"""The differences, in minutes, between the time in a first wish for a journey and in the next."""


class PlannedChange(NamedTuple):
    """A first wish for a `part` (`info` or `book`) of a domain: the `value` of a `slot`.

    The part `reqt` means a question that the user asks last. `after_booking` means that the change
    follows the booking of the first wish.
    """

    kind: str
    domain: str
    part: str
    slot: str
    value: str = ""
    after_booking: bool = False


def planned_changes(goal: Goal, database: Records, stress: Stress) -> list[PlannedChange]:
    """Return the plan of a dialogue, which has at most one change for each part of a domain.

    Domains keep a first wish that the goal itself contains. Questions are last.
    """
    changes: list[PlannedChange] = []
    questions: list[PlannedChange] = []
    for domain in goal[ORDERING]:
        part = goal[domain]
        requested = part.get("reqt", ())
        if domain in NAMED_BY and not part.get("fail_info"):
            kinds = [kind for kind in CHANGED_SLOTS if stress.happens(kind, domain)]
            found = (_first_wishes(kind, domain, part, database, stress) for kind in kinds)
            changes += islice(chain.from_iterable(found), 1)
        if part.get("book") and not part.get("fail_book") and stress.happens(REBOOK, domain):
            changes += _other_booking(domain, part["book"], stress)
        is_last = domain == goal[ORDERING][-1]
        if len(requested) > 1 and not is_last and stress.happens(LATE, domain):
            questions.append(PlannedChange(LATE, domain, "reqt", requested[-1]))
    return [*changes, *questions]


def _first_wishes(
    kind: str, domain: str, part: DomainGoal, database: Records, stress: Stress
) -> Iterator[PlannedChange]:
    """Yield first wishes that differ in one slot and (depending on `kind`) find nothing or not."""
    info = part.get("info", {})
    rng = stress.generator(kind, domain)
    slots = [slot for slot in CHANGED_SLOTS[kind] if slot in info]
    if kind != NOTHING:
        rng.shuffle(slots)
        if not database.query(domain, info.items()):
            return
    after_booking = kind == CHANGE and "book" in part
    if after_booking:
        after_booking = stress.number(CHANGE, domain, "after booking") < AFTER_BOOKING
    for slot in slots:
        values = _other_values(database, domain, slot, info[slot])
        for value in rng.sample(values, min(MOST_VALUES, len(values))):
            finds_nothing = not database.query(domain, {**info, slot: value}.items())
            if finds_nothing == (kind == NOTHING):
                yield PlannedChange(kind, domain, "info", slot, value, after_booking)


@lru_cache(maxsize=2**12)
def _other_values(database: Records, domain: str, slot: str, wish: str) -> list[str]:
    """Return the values of the database that contradict a wish or, for a journey, other times."""
    if slot in ("leaveAt", "arriveBy"):
        times = [minutes(wish) + more for more in _DIFFERENCES] if ":" in wish else []
        return [_clock(time) for time in times if 0 <= time < 24 * 60]
    return [
        value
        for value in (DAYS if slot == "day" else known_values(database, domain, slot))
        if not (fits(domain, slot, value, wish) or fits(domain, slot, wish, value))
    ]


def _other_booking(domain: str, book: Mapping[str, str], stress: Stress) -> Iterator[PlannedChange]:
    others = {slot: _changed(slot, value) for slot, value in book.items()}
    slots = [slot for slot in BOOKING_SLOTS.get(domain, ()) if others.get(slot)]
    if slots:
        slot = stress.generator(REBOOK, domain).choice(slots)
        yield PlannedChange(REBOOK, domain, "book", slot, others[slot])


def _changed(slot: str, value: str) -> str:
    """Return another value for a slot of a booking, or "" if there is none."""
    if slot == "time":
        return _clock((minutes(value) + 120) % (24 * 60))
    if slot == "day" and value in DAYS:
        return DAYS[(DAYS.index(value) + 1) % len(DAYS)]
    most = {"people": 8, "stay": 5}.get(slot)
    return str(int(value) % most + 1) if most and value.isdecimal() else ""


def _clock(time: int) -> str:
    return f"{time // 60:02}:{time % 60:02}"


def manner_of(goal: Goal, stress: Stress) -> tuple[str, Manner]:
    """Return the attitude of the user in a dialogue: its name, or "" if it is cooperative."""
    conditions = stress.conditions
    patience = int(conditions[IMPATIENT])
    manner = Manner(patience=patience, returns=True, same=conditions["same"])
    drawn = stress.number("mood")
    if drawn < conditions[PASSIVE]:
        return PASSIVE, replace(manner, most=1, waits=True)
    if drawn >= conditions[PASSIVE] + conditions[RUSH]:
        return "", manner
    joined = (d for d in goal[ORDERING] if stress.number(RUSH, "joined", d) < JOINED)
    return RUSH, replace(manner, most=UNLIMITED, hurries=True, joined=frozenset(joined))


class ChangingUser(LiveUser):
    """An agenda user with a plan and an attitude, for a single dialogue.

    `goal` is the goal that is judged. The user's copy of a domain reaches this goal at the end,
    unless the user gives up the domain or has no messages left.
    """

    def __init__(self, goal: Goal, draws: Draws, database: Records, stress: Stress) -> None:
        first, plan = dict(goal), planned_changes(goal, database, stress)
        for _, domain, part, slot, value, _ in plan:
            if part in ("info", "book"):
                wishes = {**goal[domain][part], slot: value}
                first[domain] = {**first[domain], f"fail_{part}": wishes}
        mood, manner = manner_of(goal, stress)
        super().__init__(first, draws, manner)
        self._changes = {(change.domain, change.part): change for change in plan}
        for change in plan:
            if change.kind == LATE:
                self._domains[change.domain].held_back = frozenset({change.slot})
        self._stress = stress
        if mood:
            stress.log("mood", mood)

    def report(self) -> dict[str, Any]:
        """Return the user's final state; see `LiveUser.report`."""
        report = super().report()
        return {**report, "ended": "limit"} if self.is_done and self._left() else report

    def _left(self) -> list[PlannedChange]:
        """Return the changes that have not yet occurred, questions last."""
        changes = self._changes.values()
        return [change for change in changes if not self._domains[change.domain].given_up]

    def answer(self, heard: Sequence[Act], /) -> list[Act]:
        """Return the user's acts, which may end with a request that no function can answer."""
        acts = super().answer(heard)
        if not self.is_done and self._stress.happens(ASIDE, self._messages):
            asides = [row for row in table("asides.tsv", 3) if row[0] == self.current_domain]
            rng = self._stress.generator(ASIDE, self._messages)
            domain, keyword, text = rng.choice(asides)
            self._stress.log_change(ASIDE, domain, keyword)
            acts.append(Act(ASIDE, GENERAL, keyword, text))
        return acts

    def _refused(self, active: _ActiveDomain, part: str) -> None:
        change = self._changes.get((active.domain, part))
        if change is not None and active.stated.get(change.slot) == change.value:
            self._record(change)
        elif change is not None:
            # The user has not stated its first wish, so the agent does not notice the change.
            del self._changes[active.domain, part]
        super()._refused(active, part)

    def _record(self, change: PlannedChange) -> None:
        del self._changes[change.domain, change.part]
        self._stress.log_change(change.kind, change.domain, change.slot)

    def _reconsider(self) -> None:
        change = next(filter(self._is_due, self._left()), None)
        if change is not None:
            self._turn(change)

    def _is_due(self, change: PlannedChange) -> bool:
        """Return whether the trigger of a change has occurred."""
        active = self._domains[change.domain]
        if change.kind == SLIPPED:
            return active.stated.get(change.slot) == change.value
        if change.kind == CHANGE and not change.after_booking:
            return active.venue is not None and active.spoken_of and not active.pending()
        is_booked = active.goal.get("booked", UNANSWERED) not in UNANSWERED_VALUES
        return is_booked and change.kind in (CHANGE, REBOOK)

    def _turn(self, change: PlannedChange) -> None:
        """Turn from a first wish to the wish of the goal."""
        self._record(change)
        marker = SLIP if change.kind == SLIPPED else CHANGE_OF_MIND
        self.wish_otherwise(change.domain, change.part, marker)

    def _reopened(self) -> _ActiveDomain | None:
        for change in self._left():
            active = self._domains[change.domain]
            if change.kind != LATE:
                self._turn(change)
                return active
            active.held_back = frozenset()
            if not active.is_finished:
                self._record(change)
                self._markers.append(returning_to(change.domain))
                return active
            del self._changes[change.domain, change.part]
        return None


def user_of(
    planned: Planned, draws: Draws, database: Records, conditions: Conditions, record: Record
) -> LiveUser:
    """Return the agenda user of a dialogue, changed only if such conditions are active."""
    if not conditions.of(CHANGES, ATTITUDE):
        return LiveUser(planned.goal, draws)
    return ChangingUser(planned.goal, draws, database, Stress(conditions, planned, record))
