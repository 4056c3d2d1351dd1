"""What came of a dialogue in acts, by the public evaluator of ConvLab-2 and by corrected rules.

The public evaluator knows the goal and the acts of both sides. What the system told counts by its
form, a booking by the first record that was referred to, and success also by what the user believes
to know. Source: Zhu et al., "ConvLab-2", ACL 2020 (system demonstrations), and its published
evaluator.

Its rules name superfluous slots otherwise than what is told, so that most never count; they judge
the first booking of a domain by the venue alone, not by its day, people, time or direction; and who
wants nothing that is scored can have no success. The corrected rules mend this. By them, too, what
is told counts by its form, which is that of Cambridge, or because the database has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mwzeval.conversation.protocols import AnswerError
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import shorten
from mwzeval.multiwoz.acts import INFORMING, SYSTEM_SLOTS, Act, checked_acts
from mwzeval.multiwoz.convlab.resources import (
    ANYTHING,
    REFERENCE,
    ActDatabase,
    Record,
    clock_number,
)
from mwzeval.multiwoz.convlab.scores import Outcome
from mwzeval.multiwoz.convlab.user import UserBookings
from mwzeval.multiwoz.goals.goal import ORDERING, Goal, begun, is_complete
from mwzeval.multiwoz.schema import ALL_BOOKING_SLOTS, BOOKING_SLOTS, DAYS

DOMAINS = ("attraction", "restaurant", "train", "hotel", "taxi", "hospital", "police")
TAXI_BOOKED = "booked"
"""What stands for the reference of a taxi, which has none."""

_NEVER_TOLD = frozenset({"choice", "none", "people", "ref"})
_JOURNEY = frozenset({"arrive", "depart", "dest", "leave"})
_NOT_TOLD_OF = {"attraction": frozenset({"price"}), "taxi": _JOURNEY}
TOLD: Mapping[str, Mapping[str, str]] = {
    domain: {
        slot: name
        for slot, name in SYSTEM_SLOTS[domain].items()
        if slot not in _NEVER_TOLD | _NOT_TOLD_OF.get(domain, frozenset())
    }
    for domain in DOMAINS
}
"""Domain → slot of an act, in lower case → slot of a goal. Others do not count."""

SUPERFLUOUS: Mapping[str, frozenset[str]] = {
    "attraction": frozenset({"phone", "area", "type"}),
    "restaurant": frozenset({"phone", "area", "food"}),
    "train": frozenset(),
    "hotel": frozenset({"phone", "internet", "parking", "area", "type", "stars"}),
    "taxi": frozenset({"phone"}),
    "hospital": frozenset({"phone"}),
    "police": frozenset({"phone"}),
}
"""What is told too much when nobody asked for it. The published lists name the slots as acts do and
are compared with those of goals: so what is called otherwise there, as addresses are, never is."""

FOUND_BY = frozenset({"name", "day", "departure", "destination", "department"})
"""Slots that a system tells to say what it speaks of: by corrected rules never superfluous."""
CORRECTED_SUPERFLUOUS: Mapping[str, frozenset[str]] = {
    domain: frozenset(slots.values()) - FOUND_BY for domain, slots in TOLD.items()
}
"""Slots of goals that corrected rules count as superfluous when nobody asked for them."""

BOOKING_ACTS = frozenset(
    {
        ("booking", "book", "ref"),
        ("train", "inform", "ref"),
        ("train", "offerbooked", "ref"),
        ("taxi", "inform", "car"),
    }
)
"""Domain, intent and slot of the acts that tell of a booking; `booking`: of what was spoken of."""
UNSCORED_IN_BOOKINGS = frozenset({"departure", "destination"})
_ROW = re.compile(r"[0-9]{8}")


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: compiled.match(value) is not None


def _one_of(*values: str) -> Callable[[str], bool]:
    return lambda value: value.lower() in values


_TIME = _matches(r"(?:[01]\d|2[0-4]):\d\d$")
PLAUSIBLE: Mapping[str, Callable[[str], bool]] = {
    "area": _one_of("centre", "east", "south", "west", "north"),
    "arriveBy": _TIME,
    "day": _one_of(*DAYS),
    "duration": lambda value: "minute" in value,
    "internet": lambda value: value in ("yes", "no", "none"),
    "leaveAt": _TIME,
    "parking": lambda value: value in ("yes", "no", "none"),
    "phone": _matches(r"\d{11}$"),
    "postcode": _matches(r"(?:cb\d{1,3}[a-z]{2,3}|pe296fl)$"),
    "price": lambda value: "pound" in value,
    "pricerange": lambda value: value in ("cheap", "expensive", "moderate", "free"),
    "stars": _matches(r"\d$"),
    "trainID": _matches(r"(?i:tr)\d{4}$"),
}
"""Slot → whether a text has the form of its values; of other slots, any text has."""
ANY_FORM = frozenset({("restaurant", "phone"), ("attraction", "pricerange")})


class _Meaning(NamedTuple):
    """What an act is to the evaluator, whatever its value."""

    domain: str
    """The domain that is spoken of from here on; empty where that does not change."""
    told: str
    """The slot whose value is told; empty for none."""
    books: str
    """The domain whose booking is told, `booking` for the one spoken of; empty for none."""


@lru_cache(maxsize=2**12)
def _meaning(intent: str, domain: str, slot: str) -> _Meaning:
    intent, domain, slot = intent.lower(), domain.lower(), slot.lower()
    told = TOLD.get(domain, {}).get(slot, "") if intent in INFORMING else ""
    books = domain if (domain, intent, slot) in BOOKING_ACTS else ""
    return _Meaning(domain if domain in DOMAINS else "", told, books)


@lru_cache(maxsize=2**14)
def is_plausible(domain: str, slot: str, value: str) -> bool:
    """Return whether a text has the form of the values of a slot."""
    test = PLAUSIBLE.get(slot)
    return test is None or (domain, slot) in ANY_FORM or test(value)


class PublicEvaluator:
    """Judges one dialogue; give it the acts of every turn, first the system's, then the user's.

    `goal` is the user's own copy: what it holds at the end, answers included, is judged.
    """

    def __init__(self, goal: Goal, database: ActDatabase) -> None:
        self.goal = goal
        self.current_domain = ""
        self.steps = 0
        self._database = database
        self._booked: dict[str, Record | None] = {}
        self._told: dict[str, set[str]] = {domain: set() for domain in DOMAINS}
        self._implausible = 0

    def system(self, acts: Iterable[Act]) -> None:
        """Take note of a turn of the system, once the user has heard it."""
        for intent, domain, slot, value in acts:
            meaning = _meaning(intent, domain, slot)
            if meaning.domain:
                self.current_domain = meaning.domain
            if meaning.books == "taxi":
                self._booked.setdefault("taxi", None)
            elif meaning.books:
                self._book(self.current_domain, value)
            if meaning.told and value.strip() not in ANYTHING:
                self._tell(meaning.domain, meaning.told, value)

    def user(self, acts: Iterable[Act]) -> None:
        """Take note of a turn of the user."""
        self.steps += 2
        for intent, domain, slot, _ in acts:
            self.current_domain = _meaning(intent, domain, slot).domain or self.current_domain

    def _tell(self, domain: str, slot: str, value: str) -> None:
        """Note a value that is told, by its form."""
        if is_plausible(domain, slot, value):
            self._told[domain].add(slot)
        else:
            self._implausible += 1

    def _book(self, domain: str, reference: str) -> None:
        """Note the first booking of a domain."""
        record = self._record_of(domain, reference)
        if record is not None:
            self._booked.setdefault(domain, record)

    def _record_of(self, domain: str, reference: str) -> Record | None:
        """Return the record that a reference is the number of; None for other references."""
        if domain not in BOOKING_SLOTS or not _ROW.fullmatch(reference):
            return None
        records = self._database.query(domain, ())
        return records[int(reference)] if int(reference) < len(records) else None

    def outcome(self) -> Outcome:
        """Return what has come of the dialogue so far."""
        goal = self.goal
        scores = (self._book_score(domain) for domain in DOMAINS if domain in goal)
        book = tuple(score for score in scores if score is not None)
        found, superfluous, missing = map(sum, zip(*map(self._inform, DOMAINS), strict=True))
        matches = sum(map(self._is_met, goal[ORDERING]))
        mismatches = len(goal[ORDERING]) - matches
        return Outcome(
            complete=is_complete(goal),
            success=not mismatches and self._succeeds(book, found, missing),
            book=book,
            inform=(found, self._implausible + superfluous, missing),
            final_goal=(matches, mismatches),
            domain_success={domain: self._domain_success(domain) for domain in goal[ORDERING]},
            booked={
                domain: row[REFERENCE] if row else TAXI_BOOKED
                for domain, row in self._booked.items()
            },
            steps=self.steps,
        )

    def reward(self) -> int:
        """Return 40 for success, 5 for success in the domain spoken of, and -1 otherwise."""
        if self.outcome().success:
            return 40
        current = self.current_domain
        return 5 if current in self.goal and self._domain_success(current) else -1

    def _domain_success(self, domain: str) -> bool:
        score = self._book_score(domain)
        found, _, missing = self._inform(domain)
        return self._succeeds(() if score is None else (score,), found, missing)

    def _book_score(self, domain: str) -> float | None:
        """Return how much of what was wished the booked record has; None where it is not scored."""
        part = self.goal[domain]
        info = part.get("info")
        if not (info and part.get("book")):
            return None
        if domain not in self._booked:
            return 0.0
        row = self._booked[domain]
        if row is None:
            return 1.0
        met = [has(row, slot, v) for slot, v in info.items() if slot not in UNSCORED_IN_BOOKINGS]
        return sum(met) / len(met) if met else None

    def _inform(self, domain: str) -> tuple[int, int, int]:
        """Return what was told and asked for, told too much, and not told; see `Outcome`."""
        # What is told of a domain that is not in the goal may be too much as well.
        part, told = self.goal.get(domain, {}), self._told[domain]
        requested = part.get("reqt", {})
        found = sum(slot in told for slot in requested)
        superfluous = (told & SUPERFLUOUS[domain]) - requested.keys() - part.get("info", {}).keys()
        return found, len(superfluous), len(requested) - found

    def _is_met(self, domain: str) -> bool:
        """Return whether the database has what the user wished, learnt and booked."""
        part = self.goal[domain]
        rows = self._database.query(
            domain, part.get("info", {}).items(), part.get("reqt", {}).items()
        )
        booked = self._booked.get(domain)
        if rows and booked and part.get("book"):
            return any(row[REFERENCE] == booked[REFERENCE] for row in rows)
        return bool(rows)

    @staticmethod
    def _succeeds(book: tuple[float, ...], found: int, missing: int) -> bool:
        """Return whether all bookings are right and everything was told; False without either."""
        return all(score == 1 for score in book) and not missing and bool(book or found)


def has(row: Record, slot: str, wanted: str) -> bool:
    """Return whether a record has what was wished of a slot."""
    own: Any = row.get(slot)
    if slot not in ("leaveAt", "arriveBy"):
        return isinstance(own, str) and own.strip() == wanted.strip()
    try:
        found, limit = clock_number(own), clock_number(wanted)
        return limit <= found if slot == "leaveAt" else limit >= found
    except (AttributeError, IndexError, ValueError):
        return True  # A time that cannot be read is no reason against the record.


class CorrectedEvaluator(PublicEvaluator):
    """Judges one dialogue as `PublicEvaluator` does, by corrected rules.

    Superfluous are distinct values of slots that nobody asked for. The last booking of a domain
    counts, by all of `info` and `book`: with what the system says that it has booked, else with
    what the user had said of it by then. What is neither asked for nor booked is no failure.
    """

    def __init__(self, goal: Goal, database: ActDatabase) -> None:
        super().__init__(goal, database)
        self._values: dict[str, set[tuple[str, str]]] = {}
        self._implausible_values: set[tuple[str, str, str]] = set()
        self._said = UserBookings()
        self._confirmed: dict[str, str] = {}
        self._details: dict[str, dict[str, str]] = {}

    def system(self, acts: Iterable[Act]) -> None:
        """Take note of a turn of the system, once the user has heard it."""
        acts = list(acts)
        self._confirmed = {
            slot.lower(): value
            for intent, domain, slot, value in acts
            if domain.lower() == "booking"
            and intent.lower() in ("book", "inform")
            and slot.lower() in ALL_BOOKING_SLOTS
        }
        super().system(acts)

    def user(self, acts: Iterable[Act]) -> None:
        """Take note of a turn of the user."""
        acts = list(acts)
        super().user(acts)
        self._said.hear(acts)

    def _tell(self, domain: str, slot: str, value: str) -> None:
        value = value.strip().lower()
        if is_plausible(domain, slot, value) or self._database.has(domain, slot, value):
            self._told[domain].add(slot)
            self._values.setdefault(domain, set()).add((slot, value))
        elif (domain, slot, value) not in self._implausible_values:
            self._implausible_values.add((domain, slot, value))
            self._implausible += 1

    def _inform(self, domain: str) -> tuple[int, int, int]:
        found, _, missing = super()._inform(domain)
        part = self.goal.get(domain, {})
        counted = CORRECTED_SUPERFLUOUS[domain] - part.get("reqt", {}).keys()
        counted -= part.get("info", {}).keys()
        superfluous = sum(slot in counted for slot, _ in self._values.get(domain, ()))
        return found, superfluous, missing

    def _book(self, domain: str, reference: str) -> None:
        record = self._record_of(domain, reference)
        if record is not None:
            self._booked[domain] = record
            self._details[domain] = {**self._said.by_domain.get(domain, {}), **self._confirmed}

    def _book_score(self, domain: str) -> float | None:
        part = self.goal[domain]
        book = part.get("book")
        if not book:
            return None
        if domain not in self._booked:
            return 0.0
        row = self._booked[domain]
        if row is None:
            return 1.0
        details = self._details[domain]
        met = [has(row, slot, wanted) for slot, wanted in part.get("info", {}).items()]
        met += [_equal(details.get(slot, ""), wanted) for slot, wanted in book.items()]
        return sum(met) / len(met)

    @staticmethod
    def _succeeds(book: tuple[float, ...], found: int, missing: int) -> bool:
        return all(score == 1 for score in book) and not missing


def _equal(said: str, wanted: str) -> bool:
    return said.strip().lower() == wanted.strip().lower()


def judged(
    dialogue: Trajectory, database: ActDatabase, judge: type[PublicEvaluator] = PublicEvaluator
) -> Outcome:
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
