"""Was the user served? What a dialogue ended with, checked against its goal and the database.

Ours: the paper has nothing of the kind, and its finish rate only asks whether every line of the
goal got some value. docs/crosswoz.md defines every word of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.crosswoz.corpus.acts import SERVICE_PREFIX
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE,
    DESTINATION,
    LIST_SLOTS,
    NAME,
    NEARBY,
    SERVICES,
    VENUE_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.normalization import comparable_text
from mwzeval.crosswoz.facts import is_fact, is_nothing
from mwzeval.crosswoz.reason_codes import (
    INFORM_CODES,
    NO_END,
    NO_VENUE,
    NOT_NEARBY,
    OTHER_END,
    UNANSWERED,
    UNKNOWN_VENUE,
    WRONG_CONSTRAINT,
    WRONG_VALUE,
)

REFERENCE = re.compile(r"id=([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a sub-goal in the end; `slot` is the one concerned, if one is."""

    code: str
    subgoal: int
    domain: str
    slot: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The faults of a dialogue, in the order of its goal."""

    faults: tuple[Fault, ...]

    @property
    def inform(self) -> bool:
        """Whether every venue and trip is one that was asked for."""
        return not any(fault.code in INFORM_CODES for fault in self.faults)

    @property
    def success(self) -> bool:
        """Whether, beyond that, everything asked for was told, and is true."""
        return not self.faults


def judge(goal: Goal, outcome: Goal, database: Database) -> Judgement:
    """Return what is wrong with the outcome of a dialogue, the goal's lines with their last values.

    A line of `goal` with a value is a constraint, one with a reference (`id=1`) depends on another
    sub-goal, and one without is a request.
    """
    if [line[:3] for line in goal] != [line[:3] for line in outcome]:
        raise ValueError("an outcome has the lines of its goal")
    return Judgement(tuple(_Case(goal, outcome, database).faults()))


class _Case:
    def __init__(self, goal: Goal, outcome: Goal, database: Database) -> None:
        self._database = database
        self._subgoals: dict[int, list[tuple[SemanticTuple, SemanticTuple]]] = {}
        for wanted, final in zip(goal, outcome, strict=True):
            self._subgoals.setdefault(wanted.subgoal, []).append((wanted, final))
        self._chosen = {
            number: chosen
            for number, lines in self._subgoals.items()
            if (chosen := self._entity(lines)) is not None
        }

    def _entity(self, lines: Sequence[tuple[SemanticTuple, SemanticTuple]]) -> Entity | None:
        name = _name_of(lines)
        return None if name is None else self._database.named(lines[0][0].domain, name)

    def faults(self) -> Iterator[Fault]:
        for number, lines in self._subgoals.items():
            domain = lines[0][0].domain
            find = self._venue_faults if domain in VENUE_DOMAINS else self._trip_faults
            for code, slot, text in find(number, domain, lines):
                yield Fault(code, number, domain, slot, text)

    def _venue_faults(
        self, number: int, domain: str, lines: Sequence[tuple[SemanticTuple, SemanticTuple]]
    ) -> Iterator[tuple[str, str | None, str]]:
        name = _name_of(lines)
        if name is None:
            yield NO_VENUE, NAME, "no venue was named"
            return
        venue = self._chosen.get(number)
        if venue is None:
            yield UNKNOWN_VENUE, NAME, f"the database has no “{name}”"
            return
        for wanted, final in lines:
            if wanted.slot == NAME and wanted.refers:
                yield from self._nearby_faults(wanted, venue)
            elif wanted.value:
                if not self._satisfies(venue, final):
                    held = spelled(venue.record.get(_record_slot(final.slot)))
                    text = f"“{name}” has {held}, asked for is {spelled(final.value)}"
                    yield WRONG_CONSTRAINT, final.slot, text
            elif wanted.slot != NAME:
                yield from _answer_faults(final, venue.record)

    def _nearby_faults(
        self, wanted: SemanticTuple, venue: Entity
    ) -> Iterator[tuple[str, str | None, str]]:
        source = self._referred(wanted)
        domain = wanted.domain
        # The lists of the database are symmetric, save that hotels list no hotels.
        if source is None or venue.name not in (source.record.get(NEARBY[domain]) or ()):
            near = "an unknown venue" if source is None else f"“{source.name}”"
            yield NOT_NEARBY, NAME, f"“{venue.name}” is not near {near}"

    def _satisfies(self, venue: Entity, final: SemanticTuple) -> bool:
        slot, value = final.slot, final.value
        if slot.startswith(SERVICE_PREFIX):
            if value != YES:
                return True
            slot, value = SERVICES, slot.removeprefix(SERVICE_PREFIX)
        text = value if isinstance(value, str) else " ".join(value)
        return venue in self._database.query(final.domain, {slot: text})

    def _trip_faults(
        self, _: int, domain: str, lines: Sequence[tuple[SemanticTuple, SemanticTuple]]
    ) -> Iterator[tuple[str, str | None, str]]:
        ends = {}
        for wanted, final in lines:
            if wanted.slot not in (DEPARTURE, DESTINATION):
                continue
            if not final.value or final.refers or not isinstance(final.value, str):
                yield NO_END, wanted.slot, "the end of the trip was not named"
                continue
            ends[wanted.slot] = final.value
            venue = self._referred(wanted)
            if venue is not None and not _same(final.value, venue.name):
                text = f"the trip has “{final.value}”, the venue is “{venue.name}”"
                yield OTHER_END, wanted.slot, text
        records = self._database.trip_facts(domain, ends)
        for wanted, final in lines:
            if not wanted.value and wanted.slot in records:
                yield from _answer_faults(final, {final.slot: records[wanted.slot]})

    def _referred(self, line: SemanticTuple) -> Entity | None:
        match = REFERENCE.search(str(line.value))
        return self._chosen.get(int(match[1])) if match else None


def _answer_faults(
    final: SemanticTuple, record: Mapping[str, object]
) -> Iterator[tuple[str, str | None, str]]:
    slot, value = final.slot, final.value
    held = record.get(_record_slot(slot))
    if not value:
        # A filled list may come as an empty one where there is nothing to tell.
        if not (slot in LIST_SLOTS and is_nothing(held)):
            yield UNANSWERED, slot, f"{slot} was asked for, and not told"
    elif not is_fact(slot, value, held):
        text = f"told is {spelled(value)}, the database has {spelled(held)}"
        yield WRONG_VALUE, slot, text


def _name_of(lines: Sequence[tuple[SemanticTuple, SemanticTuple]]) -> str | None:
    for wanted, final in lines:
        if wanted.slot == NAME:
            is_name = bool(final.value) and isinstance(final.value, str)
            unresolved = wanted.refers and final.value == wanted.value
            return str(final.value) if is_name and not unresolved else None
    return None


def _record_slot(slot: str) -> str:
    return SERVICES if slot.startswith(SERVICE_PREFIX) else slot


def _same(first: str, second: str) -> bool:
    return comparable_text(first) == comparable_text(second)


def spelled(value: object) -> str:
    """Return a value as a sentence has it: the first items of a list, and `nothing`."""
    if is_nothing(value):
        return "nothing"
    if isinstance(value, str):
        return f"“{value}”"
    if isinstance(value, list | tuple):
        shown = "、".join(map(str, value[:5]))
        return f"“{shown}{'…' if len(value) > 5 else ''}”"
    return str(value)
