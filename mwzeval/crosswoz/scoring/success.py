"""Was the user served? What a dialogue ended with, checked against its goal and the database.

Ours: the paper has nothing of the kind, and its finish rate only asks whether every line of the
goal got some value. docs/crosswoz.md defines every word of this, and every kind of reason; a slot,
or for acts the intent, may stand behind the kind and a colon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mwzeval.crosswoz.corpus.acts import SERVICE_PREFIX
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple, Value
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE,
    DESTINATION,
    FREE,
    LIST_SLOTS,
    NAME,
    NEARBY,
    NO,
    NOTHING,
    NUMBER_SLOTS,
    SERVICES,
    TICKET,
    VENUE_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.normalization import comparable_text
from mwzeval.scores.explanation import Reason

MISSING_ACT, SPURIOUS_ACT, WRONG_ACT_VALUE = "missing-act", "spurious-act", "wrong-act-value"
MISSING_SLOT, SPURIOUS_SLOT, WRONG_SLOT = "missing-slot", "spurious-slot", "wrong-slot"
SPELLING, CHOSEN_NAME = "other-spelling", "name-not-annotated"
WRONG_LINE, MISSING_FLAG, SPURIOUS_FLAG = "wrong-line", "not-expressed", "expressed-too-early"

NO_VENUE, UNKNOWN_VENUE, NOT_NEARBY = "no-venue", "venue-not-in-database", "not-nearby"
WRONG_CONSTRAINT, NO_END, OTHER_END = "wrong-constraint", "end-not-named", "other-end"
UNANSWERED, WRONG_VALUE = "unanswered", "wrong-value"
NOT_FINISHED, NOT_DONE = "not-finished", "not-done"

INFORM_CODES = frozenset({NO_VENUE, UNKNOWN_VENUE, NOT_NEARBY, WRONG_CONSTRAINT, NO_END, OTHER_END})
"""Faults that lose Inform, and Success with it; the others of an outcome lose Success alone."""
MEANINGS = {
    MISSING_ACT: "An act of gold was not predicted.",
    SPURIOUS_ACT: "A predicted act is not among gold's.",
    WRONG_ACT_VALUE: "Intent, domain and slot are gold's, the value is not.",
    MISSING_SLOT: "The state lacks what gold has.",
    SPURIOUS_SLOT: "The state has what gold has not.",
    WRONG_SLOT: "Both have the slot, with different values.",
    SPELLING: "The values differ only in blanks, order or the ending of a hotel type.",
    CHOSEN_NAME: "A name that the system has chosen, and gold has not written down.",
    WRONG_LINE: "A line of the user's state has another value.",
    MISSING_FLAG: "A line of the user's state is not expressed yet, and in gold it is.",
    SPURIOUS_FLAG: "A line of the user's state is expressed, and in gold not yet.",
    NO_VENUE: "No venue was named for a sub-goal.",
    UNKNOWN_VENUE: "The name does not exist.",
    WRONG_CONSTRAINT: "The venue does not satisfy what the user wants.",
    NOT_NEARBY: "The venue is not near the one that the sub-goal refers to.",
    NO_END: "A trip lacks an end.",
    OTHER_END: "A trip goes from or to another place.",
    UNANSWERED: "Something asked for was not told.",
    WRONG_VALUE: "What was told is not what the database has.",
    NOT_FINISHED: "A simulated dialogue did not end.",
    NOT_DONE: "A line of the goal of a simulated dialogue was not done.",
}
"""Each kind of reason, and what it means (docs/crosswoz.md has the same)."""


NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
SEPARATORS = re.compile(r"[,;、/]")
"""Signs that stand between several phone numbers, where others put a blank."""


def is_nothing(held: object) -> bool:
    """Tell whether the database has no value: null, an empty text or list."""
    return held is None or held in ("", [], ())


def is_fact(slot: str, told: Value, held: object) -> bool:
    """Tell whether a told value is the database's `held`.

    Numbers may have a unit (`300元`, `4.5分`), 免费 (free) is 0; of a list some items are enough,
    but none may be invented; `无` says that there is nothing; texts are compared in one width and
    without case, blanks and separators.
    """
    if slot.startswith(SERVICE_PREFIX):
        service = slot.removeprefix(SERVICE_PREFIX)
        items = held if isinstance(held, list | tuple) else ()
        has = any(service in str(item) for item in items)
        return told == (YES if has else NO)
    if told == NOTHING or told == (NOTHING,):
        return is_nothing(held)
    if slot in LIST_SLOTS:
        items = held if isinstance(held, list | tuple) else ()
        known = {comparable_text(str(item)) for item in items}
        given = (told,) if isinstance(told, str) else told
        return bool(given) and all(comparable_text(item) in known for item in given)
    if is_nothing(held):
        return False
    text = told if isinstance(told, str) else " ".join(told)
    if slot in NUMBER_SLOTS:
        return _number(slot, text) == float(str(held))
    return plain(text) == plain(str(held))


def _number(slot: str, text: str) -> float | None:
    if slot == TICKET and text.strip() == FREE:
        return 0.0
    match = NUMBER.match(text.strip())
    return float(match[0]) if match else None


def plain(text: str) -> str:
    """Return a text in one width, without case, blanks and separators."""
    return SEPARATORS.sub("", comparable_text(text))


REFERENCE = re.compile(r"id=([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a slot of a sub-goal in the end."""

    code: str
    subgoal: int
    domain: str
    slot: str
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

    def reasons(self) -> Iterator[Reason]:
        """Yield why Inform was lost, or where it was not, why Success was."""
        for fault in self.faults:
            loses_inform = fault.code in INFORM_CODES
            if loses_inform != self.inform:
                outcome = "e2e.inform" if loses_inform else "e2e.success"
                code = f"{fault.code}:{fault.slot}"
                text = f"sub-goal {fault.subgoal}: {fault.text}"
                yield Reason(code, outcome, fault.domain, None, text)


Lines = Sequence[tuple[SemanticTuple, SemanticTuple]]
"""Lines of a sub-goal: as they are wanted, and with their last values."""
Found = Iterator[tuple[str, str, str]]
"""Code, slot and text of faults."""


def judge(goal: Goal, outcome: Goal, database: Database) -> Judgement:
    """Return what is wrong with the outcome of a dialogue, the goal's lines with their last values.

    A line of `goal` with a value is a constraint, one with a reference (`id=1`) depends on another
    sub-goal, and one without is a request.

    Raises `ValueError` when the outcome has other lines than the goal.
    """
    if [line[:3] for line in goal] != [line[:3] for line in outcome]:
        raise ValueError("an outcome has the lines of its goal")
    subgoals: dict[int, list[tuple[SemanticTuple, SemanticTuple]]] = {}
    for wanted, final in zip(goal, outcome, strict=True):
        subgoals.setdefault(wanted.subgoal, []).append((wanted, final))
    chosen = {
        number: database.named(lines[0][0].domain, name)
        for number, lines in subgoals.items()
        if (name := _name_of(lines)) is not None
    }
    faults = []
    for number, lines in subgoals.items():
        domain = lines[0][0].domain
        if domain not in VENUE_DOMAINS:
            found = _trip_faults(domain, lines, chosen, database)
        elif number not in chosen:
            found = iter([(NO_VENUE, NAME, "no venue was named")])
        elif (venue := chosen[number]) is None:
            text = f"the database has no “{_name_of(lines)}”"
            found = iter([(UNKNOWN_VENUE, NAME, text)])
        else:
            found = _venue_faults(venue, lines, chosen, database)
        faults += [Fault(code, number, domain, slot, text) for code, slot, text in found]
    return Judgement(tuple(faults))


def _venue_faults(
    venue: Entity, lines: Lines, chosen: Mapping[int, Entity | None], database: Database
) -> Found:
    for wanted, final in lines:
        if wanted.slot == NAME and wanted.refers:
            source = _referred(wanted, chosen)
            # The lists of the database are symmetric, save that hotels list no hotels.
            near = source.record.get(NEARBY[wanted.domain]) if source is not None else None
            if venue.name not in (near or ()):
                place = "an unknown venue" if source is None else f"“{source.name}”"
                yield NOT_NEARBY, NAME, f"“{venue.name}” is not near {place}"
        elif wanted.value:
            if not _satisfies(venue, final, database):
                held = spelled(venue.record.get(_record_slot(final.slot)))
                text = f"“{venue.name}” has {held}, asked for is {spelled(final.value)}"
                yield WRONG_CONSTRAINT, final.slot, text
        elif wanted.slot != NAME:
            yield from _answer_faults(final, venue.record)


def _satisfies(venue: Entity, final: SemanticTuple, database: Database) -> bool:
    slot, value = final.slot, final.value
    if slot.startswith(SERVICE_PREFIX):
        if value != YES:
            return True
        slot, value = SERVICES, slot.removeprefix(SERVICE_PREFIX)
    text = value if isinstance(value, str) else " ".join(value)
    return venue in database.query(final.domain, {slot: text})


def _trip_faults(
    domain: str, lines: Lines, chosen: Mapping[int, Entity | None], database: Database
) -> Found:
    ends = {}
    for wanted, final in lines:
        if wanted.slot not in (DEPARTURE, DESTINATION):
            continue
        if not final.value or final.refers or not isinstance(final.value, str):
            yield NO_END, wanted.slot, "the end of the trip was not named"
            continue
        ends[wanted.slot] = final.value
        venue = _referred(wanted, chosen)
        if venue is not None and comparable_text(final.value) != comparable_text(venue.name):
            text = f"the trip has “{final.value}”, the venue is “{venue.name}”"
            yield OTHER_END, wanted.slot, text
    facts = database.trip_facts(domain, ends)
    for wanted, final in lines:
        if not wanted.value and wanted.slot in facts:
            yield from _answer_faults(final, facts)


def _referred(line: SemanticTuple, chosen: Mapping[int, Entity | None]) -> Entity | None:
    match = REFERENCE.search(str(line.value))
    return chosen.get(int(match[1])) if match else None


def _answer_faults(final: SemanticTuple, record: Mapping[str, object]) -> Found:
    slot, value = final.slot, final.value
    held = record.get(_record_slot(slot))
    if not value:
        # A filled list may come as an empty one where there is nothing to tell.
        if not (slot in LIST_SLOTS and is_nothing(held)):
            yield UNANSWERED, slot, f"{slot} was asked for, and not told"
    elif not is_fact(slot, value, held):
        text = f"told is {spelled(value)}, the database has {spelled(held)}"
        yield WRONG_VALUE, slot, text


def _name_of(lines: Lines) -> str | None:
    for wanted, final in lines:
        if wanted.slot == NAME:
            is_name = bool(final.value) and isinstance(final.value, str)
            unresolved = wanted.refers and final.value == wanted.value
            return str(final.value) if is_name and not unresolved else None
    return None


def _record_slot(slot: str) -> str:
    return SERVICES if slot.startswith(SERVICE_PREFIX) else slot


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
