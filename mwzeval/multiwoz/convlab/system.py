"""ConvLab-2's rule system: a tracker for user acts, and a policy that answers them.

This rule system is a baseline. The published scores of this system depend on its errors, so the
errors are retained and marked (odd).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from mwzeval.conversation.loop import converse
from mwzeval.conversation.protocols import Ending, User
from mwzeval.conversation.trajectory import Record as DialogueRecord
from mwzeval.multiwoz.acts import (
    GENERAL,
    INFORM,
    NONE,
    USER_SLOTS,
    Act,
    Draws,
    checked_acts,
    goal_slot,
)
from mwzeval.multiwoz.convlab.resources import (
    REFERENCE,
    ActResources,
    Record,
)
from mwzeval.multiwoz.convlab.user import Pairs, UserBookings
from mwzeval.multiwoz.goals import ORDERING, Goal
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, BOOKING_SLOTS

BOOKING = ("Booking", "Book")
BOOKS = frozenset({BOOKING, ("Train", "OfferBooked")})
"""Domain and intent of the acts that make a booking."""

CAR_TYPES = (
    *("toyota", "skoda", "bmw", "honda", "ford"),
    *("audi", "lexus", "volvo", "volkswagen", "tesla"),
)
PHONE_DIGITS = 11
WHOLE_NUMBERS = 1_000_000
"""The exclusive upper limit of the numbers that the policy draws."""
TRAIN_CONSTRAINTS = 4
"""The number of constraints for a train offer: a time, the day, and the two stations."""
RECOMMENDED = frozenset({"Attraction", "Hotel", "Police", "Restaurant"})

SEMI_SLOTS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("food", "pricerange", "name", "area"),
    "hotel": ("name", "area", "parking", "pricerange", "stars", "internet", "type"),
    "attraction": ("type", "name", "area"),
    "train": ("leaveAt", "destination", "day", "arriveBy", "departure"),
    "taxi": ("leaveAt", "destination", "departure", "arriveBy"),
    "hospital": ("department",),
    "police": (),
}
"""Maps domains to the slots of a search, in the order in which the policy informs about them."""

_ACT_SLOTS: Mapping[str, Mapping[str, str]] = {
    # (odd) The reference of a booking is recommended like any other field.
    domain: {**slots, REFERENCE: REFERENCE}
    for domain, slots in USER_SLOTS.items()
}


class ActSystem(Protocol):
    """The interface of an act-level system for a single dialogue."""

    def answer(self, acts: Sequence[Act], /) -> Iterable[Act]:
        """Return the system's acts in reply to the user's acts."""


class RuleSystem:
    """The rule tracker and the rule policy, for a single dialogue.

    The belief state maps domain and slot to a value, which is "" if the user gave no value. The
    part `semi` of the state is for the search, and the part `book` is for the booking.

    (odd) "same area as the hotel" is treated as an ordinary value, which no record has.
    """

    def __init__(self, resources: ActResources, draws: Draws) -> None:
        self.semi = {domain: dict.fromkeys(slots, "") for domain, slots in SEMI_SLOTS.items()}
        self.book = {domain: dict.fromkeys(slots, "") for domain, slots in BOOKING_SLOTS.items()}
        self._normalized = resources.user_values
        self._database = resources.database
        self._draws = draws
        self._found: dict[str, Sequence[Record]] = {}
        self._answer: dict[tuple[str, str], Pairs] = {}

    def answer(self, acts: Sequence[Act], /) -> list[Act]:
        """Return the policy's acts in reply to the user's acts."""
        self.track(acts)
        return self.respond(acts)

    def track(self, user_acts: Iterable[Act]) -> None:
        """Update the belief state with the user's Inform acts; all other acts are ignored."""
        for intent, raw_domain, raw_slot, value in user_acts:
            domain = raw_domain.lower()
            if intent.lower() != INFORM or domain not in self.semi:
                continue
            # The table is for system acts, which do not have most booking slots.
            slot = goal_slot(domain, raw_slot) or raw_slot.lower()
            if slot in self.semi[domain]:
                self.semi[domain][slot] = self._normalized(domain, slot, value)
            elif slot in self.book.get(domain, ()):
                self.book[domain][slot] = value

    def respond(self, user_acts: Iterable[Act]) -> list[Act]:
        """Return the system's answer to user acts that have been added to the belief state."""
        slots_of: dict[tuple[str, str], list[str]] = {}
        for intent, domain, slot, _ in user_acts:
            slots_of.setdefault((domain, intent), []).append(slot)
        self._found, self._answer = {}, {}
        for (domain, intent), slots in slots_of.items():
            if domain == GENERAL:
                if intent == "bye":
                    self._say(GENERAL, "bye")
                if intent == "thank" or (intent == "bye" and self._draws.random() < 0.3):
                    self._say(GENERAL, "welcome")
            elif domain == "Taxi":
                self._order_taxi()
            elif domain == "Train":
                self._find_train(intent, slots)
            elif domain.lower() in self.semi:
                self._find_venue(domain, intent, slots)
            self._book(domain, slots)
        if not any(pairs or key[1] == "NoOffer" for key, pairs in self._answer.items()):
            # (odd) The answer to a goodbye is also a greeting.
            return [Act("greet", GENERAL, NONE, NONE)]
        acts = []
        for (domain, intent), pairs in self._answer.items():
            if domain == GENERAL:
                pairs = [(NONE, NONE)]
            acts += [Act(intent, domain, slot, value) for slot, value in pairs]
        return acts

    def _say(self, domain: str, intent: str, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._answer.setdefault((domain, intent), []).extend(pairs)

    def _number(self) -> int:
        return self._draws.pick(WHOLE_NUMBERS)

    def _order_taxi(self) -> None:
        state = self.semi["taxi"]
        # (odd) The policy does not ask for the destination of a taxi.
        if not state["leaveAt"] and not state["arriveBy"]:
            asked = ("Leave", "Arrive")[: self._number() % 2 + 1]
            self._say("Taxi", "Request", [(slot, "?") for slot in asked])
            return
        car = CAR_TYPES[self._number() % len(CAR_TYPES)]
        phone = "".join(str(self._number() % 10) for _ in range(PHONE_DIGITS))
        self._say("Taxi", "Inform", [("Car", car), ("Phone", phone)])

    def _find_train(self, intent: str, slots: Sequence[str]) -> None:
        state, names = self.semi["train"], _ACT_SLOTS["train"]
        constraints = [(slot, state[slot]) for slot in ("leaveAt", "arriveBy") if state[slot]]
        asked: list[str] = []
        if not constraints:
            drawn = self._draws.random()
            if drawn < 0.33:
                asked = ["Leave"]
            else:
                asked = ["Arrive"] if drawn < 0.66 else ["Leave", "Arrive"]
        for slot in ("day", "destination", "departure"):
            if state[slot]:
                constraints.append((slot, state[slot]))
            else:
                asked.append(names[slot])
        found = self._found["Train"] = self._database.query("train", constraints)
        if intent == "Request":
            self._answer.pop(("Train", "Request"), None)
            # (odd) Uses the values of the first train, even if there are several.
            first = found[0] if found else {}
            values = [(slot, _value(first, "train", slot, NONE)) for slot in slots]
            self._say("Train", "Inform", values)
        elif found and len(constraints) < TRAIN_CONSTRAINTS:
            self._say("Train", "Request", [(slot, "?") for slot in asked])
        else:
            self._answer.pop(("Train", "Request"), None)
            # (odd) The offer consists of the constraints, not of a train.
            intent = "OfferBook" if found else "NoOffer"
            self._say("Train", intent, [(names[slot], value) for slot, value in constraints])

    def _find_venue(self, domain: str, intent: str, slots: Sequence[str]) -> None:
        name = domain.lower()
        names = _ACT_SLOTS[name]
        constraints = [(slot, value) for slot, value in self.semi[name].items() if value]
        found = self._found[domain] = self._database.query(name, constraints)
        if not found:
            unmet = [(names[slot], value) for slot, value in constraints if value != "dontcare"]
            self._say(domain, "NoOffer", unmet)
        elif intent == "Request":
            values = [(slot, _value(found[0], name, slot, "unknown")) for slot in slots]
            self._say(domain, "Inform", values)
        elif len(found) == 1:
            fields = SEMI_SLOTS[name]
            if fields:
                number = self._number() % len(fields) + 1
                chosen = self._draws.shuffle(fields)[:number]
                values = [(names[field], str(found[0].get(field, "unknown"))) for field in chosen]
                self._say(domain, "Inform", values)
        else:
            self._recommend(domain, names, found)

    def _recommend(self, domain: str, names: Mapping[str, str], venues: Sequence[Record]) -> None:
        draws = self._draws
        draws.random()  # The published policy draws a number without effect here.
        self._say(domain, "Inform", [("Choice", str(len(venues)))])
        # (odd) The candidate is not stored. Later questions are answered for the first venue.
        candidate = venues[self._number() % len(venues)]
        if domain in RECOMMENDED:
            number = self._number() % 3
            fields = ["name", *draws.shuffle(candidate)[:number]]
            values = [(names[field], str(candidate[field])) for field in fields if field in names]
            self._say(domain, "Recommend", values)

    def _book(self, domain: str, slots: Sequence[str]) -> None:
        """Book if the user has given any booking slot and the search found a record."""
        found = self._found.get(domain)
        booking_slots = ACT_BOOKING_SLOTS.get(domain.lower(), frozenset())
        if found and BOOKING not in self._answer and not booking_slots.isdisjoint(slots):
            self._say(*BOOKING, [("Ref", str(found[0][REFERENCE]))])
        if BOOKING in self._answer:
            # The number decides whether to ask "anything else?", but this question is also
            # discarded.
            self._draws.random()
            # (odd) The answer contains only the booking. Requests in the same turn are discarded.
            self._answer = {BOOKING: self._answer[BOOKING]}


def _value(record: Record, domain: str, slot: str, missing: str) -> str:
    """Return the value of a record for the slot of an act."""
    field = goal_slot(domain, slot)
    if field is None:
        return missing
    return str(record.get(REFERENCE if field == "ref" else field, missing))


class RefusedBookings:
    """Refuses a system's bookings if the user's values match `fail_book` in the goal.

    If a booking is refused, the user only receives the act that reports the failed booking.
    """

    def __init__(self, system: ActSystem, goal: Goal) -> None:
        self._system = system
        self._user_bookings = UserBookings()
        self._domain = ""
        self._refused = {
            domain: goal[domain].get("fail_book", {}).items() - goal[domain].get("book", {}).items()
            for domain in goal[ORDERING]
        }

    def answer(self, acts: Sequence[Act], /) -> Iterable[Act]:
        """Return the system's acts, or the act that reports a failed booking."""
        self._user_bookings.hear(acts)
        for act in acts:
            if act.domain.lower() in self._refused:
                self._domain = act.domain.lower()
        answer = checked_acts(self._system.answer(acts))
        said = self._user_bookings.by_domain.get(self._domain, {}).items()
        is_refused = not self._refused.get(self._domain, set()).isdisjoint(said)
        if is_refused and any((act.domain, act.intent) in BOOKS for act in answer):
            return [Act("NoBook", "Booking", NONE, NONE)]
        return answer


class _Recorded:
    """A system whose answers are checked and recorded, together with the user's acts."""

    def __init__(self, system: ActSystem, record: DialogueRecord) -> None:
        self._system = system
        self._record = record

    def answer(self, said: list[Act], /) -> list[Act]:
        self._record.said(said)
        heard = checked_acts(self._system.answer(tuple(said)))
        self._record.heard(heard)
        return heard


def hold_in_acts(
    make_user: Callable[[], User],
    make_system: Callable[[], ActSystem],
    record: DialogueRecord,
    user_turns: int,
) -> Ending:
    """Run an act-level dialogue and return how it ended.

    The acts of the dialogue and the user's report are written to `record`. Errors of the system are
    handled in the same way as in `conversation.loop.converse`.
    """
    return converse(
        make_user, lambda: _Recorded(make_system(), record), user_turns=user_turns, record=record
    )
