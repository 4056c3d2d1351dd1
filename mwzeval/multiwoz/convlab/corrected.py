"""What came of a dialogue in acts by corrected rules, beside those of the public evaluator.

The public rules name superfluous slots otherwise than what is told, so that most never count; they
judge the first booking of a domain by the venue alone, not by its day, people, time or direction;
and who wants nothing that is scored can have no success. What is told still
counts by its form, which is that of Cambridge, or because the database has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mwzeval.multiwoz.convlab.act_database import ActDatabase
from mwzeval.multiwoz.convlab.acts import Act
from mwzeval.multiwoz.convlab.evaluator import TOLD, PublicEvaluator, has, is_plausible
from mwzeval.multiwoz.goals.goals import Goal
from mwzeval.multiwoz.schema import ALL_BOOKING_SLOTS

FOUND_BY = frozenset({"name", "day", "departure", "destination", "department"})
"""Slots that a system tells to say what it speaks of: never superfluous."""
SUPERFLUOUS: Mapping[str, frozenset[str]] = {
    domain: frozenset(slots.values()) - FOUND_BY for domain, slots in TOLD.items()
}
SAME = frozenset({"the same", "the same day"})
"""How a user says a value that it has said of something else."""


class SaidBookings:
    """What a user has said of its bookings, domain → slot → value; "the same day" is resolved."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}

    def hear(self, acts: Iterable[Act]) -> None:
        """Take in a turn of the user."""
        for intent, domain, slot, value in acts:
            slot = slot.lower()
            if intent.lower() == "inform" and slot in ALL_BOOKING_SLOTS:
                if value in SAME:
                    value = self._last.get(slot, value)
                self._last[slot] = value
                self.of.setdefault(domain.lower(), {})[slot] = value


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
        self._said = SaidBookings()
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
        counted = SUPERFLUOUS[domain] - part.get("reqt", {}).keys() - part.get("info", {}).keys()
        superfluous = sum(slot in counted for slot, _ in self._values.get(domain, ()))
        return found, superfluous, missing

    def _book(self, domain: str, reference: str) -> None:
        record = self._record_of(domain, reference)
        if record is not None:
            self._booked[domain] = record
            self._details[domain] = {**self._said.of.get(domain, {}), **self._confirmed}

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
