"""ConvLab-2's agenda user, which states its goal, answers questions, and gives up without an offer.

The user follows the public simulator exactly, even in unexpected behavior. With a different user,
scores would not be comparable with published scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.acts import (
    BOOKING,
    BYE,
    GENERAL,
    INFORM,
    INFORMING,
    NONE,
    REQUEST,
    SAME,
    Act,
    Draws,
    goal_slot,
    user_act,
)
from mwzeval.multiwoz.convlab.resources import Spelling
from mwzeval.multiwoz.goals import (
    ORDERING,
    Goal,
    begun,
    correction,
    give_up_first_wish,
    is_complete,
    missing_part,
    place_for,
    tried,
    wish_for,
)
from mwzeval.multiwoz.schema import ALL_BOOKING_SLOTS, UNANSWERED, UNANSWERED_VALUES

TURN_LIMIT = 40
"""The number of turns of user and system after which the user says goodbye."""
INITIATIVE = 4
"""The maximum number of acts in a user turn, apart from replies."""
_SAME_VALUE = {
    "people": "the same",
    "day": "the same day",
    "area": "same area as the {}",
    "pricerange": "in the same price range as the {}",
}
_MOST_BOOKED = 10
_FOLLOWED = frozenset({"attraction", "hotel", "restaurant", "taxi", "train"})
_NO_VENUE = frozenset({"0", "zero"})
_NO_CHOICE = _NO_VENUE | {"1", "one"}

Pairs = list[tuple[str, str]]
"""Pairs of slot and value."""


class Agenda:
    """A stack of dialogue acts, with lower-case intents and the slot names of goals. The act on top
    of the stack is used first.

    `pushed` is the number of acts pushed on the stack since the last system turn.
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self.close()

    def __iter__(self) -> Iterator[Act]:
        return iter(self._items)

    def close(self) -> None:
        """Remove all acts from the agenda except the goodbye."""
        self._items = [BYE]
        self.pushed = 0

    def add(self, act: Act) -> None:
        """Put an act on top of the agenda.

        An older act with the same value may get a reference ("the same") instead.
        """
        same = _SAME_VALUE.get(act.slot)
        if same is not None:
            for index, older in enumerate(self._items):
                if older[2:] == act[2:] and self._draws.random() < SAME:
                    self._items[index] = older._replace(value=same.format(act.domain))
        self._items.append(act)

    def push(self, intent: str, domain: str, slot: str, value: str) -> None:
        """Put an act on top, and remove the previous act with the same slot."""
        self.remove(intent, domain, slot)
        self.add(Act(intent, domain, slot, value))
        self.pushed += 1

    def remove(self, intent: str, domain: str, slot: str) -> None:
        """Remove from the agenda the lowest act with this intent, domain and slot, if any."""
        for index, item in enumerate(self._items):
            if item[:3] == (intent, domain, slot):
                del self._items[index]
                return

    def has(self, intent: str, domain: str, booking: bool | None = None) -> bool:
        """Return whether the agenda has an act with this intent and domain; `booking` selects acts
        with or without booking slots.
        """
        return any(
            item[:2] == (intent, domain)
            and (booking is None or (item.slot in ALL_BOOKING_SLOTS) == booking)
            for item in self._items
        )

    def pop(self) -> list[Act]:
        """Remove from the agenda the top acts of the same kind, which form one turn, and return
        them.
        """
        items = self._items
        top = items[-1]
        booking = _is_booking(top)
        if booking:
            most = self.pushed or _MOST_BOOKED
        else:
            pushed = items[-self.pushed :] if self.pushed else ()
            most = INITIATIVE if all(act.value == "dontcare" for act in pushed) else self.pushed
        popped: list[Act] = []
        while items:
            act = items.pop()
            popped.append(act)
            if not items or len(popped) >= most or items[-1][:2] != top[:2]:
                break
            if not _is_booking(items[-1]) if booking else act[::2] == (REQUEST, "name"):
                break
        return popped


def _is_booking(act: Act) -> bool:
    return act.intent == INFORM and act.slot in ALL_BOOKING_SLOTS


class _GivesUpError(Exception):
    """The user gives up."""


class AgendaUser:
    """A user with a goal, for a single dialogue.

    `goal` is copied, and the system's answers are written to the copy. The function `understand`
    converts values to the spelling of goals.
    """

    def __init__(self, goal: Goal, understand: Spelling, draws: Draws) -> None:
        self.goal = begun(goal)
        self.current_domain: str | None = None
        self._turns = 0
        self._understand = understand
        self._draws = draws
        self._domains: list[str] = self.goal[ORDERING]
        self.agenda = Agenda(draws)
        for domain in reversed(self._domains):
            info = tried(self.goal[domain], "info")
            for slot in draws.shuffle(info):
                self.agenda.add(Act(INFORM, domain, slot, info[slot]))
            self.agenda.add(Act(INFORM, domain, NONE, NONE))

    @property
    def is_done(self) -> bool:
        """Whether the user has said goodbye."""
        return not any(self.agenda)

    @property
    def complete(self) -> bool:
        """Whether the user believes that all requests are answered and all bookings are made."""
        return is_complete(self.goal)

    def report(self) -> dict[str, Any]:
        """Return whether the user believes that its goal is met, and the goal with the answers."""
        return {"complete": self.complete, "goal": self.goal}

    def begin(self) -> list[Act]:
        """Return the user's first acts."""
        return self.answer(())

    def answer(self, system: Sequence[Act], /) -> list[Act]:
        """Return the user's acts in reply to the acts of the system.

        Raises `ValueError` if the user has already said goodbye.
        """
        if self.is_done:
            raise ValueError("the user has said goodbye: the dialogue is over")
        self._turns += 2
        try:
            if self._turns <= TURN_LIMIT:
                self._update(self._understood(system))
            closes = self._turns > TURN_LIMIT or self.complete
        except _GivesUpError:
            closes = True
        if closes:
            self.agenda.close()
        acts: list[Act] = []
        while not acts:
            popped = self.agenda.pop()
            if popped[-1].domain in _FOLLOWED:
                self.current_domain = popped[-1].domain
            acts = [act for act in map(user_act, popped) if act is not None]
        return acts

    def _understood(self, system: Sequence[Act]) -> dict[tuple[str, str], Pairs]:
        """Return the pairs of slot and value that the user understands, by (domain, intent)."""
        heard: dict[tuple[str, str], Pairs] = {}
        for intent, domain, slot, value in system:
            if slot == "Choice" and value in _NO_VENUE:
                intent, slot, value = "NoOffer", NONE, NONE
            domain, intent = domain.lower(), intent.lower()
            # A group has the position of its first act, even if the user does not understand this
            # act.
            pairs = heard.setdefault((domain, intent), [])
            name = goal_slot(domain, slot)
            if domain == GENERAL:
                pairs.append((slot, value))
            elif name is not None:
                asked = intent == REQUEST
                pairs.append((name, UNANSWERED if asked else self._understand(domain, name, value)))
        return {key: pairs for key, pairs in heard.items() if pairs}

    # Effects of the system's acts on the agenda

    def _update(self, heard: Mapping[tuple[str, str], Pairs]) -> None:
        self.agenda.pushed = 0
        for domain, _ in heard:
            if domain in self._domains:
                self.current_domain = domain
        refusals = [key for key in heard if "nooffer" in key[1] or "nobook" in key[1]]
        for domain, intent in dict.fromkeys((*refusals, *heard)):
            self._follow(domain, intent, heard[domain, intent])
        for (domain, intent), pairs in heard.items():
            # The user accepts any name as the choice, and refuses an unwanted booking.
            if ("inform" in intent or "recommend" in intent) and "name" in dict(pairs):
                self.agenda.remove(INFORM, domain, "choice")
            current = self.current_domain
            if _is_of_booking(domain, intent) and current and not self.goal[current].get("book"):
                self.agenda.push(INFORM, current, "NotBook", NONE)
        self._go_on()

    def _follow(self, domain: str, intent: str, pairs: Pairs) -> None:
        of_booking = "nooffer" not in intent and (
            "nobook" in intent or _is_of_booking(domain, intent)
        )
        if of_booking:
            domain = self.current_domain or ""
        if domain not in self._domains:
            return
        if intent in (("book", INFORM) if of_booking else INFORMING):
            self._on_inform(domain, intent, pairs)
        elif intent == REQUEST:
            self._on_request(domain, pairs)
        elif intent == "nooffer":
            self._fall_back(domain, "info", "reqt")
        elif intent == "nobook":
            self._fall_back(domain, "book", "booked")
        elif intent == "select" and not of_booking:
            self._on_select(domain, pairs)

    def _on_inform(self, domain: str, intent: str, pairs: Pairs) -> None:
        goal = self.goal[domain]
        requests = goal.get("reqt", {})
        right = True
        for slot, value in _timed(domain, pairs):
            self._choose(domain, slot, value)
            if slot in requests:
                # The user ignores an answer while it has more constraints to state.
                if not self.agenda.has(INFORM, domain, booking=False):
                    self.agenda.remove(REQUEST, domain, slot)
                    requests[slot] = f'"{value}"' if value in UNANSWERED_VALUES else value
                continue
            wish = correction(goal, slot, value)
            if wish is not None:
                self.agenda.push(INFORM, domain, slot, wish)
                right = False
        if right and intent in BOOKING and "booked" in goal:
            goal["booked"] = "yes"

    def _on_request(self, domain: str, pairs: Pairs) -> None:
        goal = self.goal[domain]
        for slot, _ in _timed(domain, pairs):
            if slot not in goal.get("reqt", {}):
                wish = wish_for(goal, slot)
                if wish is None and domain == "taxi":
                    wish = place_for(self.goal, slot)
                self.agenda.push(INFORM, domain, slot, "dontcare" if wish is None else wish)

    def _fall_back(self, domain: str, part: str, hope: str) -> None:
        """Change to the second wish. Without one, give up if the goal has the part `hope`."""
        goal = self.goal[domain]
        failed = give_up_first_wish(goal, part)
        if failed is not None:
            for slot, value in goal.get(part, {}).items():
                if failed.get(slot) != value:
                    self.agenda.push(INFORM, domain, slot, value)
        elif hope in goal:
            raise _GivesUpError

    def _on_select(self, domain: str, pairs: Pairs) -> None:
        goal = self.goal[domain]
        for slot, value in pairs:
            self._choose(domain, slot, value)
        pairs = [pair for pair in pairs if pair[0] != "choice"]
        if not pairs:
            return
        slot = pairs[0][0]
        wish = wish_for(goal, slot)
        if wish is not None:
            self.agenda.push(INFORM, domain, slot, wish)
        elif not self.agenda.has(INFORM, domain, booking=False):
            slot, value = pairs[self._draws.pick(len(pairs))]
            self.agenda.push(INFORM, domain, slot, value)
            if slot in goal.get("reqt", {}):
                self.agenda.remove(REQUEST, domain, slot)
                goal["reqt"][slot] = value

    def _choose(self, domain: str, slot: str, value: str) -> None:
        if slot == "choice" and value.strip().lower() not in _NO_CHOICE:
            self.agenda.push(INFORM, domain, "choice", "any")

    def _go_on(self) -> None:
        """Push the first open request or booking of the goal."""
        for domain in self._domains:
            missing = missing_part(self.goal[domain])
            if missing is not None:
                intent, slots = missing
                booking = None if intent == REQUEST else True
                if not self.agenda.has(INFORM, domain, booking=False) and not self.agenda.has(
                    intent, domain, booking
                ):
                    for slot, value in slots.items():
                        self.agenda.push(intent, domain, slot, value)
                return


def _is_of_booking(domain: str, intent: str) -> bool:
    return domain == "booking" or "booking" in intent


def _timed(domain: str, pairs: Pairs) -> Iterator[tuple[str, str]]:
    """Yield the pairs, with the domain's slot instead of `time`; drop `time` if there is none."""
    for slot, value in pairs:
        if slot != "time" or domain == "restaurant":
            yield slot, value
        elif domain == "train":
            yield "duration", value


class UserBookings:
    """The booking values that the user has stated so far. References such as "the same day" are
    resolved to values.

    `by_domain` maps domain and slot to a value.
    """

    def __init__(self) -> None:
        self.by_domain: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}

    def hear(self, acts: Iterable[Act]) -> None:
        """Process the acts of a user turn."""
        for intent, domain, slot, value in acts:
            slot = slot.lower()
            if intent.lower() == INFORM and slot in ALL_BOOKING_SLOTS:
                if value in ("the same", "the same day"):
                    value = self._last.get(slot, value)
                self._last[slot] = value
                self.by_domain.setdefault(domain.lower(), {})[slot] = value
