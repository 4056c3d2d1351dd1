"""The outcome of an act-level dialogue by ConvLab-2's public evaluator, and by corrected rules.

The public evaluator uses the goal and the acts of user and system. The evaluator judges values by
their form, and judges a booking by the database record of the first reference that the system
gives. Success also depends on the user's final goal. Source: Zhu et al., "ConvLab-2", ACL 2020
(system demonstrations), and its published evaluator.

(odd) Superfluous slots have the names of acts, but are compared with the names of goals, so most of
them are never counted. Only the first booking of a domain is scored. Only the venue of this booking
is judged, not its day, people, time or route. A dialogue without any scored request or booking
cannot succeed. The corrected rules do not have the errors of the public evaluator. The corrected
rules also accept a value of any form if the database contains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from mwzeval.conversation.protocols import AnswerError
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import shorten
from mwzeval.metrics.measure import Measure, Rate, Sign
from mwzeval.multiwoz.acts import INFORMING, Act, checked_acts
from mwzeval.multiwoz.convlab.resources import (
    REFERENCE,
    ActDatabase,
    Record,
)
from mwzeval.multiwoz.convlab.user import UserBookings
from mwzeval.multiwoz.goals import ORDERING, Goal, begun, is_complete
from mwzeval.multiwoz.schema import (
    ALL_BOOKING_SLOTS,
    ALL_DOMAINS,
    BOOKING_SLOTS,
    CONVLAB_NO_CONSTRAINT,
    DAYS,
    time_fits,
)
from mwzeval.multiwoz.scoring.goal_success import (
    CORRECTED_SUPERFLUOUS,
    INFORM_RATES,
    SLOT_RULES,
    inform_row,
    superfluous_slots,
)

DOMAINS = ("attraction", "restaurant", "train", "hotel", "taxi", "hospital", "police")
TAXI_BOOKED = "booked"
"""The reference of a taxi booking, because taxis have no reference."""

INFORMED: dict[str, dict[str, str]] = {domain: {} for domain in DOMAINS}
"""Maps a domain and an act's slot in lower case to the goal slot. Slots that are not listed are not
counted."""
SUPERFLUOUS = superfluous_slots("published")
FORMS: dict[tuple[str, str], re.Pattern[str]] = {}
"""Maps (domain, slot) to a pattern for values; for other slots, every value is plausible."""

BOOKING_ACTS = frozenset(
    {
        ("booking", "book", "ref"),
        ("train", "inform", "ref"),
        ("train", "offerbooked", "ref"),
        ("taxi", "inform", "car"),
    }
)
"""Domain, intent and slot of the acts that report a booking."""
UNSCORED_IN_BOOKINGS = frozenset({"departure", "destination"})

_PATTERNS = {
    "area": r"(?ai:centre|east|south|west|north)\Z",
    "day": rf"(?ai:{'|'.join(DAYS)})\Z",
    "digit": r"\d$",
    "duration": r"(?s:.*minute)",
    "flag": r"(?:yes|no|none)\Z",
    "phone": r"\d{11}$",
    "postcode": r"(?:cb\d{1,3}[a-z]{2,3}|pe296fl)$",
    "price": r"(?s:.*pound)",
    "pricerange": r"(?:cheap|expensive|moderate|free)\Z",
    "time": r"(?:[01]\d|2[0-4]):\d\d$",
    "train id": r"(?i:tr)\d{4}$",
}
for _domain, _act_slot, _slot, _, _form in SLOT_RULES:
    INFORMED[_domain][_act_slot] = _slot
    if _form != "-":
        FORMS[_domain, _slot] = re.compile(_PATTERNS[_form])


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one act-level dialogue, in numbers.

    `book` has a score from 0 to 1 for each domain with a scored booking. `inform` has the numbers
    of true positives, false positives and false negatives. `final_goal` has the number of domains
    for which the database contains the user's final values, and the number of other domains.
    `steps` is twice the number of turns in the dialogue.
    """

    complete: bool
    success: bool
    book: tuple[float, ...]
    inform: tuple[int, int, int]
    final_goal: tuple[int, int]
    domain_success: Mapping[str, bool]
    booked: Mapping[str, str]
    steps: int


class PublicEvaluator:
    """Judges one dialogue from the acts of each turn: the system's acts, then the user's acts.

    `goal` is the user's copy of the goal, which is judged after the dialogue, when it contains the
    answers.
    """

    def __init__(self, goal: Goal, database: ActDatabase) -> None:
        self.goal = goal
        self.current_domain = ""
        self.steps = 0
        self._database = database
        self._booked: dict[str, Record | None] = {}
        self._informed: dict[str, set[str]] = {domain: set() for domain in DOMAINS}
        self._implausible = 0

    def system(self, acts: Sequence[Act]) -> None:
        """Process a system turn after the user has received it."""
        for raw_intent, raw_domain, raw_slot, value in acts:
            intent, domain, slot = raw_intent.lower(), raw_domain.lower(), raw_slot.lower()
            if domain in DOMAINS:
                self.current_domain = domain
            if (domain, intent, slot) in BOOKING_ACTS:
                if domain == "taxi":
                    self._booked.setdefault(domain, None)
                else:
                    self._refer(self.current_domain, value)
            if intent in INFORMING and value.strip() not in CONVLAB_NO_CONSTRAINT:
                name = INFORMED.get(domain, {}).get(slot)
                if name is not None:
                    self._inform(domain, name, value)

    def user(self, acts: Sequence[Act]) -> None:
        """Process the acts of a user turn."""
        self.steps += 2
        for act in acts:
            if act.domain.lower() in DOMAINS:
                self.current_domain = act.domain.lower()

    def outcome(self) -> Outcome:
        """Return the outcome of the dialogue so far."""
        goal, domains = self.goal, self.goal[ORDERING]
        book = self._book_scores(domain for domain in DOMAINS if domain in goal)
        counts = {domain: self._inform_counts(domain) for domain in DOMAINS}
        found, superfluous, missing = map(sum, zip(*counts.values(), strict=True))
        matches = sum(map(self._is_satisfied, domains))
        success = {}
        for domain in domains:
            of_domain, _, not_found = counts[domain]
            success[domain] = self._succeeds(self._book_scores([domain]), of_domain, not_found)
        return Outcome(
            complete=is_complete(goal),
            success=matches == len(domains) and self._succeeds(book, found, missing),
            book=book,
            inform=(found, self._implausible + superfluous, missing),
            final_goal=(matches, len(domains) - matches),
            domain_success=success,
            booked={
                domain: row[REFERENCE] if row else TAXI_BOOKED
                for domain, row in self._booked.items()
            },
            steps=self.steps,
        )

    def _inform(self, domain: str, slot: str, value: str) -> None:
        if is_plausible(domain, slot, value):
            self._informed[domain].add(slot)
        else:
            self._implausible += 1

    def _refer(self, domain: str, reference: str) -> None:
        """Store the record whose number is the reference, if there is one."""
        if domain in BOOKING_SLOTS and re.fullmatch("[0-9]{8}", reference):
            records = self._database.query(domain, ())
            if int(reference) < len(records):
                self._book(domain, records[int(reference)])

    def _book(self, domain: str, record: Record) -> None:
        self._booked.setdefault(domain, record)

    def _inform_counts(self, domain: str) -> tuple[int, int, int]:
        # Slots of a domain that is not in the goal can also be superfluous.
        part = self.goal.get(domain, {})
        requested = part.get("reqt", {})
        found = sum(slot in self._informed[domain] for slot in requested)
        superfluous = self._superfluous(domain, {*requested, *part.get("info", {})})
        return found, superfluous, len(requested) - found

    def _superfluous(self, domain: str, requested: set[str]) -> int:
        return len((self._informed[domain] & SUPERFLUOUS[domain]) - requested)

    def _book_scores(self, domains: Iterable[str]) -> tuple[float, ...]:
        """Return the share of satisfied constraints of each domain with a scored booking."""
        scores = []
        for domain in domains:
            part = self.goal[domain]
            if not part.get("book") or not self._is_scored(part):
                continue
            row = self._booked.get(domain)
            if row is not None:
                met = self._fulfilled(domain, row)
                scores += [sum(met) / len(met)] if met else []
            else:
                scores.append(float(domain in self._booked))
        return tuple(scores)

    @staticmethod
    def _is_scored(part: Mapping[str, Any]) -> bool:
        return bool(part.get("info"))

    def _fulfilled(self, domain: str, row: Record) -> list[bool]:
        info = self.goal[domain]["info"].items()
        return [has(row, slot, value) for slot, value in info if slot not in UNSCORED_IN_BOOKINGS]

    def _is_satisfied(self, domain: str) -> bool:
        """Return whether a record agrees with the user's constraints, answers and booking."""
        part = self.goal[domain]
        info, answers = part.get("info", {}), part.get("reqt", {})
        rows = self._database.query(domain, info.items(), answers.items())
        booked = self._booked.get(domain)
        if rows and booked and part.get("book"):
            return any(row[REFERENCE] == booked[REFERENCE] for row in rows)
        return bool(rows)

    @staticmethod
    def _succeeds(book: Sequence[float], found: int, missing: int) -> bool:
        return all(score == 1 for score in book) and not missing and bool(book or found)


class CorrectedEvaluator(PublicEvaluator):
    """Judges one dialogue like `PublicEvaluator`, but by corrected rules.

    Values of slots that were not requested are superfluous; equal values are counted once. The last
    booking of a domain is scored, with all slots of `info` and `book`. The booking is judged by the
    values in the system's confirmation. A value that is missing in the confirmation is replaced by
    the user's value at that time. A domain of the goal without requests and bookings cannot fail.
    """

    def __init__(self, goal: Goal, database: ActDatabase) -> None:
        super().__init__(goal, database)
        self._values: set[tuple[str, str, str]] = set()
        self._implausible_values: set[tuple[str, str, str]] = set()
        self._user_bookings = UserBookings()
        self._confirmed: dict[str, str] = {}
        self._details: dict[str, dict[str, str]] = {}

    def system(self, acts: Sequence[Act]) -> None:
        """Process a system turn after the user has received it."""
        self._confirmed = {
            act.slot.lower(): act.value
            for act in acts
            if act.domain.lower() == "booking"
            and act.intent.lower() in ("book", "inform")
            and act.slot.lower() in ALL_BOOKING_SLOTS
        }
        super().system(acts)

    def user(self, acts: Sequence[Act]) -> None:
        """Process the acts of a user turn."""
        super().user(acts)
        self._user_bookings.hear(acts)

    def _inform(self, domain: str, slot: str, value: str) -> None:
        value = value.strip().lower()
        if is_plausible(domain, slot, value) or self._database.has(domain, slot, value):
            self._informed[domain].add(slot)
            self._values.add((domain, slot, value))
        else:
            self._implausible_values.add((domain, slot, value))
            self._implausible = len(self._implausible_values)

    def _superfluous(self, domain: str, requested: set[str]) -> int:
        counted = {(domain, slot) for slot in CORRECTED_SUPERFLUOUS[domain] - requested}
        return sum(value[:2] in counted for value in self._values)

    def _book(self, domain: str, record: Record) -> None:
        self._booked[domain] = record
        by_user = self._user_bookings.by_domain.get(domain, {})
        self._details[domain] = {**by_user, **self._confirmed}

    @staticmethod
    def _is_scored(part: Mapping[str, Any]) -> bool:
        return True

    def _fulfilled(self, domain: str, row: Record) -> list[bool]:
        part, details = self.goal[domain], self._details[domain]
        met = [has(row, slot, value) for slot, value in part.get("info", {}).items()]
        for slot, value in part["book"].items():
            met.append(details.get(slot, "").strip().lower() == value.strip().lower())
        return met

    @staticmethod
    def _succeeds(book: Sequence[float], found: int, missing: int) -> bool:
        return all(score == 1 for score in book) and not missing


@lru_cache(maxsize=2**14)
def is_plausible(domain: str, slot: str, value: str) -> bool:
    """Return whether a text has the form of a slot's values."""
    form = FORMS.get((domain, slot))
    return form is None or form.match(value) is not None


def has(row: Record, slot: str, constraint: str) -> bool:
    """Return whether a database record satisfies a constraint."""
    value: Any = row.get(slot)
    fits = time_fits(slot, value, constraint)
    return isinstance(value, str) and value.strip() == constraint.strip() if fits is None else fits


def judged(
    dialogue: Trajectory, database: ActDatabase, judge: type[PublicEvaluator] = PublicEvaluator
) -> Outcome:
    """Return the outcome of an act-level dialogue under the rules of `judge`.

    Without a report of the user simulator, the goal is judged as if the simulator had understood
    none of the answers. Raises `ValueError` for invalid acts or goals.
    """
    report = dialogue.more.get("user")
    final = report.get("goal") if isinstance(report, Mapping) else None
    try:
        evaluator = judge(begun(dialogue.goal) if final is None else final, database)
        heard: Sequence[Act] = ()
        # The user does not receive the system's answer to the user's last turn.
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


# Scores as in published tables

TURNS = partial(Rate, unit="turns", lower_is_better=True, is_description=True)
SUCCESS = Rate("success", "Success", "success", "dialogues", is_outcome=True)
RATES = (
    Rate("complete", "Complete", "complete", "dialogues", is_outcome=True),
    SUCCESS,
    Rate("book_rate", "Book rate", "book", "dialogues_booking"),
    *INFORM_RATES,
    Rate("domains_satisfied", "Domains satisfied", "domains_satisfied", "domains"),
    Rate("goals_satisfied", "Goals satisfied", "goals_satisfied", "dialogues", is_outcome=True),
    TURNS("turns", "Turns", "steps", "dialogues"),
    TURNS("turns_of_successes", "Turns of successes", "steps_of_successes", "success"),
)
"""The turns of user and system are counted, as in published tables."""
COLUMNS = (
    *dict.fromkeys(column for rate in RATES for column in (rate.whole, rate.part)),
    *(f"{column}.{domain}" for domain in ALL_DOMAINS for column in ("dialogues", "success")),
)


def row(outcome: Outcome) -> dict[str, float]:
    """Return the counts of one dialogue, which can be summed over dialogues."""
    met, unmet = outcome.final_goal
    numbers: dict[str, float] = {
        "dialogues": 1,
        "complete": outcome.complete,
        "success": outcome.success,
        **inform_row(*outcome.inform),
        "domains": met + unmet,
        "domains_satisfied": met,
        "goals_satisfied": not unmet,
        "steps": outcome.steps,
        "steps_of_successes": outcome.steps * outcome.success,
    }
    if outcome.book:
        numbers |= {"book": sum(outcome.book) / len(outcome.book), "dialogues_booking": 1}
    for domain, success in outcome.domain_success.items():
        numbers |= {f"dialogues.{domain}": 1, f"success.{domain}": success}
    return numbers


def measures(sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
    """Yield the scores that are defined for these column sums."""
    for rate in RATES:
        yield from rate._replace(places=2).measures(sums, sign(rate.name))
    yield from SUCCESS._replace(places=2).measures(sums, sign(SUCCESS.name), ALL_DOMAINS)
