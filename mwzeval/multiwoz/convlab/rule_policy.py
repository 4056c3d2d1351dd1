"""ConvLab-2's rule policy: what a system says, from the belief state and the user's last acts.

It is a baseline whose published figures depend on its faults; these are kept and marked (odd).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.convlab.act_database import REFERENCE, ActDatabase, Record
from mwzeval.multiwoz.convlab.acts import GENERAL, NONE, SYSTEM_SLOTS, USER_SLOTS, Act
from mwzeval.multiwoz.convlab.draws import SystemDraws
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS

Semi = Mapping[str, Mapping[str, str]]
"""Domain → slot → value, "" where the user has said nothing (see `RuleTracker.semi`)."""
Pairs = list[tuple[str, str]]
"""Slots and values of acts."""

CAR_TYPES = (
    "toyota",
    "skoda",
    "bmw",
    "honda",
    "ford",
    "audi",
    "lexus",
    "volvo",
    "volkswagen",
    "tesla",
)
PHONE_DIGITS = 11
TRAIN_CONSTRAINTS = 4
"""From how many constraints on a train is offered: a time, the day and both stations."""
RECOMMENDED = frozenset({"Attraction", "Hotel", "Police", "Restaurant"})
BOOKING = ("Booking", "Book")

_TOLD_AS: Mapping[str, Mapping[str, str]] = {
    # (odd) The reference of a booking is recommended like any other field.
    domain: {**slots, REFERENCE: REFERENCE}
    for domain, slots in USER_SLOTS.items()
}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    domain: {slot: REFERENCE if internal == "ref" else internal for slot, internal in slots.items()}
    for domain, slots in SYSTEM_SLOTS.items()
}


class RulePolicy:
    """Answers the user's acts. It remembers nothing: one serves a whole dialogue."""

    def __init__(self, database: ActDatabase, draws: SystemDraws) -> None:
        self._database = database
        self._draws = draws

    def predict(self, semi: Semi, user_acts: Iterable[Act]) -> list[Act]:
        """Return the acts that answer the user's, which `semi` already takes into account."""
        said: dict[tuple[str, str], list[str]] = {}
        for intent, domain, slot, _ in user_acts:
            said.setdefault((domain, intent), []).append(slot)
        turn = _Turn(self._database, self._draws, semi)
        for (domain, intent), slots in said.items():
            turn.answer(domain, intent, slots)
        return turn.acts()


class _Turn:
    """One answer in the making."""

    def __init__(self, database: ActDatabase, draws: SystemDraws, semi: Semi) -> None:
        self._database = database
        self._draws = draws
        self._semi = semi
        self._found: dict[str, Sequence[Record]] = {}
        self._answer: dict[tuple[str, str], Pairs] = {}

    def answer(self, domain: str, intent: str, slots: Sequence[str]) -> None:
        """Add what answers the user's acts of one domain and intent."""
        if domain == GENERAL:
            self._greet(intent)
        elif domain == "Taxi":
            self._order_taxi()
        elif domain == "Train":
            self._find_train(intent, slots)
        elif domain.lower() in self._semi:
            self._find_venue(domain, intent, slots)
        self._book(domain, slots)

    def acts(self) -> list[Act]:
        """Return the answer so far."""
        if not any(self._answer.values()) and not any(
            intent == "NoOffer" for _, intent in self._answer
        ):
            # (odd) A goodbye, too, is answered by a greeting.
            return [Act("greet", GENERAL, NONE, NONE)]
        acts = []
        for (domain, intent), pairs in self._answer.items():
            if domain == GENERAL and not pairs:
                acts.append(Act(intent, GENERAL, NONE, NONE))
            acts += [Act(intent, domain, slot, value) for slot, value in pairs]
        return acts

    def _pairs(self, domain: str, intent: str) -> Pairs:
        return self._answer.setdefault((domain, intent), [])

    def _greet(self, intent: str) -> None:
        if intent == "bye":
            self._pairs(GENERAL, "bye")
            if self._draws.random() < 0.3:
                self._pairs(GENERAL, "welcome")
        elif intent == "thank":
            self._pairs(GENERAL, "welcome")

    def _order_taxi(self) -> None:
        wanted = self._semi["taxi"]
        draw = self._draws.randint
        # (odd) Nobody asks where the taxi goes.
        if not wanted["leaveAt"] and not wanted["arriveBy"]:
            asked = ("Leave", "Arrive")[: draw() % 2 + 1]
            self._pairs("Taxi", "Request").extend((slot, "?") for slot in asked)
            return
        car = CAR_TYPES[draw() % len(CAR_TYPES)]
        phone = "".join(str(draw() % 10) for _ in range(PHONE_DIGITS))
        self._pairs("Taxi", "Inform").extend([("Car", car), ("Phone", phone)])

    def _find_train(self, intent: str, slots: Sequence[str]) -> None:
        wanted = self._semi["train"]
        constraints = [(slot, wanted[slot]) for slot in ("leaveAt", "arriveBy") if wanted[slot]]
        asked: list[str] = []
        if not constraints:
            drawn = self._draws.random()
            if drawn < 0.33:
                asked = ["Leave"]
            else:
                asked = ["Arrive"] if drawn < 0.66 else ["Leave", "Arrive"]
        told_as = _TOLD_AS["train"]
        for slot in ("day", "destination", "departure"):
            if wanted[slot]:
                constraints.append((slot, wanted[slot]))
            else:
                asked.append(told_as[slot])
        self._pairs("Train", "Request").extend((slot, "?") for slot in asked)
        found = self._found["Train"] = self._database.query("train", constraints)
        if intent != "Request" and found and len(constraints) < TRAIN_CONSTRAINTS:
            return
        del self._answer["Train", "Request"]
        if intent == "Request":
            # (odd) Of the first train, whether or not it is the only one.
            first = found[0] if found else {}
            self._pairs("Train", "Inform").extend(
                (slot, _value(first, "train", slot, NONE)) for slot in slots
            )
            return
        # (odd) What is offered are the constraints, not a train.
        offer = self._pairs("Train", "OfferBook" if found else "NoOffer")
        offer += [(told_as[slot], value) for slot, value in constraints]

    def _find_venue(self, domain: str, intent: str, slots: Sequence[str]) -> None:
        name = domain.lower()
        told_as = _TOLD_AS[name]
        constraints = [(slot, value) for slot, value in self._semi[name].items() if value]
        found = self._found[domain] = self._database.query(name, constraints)
        if not found:
            self._pairs(domain, "NoOffer").extend(
                (told_as[slot], value) for slot, value in constraints if value != "dontcare"
            )
        elif intent == "Request":
            self._pairs(domain, "Inform").extend(
                (slot, _value(found[0], name, slot, "unknown")) for slot in slots
            )
        elif len(found) == 1:
            self._describe(domain, found[0])
        else:
            self._recommend(domain, found)

    def _describe(self, domain: str, venue: Record) -> None:
        fields = tuple(self._semi[domain.lower()])
        if not fields:
            return
        number = self._draws.randint() % len(fields) + 1
        told_as = _TOLD_AS[domain.lower()]
        self._pairs(domain, "Inform").extend(
            (told_as[field], str(venue.get(field, "unknown")))
            for field in self._draws.shuffle(fields)[:number]
        )

    def _recommend(self, domain: str, venues: Sequence[Record]) -> None:
        draws = self._draws
        draws.random()  # The published draws have one here that decides nothing.
        self._pairs(domain, "Inform").append(("Choice", str(len(venues))))
        # (odd) The candidate is forgotten: what is asked next is answered of the first venue.
        candidate = venues[draws.randint() % len(venues)]
        if domain not in RECOMMENDED:
            return
        number = draws.randint() % 3
        told_as = _TOLD_AS[domain.lower()]
        self._pairs(domain, "Recommend").append(("Name", str(candidate["name"])))
        self._pairs(domain, "Recommend").extend(
            (told_as[field], str(candidate[field]))
            for field in draws.shuffle(tuple(candidate))[:number]
            if field in told_as
        )

    def _book(self, domain: str, slots: Sequence[str]) -> None:
        """Book where the user has named any slot of a booking and something was found."""
        found = self._found.get(domain)
        if found and BOOKING not in self._answer:
            booking_slots = ACT_BOOKING_SLOTS.get(domain.lower(), frozenset())
            if not booking_slots.isdisjoint(slots):
                self._answer[BOOKING] = [("Ref", str(found[0][REFERENCE]))]
        if BOOKING in self._answer:
            # The number decides whether "anything else?" is added, which is then left out, too.
            self._draws.random()
            # (odd) A booking is the whole answer: questions of the same turn are forgotten.
            self._answer = {BOOKING: self._answer[BOOKING]}


def _value(record: Mapping[str, Any], domain: str, slot: str, missing: str) -> str:
    """Return what a record says for the slot of an act."""
    field = _FIELDS[domain].get(slot.lower())
    return str(record.get(field, missing)) if field else missing
