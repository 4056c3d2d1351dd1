"""ConvLab-2's rule tracker and policy as a text-level agent.

The policy queries its own database, as in act-level dialogues, but makes bookings with the tools. A
tool requires all details of a booking, whereas the policy books after the first slot. Therefore,
the agent asks the user for the missing details of a booking. The agent also orders taxis with the
tool, which requires the route.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from mwzeval.multiwoz.acts import GENERAL, NONE, STATE_SLOTS, USER_ACT_SLOTS, Act, Draws
from mwzeval.multiwoz.convlab.resources import ActResources
from mwzeval.multiwoz.convlab.system import RuleSystem
from mwzeval.multiwoz.live.rule_agent import Call, Calling, Response
from mwzeval.multiwoz.live.understanding import (
    ENDS,
    BeliefState,
    UserTurn,
    Vocabulary,
    plain,
    understand,
)
from mwzeval.multiwoz.live.wordings import system_text
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, STATE_BOOKING_SLOTS

Booking = Generator[Call, Any, list[Act]]
"""Yields a booking call, receives its result, and returns the acts of the response."""
MORE = Act("reqmore", GENERAL, NONE, NONE)
_ACT_SLOTS = {**USER_ACT_SLOTS, "taxi": {"car": "Car", **USER_ACT_SLOTS["taxi"]}}
"""Maps a domain and a slot of a state to a slot of an act."""


class ConvlabPolicy:
    """The agent for one dialogue. Random choices depend on `seed`, `item` and `trial`."""

    def __init__(
        self, vocabulary: Vocabulary, resources: ActResources, seed: int, item: str, trial: int
    ) -> None:
        self._vocabulary = vocabulary
        self._database = resources.database
        self._system = RuleSystem(resources, Draws(seed, item, trial, "system"))
        self._state = BeliefState()
        self._rng = Random(f"{seed}/{item}/{trial} words")

    def answer(self, utterance: str, response: Response) -> Calling:
        """Yield the bookings of a turn, and add the agent's acts to `response`."""
        turn = understand(utterance, self._vocabulary, self._state)
        of_user = list(user_acts(turn))
        self._state.turn_to(turn.domains)
        for domain, slot, value in turn.constraints:
            self._state.constraints.setdefault(domain, {})[slot] = value
        acts = list(self._system.answer(of_user)) if of_user else [MORE]
        if any(act.intent == "Book" for act in acts):
            acts = yield from self._book(acts, of_user)
        elif any(act[:3] == ("Inform", "Taxi", "Car") for act in acts):
            acts = yield from self._order_taxi(acts)
        text = system_text(acts, self._rng)
        if not text:
            acts, text = [MORE], system_text([MORE], self._rng)
        self._keep(acts)
        response.add(text, acts)

    def _book(self, acts: Sequence[Act], of_user: Iterable[Act]) -> Booking:
        reference = int(next(act.value for act in acts if act.intent == "Book"))
        # The policy books in the first domain for which the user has given a booking slot.
        domain = next(
            name
            for act in of_user
            if act.slot in ACT_BOOKING_SLOTS.get(name := act.domain.lower(), ())
            and reference < len(self._database.records(name))
        )
        booking = self._system.book[domain]
        missing = [slot for slot in map(plain, STATE_BOOKING_SLOTS[domain]) if not booking[slot]]
        if missing:
            return [Act("Request", "Booking", slot.capitalize(), "?") for slot in missing]
        record = self._database.records(domain)[reference]
        key = "trainID" if domain == "train" else "name"
        slots = {slot: value for slot, value in booking.items() if value}
        result = yield f"book_{domain}", {key.lower(): str(record[key]), **slots}
        if not isinstance(result, Mapping) or "reference" not in result:
            return [Act("NoBook", "Booking", NONE, NONE)]
        return [
            act._replace(value=str(result["reference"])) if act.intent == "Book" else act
            for act in acts
        ]

    def _order_taxi(self, acts: Sequence[Act]) -> Booking:
        ride = self._system.semi["taxi"]
        missing = [
            Act("Request", "Taxi", _ACT_SLOTS["taxi"][end], "?") for end in ENDS if not ride[end]
        ]
        if missing:
            return missing
        known = {slot.lower(): value for slot, value in ride.items() if value}
        result = yield "book_taxi", known
        if not isinstance(result, Mapping) or "phone" not in result:
            return [Act("NoBook", "Booking", NONE, NONE)]
        details = {"Car": str(result.get("type")), "Phone": str(result["phone"])}
        return [
            act._replace(value=details.get(act.slot, act.value)) if act.domain == "Taxi" else act
            for act in acts
        ]

    def _keep(self, acts: Iterable[Act]) -> None:
        """Remember questions and recommendations as the context for the user's reply."""
        state = self._state
        state.asked = []
        current = state.current or ""
        for intent, spoken_domain, slot, value in acts:
            domain = spoken_domain.lower()
            if intent == "Request" and domain == "booking" and current in STATE_BOOKING_SLOTS:
                state.asked.append((current, f"book{slot.lower()}"))
            elif intent == "Request" and slot in STATE_SLOTS.get(domain, ()):
                state.asked.append((domain, STATE_SLOTS[domain][slot]))
            elif slot == "Name" and domain in STATE_SLOTS:
                state.offered[domain] = {"name": value}


def user_acts(turn: UserTurn) -> Iterator[Act]:
    """Yield the dialogue acts of a user turn."""
    detailed = {constraint.domain for constraint in turn.constraints}
    detailed.update(domain for domain, _ in turn.requests)
    for domain in turn.domains:
        if domain not in detailed:
            yield Act("Inform", domain.capitalize(), NONE, NONE)
    for domain, slot, value in turn.constraints:
        if plain(slot) in _ACT_SLOTS[domain]:
            yield Act("Inform", domain.capitalize(), _ACT_SLOTS[domain][plain(slot)], value)
    for domain, slot in turn.requests:
        if slot in _ACT_SLOTS[domain]:
            yield Act("Request", domain.capitalize(), _ACT_SLOTS[domain][slot], "?")
    if turn.thanks:
        yield Act("thank", GENERAL, NONE, NONE)
    if turn.closes:
        yield Act("bye", GENERAL, NONE, NONE)
